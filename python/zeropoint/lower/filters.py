# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions, linear layers, matrix products and pools."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import Refused
from zeropoint.ir import Node
from zeropoint.layers import Code, Layer, Name, Number, Options, conv_options, square
from zeropoint.layout import Layout
from zeropoint.lower.context import Context, Val, lowers, runs_of


def spatial(context: Context, node: Node) -> tuple[Val, int]:
    """The input of an operator with a window, N x C x H x W or N x C x L, and how many axes the window has."""
    val = context.get(node.inputs[0])
    rank = len(val.layout.extents)
    if rank not in (3, 4):
        raise Refused("axis", f"a window over a value of {rank} axes; layers take images (4) and sequences (3)")
    if val.layout.extents[0] != 1:
        raise Refused("batch", "the batch must be 1: a call takes one input")
    if rank == 4:
        return context.place(val, (2,), (3,), (1,)), 2
    return context.place(val, (), (2,), (1,)), 1


def image_layout(extents: tuple[int, ...]) -> Layout:
    """Of N x C x H x W or N x C x L, channels innermost."""
    if len(extents) == 4:
        return Layout.fresh(extents, (2,), (3,), (1,))
    return Layout.fresh(extents, (), (2,), (1,))


def pair(values: list[int] | tuple[int, ...], along: int, default: int) -> tuple[int, int]:
    """Height and width of an attribute that has one number an axis."""
    values = [int(v) for v in values]
    return (default, values[-1]) if along == 1 else (values[0], values[-1])


def extent_of(values: tuple[int, int], along: int) -> int | tuple[int, int]:
    """As options of 1-d layers have it: the width alone counts."""
    return values[1] if along == 1 else square(values)


def padded(context: Context, val: Val, node: Node, along: int, is_max: bool = False) -> tuple[Val, tuple[int, int]]:
    """The padding of a window, and where its sides differ, the value with a zp::pad in front."""
    begin, end = node.attrs["pads"]
    top, left = pair(begin, along, 0)
    bottom, right = pair(end, along, 0)
    if (top, left) == (bottom, right):
        return val, (top, left)
    if is_max:
        raise Refused("attribute", "a max pool whose sides are padded differently")
    sides = (left, right, top, bottom)
    height, width, channels = val.layout.shape
    row = context.row(Layer("zp::zero_pad2d", (Code(f"zp::sides{{{', '.join(map(str, sides))}}}"),), "pad.hpp"),
                      [val.row], (height + top + bottom, width + left + right, channels))
    return Val(row, val.layout), (0, 0)


def put_parameters(context: Context, name: str, weight: np.ndarray, bias: np.ndarray | None) -> None:
    """`name.weight` and `name.bias`."""
    context.tensor(name + ".weight", weight)
    if bias is not None:
        context.tensor(name + ".bias", bias)


@lowers("conv")
def lower_conv(context: Context, node: Node) -> None:
    """conv2d, conv1d."""
    val, along = spatial(context, node)
    weight = context.data(node.inputs[1], "the weight of a convolution")
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if weight.ndim != along + 2:
        raise Refused("axis", f"a weight of {weight.ndim} axes over an input of {along + 2}")
    groups, channels = node.attrs["groups"], node.inputs[0].shape[1]
    if weight.shape[1] * groups != channels:
        raise Refused("axis", f"a convolution of {weight.shape[1] * groups} channels over a value of {channels}")
    val, padding = padded(context, val, node, along)
    name = context.name_for(node.inputs[1], bias=bias)
    kernel = pair(weight.shape[2:], along, 1)
    is_depthwise = groups == channels and groups != 1
    out = -1 if is_depthwise and weight.shape[0] == channels else weight.shape[0]
    options = conv_options(out, extent_of(kernel, along), extent_of(pair(node.attrs["stride"], along, 1), along),
                           extent_of(padding, along), extent_of(pair(node.attrs["dilation"], along, 1), along),
                           Code("zp::depthwise") if is_depthwise else groups, bias is not None)
    put_parameters(context, name, weight, None if bias is None else context.data(bias, "a bias"))
    context.put(node, Layer("zp::conv2d" if along == 2 else "zp::conv1d", (Name(name), options)), [val.row],
                image_layout(node.outputs[0].shape), name)


