# SPDX-License-Identifier: BSD-3-Clause
"""Factors and offsets next to convolutions, which take them into their weights: in integers each would round once more."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Node, Value, constant
from zeropoint.passes import Rewriter

CONVOLUTIONS = ("conv", "conv_transpose")


def has_constants(node: Node | None) -> bool:
    """Whether it is a convolution whose weights and bias are known."""
    return node is not None and node.op in CONVOLUTIONS and node.inputs[1] is not None and node.inputs[1].data is not None and \
        all(v is None or v.data is not None for v in node.inputs[2:])


def per_channel(value: Value, x: Value) -> np.ndarray | None:
    """One number a channel of N x C x ..., of a constant that is the same everywhere else."""
    if value.data is None or len(value.shape) > len(x.shape):
        return None
    shape = (1,) * (len(x.shape) - len(value.shape)) + value.shape
    if any(n != 1 for i, n in enumerate(shape) if i != 1):
        return None
    return np.broadcast_to(value.data.reshape(-1), (x.shape[1],)).astype(np.float32)


def other_weight(weight: Value, data: np.ndarray) -> Value:
    """Under a name that is not the source's: with another weight or bias behind it, a state dict of the source must not load as it is."""
    stem, _, last = weight.name.rpartition(".")
    if not stem or stem.endswith(".scaled"):
        return constant(weight.name if stem else f"{weight.name}.scaled", data)
    return constant(f"{stem}.scaled.{last}", data)


def scaled_conv(r: Rewriter, node: Node) -> bool:
    """A factor or an offset behind a convolution, one for all or one a channel."""
    if node.op != "binary" or node.attrs["kind"] not in ("add", "mul"):
        return False
    for value, other in r.operands(node):
        conv = r.maker.get(id(value))
        if not has_constants(conv) or not r.is_inner(value) or value.shape != node.outputs[0].shape:
            continue
        numbers = per_channel(other, value)
        if numbers is None or not np.isfinite(numbers).all():
            continue
        x, weight = conv.inputs[:2]  # type: ignore[union-attr]
        bias = conv.inputs[2] if len(conv.inputs) > 2 else None  # type: ignore[union-attr]
        attrs, origin = conv.attrs, conv.origin  # type: ignore[union-attr]
        if node.attrs["kind"] == "add":
            weight = other_weight(weight, weight.data)  # type: ignore[union-attr, arg-type]
            bias = constant(bias.name, bias.data + numbers) if bias is not None else constant(other.name, numbers)
        else:
            weight = other_weight(weight, scaled_outputs(conv, numbers))  # type: ignore[union-attr, arg-type]
            bias = constant(bias.name, bias.data * numbers) if bias is not None else None
        op = conv.op  # type: ignore[union-attr]
        r.replace(node, op, [x, weight, bias] if bias is not None else [x, weight], **attrs)
        node.origin = origin
        return True
    return False


def scaled_outputs(conv: Node, numbers: np.ndarray) -> np.ndarray:
    """Weights whose output channels are multiplied; a transposed convolution has them behind its inputs, by groups."""
    weight = conv.inputs[1].data  # type: ignore[union-attr]
    rest = (1,) * (weight.ndim - 2)
    if conv.op == "conv":
        return weight * numbers.reshape(-1, 1, *rest)
    groups = conv.attrs["groups"]
    each = np.repeat(numbers.reshape(groups, 1, -1), weight.shape[0] // groups, axis=1)
    return weight * each.reshape(weight.shape[0], -1, *rest)


def scaled_input(r: Rewriter, node: Node) -> bool:
    """A factor in front of a convolution, and an offset where no zeros are padded, one for all channels."""
    if node.op != "conv" or not has_constants(node):
        return False
    made = r.maker.get(id(node.inputs[0]))
    if made is None or made.op != "binary" or made.attrs["kind"] not in ("add", "mul") or not r.is_inner(node.inputs[0]):  # type: ignore
        return False
    is_padded = any(n != 0 for side in node.attrs["pads"] for n in side)
    if made.attrs["kind"] == "add" and is_padded:
        return False
    for x, other in r.operands(made):
        number = r.number(other)
        if number is None or not np.isfinite(number) or x.data is not None or x.shape != made.outputs[0].shape:
            continue
        weight = node.inputs[1]
        bias = node.inputs[2] if len(node.inputs) > 2 else None
        if made.attrs["kind"] == "mul":
            node.inputs[1] = other_weight(weight, weight.data * np.float32(number))  # type: ignore[union-attr, arg-type, operator]
        else:
            sums = weight.data.reshape(weight.shape[0], -1).sum(axis=1, dtype=np.float64) * number  # type: ignore[union-attr]
            offset = constant(other.name, sums.astype(np.float32)) if bias is None else \
                constant(bias.name, (bias.data + sums).astype(np.float32))
            node.inputs = [x, other_weight(weight, weight.data), offset]  # type: ignore[union-attr, arg-type]
        node.inputs[0] = x
        return True
    return False


PATTERNS = [scaled_conv, scaled_input]  # behind all others: a factor may be that of an attention
