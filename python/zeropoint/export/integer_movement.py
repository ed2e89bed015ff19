# SPDX-License-Identifier: BSD-3-Clause
"""What copies codes: views, permutations, slices, pads, concats, rows of tables."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.emitter import Emitter, emits
from zeropoint.export.formulas import grid_table, quantized
from zeropoint.export.graph import Value, shape_in
from zeropoint.export.int8_model import Node

HEIGHT, WIDTH, CHANNELS = 0, 1, 2  # zp::axis


def axis_in(value: Value, axis: int, layout: str) -> int:
    """Where an axis of zp::axis stands in a tensor."""
    volume = int(value.is_volume)
    if axis == CHANNELS:
        return 1 if layout == "first" else 3 + volume
    return (2 if layout == "first" else 1) + volume + axis


def last_value(node: Node, name: str) -> Value:
    """What lies in memory's order."""
    return Value(node.extents, {"last": name}, node.flattened)


def reshaped(e: Emitter, node: Node, x: str) -> Value:
    """Memory's order under the row's extents."""
    return last_value(node, e.graph.reshape(x, shape_in(node.extents, "last")))


@emits("flatten")
def emit_flatten(e: Emitter, node: Node) -> Value:
    """The image's values in whichever order is there."""
    value = e.value(node)
    layout = value.layout
    return Value(node.extents, {layout: e.shaped(node, 0, layout, shape_in(node.extents, layout))}, node.flattened)


@emits("reshape")
def emit_reshape(e: Emitter, node: Node) -> Value:
    """PyTorch's view: channel by channel."""
    if e.value(node).flattened is not None:
        raise Refused("value", "a reshape of a flattened image")
    return Value(node.extents, {"first": e.graph.reshape(e.first(node), shape_in(node.extents, "first"))})


@emits("permute")
def emit_permute(e: Emitter, node: Node) -> Value:
    """Axes in another order."""
    return last_value(node, e.graph.transpose(e.last(node), [0, *(1 + a for a in node.arguments)]))


@emits("flip")
def emit_flip(e: Emitter, node: Node) -> Value:
    """Axes backwards."""
    value, layout = e.value(node), e.any_layout(node)
    x = e.form(value, layout)
    for axis in node.arguments[1:]:
        x = e.graph.slice(x, axis_in(value, axis, layout), -1, -(1 << 31), -1)
    return e.made(node, x, layout)


@emits("roll")
def emit_roll(e: Emitter, node: Node) -> Value:
    """Two parts of each axis change places."""
    value, layout = e.value(node), e.any_layout(node)
    x = e.form(value, layout)
    for axis, places in enumerate(node.arguments):
        extent = value.extents[1 + axis]
        if places % extent == 0:
            continue
        at, cut = axis_in(value, axis, layout), extent - places % extent
        x = e.graph.op("Concat", e.graph.slice(x, at, cut, extent), e.graph.slice(x, at, 0, cut), axis=at)
    return e.made(node, x, layout)


@emits("tile")
def emit_tile(e: Emitter, node: Node) -> Value:
    """So many times along each axis."""
    return last_value(node, e.graph.op("Tile", e.last(node), e.graph.const([1, *node.arguments], "repeats", np.int64)))


@emits("expand")
def emit_expand(e: Emitter, node: Node) -> Value:
    """Axes of extent 1 repeat their value."""
    return last_value(node, e.graph.op("Expand", e.last(node), e.graph.const([1, *node.arguments], "shape", np.int64)))


def place(index: int, extent: int) -> int:
    """Of a slice's end."""
    return min(max(index + extent if index < 0 else index, 0), extent)


@emits("slice")
def emit_slice(e: Emitter, node: Node) -> Value:
    """Every step-th place of an axis."""
    axis, begin, end, step = node.arguments
    value, layout = e.value(node), e.any_layout(node)
    extent = value.extents[1 + axis]
    x = e.graph.slice(e.form(value, layout), axis_in(value, axis, layout), place(begin, extent), place(end, extent), step)
    return e.made(node, x, layout)


