# SPDX-License-Identifier: BSD-3-Clause
"""Rows as ONNX's float operators: between quantize and dequantize nodes, or by themselves. What only moves is integer_movement's."""

from __future__ import annotations

from typing import Any

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.emitter import INTEGER, Emission, Emitter
from zeropoint.export.formulas import F32
from zeropoint.export.graph import Value, shape_in
from zeropoint.export.int8_model import Node
from zeropoint.export.integer_attention import affine
from zeropoint.export.integer_elementwise import operands
from zeropoint.export.integer_filters import pads_of, window_of
from zeropoint.export.integer_movement import CHANNELS, HEIGHT, WIDTH, axis_in, last_value, reshaped
from zeropoint.export.integer_reductions import axes_last, folded, nearest_places

MOVES = ("flatten", "reshape", "permute", "flip", "roll", "tile", "expand", "slice", "chunk", "gather", "channel_shuffle",
         "pixel_shuffle", "depth_to_space", "pixel_unshuffle", "space_to_depth", "split_heads", "merge_heads", "rearrange",
         "window_partition", "patches", "window_reverse", "identity", "dropout")
FLOAT: dict[str, Emission] = {kind: INTEGER[kind] for kind in MOVES}


class FloatEmitter(Emitter):
    """What stands around float operators: how weights and codes become floats, what is rounded to codes between them."""

    takes_floats = True
    drops_idle_clamps = False  # where a value ends at its range's codes anyway
    scales_weights = False     # by a scale an output channel

    def weights(self, node: Node, codes: np.ndarray, axis: int) -> tuple[str, list[str]]:
        """Filters, whose outputs lie along an axis, and the bias where there is one."""
        raise NotImplementedError

    def float_weights(self, node: Node, filters: np.ndarray) -> tuple[str, list[str]]:
        """Those of a row that stays float."""
        bias = self.model.tensor(node, "bias")
        return (self.graph.const(filters, f"{node.title}.weight"),
                [] if bias is None else [self.graph.const(bias, f"{node.title}.bias")])

    def codes(self, node: Node, codes: np.ndarray) -> str:
        """A constant of the row's own range."""
        raise NotImplementedError

    def matrices(self, node: Node, codes: np.ndarray, scales: np.ndarray, name: str) -> str:
        """directions x rows x columns of a recurrent layer, with a scale a row."""
        raise NotImplementedError

    def through_codes(self, node: Node, x: str, qparams_id: int) -> str:
        """A value that has a range in front of a function."""
        raise NotImplementedError


def floats(*kinds: str) -> Any:
    """Registers a function for operators."""

    def register(function: Emission) -> Emission:
        for kind in kinds:
            FLOAT[kind] = function
        return function

    return register


def scalar(e: FloatEmitter, value: float) -> str:
    """A constant of one float."""
    return e.graph.const(F32(value), "constant", F32)


def bounded(e: FloatEmitter, node: Node, x: str) -> str:
    """Under the row's clamp, where that can change anything: codes end at the bounds by themselves otherwise."""
    low, high = node.fused.get("lowest"), node.fused.get("highest")
    of = e.range_out(node) if node.is_codes else None
    first, last = node.quant_min - node.lowest, node.quant_max - node.lowest
    if of is not None and e.drops_idle_clamps:
        if low is not None and low <= (first - of.zero_point) * float(of.scale):
            low = None
        if high is not None and high >= (last - of.zero_point) * float(of.scale):
            high = None
    if low is None and high is None:
        return x
    if low == 0 and high is None:
        return e.graph.op("Relu", x)
    ends = ["" if bound is None else e.graph.const(F32(bound), "bound", F32) for bound in (low, high)]
    return e.graph.op("Clip", x, *ends) if ends[1] else e.graph.op("Clip", x, ends[0])


# Functions of one value, by the name of the callable: its constants, its parameter.

def one_op(kind: str, **attributes: Any) -> Any:
    """A function that is an operator of ONNX."""
    return lambda e, x, constants, parameter: e.graph.op(kind, x, **attributes)


def silu(e: FloatEmitter, x: str, constants: list[float], parameter: float) -> str:
    """x * sigmoid(x)."""
    return e.graph.op("Mul", x, e.graph.op("Sigmoid", x))


def softplus(e: FloatEmitter, x: str, constants: list[float], parameter: float) -> str:
    """log(1 + exp(beta * x)) / beta."""
    beta = constants[0]
    if beta == 1:
        return e.graph.op("Softplus", x)
    return e.graph.op("Div", e.graph.op("Softplus", e.graph.op("Mul", x, scalar(e, beta))), scalar(e, beta))


