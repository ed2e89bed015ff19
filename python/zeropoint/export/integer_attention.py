# SPDX-License-Identifier: BSD-3-Clause
"""Products of two values, softmax, norms."""

from __future__ import annotations

import numpy as np

from zeropoint.export.emitter import Emitter, emits
from zeropoint.export.formulas import F32, F64, multipliers, softmax_table
from zeropoint.export.graph import Value, shape_in
from zeropoint.export.int8_model import Node


@emits("matmul")
def emit_matmul(e: Emitter, node: Node) -> Value:
    """Matrices are width x channels, their number the height."""
    a, b, y = e.range_in(node, 0), e.range_in(node, 1), e.range_out(node)
    right = e.last(node, 1)
    if node.arguments[0]:
        right = e.graph.transpose(right, [0, 1, 3, 2])
    sums = e.graph.op("MatMulInteger", e.last(node, 0), right, e.graph.const(a.zero_point, "zero_point", np.uint8),
                      e.graph.const(b.zero_point, "zero_point", np.uint8))
    multiplier = multipliers(a, np.asarray(b.scale), y.scale)
    steps = e.graph.op("Mul", e.graph.cast(sums, F32), e.graph.const(multiplier, "multiplier", F32))
    return Value(node.extents, {"last": e.finished(node, steps, F32)})


def exponentials_of(e: Emitter, node: Node, x: str) -> str:
    """From a table, by how far places of int32 lie below the largest of their row."""
    g = e.graph
    largest = g.op("ReduceMax", x, g.const([-1], "axes", np.int64), keepdims=1)
    place = g.op("Add", g.op("Sub", x, largest), g.const(255, "last", np.int32))
    return g.op("Gather", g.const(softmax_table(e.range_in(node).scale), "exponentials"), place)


@emits("softmax")
def emit_softmax(e: Emitter, node: Node) -> Value:
    """Exponentials, their exact sum, one factor a row."""
    return shares(e, node, exponentials_of(e, node, e.graph.cast(e.last(node), np.int32)))


@emits("masked_softmax")
def emit_masked_softmax(e: Emitter, node: Node) -> Value:
    """The same of the columns that a mask keeps; a row that keeps none has equal exponentials."""
    g = e.graph
    left_out = g.op("Equal", g.cast(e.last(node, 1), np.int32), g.const(e.range_in(node, 1).zero_point, "zero_point", np.int32))
    places = g.op("Where", left_out, g.const(0, "lowest", np.int32), g.cast(e.last(node), np.int32))
    keeps_none = g.op("ReduceMin", g.cast(left_out, np.int32), g.const([-1], "axes", np.int64), keepdims=1)
    hidden = g.op("Greater", g.cast(left_out, np.int32), keeps_none)
    exponentials = exponentials_of(e, node, places)
    nothing = g.const(0, "nothing", softmax_table(e.range_in(node).scale).dtype)
    return shares(e, node, g.op("Where", hidden, nothing, exponentials))


@emits("attention_mask")
def emit_attention_mask(e: Emitter, node: Node) -> Value:
    """The lowest code of its range and the highest, for 0 and 1."""
    g, of = e.graph, e.range_out(node)
    is_zero = g.op("Equal", g.reshape(e.last(node), shape_in(node.extents, "last")), g.const(0, "zero", np.int32))
    ends = [g.const(place, "end", np.uint8) for place in (of.zero_point, node.quant_max - node.lowest)]
    return Value(node.extents, {"last": g.op("Where", is_zero, *ends, name=f"{node.title}.output")})


def shares(e: Emitter, node: Node, exponentials: str) -> Value:
    """Each exponential of its row's sum."""
    g = e.graph
    total = g.op("ReduceSum", exponentials, g.const([-1], "axes", np.int64), keepdims=1)
    scaled = g.op("Mul", g.cast(total, F64), g.const(F64(e.range_out(node).scale), "scale", F64))
    factor = g.cast(g.op("Div", g.const(1, "one", F64), scaled), F32)
    return Value(node.extents, {"last": e.finished(node, g.op("Mul", g.cast(exponentials, F32), factor), F32)})


