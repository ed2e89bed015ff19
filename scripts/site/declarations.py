# SPDX-License-Identifier: BSD-3-Clause
"""What headers declare, read by libclang: names, their text and the words of their comments.

Needs the binding `clang==14.0` and libclang 14 (Debian's libclang1-14, which clang-14 brings). Bodies are not parsed, and headers of
other libraries may be absent: a declaration is shown as its header has it, not as a compiler understands it.
"""
from __future__ import annotations

import ctypes
import dataclasses
import functools
import glob
import pathlib
import re

from clang import cindex
from clang.cindex import CursorKind, TokenKind

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
LIBRARIES = ("/usr/lib/llvm-14/lib/libclang-14.so.1", "/usr/lib/*/libclang-14.so.1")
SKIP_BODIES, KEEP_GOING = 0x40, 0x200  # of CXTranslationUnit_Flags

KINDS = {
    CursorKind.CLASS_DECL: "class", CursorKind.STRUCT_DECL: "class", CursorKind.UNION_DECL: "class", CursorKind.CLASS_TEMPLATE: "class",
    CursorKind.ENUM_DECL: "enum", CursorKind.ENUM_CONSTANT_DECL: "constant", CursorKind.FUNCTION_DECL: "function",
    CursorKind.FUNCTION_TEMPLATE: "function", CursorKind.CXX_METHOD: "function", CursorKind.CONVERSION_FUNCTION: "function",
    CursorKind.CONSTRUCTOR: "constructor", CursorKind.VAR_DECL: "variable", CursorKind.FIELD_DECL: "variable",
    CursorKind.TYPE_ALIAS_DECL: "alias", CursorKind.TYPE_ALIAS_TEMPLATE_DECL: "alias", CursorKind.TYPEDEF_DECL: "alias",
}
COMMENT = re.compile(r"\s*//(/?)(<?) ?(.*)$")
NO_WORDS = re.compile(r"\s*(NOLINT|clang-format|\[/?[\w-]+\]\s*$|shellcheck)")


@dataclasses.dataclass
class Declaration:
    """A name of a header. `members` are the public ones, in the order of the header."""
    name: str
    kind: str        # class, enum, constant, function, constructor, variable, alias, concept
    namespace: str   # "zp::op"
    header: str      # "core/shape.hpp"
    line: int        # where its text begins
    text: str        # without its body
    doc: str         # Markdown
    members: list[Declaration] = dataclasses.field(default_factory=list)


@functools.cache
def lines_of(header: str) -> list[str]:
    return (INCLUDE / "zeropoint" / header).read_text(encoding="utf-8").splitlines()


def comment_above(header: str, line: int) -> str:
    """The words of the lines of comments directly above a line."""
    lines, words = lines_of(header), []
    at = line - 2
    while at >= 0 and (found := COMMENT.match(lines[at])) and lines[at].lstrip().startswith("//"):
        if not NO_WORDS.match(found[3]):
            words.append(found[3])
        at -= 1
    return "\n".join(reversed(words)).strip()


def comment_behind(header: str, line: int) -> str:
    """The words of a comment at the end of a line, and of those that go on alone in the same column."""
    lines = lines_of(header)
    text = lines[line - 1]
    at = text.find("//")
    if at <= 0 or not text[:at].strip() or text.count('"', 0, at) % 2:
        return ""
    words = [text[at:].lstrip("/<").strip()]
    for further in lines[line:]:
        if further[:at].strip() or not further[at:].startswith("//"):
            break
        words.append(further[at:].lstrip("/<").strip())
    return "" if NO_WORDS.match(words[0]) else "\n".join(words)


def body_of(tokens: list[cindex.Token]) -> cindex.Token | None:
    """The brace that the last one closes."""
    depth = 0
    for token in reversed(tokens):
        depth += (token.spelling == "}") - (token.spelling == "{")
        if depth == 0 and token.spelling == "{":
            return token
    return None


