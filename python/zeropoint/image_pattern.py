# SPDX-License-Identifier: BSD-3-Clause
"""Normalizations that a source writes as arithmetic."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Node, Value, constant
from zeropoint.passes import Rewriter


def through_expand(r: Rewriter, value: Value | None) -> Node | None:
    """What makes a value, before it was repeated along axes."""
    made = r.maker.get(id(value))
    while made is not None and made.op in ("expand", "identity"):
        made = r.maker.get(id(made.inputs[0]))
    return made


def unit_length(r: Rewriter, node: Node) -> bool:
    """x / max(|x|, 1e-12): normalize()."""
    if node.op != "binary" or node.attrs["kind"] != "div" or node.inputs[1] is None or node.inputs[1].data is not None:
        return False
    x = node.inputs[0]
    bound = through_expand(r, node.inputs[1])
    if bound is not None and bound.op == "unary" and bound.attrs["kind"] == "clamp" and bound.attrs.get("max") is None:
        least = bound.attrs.get("min")
    elif bound is not None and bound.op == "binary" and bound.attrs["kind"] == "maximum":
        least = r.number(bound.inputs[1])
    else:
        return False
    norm = r.maker.get(id(bound.inputs[0]))
    if norm is None or norm.op != "reduce" or norm.attrs["kind"] != "l2" or norm.inputs[0] is not x or \
            len(norm.attrs["axes"]) != 1 or not norm.attrs["keepdim"] or least is None or not 0 < least <= 1e-6:
        return False
    r.replace(node, "l2_normalize", [x], axis=norm.attrs["axes"][0])
    return True


def squares(r: Rewriter, node: Node) -> bool:
    """Norms that are no part of normalize(): a square, a sum, a root."""
    if node.op != "reduce" or node.attrs["kind"] not in ("l2", "sum_square"):
        return False
    x, out = node.inputs[0], node.outputs[0]
    assert x is not None
    square = Value(node.origin.name, x.shape)
    total = Value(node.origin.name, out.shape)
    has_root = node.attrs["kind"] == "l2"
    at = r.graph.nodes.index(node)
    r.graph.nodes.insert(at, Node("unary", [x], [square], {"kind": "square"}, node.origin))
    axes, keepdim = node.attrs["axes"], node.attrs["keepdim"]
    if has_root:
        r.graph.nodes.insert(at + 1, Node("reduce", [square], [total], {"kind": "sum", "axes": axes, "keepdim": keepdim},
                                          node.origin))
        r.replace(node, "unary", [total], kind="sqrt")
    else:
        r.replace(node, "reduce", [square], kind="sum", axes=axes, keepdim=keepdim)
    return True


def group_norm(r: Rewriter, node: Node) -> bool:
    """ONNX before opset 21: an instance norm over N x groups x all else, in its own shape again, scaled and shifted."""
    if node.op != "binary" or node.attrs["kind"] != "add":
        return False
    for scaled, bias in r.operands(node):
        product = r.made_by(scaled, "binary", "mul")
        if bias.data is None or product is None or not r.is_inner(scaled):
            continue
        for back_value, weight in r.operands(product):
            back = r.made_by(back_value, "reshape")
            norm = r.made_by(back.inputs[0], "group_norm") if back is not None and r.is_inner(back_value) else None
            apart = r.made_by(norm.inputs[0], "reshape") if norm is not None and r.is_inner(back.inputs[0]) else None  # type: ignore
            if apart is None or weight.data is None or not is_plain(norm):
                continue
            x = apart.inputs[0]
            assert x is not None and norm is not None
            channels = x.shape[1] if len(x.shape) > 1 else 0
            if x.shape != back_value.shape or weight.data.size != channels or bias.data.size != channels or \
                    norm.inputs[0].shape[:2] != (x.shape[0], norm.attrs["groups"]) or \
                    not follows_channels(weight, x) or not follows_channels(bias, x):  # type: ignore[union-attr]
                continue
            parameters = [constant(v.name, v.data.reshape(-1)) for v in (weight, bias)]  # type: ignore[union-attr]
            node.origin = norm.origin
            r.replace(node, "group_norm", [x, *parameters], groups=norm.attrs["groups"], epsilon=norm.attrs["epsilon"])
            return True
    return False


def is_plain(norm: Node | None) -> bool:
    """Scales of 1, shifts of 0."""
    if norm is None or len(norm.inputs) < 3 or norm.inputs[1] is None or norm.inputs[2] is None:
        return norm is not None
    weight, bias = norm.inputs[1].data, norm.inputs[2].data
    return weight is not None and bias is not None and bool(np.all(weight == 1)) and not np.any(bias)


def follows_channels(value: Value, x: Value) -> bool:
    """Whether a constant broadcasts along the second axis alone."""
    shape = (1,) * (len(x.shape) - len(value.shape)) + value.shape
    return len(shape) == len(x.shape) and all(n == 1 for i, n in enumerate(shape) if i != 1)


PATTERNS = [unit_length, group_norm]
LATE_PATTERNS = [squares]  # for what no pattern took