@emits("chunk")
def emit_chunk(e: Emitter, node: Node) -> Value:
    """One of parts of equal size."""
    index, count, axis = node.arguments
    value, layout = e.value(node), e.any_layout(node)
    each = -(-value.extents[1 + axis] // count)
    begin, end = index * each, min(value.extents[1 + axis], (index + 1) * each)
    return e.made(node, e.graph.slice(e.form(value, layout), axis_in(value, axis, layout), begin, end), layout)


@emits("gather")
def emit_gather(e: Emitter, node: Node) -> Value:
    """Chosen places of an axis."""
    axis, *places = node.arguments
    value, layout = e.value(node), e.any_layout(node)
    x = e.graph.op("Gather", e.form(value, layout), e.graph.const(places, "places", np.int64),
                   axis=axis_in(value, axis, layout))
    return e.made(node, x, layout)


@emits("concat", "stack")
def emit_concat(e: Emitter, node: Node) -> Value:
    """Inputs of another range go through a table of the identity."""
    axis = node.arguments[0] if node.op["name"] == "stack" else CHANNELS
    values = [e.value(node, k) for k in range(len(node.inputs))]
    largest = max(values, key=lambda v: np.prod(v.extents))
    layout = largest.layout
    y = e.range_out(node) if node.is_codes else None
    low, high = node.quant_min - node.lowest, node.quant_max - node.lowest
    parts = []
    for k, value in enumerate(values):
        x = e.form(value, layout)
        if y is not None and e.range_in(node, k) != y:
            x = e.looked_up(grid_table(e.range_in(node, k), y, low, high), x)
        parts.append(x)
    at = axis_in(values[0], axis, layout)
    return e.made(node, e.graph.op("Concat", *parts, axis=at, name=f"{node.title}.output"), layout)


@emits("pad", "mean_border")
def emit_pad(e: Emitter, node: Node) -> Value:
    """A constant, or places of the image again."""
    if node.op["name"] != "pad":
        raise Refused("op", "a border of means")
    left, right, top, bottom, front, back, mode, thousandths = node.arguments
    value, layout = e.value(node), e.any_layout(node)
    x, y = e.form(value, layout), e.range_out(node)
    if e.range_in(node) != y:
        raise Refused("value", "a pad onto another range")
    sides = {HEIGHT: (top, bottom), WIDTH: (left, right), CHANNELS: (front, back)}
    if mode == 0:
        rank = 4 + int(value.is_volume)
        begins, ends = [0] * rank, [0] * rank
        for axis, (before, after) in sides.items():
            begins[axis_in(value, axis, layout)], ends[axis_in(value, axis, layout)] = before, after
        low, high = node.quant_min - node.lowest, node.quant_max - node.lowest
        around = quantized(float(np.float32(thousandths / 1000.0)), y, low, high)
        x = e.graph.op("Pad", x, e.graph.const(begins + ends, "pads", np.int64), e.graph.const(around, "around", np.uint8),
                       name=f"{node.title}.output")
        return e.made(node, x, layout)
    modes = {1: "reflect", 2: "symmetric", 3: "edge", 4: "wrap"}  # zp::pad_mode, as numpy calls them
    for axis, (before, after) in sides.items():
        if before or after:
            places = np.pad(np.arange(value.extents[1 + axis]), (before, after), modes[mode])  # type: ignore[call-overload]
            x = e.graph.op("Gather", x, e.graph.const(places, "places", np.int64), axis=axis_in(value, axis, layout))
    return e.made(node, x, layout)


def boxed(e: Emitter, node: Node, apart: list[int], order: list[int]) -> Value:
    """Memory's order read along these axes and put down in another order of them."""
    x = e.graph.reshape(e.last(node), apart)
    return reshaped(e, node, e.graph.transpose(x, order))


@emits("channel_shuffle")
def emit_channel_shuffle(e: Emitter, node: Node) -> Value:
    """The channels as a matrix, transposed."""
    value, groups = e.value(node), node.arguments[0]
    shape = shape_in(value.extents, "first")
    x = e.graph.reshape(e.first(node), [1, groups, shape[1] // groups, *shape[2:]])
    x = e.graph.transpose(x, [0, 2, 1, *range(3, 1 + len(shape))])
    return Value(node.extents, {"first": e.graph.reshape(x, shape)})


@emits("pixel_shuffle", "depth_to_space")
def emit_pixel_shuffle(e: Emitter, node: Node) -> Value:
    """Channels to pixels: PyTorch's order, or TFLite's."""
    factor = factor_of(node, e.value(node))
    mode = "DCR" if node.op["name"] == "depth_to_space" else "CRD"
    _, channels, height, width = shape_in(e.value(node).extents, "first")
    apart = [factor, factor, channels // factor**2] if mode == "DCR" else [channels // factor**2, factor, factor]
    order = [0, 3, 4, 1, 5, 2] if mode == "DCR" else [0, 1, 4, 2, 5, 3]
    x = e.graph.transpose(e.graph.reshape(e.first(node), [1, *apart, height, width]), order)
    return Value(node.extents, {"first": e.graph.reshape(x, shape_in(node.extents, "first"))})


@emits("pixel_unshuffle", "space_to_depth")
def emit_pixel_unshuffle(e: Emitter, node: Node) -> Value:
    """Pixels to channels."""
    factor = factor_of(node, e.value(node))
    _, channels, height, width = shape_in(e.value(node).extents, "first")
    x = e.graph.reshape(e.first(node), [1, channels, height // factor, factor, width // factor, factor])
    order = [0, 3, 5, 1, 2, 4] if node.op["name"] == "space_to_depth" else [0, 1, 3, 5, 2, 4]
    return Value(node.extents, {"first": e.graph.reshape(e.graph.transpose(x, order), shape_in(node.extents, "first"))})


def factor_of(node: Node, value: Value) -> int:
    """How many times as high, or as low, it becomes."""
    return max(node.extents[1], value.extents[1]) // min(node.extents[1], value.extents[1])


@emits("split_heads")
def emit_split_heads(e: Emitter, node: Node) -> Value:
    """A matrix a head."""
    _, heads, width, each = node.extents
    return boxed(e, node, [width, heads, each], [1, 0, 2])


@emits("merge_heads")
def emit_merge_heads(e: Emitter, node: Node) -> Value:
    """And back."""
    _, heads, width, each = e.value(node).extents
    return boxed(e, node, [heads, width, each], [1, 0, 2])


@emits("rearrange")
def emit_rearrange(e: Emitter, node: Node) -> Value:
    """Any axes in any order."""
    count, *rest = node.arguments
    return boxed(e, node, rest[:count], rest[count:])


@emits("window_partition", "patches")
def emit_windows(e: Emitter, node: Node) -> Value:
    """Windows one behind the other, each row by row."""
    window, (_, height, width, channels) = node.arguments[0], e.value(node).extents
    return boxed(e, node, [height // window, window, width // window, window * channels], [0, 2, 1, 3])


@emits("window_reverse")
def emit_window_reverse(e: Emitter, node: Node) -> Value:
    """The image of windows."""
    window, (_, height, width, channels) = node.arguments[0], node.extents
    return boxed(e, node, [height // window, width // window, window, window * channels], [0, 2, 1, 3])


@emits("embedding", "position_embedding")
def emit_embedding(e: Emitter, node: Node) -> Value:
    """Rows of a table of codes of the output's grid."""
    table = e.model.tensor(node, "weight", "codes")
    if table is None or not node.is_codes:
        raise Refused("value", "a table whose rows have scales of their own gives floats")
    if node.storage == "int8":
        table = (table.astype(np.int16) + 128).astype(np.uint8)
    _, _, count, columns = node.extents
    first = node.arguments[2]
    if node.kind == "position_embedding":
        rows = e.graph.const(table[first:first + count].reshape(shape_in(node.extents, "last")), f"{node.title}.weight")
        return last_value(node, rows)
    indices = e.graph.reshape(e.last(node), [-1])
    if e.value(node).extents[3] != count:
        indices = e.graph.slice(indices, 0, first, first + count)
    return reshaped(e, node, e.graph.op("Gather", e.graph.const(table, f"{node.title}.weight"), indices))


@emits("constant")
def emit_constant(e: Emitter, node: Node) -> Value:
    """Codes of the file."""
    codes = e.model.tensor(node, "", "codes")
    if codes is None:
        raise Refused("value", "a constant among floats")
    if node.storage == "int8":
        codes = (codes.astype(np.int16) + 128).astype(np.uint8)
    return last_value(node, e.graph.const(codes.reshape(shape_in(node.extents, "last")), node.title))
