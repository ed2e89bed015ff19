#!/usr/bin/env python3
"""Fails when a C++ snippet of README.md or docs/ is in no file that is compiled. Usage: check_snippets.py [root]

A snippet is a block fenced with ```cpp. Its lines must stand, one after another and with the same relative indentation,
in a file of examples/, tests/ or include/; a line of the snippet that is only `...` or `// ...` skips any number of lines.
What a page wants to show and no example does goes into tests/docs/<page>.cpp, which is a test like every other.
"""
import pathlib
import re
import sys
import textwrap

FENCE = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPILED = ("examples", "tests", "include")


def blocks_between_gaps(snippet: str) -> list[list[str]]:
    """The runs of lines that must be found, in order, with empty lines dropped."""
    blocks: list[list[str]] = [[]]
    for line in snippet.splitlines():
        if line.strip() in ("...", "// ..."):
            blocks.append([])
        elif line.strip():
            blocks[-1].append(line.rstrip())
    return [textwrap.dedent("\n".join(block)).splitlines() for block in blocks if block]


def position_after(lines: list[str], block: list[str], start: int) -> int | None:
    """Where the first occurrence of a block ends, at or behind `start`."""
    for first in range(start, len(lines) - len(block) + 1):
        if lines[first].strip() != block[0].strip():
            continue
        if textwrap.dedent("\n".join(lines[first:first + len(block)])).splitlines() == block:
            return first + len(block)
    return None


def contains(lines: list[str], blocks: list[list[str]]) -> bool:
    position: int | None = 0
    for block in blocks:
        position = position_after(lines, block, position)
        if position is None:
            return False
    return True


def main() -> int:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    sources = [[line.rstrip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
               for folder in COMPILED for file in sorted((root / folder).rglob("*.[hc]pp"))]
    checked = errors = 0
    for page in sorted([root / "README.md", *(root / "docs").rglob("*.md")]):
        if not page.exists():
            continue
        text = page.read_text(encoding="utf-8")
        for found in FENCE.finditer(text):
            checked += 1
            blocks = blocks_between_gaps(found[1])
            if not blocks or not any(contains(lines, blocks) for lines in sources):
                errors += 1
                line = text.count("\n", 0, found.start()) + 1
                print(f"{page.relative_to(root)}:{line}: this snippet is in no compiled file")
    print(f"{checked} snippets checked, {errors} errors")
    return 1 if errors or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
