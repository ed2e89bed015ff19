# SPDX-License-Identifier: BSD-3-Clause
"""Masks that are drawn for the check: none that leaves a query of attention no key, of which sources make zeros, NaN or equal shares."""

from __future__ import annotations

from typing import Callable

import numpy as np

from zeropoint.ir import Graph, Node, Value
from zeropoint.masks import COMPARE

Array = np.ndarray
CONDITION = {"masked_softmax": 1, "attention": 3}  # which of their inputs says what is kept
LOGICAL: dict[str, Callable] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not}
HIDDEN = (2,) * 8 + (4, 4, 8, 8, 16, 16, 32, 32)  # one place of so many, at each try: windows of few keys need most of them


def sliced(node: Node, x: Array) -> Array:
    """A range of an axis."""
    axis, begin, end, step = (node.attrs[key] for key in ("axis", "begin", "end", "step"))
    return x[(slice(None),) * axis + (slice(begin, end, step),)]


OPERATORS: dict[str, Callable[..., Array]] = {
    "identity": lambda node, x: x,
    "reshape": lambda node, x: x.reshape(node.outputs[0].shape),
    "permute": lambda node, x: x.transpose(node.attrs["order"]),
    "expand": lambda node, x: np.broadcast_to(x, node.outputs[0].shape),
    "flip": lambda node, x: np.flip(x, node.attrs["axes"]),
    "gather": lambda node, x: np.take(x, node.attrs["indices"], node.attrs["axis"]),
    "slice": sliced,
    "concat": lambda node, *parts: np.concatenate(parts, node.attrs["axis"]),
    "compare": lambda node, a, b: COMPARE[node.attrs["kind"]](a, b),
    "logical": lambda node, *parts: LOGICAL[node.attrs["kind"]](*parts),
    "where": lambda node, condition, a, b: np.where(condition, a, b),
}


class Conditions:
    """What all attention of a graph keeps, computed of what goes into the graph."""

    def __init__(self, graph: Graph) -> None:
        self.maker = {id(out): node for node in graph.nodes for out in node.outputs}
        read = [node.inputs[CONDITION[node.op]] for node in graph.nodes if len(node.inputs) > CONDITION.get(node.op, len(node.inputs))]
        self.conditions = {id(value): value for value in read if value is not None and value.data is None}

    def leave_nothing(self, arrays: dict[str, Array]) -> bool:
        """Whether a query sees no key. Conditions of which something is not computed here are taken to leave some."""
        known: dict[int, Array | None] = {}
        kept = [self.value(value, arrays, known) for value in self.conditions.values()]
        return any(keys is not None and not keys.astype(bool).any(-1).all() for keys in kept)

    def value(self, value: Value | None, arrays: dict[str, Array], known: dict[int, Array | None]) -> Array | None:
        """Of a value; None where it is made of something else than conditions, integers and their places."""
        if value is None or value.data is not None:
            return None if value is None else value.data
        node = self.maker.get(id(value))
        if node is None:
            return arrays.get(value.name)
        if id(value) not in known:
            parts = [self.value(v, arrays, known) for v in node.inputs] if node.op in OPERATORS else [None]
            known[id(value)] = None if any(part is None for part in parts) else OPERATORS[node.op](node, *parts)
        return known[id(value)]


def draw(value: Value, random: np.random.Generator, hidden: int = 2) -> Array:
    """0 at one place of so many, else 1. Where that is half of them, one of the first two is 1 and one is 0: something is kept and
    something hidden, for attention that no pattern found too."""
    drawn = np.asarray(random.integers(0, hidden, value.shape, dtype=np.int64))
    np.minimum(drawn, 1, out=drawn)
    if hidden == 2 and drawn.shape and drawn.shape[-1] > 1:
        drawn[..., 0] = 1 - drawn[..., 1]
    return drawn


def draw_until_seen(graph: Graph, conditions: Conditions, arrays: dict[str, Array], random: np.random.Generator) -> None:
    """Draws masks again, with fewer places that are hidden each time, until every query has a key; with none hidden in the end."""
    masks = [value for value in graph.given if value.is_mask]
    for hidden in HIDDEN if masks else ():
        if not conditions.leave_nothing(arrays):
            return
        arrays.update((value.name, draw(value, random, hidden)) for value in masks)
    if masks and conditions.leave_nothing(arrays):
        arrays.update((value.name, np.ones(value.shape, np.int64)) for value in masks)
