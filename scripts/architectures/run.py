#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the tests for every architecture, runs them natively and emulated, and prints one table.

    scripts/architectures/run.py --list
    scripts/architectures/run.py --only neon64,rvv256
    scripts/architectures/run.py --require all          an architecture that did not run is a failure
    scripts/architectures/run.py --require all --tests in-turn       what CI runs: the tests on those that turn.py names
    scripts/architectures/run.py --tests trained        four networks, trained and converted, and the checksum, on each

Two programs an architecture: the doctest cases of tests/core, kernel, scheme, io and model, of two translation units and
in one static executable, and tests/identity, whose checksum over the committed int8 models has to be that of
tests/identity/expected.txt; in turn, and where the tests do not run, over one image in eight (expected_8.txt). targets.py is the list; install.py
brings compilers and emulators to Debian.

--tests in-turn leaves out what CI has elsewhere: rooms but kernel where this machine runs the programs itself, as it does those of
the preset test, but for the networks that are trained and converted; the tests on an emulator of what this machine has; seven images of eight.
"""
import argparse
import concurrent.futures
import dataclasses
import datetime
import pathlib
import platform
import re
import shutil
import sys

import machines
import turn
from pages import with_table
from processes import Stopwatch
from targets import COMPILERS, TARGETS, Target

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from include_flags import include_flags  # noqa: E402
from unity import unity  # noqa: E402

EXPECTED = {images: (ROOT / "tests" / "identity" / name).read_text(encoding="utf-8")  # by "one image in so many"
            for images, name in ((1, "expected.txt"), (8, "expected_8.txt"))}
IDENTITY = "tests/identity/checksum.cpp"
MAIN = "tests/main.cpp"
# Kernels optimized, and the rest, which calls few of them, as it compiles fastest. What both hold the linker takes from
# the first. What is trained is a part of the rest, and a unit for where that does not run.
TRAINED = "tests/training/trained_is_converted.cpp"  # networks trained and converted, to the same codes
UNITS = {"kernel": ("tests/kernel",), "rest": ("tests/core", "tests/scheme", "tests/io", "tests/model", TRAINED), "trained": (TRAINED,)}
# Emulators take tens of times as long as the machine: random tests make do with one problem in this many.
FEWER_PROBLEMS = 17  # no divisor of any loop's period: what is left is spread evenly


@dataclasses.dataclass
class Line:
    """One line of the table: a target on one machine."""

    target: Target
    machine: str
    command: str
    tests: str = "-"
    checksum: str = "-"
    compile_seconds: float = 0
    run_seconds: float = 0
    problem: str = ""


def write_tests(folder: pathlib.Path) -> dict[str, str]:
    """The translation units of the tests, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = {name: folder / f"{name}.cpp" for name in UNITS}
    for name, source in sources.items():
        found = [ROOT / part for part in UNITS[name]]
        files = [file for part in found for file in (sorted(part.rglob("*.cpp")) if part.is_dir() else [part])]
        source.write_text(unity(files), encoding="utf-8")
    return {name: str(source) for name, source in sources.items()}


class Build:
    """The two programs of one target."""

    def __init__(self, target: Target, folder: pathlib.Path, includes: list[str], images: int) -> None:
        self.target = target
        self.images = images  # one of the identity's in so many
        self.folder = folder / re.sub(r"[^\w.+-]", "_", target.name)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.compiler = COMPILERS[target.compiler]
        self.command = self.compiler.find()
        self.includes = includes
        self.stopwatch = Stopwatch()
        self.objects: dict[str, pathlib.Path] = {}

    def flags(self, optimization: tuple[str, ...]) -> list[str]:
        return ["-std=c++20", *optimization, "-w", *self.compiler.flags, *self.target.flags, "-DZEROPOINT_TEST_ONE_ARCHITECTURE",
                f"-DZEROPOINT_TEST_FEWER={FEWER_PROBLEMS}", f"-DZEROPOINT_IDENTITY_IMAGES={self.images}",
                '-DZEROPOINT_SOURCE_DIR="."']

    def compile(self, source: str) -> str:
        """What went wrong, or nothing."""
        target = self.folder / (pathlib.Path(source).stem + ".o")
        plain = pathlib.Path(source).stem in ("rest", "trained")
        flags = self.flags(("-O0", *self.compiler.optimization[1:]) if plain else self.compiler.optimization)
        done = self.stopwatch.run([*self.command, *flags, *self.includes, "-c", source, "-o", str(target)], cwd=ROOT)
        if done.status == 0:
            self.objects[source] = target
            return ""
        errors = [line for line in done.errors.splitlines() if "error" in line] or done.errors.splitlines()
        return f"{source} does not compile: " + " | ".join(errors[:3])

    def link(self) -> str:
        for name, objects in ((self.tests, [o for s, o in self.objects.items() if s != IDENTITY]),
                              (self.identity, [self.objects[IDENTITY]])):
            if not objects:
                continue
            flags = [*self.flags(self.compiler.optimization), *self.compiler.link]
            done = self.stopwatch.run([*self.command, *flags, *map(str, objects), "-o", str(name)], cwd=ROOT)
            if done.status != 0:
                return f"{name.name} does not link: " + " | ".join(done.errors.splitlines()[-3:])
        return ""

    @property
    def tests(self) -> pathlib.Path:
        return self.folder / f"tests{self.compiler.suffix}"

    @property
    def identity(self) -> pathlib.Path:
        return self.folder / f"identity{self.compiler.suffix}"


