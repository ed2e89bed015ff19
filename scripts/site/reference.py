# SPDX-License-Identifier: BSD-3-Clause
"""The pages of the API reference: Markdown, made of docs/reference.toml and of the headers' docstrings."""
from __future__ import annotations

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from check_docstrings import members_explained
from declarations import ROOT, Declaration, lines_of
from public import Page, read_pages

UMBRELLAS = ("zeropoint.hpp", "operators.hpp", "deploy.hpp", "embedded.hpp")
INLINE_CODE = re.compile(r"(`[^`\n]+`)")
NAME = re.compile(r"\bzp::(?:\w+::)*(\w+)\b")
INTRODUCTION = """\
Public are the names on these pages: what a program includes and names, as docs/reference.toml lists it. Everything else in the headers
(namespace `detail`, the insides of kernels, passes and operators) may change in any version: [what the promise is](../versioning.md).

Docstrings say shapes, units, ranges and errors. What is wrong and known to the compiler does not compile; what is found later raises a
[`zp::error`](basics.md#error), whose message says what was expected, what came and what to do. Everything is in namespace `zp`.
Layers are types, and what they have in common, `nodes` and `lower`, is said once, by [`zp::layer`](models.md#layer).

## Headers

| header | what it has |
|---|---|
"""


def about_header(header: str) -> str:
    """The sentences at the top of a header."""
    words = []
    for line in lines_of(header):
        if not line.startswith("//"):
            break
        if "SPDX-" not in line:
            words.append(line.removeprefix("//").strip())
    return " ".join(words)


class Names:
    """Where the reference has a public name: for links."""

    def __init__(self, pages: list[Page]):
        self.places: dict[str, str] = {}
        for page in pages:
            for declarations in page.headers.values():
                for d in declarations:
                    self.places.setdefault(d.name, f"{page.file}.md#{d.name}")

    def link(self, code: str, folder: str) -> str:
        """Inline code that is one of the names, `zp::fuse`, as a link to it."""
        name = NAME.fullmatch(code.strip("`").removesuffix("()").split("<")[0])
        return f"[{code}]({folder}{self.places[name[1]]})" if name and name[1] in self.places else code

    def link_inline(self, text: str, folder: str) -> str:
        """All of those in a page, but for headings and what is a link already."""
        lines, fence = [], False
        for line in text.split("\n"):
            fence ^= line.lstrip().startswith("```")
            if not fence and not line.startswith(("#", "    ", "```", "<")):
                parts = re.split(r"(\[[^\]]*\]\([^)]*\))", line)
                line = "".join(part if k % 2 else INLINE_CODE.sub(lambda found: self.link(found[0], folder), part) for k, part in enumerate(parts))
            lines.append(line)
        return "\n".join(lines)

    def link_words(self, text: str) -> str:
        """The same in words of a docstring, zp::fuse, which become code."""
        def of_word(found: re.Match) -> str:
            return f"[`{found[0]}`]({self.places[found[1]]})" if found[1] in self.places else f"`{found[0]}`"
        return NAME.sub(of_word, text)


def as_markdown(doc: str, names: Names) -> str:
    """A docstring: plain words, `code`, lists and indented code."""
    out: list[str] = []
    for line in doc.split("\n"):
        is_code, is_item = line.startswith("    "), bool(re.match(r" {0,3}- ", line))
        goes_on = out and out[-1].startswith("- ") or out and out[-1].startswith("    ") and not is_code
        if out and out[-1] and (is_code != out[-1].startswith("    ") or is_item and not out[-1].startswith("- ")) and not (goes_on and not is_code):
            out.append("")
        if is_code:
            out.append(line)
            continue
        parts = INLINE_CODE.split(line.strip())
        words = "".join(names.link(part, "") if k % 2 else escaped(names.link_words(part)) for k, part in enumerate(parts))
        out.append(re.sub(r"^([+>#]|\d+[.)] )", r"\\\1", words) if not is_item else words)
    return "\n".join(out)