@lowers("conv_transpose")
def lower_conv_transpose(context: Context, node: Node) -> None:
    """conv_transpose2d, conv_transpose1d."""
    val, along = spatial(context, node)
    weight = context.data(node.inputs[1], "the weight of a convolution")
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    begin, end = node.attrs["pads"]
    if list(begin) != list(end):
        raise Refused("attribute", "a transposed convolution whose sides are padded differently")
    groups = node.attrs["groups"]
    name = context.name_for(node.inputs[1])
    options = conv_options(weight.shape[1] * groups, extent_of(pair(weight.shape[2:], along, 1), along),
                           extent_of(pair(node.attrs["stride"], along, 1), along),
                           extent_of(pair(begin, along, 0), along),
                           extent_of(pair(node.attrs["dilation"], along, 1), along), groups, bias is not None,
                           extent_of(pair(node.attrs["output_padding"], along, 0), along))
    put_parameters(context, name, weight, None if bias is None else context.data(bias, "a bias"))
    template = "zp::conv_transpose2d" if along == 2 else "zp::conv_transpose1d"
    context.put(node, Layer(template, (Name(name), options)), [val.row], image_layout(node.outputs[0].shape), name)


@lowers("linear")
def lower_linear(context: Context, node: Node) -> None:
    """linear over the last axis; a 1x1 conv2d over an image that is channels-last in the source."""
    val = context.get(node.inputs[0])
    weight = context.data(node.inputs[1], "the weight of a linear layer")
    bias_value = node.inputs[2] if len(node.inputs) > 2 else None
    bias = None if bias_value is None else context.data(bias_value, "a bias")
    name = context.linear_name(node.inputs[1], bias_value)
    out = node.outputs[0].shape
    layout = val.layout
    last = layout.axes[-1]
    if val.flat and len(last) == len(layout.memory) and \
            last == layout.groups[2] + layout.groups[0] + layout.groups[1]:
        row = context.row(Layer("zp::flatten"), [val.row], (1, 1, layout.size(last)))
        return finish_linear(context, node, Val(row, layout.with_groups((), (), last)), name, weight, bias)
    val = windows_in_order(context, context.innermost(val, last))
    if node.attrs.get("of_rows") and val.layout.groups[0]:  # a fully connected layer stays one
        val = context.arrange(val, (), val.layout.groups[0] + val.layout.groups[1], last)
    if val.layout.groups[0]:
        options = conv_options(weight.shape[0], 1, 1, 0, 1, 1, bias is not None)
        put_parameters(context, name, weight[:, :, None, None], bias)
        height, width = val.layout.groups[:2]
        made = outputs_of(val.layout, out, height, width)
        context.put(node, Layer("zp::conv2d", (Name(name), options)), [val.row], made, name)
        return None
    return finish_linear(context, node, val, name, weight, bias)


def windows_in_order(context: Context, val: Val) -> Val:
    """Of a value whose windows the source has one behind the other: moved here, once, as what comes will want them so."""
    axes, outer = val.layout.axes, val.layout.groups[0] + val.layout.groups[1]
    if len(axes) < 3 or len(runs_of(outer, tuple(a for a in val.layout.source if a in outer))) < 4:
        return val
    return context.arrange(val, tuple(a for axis in axes[:-2] for a in axis), axes[-2], axes[-1])


def outputs_of(before: Layout, extents: tuple[int, ...], height: tuple[int, ...], width: tuple[int, ...]) -> Layout:
    """Of a value whose last axis is another one than that of `before`."""
    last = Layout.fresh((extents[-1],), channels=(0,))
    sizes = {a: n for a, n in before.sizes.items() if a not in before.axes[-1]} | last.sizes
    return Layout(before.axes[:-1] + last.axes, (height, width, last.groups[2]), sizes)


def finish_linear(context: Context, node: Node, val: Val, name: str, weight: np.ndarray,
                  bias: np.ndarray | None) -> None:
    """The row of a linear layer over a vector or a sequence."""
    put_parameters(context, name, weight, bias)
    args = [Name(name), Number(weight.shape[0], "Outputs")]
    if bias is None:
        args.append(Code("zp::with_bias::no"))
    layout = outputs_of(val.layout, node.outputs[0].shape, (), val.layout.groups[1])
    context.put(node, Layer("zp::linear", tuple(args)), [val.row], layout, name)


