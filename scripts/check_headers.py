#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails where a header of the library does not compile alone, under all of the compiler's warnings.

    scripts/check_headers.py [build/test]               every header
    scripts/check_headers.py [build/test] --in-turn     those that changed, those that include these, and of the rest a tenth

The commands are those of CMake's target all_verify_interface_header_sets, from compile_commands.json in a configured build
folder; nothing is generated. A header of which nothing has changed compiles as it did: the tenth is for what came between two
runs. scripts/changes.py says what has changed, and whose turn it is.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys

import changes
from changes import ROOT

INCLUDE = ROOT / "include"
PARTS = 10


def commands(build: pathlib.Path) -> dict[str, list[str]]:
    """Of each header, by its path from the root."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if header := re.search(r"/zeropoint_verify_interface_header_sets/(.+)\.cxx$", entry["file"]):
            words = shlex.split(entry["command"])
            output = words.index("-o")
            words[output:output + 2] = ["-fsyntax-only"]
            words.remove("-c")
            found[str((INCLUDE / header[1]).relative_to(ROOT))] = words
    return found


def includers(headers: list[str]) -> dict[str, set[str]]:
    """The headers that include each, directly."""
    found: dict[str, set[str]] = {}
    for header in headers:
        for name in re.findall(r"^#\s*include <(zeropoint/.+)>", (ROOT / header).read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(f"include/{name}", set()).add(header)
    return found


def affected(headers: list[str], changed: frozenset[str]) -> set[str]:
    """Those that changed, and those that include these, however far."""
    above, waiting, found = includers(headers), [header for header in headers if header in changed], set()
    while waiting:
        if (header := waiting.pop()) not in found:
            found.add(header)
            waiting += above.get(header, ())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs="?", default=ROOT / "build" / "test")
    parser.add_argument("--in-turn", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    changes.add_options(parser)
    options = parser.parse_args()
    if not (options.build / "compile_commands.json").exists():
        parser.error(f"no {options.build}/compile_commands.json: configure first, with cmake --preset test")
    command_of = commands(options.build)
    headers = sorted(command_of)
    if not headers:
        parser.error(f"{options.build} has no target all_verify_interface_header_sets")
    chosen = headers
    if options.in_turn:
        since = changes.find(options)
        nearby = affected(headers, since.files)
        chosen = sorted(nearby | set(headers[since.turn % PARTS::PARTS]))
        print(f"{since.basis}: {len(nearby)} headers that it may concern, and every tenth")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        finished = pool.map(lambda one: subprocess.run(command_of[one], capture_output=True, text=True), chosen)
        for header, done in zip(chosen, finished):
            if done.returncode != 0:
                failed += 1
                print(f"{header} does not compile alone:\n{done.stderr}")
    print(f"{len(chosen) - failed} of {len(headers)} headers compiled alone, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
