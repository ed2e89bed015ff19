#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which lines of io, scheme and pass their tests run, by GCC's gcov. Prints the others, and fails where too many are left.

    scripts/coverage.py                  all three, of which each must have 95 % of its lines run
    scripts/coverage.py --rooms io --list

A line counts where code was made of it: one of a template that nothing instantiates, or of a function that compilers alone run, does not;
tests/pass/at_run_time.cpp runs the passes, which they run otherwise. A line is run where one instance of it was. Each header is listed with
its share and the lines that were not run.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

from include_flags import include_flags
from unity import unity

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("io", "scheme", "pass")
TESTS = {  # the tests that run each
    "io": ("io", "faults"),
    "scheme": ("scheme", "observe/fixed_qparams_observer.cpp"),
    "pass": ("pass", "workflow/fuse.cpp"),
}


def build(name: str, files: list[pathlib.Path], flags: list[str], folder: pathlib.Path, measured: str) -> str:
    """What went wrong, or nothing."""
    source = folder / f"{name}.cpp"
    source.write_text(unity(files), encoding="utf-8")
    done = subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O0", "-w", "--coverage", f"-fprofile-filter-files={measured}",
                           "-DZEROPOINT_TEST_ONE_ARCHITECTURE", f'-DZEROPOINT_SOURCE_DIR="{ROOT}"', "-mavx2", "-mfma", *flags, str(source),
                           str(ROOT / "tests" / "main.cpp"), "-o", str(folder / name)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        done = subprocess.run([str(folder / name)], cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-3000:]


def counts(folder: pathlib.Path) -> dict[str, dict[int, int]]:
    """By header and line, how often the line was run."""
    found: dict[str, dict[int, int]] = collections.defaultdict(lambda: collections.defaultdict(int))
    for notes in sorted(folder.glob("*.gcno")):
        done = subprocess.run(["gcov", "--json-format", "--stdout", str(notes)], cwd=folder, capture_output=True, text=True, check=True)
        for document in done.stdout.splitlines():
            for file in json.loads(document)["files"]:
                path = (folder / file["file"]).resolve()
                if path.is_relative_to(ROOT / "include" / "zeropoint"):
                    for line in file["lines"]:
                        found[str(path.relative_to(ROOT / "include" / "zeropoint"))][line["line_number"]] += line["count"]
    return found


def ranges(lines: list[int]) -> str:
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="default: %(default)s")
    parser.add_argument("--least", type=float, default=95, help="percent of each (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the text of the lines as well")
    parser.add_argument("--include-flags", help="response file; default: the newest in build/")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    rooms = options.rooms.split(",")
    flags = include_flags(options.include_flags)
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True)
    tests = {room: [file for name in TESTS[room] for file in (sorted((ROOT / "tests" / name).rglob("*.cpp")) or [ROOT / "tests" / name])]
             for room in rooms}
    measured = f".*/include/zeropoint/({'|'.join(rooms)})/.*"
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        problems = [problem for problem in pool.map(lambda room: build(room, tests[room], flags, options.folder, measured), rooms) if problem]
    if problems:
        print(*problems, sep="\n")
        return 1
    found, failed = counts(options.folder), False
    for room in rooms:
        all_lines = all_run = 0
        for header in sorted(name for name in found if name.startswith(f"{room}/")):
            text = (ROOT / "include" / "zeropoint" / header).read_text(encoding="utf-8").splitlines()
            lines = found[header]
            left = sorted(number for number, count in lines.items() if count == 0)
            all_lines, all_run = all_lines + len(lines), all_run + len(lines) - len(left)
            print(f"{header:<36} {len(lines) - len(left):>5} of {len(lines):>5}" + (f"   not run: {ranges(left)}" if left else ""))
            if options.list:
                for number in left:
                    print(f"{number:>8}  {text[number - 1] if number <= len(text) else ''}")
        share = 100 * all_run / all_lines if all_lines else 0
        failed |= share < options.least
        print(f"{room}: {share:.1f} % of {all_lines} lines" + ("" if share >= options.least else f", where {options.least:g} % are expected"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
