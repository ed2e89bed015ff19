#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails where a C or C++ file of the repository is compiled by no step of CI: code that nobody compiles rots.

    scripts/check_compiled.py       after the builds: what compilers read stands in their dependency files, build/**/*.o.d

A file that CMake does not build is named in ELSEWHERE, with the program that compiles it.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = ("*.c", "*.cc", "*.cpp", "*.cxx")
# File or pattern: who compiles it, which must have its name in its text.
ELSEWHERE = {
    "tests/compile_fail/*.cpp": "tests/compile_fail/CMakeLists.txt",
    "fuzz/*.cpp": "scripts/fuzz.py",
    "fuzz/memory/library.cpp": "scripts/fuzz.py",
    "fuzz/architectures/outcomes.cpp": "scripts/architectures/mutated_files.py",
    "bench/peers/calls.c": "bench/peers/compare.py",
    "bench/peers/mask_cpuid.c": "bench/peers/instruction_set.py",
    "bench/peers/rtneural.cpp": "bench/peers/rtneural.py",
    "examples/web_digits/digits_web.cpp": "examples/web_digits/CMakeLists.txt",  # which scripts/architectures/web_page.py builds
    "examples/05_keyword_spotting/board/startup.cpp": "scripts/architectures/microcontrollers.py",
    "python/tests/export/make_int8.cpp": "python/tests/exported.py",
    "scripts/architectures/micro_kernels.cpp": "scripts/architectures/audit.py",
    "scripts/architectures/bochs_guest/init.c": "scripts/architectures/bochs.py",
    "scripts/architectures/bochs_guest/tiles.c": "scripts/architectures/bochs.py",
    "scripts/architectures/bochs_guest/run_each.c": "scripts/architectures/dispatch.py",
}


def sources() -> set[str]:
    """What git has, and what it would take."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *SUFFIXES], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    return {name for name in listed.splitlines() if (ROOT / name).exists()}


def compiled(build: pathlib.Path) -> set[str]:
    """What went into the objects under a folder."""
    found = set()
    for file in build.rglob("*.o.d"):
        if not file.with_suffix("").exists():  # the compiler failed
            continue
        for word in file.read_text(encoding="utf-8").replace("\\\n", " ").split():
            if word.endswith(tuple(suffix[1:] for suffix in SUFFIXES)):
                path = pathlib.Path(word).resolve()
                if path.is_relative_to(ROOT):
                    found.add(str(path.relative_to(ROOT)))
    return found


def main() -> int:
    every, problems, elsewhere = sources(), [], set()
    for pattern, by in ELSEWHERE.items():
        matching = {name for name in every if pathlib.PurePath(name).match(pattern)}
        elsewhere |= matching
        program = ROOT / by
        if not matching:
            problems.append(f"{pattern}, which {by} compiles, is not there")
        elif not program.exists() or pathlib.PurePath(pattern).name not in program.read_text(encoding="utf-8"):
            problems.append(f"{by} does not compile {pattern}: it does not name it")
    built = compiled(ROOT / "build") & every
    problems += [f"{name} is compiled by no step: give it to a CMake target, or name who compiles it in scripts/check_compiled.py"
                 for name in sorted(every - built - elsewhere)]
    print("\n".join([*problems, f"{len(every)} files, {len(built)} of them built by CMake, {len(elsewhere)} by other programs; "
                                f"{len(problems)} problems"]))
    return 1 if problems or not built else 0


if __name__ == "__main__":
    sys.exit(main())
