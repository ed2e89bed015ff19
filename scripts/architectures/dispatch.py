#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds examples/04_many_machines once, with kernels for six architectures, and runs that one program on machines with
and without them: it must take the best that each has, and print the same on all.

    scripts/architectures/dispatch.py             on the machines at hand
    scripts/architectures/dispatch.py --require   what CI runs: a machine that is absent is a failure

Also forces each architecture on each machine: the same output where the machine has it, an error where it has not (on
Bochs, which is slow, of those that it has the second best alone). And runs examples/03_deploy, compiled for AVX2 alone and
for AVX-512 VNNI alone: an error, and no illegal instruction, on machines without. It is built with compilers alone, as docs/dispatch.md tells. install.py brings the emulators.
"""
import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import sys

import machines
from processes import Finished, Stopwatch
from targets import COMPILERS, TARGETS, Target

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from include_flags import include_flags  # noqa: E402

FOLDER = pathlib.Path("build/dispatch")  # in ROOT, from which programs read their data by the same relative paths
EXAMPLES = pathlib.Path("examples")
RUN_EACH = "scripts/architectures/bochs_guest/run_each.c"
NOT_HERE = "was asked for, but this machine has it not"
TOO_OLD = "zeropoint: expected a machine with "
ABORTED = 6


@dataclasses.dataclass(frozen=True)
class Architecture:
    """One of the program's copies of its kernels."""

    target: str  # in targets.py, which has the flags
    tag: str
    symbols: str  # a pattern of those that name the tag
    name: str  # what the tag calls itself

    @property
    def row(self) -> Target:
        return next(target for target in TARGETS if target.name == self.target)


ARCHITECTURES = (  # the best first
    Architecture("avx512vnni<avx512bw>", "xsimd::avx512vnni<xsimd::avx512bw>", "*10avx512vnniI*8avx512bwE*", "avx512vnni+avx512bw"),
    Architecture("avx512bw", "xsimd::avx512bw", "*8avx512bw*", "avx512bw"),
    Architecture("avx-vnni", "xsimd::avxvnni", "*7avxvnni*", "avxvnni"),
    Architecture("avx2+fma", "xsimd::fma3<xsimd::avx2>", "*4fma3I*4avx2E*", "fma3+avx2"),
    Architecture("ssse3", "xsimd::ssse3", "*5ssse3*", "ssse3"),
    Architecture("sse2", "xsimd::sse2", "*4sse2*", "sse2"),
)
ALONE = ("avx2+fma", "avx512vnni<avx512bw>")  # what 03_deploy is compiled for
MODELS = {  # of emulators: the targets that each has
    ("qemu-x86_64", "-cpu", "qemu64"): ("sse2",),
    ("qemu-x86_64", "-cpu", "core2duo"): ("ssse3", "sse2"),
    ("qemu-x86_64", "-cpu", "Penryn"): ("ssse3", "sse2"),
    ("qemu-x86_64", "-cpu", "max"): ("avx2+fma", "ssse3", "sse2"),
    ("bochs", "arrow_lake"): ("avx-vnni", "avx2+fma", "ssse3", "sse2"),
    ("bochs", "corei7_skylake_x"): ("avx512bw", "avx2+fma", "ssse3", "sse2"),
    ("bochs", "corei7_icelake_u"): ("avx512vnni<avx512bw>", "avx512bw", "avx2+fma", "ssse3", "sse2"),
}


class BuildError(RuntimeError):
    pass


def run(*command: str | pathlib.Path) -> None:
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(map(str, command))}\n{done.stderr}")