def threshold(e: FloatEmitter, x: str, constants: list[float], parameter: float) -> str:
    """x above the limit, another number elsewhere."""
    limit, otherwise = constants
    return e.graph.op("Where", e.graph.op("Greater", x, scalar(e, limit)), x, scalar(e, otherwise))


FUNCTIONS: dict[str, Any] = {
    "leaky_relu": lambda e, x, constants, parameter: e.graph.op("LeakyRelu", x, alpha=float(parameter)),
    "sigmoid": one_op("Sigmoid"), "tanh": one_op("Tanh"), "hard_sigmoid": one_op("HardSigmoid", alpha=1 / 6, beta=0.5),
    "hardswish": one_op("HardSwish"), "silu": silu, "gelu": one_op("Gelu"), "gelu_tanh": one_op("Gelu", approximate="tanh"),
    "softplus": softplus, "mish": one_op("Mish"),
    "elu": lambda e, x, constants, parameter: e.graph.op("Elu", x, alpha=float(constants[0])),
    "celu": lambda e, x, constants, parameter: e.graph.op("Celu", x, alpha=float(constants[0])),
    "selu": one_op("Selu"), "threshold": threshold,
    "add_scalar": lambda e, x, constants, parameter: e.graph.op("Add", x, scalar(e, constants[0])),
    "softsign": one_op("Softsign"), "exp": one_op("Exp"), "log": one_op("Log"), "sqrt": one_op("Sqrt"),
    "rsqrt": lambda e, x, constants, parameter: e.graph.op("Reciprocal", e.graph.op("Sqrt", x)),
    "abs": one_op("Abs"), "neg": one_op("Neg"),
    "square": lambda e, x, constants, parameter: e.graph.op("Mul", x, x),
}


def applied(e: FloatEmitter, op: dict[str, Any], x: str, parameter: float) -> str:
    """A function of the network. Raises Refused for one that ONNX does not know by name."""
    if op["name"] not in FUNCTIONS:
        raise Refused("op", f"ONNX has no function that is this network's own \"{op['name']}\"")
    return FUNCTIONS[op["name"]](e, x, op.get("constants", []), parameter)


@floats("function")
def emit_function(e: FloatEmitter, node: Node) -> str:
    """A function of one value."""
    return applied(e, node.op, e.form(e.value(node), e.any_layout(node)), node.raw.get("parameter", 0.0))


@floats("relu", "relu6", "clamp")
def emit_clamp(e: FloatEmitter, node: Node) -> str:
    """A clamp of its own."""
    return bounded(e, node, e.form(e.value(node), e.any_layout(node)))


@floats("requantize")
def emit_requantize(e: FloatEmitter, node: Node) -> str:
    """Only the range changes."""
    return e.form(e.value(node), e.any_layout(node))


@floats("mul_scalar")
def emit_mul_scalar(e: FloatEmitter, node: Node) -> str:
    """By a ratio."""
    numerator, denominator = node.arguments
    return e.graph.op("Mul", e.form(e.value(node), e.any_layout(node)), scalar(e, numerator / denominator))


@floats("divide_by_root")
def emit_divide_by_root(e: FloatEmitter, node: Node) -> str:
    """By the root of the channels."""
    factor = F32(1) / np.sqrt(F32(node.extents[3]))
    return e.graph.op("Mul", e.form(e.value(node), e.any_layout(node)), scalar(e, float(factor)))


@floats("add", "sub", "mul", "div", "maximum", "minimum", "squared_difference", "hypot")
def emit_binary(e: FloatEmitter, node: Node) -> Value:
    """Operators of two values, which spread as ONNX has it."""
    name = node.op["name"]
    kind = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max", "minimum": "Min",
            "squared_difference": "Sub", "hypot": "Add"}[name]
    a, b, layout = operands(e, node)
    if name == "hypot":
        a, b = (e.graph.op("Mul", x, x) for x in (a, b))
    y = e.graph.op(kind, a, b)
    if name == "squared_difference":
        y = e.graph.op("Mul", y, y)
    elif name == "hypot":
        y = e.graph.op("Sqrt", y)
    return e.made(node, bounded(e, node, y), layout)


@floats("where")
def emit_where(e: FloatEmitter, node: Node) -> Value:
    """By a condition that is not 0."""
    layout = e.value(node, 1).layout
    condition, a, b = (e.form(e.value(node, k), layout) for k in range(3))
    is_zero = e.graph.op("Equal", condition, scalar(e, 0))
    return e.made(node, e.graph.op("Where", is_zero, b, a), layout)


