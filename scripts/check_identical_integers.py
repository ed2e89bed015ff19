#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails unless every compiler, optimization level and architecture computes the same integers.

Builds tests/identity/checksum.cpp many ways, runs each program and compares what it prints with
tests/identity/expected.txt. The file of include flags is written by CMake's configure step (cmake --preset dev).
"""
import argparse
import concurrent.futures
import dataclasses
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

from include_flags import newest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests" / "identity" / "checksum.cpp"
EXPECTED = ROOT / "tests" / "identity" / "expected.txt"
CLANGS = ["clang++", *(f"clang++-{version}" for version in range(22, 13, -1))]
# What /proc/cpuinfo must list before a program built for the level may run.
LEVELS = {
    "x86-64": set(),
    "x86-64-v2": {"cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
}


@dataclasses.dataclass(frozen=True)
class Variant:
    compiler: str
    flags: tuple[str, ...]
    level: str


def cpu_flags() -> set[str]:
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def variants(compilers: list[str], quick: bool) -> list[Variant]:
    on_x86 = platform.machine() in ("x86_64", "AMD64")
    result = []
    for compiler in compilers:
        if on_x86 and not quick:
            # Clang's x86-64 and x86-64-v2 are lines of scripts/architectures/run.py. GCC contracts where nothing is said.
            for level in LEVELS if compiler == "g++" else ("x86-64-v3",):
                result.append(Variant(compiler, ("-O3", f"-march={level}"), level))
            result.append(Variant(compiler, ("-O0", "-march=x86-64-v3"), "x86-64-v3"))
            result.append(Variant(compiler, ("-O3", "-march=x86-64-v3", "-ffp-contract=off"), "x86-64-v3"))
        result.append(Variant(compiler, ("-O3", "-march=native", "-ffp-contract=fast"), "native"))
    return result


def build_and_run(variant: Variant, include_flags: str | pathlib.Path, folder: pathlib.Path, number: int) -> str:
    """What the program prints, or the first line of what went wrong."""
    program = folder / f"checksum_{number}"
    build = subprocess.run([variant.compiler, "-std=c++20", *variant.flags, f'-DZEROPOINT_SOURCE_DIR="{ROOT}"',
                            f"@{include_flags}", str(PROGRAM), "-o", str(program)], capture_output=True, text=True)
    if build.returncode != 0:
        return "does not compile: " + next((line for line in build.stderr.splitlines() if "error" in line), build.stderr)
    run = subprocess.run([str(program)], cwd=folder, capture_output=True, text=True)
    program.unlink()
    if run.returncode != 0:
        return f"exit status {run.returncode}: {(run.stderr or run.stdout).strip()[:200]}"
    return run.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include-flags", help="response file with -I flags; default: the newest in build/")
    parser.add_argument("--require", default="", help="comma-separated: clang, x86-64-v3, ...; absent is then an error")
    parser.add_argument("--quick", action="store_true", help="one build a compiler: -O3 for this machine, contracted")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="write expected.txt and expected_8.txt, when all variants agree")
    options = parser.parse_args()
    include_flags = options.include_flags or newest("include_flags.txt")
    if include_flags is None:
        parser.error("no build/*/include_flags.txt: configure first, with cmake --preset dev")
    required = set(filter(None, options.require.split(",")))
    if not required <= {"clang", *LEVELS}:
        parser.error(f"--require knows clang, {', '.join(LEVELS)}")

    if options.quick and options.update:
        parser.error("--update takes every build: not with --quick")

    clang = next((name for name in CLANGS if shutil.which(name)), None)
    compilers = [name for name in ("g++", clang) if name and shutil.which(name)]
    lacking = {level for level, flags in LEVELS.items() if not flags <= cpu_flags()}
    absent = required & lacking | ({"clang"} & required if clang is None else set())
    for name in sorted(absent):
        print(f"required, and not on this machine: {name}")
    if not EXPECTED.exists() and not options.update:
        print(f"{EXPECTED.relative_to(ROOT)} is missing")
        return 1

    todo = [variant for variant in variants(compilers, options.quick) if variant.level not in lacking]
    expected = None if options.update else EXPECTED.read_text(encoding="utf-8")
    different = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outputs = pool.map(lambda numbered: build_and_run(numbered[1], include_flags, pathlib.Path(folder), numbered[0]),
                           enumerate(todo))
        for variant, output in zip(todo, outputs):
            expected = output if expected is None else expected  # --update: all must equal the first
            same = output == expected and output.startswith("checksum ")
            different += not same
            first, *others = output.splitlines() or [""]
            print(f"{variant.compiler:<12} {' '.join(variant.flags):<50} {'same' if same else 'DIFFERS':<8} {first}", flush=True)
            if not same:
                print("".join(f"    {line}\n" for line in others if line not in (expected or "").splitlines()), end="")
    for level in sorted(lacking):
        print(f"skipped: this CPU lacks {level}")
    failed = different + len(absent)
    print(f"{len(todo) - different} passed, {failed} failed")
    if failed or not todo:
        return 1
    if options.update:
        EXPECTED.write_text(expected or "", encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:  # what scripts/architectures/run.py compares with on most machines
            fewer = dataclasses.replace(todo[0], flags=(*todo[0].flags, "-DZEROPOINT_IDENTITY_IMAGES=8"))
            EXPECTED.with_name("expected_8.txt").write_text(build_and_run(fewer, include_flags, pathlib.Path(folder), 0), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
