#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the mistakes of many cases together and writes beside each what the compiler said of it: check.cmake reads that first.

    tests/compile_fail/together.py OUTPUT-FOLDER --headers HEADERS --cases CASE... --compile COMPILER FLAG...

Most of what a case takes alone is what GCC instantiates for headers.hpp at the end of any file. Each case stands in a namespace of its
own, as the twins do. An error belongs to the case that the compiler names where it says how it came to it. What is not told so (a mistake that
ends the compiler, an error of two cases), check.cmake finds missing and compiles alone.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r"^#include .+$", re.MULTILINE)
# What GCC and Clang say in front of an error: how they came to the place.
CONTEXT = re.compile(r"^In file included from |^ +from |: In .+:$|: At .+:$|:   (recursively )?required ")


def source_of(cases: list[pathlib.Path]) -> str:
    included, bodies = [], []
    for number, case in enumerate(cases):
        text = case.read_text(encoding="utf-8")
        included += [line for line in INCLUDE.findall(text) if line not in included]
        bodies.append(f'namespace case_{number} {{\n#line 1 "{case}"\n{INCLUDE.sub("", text)}\n}}')
    return "\n".join([*included, *bodies]) + "\n"


def told_of(cases: list[pathlib.Path], output: str) -> dict[pathlib.Path, str]:
    """The lines of each case, by the case that is named nearest to each error."""
    blocks: list[tuple[list[str], list[str]]] = [([], [])]  # in front of an error, and from it on
    for line in output.splitlines():
        if CONTEXT.search(line) and not blocks[-1][1]:
            blocks[-1][0].append(line)
        elif ": error: " in line:
            if blocks[-1][1]:
                blocks.append(([], []))
            blocks[-1][1].append(line)
        elif CONTEXT.search(line):
            blocks.append(([line], []))
        elif blocks[-1][1]:
            blocks[-1][1].append(line)
    told: dict[pathlib.Path, str] = {}
    names = {str(case): case for case in cases}
    named = re.compile("|".join(re.escape(name) for name in names) or "$^")
    last = None
    for context, lines in blocks:
        found = named.findall("\n".join(context))
        inside = named.findall("\n".join(lines))
        last = names[found[-1]] if found else names[inside[0]] if inside else last
        if last is not None:
            told[last] = told.get(last, "") + "\n".join([*context, *lines]) + "\n"
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--headers", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--compile", nargs=argparse.REMAINDER, required=True)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    source = arguments.folder / f"{arguments.cases[0].stem}.together.cpp"
    source.write_text(source_of(arguments.cases), encoding="utf-8")
    # Clang ends at 20 errors.
    limits = ["-ferror-limit=0"] if "clang" in pathlib.Path(arguments.compile[0]).name else []
    run = subprocess.run([*arguments.compile, "-std=c++20", "-fsyntax-only", "-DZEROPOINT_MUST_FAIL", *limits, "-include", str(arguments.headers), str(source)],
                         capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    told = told_of(arguments.cases, run.stderr)
    for case in arguments.cases:
        (arguments.folder / f"{case.stem}.txt").write_text(told.get(case, ""), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
