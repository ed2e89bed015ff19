#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails when the C++ that README.md and docs/ show is not the C++ that is compiled. Usage: check_snippets.py [--update]

A block fenced with ```cpp stands behind a line that names its source, a region of a file in tests/docs, docs_digits, executors or distributed:

    <!-- snippet: walk_through.cpp#pipeline -->         // [pipeline]
    ```cpp                                              const auto fused = zp::fuse(trained);
    const auto fused = zp::fuse(trained);               // [/pipeline]
    ```

Both must be the same lines, however far they are indented. --update writes the regions into the pages.
"""
import argparse
import pathlib
import re
import sys
import textwrap

REGION_MARK = re.compile(r"\s*// \[(/?)([\w-]+)\]\s*$")
SNIPPET_MARK = re.compile(r"<!-- snippet: ([\w.]+#[\w-]+) -->\s*$")
FENCE = re.compile(r"\s*(```|~~~)\s*(cpp|c\+\+|cxx|hpp|cc)(?!\w)", re.IGNORECASE)

FOLDERS = ("docs", "docs_digits", "executors", "distributed")  # of tests: docs_digits has the digits network of the example


def dedented(lines: list[str]) -> list[str]:
    return textwrap.dedent("\n".join(line.rstrip() for line in lines)).splitlines()


def read_regions(*sources: pathlib.Path) -> tuple[dict[str, list[str]], list[str]]:
    """The lines between `// [name]` and `// [/name]`, by "file#name"; and what is wrong with the marks."""
    regions: dict[str, list[str]] = {}
    errors: list[str] = []
    for file in sorted(path for source in sources for path in source.rglob("*") if path.suffix in (".cpp", ".hpp")):
        name, begin = None, 0
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            mark = REGION_MARK.match(line)
            if not mark:
                continue
            key = f"{file.name}#{mark[2]}"
            if not mark[1] and name is None and key not in regions:
                name, begin = key, number
            elif mark[1] and name == key:
                regions[key] = dedented(lines[begin:number - 1])
                name = None
            else:
                errors.append(f"{file}:{number}: [{mark[1]}{mark[2]}] does not fit: regions have one name each, begin, end and do not nest")
        if name is not None:
            errors.append(f"{file}:{begin}: the region [{name.split('#')[1]}] has no end")
    return regions, errors


def check_page(page: pathlib.Path, regions: dict[str, list[str]], used: set[str], update: bool) -> list[str]:
    """What is wrong with one page; with `update`, its snippets are rewritten first."""
    errors: list[str] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    result: list[str] = []
    key, i = None, 0
    while i != len(lines):
        line = lines[i]
        i += 1
        result.append(line)
        where = f"{page}:{i}"
        if mark := SNIPPET_MARK.match(line):
            key = mark[1]
            if i == len(lines) or not FENCE.match(lines[i]):
                errors.append(f"{where}: a block of C++ must follow this line")
                key = None
        elif FENCE.match(line):
            end = next((j for j in range(i, len(lines)) if lines[j].strip() == "```"), len(lines))
            block, i = lines[i:end], end
            if key is None:
                errors.append(f"{where}: this block does not say where it is compiled: put <!-- snippet: file.cpp#region --> in front of it")
            elif key not in regions:
                errors.append(f"{where}: tests/docs has no region {key}")
            else:
                used.add(key)
                if update:
                    block = regions[key]
                elif dedented(block) != regions[key]:
                    errors.append(f"{where}: this is not what {key} says: run scripts/check_snippets.py --update")
            result += block
            key = None
    text = "\n".join(result) + "\n"
    if update and text != page.read_text(encoding="utf-8"):
        page.write_text(text, encoding="utf-8")
        print(f"{page} updated")
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--update", action="store_true", help="write the regions of tests/docs into the pages")
    options = parser.parse_args()

    regions, errors = read_regions(*(options.root / "tests" / folder for folder in FOLDERS))
    used: set[str] = set()
    docs = options.root / "docs"
    for page in [options.root / "README.md", *sorted(docs.rglob("*.md"))]:
        if docs / "guides" in page.parents:
            continue  # scripts/run_guides.py compiles and runs those
        errors += check_page(page, regions, used, options.update)
    errors += [f"tests/docs: no page shows {key}" for key in sorted(regions.keys() - used)]
    for error in errors:
        print(error)
    print(f"{len(used)} snippets checked, {len(errors)} errors")
    return 1 if errors or not used else 0


if __name__ == "__main__":
    sys.exit(main())
