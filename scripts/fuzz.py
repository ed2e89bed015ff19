#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the fuzz targets with Clang's libFuzzer and its sanitizers, and runs each for a while.

    scripts/fuzz.py --seconds 10 --in-turn       what CI does: a quarter of the targets, the next ones in the next run, compiled fast
    scripts/fuzz.py --only int8_model --seconds 3600 --jobs 2
    scripts/fuzz.py --memory --seconds 60        with MemorySanitizer, for which Clang 19 and its libc++ are downloaded once
    scripts/fuzz.py --fast --seconds 60 --count 100000000    rounds without sanitizers, until all rounds ever counted so many

Seeds are files of small networks that fuzz/seeds.cpp writes; what is found on the way is kept in build/fuzz/corpus, and the next
run begins with it. The exit code is 1 where a target ended otherwise than by its time: the input that did it is printed, and kept
in build/fuzz/found. fuzz/README.md says how to run it again.

--fast counts edges and nothing else, at -O2: 5 to 10 times as many executions. Each input that it keeps, because it reaches what none reached
before, is run again with the sanitizers. Every run adds a line to build/fuzz/tally.jsonl, of which --count prints the sums by target.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

import changes
from include_flags import include_flags

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANITIZERS = ("-fsanitize=fuzzer,address,undefined",)
# A third as long to compile: little inlined, undefined behaviour is a trap without its sentence, and not two checks whose cases
# AddressSanitizer sees when memory is touched.
SHORT = ("-mllvm", "-inline-threshold=0", "-gline-tables-only", "-fno-sanitize=null,vptr,pointer-overflow,object-size",
         "-fsanitize-trap=undefined")
