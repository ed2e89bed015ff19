#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the pages in docs/guides as a reader would: files are written, commands run in order, in an empty folder.

    scripts/run_guides.py [--keep FOLDER] [--in-turn] [PAGE...]

    <!-- guide: train.py -->          the block that follows is written to that file, behind what it holds already
    <!-- guide: not run: REASON -->   the block that follows is shown only
    <!-- guide: expect REGEX -->      what the commands in front of it printed has this

Blocks fenced with ```sh are run, by bash, from the top of a folder of the page's own; one that fails ends the page. Blocks of other
languages stand behind one of the first two marks, but for ```text, which shows what something prints. `python`, `pip` and `zeropoint`
are those of the Python that runs this script, `zeropoint` being the package of this checkout, $CXX is `c++` where it is set, and
$ZEROPOINT_CHECKOUT is the repository. --in-turn runs one page, the next one in the next run, and those that have changed.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import changes

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"<!-- guide: (.*?) -->\s*$")
FENCE = re.compile(r"```(\w*)\s*$")


class Wrong(Exception):
    """What is wrong with a page, in a sentence."""


def steps_of(page: pathlib.Path) -> list[tuple[str, str, str]]:
    """(what, argument, text): write a file, run commands, expect a pattern."""
    steps, mark = [], ""
    lines = page.read_text(encoding="utf-8").splitlines()
    i = 0
    while i != len(lines):
        where = f"{page.name}:{i + 1}"
        if found := MARK.match(lines[i]):
            if found[1].startswith("expect "):
                steps.append(("expect", found[1].removeprefix("expect "), where))
            else:
                mark = found[1]
        elif fence := FENCE.match(lines[i]):
            end = next((j for j in range(i + 1, len(lines)) if lines[j].rstrip() == "```"), None)
            if end is None:
                raise Wrong(f"{where}: this block has no end")
            text = "\n".join(lines[i + 1:end]) + "\n"
            if mark and not mark.startswith("not run: "):
                steps.append(("write", mark, text))
            elif not mark and fence[1] == "sh":
                steps.append(("run", where, text))
            elif not mark and fence[1] != "text":
                raise Wrong(f"{where}: this block says neither which file it is nor why it is not run")
            mark, i = "", end
        i += 1
    if not any(what == "expect" for what, *_ in steps):
        raise Wrong(f"{page.name}: nothing here is expected of what it runs")
    return steps


def programs(folder: pathlib.Path) -> None:
    """python, zeropoint and c++ as the pages name them."""
    folder.mkdir()
    python = shlex.quote(sys.executable)
    texts = {"python": f"exec {python} \"$@\"", "pip": f"exec {python} -m pip \"$@\"", "zeropoint": f"exec {python} -m zeropoint \"$@\""}
    if os.environ.get("CXX"):
        texts["c++"] = f"exec {os.environ['CXX']} \"$@\""
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)


def run_page(page: pathlib.Path, folder: pathlib.Path) -> None:
    """All steps of a page in an empty folder. Raises Wrong."""
    programs(folder / ".programs")
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PATH": f"{folder / '.programs'}:{os.environ['PATH']}", "ZEROPOINT_CHECKOUT": str(ROOT),
                   "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    printed, written = "", set()
    for what, argument, text in steps_of(page):
        if what == "write":
            file = folder / argument
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(file, "a" if argument in written else "w", encoding="utf-8") as out:
                out.write(("\n" if argument in written else "") + text)
            written.add(argument)
        elif what == "run":
            print("".join(f"$ {line}\n" for line in text.splitlines()), end="", flush=True)
            begin = time.monotonic()
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            printed = done.stdout
            print(printed + f"({time.monotonic() - begin:.1f} s)", flush=True)
            if done.returncode != 0:
                raise Wrong(f"{argument}: these commands end with status {done.returncode}")
        elif not re.search(argument, printed):
            raise Wrong(f"{text}: expected to read {argument!r} in what the commands before it print")


def in_turn(pages: list[pathlib.Path], options: argparse.Namespace) -> list[pathlib.Path]:
    """One of them, and those that have changed."""
    found = changes.find(options)
    chosen = [page for number, page in enumerate(pages)
              if number == found.turn % len(pages) or str(page.relative_to(ROOT)) in found.files]
    print(f"{len(chosen)} of {len(pages)} pages: {found.basis}")
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="by default all of docs/guides")
    parser.add_argument("--keep", type=pathlib.Path, help="an empty or new folder for what the pages make")
    parser.add_argument("--in-turn", action="store_true", help="one page, and those that have changed")
    changes.add_options(parser)
    options = parser.parse_args()
    pages = options.pages or sorted((ROOT / "docs" / "guides").glob("*.md"))
    if options.in_turn and pages:
        pages = in_turn(pages, options)
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        for page in pages:
            folder = (options.keep or pathlib.Path(temporary)).resolve() / page.stem
            folder.mkdir(parents=True)
            print(f"-- {page.name}", flush=True)
            begin = time.monotonic()
            try:
                run_page(page, folder)
                print(f"-- {page.name}: holds, {time.monotonic() - begin:.0f} s", flush=True)
            except Wrong as wrong:
                print(f"-- {wrong}", flush=True)
                failed.append(page.name)
    print(f"{len(pages) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
