# SPDX-License-Identifier: BSD-3-Clause
"""Rows that are together PyTorch's TransformerEncoderLayer, under its names, and layers of them: zp::encoder_layer, zp::encoder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zeropoint.layers import Argument, Code, Name, Number, Options

if TYPE_CHECKING:
    from zeropoint.emit.types import Type

ACTIVATIONS = ("zp::relu", "zp::gelu", "zp::gelu_tanh", "zp::silu", "zp::relu6", "zp::mish", "zp::hardswish", "zp::tanh")


def name_of(part: Type) -> str:
    """Of its parameters."""
    return part.args[0].text if part.args and isinstance(part.args[0], Name) else ""


def is_plain(part: Type, template: str, name: str) -> bool:
    """A layer of this template and name without an alias."""
    return part.template == template and name_of(part) == name and part.alias is None


def feed_forward(parts: list[Type], stem: str) -> tuple[Argument, str] | None:
    """linear1, an activation, linear2: how wide, and which."""
    if len(parts) != 3 or not is_plain(parts[0], "zp::linear", stem + "linear1") or \
            not is_plain(parts[2], "zp::linear", stem + "linear2") or len(parts[0].args) != 2 or len(parts[2].args) != 2:
        return None
    middle = parts[1]
    if middle.template not in ACTIVATIONS or middle.args or middle.alias is not None:
        return None
    return parts[0].args[1], middle.template


def encoder_layer_at(parts: list[Type], i: int) -> tuple[Type, int] | None:
    """The encoder layer that begins here, and how many parts it is."""
    first = parts[i]
    if first.template != "zp::residual" or first.alias is not None or not 1 <= len(first.branches[0]) <= 2:
        return None
    attention = first.branches[0][-1]
    stem = name_of(attention).removesuffix("self_attn")
    if attention.template != "zp::self_attention" or stem == name_of(attention) or attention.alias is not None or \
            any(isinstance(arg, Code) and arg.text == "zp::with_bias::no" for arg in attention.args):
        return None
    norm_first = len(first.branches[0]) == 2
    if norm_first:
        used = parts[i:i + 2]
        if len(used) != 2 or used[1].template != "zp::residual" or len(used[1].branches[0]) != 4:
            return None
        norms, inner = [first.branches[0][0], used[1].branches[0][0]], used[1].branches[0][1:]
    else:
        used = parts[i:i + 4]
        if len(used) != 4 or used[2].template != "zp::residual" or used[2].alias is not None or used[1].alias is not None:
            return None
        norms, inner = [used[1], used[3]], used[2].branches[0]
    wide = feed_forward(inner, stem)
    plain = all(norm.template == "zp::layer_norm" and name_of(norm) == f"{stem}norm{number}"
                for number, norm in enumerate(norms, 1))
    if wide is None or not plain or norms[0].args[1:] != norms[1].args[1:] or norms[0].alias is not None or \
            norm_first and norms[1].alias is not None:
        return None
    args = options_of(norm_first, norms[0].args[1:], wide, bool(attention.branches))
    made = type(first)("zp::encoder_layer", (Name(stem.removesuffix(".")), attention.args[1], *args), attention.branches,
                       shared_path(used), "attention.hpp", alias=used[-1].alias)
    return made, len(used)


def options_of(norm_first: bool, norm: tuple[Argument, ...], wide: tuple[Argument, str], has_mask: bool) -> list[Argument]:
    """The arguments behind the heads; defaults at their end are left out."""
    from zeropoint.emit.text import argument_text

    norm_text = argument_text(norm[0]) if norm else None
    fields = (("norm_first", norm_first), ("norm", Code(norm_text) if norm_text else None))
    options = Options("zp::encoder_options", fields, (("norm_first", False), ("norm", None)))  # type: ignore[arg-type]
    args: list[Argument] = [wide[0], Code(wide[1]), options]
    if not has_mask and not norm_first and norm_text is None:
        args.pop()
        if wide[1] == "zp::relu":
            args.pop()
    return args


def shared_path(parts: list[Type]) -> tuple:
    """The modules that hold all of them."""
    common = []
    for steps in zip(*(part.path for part in parts)):
        if any(step != steps[0] for step in steps):
            break
        common.append(steps[0])
    return tuple(common)


def with_encoders(parts: list[Type]) -> list[Type]:
    """The same list with what is an encoder as one part."""
    made: list[Type] = []
    i = 0
    while i < len(parts):
        found = encoder_layer_at(parts, i)
        made.append(found[0] if found is not None else parts[i])
        i += found[1] if found is not None else 1
    return stacked(made)


def stacked(parts: list[Type]) -> list[Type]:
    """Layers `x.layers.0`, `x.layers.1` and so on that differ in nothing else."""
    made: list[Type] = []
    i = 0
    while i < len(parts):
        match = re.fullmatch(r"(.*?)\.?layers\.0", name_of(parts[i])) if parts[i].template == "zp::encoder_layer" else None
        end = i + 1
        while match is not None and end < len(parts) and parts[end - 1].alias is None and \
                parts[end].template == "zp::encoder_layer" and \
                name_of(parts[end]) == parts[i].args[0].text[:-1] + str(end - i) and \
                parts[end].args[1:] == parts[i].args[1:] and \
                same_branches(parts[end], parts[i]):  # type: ignore[union-attr]
            end += 1
        if match is None or end - i < 2:
            made.append(parts[i])
            i += 1
            continue
        first = parts[i]
        made.append(type(first)("zp::encoder", (Name(match.group(1)), Number(end - i, "Layers"), *first.args[1:]),
                                first.branches, shared_path(parts[i:end]), "attention.hpp", alias=parts[end - 1].alias))
        i = end
    return made


def same_branches(a: Type, b: Type) -> bool:
    """Whether both have the same mask."""
    return [[(x.template, x.args) for x in branch] for branch in a.branches] == \
        [[(x.template, x.args) for x in branch] for branch in b.branches]  # type: ignore[union-attr]
