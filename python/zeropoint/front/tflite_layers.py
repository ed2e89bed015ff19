# SPDX-License-Identifier: BSD-3-Clause
"""Operators of TensorFlow Lite with parameters, windows and axes as those of the graph."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.tflite_operators import Call, converts, reordered
from zeropoint.front.windows import pool
from zeropoint.ir import Value


def window_pads(call: Call, extents: tuple[int, ...], kernel: list[int], stride: list[int], dilation: list[int]) -> \
        tuple[list[int], list[int]]:
    """In front of and behind each axis, as SAME and VALID have them."""
    if call.option("padding") == call.reader.schema.Padding.VALID:
        return [0, 0], [0, 0]
    total = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
             for n, k, s, d in zip(extents, kernel, stride, dilation)]
    return [t // 2 for t in total], [t - t // 2 for t in total]


def check_weight(call: Call) -> None:
    """Integer weights with activations of floats are another arithmetic."""
    x, weight = call.x(0), call.x(1)
    if weight.data is not None and weight.coding is not None and x.coding is None:
        raise NotSupported("weights are integers and activations floats (dynamic-range quantization); import the float "
                           "model, or with --dequantize the real numbers of these, and convert it with zp::quantize_dynamic", "value")


@converts("CONV_2D", "DEPTHWISE_CONV_2D")
def convert_conv(call: Call) -> None:
    """Weights are O H W I, of depthwise ones 1 H W O."""
    check_weight(call)
    x, weight = call.x(), call.known(1, "the weight of a convolution")
    depthwise = call.kind.startswith("D")
    channels = x.shape[3]
    order = (3, 0, 1, 2) if depthwise else (0, 3, 1, 2)
    groups = channels if depthwise else channels // weight.shape[3]
    stride = [call.option("strideH", 1), call.option("strideW", 1)]
    dilation = [call.option("dilationHFactor", 1), call.option("dilationWFactor", 1)]
    pads = window_pads(call, x.shape[1:3], list(weight.shape[1:3]), stride, dilation)
    inputs = [call.image(x), reordered(call, call.x(1), weight.transpose(order))]
    if len(call.inputs) > 2 and call.inputs[2] is not None:
        inputs.append(call.inputs[2])
    call.give("conv", inputs, is_image=True, pads=pads, stride=stride, dilation=dilation, groups=groups)


@converts("TRANSPOSE_CONV")
def convert_conv_transpose(call: Call) -> None:
    """Inputs: the extents of the output, the weight (O H W I), x, perhaps a bias."""
    x, weight = call.x(2), call.known(1, "the weight of a convolution")
    extents = call.reader.extents(call.outputs[0])
    stride = [call.option("strideH", 1), call.option("strideW", 1)]
    kernel = list(weight.shape[1:3])
    total = [(n - 1) * s + k - m for n, s, k, m in zip(x.shape[1:3], stride, kernel, extents[1:3])]
    begin = [max(t, 0) // 2 if call.option("padding") == call.reader.schema.Padding.SAME else 0 for t in total]
    rest = [b * 2 - t for b, t in zip(begin, total)]  # what the output has more than both paddings leave
    if any(r < 0 or r >= s for r, s in zip(rest, stride)):
        raise NotSupported("a transposed convolution whose sides are padded differently")
    inputs = [call.image(x), reordered(call, call.x(1), weight.transpose(3, 0, 1, 2))]
    if len(call.inputs) > 3 and call.inputs[3] is not None:
        inputs.append(call.inputs[3])
    call.give("conv_transpose", inputs, is_image=True, pads=(begin, begin), stride=stride, dilation=[1, 1], groups=1,
              output_padding=rest)


@converts("FULLY_CONNECTED")
def convert_linear(call: Call) -> None:
    """Over the last axis, all others as rows."""
    check_weight(call)
    x, weight = call.x(), call.known(1, "the weight of a fully connected layer")
    if call.option("weightsFormat"):
        raise NotSupported("weights in another order")
    depth = weight.shape[1]
    rows = int(np.prod(x.shape)) // depth
    if x.shape != (rows, depth):
        coding, x = x.coding, call.make("reshape", [x], (rows, depth))
        x.coding = coding
    inputs: list[Value | None] = [x, call.x(1)]
    if len(call.inputs) > 2 and call.inputs[2] is not None:
        inputs.append(call.inputs[2])
    extents = call.reader.extents(call.outputs[0])
    shape = (rows, weight.shape[0])
    call.give("linear", inputs, shape=shape if shape != extents else None, of_rows=True)


@converts("AVERAGE_POOL_2D", "MAX_POOL_2D")
def convert_pool(call: Call) -> None:
    """Windows; padding never counts."""
    x = call.x()
    kernel = [call.option("filterHeight", 1), call.option("filterWidth", 1)]
    stride = [call.option("strideH", 1), call.option("strideW", 1)]
    pads = window_pads(call, x.shape[1:3], kernel, stride, [1, 1])
    n, h, w, c = call.reader.extents(call.outputs[0])
    pool(call, call.image(x), (n, c, h, w), dict(kind="max" if call.kind.startswith("M") else "avg", kernel=kernel, stride=stride,
         pads=pads, dilation=[1, 1], ceil=False, count_include_pad=False), is_image=True)


REDUCTIONS = {"MEAN": "mean", "SUM": "sum", "REDUCE_MAX": "max", "REDUCE_MIN": "min", "REDUCE_PROD": "prod"}


@converts(*REDUCTIONS)
def convert_reduction(call: Call) -> None:
    """Along axes."""
    x = call.x()
    axes = sorted({int(a) % len(x.shape) for a in call.known(1, "the axes").reshape(-1)})
    call.give("reduce", [x], kind=REDUCTIONS[call.kind], axes=axes, keepdim=bool(call.option("keepDims")))


@converts("SOFTMAX", "LOG_SOFTMAX")
def convert_softmax(call: Call) -> None:
    """Over the last axis."""
    if call.kind == "SOFTMAX" and call.option("beta", 1.0) != 1.0:
        raise NotSupported("a softmax whose beta is not 1")
    call.give(call.kind.lower(), [call.x()], axis=len(call.x().shape) - 1)


@converts("PRELU")
def convert_prelu(call: Call) -> None:
    """A slope a channel."""
    slopes = call.known(1, "the slopes")
    if slopes.size not in (1, slopes.shape[-1]):
        raise NotSupported("slopes that are not one a channel", "axis")
    call.give("prelu", [call.image(call.x()), reordered(call, call.x(1), slopes.reshape(-1))], is_image=True)


@converts("BATCH_MATMUL")
def convert_matmul(call: Call) -> None:
    """Of two computed values."""
    a, b = call.x(0), call.x(1)
    if a.data is not None or b.data is not None:
        raise NotSupported("a product with a constant", "computed_operand")

    def turned(value: Value, adjoint: bool) -> Value:
        if not adjoint:
            return value
        order = [*range(len(value.shape) - 2), len(value.shape) - 1, len(value.shape) - 2]
        return call.make("permute", [value], tuple(value.shape[i] for i in order), order=order)

    call.give("matmul", [turned(a, call.option("adjX", False)), turned(b, call.option("adjY", False))])


@converts("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def convert_resize(call: Call) -> None:
    """To constant extents."""
    align, half = call.option("alignCorners", False), call.option("halfPixelCenters", False)
    if call.kind == "RESIZE_BILINEAR":
        mode = "bilinear_align_corners" if align else "bilinear" if half else "bilinear_corner"
    elif align or half:
        raise NotSupported("nearest with aligned corners or half pixels")
    else:
        mode = "nearest"
    call.give("resize", [call.image(call.x())], is_image=True, mode=mode)


@converts("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def convert_depth(call: Call) -> None:
    """Channels to pixels and back."""
    call.give(call.kind.lower(), [call.image(call.x())], is_image=True, factor=int(call.option("blockSize")))