def run_on(build: Build, machine: machines.Machine, is_repeated: bool) -> Line:
    """`is_repeated`: the tests have run on another machine, and here does the checksum alone."""
    stopwatch = Stopwatch()
    line = Line(build.target, machine.name, " ".join([build.command[-1].split("/")[-1], *build.target.flags]),
                compile_seconds=build.stopwatch.seconds)
    if build.tests.exists() and not is_repeated:
        run_tests(build, machine, stopwatch, line)
    done = machine.run(build.identity, ROOT, stopwatch)
    checksum = re.match(r"checksum (\w+)$", done.output, re.MULTILINE)
    if checksum:
        line.checksum = checksum[1]
    if done.status != 0 or done.output != EXPECTED[build.images]:
        line.problem += (f"\nidentity: exit status {done.status}, expected {EXPECTED[build.images].splitlines()[0]}, found:\n"
                         f"{done.output}{done.errors}"[:3000])
    line.run_seconds = stopwatch.seconds
    return line


def run_tests(build: Build, machine: machines.Machine, stopwatch: Stopwatch, line: Line) -> None:
    done = machine.run(build.tests, ROOT, stopwatch)
    counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", done.output, re.MULTILINE)
    if counts:
        line.tests = f"{counts[1]} of {int(counts[1]) + int(counts[2])}"
    if done.status != 0 or not counts or int(counts[2]) != 0 or int(counts[1]) == 0:
        line.problem = f"tests: exit status {done.status}\n" + (done.output + done.errors)[-6000:]


def compile_and_run(build: Build, sources: list[str], with_bochs: bool, in_turn: bool) -> list[Line]:
    """The lines of one target."""
    problem = "\n".join(filter(None, map(build.compile, sources))) or build.link()
    if problem:
        return [Line(build.target, "-", "", compile_seconds=build.stopwatch.seconds, problem=problem)]
    found, absent = machines.machines_for(build.target, build.compiler, with_bochs)
    lines = [run_on(build, machine, in_turn and number != 0) for number, machine in enumerate(found)]
    if not lines:
        lines = [Line(build.target, "-", "", compile_seconds=build.stopwatch.seconds, problem=f"no machine: {absent}")]
    return lines