def binary_logarithm(e: Emitter, x: str) -> str:
    """log2(x) * 2^26 of int64 from 1 on, [..., 1]: fixed_point_log2 of kernel/normalize/fixed_point_exponential.hpp.

    The bits behind the point come one by one, by squaring a mantissa of [2^31, 2^32): a Scan over 26 of them.
    """
    g, i64 = e.graph, np.int64
    powers = i64(1) << np.arange(62)
    at_least = g.cast(g.op("GreaterOrEqual", x, g.const(powers[1:], "powers")), i64)
    whole = g.op("ReduceSum", at_least, g.const([-1], "axes", i64), keepdims=1)
    apart = g.op("Sub", whole, g.const(31, "bits", i64))
    by = g.op("Gather", g.const(powers, "powers"), g.op("Abs", apart))
    is_above = g.op("Greater", apart, g.const(0, "zero", i64))
    mantissa = g.op("Where", is_above, g.op("Div", x, by), g.op("Mul", x, by))
    body = g.inner()
    names = [g.unique(f"{g.scope}.{n}") for n in ("mantissa", "logarithm", "bit")]
    two = body.const(2, "two", i64)
    half, odd = body.op("Div", names[0], two), body.op("Mod", names[0], two)
    square = body.op("Add", body.op("Mul", half, half), body.op("Mul", half, odd))  # (m * m) >> 31 without its 64th bit
    square = body.op("Div", square, body.const(1 << 29, "by", i64))
    carry = body.op("Div", square, body.const(1 << 32, "by", i64))
    next_mantissa = body.op("Div", square, body.op("Add", carry, body.const(1, "one", i64)))
    logarithm = body.op("Add", body.op("Mul", names[1], two), carry)
    info = g.helper.make_tensor_value_info
    inner = g.helper.make_graph(body.nodes, f"{g.scope}.bit", [info(names[0], 7, None), info(names[1], 7, None), info(names[2], 7, [])],
                                [info(next_mantissa, 7, None), info(logarithm, 7, None)])
    bits = g.const(np.zeros(26, i64), "bits")
    return g.op("Scan", mantissa, whole, bits, outputs=2, body=inner, num_scan_inputs=1)[1]


@emits("log_softmax")
def emit_log_softmax(e: Emitter, node: Node) -> Value:
    """Exponentials as softmax has them; the logarithm of their sum is subtracted in fixed point."""
    g, i64, x_scale, of = e.graph, np.int64, F64(e.range_in(node).scale), e.range_out(node)
    ratio, shift = min(x_scale / F64(of.scale), F64(1024)), 20
    while ratio * 2.0**shift >= 2.0**22:
        shift -= 1
    factor = F64(0.69314718055994530942) / (F64(of.scale) * 2.0**26) * 2.0**shift
    x = g.cast(e.last(node), i64)
    axes = g.const([-1], "axes", i64)
    distance = g.op("Sub", x, g.op("ReduceMax", x, axes, keepdims=1))
    exponentials = g.op("Gather", g.const(softmax_table(e.range_in(node).scale), "exponentials"),
                        g.op("Add", distance, g.const(255, "last", i64)))
    total = binary_logarithm(e, g.op("ReduceSum", exponentials, axes, keepdims=1))
    total = g.cast(g.op("Sub", total, g.const(30 << 26, "one", i64)), F64)
    scaled = g.op("Min", g.op("Mul", total, g.const(factor, "factor", F64)), g.const(2.0**30, "most", F64))
    subtrahend = g.cast(g.op("Round", scaled), i64)
    steps = g.op("Sub", g.op("Mul", distance, g.const(int(np.rint(ratio * 2.0**shift)), "multiplier", i64)), subtrahend)
    steps = g.op("Add", g.shift_half_even(steps, shift), g.const(of.zero_point, "zero_point", i64))
    low, high = node.quant_min - node.lowest, node.quant_max - node.lowest
    bounded = g.op("Clip", steps, g.const(low, "low", i64), g.const(high, "high", i64))
    return Value(node.extents, {"last": g.op("Cast", bounded, to=2, name=f"{node.title}.output")})


