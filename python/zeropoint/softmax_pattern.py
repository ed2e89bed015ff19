# SPDX-License-Identifier: BSD-3-Clause
"""Softmax that is written out in exponentials and their sum."""

from __future__ import annotations

from zeropoint.ir import Node, Value
from zeropoint.passes import Rewriter, behind_copies


def is_largest(r: Rewriter, value: Value | None, x: Value, axis: int) -> bool:
    """max(x) along an axis."""
    node = r.maker.get(id(behind_copies(r, value)))
    return node is not None and node.op == "reduce" and node.attrs["kind"] == "max" and node.inputs[0] is x and \
        [a % len(x.shape) for a in node.attrs["axes"]] == [axis]


def softmax(r: Rewriter, node: Node) -> bool:
    """exp(x - max(x)) / sum(exp(x - max(x))) along one axis."""
    if node.op != "binary" or node.attrs["kind"] != "div":
        return False
    exp = r.made_by(node.inputs[0], "unary", "exp")
    total = r.maker.get(id(behind_copies(r, node.inputs[1])))
    if exp is None or total is None or total.op != "reduce" or total.attrs["kind"] != "sum" or \
            total.inputs[0] is not node.inputs[0] or len(total.attrs["axes"]) != 1:
        return False
    minus = r.made_by(exp.inputs[0], "binary", "sub")
    if minus is None or minus.inputs[0] is None or minus.inputs[0].shape != node.outputs[0].shape:
        return False
    axis = total.attrs["axes"][0] % len(minus.inputs[0].shape)
    if not is_largest(r, minus.inputs[1], minus.inputs[0], axis):
        return False
    r.replace(node, "softmax", [minus.inputs[0]], axis=axis)
    return True


PATTERNS = [softmax]
