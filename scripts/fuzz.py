#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the fuzz targets with Clang's libFuzzer and its sanitizers, and runs each for a while.

    scripts/fuzz.py --seconds 10 --in-turn       what CI does: a third of the targets, the next ones in the next run
    scripts/fuzz.py --only int8_model --seconds 3600 --jobs 2
    scripts/fuzz.py --memory --seconds 60        with MemorySanitizer, for which Clang 19 and its libc++ are downloaded once

Seeds are files of small networks that fuzz/seeds.cpp writes; what is found on the way is kept in build/fuzz/corpus, and the next
run begins with it. The exit code is 1 where a target ended otherwise than by its time: the input that did it is printed, and kept
in build/fuzz/found. fuzz/README.md says how to run it again.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import changes
from include_flags import include_flags

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANITIZERS = ("-fsanitize=fuzzer,address,undefined",)
MEMORY = ("-fsanitize=fuzzer,memory", "-fsanitize-memory-track-origins", str(ROOT / "fuzz" / "memory" / "library.cpp"))
MEMORY_COMPILER = "clang-19"  # of debian_compilers.py
FLAGS = ("-std=c++20", "-O1", "-g1", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
TURNS = 3  # runs of --in-turn that take all targets
LONGEST = 16384  # bytes of an input: seeds have 1 to 5 thousand


@dataclasses.dataclass
class Result:
    name: str
    executions: int = 0
    covered: int = 0
    problem: str = ""


def targets() -> list[str]:
    return sorted(file.stem for file in (ROOT / "fuzz").glob("*.cpp") if file.stem != "seeds")


def memory_compiler() -> list[str]:
    """The command, with its flags: over libc++, which is templates but for what fuzz/memory compiles again. What libstdc++ has compiled without
    the sanitizer writes memory that then counts as uninitialized; libFuzzer is made of it."""
    sys.path.insert(0, str(ROOT / "scripts" / "compilers"))
    import debian_compilers
    compiler = next(compiler for compiler in debian_compilers.COMPILERS if compiler.name == MEMORY_COMPILER)
    if problem := debian_compilers.prepare([compiler]):
        raise SystemExit(f"{compiler.name}: {problem[compiler.name]}")
    return [*compiler.command(), *compiler.dynamic(), "-stdlib=libc++", "-lc++", "-l:libstdc++.so.6"]


def build(name: str, compiler: list[str], flags: list[str], folder: pathlib.Path) -> str:
    """What went wrong, or nothing."""
    command = [*compiler, *FLAGS, *flags, str(ROOT / "fuzz" / f"{name}.cpp"), "-o", str(folder / name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr[-3000:]


def run(name: str, folder: pathlib.Path, seconds: int) -> Result:
    corpus, found = folder / "corpus" / name, folder / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    command = [str(folder / name), f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-rss_limit_mb=2048", "-timeout=20",
               "-malloc_limit_mb=1024", "-print_final_stats=1", f"-artifact_prefix={found}/{name}-", str(corpus),
               str(folder / "seed_files" / name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    executions = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    result = Result(name, int(executions[1]) if executions else 0, int(covered[-1]) if covered else 0)
    if done.returncode != 0 or result.executions == 0:
        result.problem = done.stderr[-5000:]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="of each target (default: %(default)s)")
    parser.add_argument("--only", default="", help="comma-separated targets")
    parser.add_argument("--in-turn", action="store_true", help="a third of them")
    changes.add_options(parser)
    parser.add_argument("--compiler", default="clang++-14" if shutil.which("clang++-14") else "clang++")
    parser.add_argument("--memory", action="store_true", help="MemorySanitizer in place of the others")
    parser.add_argument("--include-flags", help="response file with -I flags; default: the newest in build/")
    parser.add_argument("--march", default="-march=native", help="flags of the processor (default: %(default)s)")
    parser.add_argument("--folder", type=pathlib.Path, help="default: build/fuzz, build/fuzz_memory")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    names = [name for name in targets() if not options.only or name in options.only.split(",")]
    if unknown := sorted(set(filter(None, options.only.split(","))) - set(targets())):
        parser.error(f"no target is named {', '.join(unknown)}; there are {', '.join(targets())}")
    if options.in_turn:
        found = changes.find(options)
        names = names[found.turn % TURNS::TURNS]
        print(f"{', '.join(names)}: {found.basis}")
    compiler, sanitizers = (memory_compiler(), MEMORY) if options.memory else ([options.compiler], SANITIZERS)
    options.folder = options.folder or ROOT / "build" / ("fuzz_memory" if options.memory else "fuzz")
    options.folder.mkdir(parents=True, exist_ok=True)
    flags = [*options.march.split(), *include_flags(options.include_flags)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        made = [pool.submit(build, "seeds", compiler, flags, options.folder)]
        made += [pool.submit(build, name, compiler, [*sanitizers, *flags], options.folder) for name in names]
        problems = [f"{name} does not compile:\n{problem}" for name, future in zip(["seeds", *names], made)
                    if (problem := future.result())]
        if problems:
            print(*problems, sep="\n")
            return 1
        subprocess.run([str(options.folder / "seeds"), str(options.folder / "seed_files")], check=True)
        results = list(pool.map(lambda name: run(name, options.folder, options.seconds), names))
    print(f"{'target':<18} {'executions':>12} {'edges covered':>14}")
    for result in results:
        print(f"{result.name:<18} {result.executions:>12,} {result.covered:>14,}")
    for result in results:
        if result.problem:
            print(f"\n{result.name} ended otherwise than by its time:\n{result.problem}")
    print(f"{sum(result.executions for result in results):,} executions, {sum(bool(r.problem) for r in results)} targets failed")
    return 1 if any(result.problem for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