@floats("prelu")
def emit_prelu(e: FloatEmitter, node: Node) -> Value:
    """A slope for all channels, or for each."""
    slopes = e.model.tensor(node, "weight")
    shape = shape_in((*e.value(node).extents[:3], slopes.size), "first")[1:]
    slopes = slopes.reshape(-1, *[1] * (len(shape) - 1))
    return Value(node.extents, {"first": e.graph.op("PRelu", e.first(node), e.graph.const(slopes, f"{node.title}.weight"))})


# Filters.

@floats("conv2d", "conv1d", "conv3d", "linear")
def emit_conv(e: FloatEmitter, node: Node) -> Value:
    """Conv; a linear layer is one of a single window."""
    value, filters = e.value(node), weights_of(e, node)
    x = ""
    if node.kind == "linear":  # of an image whose flatten was fused a window of all of it
        kernel = [1, 1] if filters.shape[1] == value.extents[3] else list(value.extents[1:3])
        shape = [filters.shape[0], -1, *kernel]
        attributes: dict[str, Any] = {"kernel_shape": kernel}
    else:
        shape = list(filters.shape[:2]) + [1] * bool(node.options.get("one_dimensional")) + list(filters.shape[2:])
        is_volume = len(shape) == 5
        window = window_of(node, is_volume)
        pixels = [list(t.extents[0 if is_volume else 1:3]) for t in (value, node)]
        if is_volume and not value.is_volume:
            x = e.shaped(node, 0, "first", [1, value.extents[3], *value.extents[:3]])
        attributes = {"strides": window["strides"], "dilations": window["dilations"], "pads": pads_of(*pixels, window),
                      "group": node.options["groups"], "kernel_shape": window["kernel"]}
    x = x or e.first(node)
    weight, bias = (e.weights(node, filters.reshape(shape), 0) if node.is_codes else
                    e.float_weights(node, filters.reshape(shape)))
    return behind_filters(e, node, e.graph.op("Conv", x, weight, *bias, **attributes), len(shape))


@floats("conv_transpose2d", "conv_transpose1d", "conv_transpose3d")
def emit_conv_transpose(e: FloatEmitter, node: Node) -> Value:
    """ConvTranspose, whose output_padding follows from the extents."""
    value, filters = e.value(node), weights_of(e, node)
    shape = list(filters.shape[:2]) + [1] * bool(node.options.get("one_dimensional")) + list(filters.shape[2:])
    is_volume = len(shape) == 5
    if node.options["groups"] != 1 and e.scales_weights and node.is_codes:
        raise Refused("value", "a scale an output channel of a transposed convolution in groups")
    window = window_of(node, is_volume)
    pixels, out = (list(t.extents[0 if is_volume else 1:3]) for t in (value, node))
    reach = [(n - 1) * s + d * (k - 1) + 1 - b
             for n, s, d, k, b in zip(pixels, window["strides"], window["dilations"], window["kernel"], window["begins"])]
    ends, extra = [max(0, r - o) for r, o in zip(reach, out)], [max(0, o - r) for r, o in zip(reach, out)]
    weight, bias = (e.weights(node, filters.reshape(shape), 1) if node.is_codes else
                    e.float_weights(node, filters.reshape(shape)))
    y = e.graph.op("ConvTranspose", e.first(node), weight, *bias, strides=window["strides"], dilations=window["dilations"],
                   pads=[*window["begins"], *ends], output_padding=extra, group=node.options["groups"],
                   kernel_shape=window["kernel"])
    return behind_filters(e, node, y, len(shape))


def weights_of(e: FloatEmitter, node: Node) -> np.ndarray:
    """Its codes, or of a row that stays float its floats. Raises Refused where codes are multiplied with floats."""
    filters = e.model.tensor(node, "weight", "codes" if node.is_codes else "")
    if filters is None:
        raise Refused("value", "a layer over floats with integer weights")
    return filters


def behind_filters(e: FloatEmitter, node: Node, y: str, rank: int) -> Value:
    """Residual, function, clamp."""
    if rank == 5 and node.extents[0] == 1:
        y = e.graph.reshape(y, [1, node.extents[3], *node.extents[1:3]])
    fused = node.fused
    if fused.get("adds_input_1"):
        y = e.graph.op("Add", y, e.first(node, 1))
    if "function" in fused:
        y = e.through_codes(node, y, fused["table_qparams_id"])  # 8 bits in front, whatever our table has
        y = applied(e, fused["function"], y, fused["function_parameter"])
    else:
        y = bounded(e, node, y)
    return Value(node.extents, {"first": y}, node.flattened)


