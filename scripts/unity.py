#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes one translation unit that holds many test files: the library is parsed and instantiated once for all of them.

    scripts/unity.py OUTPUT FILE...

What the files include comes first; then each of them, in a namespace of its own, in which their own includes are empty,
because every header has `#pragma once`. What has no test cases, or adds to namespace zp or the global one, stands outside.
Clang optimizes what the headers define and leaves the tests themselves as they are: half of its time.
"""
import pathlib
import re
import sys

OUTSIDE = re.compile(r"^namespace zp\b|^template <> struct zp::|\boperator new\b", re.MULTILINE)
PLAIN = """#if defined(__clang__)
#pragma clang optimize off
#endif"""
INCLUDE = re.compile(r'^#include (?:<(.+)>|"(.+)")', re.MULTILINE)


def unity(files: list[pathlib.Path]) -> str:
    system, own, bodies = [], [], []
    for number, file in enumerate(files):
        text = file.read_text(encoding="utf-8")
        for angled, quoted in INCLUDE.findall(text):
            included, line = (system, f"#include <{angled}>") if angled else (own, f'#include "{(file.parent / quoted).resolve()}"')
            if line not in included:
                included.append(line)
        body = f'#include "{file.resolve()}"'
        if "TEST_CASE" in text and not OUTSIDE.search(text):
            body = f"namespace file_{number} {{\n{body}\n}}"
        bodies.append(body)
    return "\n".join(["// Written by scripts/unity.py.", *sorted(system), *own, PLAIN, *bodies]) + "\n"


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    output, text = pathlib.Path(sys.argv[1]), unity([pathlib.Path(file) for file in sys.argv[2:]])
    if not output.exists() or output.read_text(encoding="utf-8") != text:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
