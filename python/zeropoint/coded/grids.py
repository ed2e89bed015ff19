# SPDX-License-Identifier: BSD-3-Clause
"""Before a coded graph is lowered: a change of the grid stands where the source has one and no layer here would."""

from __future__ import annotations

from dataclasses import replace

from zeropoint.errors import ImportRefused, Problem
from zeropoint.ir import Graph, Node, Origin, Value

# Operators whose layers leave values on the grid of what goes in.
KEEP = {"pool", "adaptive_avg_pool", "reshape", "permute", "identity", "slice", "pad", "expand", "flip", "roll", "gather",
        "pixel_shuffle", "pixel_unshuffle", "depth_to_space", "space_to_depth", "resize"}
CLAMPS = {"relu", "relu6", "clamp"}


def keeps_grid(node: Node) -> bool:
    """Whether a node's layer has the scale and zero point of its input."""
    return node.op in KEEP or node.op == "unary" and node.attrs["kind"] in CLAMPS or \
        node.op == "reduce" and node.attrs["kind"] in ("max", "min")


def dtype_of(graph: Graph, dtypes: tuple[str, ...]) -> str:
    """Of all activations. Raises ImportRefused where they have several, or one that is not among these."""
    values = [*graph.inputs, *(out for node in graph.nodes for out in node.outputs)]
    found = {value.coding.dtype for value in values if value.coding is not None}
    if len(found) == 1 and found <= set(dtypes):
        return found.pop()
    text = f"activations of {' and '.join(sorted(found))}; an import takes {' or '.join(dtypes)}, one for all"
    raise ImportRefused([Problem("model", graph.title, "value", text)])


def insert_changes(graph: Graph) -> None:
    """A requantize behind each node whose layer would keep another grid, and in front of a concat's inputs that have one."""
    made: list[Node] = []
    for node in graph.nodes:
        out, first = node.outputs[0], next((v for v in node.inputs if v is not None), None)
        if node.op == "concat" and out.coding is not None:
            for number, value in enumerate(node.inputs):
                if value is not None and value.coding is not None and value.coding.grid != out.coding.grid:
                    moved = change(value, f"{node.origin.name}.input_{number}", node.origin)
                    moved.outputs[0].coding = replace(out.coding, source=None, order=None)
                    made.append(moved)
                    node.inputs[number] = moved.outputs[0]
        made.append(node)
        if not keeps_grid(node) or out.coding is None or first is None or first.coding is None or \
                first.coding.grid == out.coding.grid:
            continue
        if node.op == "adaptive_avg_pool" and all(n == 1 for n in out.shape[2:]):  # a mean has a grid of its own
            node.op, node.attrs = "reduce", dict(kind="mean", axes=list(range(2, len(out.shape))), keepdim=True)
            continue
        inner = Value(out.name, out.shape, coding=replace(first.coding, source=None, order=None))
        node.outputs[0] = inner
        moved = change(inner, f"{node.origin.name}.grid", node.origin)
        moved.outputs[0] = out
        made.append(moved)
    graph.nodes = made


def change(value: Value, name: str, origin: Origin) -> Node:
    """The same values on another grid."""
    return Node("requantize", [value], [Value(name, value.shape)], {}, replace(origin, name=name))