class Programs:
    """The program for all machines, one for AVX2 alone, one for AVX-512 VNNI alone: static, as Bochs needs them."""

    def __init__(self, includes: list[str]) -> None:
        self.compiler = COMPILERS["gcc x86-64"].find()
        self.other_compiler = COMPILERS["clang x86-64"].find() or self.compiler
        self.flags = ["-std=c++20", "-O2", "-w", *includes, '-DZEROPOINT_SOURCE_DIR="."']
        self.many = FOLDER / "many_machines"
        self.run_each = FOLDER / "run_each"
        self.alone = {name: FOLDER / f"deploy.{re.sub('[^a-z0-9]+', '_', name)}" for name in ALONE}

    def compile(self, *arguments: str | pathlib.Path) -> None:
        run(*self.compiler, *self.flags, *arguments)

    def make_copy(self, architecture: Architecture) -> pathlib.Path:
        """What docs/dispatch.md has under "With a compiler alone"."""
        compiled, closed = (FOLDER / f"{re.sub('[^a-z0-9]+', '_', architecture.target)}.{end}" for end in ("compiled.o", "o"))
        self.compile("-fno-gnu-unique", *architecture.row.flags, "-c",
                     EXAMPLES / "04_many_machines/per_architecture/digit_reader.cpp", "-o", compiled)
        run("ld", "-r", "--force-group-allocation", compiled, "-o", closed)
        run("objcopy", "--wildcard", f"--keep-global-symbol={architecture.symbols}", closed)
        return closed

    def make_alone(self, name: str) -> None:
        flags = next(target.flags for target in TARGETS if target.name == name)
        run(*self.other_compiler, *self.flags, *flags, "-static", EXAMPLES / "03_deploy/main.cpp", "-o", self.alone[name])

    def build(self, pool: concurrent.futures.Executor) -> None:
        (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
        copies = [pool.submit(self.make_copy, architecture) for architecture in ARCHITECTURES]
        others = [pool.submit(self.make_alone, name) for name in ALONE]
        run("gcc", "-O1", "-static", RUN_EACH, "-o", self.run_each)
        main = FOLDER / "main.o"
        tags = ",".join(architecture.tag for architecture in ARCHITECTURES)
        self.compile(f"-DZEROPOINT_COMPILED_ARCHITECTURES={tags}", "-c", EXAMPLES / "04_many_machines/main.cpp", "-o", main)
        self.compile("-static", main, *(copy.result() for copy in copies), "-o", self.many)
        for other in others:
            other.result()


# ---- machines

@dataclasses.dataclass
class Row:
    machine: str
    has: tuple[str, ...]  # targets
    command: machines.Machine | None
    own: Finished | None = None  # what the program did by itself
    forced: dict[Architecture, Finished] = dataclasses.field(default_factory=dict)
    alone: dict[str, Finished] = dataclasses.field(default_factory=dict)

    @property
    def slow(self) -> bool:
        return self.machine.startswith("bochs")

    @property
    def best(self) -> Architecture:
        return next(architecture for architecture in ARCHITECTURES if architecture.target in self.has)

    def run(self, programs: Programs) -> None:
        names = [a for a in ARCHITECTURES if a.target not in self.has or not self.slow or a.target == self.has[1]]
        tasks = [("", programs.many), *((a.name, programs.many) for a in names), *(("", p) for p in programs.alone.values())]
        results = (run_in_one_boot if self.slow else run_one_by_one)(self.command, programs, tasks)
        self.own = results[0]
        self.forced = dict(zip(names, results[1:]))
        self.alone = dict(zip(programs.alone, results[1 + len(names):]))


def run_one_by_one(machine: machines.Machine, programs: Programs, tasks: list[tuple[str, pathlib.Path]]) -> list[Finished]:
    """A task is the architecture to force, or "", and the program."""
    return [Stopwatch().run([*machine.before, str(ROOT / program)], ROOT, env={"ZEROPOINT_ARCHITECTURE": forced} if forced else None)
            for forced, program in tasks]


def run_in_one_boot(machine: machines.Machine, programs: Programs, tasks: list[tuple[str, pathlib.Path]]) -> list[Finished]:
    arguments = []
    for forced, program in tasks:
        arguments += ([f"ZEROPOINT_ARCHITECTURE={forced}"] if forced else []) + [str(program)]
    done = Stopwatch().run([*machine.before, str(programs.run_each), *arguments], ROOT)
    output, errors = (re.split(r"^status (\d+)\n", stream, flags=re.MULTILINE) for stream in (done.output, done.errors))
    if len(output) != 2 * len(tasks) + 1 or len(errors) != len(output):
        return [dataclasses.replace(done, status=done.status or 1)] * len(tasks)
    signals = lambda status: status if status < 128 else 128 - status  # as Python counts them
    return [Finished(signals(int(output[i + 1])), output[i], errors[i]) for i in range(0, 2 * len(tasks), 2)]


def rows_of(programs: Programs) -> list[Row]:
    native = tuple(a.target for a in ARCHITECTURES if set(a.row.cpu) <= machines.cpu_flags())
    files = (*machines.DATA, str(programs.many), *map(str, programs.alone.values()))
    return [Row("native", native, machines.Machine("native", ())),
            *(Row(" ".join(word for word in model if word != "-cpu"), has, machines.emulated(model, files))
              for model, has in MODELS.items())]


# ---- what is expected

def first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("qemu")]
    return lines[0] if lines else ""


