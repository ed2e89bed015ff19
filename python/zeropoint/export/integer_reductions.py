# SPDX-License-Identifier: BSD-3-Clause
"""Pools, resizing, sums along axes: exact sums of integers in double, divided and rounded once."""

from __future__ import annotations

from math import gcd

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.emitter import Emitter, emits
from zeropoint.export.formulas import F32, F64, fixed_point
from zeropoint.export.graph import Value, shape_in
from zeropoint.export.int8_model import Node, Range
from zeropoint.export.integer_filters import fixed_point_places, pads_of, window_of


@emits("max_pool2d", "max_pool1d")
def emit_max_pool(e: Emitter, node: Node) -> Value:
    """Pads of the lowest place never win."""
    value, window = e.value(node), window_of(node, False)
    pads = pads_of(list(value.extents[1:3]), list(node.extents[1:3]), window)
    x = e.first(node)
    if any(pads):
        around = e.graph.const([0, 0, *pads[:2], 0, 0, *pads[2:]], "pads", np.int64)
        x = e.graph.op("Pad", x, around, e.graph.const(0, "lowest", np.uint8))
    x = e.graph.op("MaxPool", x, kernel_shape=window["kernel"], strides=window["strides"], dilations=window["dilations"],
                   name=f"{node.title}.output")
    return Value(node.extents, {"first": x})


def linear_map(e: Emitter, node: Node, rows: np.ndarray, columns: np.ndarray, divisors: np.ndarray, *,
               of_codes: bool = False) -> Value:
    """rne(rows * (x - z) * columns' / divisors) + z: matrices out x in of integers, divisors out_h x out_w.

    of_codes: of the codes themselves, halves away from zero, as LiteRT averages.
    """
    of = Range(e.range_in(node).scale, -node.lowest) if of_codes else e.range_in(node)
    x = e.centred(e.first(node), of, F64)
    if rows.shape[0] != rows.shape[1] or (rows != np.eye(len(rows))).any():
        x = e.graph.op("MatMul", e.graph.const(rows, "rows", F64), x)
    if columns.shape[0] != columns.shape[1] or (columns != np.eye(len(columns))).any():
        x = e.graph.op("MatMul", x, e.graph.const(columns.T, "columns", F64))
    divisors = divisors.flat[0] if (divisors == divisors.flat[0]).all() else divisors
    # Sums are integers already. Without this ONNX Runtime makes a product with the rounded reciprocal of product and quotient.
    x = e.graph.op("Round", x)
    x = e.graph.op("Div", x, e.graph.const(divisors, "divisor", F64))
    if of_codes:
        size = e.graph.op("Floor", e.graph.op("Add", e.graph.op("Abs", x), e.graph.const(0.5, "half", F64)))
        code = e.graph.op("Mul", size, e.graph.op("Sign", x))
        place = e.graph.op("Add", code, e.graph.const(-node.lowest, "lowest", F64))
        return Value(node.extents, {"first": e.graph.op("Cast", place, to=2, name=f"{node.title}.output")})
    return Value(node.extents, {"first": e.finished(node, x, F64)})


def window_matrix(inside: int, out: int, kernel: int, stride: int, begin: int, dilation: int) -> np.ndarray:
    """out x in: 1 where an output's window has an input."""
    made = np.zeros((out, inside))
    for i in range(out):
        for k in range(kernel):
            at = i * stride - begin + k * dilation
            if 0 <= at < inside:
                made[i, at] += 1
    return made


@emits("avg_pool2d", "avg_pool1d")
def emit_avg_pool(e: Emitter, node: Node) -> Value:
    """Divided by how many values a window has, pads too where these count; never by what hangs over the padded end."""
    value, o = e.value(node), node.options
    maps, counts = [], []
    for axis, begin_name, inside, out in (("height", "padding_top", value.extents[1], node.extents[1]),
                                          ("width", "padding_left", value.extents[2], node.extents[2])):
        kernel, stride, begin = o[f"kernel_{axis}"], o[f"stride_{axis}"], o[begin_name]
        matrix = window_matrix(inside, out, kernel, stride, begin, o[f"dilation_{axis}"])
        maps.append(matrix)
        padded = [min(i * stride - begin + kernel, inside + begin) - (i * stride - begin) for i in range(out)]
        counts.append(np.array(padded) if o["count_include_pad"] else matrix.sum(1))
    counts_padding = o["count_include_pad"] and (o["padding_top"] or o["padding_left"])
    return linear_map(e, node, maps[0], maps[1], np.outer(*counts),
                      of_codes=e.model.requantization == "fixed_point_litert" and not counts_padding)


