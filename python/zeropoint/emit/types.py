# SPDX-License-Identifier: BSD-3-Clause
"""Layers as C++ types: trees of template names, arguments and branches, grouped into the modules that they came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

from zeropoint.emit.encoders import with_encoders
from zeropoint.emit.structure import From, Item, Join, Path, Structure, path_of
from zeropoint.errors import ZeropointError
from zeropoint.layers import Argument, Code, Name, Row


def quoted(text: str) -> str:
    """A string literal. Raises ZeropointError for a name that no layer should have, such as one of several lines."""
    if not text.isprintable():
        raise ZeropointError(f"the name {text!r} has characters that cannot be printed: rename it in the model")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(eq=False)
class Type:
    """A layer; branches stand behind the arguments. repeats: the last argument is how many there are."""

    template: str
    args: tuple[Argument, ...] = ()
    branches: list[list["Part"]] = field(default_factory=list)
    path: Path = ()
    header: str = ""
    repeats: bool = False
    alias: Argument | None = None  # what zp::named calls it


@dataclass(eq=False)
class Block:
    """What a module of the source became, before it is decided whether it gets a template of its own."""

    path: str
    cls: str
    parts: list["Part"]
    alias: Argument | None = None
    is_wrapped: bool = False    # no module, but one of several joins that are alike
    was_searched: bool = False  # for such joins


Part = Union[Type, Block]


def types_of(structure: Structure, names: dict) -> list[Type]:
    """A network's items as types."""
    return list_of(structure.items, structure, names)


def list_of(items: list[Item], structure: Structure, names: dict) -> list[Type]:
    """Items one behind the other; an add with two branches and the relu behind it are one."""
    made: list[Type] = []
    for number, item in enumerate(items):
        type_ = type_of(item, structure, names)
        if isinstance(item, From) and number + 1 < len(items):
            follows = path_of(items[number + 1])  # of it what the row is inside of as well: a block begins behind the zp::from
            type_.path = tuple(a for a, b in zip(follows, item.row.path) if a == b)
        if type_.template == "zp::relu" and made and made[-1].template == "zp::add" and made[-1].alias is None:
            before = made[-1]
            shared = tuple(a for a, b in zip(before.path, type_.path) if a == b)
            made[-1] = Type("zp::add_relu", before.args, before.branches, shared, alias=type_.alias)
            continue
        made.append(type_)
    return with_encoders(made)


def type_of(item: Item, structure: Structure, names: dict) -> Type:
    """One item."""
    if isinstance(item, From):
        return Type("zp::from", (by_name(item.row, names),))
    row = item.row
    assert row.layer is not None
    made = Type(row.layer.template, row.layer.args, path=path_of(item), header=row.layer.header)
    if isinstance(item, Join):
        made.branches = [list_of(branch, structure, names) for branch in item.branches]
        if made.template == "zp::add" and [] in made.branches:
            inner = made.branches[1] if made.branches[0] == [] else made.branches[0]
            if inner and inner[0].template != "zp::from":  # which goes on from elsewhere: no residual
                made = Type("zp::residual", (), [inner], made.path)
    made.branches += [[Type("zp::from", (by_name(side, names),))] for side in row.sides]
    if row.title and row.title != row.name or row in structure.by_name and not row.name:
        made.alias = Name(names[row])
    return made


def by_name(row: Row, names: dict) -> Argument:
    """What zp::from says: of a row that stands in front of all blocks the whole name in each of them."""
    return Code(f'"{names[row]}"') if row.title else Name(names[row])


def grouped(parts: list[Type], depth: int = 0) -> list[Part]:
    """Neighbours of one module as a block, and so on inside of it."""
    made: list[Part] = []
    i = 0
    while i < len(parts):
        part = parts[i]
        if len(part.path) <= depth:
            part.branches = [grouped(branch, depth) for branch in part.branches]  # type: ignore[arg-type, misc]
            made.append(part)
            i += 1
            continue
        key = part.path[depth]
        end = i
        while end < len(parts) and len(parts[end].path) > depth and parts[end].path[depth][0] == key[0]:
            end += 1
        inside = grouped(parts[i:end], depth + 1)
        alias, inside[-1].alias = inside[-1].alias, None  # the result of a module is named outside of it
        made.append(Block(key[0], key[1], inside, alias))
        i = end
    return made


def headers_of(parts: list[Part]) -> set[str]:
    """Of the operators that are used."""
    found: set[str] = set()
    for part in parts:
        if isinstance(part, Block):
            found |= headers_of(part.parts)
        else:
            found |= {part.header} if part.header else set()
            for branch in part.branches:
                found |= headers_of(branch)
    return found


def count_types(parts: list[Part]) -> int:
    """Layers in a list, nested ones too."""
    total = 0
    for part in parts:
        if isinstance(part, Block):
            total += count_types(part.parts)
        else:
            total += (part.template != "zp::from") + sum(count_types(branch) for branch in part.branches)
    return total