@lowers("matmul")
def lower_matmul(context: Context, node: Node) -> None:
    """A product of two computed values: a matrix for each of the outer axes, which become the height."""
    a, b = context.get(node.inputs[0]), context.get(node.inputs[1])
    rank = len(node.outputs[0].shape)
    if len(a.layout.extents) != rank or len(b.layout.extents) != rank or rank < 2:
        raise Refused("axis", "a product of values with unlike numbers of axes")
    outer = tuple(range(rank - 2))
    extents_a, extents_b = a.layout.extents[:-2], b.layout.extents[:-2]
    if extents_a != extents_b and any(n != 1 for n in extents_b):
        raise Refused("broadcast", "a product that repeats its first operand")
    a = context.place(a, outer, (rank - 2,), (rank - 1,))
    axes = b.layout.axes
    depth_innermost = len(axes[-2]) > 0 and b.layout.memory[-len(axes[-2]):] == axes[-2]
    if depth_innermost:
        b = context.place(b, outer, (rank - 1,), (rank - 2,))
    else:
        b = context.place(b, outer, (rank - 2,), (rank - 1,))
    kind = "zp::matmul_transposed" if depth_innermost else "zp::matmul"
    columns = Layout.fresh((node.outputs[0].shape[-1],), channels=(0,))
    kept = a.layout.groups[0] + a.layout.groups[1]
    layout = Layout(a.layout.axes[:-1] + columns.axes, (a.layout.groups[0], a.layout.groups[1], columns.groups[2]),
                    {x: a.layout.sizes[x] for x in kept} | columns.sizes)
    context.put(node, Layer(kind, (), "matmul.hpp"), [a.row, b.row], layout)


def put_mean(context: Context, node: Node, val: Val, along: int) -> None:
    """The mean of a whole image or sequence, whose codes have a grid of their own: the means of many values lie near each other."""
    args = () if along == 2 else (Code("zp::axes::width"),)
    context.put(node, Layer("zp::mean", args, "sum.hpp"), [val.row], image_layout(node.outputs[0].shape))


def is_whole_image(node: Node, extents: tuple[int, ...]) -> bool:
    """Whether an average pool's one window is the image. That of a sequence stays a pool, which zp::streaming takes."""
    attrs = node.attrs
    return attrs["kind"] == "avg" and len(extents) == 4 and extents[2] > 1 and tuple(attrs["kernel"]) == tuple(extents[2:]) and \
        not any(map(any, attrs["pads"])) and all(n == 1 for n in node.outputs[0].shape[2:])


@lowers("pool")
def lower_pool(context: Context, node: Node) -> None:
    """max_pool2d, avg_pool2d and their 1-d forms."""
    val, along = spatial(context, node)
    if not context.graph.is_coded and is_whole_image(node, val.layout.extents):
        put_mean(context, node, val, along)
        return
    attrs = node.attrs
    is_max = attrs["kind"] == "max"
    begin, end = (tuple(pads) for pads in attrs["pads"])
    if not is_max and begin != end and not attrs["count_include_pad"]:
        raise Refused("attribute", "an average pool whose sides are padded differently and not counted")
    if not is_max and any(d != 1 for d in attrs["dilation"]):
        raise Refused("attribute", "an average pool with a dilation")
    if not is_max and attrs["ceil"] and any(begin + end):
        raise Refused("attribute", "an average pool of padded values whose extents are rounded up")
    val, padding = padded(context, val, node, along, is_max)
    kernel, stride = pair(attrs["kernel"], along, 1), pair(attrs["stride"], along, 1)
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise Refused("attribute", f"a padding of {padding}, more than half of the kernel {kernel}")
    fields = [("kernel", extent_of(kernel, along)), ("stride", extent_of(stride, along)),
              ("padding", extent_of(padding, along)),
              ("dilation", extent_of(pair(attrs["dilation"], along, 1), along)), ("ceil_mode", bool(attrs["ceil"]))]
    defaults = [("kernel", None), ("stride", extent_of(kernel, along)), ("padding", 0), ("dilation", 1),
                ("ceil_mode", False)]
    if not is_max:
        counts = bool(attrs["count_include_pad"]) or padding == (0, 0) and not attrs["ceil"]
        fields.append(("count_include_pad", counts))
        defaults.append(("count_include_pad", True))
    options: Options | Number = Options("zp::pool", tuple(fields), tuple(defaults))
    if all(value == default for (_, value), (_, default) in zip(fields[1:], defaults[1:])) and \
            isinstance(fields[0][1], int):
        options = Number(fields[0][1], "Kernel")
    template = f"zp::{attrs['kind']}_pool{along}d"
    context.put(node, Layer(template, (options,)), [val.row], image_layout(node.outputs[0].shape))


@lowers("adaptive_avg_pool")
def lower_adaptive_avg_pool(context: Context, node: Node) -> None:
    """adaptive_avg_pool2d, adaptive_avg_pool1d."""
    val, along = spatial(context, node)
    out = node.outputs[0].shape
    if not context.graph.is_coded and all(n == 1 for n in out[2:]):
        put_mean(context, node, val, along)
        return
    size = [out[-1]] if along == 1 or out[-1] == out[-2] else [out[-2], out[-1]]
    template = f"zp::adaptive_avg_pool{along}d"
    context.put(node, Layer(template, tuple(Number(n, "Size") for n in size)), [val.row], image_layout(out))