MEMORY = ("-fsanitize=fuzzer,memory", "-fsanitize-memory-track-origins", str(ROOT / "fuzz" / "memory" / "library.cpp"))
MEMORY_COMPILER = "clang-19"  # of debian_compilers.py
FLAGS = ("-std=c++20", "-O1", "-g1", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
FAST = ("-O2", "-fsanitize-coverage=inline-8bit-counters,pc-table")  # without libFuzzer's memcmp, and without tracing comparisons
TURNS = 4  # runs of --in-turn that take all targets
LONGEST = 16384  # bytes of an input: seeds have 1 to 5 thousand


@dataclasses.dataclass
class Result:
    name: str
    executions: int = 0
    covered: int = 0
    again: int = 0  # of the fast form: inputs that were run with sanitizers
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
    command = [*compiler, *FLAGS, str(ROOT / "fuzz" / f"{name}.cpp"), *flags, "-o", str(folder / name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr[-3000:]


def fuzzer_library(compiler: str) -> str:
    """libFuzzer without the functions of strings that it puts in place of the system's."""
    name = f"-print-file-name=libclang_rt.fuzzer-{platform.machine()}.a"
    return subprocess.run([compiler, name], capture_output=True, text=True, check=True).stdout.strip()


def run(name: str, program: pathlib.Path, folder: pathlib.Path, what: list[str]) -> Result:
    """`what`: libFuzzer's options, or files to run once."""
    found = folder / "found"
    found.mkdir(exist_ok=True)
    command = [str(program), "-rss_limit_mb=2048", "-timeout=20", "-malloc_limit_mb=1024", "-print_final_stats=1",
               f"-artifact_prefix={found}/{name}-", *what]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    executions = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    result = Result(name, int(executions[1]) if executions else 0, int(covered[-1]) if covered else 0)
    if done.returncode != 0:
        result.problem = done.stderr[-5000:]
    return result


def fuzz(name: str, folder: pathlib.Path, seconds: int, fast: bool) -> Result:
    corpus, seeds = folder / "corpus" / name, folder / "seed_files" / name
    corpus.mkdir(parents=True, exist_ok=True)
    before = set(corpus.iterdir())
    longest = min(LONGEST, 2 * max(file.stat().st_size for file in seeds.iterdir())) if fast else LONGEST
    options = [f"-max_total_time={seconds}", f"-max_len={longest}", *(["-entropic=0"] if fast else []), str(corpus), str(seeds)]
    result = run(name, folder / ("fast" if fast else "") / name, folder, options)
    if result.executions == 0 and not result.problem:
        result.problem = "it ran nothing"
    if fast and not result.problem:
        new = sorted(map(str, set(corpus.iterdir()) - before))
        for first in range(0, len(new), 500):
            result.problem = result.problem or run(name, folder / name, folder, new[first:first + 500]).problem
        result.again = len(new)
    return result


def tally(folder: pathlib.Path, results: list[Result], form: str, seconds: int) -> list[dict]:
    """All lines, with those of this round at their end."""
    file = folder / "tally.jsonl"
    with file.open("a", encoding="utf-8") as lines:
        for result in results:
            lines.write(json.dumps({"target": result.name, "form": form, "executions": result.executions, "edges": result.covered,
                                    "with_sanitizers": result.executions if form != "fast" else result.again, "seconds": seconds,
                                    "failed": bool(result.problem), "at": time.strftime("%Y-%m-%dT%H:%M:%S")}) + "\n")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def print_sums(lines: list[dict]) -> None:
    """By target: edges of the fast form, which counts all that the compiler left apart."""
    print(f"{'target':<18} {'executions':>12} {'with sanitizers':>16} {'edges':>7} {'failed':>7}")
    by_target: dict[str, list[dict]] = collections.defaultdict(list)
    for line in lines:
        by_target[line["target"]].append(line)
    for name, own in sorted(by_target.items()):
        edges = max((line["edges"] for line in own if line["form"] == "fast"), default=0)
        print(f"{name:<18} {sum(line['executions'] for line in own):>12,} {sum(line['with_sanitizers'] for line in own):>16,} "
              f"{edges:>7,} {sum(line['failed'] for line in own):>7}")
    print(f"{'all':<18} {sum(line['executions'] for line in lines):>12,} {sum(line['with_sanitizers'] for line in lines):>16,}")


def build_all(pool: concurrent.futures.Executor, names: list[str], compiler: list[str], sanitizers: tuple[str, ...], options) -> None:
    """Programs and seeds; ends the script where one does not compile."""
    flags = [*options.march.split(), *include_flags(options.include_flags)]
    made = {"seeds": pool.submit(build, "seeds", compiler, [*flags, "-O0"], options.folder)}
    for name in names:
        made[name] = pool.submit(build, name, compiler, [*sanitizers, *flags], options.folder)
    if options.fast:
        (options.folder / "fast").mkdir(exist_ok=True)
        library = fuzzer_library(options.compiler)
        for name in names:
            made[f"fast/{name}"] = pool.submit(build, name, compiler, [*FAST, *flags, library], options.folder / "fast")
    if problems := [f"{name} does not compile:\n{problem}" for name, future in made.items() if (problem := future.result())]:
        raise SystemExit("\n".join(problems))
    subprocess.run([str(options.folder / "seeds"), str(options.folder / "seed_files")], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="of each target (default: %(default)s)")
    parser.add_argument("--only", default="", help="comma-separated targets")
    parser.add_argument("--in-turn", action="store_true", help="a quarter of them, compiled to less (SHORT)")
    changes.add_options(parser)
    parser.add_argument("--compiler", default="clang++-14" if shutil.which("clang++-14") else "clang++")
    parser.add_argument("--memory", action="store_true", help="MemorySanitizer in place of the others")
    parser.add_argument("--fast", action="store_true", help="no sanitizers but for what is new")
    parser.add_argument("--count", type=int, default=0, help="executions of all rounds that build/fuzz counts, after which no round begins")
    parser.add_argument("--built", action="store_true", help="run what an earlier call has compiled")
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
    if options.fast and options.memory:
        parser.error("--fast has no sanitizer; what is new it runs again with ASan and UBSan, and with MemorySanitizer does --memory alone")
    form = "memory" if options.memory else "fast" if options.fast else "sanitizers"
    compiler, sanitizers = (memory_compiler(), MEMORY) if options.memory else ([options.compiler], SANITIZERS)
    if options.in_turn and not options.memory:
        sanitizers += SHORT
    options.folder = options.folder or ROOT / "build" / ("fuzz_memory" if options.memory else "fuzz")
    options.folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        if not options.built:
            build_all(pool, names, compiler, sanitizers, options)
        while True:
            results = list(pool.map(lambda name: fuzz(name, options.folder, options.seconds, options.fast), names))
            lines = tally(options.folder, results, form, options.seconds)
            if any(result.problem for result in results) or sum(line["executions"] for line in lines) >= options.count:
                break
    print(f"{'target':<18} {'executions':>12} {'edges covered':>14}")
    for result in results:
        print(f"{result.name:<18} {result.executions:>12,} {result.covered:>14,}")
    if options.count:
        print("\nAll rounds:")
        print_sums(lines)
    for result in results:
        if result.problem:
            print(f"\n{result.name} ended otherwise than by its time:\n{result.problem}")
    print(f"{sum(result.executions for result in results):,} executions, {sum(bool(r.problem) for r in results)} targets failed")
    return 1 if any(result.problem for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