# Pools, resizing, reductions.

@floats("max_pool2d", "max_pool1d", "avg_pool2d", "avg_pool1d")
def emit_pool(e: FloatEmitter, node: Node) -> Value:
    """MaxPool and AveragePool."""
    value, window = e.value(node), window_of(node, False)
    attributes = {"kernel_shape": window["kernel"], "strides": window["strides"]}
    pads = pads_of(list(value.extents[1:3]), list(node.extents[1:3]), window)
    if "max" in node.op["name"]:
        y = e.graph.op("MaxPool", e.first(node), pads=pads, dilations=window["dilations"], **attributes)
        return Value(node.extents, {"first": y})
    begins, ends = pads[:2], pads[2:]
    if node.options["count_include_pad"] and any(t > b for b, t in zip(begins, ends)):
        raise Refused("value", "an average over a window that hangs over the end, where pads count")
    y = e.graph.op("AveragePool", e.first(node), pads=pads, count_include_pad=int(bool(node.options["count_include_pad"])),
                   **attributes)
    return Value(node.extents, {"first": y})


@floats("adaptive_avg_pool2d", "adaptive_avg_pool1d")
def emit_adaptive_avg_pool(e: FloatEmitter, node: Node) -> Value:
    """Over everything, or over windows of one size."""
    inside, out = e.value(node).extents[1:3], node.extents[1:3]
    if out == (1, 1):
        return Value(node.extents, {"first": e.graph.op("GlobalAveragePool", e.first(node))})
    if any(i % o for i, o in zip(inside, out)):
        raise Refused("value", f"an adaptive pool from {inside[0]} x {inside[1]} to {out[0]} x {out[1]}, which do not divide")
    each = [i // o for i, o in zip(inside, out)]
    return Value(node.extents, {"first": e.graph.op("AveragePool", e.first(node), kernel_shape=each, strides=each)})


@floats("interpolate")
def emit_interpolate(e: FloatEmitter, node: Node) -> Value:
    """Resize, or Gather where its rule is none of ONNX's."""
    height, width, factor, divisor, mode = node.arguments
    has_size = height > 0 and width > 0
    shape = e.graph.const(shape_in(node.extents, "first"), "shape", np.int64)
    if mode in (2, 3, 5):
        transform = {2: "half_pixel", 3: "align_corners", 5: "asymmetric"}[mode]
        y = e.graph.op("Resize", e.first(node), "", "", shape, mode="linear", coordinate_transformation_mode=transform)
        return Value(node.extents, {"first": y})
    whole = all(o % i == 0 for i, o in zip(e.value(node).extents[1:3], node.extents[1:3]))
    if mode in (0, 1) and whole:
        y = e.graph.op("Resize", e.first(node), "", "", shape, mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")
        return Value(node.extents, {"first": y})
    x, rule = e.first(node), ("corner", "half_pixel", "", "", "align_corners", "")[mode]
    for axis, (inside, out) in enumerate(zip(e.value(node).extents[1:3], node.extents[1:3])):
        places = nearest_places(rule, inside, out, 0 if has_size else factor / divisor)
        x = e.graph.op("Gather", x, e.graph.const(places, "places", np.int64), axis=2 + axis)
    return Value(node.extents, {"first": x})


@floats("sum", "mean", "reduce_max", "reduce_min")
def emit_reduction(e: FloatEmitter, node: Node) -> Value:
    """Along axes that stay with extent 1."""
    kind = {"sum": "ReduceSum", "mean": "ReduceMean", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin"}[node.op["name"]]
    axes = axes_last(node, e.value(node))
    if node.op["name"] == "mean" and axes == [1, 2] and e.any_layout(node) == "first":
        return Value(node.extents, {"first": bounded(e, node, e.graph.op("GlobalAveragePool", e.first(node)))})
    x = e.last(node)
    if axes:
        x = e.graph.op(kind, x, e.graph.const(axes, "axes", np.int64), keepdims=1)
    return folded(e, node, bounded(e, node, x))


# Attention and norms.

@floats("matmul")
def emit_matmul(e: FloatEmitter, node: Node) -> Value:
    """Matrices are width x channels."""
    right = e.moved(node, 1, "last", [0, 1, 3, 2]) if node.arguments[0] else e.last(node, 1)
    return Value(node.extents, {"last": bounded(e, node, e.graph.op("MatMul", e.last(node, 0), right))})


@floats("softmax", "log_softmax")
def emit_softmax(e: FloatEmitter, node: Node) -> Value:
    """Over the channels."""
    kind = "Softmax" if node.op["name"] == "softmax" else "LogSoftmax"
    return Value(node.extents, {"last": e.graph.op(kind, e.last(node), axis=-1)})


@floats("masked_softmax")
def emit_masked_softmax(e: FloatEmitter, node: Node) -> Value:
    """Of the columns that a mask keeps: the others have the lowest of all floats, so that a row that keeps none has equal shares."""
    g = e.graph
    left_out = g.op("Equal", e.last(node, 1), g.const(0, "zero", F32))
    scores = g.op("Where", left_out, g.const(np.finfo(F32).min, "lowest", F32), e.last(node))
    return Value(node.extents, {"last": g.op("Softmax", scores, axis=-1)})


@floats("attention_mask")
def emit_attention_mask(e: FloatEmitter, node: Node) -> Value:
    """1 of indices that are not 0."""
    g = e.graph
    is_zero = g.op("Equal", g.reshape(e.last(node), shape_in(node.extents, "last")), g.const(0, "zero", np.int32))
    return Value(node.extents, {"last": g.op("Where", is_zero, g.const(0, "none", F32), g.const(1, "one", F32))})


@floats("layer_norm")
def emit_layer_norm(e: FloatEmitter, node: Node) -> Value:
    """Over the channels, or over the image."""
    over_image, millionths, trillionths = node.arguments[:3]
    value = e.value(node)
    weight, bias = affine(e, node, int(np.prod(value.extents)) if over_image else value.extents[3])
    if over_image:
        weight, bias = (t.reshape(shape_in(value.extents, "first")[1:]).transpose(1, 2, 0) for t in (weight, bias))
    y = e.graph.op("LayerNormalization", e.last(node), e.graph.const(weight, f"{node.title}.weight", F32),
                   e.graph.const(bias, f"{node.title}.bias", F32), axis=1 if over_image else -1,
                   epsilon=float(F32(millionths / 1e6 + trillionths / 1e12)))
    return Value(node.extents, {"last": bounded(e, node, y)})


@floats("group_norm", "instance_norm")
def emit_group_norm(e: FloatEmitter, node: Node) -> Value:
    """GroupNormalization, or InstanceNormalization."""
    groups, millionths, _ = node.arguments
    weight, bias = (e.graph.const(t, f"{node.title}.{n}", F32)
                    for t, n in zip(affine(e, node, e.value(node).extents[3]), ("weight", "bias")))
    epsilon = float(F32(millionths / 1e6))
    if groups == 0:
        y = e.graph.op("InstanceNormalization", e.first(node), weight, bias, epsilon=epsilon)
    else:
        y = e.graph.op("GroupNormalization", e.first(node), weight, bias, epsilon=epsilon, num_groups=groups)
    return Value(node.extents, {"first": bounded(e, node, y)})


@floats("unfused_batch_norm")
def emit_batch_norm(e: FloatEmitter, node: Node) -> Value:
    """By the statistics of training."""
    arrays = [*affine(e, node, node.extents[3]), *(e.model.tensor(node, n) for n in ("running_mean", "running_var"))]
    y = e.graph.op("BatchNormalization", e.first(node), *(e.graph.const(t, f"{node.title}.constant", F32) for t in arrays),
                   epsilon=float(F32(node.arguments[0] / 1e6)))
    return Value(node.extents, {"first": bounded(e, node, y)})


# Values side by side, and around.

@floats("concat", "stack")
def emit_concat(e: FloatEmitter, node: Node) -> Value:
    """Side by side; each reader of a range of its own."""
    axis = node.arguments[0] if node.op["name"] == "stack" else CHANNELS
    values = [e.value(node, k) for k in range(len(node.inputs))]
    largest = max(values, key=lambda v: np.prod(v.extents))
    layout = largest.layout
    parts = [e.form(value, layout) for value in values]
    return e.made(node, e.graph.op("Concat", *parts, axis=axis_in(values[0], axis, layout)), layout)


@floats("pad")
def emit_pad(e: FloatEmitter, node: Node) -> Value:
    """Values around."""
    left, right, top, bottom, front, back, mode, thousandths = node.arguments
    value, layout = e.value(node), e.any_layout(node)
    if mode == 2:
        raise Refused("value", "a symmetric pad")
    rank = 4 + int(value.is_volume)
    begins, ends = [0] * rank, [0] * rank
    for axis, (before, after) in {HEIGHT: (top, bottom), WIDTH: (left, right), CHANNELS: (front, back)}.items():
        begins[axis_in(value, axis, layout)], ends[axis_in(value, axis, layout)] = before, after
    kinds = {0: "constant", 1: "reflect", 3: "edge", 4: "wrap"}
    around = [scalar(e, thousandths / 1000.0)] if mode == 0 else []
    y = e.graph.op("Pad", e.form(value, layout), e.graph.const(begins + ends, "pads", np.int64), *around, mode=kinds[mode])
    return e.made(node, y, layout)


@floats("embedding", "position_embedding")
def emit_embedding(e: FloatEmitter, node: Node) -> Value:
    """Rows of a table."""
    table = e.model.tensor(node, "weight", "codes")
    if table is None or not node.is_codes:
        raise Refused("value", "a table whose rows have scales of their own")
    _, _, count, columns = node.extents
    first = node.arguments[2]
    if node.kind == "position_embedding":
        return last_value(node, e.codes(node, table[first:first + count].reshape(shape_in(node.extents, "last"))))
    indices = e.graph.reshape(e.last(node), [-1])
    if e.value(node).extents[3] != count:
        indices = e.graph.slice(indices, 0, first, first + count)
    return reshaped(e, node, e.graph.op("Gather", e.codes(node, table), indices))


@floats("constant")
def emit_constant(e: FloatEmitter, node: Node) -> Value:
    """A value of the file."""
    codes = e.model.tensor(node, "", "codes")
    if codes is None:
        raise Refused("value", "a constant among floats")
    return last_value(node, e.codes(node, codes.reshape(shape_in(node.extents, "last"))))


@floats("lstm", "gru")
def emit_recurrent(e: FloatEmitter, node: Node) -> Value:
    """ONNX's own, with weights of codes: its steps are floats, so that states have no codes."""
    hidden, layers, is_bidirectional, projection, gives, has_bias = node.arguments[:6]
    if projection or not node.is_codes or node.raw.get("keeps_state"):
        raise Refused("value", "a recurrent layer that has no form over codes")
    gates, order = (4, [0, 3, 1, 2]) if node.op["name"] == "lstm" else (3, [1, 0, 2])  # ONNX: i o f c, z r h
    steps, inputs = e.value(node).extents[2:]
    x = e.shaped(node, 0, "last", [steps, 1, inputs])
    names = ["", "_reverse"][:1 + is_bidirectional]
    for layer in range(layers):
        kinds = {kind: np.stack([reordered(e.model.tensor(node, f"weight_{kind}_l{layer}{n}", "codes"), gates, order)
                                 for n in names]) for kind in ("ih", "hh")}
        scales = {kind: np.stack([reordered(e.model.tensor(node, f"weight_{kind}_l{layer}{n}", "scale"), gates, order)
                                  for n in names]) for kind in ("ih", "hh")}
        arrays = [e.matrices(node, kinds[kind], scales[kind], f"{node.title}.weight_{kind}_l{layer}") for kind in kinds]
        bias = []
        if has_bias:
            both = [np.concatenate([reordered(e.model.tensor(node, f"bias_{kind}_l{layer}{n}"), gates, order)
                                    for kind in ("ih", "hh")]) for n in names]
            bias = [e.graph.const(np.stack(both), f"{node.title}.bias_l{layer}", F32)]
        attributes = {"hidden_size": hidden, "direction": "bidirectional" if is_bidirectional else "forward"}
        if node.op["name"] == "gru":
            attributes["linear_before_reset"] = 1
        outputs = e.graph.op(node.op["name"].upper(), x, *arrays, *bias, outputs=2, **attributes)
        y = e.graph.transpose(outputs[0], [0, 2, 1, 3])  # steps, batch, directions, hidden
        x = e.graph.reshape(y, [steps, 1, len(names) * hidden])
    if gives == 2:  # where each direction ends
        x = e.graph.transpose(outputs[1], [1, 0, 2])
    elif gives == 1:
        x = e.graph.slice(x, 0, steps - 1, steps)
    return Value(node.extents, {"last": e.graph.reshape(x, shape_in(node.extents, "last"))})


def reordered(array: np.ndarray, gates: int, order: list[int]) -> np.ndarray:
    """Gates in ONNX's order."""
    return np.concatenate([np.split(array, gates)[g] for g in order])