def text_of(cursor: cindex.Cursor, kind: str) -> tuple[str, int]:
    """The text of a declaration without its body, initializers of constructors and values that take lines; and its last line."""
    tokens = list(cursor.get_tokens())
    if not tokens:
        return "", cursor.extent.start.line
    header_lines = lines_of(header_of(cursor))
    depth, end, seen_parameters = 0, body_of(tokens) if kind == "class" else None, False
    for i, token in enumerate(tokens):
        word = token.spelling
        if kind in ("function", "constructor"):
            kept = word == "=" and tokens[i + 1].spelling in ("default", "delete")
            if depth == 0 and seen_parameters and word in ("{", ":", "=") and not kept:
                end = token
                break
            depth += word in ("(", "[", "{")
            depth -= word in (")", "]", "}")
            seen_parameters |= depth == 0 and word == ")"
        elif kind == "variable" and word == "[" and depth == 0 and tokens[i - 1].spelling == "=":  # a lambda, run at once
            end = tokens[i - 1]
            break
    first, last = tokens[0].extent.start, (end or tokens[-1]).extent
    stop_line, stop_column = (last.start.line, last.start.column) if end else (last.end.line, last.end.column)
    cut = header_lines[first.line - 1:stop_line]
    cut[-1] = cut[-1][:stop_column - 1]
    cut[0] = cut[0][first.column - 1:]
    indent = " " * (first.column - 1)
    words = "\n".join(line.removeprefix(indent).rstrip() for line in cut)
    words = re.sub(r"\[\[[\w:, ]+\]\]\s*", "", words)
    if kind != "enum":
        words = re.sub(r"\s*//.*", "", words)
    return words.strip().removesuffix(";").rstrip(), cursor.extent.end.line


def header_of(cursor: cindex.Cursor) -> str | None:
    file = cursor.location.file
    if file is None:
        return None
    path = pathlib.Path(file.name)
    try:
        return path.relative_to(INCLUDE / "zeropoint").as_posix()
    except ValueError:
        return None


def is_specialization(cursor: cindex.Cursor, text: str) -> bool:
    if cursor.kind == CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION or re.match(r"template\s*<>", text):
        return True
    name = re.escape(cursor.spelling)
    in_front = text.split("=")[0] if cursor.kind == CursorKind.UNEXPOSED_DECL else ""
    return re.search(rf"\b(struct|class)\s+{name}\s*<", text) is not None or re.search(rf"\b{name}\s*<[^<>]*>\s*$", in_front) is not None


def kind_of(cursor: cindex.Cursor) -> str | None:
    if cursor.kind in KINDS:
        return KINDS[cursor.kind]
    if cursor.kind in (CursorKind.UNEXPOSED_DECL, getattr(CursorKind, "CONCEPT_DECL", CursorKind.UNEXPOSED_DECL)) and cursor.spelling:
        words = [token.spelling for token in cursor.get_tokens()]
        return "concept" if "concept" in words else "variable" if words and words[0] == "template" else None
    return None


def is_left_out(cursor: cindex.Cursor, kind: str) -> bool:
    if not cursor.spelling or cursor.spelling.startswith(("<deduction", "(")) or cursor.kind == CursorKind.FRIEND_DECL:
        return True
    if kind in ("class", "enum") and not cursor.is_definition() and cursor.get_definition() is not None:
        return True
    parent = cursor.semantic_parent
    return parent is not None and cursor.lexical_parent is not None and parent != cursor.lexical_parent  # a member, defined outside


def declared(cursor: cindex.Cursor, namespace: str, outer: cindex.Cursor | None = None) -> Declaration | None:
    """What a cursor declares; null where that is no name of its own, such as a specialization."""
    kind, header = kind_of(cursor), header_of(cursor)
    if cursor.kind == CursorKind.USING_DECLARATION and header is not None:
        return taken_over(cursor, namespace, header)
    if kind is None or header is None or is_left_out(cursor, kind):
        return None
    text, end = text_of(cursor, kind)
    if is_specialization(cursor, text):
        return None
    if kind == "function" and outer is not None and cursor.spelling.split("<")[0] == outer.spelling.split("<")[0]:
        kind = "constructor"
    line = cursor.extent.start.line
    doc = "" if outer is not None and line == outer.extent.start.line else comment_above(header, line)
    if kind in ("variable", "constant", "alias", "function", "constructor") and (end == line or not doc):
        doc = "\n".join(filter(None, (doc, comment_behind(header, end if kind != "function" else line))))
    made = Declaration(cursor.spelling.split("<")[0] if kind == "constructor" else cursor.spelling, kind, namespace, header, line, text, doc)
    if kind == "class":
        public = [child for child in cursor.get_children() if child.kind != CursorKind.FRIEND_DECL and is_public(child, cursor)]
        made.members = [m for child in public if (m := declared(child, namespace, cursor))]
    elif kind == "enum":
        made.members = [m for child in cursor.get_children() if (m := declared(child, namespace, cursor))]
        made.text = made.text.split("{")[0].strip()
    return made


