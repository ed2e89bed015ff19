#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles tests of kernels at -O2 for this machine, as users compile most, and runs them.

    scripts/check_optimized.py                  all: a quarter of an hour of processor time
    scripts/check_optimized.py --in-turn        one file of twelve, the next ones in the next run, and those that changed
    scripts/check_optimized.py --compiler clang-19      all, by one of the compilers that scripts/compilers/run.py --install gets

The preset test compiles them at -Og, the preset release at -O3. GCC 12 stored transposed bytes as it had loaded them at -O2 alone, where a
library under ours looked at them through a pointer that may not alias them; Clang 19 and 21 made wrong vectors of AVX-512 of what a test emulates.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import changes
from changes import ROOT
from unity import unity

FOLDER = ROOT / "tests" / "kernel"
PARTS = 12
UNITS = 8  # at most
FLAGS = ["-std=c++20", "-O2", "-w", "-march=native", '-DZEROPOINT_SOURCE_DIR="."', "-DZEROPOINT_TEST_FEWER=17"]


def chosen(options: argparse.Namespace) -> list[pathlib.Path]:
    """Files of tests."""
    files = sorted(FOLDER.rglob("*.cpp"))
    if not options.in_turn:
        return files
    since = changes.find(options)
    taken = [file for number, file in enumerate(files)
             if number % PARTS == since.turn % PARTS or str(file.relative_to(ROOT)) in since.files]
    print(f"{since.basis}: {len(taken)} of {len(files)} files")
    kernels = sorted(FOLDER.glob("convolution/conv2d_kernels*.cpp"))  # that others declare as compiled elsewhere
    if any("support/convolution_" in file.read_text(encoding="utf-8") for file in taken):
        taken = sorted({*taken, *kernels})
    return taken


def downloaded(name: str) -> list[str]:
    """The command of one of the compilers of scripts/compilers."""
    sys.path[:0] = [str(ROOT / "scripts" / folder) for folder in ("compilers", "architectures")]
    from debian_compilers import COMPILERS

    found = next((compiler for compiler in COMPILERS if compiler.name == name), None)
    if found is None:
        sys.exit(f"no compiler is named {name}; there are {', '.join(compiler.name for compiler in COMPILERS)}")
    if not found.ready():
        sys.exit(f"{name} is not there: scripts/compilers/run.py --install --only {name} gets it")
    return [*found.command(), "-static"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include-flags", default=ROOT / "build" / "test" / "test_include_flags.txt", type=pathlib.Path)
    parser.add_argument("--in-turn", action="store_true")
    parser.add_argument("--compiler", help="default: CXX, or g++")
    parser.add_argument("--jobs", type=int, default=2)
    changes.add_options(parser)
    options = parser.parse_args()
    if not options.include_flags.exists():
        parser.error(f"no {options.include_flags}: configure first, with cmake --preset test")
    files = chosen(options)
    units = min(UNITS, len(files))
    command = [*(downloaded(options.compiler) if options.compiler else [os.environ.get("CXX", "g++")]), *FLAGS, f"@{options.include_flags}"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = [folder / "main.cpp", *(folder / f"{unit}.cpp" for unit in range(units))]
        sources[0].write_text("#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n", encoding="utf-8")
        for unit in range(units):
            sources[unit + 1].write_text(unity(files[unit::units]), encoding="utf-8")

        def compiled(source: pathlib.Path) -> int:
            return subprocess.run([*command, "-c", str(source), "-o", str(source.with_suffix(".o"))], cwd=ROOT).returncode

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            if any(pool.map(compiled, sources)):
                return 1
        program = folder / "tests"
        linked = subprocess.run([*command, *(str(source.with_suffix(".o")) for source in sources), "-o", str(program)], cwd=ROOT)
        return linked.returncode or subprocess.run([str(program)], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
