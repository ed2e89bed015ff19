# SPDX-License-Identifier: BSD-3-Clause
"""ONNX operators with parameters and windows as those of the graph."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.einsum import convert_einsum
from zeropoint.front.onnx_operators import Call, bound, converts
from zeropoint.front.windows import pool
from zeropoint.ir import constant


def pads_of(call: Call, extents: list[int], kernel: list[int], stride: list[int], dilation: list[int]) -> \
        tuple[list[int], list[int]]:
    """In front of and behind each axis of a window."""
    count, mode = len(kernel), call.attrs.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = list(call.attrs.get("pads", [0] * 2 * count))
        return pads[:count], pads[count:]
    if mode == "VALID":
        return [0] * count, [0] * count
    begin, end = [], []
    for n, k, s, d in zip(extents, kernel, stride, dilation):
        total = max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
        small, large = total // 2, total - total // 2
        begin.append(small if mode == "SAME_UPPER" else large)
        end.append(large if mode == "SAME_UPPER" else small)
    return begin, end


@converts("Conv", "ConvTranspose")
def convert_conv(call: Call) -> None:
    """Convolutions."""
    x, weight = call.inputs[:2]
    call.known(1)
    count = len(x.shape) - 2
    attrs = call.attrs
    kernel = list(attrs.get("kernel_shape", weight.shape[2:]))
    stride, dilation = list(attrs.get("strides", [1] * count)), list(attrs.get("dilations", [1] * count))
    common = dict(stride=stride, dilation=dilation, groups=attrs.get("group", 1))
    if call.node.op_type == "Conv":
        pads = pads_of(call, list(x.shape[2:]), kernel, stride, dilation)
        call.give("conv", call.inputs, pads=pads, **common)
        return
    begin, end = pads_of_transposed(call, list(x.shape[2:]), kernel, stride, dilation)
    common["output_padding"] = list(attrs.get("output_padding", [0] * count))
    both = [min(pads) for pads in zip(begin, end)]
    if begin == end:
        call.give("conv_transpose", call.inputs, pads=(begin, end), **common)
        return
    extents = list(call.outputs[0].shape)  # what one side has more of is cut off
    larger = extents[:2] + [n + b + e - 2 * p for n, b, e, p in zip(extents[2:], begin, end, both)]
    current = call.make("conv_transpose", call.inputs, tuple(larger), pads=(both, both), **common)
    for axis, (first, pad) in enumerate(zip(begin, both), 2):
        if larger[axis] != extents[axis]:
            larger[axis] = extents[axis]
            current = call.make("slice", [current], tuple(larger), axis=axis, begin=first - pad, step=1,
                                end=first - pad + extents[axis])
    call.give("identity", [current])


def pads_of_transposed(call: Call, extents: list[int], kernel: list[int], stride: list[int], dilation: list[int]) -> \
        tuple[list[int], list[int]]:
    """The same of a transposed convolution, which may say how large its output is."""
    attrs, count = call.attrs, len(kernel)
    mode, wanted = attrs.get("auto_pad", "NOTSET"), attrs.get("output_shape")
    if mode in ("NOTSET", "", "VALID") and not wanted:
        return pads_of(call, extents, kernel, stride, dilation)
    outputs = list(wanted)[-count:] if wanted else [n * s for n, s in zip(extents, stride)]
    padding = attrs.get("output_padding", [0] * count)
    totals = [s * (n - 1) + p + (k - 1) * d + 1 - out
              for n, k, s, d, p, out in zip(extents, kernel, stride, dilation, padding, outputs)]
    if min(totals) < 0:
        raise NotSupported("a transposed convolution whose output is larger than its filters reach")
    small, large = [n // 2 for n in totals], [n - n // 2 for n in totals]
    return (small, large) if mode == "SAME_UPPER" else (large, small)


@converts("MaxPool", "AveragePool", "LpPool")
def convert_pool(call: Call) -> None:
    """Windows of the largest value or the mean."""
    op, x, attrs = call.node.op_type, call.inputs[0], call.attrs
    if op == "LpPool" or len(call.node.output) > 1 and call.node.output[1]:
        raise NotSupported("indices of a max pool" if op == "MaxPool" else "a pool of powers")
    count = len(x.shape) - 2
    kernel = list(attrs["kernel_shape"])
    stride, dilation = list(attrs.get("strides", [1] * count)), list(attrs.get("dilations", [1] * count))
    pads = pads_of(call, list(x.shape[2:]), kernel, stride, dilation)
    pool(call, x, call.outputs[0].shape,
         dict(kind="max" if op == "MaxPool" else "avg", kernel=kernel, stride=stride, pads=pads, dilation=dilation,
              ceil=bool(attrs.get("ceil_mode", 0)), count_include_pad=op == "AveragePool" and bool(attrs.get("count_include_pad", 0))))


@converts("GlobalAveragePool", "GlobalMaxPool")
def convert_global_pool(call: Call) -> None:
    """Over the whole image."""
    x = call.inputs[0]
    if call.node.op_type == "GlobalAveragePool" and len(x.shape) in (3, 4):
        call.give("adaptive_avg_pool", [x])
    else:
        kind = "mean" if call.node.op_type == "GlobalAveragePool" else "max"
        call.give("reduce", [x], kind=kind, axes=list(range(2, len(x.shape))), keepdim=True)


@converts("BatchNormalization")
def convert_batch_norm(call: Call) -> None:
    """With the statistics of training."""
    if call.attrs.get("training_mode", 0):
        raise NotSupported("a batch norm in training")
    call.give("batch_norm", call.inputs[:5], epsilon=call.attrs.get("epsilon", 1e-5))


@converts("InstanceNormalization", "GroupNormalization")
def convert_group_norm(call: Call) -> None:
    """Over groups of channels, or each."""
    x = call.inputs[0]
    groups = call.attrs.get("num_groups", x.shape[1])
    weight, bias = call.known(1), call.known(2)
    if len(weight) != x.shape[1]:  # opset 18 has one a group
        weight, bias = (np.repeat(v, x.shape[1] // groups) for v in (weight, bias))
    parameters = [constant(call.inputs[1].name, weight), constant(call.inputs[2].name, bias)]
    call.give("group_norm", [x, *parameters], groups=groups, epsilon=call.attrs.get("epsilon", 1e-5))


@converts("LayerNormalization")
def convert_layer_norm(call: Call) -> None:
    """Over the last axes."""
    x = call.inputs[0]
    axis = call.attrs.get("axis", -1) % len(x.shape)
    call.give("layer_norm", [x, call.inputs[1], call.input(2)], axes=len(x.shape) - axis,
              epsilon=call.attrs.get("epsilon", 1e-5))


@converts("Softmax", "LogSoftmax")
def convert_softmax(call: Call) -> None:
    """Over an axis; before opset 13 over all from an axis on."""
    x, rank = call.inputs[0], len(call.inputs[0].shape)
    axis = call.attrs.get("axis", -1 if call.opset >= 13 else 1) % rank
    op = "softmax" if call.node.op_type == "Softmax" else "log_softmax"
    if call.opset < 13 and axis != rank - 1:
        flat = (int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:])))
        together = call.make("reshape", [x], flat)
        call.give("reshape", [call.make(op, [together], flat, axis=1)])
        return
    call.give(op, [x], axis=axis)


@converts("Gemm")
def convert_gemm(call: Call) -> None:
    """A linear layer: the weight is constant, transposed on writing where it is not outputs x inputs."""
    x, weight, bias = call.inputs[0], call.inputs[1], call.input(2)
    matrix = call.known(1)
    if call.attrs.get("transA", 0):
        x = call.make("permute", [x], x.shape[::-1], order=[1, 0])
    if not call.attrs.get("transB", 0):
        matrix = matrix.T
    alpha, beta = call.attrs.get("alpha", 1.0), call.attrs.get("beta", 1.0)
    weight = constant(weight.name, matrix * np.float32(alpha) if alpha != 1.0 else matrix)
    if bias is None:
        call.give("linear", [x, weight])
        return
    added = call.known(2)
    if added.size == matrix.shape[0] or added.size == 1:
        added = np.broadcast_to(added.reshape(-1), (matrix.shape[0],)) * np.float32(beta)
        call.give("linear", [x, weight, constant(bias.name, added)])
    else:
        raise NotSupported("a Gemm that adds more than a bias")


@converts("MatMul")
def convert_matmul(call: Call) -> None:
    """By a constant matrix a linear layer, else a product of two computed values."""
    a, b = call.inputs
    if b.data is not None and b.data.ndim == 2:
        weight = constant(b.name, b.data.T)
        call.give("linear", [a, weight])  # passes.join_bias takes an Add behind it
    elif a.data is not None or b.data is not None:
        raise NotSupported("a product with a constant that is no matrix on the right")
    else:
        call.give("matmul", [a, b])


@converts("Einsum")
def convert_einsums(call: Call) -> None:
    """Products of matrices and moves."""
    equation = call.attrs["equation"]
    convert_einsum(call, equation.decode() if isinstance(equation, bytes) else equation, call.inputs)


@converts("Pad")
def convert_pad(call: Call) -> None:
    """Values around."""
    x, mode = call.inputs[0], call.attrs.get("mode", "constant")
    pads = [int(n) for n in np.asarray(call.known(1, "pads")).reshape(-1)]
    value = call.known(2, "value", 0.0)
    rank = len(x.shape)
    axes = call.known(3)
    begin, end = [0] * rank, [0] * rank
    for number, axis in enumerate(range(rank) if axes is None else [int(a) % rank for a in axes]):
        begin[axis], end[axis] = pads[number], pads[number + len(pads) // 2]
    names = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    call.give("pad", [x], begin=begin, end=end, mode=names[mode], value=bound(value) or 0.0)


@converts("DepthToSpace", "SpaceToDepth")
def convert_depth(call: Call) -> None:
    """Channels to pixels and back."""
    factor = call.attrs["blocksize"]
    if call.node.op_type == "SpaceToDepth":
        op = "pixel_unshuffle" if call.attrs.get("mode", "DCR") == "CRD" else "space_to_depth"
        call.give(op, [call.inputs[0]], factor=factor)
    else:
        op = "pixel_shuffle" if call.attrs.get("mode", "DCR") == "CRD" else "depth_to_space"
        call.give(op, [call.inputs[0]], factor=factor)


@converts("Resize", "Upsample")
def convert_resize(call: Call) -> None:
    """Nearest and linear, in PyTorch's modes."""
    x, attrs = call.inputs[0], call.attrs
    kind = attrs.get("mode", "nearest")
    place = attrs.get("coordinate_transformation_mode", "half_pixel" if call.opset >= 11 else "asymmetric")
    out = call.outputs[0].shape
    if out[:2] != x.shape[:2]:
        raise NotSupported("a resize of the batch or the channels")
    if attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotSupported(f"a resize that keeps the aspect ratio ({attrs['keep_aspect_ratio_policy']})")
    number = 2 if call.node.op_type == "Resize" and call.opset >= 11 else 1
    given = call.known(number, "scales")
    scales = [np.float32(m) / np.float32(n) for n, m in zip(x.shape, out)]
    if given is not None and np.size(given):
        axes = attrs.get("axes", range(len(x.shape)))
        for axis, scale in zip(axes, np.asarray(given).reshape(-1)):
            scales[axis] = np.float32(scale)
    is_whole = not any(abs(float(s) * n - m) > 1e-3 for s, n, m in zip(scales, x.shape, out))
    if not is_whole and kind != "nearest":
        raise NotSupported("scales that do not give whole extents")
    grows = all(m >= n for n, m in zip(x.shape, out))
    modes = {("linear", "half_pixel"): "bilinear", ("linear", "align_corners"): "bilinear_align_corners",
             ("linear", "asymmetric"): "bilinear_corner", ("linear", "pytorch_half_pixel"): "bilinear"}
    if kind == "nearest":
        rounding = attrs.get("nearest_mode", "round_prefer_floor" if call.opset >= 11 else "floor")
        whole = all(m % n == 0 for n, m in zip(x.shape, out))
        if place == "asymmetric" and rounding == "floor" and is_whole:
            mode = "nearest"
        elif place == "half_pixel" and rounding.startswith("round_prefer") and whole and grows:
            mode = "nearest"  # of a whole factor all of these choose alike
        else:
            pick_nearest(call, scales, place, rounding)
            return
    else:
        if attrs.get("antialias", 0) or (kind, place) not in modes:
            raise NotSupported(f"a {kind} resize by {place}")
        if place == "pytorch_half_pixel" and 1 in out[2:] and len(out) == 4:
            raise NotSupported("pytorch_half_pixel to an extent of 1")
        mode = modes[(kind, place)]
    call.give("resize", [x], mode=mode)


