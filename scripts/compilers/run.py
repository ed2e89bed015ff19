#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the library with every compiler that Debian has, under all of their warnings, runs tests, and prints one table.

    scripts/compilers/run.py                            what is in the cache; --install downloads the rest, without root
    scripts/compilers/run.py --only gcc-15,clang-21 --checks headers
    scripts/compilers/run.py --in-turn                  one of GCC and one of Clang, the next ones in the next run

Checks: `headers`, all of them in one unit, several ways; `network`, a unit that fuses, calibrates, converts, saves and runs networks of
many layers, optimized, under the same warnings; `tests`, of core, schemes, passes, files, the basics of the workflow and a share of the kernels,
with the assertions of the C++ library on; `messages`, of tests/compile_fail: how many errors each mistake is.
debian_compilers.py is the list of compilers, chosen_warnings.py that of warnings. The file of include flags is written by CMake's
configure step (cmake --preset test).
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import sys

import chosen_warnings
import debian_compilers
import messages
from debian_compilers import COMPILERS, Compiler

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "architectures")]
import changes  # noqa: E402
from include_flags import include_flags  # noqa: E402
from pages import with_table  # noqa: E402
from processes import Finished, Stopwatch  # noqa: E402
from unity import unity  # noqa: E402

# Headers that need a library of their own, or are chosen by the processor.
NOT_HERE = re.compile(r"zeropoint/(compiled/|distributed/mpi|executors/(onetbb|openmp)|kernel/arch/|io/system/windows_files)")
ASSERTIONS = ("-D_GLIBCXX_ASSERTIONS",)
LIBCXX = ("-stdlib=libc++",)
# How the headers are compiled: what a user may have on beside the standard.
HEADERS = {
    "C++20": ("-std=c++20",),
    "C++23, fast math": ("-std=c++23", "-ffast-math", *ASSERTIONS),
    "no exceptions": ("-std=c++20", "-fno-exceptions", "-fno-rtti"),
    "libc++": ("-std=c++23", "-fno-exceptions", "-fno-rtti", *LIBCXX),
}
NETWORK = "fuzz/seeds.cpp"
MAIN = "tests/main.cpp"
ROOMS = ("core", "scheme", "pass", "io")
BASICS = ("calibrate", "convert", "convert_operators", "fuse", "ports", "presets", "quantize_dynamic", "streaming", "with")
CHECKS = ("headers", "network", "tests")
KERNEL_SHARE = 5


@dataclasses.dataclass
class Line:
    """One line of the table: a compiler."""

    compiler: Compiler
    title: str = ""
    cells: dict[str, str] = dataclasses.field(default_factory=dict)
    problems: list[str] = dataclasses.field(default_factory=list)
    outcomes: dict[str, messages.Outcome] = dataclasses.field(default_factory=dict)
    stopwatch: Stopwatch = dataclasses.field(default_factory=Stopwatch)


class Job:
    """All checks of one compiler, one after the other."""

    def __init__(self, compiler: Compiler, includes: list[str], folder: pathlib.Path, number: int, mistakes: int) -> None:
        self.compiler, self.includes, self.number, self.mistakes = compiler, includes, number, mistakes
        self.folder = folder / compiler.name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.line = Line(compiler)

    def start(self, *arguments: str) -> Finished:
        return self.line.stopwatch.run([*self.compiler.command(), "-mavx2", "-mfma", *arguments, *self.includes], cwd=ROOT)

    def standard(self, flags: tuple[str, ...]) -> list[str]:
        old = self.compiler.family == "clang" and self.compiler.version < 17  # which say c++2b
        return [flag.replace("c++23", "c++2b") if old else flag for flag in flags]

    def say(self, check: str, passed: bool) -> None:
        print(f"{self.compiler.name}: {check}: {'passed' if passed else 'FAILED'} after {self.line.stopwatch.seconds:.0f} s of processor time",
              flush=True)

    def passed(self, check: str, done: Finished, errors: str = "error:") -> bool:
        self.say(check, done.status == 0)
        if done.status != 0:
            lines = [line for line in done.errors.splitlines() if errors in line] or done.errors.splitlines()[-10:]
            self.line.problems.append(f"{self.compiler.name}, {check}:\n" + "\n".join(lines[:20]))
            print(self.line.problems[-1], flush=True)
        return done.status == 0

    def headers(self) -> str:
        source = self.folder / "headers.cpp"
        names = sorted(str(path.relative_to(ROOT / "include")) for path in (ROOT / "include").rglob("*.hpp"))
        source.write_text("".join(f"#include <{name}>\n" for name in names if not NOT_HERE.match(name)), encoding="utf-8")
        passed = []
        for way, flags in HEADERS.items():
            if way == ("libc++" if not self.compiler.has_libcxx else "no exceptions"):
                continue
            done = self.start("-fsyntax-only", "-Werror", *(["-ferror-limit=0"] if self.compiler.family == "clang" else []), *chosen_warnings.of(self.compiler), *self.standard(flags), str(source))
            if self.passed(f"headers, {way}", done):
                passed.append(way)
        return ", ".join(passed)

    def network(self) -> str:
        program = self.folder / "network"
        done = self.start("-O2", "-Werror", *chosen_warnings.of(self.compiler), *self.standard(("-std=c++23",)), NETWORK,
                          "-static", "-o", str(program))
        if not self.passed("network", done):
            return "fails"
        done = self.line.stopwatch.run([str(program), str(self.folder / "files")], cwd=ROOT)
        return "runs" if self.passed("network, run", done) else "fails"

    def tests(self) -> str:
        files = [file for room in ROOMS for file in sorted((ROOT / "tests" / room).rglob("*.cpp"))]
        files += [ROOT / "tests" / "workflow" / f"{name}.cpp" for name in BASICS]
        files += sorted((ROOT / "tests" / "kernel").rglob("*.cpp"))[self.number % KERNEL_SHARE::KERNEL_SHARE]
        source, program = self.folder / "tests.cpp", self.folder / "tests"
        source.write_text(unity(files), encoding="utf-8")
        optimization = ("-Og",) if self.compiler.family == "gcc" else ("-O1", "-mllvm", "-inline-threshold=0")
        library = (*LIBCXX, self.compiler.libcxx_assertions) if self.compiler.has_libcxx else ASSERTIONS
        done = self.start("-std=c++20", *optimization, "-w", *library, "-DZEROPOINT_TEST_ONE_ARCHITECTURE", f'-DZEROPOINT_SOURCE_DIR="{ROOT}"',
                          "-DZEROPOINT_TEST_FEWER=17", str(source), MAIN, "-static", "-o", str(program))
        if not self.passed("tests", done):
            return "fails"
        done = self.line.stopwatch.run([str(program)], cwd=ROOT)
        counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", done.output, re.MULTILINE)
        if done.status != 0 or not counts or int(counts[1]) == 0:
            self.line.problems.append(f"{self.compiler.name}, tests: exit status {done.status}\n" + (done.output + done.errors)[-4000:])
            return "fails"
        return f"{counts[1]} of {int(counts[1]) + int(counts[2])}"

    def messages(self) -> str:
        """Of the mistakes of tests/compile_fail those that are more errors than check.cmake allows, or lack their sentence."""
        cases = messages.all_cases()[::self.mistakes]
        found = messages.count(self.compiler, self.line.title, self.start, self.folder, cases)
        if isinstance(found, Finished):
            self.passed("messages, headers", found)
            return "fails"
        self.line.outcomes = found
        problems = [f"{self.compiler.name}, {case.name}: {problem}" for case in cases if (problem := found[case.name].problem(case, self.compiler))]
        self.line.problems += problems
        self.say("messages", not problems)
        one = sum(outcome.errors == 1 for outcome in found.values())
        return f"{one} of {len(cases)} mistakes are one error"

    def run(self, checks: list[str]) -> Line:
        version = self.start("-dumpfullversion" if self.compiler.family == "gcc" else "-dumpversion").output.strip()
        self.line.title = ("GCC " if self.compiler.family == "gcc" else "Clang ") + version
        for check in checks:
            self.line.cells[check] = getattr(self, check)()
        return self.line


