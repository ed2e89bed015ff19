# SPDX-License-Identifier: BSD-3-Clause
"""Normalizations and softmax."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import Refused
from zeropoint.ir import Node
from zeropoint.layers import Layer, Name, Number, Options, ratio
from zeropoint.lower.context import Context, Val, lowers


def norm_options(epsilon: float, affine: bool, default_affine: bool = True) -> Options | None:
    """zp::norm of an epsilon in whole millionths; None where it has its defaults."""
    millionths = round(epsilon * 1e6)
    if abs(epsilon * 1e6 - millionths) > 1e-3:
        raise Refused("attribute", f"an epsilon of {epsilon}, which is no whole number of millionths")
    fields = (("epsilon_millionths", millionths), ("affine", affine))
    defaults = (("epsilon_millionths", 10), ("affine", default_affine))
    return None if fields == defaults else Options("zp::norm", fields, defaults)


@lowers("batch_norm")
def lower_batch_norm(context: Context, node: Node) -> None:
    """batch_norm2d, which fuses into what is in front of it; its second axis is the channels."""
    val = context.get(node.inputs[0])
    weight, bias, mean, variance = node.inputs[1:5]
    val = context.innermost(val, val.layout.axes[1])
    running_mean, running_var = context.data(mean, "a running mean"), context.data(variance, "a running variance")
    epsilon = float(node.attrs["epsilon"])
    millionths = round(epsilon * 1e6)
    if abs(epsilon * 1e6 - millionths) > 1e-3:  # the rest goes into the variance
        running_var = running_var.astype(np.float64) + epsilon - millionths * 1e-6
    options = norm_options(millionths * 1e-6, weight is not None)
    name = context.name_for(mean, ".running_mean")
    if weight is not None:
        context.tensor(name + ".weight", context.data(weight, "a weight"))
        context.tensor(name + ".bias", context.data(bias, "a bias"))
    context.tensor(name + ".running_mean", running_mean)
    context.tensor(name + ".running_var", running_var)
    args = (Name(name),) if options is None else (Name(name), options)
    producer = val.row.layer.template if val.row.layer is not None else ""
    is_fused = producer.startswith(("zp::conv", "zp::linear")) and fan_out(context, node) == 1
    template = "zp::batch_norm2d" if is_fused else "zp::unfused_batch_norm"
    if is_fused and producer in ("zp::linear", "zp::conv1d", "zp::conv_transpose1d"):
        template = "zp::batch_norm1d"
    context.put(node, Layer(template, args, "" if is_fused else "unfused_batch_norm.hpp"), [val.row],
                val.layout, name)


def fan_out(context: Context, node: Node) -> int:
    """How many nodes read the input of this one."""
    value = node.inputs[0]
    return len(context.graph.consumers(value)) + sum(out is value for out in context.graph.outputs)


@lowers("layer_norm")
def lower_layer_norm(context: Context, node: Node) -> None:
    """layer_norm over the last axes: the channels, or the whole image of N x C x H x W."""
    val = context.get(node.inputs[0])
    weight, bias = node.inputs[1], node.inputs[2]
    count = node.attrs["axes"]
    atoms = tuple(a for axis in val.layout.axes[-count:] for a in axis)
    is_image = count == 3 and val.layout.groups[2] + val.layout.groups[0] + val.layout.groups[1] == atoms and \
        len(val.layout.groups[2]) == 1
    if not is_image:
        val = context.innermost(val, atoms)
    fields: tuple = (*epsilon_fields(float(node.attrs["epsilon"])),
                     ("affine", weight is not None), ("bias", bias is not None or weight is None))
    defaults: tuple = (("epsilon_millionths", 10), ("epsilon_trillionths", 0), ("affine", True), ("bias", True))
    if is_image:
        from zeropoint.layers import Code
        fields = (("over", Code("zp::normalized::image")),) + fields
        defaults = (("over", None),) + defaults
    name = context.name_for(weight, bias=bias) if weight is not None else ""
    args: tuple = (Name(name),)
    if any(f[1] != d[1] for f, d in zip(fields, defaults)):
        args = (Name(name), Options("zp::layer_norm_options", fields, defaults))
    if weight is not None:
        shape = node.inputs[0].shape[-3:] if is_image else (-1,)
        context.tensor(name + ".weight", context.data(weight, "a weight").reshape(shape))
        if bias is not None:
            context.tensor(name + ".bias", context.data(bias, "a bias").reshape(shape))
    context.put(node, Layer("zp::layer_norm", args, "layer_norm.hpp"), [val.row], val.layout, name)


def with_whole_epsilon(context: Context, val: Val, epsilon: float) -> tuple[Val, float]:
    """A value and an epsilon of whole millionths that normalize to the same: s x and s^2 epsilon."""
    millionths = max(1, round(epsilon * 1e6))
    if abs(epsilon * 1e6 - millionths) <= 1e-3 or epsilon == 0:
        return val, epsilon
    scale = (millionths * 1e-6 / epsilon) ** 0.5
    row = context.row(Layer("zp::mul_scalar", (ratio(scale),)), [val.row], val.layout.shape)
    return Val(row, val.layout), millionths * 1e-6


@lowers("rms_norm")
def lower_rms_norm(context: Context, node: Node) -> None:
    """rms_norm over the last axis."""
    val = context.get(node.inputs[0])
    val = context.innermost(val, val.layout.axes[-1])
    weight = node.inputs[1] if len(node.inputs) > 1 else None
    fields: tuple = (*epsilon_fields(float(node.attrs["epsilon"])), ("affine", weight is not None))
    defaults: tuple = (("epsilon_millionths", 1), ("epsilon_trillionths", 0), ("affine", True))
    name = context.name_for(weight) if weight is not None else ""
    args: tuple = (Name(name),)
    if fields != defaults:
        args += (Options("zp::rms_norm_options", fields, defaults),)
    if weight is not None:
        context.tensor(name + ".weight", context.data(weight, "a weight").reshape(-1))
    context.put(node, Layer("zp::rms_norm", args, "rms_norm.hpp"), [val.row], val.layout, name)


def epsilon_fields(epsilon: float) -> tuple[tuple[str, int], tuple[str, int]]:
    """In whole trillionths: what float32 made of 1e-5 is 10 millionths."""
    trillionths = round(epsilon * 1e12)
    if abs(trillionths * 1e-12 - epsilon) > 1e-3 * epsilon:
        raise Refused("attribute", f"an epsilon of {epsilon}, which is no whole number of trillionths")
    millionths = round(trillionths * 1e-6)
    if abs(millionths * 1e-6 - epsilon) <= 1e-6 * epsilon:
        return ("epsilon_millionths", millionths), ("epsilon_trillionths", 0)
    return ("epsilon_millionths", trillionths // 10**6), ("epsilon_trillionths", trillionths % 10**6)


@lowers("group_norm")
def lower_group_norm(context: Context, node: Node) -> None:
    """group_norm and instance_norm: the second axis is the channels, all others are normalized together."""
    val = context.get(node.inputs[0])
    if val.layout.extents[0] != 1:
        raise Refused("batch", "the batch must be 1: a call takes one input")
    val = context.innermost(val, val.layout.axes[1])
    weight, bias = node.inputs[1], node.inputs[2]
    groups, channels = node.attrs["groups"], node.inputs[0].shape[1]
    is_instance = groups == channels
    val, epsilon = with_whole_epsilon(context, val, float(node.attrs["epsilon"]))
    options = norm_options(epsilon, weight is not None, not is_instance)
    name = context.name_for(weight, bias=bias) if weight is not None else ""
    args: list = [Name(name)] if is_instance else [Name(name), Number(groups, "Groups")]
    if options is not None:
        args.append(options)
    elif is_instance:
        args = []
    if weight is not None:
        context.tensor(name + ".weight", context.data(weight, "a weight").reshape(-1))
        context.tensor(name + ".bias", context.data(bias, "a bias").reshape(-1))
    context.put(node, Layer("zp::instance_norm" if is_instance else "zp::group_norm", tuple(args), "group_norm.hpp"),
                [val.row], val.layout, name)


@lowers("softmax", "log_softmax")
def lower_softmax(context: Context, node: Node) -> None:
    """Over one axis, which becomes the channels."""
    val = context.get(node.inputs[0])
    val = context.innermost(val, val.layout.axes[node.attrs["axis"]])
    context.put(node, Layer(f"zp::{node.op}", (), "softmax.hpp"), [val.row], val.layout)


@lowers("l2_normalize")
def lower_l2_normalize(context: Context, node: Node) -> None:
    """Vectors of length 1 along one axis, which becomes the channels."""
    val = context.get(node.inputs[0])
    val = context.innermost(val, val.layout.axes[node.attrs["axis"]])
    context.put(node, Layer("zp::l2_normalization", (), "l2_normalization.hpp"), [val.row], val.layout)