HALF = np.float32(0.5)
PLACES = {  # coordinate_transformation_mode: from an index of the output, in floats of 32 bits
    "half_pixel": lambda i, scale, before, after: (i + HALF) / scale - HALF,
    "pytorch_half_pixel": lambda i, scale, before, after: (i + HALF) / scale - HALF if after > 1 else i * 0,
    "asymmetric": lambda i, scale, before, after: i / scale,
    "align_corners": lambda i, scale, before, after: i * (before - 1) / (after - 1) if after > 1 else i * 0,
    "tf_half_pixel_for_nn": lambda i, scale, before, after: (i + HALF) / scale,
}
MOST_PICKED = 128  # indices in a header


def pick_nearest(call: Call, scales: list[np.float32], place: str, rounding: str) -> None:
    """Of other modes than PyTorch's: the rows and columns that ONNX Runtime takes, one by one."""
    current, out = call.inputs[0], call.outputs[0].shape
    axes = [i for i in range(2, len(out)) if scales[i] != 1 or out[i] != current.shape[i]]
    if place not in PLACES or sum(out[i] for i in axes) > MOST_PICKED:
        raise NotSupported(f"nearest by {place} and {rounding}")
    for axis in axes:
        before, after = current.shape[axis], out[axis]
        at = PLACES[place](np.arange(after, dtype=np.float32), scales[axis], np.float32(before), np.float32(after))
        down = np.floor(at)
        nearest = np.floor(at + HALF)
        taken = {"floor": down, "ceil": np.ceil(at), "round_prefer_floor": np.where(at == down + HALF, down, nearest),
                 "round_prefer_ceil": nearest}[rounding]
        shape = current.shape[:axis] + (after,) + current.shape[axis + 1:]
        current = call.make("gather", [current], shape, axis=axis, indices=[int(i) for i in np.clip(taken, 0, before - 1)])
    call.give("identity", [current])
