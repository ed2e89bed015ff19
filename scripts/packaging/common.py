# SPDX-License-Identifier: BSD-3-Clause
"""What the parts of check.py share: commands with a log, folders, the xsimd of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
WORK = REPOSITORY / "build" / "packages"
CONSUMER = REPOSITORY / "test_package"        # a project that needs find_package(zeropoint) and nothing else
MAIN = REPOSITORY / "tests" / "consume" / "main.cpp"
DEPLOYED = REPOSITORY / "tests" / "consume" / "find_package" / "deployed.cpp"

sys.path.insert(0, str(REPOSITORY / "python"))
from xsimd_headers import Xsimd, find_xsimd  # noqa: E402


class Failed(Exception):
    """A check that did not hold."""


@dataclass
class Part:
    """One of the ways to take the library in: what was checked, and what could not be and why."""

    name: str
    passed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # by the name of the tool that is missing
    seconds: float = 0.0
    failure: str = ""

    @property
    def folder(self) -> Path:
        """Its own, kept from one step to the next."""
        made = WORK / self.name
        made.mkdir(parents=True, exist_ok=True)
        return made

    def run(self, *command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None, expect: int = 0) -> str:
        """Runs a command, writes what it says to the part's log, and gives it back. Raises Failed for another exit code."""
        text = [str(word) for word in command]
        done = subprocess.run(text, cwd=cwd or self.folder, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        with open(WORK / f"{self.name}.log", "a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(text)}\n{done.stdout}\n")
        if done.returncode != expect:
            last = "\n".join(done.stdout.splitlines()[-25:])
            raise Failed(f"{' '.join(text)}\n{last}\nexpected exit code {expect}, got {done.returncode}; "
                         f"all of it is in {WORK / self.name}.log")
        return done.stdout

    def expect(self, holds: bool, sentence: str) -> None:
        """Raises Failed where something does not hold."""
        if not holds:
            raise Failed(sentence)


def program(name: str) -> str | None:
    """A tool beside this Python, or on the PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def compiler() -> str:
    """The C++ compiler of the consumers."""
    return os.environ.get("CXX") or "c++"


def xsimd(part: Part) -> Xsimd:
    """The xsimd of this machine; where there is none, configuring the repository downloads it."""
    found = find_xsimd()
    if found is None:
        part.run("cmake", "-S", REPOSITORY, "-B", part.folder / "dependencies", *library_only("git", "debian"),
                 f"-DZEROPOINT_DEPENDENCY_CACHE={REPOSITORY / 'build' / '_dependencies'}")
        found = find_xsimd()
    if found is None:
        raise Failed("xsimd 14.1 or newer was not found and could not be downloaded; set ZEROPOINT_XSIMD to its prefix")
    return found


def library_only(*sources: str) -> list[str]:
    """Options that configure the library and nothing else."""
    return ["-DZEROPOINT_BUILD_TESTS=OFF", "-DZEROPOINT_BUILD_EXAMPLES=OFF", "-DZEROPOINT_BUILD_BENCH=OFF",
            f"-DZEROPOINT_DEPENDENCY_SOURCES={';'.join(sources or ('installed',))}"]


def build_consumer(part: Part, name: str, prefixes: list[Path], compiled: bool) -> None:
    """A project that finds the package in these prefixes, built and run."""
    folder = part.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    part.run("cmake", "-S", CONSUMER, "-B", folder, f"-DCMAKE_PREFIX_PATH={';'.join(map(str, prefixes))}",
             f"-DEXPECT_COMPILED={'ON' if compiled else 'OFF'}", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0")
    part.run("cmake", "--build", folder)
    part.run(folder / "program")


def files_below(folder: Path) -> set[str]:
    """All files, by their path within."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
