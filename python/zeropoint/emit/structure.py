# SPDX-License-Identifier: BSD-3-Clause
"""Series-parallel structure: rows as layers one behind the other, branches nested in what joins them.

Where the graph is not series-parallel, or a skip spans others as in a U-Net, rows are found by name: zp::from<"name">.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterator, Union

from zeropoint.layers import Layer, Row
from zeropoint.lower.context import Lowered

DEFAULT_INPUT = "input"  # the name of a zp::input that is given none

Path = tuple[tuple[str, str], ...]


@dataclass(eq=False)
class Leaf:
    """A row with one input."""

    row: Row


@dataclass(eq=False)
class Join:
    """A row of several inputs, each of which is a branch: items one behind the other."""

    row: Row
    branches: list[list["Item"]]


@dataclass(eq=False)
class From:
    """Goes on from an earlier row."""

    row: Row


Item = Union[Leaf, Join, From]


def rows_of(item: Item) -> Iterator[Row]:
    """In the order in which the layer appends them."""
    if isinstance(item, Leaf):
        yield item.row
    elif isinstance(item, Join):
        for branch in item.branches:
            for inner in branch:
                yield from rows_of(inner)
        yield item.row


def path_of(item: Item) -> Path:
    """The innermost modules that all rows of an item are inside of."""
    paths = [row.path for row in rows_of(item)]
    common: list[tuple[str, str]] = []
    for parts in zip(*paths):
        if any(part[0] != parts[0][0] for part in parts):
            break
        common.append(parts[0])
    return tuple(common)


@dataclass(eq=False)
class Edge:
    """What lies between a row that several read, or the input, and an input of another: src is None for constants."""

    src: Row | None
    items: list[Item] = field(default_factory=list)


def is_skip(items: list[Item]) -> bool:
    """A branch that passes on what comes in."""
    return not items


def spans_others(item: Item) -> int:
    """How many concats with a skip are nested in an item."""
    if not isinstance(item, Join):
        return 0
    inner = max((spans_others(i) for branch in item.branches for i in branch), default=0)
    is_concat = item.row.layer is not None and item.row.layer.template in ("zp::concat", "zp::stack")
    return inner + (is_concat and any(is_skip(branch) for branch in item.branches))


def is_relu_of_sum(row: Row) -> bool:
    """A ReLU of an add."""
    return row.layer is not None and row.layer.template == "zp::relu" and row.inputs[0].layer is not None and \
        row.inputs[0].layer.template == "zp::add"


class Structure:
    """A network as a list of items, and the rows that are found by name."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.by_name: set[Row] = set()
        self.inputs = [row for row in lowered.rows if row.kind == "input"]
        self.asides = {row for row in lowered.rows if row.title}  # found by name wherever they are read
        self.items = self.build(False)
        if any(spans_others(item) > 1 for item in self.items):
            self.by_name = set()
            self.items = self.build(True)
        self.by_name.update(side for row in lowered.rows for side in row.sides)
        if len(self.inputs) > 1:
            self.by_name.update(self.inputs)

    def rows(self) -> list[Row]:
        """All that are used, in an order in which they can run."""
        sinks = [row for row in self.lowered.rows if row.kind == "output"]
        seen: set[Row] = set()
        order: list[Row] = []
        for sink in sinks:
            stack: list[tuple[Row, bool]] = [(sink, False)]
            while stack:
                row, is_done = stack.pop()
                if is_done:
                    order.append(row)
                elif row not in seen:
                    seen.add(row)
                    stack.append((row, True))
                    stack.extend((x, False) for x in (*row.inputs, *row.sides)[::-1])
        place = {row: float(i) for i, row in enumerate(self.lowered.rows)}
        for row in order:
            if is_relu_of_sum(row):  # stands behind it, so that both are zp::add_relu
                place[row] = place[row.inputs[0]] + 0.5
        first = self.first_of(order)
        return sorted(order, key=lambda row: (row not in first, place[row]))

    def first_of(self, rows: list[Row]) -> set[Row]:
        """What is read by name, and what only that needs: it stands in front of all else."""
        needed: set[Row] = set()
        stack = [row for row in rows if row in self.asides]
        while stack:
            row = stack.pop()
            if row not in needed:
                needed.add(row)
                stack.extend((*row.inputs, *row.sides))
        others = {x for row in rows if row not in needed for x in (*row.inputs, *row.sides)}
        return set() if any(row in others and row not in self.asides and row.kind != "input" for row in needed) else needed

    def build(self, no_skip_concat: bool) -> list[Item]:
        """Reduces series and parallel edges until nothing changes, then puts what is left one behind the other."""
        rows = self.rows()
        many = len([row for row in rows if row.kind == "output"]) > 1
        readers: dict[Row, int] = {row: 0 for row in rows}
        for row in rows:
            for x in row.inputs:
                readers[x] += 1
        for row in self.asides & set(rows):
            readers[row] = len(rows)  # never a part of an edge
        slots: dict[Row, list[Edge]] = {}
        tail: dict[Row, Edge] = {}  # rows that one slot reads have become a part of that edge
        for row in rows:
            if row.kind == "input":
                continue
            if row.kind == "constant" and row in self.asides:
                slots[row] = [Edge(None, [Leaf(row)])]
                continue
            if row.kind == "constant":
                tail[row] = Edge(None, [Leaf(row)])
                if readers[row] > 1:
                    readers[row] = 1  # each reader has it as a branch of its own; its tensor is one
                continue
            edges = []
            for x in row.inputs:
                edge = tail.get(x)
                if x in self.asides and len(row.inputs) > 1:
                    edge = Edge(None, [self.come_from(x)])
                edges.append(Edge(edge.src, list(edge.items)) if edge is not None else Edge(x))
            slots[row] = edges
            self.reduce(row, slots, tail, readers, no_skip_concat)
        return self.in_order([row for row in rows if row in slots], slots, many)

    def reduce(self, row: Row, slots: dict[Row, list[Edge]], tail: dict[Row, Edge], readers: dict[Row, int],
               no_skip_concat: bool) -> None:
        """Makes a row part of the edge to its reader, where all that it reads begins at one row."""
        edges = slots[row]
        sources = {edge.src for edge in edges if edge.src is not None}
        if len(sources) != 1 or row.kind == "output":
            return
        source = sources.pop()
        if len(edges) == 1:
            made = Edge(source, [*edges[0].items, Leaf(row)])
        else:
            branches = [edge.items for edge in edges]
            is_concat = row.layer is not None and row.layer.template in ("zp::concat", "zp::stack")
            if no_skip_concat and is_concat and any(is_skip(branch) for branch in branches):
                return
            made = Edge(source, [Join(row, branches)])
            readers[source] -= sum(edge.src is not None for edge in edges) - 1
            ends_sum = is_relu_of_sum(source) and slots[source][0].src is source.inputs[0]
            if readers[source] == 1 and len(slots.get(source, [])) == 1 and not ends_sum:  # it comes in front: nothing else reads it
                front = slots.pop(source)[0]
                made = Edge(front.src, [*front.items, *made.items])
        ends_sum = is_relu_of_sum(row) and source is row.inputs[0] and len(edges) == 1
        if readers[row] == 1 and not ends_sum:
            tail[row] = made
            del slots[row]
        else:
            slots[row] = [made]

    def in_order(self, left: list[Row], slots: dict[Row, list[Edge]], many: bool) -> list[Item]:
        """What could not be reduced, with zp::from where a row does not read the one in front of it."""
        items: list[Item] = []
        current: Row | None = self.inputs[-1] if self.inputs else None
        for row in left:
            edges = slots[row]
            if len(edges) == 1:
                if edges[0].src is not current and edges[0].src is not None:
                    items.append(self.come_from(edges[0].src))
                items.extend(edges[0].items)
                if row.kind == "output" and many:
                    items.append(Leaf(row))
            else:
                branches = []
                for edge in edges:
                    begin = [] if edge.src is current or edge.src is None else [self.come_from(edge.src)]
                    branches.append([*begin, *edge.items])
                items.append(Join(row, branches))
            current = row
        return items

    def come_from(self, row: Row) -> From:
        """zp::from of a row, which gets a name if it has none."""
        self.by_name.add(row)
        return From(row)


