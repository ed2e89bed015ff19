#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the documentation as a site: docs/, the pages of the repository that they lead to, and the API reference.

    scripts/site/build.py [--output FOLDER]        build/site without it; open index.html there

Fails on a link, anchor or image that leads nowhere, on a page that the navigation does not list, and on a page that GitHub would show
otherwise than the site. Needs scripts/site/requirements.txt, libclang 14 and, in build/, what CMake brings (xsimd).
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.parse

import links
import same_markdown
import yaml
from reference import Names, write_reference

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
PAGES = ROOT / "build" / "site_pages"
ALWAYS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "README.md", "LICENSE", "examples/README.md")


class Staging:
    """Copies docs/ to the top of a folder and files outside of it, which pages lead to, below repository/."""

    def __init__(self, folder: pathlib.Path, names: Names):
        self.folder, self.names = folder, names
        self.errors: list[str] = []
        self.waiting: list[pathlib.Path] = []
        self.placed: set[pathlib.Path] = set()

    def place_of(self, source: pathlib.Path) -> pathlib.PurePath:
        """Where a file of the repository lies on the site."""
        path = source.relative_to(ROOT)
        return pathlib.PurePath(*path.parts[1:]) if path.parts[0] == "docs" else pathlib.PurePath("repository", path)

    def add(self, source: pathlib.Path) -> None:
        if source not in self.placed:
            self.placed.add(source)
            self.waiting.append(source)

    def run(self) -> None:
        while self.waiting:
            source = self.waiting.pop()
            target = self.folder / self.place_of(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".md":
                target.write_text(self.page(source), encoding="utf-8")
            else:
                shutil.copyfile(source, target)

    def page(self, source: pathlib.Path) -> str:
        """A page with its links as they are on the site, and names of the reference as links."""
        folder = "../" * (len(self.place_of(source).parts) - 1) + "reference/"
        text = source.read_text(encoding="utf-8")
        parts = links.CODE.split(text)  # every other one is code, which stays
        for k, part in enumerate(parts):
            if k % 2 == 0:
                parts[k] = links.MARKDOWN.sub(lambda found: found[1] + self.link(source, found[2]) + ")", part)
        return self.names.link_inline("".join(parts), folder)

    def link(self, source: pathlib.Path, link: str) -> str:
        path, mark, anchor = link.partition("#")
        if not path or urllib.parse.urlsplit(link).scheme:
            return link
        target = (source.parent / path).resolve()
        if target.is_dir() and (target / "README.md").is_file():
            target = target / "README.md"
        if not target.is_file() or ROOT not in target.parents:
            self.errors.append(f"{source.relative_to(ROOT)}: {link} leads to no file of the repository")
            return link
        self.add(target)
        up = "../" * (len(self.place_of(source).parts) - 1)
        return up + self.place_of(target).as_posix() + mark + anchor


def navigation(entries: list, reference: list[str]) -> list:
    """The navigation with the pages of the reference, and with all decisions."""
    decisions = sorted(path.relative_to(PAGES).as_posix() for path in (PAGES / "decisions").glob("*.md"))
    decisions.sort(key=lambda path: not path.endswith("README.md"))
    places = {"REFERENCE": [f"reference/{page}" for page in reference], "DECISIONS": decisions}

    def replaced(entry):
        if isinstance(entry, list):
            return [replaced(one) for one in entry]
        if isinstance(entry, dict):
            return {title: replaced(what) for title, what in entry.items()}
        return places.get(entry, entry)
    return replaced(entries)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "site")
    options = parser.parse_args()
    shutil.rmtree(PAGES, ignore_errors=True)
    names, reference = write_reference(PAGES / "reference")
    staging = Staging(PAGES, names)
    for source in sorted((ROOT / "docs").rglob("*")):
        if source.is_file() and source.suffix != ".toml":
            staging.add(source)
    for path in ALWAYS:
        staging.add(ROOT / path)
    staging.run()
    shutil.copyfile(HERE / "site.css", PAGES / "site.css")
    errors = staging.errors + same_markdown.errors_in(sorted(path for path in staging.placed if path.suffix == ".md"), ROOT)
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    errors += [f"docs/decisions/README.md does not list {path.name}" for path in sorted((ROOT / "docs" / "decisions").glob("0*.md"))
               if f"]({path.name})" not in listed]
    for error in errors:
        print(error)
    settings, entries = (HERE / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")
    nav = navigation(yaml.safe_load(entries), reference)
    made = ROOT / "build" / "mkdocs.yml"
    made.write_text(settings.replace("../../build/", "") + "\n" + yaml.safe_dump({"nav": nav}, sort_keys=False), encoding="utf-8")
    built = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--config-file", made,
                            "--site-dir", options.output.resolve()], env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if built.returncode != 0 or errors:
        return 1
    errors = links.errors_in(options.output)
    for error in errors:
        print(error)
    print(f"{len(list(options.output.rglob('*.html')))} pages in {options.output}, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
