# SPDX-License-Identifier: BSD-3-Clause
"""What runs a program: this machine, an emulator of qemu's, Bochs, node, or Wine."""
import dataclasses
import functools
import pathlib
import platform
import shutil

import bochs
import node
from processes import Finished, Stopwatch
from targets import Compiler, Target


# What the test programs read, for machines that do not see this one's files.
DATA = ("examples/01_digits/data", "examples/01_digits/models", "tests/golden", "tests/identity/models")


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    before: tuple[str, ...]  # the command that the program's path is appended to

    def run(self, program: pathlib.Path, folder: pathlib.Path, stopwatch: Stopwatch, *arguments: str) -> Finished:
        """Runs a program in a folder, from which it reads its data."""
        return stopwatch.run([*self.before, str(program), *arguments], folder)


def cpuinfo(*names: str) -> list[str]:
    """What Linux says of this machine's processors under any of these names."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.split(":")[1].strip() for line in lines if line.startswith(names)]


@functools.cache
def cpu_flags() -> frozenset[str]:
    return frozenset(word for flags in cpuinfo("flags", "Features") for word in flags.split())


def processor() -> str:
    """For people."""
    return next(iter(cpuinfo("model name")), platform.machine())


def emulated(emulator: tuple[str, ...], files: tuple[str, ...] = DATA) -> Machine | None:
    """An emulator with its CPU model, as targets.py names them, if it is installed."""
    program, *arguments = emulator
    if program == "bochs":
        command = bochs.command(arguments[0], files)
    elif program == "node":
        command = node.command()
    elif program == "wine":
        path = shutil.which(program)
        command = path and ("env", "WINEDEBUG=-all", path)
    else:
        path = shutil.which(program + "-static") or shutil.which(program)
        command = path and (path, *arguments)
    return Machine(" ".join([program, *(a for a in arguments if a != "-cpu")]), tuple(command)) if command else None


def is_possible(target: Target) -> bool:
    """Whether a machine of this kind can run a target at all: Wine runs what the processor itself has."""
    return target.emulator[:1] != ("wine",) or platform.machine() == "x86_64" and not set(target.cpu) - cpu_flags()


def machines_for(target: Target, compiler: Compiler, with_bochs: bool = True) -> tuple[list[Machine], str]:
    """The machines at hand for a target, this one first, and what others would need. Bochs takes minutes: without
    `with_bochs` only for what this machine has not."""
    found, absent = [], []
    if platform.machine() == compiler.machine:
        lacking = set(target.cpu) - cpu_flags()
        if not lacking:
            found.append(Machine("native", ()))
        else:
            absent.append(f"this processor has no {' '.join(sorted(lacking))}")
    if not is_possible(target):
        return [], "Wine needs an x86-64 processor with these instructions"
    if target.emulator and (with_bochs or not found or target.emulator[0] != "bochs"):
        if machine := emulated(target.emulator):
            found.append(machine)
        else:
            absent.append(f"{target.emulator[0]} is not installed")
    return found, ", ".join(absent)