def print_line(cells: list[str]) -> None:
    widths = (24, 52, 22, 12, 17, 9, 6)
    print(" ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths)).rstrip(), flush=True)


def markdown(lines: list[Line]) -> str:
    rows = [f"On {datetime.date.today()}, on a machine with {machines.processor()}:", "",
            "| architecture | compiler and flags | machine | tests passed | checksum |", "|---|---|---|---|---|"]
    for line in lines:
        rows.append(f"| {line.target.name} | `{line.command}` | {line.machine} | {line.tests} | {line.checksum} |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include-flags", help="response file with -I flags of library and tests; default: the newest in build/")
    parser.add_argument("--only", default="", help="comma-separated names, as --list prints them")
    parser.add_argument("--require", default="", help="'all', or comma-separated names: absent is then an error")
    parser.add_argument("--tests", choices=("all", "in-turn", "trained", "none"), default="all",
                        help="which architectures run more than tests/identity, which takes a tenth of the time")
    turn.changes.add_options(parser)
    parser.add_argument("--bochs", action="store_true", help="run in Bochs also what this machine has: minutes a line")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", default=str(ROOT / "build" / "architectures"), help="where objects and programs go")
    parser.add_argument("--update", type=pathlib.Path, metavar="PAGE", help="write the table between <!-- runs --> and <!-- /runs -->")
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE", help="fail where that table has one that is none of ours")
    parser.add_argument("--list", action="store_true", help="print the architectures and what this machine has for them")
    options = parser.parse_args()
    names = {target.name for target in TARGETS}
    only = set(filter(None, options.only.split(","))) or names
    required = {target.name for target in TARGETS if machines.is_possible(target)} if options.require == "all" else \
        set(filter(None, options.require.split(",")))
    if unknown := sorted((only | required) - names):
        parser.error(f"no architecture is named {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    if options.list:
        for target in TARGETS:
            compiler = COMPILERS[target.compiler].find()
            found, absent = machines.machines_for(target, COMPILERS[target.compiler])
            print_line([target.name, compiler[-1] if compiler else "no compiler", ", ".join(m.name for m in found) or absent])
        return 0
    if options.update and (options.only or options.tests != "all"):
        parser.error("--update takes the whole table: not with --only or --tests")
    for problem in (found := turn.problems() + (claims_of(options.check, names) if options.check else [])):
        print(problem)
    if found:
        return 1
    includes = include_flags(options.include_flags)
    return run_all([t for t in TARGETS if t.name in only], required & only, tested(only, options), includes, options)


def claims_of(page: pathlib.Path, names: set[str]) -> list[str]:
    """Architectures of the page's table that nothing here runs."""
    table = re.search(r"<!-- runs -->(.*)<!-- /runs -->", page.read_text(encoding="utf-8"), re.DOTALL)[1]
    claimed = set(re.findall(r"^\| (\S+) \| `", table, re.MULTILINE))
    return [f"{page} says that {name} has run, which targets.py does not have" for name in sorted(claimed - names)]


def sources_for(target: Target, is_tested: bool, which: str, tests: dict[str, str]) -> list[str]:
    """What is compiled for a target."""
    if not is_tested:
        return [IDENTITY]
    is_own = COMPILERS[target.compiler].machine == platform.machine() and target.compiler != "gcc x86"
    units = ["trained"] if which == "trained" else ["kernel", "trained" if which == "in-turn" and is_own else "rest"]
    return [tests[unit] for unit in units] + [IDENTITY, MAIN]


def tested(only: set[str], options) -> set[str]:
    """The names of those that the tests run on."""
    if options.tests != "in-turn":
        return set() if options.tests == "none" else only
    choice = turn.choose(options)
    print(choice)
    return only & choice.reasons.keys()


def run_all(targets: list[Target], required: set[str], tested: set[str], includes: list[str], options) -> int:
    lines: list[Line] = []
    tests, in_turn = write_tests(pathlib.Path(options.folder)), options.tests == "in-turn"
    print(f"random tests try one problem in {FEWER_PROBLEMS}; seconds are of processor time")
    print_line(["architecture", "flags", "machine", "tests", "checksum", "compile s", "run s"])
    skipped = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        finishing = []
        for target in sorted(targets, key=lambda one: one.name not in tested):  # what takes long begins first
            images = 1 if options.tests == "all" else 8
            build = Build(target, pathlib.Path(options.folder), includes, images)
            if not machines.is_possible(target):
                skipped.append(f"{target.name}: no machine of this kind runs it: Wine needs an x86-64 processor with its instructions")
                continue
            if build.command is None:
                skipped.append(f"{target.name}: no compiler; install one of {', '.join(build.compiler.commands)}")
                continue
            needed = sources_for(target, target.name in tested, options.tests, tests)
            finishing.append(pool.submit(compile_and_run, build, needed, options.bochs, in_turn))
        for future in concurrent.futures.as_completed(finishing):
            for line in future.result():
                lines.append(line)
                print_line([line.target.name, " ".join(line.target.flags), line.machine, line.tests, line.checksum,
                            f"{line.compile_seconds:.0f}", f"{line.run_seconds:.0f}"])
                if line.problem:
                    print("    " + line.problem.strip().replace("\n", "\n    "), flush=True)
    for reason in skipped:
        print(f"skipped: {reason}")
    failed = [line for line in lines if line.problem]
    passed = {line.target.name for line in lines} - {line.target.name for line in failed}
    absent = required - {line.target.name for line in lines}
    untested = required & tested - {line.target.name for line in lines if line.tests != "-"}
    if (page := options.update) and not (failed or absent):
        table = markdown(sorted(lines, key=lambda line: TARGETS.index(line.target)))
        page.write_text(with_table(page.read_text(encoding="utf-8"), "runs", table), encoding="utf-8")
    checksums = {line.checksum for line in lines}  # of all images, and of one in eight
    print(f"{len(passed)} architectures passed on {len(lines) - len(failed)} machines, {len(tested & passed)} of them the tests; "
          f"{len(failed)} failed, {len(absent | untested)} required and absent; "
          f"checksums: {', '.join(sorted(checksums))}")
    return 1 if failed or absent or untested or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
