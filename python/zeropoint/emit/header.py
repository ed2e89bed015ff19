# SPDX-License-Identifier: BSD-3-Clause
"""The header: head comment, templates of blocks, the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zeropoint.emit.blocks import RESERVED, Blocks, snake_case
from zeropoint.emit.structure import DEFAULT_INPUT, Structure, name_rows
from zeropoint.emit.text import definition, template_text
from zeropoint.emit.types import grouped, headers_of, quoted, types_of
from zeropoint.lower.context import Lowered, Port

AXES = {(4, (2, 3, 1)): "N C H W", (4, (1, 2, 3)): "N H W C", (3, (1, 2)): "N L C", (3, (2, 1)): "N C L"}


@dataclass
class Header:
    """The text and the name of the network in it."""

    text: str
    name: str
    file_stem: str


def identifier(title: str) -> str:
    """A C++ name in snake_case."""
    name = snake_case(title)
    return "net_" + name if name[0].isdigit() or name in RESERVED else name


def port_text(kind: str, port: Port) -> str:
    """A line of the head comment, which tools read again: see ports.py."""
    extents = "x".join(map(str, port.extents)) or "1"
    shape = "x".join(map(str, port.shape))
    order = " ".join(map(str, port.order)) or "-"
    bounds = ", ".join(f"below {rows} from {first}" for first, rows in port.parts) or f"below {port.below}"
    number = ("int" + (f" {bounds}" if port.below else "")) if port.is_integer else "float"
    return f"//   {kind} {quoted(port.name)}: {port.codes or number} {extents}, here {shape} (axes {order}){port.note}"


def write_header(lowered: Lowered, structure: Structure, name: str, source: str, version: str, notes: list[str],
                 appendix: Any = None) -> Header:
    """The whole text; the same for the same network. appendix: what follows the network, coded.qconfig.Appendix."""
    names = name_rows(structure)
    parts = grouped(types_of(structure, names))  # type: ignore[arg-type]
    headers = headers_of(parts)
    blocks = Blocks(parts)
    body = [template_text(template) for template in blocks.templates]
    inputs = [input_text(port, names[row]) for port, row in zip(lowered.inputs, structure.inputs)]
    qualify(blocks.parts, {template.name for template in blocks.templates}, f"{name}_parts::")
    network = definition(f"struct {name}", "zp::model", [*inputs, *blocks.parts])
    text = "\n".join(body + [network])
    count = sum(tensor.size for tensor in lowered.tensors.values())
    lines = [f"// {name}, made by zeropoint {version} of {source}.",
             f"// {count:,} numbers in {name}{'.int8' if appendix is not None else ''}.safetensors."]
    lines += [port_text("input", port) for port in lowered.inputs]
    lines += [port_text("output", port) for port in lowered.outputs]
    lines += [f"// {note}" for note in notes]
    lines = [one_line(line) for line in lines] + ["#pragma once", ""]
    standard = (["#include <ratio>"] if "std::ratio" in text else []) + \
        (["#include <utility>"] if "std::integer_sequence" in text or "std::make_integer_sequence" in text else [])
    lines += standard + ([""] if standard else [])
    includes = ["zeropoint/model/composition.hpp", *(f"zeropoint/operators/{header}" for header in sorted(headers)),
                *(appendix.includes if appendix is not None else [])]
    lines += [f"#include <{include}>" for include in includes]
    lines.append("")
    if body:
        lines += [f"namespace {name}_parts {{", ""]
        for template, definition_text in zip(blocks.templates, body):
            lines += ([f"/// {comment(template.comment)}"] if template.comment else []) + [definition_text, ""]
        lines += [f"}}  // namespace {name}_parts", ""]
    lines += [network, ""]
    lines += [appendix.text] if appendix is not None else []
    return Header("\n".join(lines), name, name)


def qualify(parts: list, own: set[str], namespace: str) -> None:
    """Names of the templates made here, as the network outside of their namespace says them."""
    for part in parts:
        if part.template in own:
            part.template = namespace + part.template
        for branch in part.branches:
            qualify(branch, own, namespace)


def one_line(text: str) -> str:
    """A comment that ends with its line, whatever a model calls its parts."""
    return "".join(letter if letter.isprintable() else " " for letter in text).rstrip("\\")


def comment(text: str) -> str:
    """Of at most one line."""
    text = one_line(text)
    return text if len(text) <= 110 else text[:107].rsplit(",", 1)[0] + ", ..."


def input_text(port: Port, name: str) -> str:
    """zp::input or zp::indices, under a name where it is not the one that they have by themselves."""
    if port.is_integer:
        text = f"zp::indices<{port.shape[0] * port.shape[1] * port.shape[2]}>"
    else:
        text = f"zp::input<{', '.join(map(str, port.shape))}>"
    return text if name == DEFAULT_INPUT else f"zp::named<{quoted(name)}, {text}>"
