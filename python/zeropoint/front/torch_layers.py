# SPDX-License-Identifier: BSD-3-Clause
"""aten operators with parameters and windows as those of the graph."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.einsum import convert_einsum
from zeropoint.front.torch_operators import Call, converts
from zeropoint.ir import Node, Value, constant


def listed(value: Any, count: int) -> list[int]:
    """One number an axis."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


@converts("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "convolution", "_convolution")
def convert_conv(call: Call) -> None:
    """Convolutions."""
    x, weight = call.x, call["weight"]
    count = len(weight.shape) - 2
    name = str(call.node.target)
    transposed = "transpose" in name or bool(call["transposed"])
    stride, dilation = listed(call["stride"], count), listed(call["dilation"], count)
    padding = call["padding"]
    if padding == "valid":
        padding = 0
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
        pads = [t // 2 for t in total], [t - t // 2 for t in total]
    else:
        pads = listed(padding, count), listed(padding, count)
    attrs: dict[str, Any] = dict(stride=stride, pads=pads, dilation=dilation, groups=call["groups"])
    inputs = [x, weight] if call["bias"] is None else [x, weight, call["bias"]]
    unbatched = len(x.shape) == count + 1
    if unbatched:
        raise NotSupported("a convolution without a batch axis", "batch")
    if transposed:
        call.give("conv_transpose", inputs, output_padding=listed(call["output_padding"], count), **attrs)
    else:
        call.give("conv", inputs, **attrs)


@converts("linear")
def convert_linear(call: Call) -> None:
    """A constant matrix."""
    weight, bias = call["weight"], call["bias"]
    if weight.data is None or bias is not None and bias.data is None:
        raise NotSupported("a computed weight", "computed_operand")
    call.give("linear", [call.x, weight] if bias is None else [call.x, weight, bias])


@converts("einsum")
def convert_einsums(call: Call) -> None:
    """Products of matrices and moves."""
    convert_einsum(call, call["equation"], call["tensors"])


@converts("addmm", "mm", "matmul", "bmm", "baddbmm")
def convert_products(call: Call) -> None:
    """By a constant a linear layer, else a product of two computed values."""
    name = str(call.node.target).removeprefix("aten.").split(".")[0]
    if name == "addmm":
        matrix, bias = call["mat2"], call["self"]
        if matrix.data is None or bias.data is None or call["alpha"] != 1 or call["beta"] != 1 or bias.data.ndim != 1:
            raise NotSupported("an addmm that is no linear layer")
        call.give("linear", [call["mat1"], constant(matrix.name, matrix.data.T), bias])
        return
    if name == "baddbmm":
        if call["alpha"] != 1 or call["beta"] != 1 or call["batch1"].data is not None or call["batch2"].data is not None:
            raise NotSupported("a baddbmm with factors or constants")
        product = call.make("matmul", [call["batch1"], call["batch2"]], call.shape)
        call.give("binary", [product, call["self"]], kind="add")
        return
    a, b = call.x, call["mat2"] if "mat2" in call.args else call["other"]
    if b.data is not None and b.data.ndim == 2:
        call.give("linear", [a, constant(b.name, b.data.T)])
    elif a.data is not None or b.data is not None:
        raise NotSupported("a product with a constant that is no matrix on the right", "computed_operand")
    else:
        call.give("matmul", [a, b])


@converts("scaled_dot_product_attention")
def convert_attention(call: Call) -> None:
    """softmax(q k^T * scale + mask) v."""
    q, k, v, mask = call["query"], call["key"], call["value"], call["attn_mask"]
    if call["enable_gqa"] and k.shape != v.shape:
        raise NotSupported("grouped queries")
    rank = len(q.shape)
    order = list(range(rank - 2)) + [rank - 1, rank - 2]
    scale = call["scale"] if call["scale"] is not None else 1.0 / sqrt(q.shape[-1])
    scaled = call.make("binary", [q, constant("", np.float32(scale))], q.shape, kind="mul")
    turned = call.make("permute", [k], tuple(k.shape[i] for i in order), order=order)
    shape = q.shape[:-1] + (k.shape[-2],)
    scores = call.make("matmul", [scaled, turned], shape)
    if call["is_causal"]:
        mask = constant(call.origin.name + ".mask", np.tril(np.ones(shape[-2:], bool)))
    if mask is not None and mask.data is not None and mask.data.dtype == bool:
        mask = constant(mask.name, np.where(mask.data, np.float32(0), np.float32(-np.inf)))
    elif mask is not None and mask.is_integer:
        mask = call.make("where", [mask, constant("", np.float32(0)), constant("", np.float32(-np.inf))], mask.shape)
    if mask is not None and not (mask.data is not None and not np.any(mask.data)):
        scores = call.make("binary", [scores, mask], shape, kind="add")
    shares = call.make("softmax", [scores], shape, axis=rank - 1)
    call.give("matmul", [shares, v])


@converts("_native_batch_norm_legit_no_training", "batch_norm", "native_batch_norm", "cudnn_batch_norm")
def convert_batch_norm(call: Call) -> None:
    """With the statistics of training."""
    if call["running_mean"] is None or call["training"]:
        raise NotSupported("a batch norm without statistics of training; call eval()")
    call.give("batch_norm", [call.x, call["weight"], call["bias"], call["running_mean"], call["running_var"]],
              epsilon=call["eps"])


@converts("instance_norm", "group_norm", "native_group_norm")
def convert_group_norm(call: Call) -> None:
    """Over groups of channels, or each."""
    if call["running_mean"] is not None and not call["use_input_stats"]:
        raise NotSupported("an instance norm with the statistics of training")
    groups = call["num_groups"] or call["group"] or call.x.shape[1]
    call.give("group_norm", [call.x, call["weight"], call["bias"]], groups=groups, epsilon=call["eps"])


@converts("layer_norm", "native_layer_norm")
def convert_layer_norm(call: Call) -> None:
    """Over the last axes."""
    call.give("layer_norm", [call.x, call["weight"], call["bias"]], axes=len(call["normalized_shape"]),
              epsilon=call["eps"])


@converts("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "max_pool2d_with_indices")
def convert_pool(call: Call) -> None:
    """Windows of the largest value or the mean."""
    name = str(call.node.target)
    count = len(call.x.shape) - 2
    kernel = listed(call["kernel_size"], count)
    stride = listed(call["stride"], count) if call["stride"] else kernel
    padding = listed(call["padding"] or 0, count)
    if call["divisor_override"]:
        raise NotSupported("a divisor of its own")
    include = call["count_include_pad"]
    call.give("pool", [call.x], kind="max" if "max" in name else "avg", kernel=kernel, stride=stride,
              pads=(padding, padding), dilation=listed(call["dilation"] or 1, count), ceil=bool(call["ceil_mode"]),
              count_include_pad=True if include is None else bool(include))


@converts("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d")
def convert_adaptive(call: Call) -> None:
    """To given extents."""
    call.give("adaptive_avg_pool", [call.x])


@converts("adaptive_max_pool1d", "adaptive_max_pool2d")
def convert_adaptive_max(call: Call) -> None:
    """To one value a channel."""
    if any(n != 1 for n in call.shape[2:]):
        raise NotSupported("an adaptive max pool to more than one value")
    call.give("reduce", [call.x], kind="max", axes=list(range(2, len(call.x.shape))), keepdim=True)


@converts("softmax", "_softmax", "log_softmax", "_log_softmax")
def convert_softmax(call: Call) -> None:
    """Over an axis."""
    op = "log_softmax" if "log" in str(call.node.target) else "softmax"
    call.give(op, [call.x], axis=call["dim"] % len(call.shape))


@converts("glu")
def convert_glu(call: Call) -> None:
    """The first half times the sigmoid of the second."""
    axis = call["dim"] % len(call.shape)
    half = call.shape[axis]
    first = call.make("slice", [call.x], call.shape, axis=axis, begin=0, end=half, step=1)
    second = call.make("slice", [call.x], call.shape, axis=axis, begin=half, end=2 * half, step=1)
    call.give("binary", [first, call.make("unary", [second], call.shape, kind="sigmoid")], kind="mul")


@converts("prelu", "_prelu_kernel")
def convert_prelu(call: Call) -> None:
    """Slopes of the state dict."""
    call.give("prelu", [call.x, call["weight"]])


@converts("embedding")
def convert_embedding(call: Call) -> None:
    """Rows of a table."""
    call.give("embedding", [call["weight"], call["indices"]])


@converts("pixel_shuffle", "pixel_unshuffle")
def convert_pixel_shuffle(call: Call) -> None:
    """Channels to pixels and back."""
    op = "pixel_unshuffle" if "unshuffle" in str(call.node.target) else "pixel_shuffle"
    factor = call["upscale_factor"] or call["downscale_factor"]
    call.give(op, [call.x], factor=factor)


@converts("channel_shuffle")
def convert_channel_shuffle(call: Call) -> None:
    """The channels as a matrix, transposed."""
    n, c, *rest = call.x.shape
    groups = call["groups"]
    apart = call.make("reshape", [call.x], (n, groups, c // groups, *rest))
    order = [0, 2, 1] + list(range(3, 3 + len(rest)))
    turned = call.make("permute", [apart], (n, c // groups, groups, *rest), order=order)
    call.give("reshape", [turned])


@converts("constant_pad_nd", "pad", "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d")
def convert_pad(call: Call) -> None:
    """Values around; the last axis comes first in `pad`."""
    name = str(call.node.target)
    rank = len(call.x.shape)
    pads = call["pad"] if "pad" in call.args else call["padding"]
    mode = call["mode"] or ("reflect" if "reflection" in name else "replicate" if "replication" in name else "constant")
    begin, end = [0] * rank, [0] * rank
    for number in range(len(pads) // 2):
        begin[rank - 1 - number], end[rank - 1 - number] = pads[2 * number], pads[2 * number + 1]
    call.give("pad", [call.x], begin=begin, end=end, mode=mode, value=float(call["value"] or 0.0))


@converts("upsample_nearest1d", "upsample_nearest2d", "upsample_bilinear2d", "upsample_linear1d",
          "_upsample_nearest_exact1d", "_upsample_nearest_exact2d")
def convert_upsample(call: Call) -> None:
    """Nearest and linear."""
    name = str(call.node.target)
    factors = call["scale_factors"]
    if factors is None and "scales_h" in call.args and call["scales_h"]:
        factors = [call["scales_h"], call["scales_w"]]
    if factors and any(abs(f * n - m) > 1e-6 for f, n, m in zip(factors, call.x.shape[2:], call.shape[2:])):
        raise NotSupported("a scale that does not give whole extents; pass size instead")
    mode = "nearest_exact" if "exact" in name else "nearest"
    if "linear" in name:
        mode = "bilinear_align_corners" if call["align_corners"] else "bilinear"
    call.give("resize", [call.x], mode=mode)


@converts("lstm", "gru", "rnn_tanh", "rnn_relu")
def convert_recurrent(call: Call) -> None:
    """States of zeros are left out."""
    name = str(call.node.target).removeprefix("aten.").split(".")[0]
    cell = name.split("_")[0]
    params, state = call["params"], call["hx"]
    states = [value if value.data is None or np.any(value.data) else None for value in (state if isinstance(state, list) else [state])]
    layers, both, has_bias = call["num_layers"], call["bidirectional"], call["has_biases"]
    directions = 2 if both else 1
    each = len(params) // (layers * directions)
    projects = each == (5 if has_bias else 3)
    names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if has_bias else []), *(["weight_hr"] if projects else [])]
    parameters = {}
    for number, value in enumerate(params):
        group = number // each
        suffix = "_reverse" if group % directions else ""
        parameters[f"{names[number % each]}_l{group // directions}{suffix}"] = value.data
    x = call.x
    outputs = [out or Value(call.origin.name, (1,)) for out in call.outputs]
    call.graph.nodes.append(Node("rnn", [x, *states], outputs, dict(
        cell=cell, hidden=params[0].shape[0] // {"lstm": 4, "gru": 3, "rnn": 1}[cell], layers=layers, bidirectional=both,
        steps=1 if call["batch_first"] and len(x.shape) == 3 else 0, parameters=parameters, first=params[0],
        projection=params[1].shape[1] if projects else 0, relu=name == "rnn_relu"), call.origin))


@converts("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def convert_cell(call: Call) -> None:
    """A recurrent layer of one step, which gives its new states alone."""
    name = str(call.node.target).removeprefix("aten.").split(".")[0]
    cell, x, state = name.split("_")[0], call["input"], call["hx"]
    if len(x.shape) != 2 or x.shape[0] != 1:
        raise NotSupported(f"a cell sees {'x'.join(map(str, x.shape))}, and 1 x features is what a call has: the batch must be 1", "batch")
    given = {f"{what}_l0": call[short] for what, short in (("weight_ih", "w_ih"), ("weight_hh", "w_hh"), ("bias_ih", "b_ih"), ("bias_hh", "b_hh"))}
    if any(value is not None and value.data is None for value in given.values()):
        raise NotSupported("a computed weight", "computed_operand")
    states = [value if value.data is None or np.any(value.data) else None for value in (state if isinstance(state, list) else [state])]
    h, *c = call.outputs
    first = given["weight_ih_l0"]
    call.graph.nodes.append(Node("rnn", [x, *states], [h, Value(f"{call.origin.name} state", h.shape), *c], dict(
        cell=cell, hidden=h.shape[-1], layers=1, bidirectional=False, steps=0, projection=0, relu=name == "rnn_relu_cell", is_cell=True,
        parameters={what: value.data for what, value in given.items() if value is not None},
        first=constant(f"{first.name.removesuffix('.weight_ih')}.weight_ih_l0", first.data)), call.origin))
