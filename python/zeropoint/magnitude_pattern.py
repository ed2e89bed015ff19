# SPDX-License-Identifier: BSD-3-Clause
"""Magnitudes of complex numbers, which sources write as squares, a sum and a root: their int8 codes would keep half of the bits."""

from __future__ import annotations

from zeropoint.ir import Node, Value
from zeropoint.passes import Rewriter


def squared(r: Rewriter, value: Value | None) -> Value | None:
    """x of x^2, which nothing else reads."""
    node = r.maker.get(id(value))
    if node is None or value is None or not r.is_inner(value):
        return None
    is_square = node.op == "unary" and node.attrs["kind"] == "square" or \
        node.op == "binary" and node.attrs["kind"] == "mul" and node.inputs[0] is node.inputs[1]
    return node.inputs[0] if is_square else None


def under_root(r: Rewriter, node: Node) -> Value | None:
    """What a node is the root of, and nothing else reads."""
    if node.op != "unary" or node.attrs["kind"] != "sqrt" or node.inputs[0] is None or not r.is_inner(node.inputs[0]):
        return None
    return node.inputs[0]


def of_parts(r: Rewriter, node: Node) -> bool:
    """sqrt(a^2 + b^2)"""
    plus = r.made_by(under_root(r, node), "binary", "add")
    sides = [squared(r, value) for value in plus.inputs] if plus is not None else []
    if len(sides) != 2 or any(side is None or side.data is not None for side in sides):
        return False
    r.replace(node, "binary", list(sides), kind="hypot")
    return True


def of_axis(r: Rewriter, node: Node) -> bool:
    """sqrt(sum(x^2)) along an axis of two, the real and the imaginary parts."""
    total = r.made_by(under_root(r, node), "reduce", "sum")
    x = squared(r, total.inputs[0]) if total is not None else None
    if total is None or x is None or len(total.attrs["axes"]) != 1 or x.shape[total.attrs["axes"][0]] != 2:
        return False
    axis = total.attrs["axes"][0]
    shape = x.shape[:axis] + (1,) + x.shape[axis + 1:]
    parts = [Value(node.origin.name, shape) for _ in range(2)]
    at = r.graph.nodes.index(node)
    for begin, part in enumerate(parts):
        r.graph.nodes.insert(at + begin, Node("slice", [x], [part], {"axis": axis, "begin": begin, "end": begin + 1, "step": 1}, node.origin))
    if total.attrs["keepdim"]:
        r.replace(node, "binary", list(parts), kind="hypot")
    else:
        length = Value(node.origin.name, shape)
        r.graph.nodes.insert(at + 2, Node("binary", list(parts), [length], {"kind": "hypot"}, node.origin))
        r.replace(node, "reshape", [length])
    return True


def magnitude(r: Rewriter, node: Node) -> bool:
    """Of parts that are values of their own, or lie along an axis."""
    return of_parts(r, node) or of_axis(r, node)


PATTERNS = [magnitude]  # behind all others: a root of squares may be that of a norm