def escaped(words: str) -> str:
    """Words in which nothing is HTML or emphasis; links and code of link_words stay."""
    parts = re.split(r"(\[`[^`]*`\]\([^)]*\)|`[^`]*`)", words)
    return "".join(part if k % 2 else part.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*") for k, part in enumerate(parts))


def member_lines(members: list[Declaration], hidden: set[str], names: Names) -> list[str]:
    """Members as a list of definitions; those without a docstring of their own stand with the one in front of them."""
    lines: list[str] = []
    shown = [m for m in members if m.doc or m.name not in hidden and not m.name.startswith("operator=")]
    i = 0
    while i != len(shown):
        together = [shown[i]]
        while i + 1 != len(shown) and (shown[i + 1].line == together[-1].line or not shown[i + 1].doc and shown[i + 1].name == together[0].name
                                       and shown[i + 1].kind == "function"):
            i += 1
            if shown[i].line == together[-1].line and shown[i].kind == "variable":
                together[-1] = shown[i]  # of several names on a line the last one has the text of all
            else:
                together.append(shown[i])
        i += 1
        for m in together:
            lines.append(f"<code>{code(m)}</code>")
        lines.append(":   " + (as_markdown(as_sentence(together[0].doc), names) or "\u200b").replace("\n", "\n    "))
        lines.append("")
        for m in together:
            inner = [x for x in m.members if x.kind != "constructor"]
            if inner:
                lines += ["    " + line for line in member_lines(inner, members_explained(m), names)]
    return lines


def as_sentence(words: str) -> str:
    """Of a comment behind a declaration, which begins small and ends without a point."""
    if re.match(r"[a-z]+[ ,;]", words):
        words = words[0].upper() + words[1:]
    return words + "." if re.search(r"\w\)?$", words) else words


def code(d: Declaration) -> str:
    text = " ".join(d.text.split())
    return "".join(letter if letter not in "&<>*_[|`" else f"&#{ord(letter)};" for letter in text)  # neither HTML nor Markdown


def overloads(declarations: list[Declaration]) -> list[list[Declaration]]:
    """Declarations of one name stand together."""
    groups: dict[str, list[Declaration]] = {}
    for d in declarations:
        groups.setdefault(d.name, []).append(d)
    return list(groups.values())


def title_of(guide: str) -> str:
    return (ROOT / "docs" / guide.split("#")[0]).read_text(encoding="utf-8").split("\n")[0].removeprefix("# ")


def page_text(page: Page, names: Names) -> str:
    lines = [f"# {page.title}", "", page.about, "", f"Guide: [{title_of(page.guide)}](../{page.guide}).", ""]
    for header, declarations in page.headers.items():
        lines += [f"## {header.split('/')[-1]}", "", "```cpp", f"#include <zeropoint/{header}>", "```", "", escaped(about_header(header)), ""]
        for group in overloads(declarations):
            first = group[0]
            lines += [f"### {first.name} {{#{first.name}}}" if names.places[first.name].startswith(page.file + ".md") else f"### {first.name}", ""]
            for d in group:
                namespace = "" if d.namespace == "zp" else f"// namespace {d.namespace}\n"
                lines += ["```cpp", f"{namespace}{d.text};", "```", ""]
                if d.doc:
                    lines += [as_markdown(d.doc, names), ""]
                if d.kind == "enum" and not any(m.doc for m in d.members):
                    lines += ["Values: " + ", ".join(f"`{m.name}`" for m in d.members) + ".", ""]
                else:
                    lines += member_lines(d.members, members_explained(d), names)
    return "\n".join(lines) + "\n"


def kinds_text(kinds: list[Declaration], names: Names) -> str:
    lines = ["# Kinds of layers", "", "What `zp::keep_float_type`, `zp::for_type` and other options of a qconfig select: "
             "`zp::keep_float_type<zp::op::softmax>`. Each is a constant of namespace `zp::op`; layers that only rearrange others "
             "(a residual, an encoder) become rows of these kinds.", "", "| kind | header |", "|---|---|"]
    lines += [f"| `zp::op::{d.name}` | `{d.header}` |" for d in sorted(kinds, key=lambda d: d.name)]
    return "\n".join(lines) + "\n"


def index_text(pages: list[Page], names: Names) -> str:
    lines = ["# API reference", "", INTRODUCTION.rstrip()]
    lines += [f"| `<zeropoint/{header}>` | {escaped(about_header(header))} |" for header in UMBRELLAS]
    lines += ["", "Any other header may be included alone.", "", "## Pages", "", "| page | what it has |", "|---|---|"]
    lines += [f"| [{page.title}]({page.file}.md) | {page.about} |" for page in pages]
    lines += ["| [Kinds of layers](kinds.md) | what qconfigs select by type |", "", "## All names", "",
              " ".join(f"[`{name}`]({place})" for name, place in sorted(names.places.items())), ""]
    return "\n".join(lines)


def write_reference(folder: pathlib.Path) -> tuple[Names, list[str]]:
    """Writes the pages into a folder; where names are, and the titles of the pages with their files, in order."""
    pages, kinds, errors = read_pages()
    if errors:
        raise SystemExit("\n".join(errors))
    names = Names(pages)
    folder.mkdir(parents=True)
    for page in pages:
        (folder / f"{page.file}.md").write_text(page_text(page, names), encoding="utf-8")
    (folder / "kinds.md").write_text(kinds_text(kinds, names), encoding="utf-8")
    (folder / "index.md").write_text(index_text(pages, names), encoding="utf-8")
    return names, ["index.md", *(f"{page.file}.md" for page in pages), "kinds.md"]
