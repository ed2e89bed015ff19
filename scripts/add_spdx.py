#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gives every source file its SPDX line with the licence, where it has none. Usage: add_spdx.py [--check]

The line is the first one, but behind a `#!` and behind what tests/compile_fail says of itself, `// expect:` first and `// errors:`.
Everything that is no source stands in REUSE.toml. --check changes nothing, and fails where a line is missing. `reuse lint` says whether
all files have a licence and a holder. Run it again after a merge: what has the line stays as it is.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = "SPDX-License" "-Identifier: BSD-3-Clause"  # in two parts, or it would be the line of this file
COMMENTS = {".hpp": "//", ".cpp": "//", ".c": "//", ".h": "//", ".S": "//", ".py": "#", ".cmake": "#", ".sh": "#"}
ARE_COMPARED = ("python/tests/golden/",)  # texts that a program must write letter by letter


def sources() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True)
    paths = [path for path in listed.stdout.decode().split("\0") if path and not path.startswith(ARE_COMPARED)]
    return [ROOT / path for path in sorted(paths)
            if (pathlib.PurePath(path).suffix in COMMENTS or path.endswith("CMakeLists.txt")) and (ROOT / path).is_file()]


def with_line(path: pathlib.Path, text: str) -> str:
    """The text with the line; the same where it has it."""
    lines = text.split("\n")
    at = next((i for i, line in enumerate(lines) if not line.startswith(("#!", "// expect:", "// errors:"))), 0)
    if any(LINE in line for line in lines[at:at + 2]):
        return text
    comment = COMMENTS.get(path.suffix, "#")
    return "\n".join([*lines[:at], f"{comment} {LINE}", *lines[at:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    missing = 0
    paths = sources()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        made = with_line(path, text)
        if made == text:
            continue
        missing += 1
        if options.check:
            print(f"{path.relative_to(ROOT)}: expected a line \"{LINE}\": run scripts/add_spdx.py")
        else:
            path.write_text(made, encoding="utf-8")
    print(f"{len(paths)} sources, {missing} without the line" + ("" if options.check else ", which they have now"))
    return 1 if options.check and missing else 0


if __name__ == "__main__":
    sys.exit(main())
