# SPDX-License-Identifier: BSD-3-Clause
"""Last states of recurrent layers: those of one layer alone, where nothing else of them is read."""

from __future__ import annotations

from zeropoint.ir import Node, Value
from zeropoint.passes import Rewriter


def last_layer(r: Rewriter, node: Node) -> bool:
    """h_n[-1], h_n[-2:] of several layers: what reads it reads the last layer's directions."""
    if node.op != "rnn" or node.attrs["layers"] == 1 or len(node.outputs) < 2 or node.attrs.get("gives_last"):
        return False
    state = node.outputs[1]
    readers = r.readers.get(id(state), [])
    directions = 2 if node.attrs["bidirectional"] else 1
    first = (node.attrs["layers"] - 1) * directions
    if not readers or id(state) in r.outputs or any(
            reader.op != "slice" or reader.attrs["axis"] != 0 or reader.attrs["begin"] < first or reader.attrs["step"] != 1
            for reader in readers):
        return False
    last = Value(state.name, (directions, *state.shape[1:]))
    node.outputs[1] = last
    node.attrs["gives_last"] = True
    for reader in readers:
        reader.inputs = [last]
        reader.attrs = {**reader.attrs, "begin": reader.attrs["begin"] - first, "end": reader.attrs["end"] - first}
    return True


def part_of_concat(r: Rewriter, node: Node) -> bool:
    """A range of joined values that lies in one of them, such as one layer's state of those that are stacked."""
    if node.op != "slice" or node.attrs["step"] != 1:
        return False
    joined = r.maker.get(id(node.inputs[0]))
    if joined is None or joined.op != "concat" or joined.attrs["axis"] != node.attrs["axis"]:
        return False
    axis, begin, end, at = node.attrs["axis"], node.attrs["begin"], node.attrs["end"], 0
    for part in joined.inputs:
        extent = part.shape[axis]  # type: ignore[union-attr]
        if at <= begin and end <= at + extent:
            if part.data is not None:  # type: ignore[union-attr]
                return False
            r.replace(node, "slice", [part], axis=axis, begin=begin - at, end=end - at, step=1)
            return True
        at += extent
    return False


PATTERNS = [last_layer, part_of_concat]