def table(lines: list[Line], checks: list[str]) -> list[str]:
    rows = [["compiler", *checks, "seconds of processor time"], ["---"] * (len(checks) + 2)]
    for line in lines:
        rows.append([line.title, *(line.cells.get(check, "-") for check in checks), f"{line.stopwatch.seconds:.0f}"])
    return ["| " + " | ".join(row) + " |" for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="comma-separated compilers")
    parser.add_argument("--checks", default=",".join(CHECKS), help="of headers, network, tests, messages (default: %(default)s)")
    parser.add_argument("--mistakes", type=int, default=1, metavar="N", help="messages: of one mistake in so many")
    parser.add_argument("--install", action="store_true", help="download those that are not in the cache")
    parser.add_argument("--require", action="store_true", help="a compiler that is not there is a failure")
    parser.add_argument("--in-turn", action="store_true", help="one of each family")
    parser.add_argument("--update", type=pathlib.Path, help="write the table into this page; with messages, that of mistakes")
    parser.add_argument("--include-flags", help="response file; default: the newest in build/")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "compilers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    changes.add_options(parser)
    options = parser.parse_args()
    names = [compiler.name for compiler in COMPILERS]
    asked = [name for name in options.only.split(",") if name] or names
    if unknown := sorted(set(asked) - set(names)):
        parser.error(f"no compiler is named {', '.join(unknown)}; there are {', '.join(names)}")
    checks = options.checks.split(",")
    chosen = [compiler for compiler in COMPILERS if compiler.name in asked]
    if options.in_turn:
        turn = changes.find(options).turn
        families = [[c for c in chosen if c.family == family] for family in ("gcc", "clang")]
        chosen = [members[turn % len(members)] for members in families if members]
    missing = debian_compilers.prepare(chosen) if options.install else {}
    for compiler in chosen:
        if not compiler.ready():
            missing.setdefault(compiler.name, "not in the cache; --install downloads it")
    for name, reason in missing.items():
        print(f"{name}: {reason}")
    ready = [compiler for compiler in chosen if compiler.ready()]
    if not ready:
        return 1
    includes = include_flags(options.include_flags)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [Job(compiler, includes, options.folder, COMPILERS.index(compiler), options.mistakes) for compiler in ready]
        lines = list(pool.map(lambda job: job.run(checks), jobs))
    rows = table(lines, checks)
    print("\n".join(rows))
    of_messages = messages.table({line.title: line.outcomes for line in lines}) if "messages" in checks else []
    print("\n".join(of_messages))
    problems = [problem for line in lines for problem in line.problems]
    for problem in problems:
        print(f"\n{problem}")
    if options.update:
        name, written = ("messages", of_messages) if of_messages else ("compilers", rows)
        options.update.write_text(with_table(options.update.read_text(encoding="utf-8"), name, "\n".join(written)), encoding="utf-8")
    return 1 if problems or (options.require and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