def normalized(e: Emitter, node: Node, x: str, axes: list[int], epsilon: float, gain: np.ndarray, offset: np.ndarray,
               count: int) -> str:
    """float(count * x - sum) * (factor * gain) + offset, factor = 1 / sqrt(count * squares - sum^2 + epsilon)."""
    g, of, y = e.graph, e.range_in(node), e.range_out(node)
    wide = g.cast(x, np.int64)
    over = g.const(axes, "axes", np.int64)
    total = g.op("ReduceSum", wide, over, keepdims=1)
    squares = g.op("ReduceSum", g.op("Mul", wide, wide), over, keepdims=1)
    number = g.const(count, "count", np.int64)
    spread = g.op("Sub", g.op("Mul", squares, number), g.op("Mul", total, total))
    steps = F64(count) / F64(of.scale)
    under = g.op("Add", g.cast(spread, F64), g.const(steps * steps * F64(F32(epsilon)), "epsilon", F64))
    is_flat = g.op("Equal", spread, g.const(0, "zero", np.int64))
    safe = g.op("Where", is_flat, g.const(1, "one", F64), under)
    factor = g.cast(g.op("Div", g.const(1, "one", F64), g.op("Sqrt", safe)), F32)
    factor = g.op("Where", is_flat, g.const(0, "zero", F32), factor)
    distance = g.cast(g.op("Sub", g.op("Mul", wide, number), total), F32)
    gains = (gain.astype(F64) / F64(y.scale)).astype(F32)
    offsets = (offset.astype(F64) / F64(y.scale)).astype(F32)
    product = g.op("Mul", distance, g.op("Mul", factor, g.const(gains, f"{node.title}.gain")))
    return e.finished(node, g.op("Add", product, g.const(offsets, f"{node.title}.offset")), F32)


def affine(e: Emitter, node: Node, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias, 1 and 0 where it has none."""
    weight, bias = e.model.tensor(node, "weight"), e.model.tensor(node, "bias")
    return (np.ones(count, F32) if weight is None else weight), (np.zeros(count, F32) if bias is None else bias)


@emits("layer_norm")
def emit_layer_norm(e: Emitter, node: Node) -> Value:
    """Over the channels, or over the image."""
    over_image, millionths, trillionths = node.arguments[:3]
    value = e.value(node)
    shape = shape_in(value.extents, "last")
    count = int(np.prod(value.extents)) if over_image else value.extents[3]
    weight, bias = affine(e, node, count)
    if over_image:  # channels x height x width in files
        weight, bias = (t.reshape(shape_in(value.extents, "first")[1:]).transpose(1, 2, 0) for t in (weight, bias))
    axes = list(range(1, len(shape))) if over_image else [len(shape) - 1]
    epsilon = float(F32(millionths / 1e6 + trillionths / 1e12))
    return Value(node.extents, {"last": normalized(e, node, e.last(node), axes, epsilon, weight, bias, count)})


@emits("group_norm", "instance_norm")
def emit_group_norm(e: Emitter, node: Node) -> Value:
    """Over groups of channels, or each of them."""
    groups, millionths, _ = node.arguments
    value = e.value(node)
    channels = value.extents[3]
    groups = groups or channels
    shape = shape_in(value.extents, "first")
    apart = [1, groups, channels // groups, *shape[2:]]
    weight, bias = (t.reshape(groups, channels // groups, *[1] * (len(shape) - 2)) for t in affine(e, node, channels))
    count = int(np.prod(apart[2:]))
    y = normalized(e, node, e.graph.reshape(e.first(node), apart), list(range(2, len(apart))),
                   float(F32(millionths / 1e6)), weight, bias, count)
    return Value(node.extents, {"first": e.graph.reshape(y, shape)})


@emits("unfused_batch_norm")
def emit_batch_norm(e: Emitter, node: Node) -> Value:
    """float(x - z) * gain + offset, a number of each a channel."""
    millionths = node.arguments[0]
    x, y = e.range_in(node), e.range_out(node)
    channels = e.value(node).extents[3]
    gamma, beta = affine(e, node, channels)
    mean, variance = e.model.tensor(node, "running_mean"), e.model.tensor(node, "running_var")
    factor = gamma.astype(F64) / np.sqrt(variance.astype(F64) + F64(F32(millionths / 1e6)))
    gains = (factor * F64(x.scale) / F64(y.scale)).astype(F32)
    offsets = ((beta.astype(F64) - mean.astype(F64) * factor) / F64(y.scale)).astype(F32)
    steps = e.graph.op("Mul", e.centred(e.last(node), x, F32), e.graph.const(gains, f"{node.title}.gain"))
    return Value(node.extents, {"last": e.finished(node, e.graph.op("Add", steps, e.graph.const(
        offsets, f"{node.title}.offset")), F32)})