@emits("adaptive_avg_pool2d", "adaptive_avg_pool1d")
def emit_adaptive_avg_pool(e: Emitter, node: Node) -> Value:
    """Output i has the inputs from floor(i * in / out) to ceil((i + 1) * in / out)."""
    maps = []
    for inside, out in zip(e.value(node).extents[1:3], node.extents[1:3]):
        matrix = np.zeros((out, inside))
        for i in range(out):
            matrix[i, i * inside // out:-(-(i + 1) * inside // out)] = 1
        maps.append(matrix)
    return linear_map(e, node, *maps, np.outer(maps[0].sum(1), maps[1].sum(1)))


def linear_axis(rule: str, inside: int, out: int, numerator: int, denominator: int) -> tuple[np.ndarray, int]:
    """Weights of inputs as integers over one denominator: kernel/geometry/resize_axis.hpp."""
    if numerator == 0 or rule == "align_corners":
        numerator, denominator = out, inside
    first, step, under = 0, denominator, numerator
    if rule == "half_pixel":
        first, step, under = denominator - numerator, 2 * step, 2 * under
    if rule == "align_corners":
        step, under = (inside - 1 if out > 1 else 0), (out - 1 if out > 1 else 1)
    common = gcd(gcd(first, step), under)
    first, step, under = first // common, step // common, under // common
    weights = np.zeros((out, inside))
    for i in range(out):
        whole, part = divmod(first + i * step, under)
        if whole < 0:
            weights[i, 0] = under
        elif whole >= inside - 1:
            weights[i, inside - 1] = under
        else:
            weights[i, whole], weights[i, whole + 1] = under - part, part
    return weights, under


def nearest_places(rule: str, inside: int, out: int, factor: float) -> np.ndarray:
    """Which input an output takes, in the floats that the systems have."""
    scale = F32(1 / factor) if factor else F32(inside) / F32(out)
    offset = F32(0.5 if rule == "half_pixel" else 0)
    if rule == "align_corners" and out > 1:
        scale = F32(inside - 1) / F32(out - 1)
    position = (np.arange(out, dtype=F32) + offset) * scale
    whole = position.astype(np.int64)
    if rule == "align_corners":
        whole += position - whole.astype(F32) >= F32(0.5)
    return np.minimum(whole, inside - 1)


@emits("interpolate")
def emit_interpolate(e: Emitter, node: Node) -> Value:
    """Places of the nearest, or weights that are integers over one denominator."""
    height, width, factor, divisor, mode = node.arguments
    has_size = height > 0 and width > 0
    rule = ("corner", "half_pixel", "half_pixel", "align_corners", "align_corners", "corner")[mode]  # zp::resize_mode
    pairs = list(zip(e.value(node).extents[1:3], node.extents[1:3]))
    if mode in (2, 3, 5):
        (rows, by_rows), (columns, by_columns) = (
            linear_axis(rule, inside, out, 0 if has_size else factor, 0 if has_size else divisor) for inside, out in pairs)
        return linear_map(e, node, rows, columns, np.full((1, 1), by_rows * by_columns))
    x = e.first(node)
    for axis, (inside, out) in enumerate(pairs):
        places = nearest_places(rule, inside, out, 0 if has_size else factor / divisor)
        if inside != out or (places != np.arange(out)).any():
            x = e.graph.op("Gather", x, e.graph.const(places, "places", np.int64), axis=2 + axis)
    return Value(node.extents, {"first": x})


def axes_last(node: Node, value: Value) -> list[int]:
    """Axes in memory's order that an output has folded."""
    shapes = shape_in(value.extents, "last"), [1, *node.extents[0 if value.is_volume else 1:]]
    return [i for i, (a, b) in enumerate(zip(*shapes)) if a != b]


@emits("sum", "mean")
def emit_sum(e: Emitter, node: Node) -> Value:
    """double(sum) * x_scale / (y_scale * divisor), rounded once."""
    value, x, y = e.value(node), e.range_in(node), e.range_out(node)
    axes = axes_last(node, value)
    divisor = int(np.prod(value.extents)) // node.size if node.op["name"] == "mean" else 1
    is_litert = e.model.requantization == "fixed_point_litert" and node.op["name"] == "mean"
    total = e.centred(e.last(node), x, np.int64 if is_litert else F64)
    if axes:
        total = e.graph.op("ReduceSum", total, e.graph.const(axes, "axes", np.int64), keepdims=1)
    if is_litert:
        return folded(e, node, fixed_point_places(e, node, total, factor_of_mean(x, y, divisor)))
    scaled = e.graph.op("Mul", total, e.graph.const(F64(x.scale), "scale", F64))
    steps = e.graph.op("Div", scaled, e.graph.const(F64(y.scale) * divisor, "divisor", F64))
    return folded(e, node, e.finished(node, steps, F64))


def factor_of_mean(x: Range, y: Range, divisor: int) -> tuple[int, int]:
    """The ratio of the scales, its multiplier shifted up by the bits of the divisor but one, and divided by it."""
    multiplier, shift = fixed_point(float(F64(x.scale) / F64(y.scale)))
    bits = min(divisor.bit_length() - 1, 31 + shift)
    return (multiplier << bits) // divisor, shift - bits


@emits("reduce_max", "reduce_min")
def emit_reduce(e: Emitter, node: Node) -> Value:
    """The largest or smallest code."""
    kind = "ReduceMax" if node.op["name"] == "reduce_max" else "ReduceMin"
    axes = axes_last(node, e.value(node))
    x = e.last(node)
    if axes:
        wide = e.graph.op(kind, e.graph.cast(x, np.int32), e.graph.const(axes, "axes", np.int64), keepdims=1)
        x = e.graph.op("Cast", wide, to=2, name=f"{node.title}.output")
    return folded(e, node, x)


def folded(e: Emitter, node: Node, x: str) -> Value:
    """A volume without a depth is an image."""
    return Value(node.extents, {"last": e.graph.reshape(x, shape_in(node.extents, "last"))})


@emits("argmax")
def emit_argmax(e: Emitter, node: Node) -> Value:
    """Indices are codes of scale 1."""
    if not node.is_codes:
        raise Refused("value", "among floats")
    x = e.graph.op("ArgMax", e.graph.cast(e.last(node), np.int32), axis=-1, keepdims=1)
    place = e.graph.op("Add", x, e.graph.const(-node.lowest, "lowest", np.int64))
    return Value(node.extents, {"last": e.graph.cast(place, np.uint8)})
