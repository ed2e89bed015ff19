# SPDX-License-Identifier: BSD-3-Clause
"""What the integers of an input are: rows of tables, 0 and 1 that choose, or numbers, which are floats here."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Graph, Node, Value

MOVES = ("reshape", "permute", "expand", "slice", "flip", "gather", "identity", "concat")
NARROW = ("int8", "uint8", "int16", "uint16")  # whose sums and products wrap around in ordinary models
WRAPS = ("add", "sub", "mul")
MASKED = ("masked_softmax", "attention")


def guess_masks(graph: Graph) -> None:
    """In front of patterns: what is in no table may be a mask, which those of attention look for."""
    for value in graph.inputs:
        example = graph.examples.get(value.name)
        value.is_mask = value.is_integer and not graph.is_coded and not graph.tables(value) and \
            (value.dtype == "bool" or example is None or bool(np.isin(example, (0, 1)).all()))


def find_numbers(graph: Graph) -> None:
    """Behind patterns: an input that something computes with is of numbers, whose values are not 0 and 1 alone. Its port is one of
    floats, which hold integers up to 2^24. Where floats would not give the integers of the source, the node says why."""
    if graph.is_coded:
        return
    for value in graph.inputs:
        value.is_mask = value.is_mask and not graph.tables(value)  # which a pattern may have found
    numbers = [value for value in graph.inputs
               if value.is_integer and value.dtype != "bool" and not graph.tables(value) and not is_mask_of_attention(graph, value)
               and is_computed_with(graph, value)]
    for value in numbers:
        value.is_integer, value.is_mask, value.is_number = False, False, True
    is_narrow = any(value.dtype in NARROW for value in numbers)
    for node in graph.nodes:
        if node.op == "binary" and node.outputs[0].is_integer and node.why is None:
            node.why = difference_of(node, is_narrow)


def difference_of(node: Node, is_narrow: bool) -> tuple[str, str] | None:
    """Why floats do not give what integers give."""
    kind = node.attrs["kind"]
    if kind == "div":
        return "value", "a quotient of integers, which is cut off where one of floats is not: convert to float in front of it"
    if is_narrow and kind in WRAPS:
        return "value", f"{kind} of integers of 8 or 16 bits, which wraps around where floats do not: convert to float in front of it"
    return None


def readers(graph: Graph, value: Value, through: tuple[str, ...]) -> tuple[list[Node], set[int]]:
    """Nodes that read a value, or what nodes of such operators make of it, which are not among them; and the ids of all these values."""
    found, same = [], {id(value)}
    for node in graph.nodes:
        if not any(id(v) in same for v in node.inputs if v is not None):
            continue
        if node.op in through:
            same.update(id(out) for out in node.outputs)
        else:
            found.append(node)
    return found, same


def is_mask_of_attention(graph: Graph, value: Value) -> bool:
    """Whether a pattern took its values for 0 and 1: what else computes with such an input computes with these two."""
    return any(node.op in MASKED for node in readers(graph, value, (*MOVES, "logical"))[0])


def is_computed_with(graph: Graph, value: Value) -> bool:
    """Whether something reads more of it than whether it is 0."""
    found, same = readers(graph, value, MOVES)
    return not all(is_chosen_by(node, same) for node in found) or any(id(out) in same for out in graph.outputs)


def is_chosen_by(node: Node, same: set[int]) -> bool:
    """Whether a node takes a value as a condition alone."""
    if node.op == "logical" or node.op in MASKED:
        return True
    if node.op == "where":
        return not any(id(v) in same for v in node.inputs[1:] if v is not None)
    if node.op == "compare":
        other = [v for v in node.inputs if v is not None and id(v) not in same]
        return len(other) == 1 and other[0].data is not None and bool(np.isin(other[0].data, (0, 1)).all())
    return False