def taken_over(cursor: cindex.Cursor, namespace: str, header: str) -> Declaration | None:
    """What `using kernel::name;` brings in: the declaration itself, as one of this header."""
    overloaded = cindex.conf.lib.clang_getOverloadedDecl
    overloaded.argtypes, overloaded.restype, overloaded.errcheck = [cindex.Cursor, ctypes.c_uint], cindex.Cursor, cindex.Cursor.from_result
    for child in cursor.get_children():
        if child.kind == CursorKind.OVERLOADED_DECL_REF and (made := declared(overloaded(child, 0), namespace)):
            line = cursor.extent.start.line
            return dataclasses.replace(made, header=header, line=line, doc=comment_above(header, line) or made.doc)
    return None


def is_public(child: cindex.Cursor, owner: cindex.Cursor) -> bool:
    """Of variable templates and concepts, which libclang gives no access, that of the words in front of them."""
    if child.access_specifier != cindex.AccessSpecifier.INVALID:
        return child.access_specifier == cindex.AccessSpecifier.PUBLIC
    access, depth = "", 0
    for token in owner.get_tokens():
        if token.extent.start.offset >= child.extent.start.offset:
            break
        depth += (token.spelling == "{") - (token.spelling == "}")
        if depth == 0 and token.spelling in ("class", "struct"):
            access = "private" if token.spelling == "class" else "public"
        elif depth == 1 and token.spelling in ("public", "private", "protected"):
            access = token.spelling
    return access == "public"


def xsimd_options() -> list[str]:
    """Where xsimd is, where it is not among the system's headers: what CMake has brought into build/."""
    if glob.glob("/usr/include/xsimd/xsimd.hpp"):
        return []
    for header in sorted((ROOT / "build").glob("_dependencies/**/xsimd/xsimd.hpp")):
        return ["-isystem", str(header.parent.parent)]
    raise SystemExit("expected xsimd below build/_dependencies, found none: run cmake --preset test, which brings it")


def read_headers(headers: list[str]) -> dict[str, list[Declaration]]:
    """Declarations of namespace zp and of those within it that are not detail, by header ("core/shape.hpp")."""
    if not cindex.Config.loaded:
        found = [path for pattern in LIBRARIES for path in sorted(glob.glob(pattern))]
        if not found:
            raise SystemExit(f"expected libclang 14 as one of {', '.join(LIBRARIES)}, found none: install libclang1-14")
        cindex.Config.set_library_file(found[0])
    source = "".join(f"#include <zeropoint/{header}>\n" for header in headers)
    options = ["-xc++", "-std=c++20", "-w", f"-I{INCLUDE}", *xsimd_options()]
    unit = cindex.Index.create().parse("headers.cpp", options, [("headers.cpp", source)], SKIP_BODIES | KEEP_GOING)
    result: dict[str, list[Declaration]] = {header: [] for header in headers}

    def walk(cursor: cindex.Cursor, namespace: str) -> None:
        for child in cursor.get_children():
            header = header_of(child)
            if header not in result:
                continue
            if child.kind == CursorKind.NAMESPACE:
                if child.spelling != "detail":
                    walk(child, namespace if child.spelling == "v0" else f"{namespace}::{child.spelling}")
            elif made := declared(child, namespace):
                result[header].append(made)

    for child in unit.cursor.get_children():
        if child.kind == CursorKind.NAMESPACE and child.spelling == "zp" and header_of(child):
            walk(child, "zp")
    return result