def checked(row: Row, printed: str, printed_alone: dict[str, str]) -> tuple[list[str], list[str]]:
    """The cells of a row, and what is wrong with it. `printed`: what the program should print, and those for one architecture."""
    problems = []

    def right(what: str, done: Finished, kept: bool) -> bool:
        if not kept:
            problems.append(f"{what}: status {done.status}, {done.output}{first_line(done.errors)}")
        return kept

    def runs(architecture: Architecture, done: Finished) -> bool:
        return done.status == 0 and done.output == printed and first_line(done.errors).startswith(f"{architecture.name}, of ")

    def refuses(architecture: Architecture, done: Finished) -> bool:
        return done.status == 2 and done.output == "" and first_line(done.errors) == f"{architecture.name} {NOT_HERE}"

    cells = [row.machine, first_line(row.own.errors).split(",")[0]]
    cells.append("the same" if right(f"expected {row.best.name}", row.own, runs(row.best, row.own)) else "WRONG")
    for holds, here in ((runs, True), (refuses, False)):
        forced = [(a, done) for a, done in row.forced.items() if (a.target in row.has) == here]
        good = sum(right(f"forced to {a.name}", done, holds(a, done)) for a, done in forced)
        cells.append(f"{good} of {len(forced)}" if forced else "-")
    for name, done in row.alone.items():
        if name in row.has:
            kept = done.status == 0 and done.output == printed_alone[name]
        else:
            kept = done.status == -ABORTED and done.output == "" and first_line(done.errors).startswith(TOO_OLD)
        right(f"compiled for {name}", done, kept)
        cells.append(("runs" if name in row.has else "error") if kept else "WRONG")
    return cells, problems


def print_row(cells: list[str]) -> None:
    widths = (22, 19, 8, 16, 19, 14, 22)
    print("| " + " | ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths)) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require", action="store_true", help="fail where a machine is absent")
    parser.add_argument("--include-flags", help="response file with -I flags of library and tests; default: the newest in build/")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    programs = Programs(include_flags(options.include_flags))
    if machines.platform.machine() != "x86_64" or not programs.compiler:
        print("needs an x86-64 machine with g++", file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            programs.build(pool)
        except BuildError as error:
            print(error, file=sys.stderr)
            return 1
        rows = rows_of(programs)
        ran = [row for row in rows if row.command]
        list(pool.map(lambda row: row.run(programs), ran))

    printed = ran[0].own.output  # by this machine, where everything but new architectures has been tested
    printed_alone = {name: next((row.alone[name].output for row in ran if name in row.has), "") for name in ALONE}
    print(f"{printed.strip()}: one program of {(ROOT / programs.many).stat().st_size / 1e6:.1f} MB, linked statically, with "
          f"kernels for {', '.join(a.name for a in ARCHITECTURES)}\n")
    print_row(["machine", "takes", "prints", "forced: the same", "not there: an error", "for AVX2 alone", "for AVX-512 VNNI alone"])
    print("|" + "---|" * 7)
    failed = 0
    for row in rows:
        cells, problems = checked(row, printed, printed_alone) if row.command else ([row.machine, "absent", *"-----"], [])
        print_row(cells)
        failed += bool(problems)
        for problem in problems:
            print(f"    {problem}")
    absent = len(rows) - len(ran)
    best = {row.best for row in ran}
    print(f"\n{len(ran) - failed} machines agree, {failed} failed, {absent} absent; {len(best)} of {len(ARCHITECTURES)} "
          "architectures are the best of a machine")
    return 1 if failed or (options.require and absent) else 0


if __name__ == "__main__":
    sys.exit(main())
