# SPDX-License-Identifier: BSD-3-Clause
"""Indices of tables that are a part of an input, a function of each of its integers, or that come as floats."""

from __future__ import annotations

from typing import Callable

import numpy as np

from zeropoint.ir import Graph, Node, Value, constant
from zeropoint.passes import Rewriter

MOVES = ("reshape", "permute", "identity", "slice", "gather", "flip", "cast")


def moved(node: Node, numbers: np.ndarray) -> np.ndarray:
    """What a node that only moves values makes of these."""
    attrs = node.attrs
    if node.op == "permute":
        return numbers.transpose(attrs["order"])
    if node.op == "slice":
        return numbers[(slice(None),) * attrs["axis"] + (slice(attrs["begin"], attrs["end"], attrs["step"]),)]
    if node.op == "gather":
        return numbers.take(attrs["indices"], attrs["axis"])
    if node.op == "flip":
        return np.flip(numbers, attrs["axes"])
    return numbers.reshape(node.outputs[0].shape)


def source_of(r: Rewriter, value: Value | None) -> tuple[Value | None, np.ndarray | None]:
    """The value that another is a part of, and the number in it of each."""
    nodes: list[Node] = []
    while (node := r.maker.get(id(value))) is not None and node.op in MOVES:
        nodes.append(node)
        value = node.inputs[0]
    if value is None or value.data is not None:
        return None, None
    numbers = np.arange(int(np.prod(value.shape))).reshape(value.shape)
    for node in reversed(nodes):
        numbers = moved(node, numbers)
    return value, numbers.reshape(-1)


def part_of_indices(r: Rewriter, node: Node) -> bool:
    """An embedding of a range of an input's indices: the layer says which it reads."""
    if node.op != "embedding" or "first" in node.attrs or r.maker.get(id(node.inputs[1])) is None:
        return False
    value, numbers = source_of(r, node.inputs[1])
    if value is None or numbers is None or not any(value is given for given in r.graph.inputs) or \
            len(numbers) in (0, int(np.prod(value.shape))) or not np.array_equal(numbers, np.arange(len(numbers)) + numbers[0]):
        return False
    node.attrs = {**node.attrs, "first": int(numbers[0]), "shape": node.inputs[1].shape}  # type: ignore[union-attr]
    node.inputs = [node.inputs[0], value]
    return True


BINARY: dict[str, Callable[..., np.ndarray]] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "minimum": np.minimum,
                                                "maximum": np.maximum}
COMPARE: dict[str, Callable[..., np.ndarray]] = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
                                                 "gt": np.greater, "ge": np.greater_equal}
LOGICAL: dict[str, Callable[..., np.ndarray]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not}
TABLES = {"binary": BINARY, "compare": COMPARE, "logical": LOGICAL}


class Function:
    """What is computed of each value of one tensor, value by value: arithmetic with numbers, comparisons, choices."""

    def __init__(self, r: Rewriter, value: Value) -> None:
        self.r, self.target, self.shape = r, value, value.shape
        self.source: Value | None = None  # the tensor
        self.is_one = self.look_at(value) and self.source is not None

    def operation(self, value: Value) -> Callable[..., np.ndarray] | None:
        """Of the node that makes a value; None where it is no such node."""
        node = self.r.maker.get(id(value))
        if node is None or value.shape != self.shape:
            return None
        if node.op == "where":
            return np.where
        if node.op == "unary" and node.attrs["kind"] == "clamp":
            return lambda x: np.clip(x, node.attrs.get("min"), node.attrs.get("max"))
        return TABLES.get(node.op, {}).get(node.attrs.get("kind", ""))

    def look_at(self, value: Value | None) -> bool:
        """Whether a value is such a function, and of which tensor."""
        if value is None:
            return False
        if value.data is not None:
            return value.data.size == 1
        if self.operation(value) is not None:
            return all(self.look_at(v) for v in self.r.maker[id(value)].inputs)
        if value.shape != self.shape or self.source is not None and self.source is not value:
            return False
        self.source = value
        return True

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Of these values of the tensor."""
        done: dict[int, np.ndarray] = {id(self.source): numbers}

        def result(value: Value) -> np.ndarray:
            if value.data is not None:
                return value.data.reshape(())
            if id(value) not in done:
                operation = self.operation(value)
                assert operation is not None
                made = operation(*(result(v) for v in self.r.maker[id(value)].inputs if v is not None))
                done[id(value)] = made.astype(np.int64) if made.dtype == np.bool_ else made
            return done[id(value)]

        return result(self.target)


def function_of_indices(r: Rewriter, node: Node) -> bool:
    """An embedding of what is computed of each index, as Keras' where(i < 0, i + rows, i): a table in the order of the indices themselves,
    from 0 on for as long as there is a row."""
    if node.op != "embedding" or node.inputs[1] is None or node.inputs[0] is None or node.inputs[0].data is None:
        return False
    function = Function(r, node.inputs[1])
    if not function.is_one or function.source is node.inputs[1]:
        return False
    table = node.inputs[0].data
    rows = function.of(np.arange(2 * len(table))).astype(np.int64)
    wrong = (rows < -len(table)) | (rows >= len(table))
    count = int(np.argmax(wrong)) if wrong.any() else len(table)
    if count == 0:
        return False
    if not np.array_equal(rows[:count], np.arange(len(table))):
        node.inputs = [constant(node.inputs[0].name, table[rows[:count]]), function.source]
    else:
        node.inputs = [node.inputs[0], function.source]
    note = "What is computed of indices in front of a table is in the order of its rows; numbers that are none of a row are refused, negative ones too."
    if note not in r.graph.notes:
        r.graph.notes.append(note)
    return True


def take_float_indices(graph: Graph) -> None:
    """Inputs of floats that are cast to indices of tables and read by nothing else are inputs of integers."""
    for value in graph.inputs:
        if value.is_integer:
            continue
        same, casts, rest = {id(value)}, [], []
        for node in graph.nodes:
            if not any(id(v) in same for v in node.inputs if v is not None):
                continue
            if node.op in MOVES and node.op != "cast":
                same.update(id(out) for out in node.outputs)
            else:
                (casts if node.op == "cast" else rest).append(node)
        indices = {id(node.outputs[0]) for node in casts}
        for node in graph.nodes:
            if node.op in MOVES and id(node.inputs[0]) in indices:
                indices.update(id(out) for out in node.outputs)
        readers = [node for node in graph.nodes if node.op not in MOVES and any(id(v) in indices for v in node.inputs if v is not None)]
        if not casts or rest or any(node.op != "embedding" for node in readers) or any(id(out) in same | indices for out in graph.outputs):
            continue
        value.is_integer, value.dtype = True, "float32"
        for node in graph.nodes:
            if node.op in MOVES and id(node.inputs[0]) in same | indices:
                node.op = "identity" if node.op == "cast" else node.op
                node.outputs[0].is_integer = True
        graph.notes.append(f'The input "{value.name}" is of integers; the source has them as floats.')


PATTERNS = [function_of_indices, part_of_indices]