def name_inputs(structure: Structure, taken: set[str]) -> dict[Row, str]:
    """Names that no layer or output has: "input" alone, which zp::input has by itself, or their own."""
    if len(structure.inputs) == 1 and DEFAULT_INPUT not in taken:
        return {structure.inputs[0]: DEFAULT_INPUT}
    names: dict[Row, str] = {}
    for row in structure.inputs:
        names[row] = free_name(row.name, taken | set(names.values()))
    return names


def free_name(stem: str, taken: set[str]) -> str:
    """stem, or where that is taken the first of stem_2, stem_3 and so on that is not."""
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def name_rows(structure: Structure) -> dict[Row, str]:
    """The names of rows that zp::from speaks of: their own, that of the module whose result they are, or one made of it."""
    taken = {name for row in structure.lowered.rows if row.kind != "input" for name in (row.name, row.title) if name}
    names = name_inputs(structure, taken)
    taken.update(names.values())
    last_of: dict[str, Row] = {}
    for item in structure.items:
        for row in rows_of(item):
            for path, _ in row.path:
                last_of[path] = row
    for row in structure.lowered.rows:
        if row not in structure.by_name or row in names:
            continue
        if row.title:
            names[row] = row.title
            continue
        if row.name and row.kind != "output":
            names[row] = row.name
            continue
        layer = row.layer if isinstance(row.layer, Layer) else None
        kind = layer.template.removeprefix("zp::") if layer is not None else "value"
        whole = next((path for path, _ in row.path if last_of.get(path) is row), None)
        stem = whole if whole is not None else f"{row.path[-1][0]}.{kind}" if row.path else kind
        names[row] = free_name(stem, taken)
        taken.add(names[row])
    return names
