# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions and linear layers: sums of products in int32, and what makes codes of them under each policy."""

from __future__ import annotations

from typing import Callable

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.emitter import Emitter, emits
from zeropoint.export.formulas import F32, F64, bounds_of, fixed_point, multipliers, residual_ratios
from zeropoint.export.graph import Graph, Value
from zeropoint.export.int8_model import Node

I64 = np.int64


def places_of_weights(weights: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes as unsigned bytes, and the place of code 0: processors without dot products then saturate nowhere."""
    return (weights, 0) if weights.dtype == np.uint8 else ((weights.astype(np.int16) + 128).astype(np.uint8), 128)


def window_of(node: Node, is_volume: bool) -> dict[str, list[int]]:
    """Kernel, strides, begins of pads and dilations along the axes of pixels."""
    axes = (["depth"] if is_volume else []) + ["height", "width"]
    begin = {"depth": "padding_front", "height": "padding_top", "width": "padding_left"}
    o = node.options
    return {"kernel": [o.get(f"kernel_{a}", 1) for a in axes], "strides": [o.get(f"stride_{a}", 1) for a in axes],
            "begins": [o.get(begin[a], 0) for a in axes], "dilations": [o.get(f"dilation_{a}", 1) for a in axes]}


def pads_of(extents_in: list[int], extents_out: list[int], window: dict[str, list[int]]) -> list[int]:
    """Both ends of each axis, so that the output has its extents."""
    ends = []
    for i, (n, out) in enumerate(zip(extents_in, extents_out)):
        reach = (out - 1) * window["strides"][i] + window["dilations"][i] * (window["kernel"][i] - 1) + 1
        ends.append(max(0, reach - n - window["begins"][i]))
    return [*window["begins"], *ends]


def sums_of(e: Emitter, node: Node, x: str, zero: int, filters: np.ndarray, zero_points: np.ndarray | None,
            **attributes: object) -> str:
    """ConvInteger: sums of (x - zero) * w. Weights that have zero points take a second one of these."""
    weights, middle = places_of_weights(filters)
    zero_name = e.graph.const(zero, "zero_point", np.uint8)

    def product(codes: np.ndarray, of_zero: int, name: str) -> str:
        """One ConvInteger."""
        return e.graph.op("ConvInteger", x, e.graph.const(codes, name), zero_name,
                          e.graph.const(of_zero, "zero_point", np.uint8), **attributes)

    sums = product(weights, middle, f"{node.title}.weight")
    if zero_points is None or not zero_points.any():
        return sums
    constant = (zero_points + middle).astype(np.uint8).reshape(-1, *[1] * (weights.ndim - 1))
    constant = np.broadcast_to(constant, weights.shape)
    return e.graph.op("Sub", sums, product(constant, middle, f"{node.title}.weight_zero_point"))


@emits("conv2d", "conv1d", "conv3d")
def emit_conv(e: Emitter, node: Node) -> Value:
    """Sums of a window."""
    value = e.value(node)
    filters = codes_of(e, node)
    if node.options.get("one_dimensional"):
        filters = filters[:, :, None]
    is_volume = filters.ndim == 5
    window = window_of(node, is_volume)
    pixels = [list(t.extents[0 if is_volume else 1:3]) for t in (value, node)]
    x = e.first(node)
    if is_volume and not value.is_volume:
        x = e.graph.reshape(x, [1, value.extents[3], *value.extents[:3]])
    sums = sums_of(e, node, x, e.range_in(node).zero_point, filters, zero_points_of(e, node), strides=window["strides"],
                   dilations=window["dilations"], pads=pads_of(*pixels, window), group=node.options["groups"],
                   kernel_shape=window["kernel"])
    return finish(e, node, sums, filters.ndim)


@emits("linear")
def emit_linear(e: Emitter, node: Node) -> Value:
    """A convolution of 1 x 1. Where a flatten was in front, columns stand channel by channel, as in the file."""
    filters = codes_of(e, node)
    value = e.value(node)
    x = e.first(node)
    if filters.shape[1] != value.extents[3]:  # of an image whose flatten was fused
        x = e.graph.reshape(x, [1, filters.shape[1], 1, 1])
    sums = sums_of(e, node, x, e.range_in(node).zero_point, filters[:, :, None, None], zero_points_of(e, node),
                   kernel_shape=[1, 1])
    return finish(e, node, sums, 4)


@emits("conv_transpose2d", "conv_transpose1d", "conv_transpose3d")
def emit_conv_transpose(e: Emitter, node: Node) -> Value:
    """An ordinary convolution of filters turned round, over the image with zeros between its pixels."""
    value, filters, groups = e.value(node), codes_of(e, node), node.options["groups"]
    if node.options.get("one_dimensional"):
        filters = filters[:, :, None]
    is_volume = filters.ndim == 5
    window = window_of(node, is_volume)
    pixels = list(value.extents[0 if is_volume else 1:3])
    out = list(node.extents[0 if is_volume else 1:3])
    turned = filters.reshape(groups, -1, *filters.shape[1:]).swapaxes(1, 2)
    turned = turned.reshape(-1, *turned.shape[2:])[(..., *[slice(None, None, -1)] * len(pixels))]
    zero = e.range_in(node).zero_point
    x, channels = e.first(node), value.extents[3]
    if is_volume and not value.is_volume:
        x = e.graph.reshape(x, [1, channels, *pixels])
    strides = window["strides"]
    if any(s != 1 for s in strides):
        apart = [n for p in pixels for n in (p, 1)]
        x = e.graph.reshape(x, [1, channels, *apart])
        ends = [n for s in strides for n in (0, s - 1)]
        x = e.graph.op("Pad", x, e.graph.const([0] * (2 + len(apart)) + [0, 0, *ends], "pads", I64),
                       e.graph.const(zero, "zero_point", np.uint8))
        x = e.graph.reshape(x, [1, channels, *(n * s for n, s in zip(pixels, strides))])
    begins = [d * (k - 1) - b for d, k, b in zip(window["dilations"], window["kernel"], window["begins"])]
    ends = [o + d * (k - 1) - b - n * s
            for o, d, k, b, n, s in zip(out, window["dilations"], window["kernel"], begins, pixels, strides)]
    spread = [n * s for n, s in zip(pixels, strides)]
    for axis, (b, t, n) in enumerate(zip(begins, ends, spread)):
        if b < 0 or t < 0:
            x = e.graph.slice(x, 2 + axis, max(0, -b), n - max(0, -t))
    sums = sums_of(e, node, x, zero, np.ascontiguousarray(turned), zero_points_of(e, node), dilations=window["dilations"],
                   pads=[max(0, b) for b in begins] + [max(0, t) for t in ends], group=groups,
                   kernel_shape=window["kernel"])
    return finish(e, node, sums, filters.ndim)


def codes_of(e: Emitter, node: Node) -> np.ndarray:
    """Its weights. Raises Refused where it has none, or inputs of another kind."""
    codes = e.model.tensor(node, "weight", "codes")
    if codes is None or not node.is_codes:
        raise Refused("value", "this layer computes with floats, whose sums are not the same everywhere")
    return codes


def zero_points_of(e: Emitter, node: Node) -> np.ndarray | None:
    """Of its weights, one an output channel."""
    return e.model.tensor(node, "weight", "zero_point")


def finish(e: Emitter, node: Node, sums: str, rank: int) -> Value:
    """Bias, residual, requantization and table: from sums, channels first, to places."""
    g, fused = e.graph, node.fused
    table_bits = fused.get("table_bits", 8)
    in_front = fused.get("table_qparams_id", node.qparams_id)
    y = e.model.range_at(in_front, node)
    low, high, y_scale, zero = (*bounds_of(node, y), y.scale, y.zero_point)
    if "function" in fused and table_bits > 8:
        parts = 1 << (table_bits - 8)
        low, high = (node.quant_min - node.lowest) * parts, (node.quant_max - node.lowest + 1) * parts - 1
        y_scale, zero = F32(y_scale / F32(parts)), zero * parts

    def channels(values: np.ndarray, name: str) -> str:
        """Numbers of channels, spread over pixels."""
        return g.const(values.reshape(1, -1, *[1] * (rank - 2)), f"{node.title}.{name}")

    scales, bias, x = e.model.tensor(node, "weight", "scale"), e.model.tensor(node, "bias", "bias"), e.range_in(node)
    policy = e.model.requantization
    to = np.int32 if high > 255 or "function" in fused else np.uint8
    name = f"{node.title}.output" if to is np.uint8 else ""
    if policy == "float_bias":
        product = x.scale * scales
        steps = g.op("Add", g.cast(sums, F32), channels((bias / product).astype(F32), "bias"))
        steps = g.op("Mul", steps, channels((product / y_scale).astype(F32), "multiplier"))
        places = g.rounded(steps, low, high, zero, F32, to=to, name=name)
    elif policy == "nearest_even":
        steps = g.cast(g.op("Add", sums, channels(bias, "bias")), F32)
        if fused.get("adds_input_1"):
            r = e.range_in(node, 1)
            ratio = channels(residual_ratios(r, x, scales), "residual_ratio")
            steps = g.op("Add", steps, g.op("Mul", e.centred(e.first(node, 1), r, F32), ratio))
        steps = g.op("Mul", steps, channels(multipliers(x, scales, y_scale), "multiplier"))
        places = g.rounded(steps, low, high, zero, F32, to=to, name=name)
    else:
        total = g.cast(g.op("Add", sums, channels(bias, "bias")), I64)
        is_away = policy == "fixed_point_litert" and node.kind == "linear"
        products = F64(x.scale) * scales.astype(F64)
        if is_away and (scales == scales[0]).all():
            products = (x.scale * scales).astype(F32).astype(F64)
        factors = [fixed_point(float(product / F64(y_scale))) for product in products]
        rounding = "away" if is_away else "once" if policy == "fixed_point_single_rounding" else "twice"
        steps = fixed_point_steps(g, total, factors, rounding, channels)
        steps = g.op("Clip", steps, g.const(low - zero, "low", I64), g.const(high - zero, "high", I64))
        places = g.op("Cast", g.op("Add", steps, g.const(zero, "zero_point", I64)), to=2 if to is np.uint8 else 6,
                      name=name)
    if "function" in fused:
        places = g.op("Gather", g.const(e.model.table(node), f"{node.title}.table"), places, name=f"{node.title}.output")
    if rank == 5 and node.extents[0] == 1:
        places = g.reshape(places, [1, node.extents[3], *node.extents[1:3]])
    return Value(node.extents, {"first": places}, node.flattened)


def fixed_point_steps(g: Graph, total: str, factors: list[tuple[int, int]], rounding: str,
                      channels: Callable[[np.ndarray, str], str]) -> str:
    """Sums of int64 times factors of fixed_point(), TFLite's MultiplyByQuantizedMultiplier.

    rounding: "twice", "once" with halves up, or "away" once with halves away from zero. channels: makes a constant of numbers of
    channels. Raises Refused for factors of 1 and more, whose sums may leave 32 bits in the first step.
    """
    if max(shift for _, shift in factors) > 0:
        raise Refused("value", "a fixed-point multiplier above 1: calibrate the output's range on its own values")
    multiplier = channels(np.array([m for m, _ in factors], I64), "multiplier")
    rights = np.array([-shift for _, shift in factors], I64)
    half, by = I64(1) << (rights + 30), I64(1) << (rights + 31)
    if rounding == "away":
        size = g.op("Mul", g.op("Abs", total), multiplier)
        return g.op("Mul", g.op("Div", g.op("Add", size, channels(half, "half")), channels(by, "by")), g.op("Sign", total))
    product = g.op("Mul", total, multiplier)
    if rounding == "once":
        above = g.op("Add", g.op("Add", product, channels(half, "half")), g.const(1 << 62, "above", I64))
        return g.op("Sub", g.op("Div", above, channels(by, "by")), channels(I64(1 << 62) // by, "above"))
    high = g.floor_divide(g.op("Add", product, g.const(1 << 30, "half", I64)), 1 << 31, 62)
    by = I64(1) << rights
    magnitude = g.op("Div", g.op("Add", g.op("Abs", high), channels(by >> 1, "half")), channels(by, "by"))
    return g.op("Mul", magnitude, g.op("Sign", high))


def fixed_point_places(e: Emitter, node: Node, total: str, factor: tuple[int, int]) -> str:
    """Of sums in int64 and one factor for all of them, rounded twice: LiteRT's."""
    g, of = e.graph, e.range_out(node)
    low, high = bounds_of(node, of)
    if factor[1] > 0:  # sums are small here: nothing leaves 32 bits
        total, factor = g.op("Mul", total, g.const(1 << factor[1], "shift", I64)), (factor[0], 0)
    steps = fixed_point_steps(g, total, [factor], "twice", lambda values, name: g.const(values, name))
    steps = g.op("Clip", steps, g.const(low - of.zero_point, "low", I64), g.const(high - of.zero_point, "high", I64))
    return g.op("Cast", g.op("Add", steps, g.const(of.zero_point, "zero_point", I64)), to=2, name=f"{node.title}.output")
