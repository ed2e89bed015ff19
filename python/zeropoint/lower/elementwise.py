# SPDX-License-Identifier: BSD-3-Clause
"""Functions of one value, and operators of two."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import Refused
from zeropoint.ir import Node, Value
from zeropoint.layers import Layer, Number, Row, ratio
from zeropoint.layout import Layout
from zeropoint.lower.align import align_two, constant_row, with_rank
from zeropoint.lower.context import Context, Val, lowers

PLAIN = {"relu", "relu6", "sigmoid", "tanh", "hardswish", "hard_sigmoid", "silu", "gelu", "gelu_tanh", "mish", "selu",
         "softsign", "exp", "log", "sqrt", "rsqrt", "abs", "neg", "square"}
# Arguments in thousandths, with their defaults.
IN_THOUSANDTHS = {"leaky_relu": [("slope", 0.01)], "elu": [("alpha", 1.0)], "celu": [("alpha", 1.0)],
                  "softplus": [("beta", 1.0), ("threshold", 20.0)], "threshold": [("limit", None), ("value", None)]}


def thousandths(value: float, what: str) -> int:
    """A whole number of them."""
    scaled = float(np.float32(value)) * 1000
    if abs(scaled - round(scaled)) > 1e-3:
        raise Refused("attribute", f"{what} of {value:g}, which is no whole number of thousandths")
    return round(scaled)


def put_same(context: Context, node: Node, layer: Layer, val: Val) -> Val:
    """A row that leaves the layout as it is."""
    row = context.row(layer, [val.row], val.layout.shape)
    made = Val(row, val.layout, val.flat)
    context.set(node.outputs[0], made)
    return made


def put_steps(context: Context, node: Node, layers: list[Layer], val: Val) -> None:
    """Rows one behind the other, of which the last gives the value of the node."""
    for layer in layers[:-1]:
        val = Val(context.row(layer, [val.row], val.layout.shape), val.layout, val.flat)
    put_same(context, node, layers[-1], val)


@lowers("unary")
def lower_unary(context: Context, node: Node) -> None:
    """A function of one value."""
    val, kind = context.get(node.inputs[0]), node.attrs["kind"]
    if kind in PLAIN:
        put_same(context, node, Layer(f"zp::{kind}"), val)
    elif kind in IN_THOUSANDTHS:
        given = [(node.attrs.get(name, default), default) for name, default in IN_THOUSANDTHS[kind]]
        while given and given[-1][0] == given[-1][1]:
            given.pop()
        if kind == "leaky_relu" and given and abs(given[0][0] - 0.01) < 1e-9:
            given = []
        args = tuple(Number(thousandths(value, kind), "Thousandths") for value, _ in given)
        put_same(context, node, Layer(f"zp::{kind}", args), val)
    elif kind == "clamp":
        lower_clamp(context, node, val)
    elif kind == "linear_clamp":  # min(max(scale * x + offset, 0), 1): ONNX's HardSigmoid of any slope
        steps = [Layer("zp::mul_scalar", (ratio(node.attrs["scale"]),)),
                 Layer("zp::add_scalar", (ratio(node.attrs["offset"]),)),
                 Layer("zp::clamp", (Number(0), Number(1000)))]
        put_steps(context, node, steps, val)
    elif kind == "reciprocal":
        one = constant_row(context, "", np.ones((1,), np.float32), with_rank(val.layout, 1 + len(val.layout.axes)),
                           (1,) + val.layout.extents)
        context.put(node, Layer("zp::div", (), "binary.hpp"), [one, val.row], val.layout)
    else:
        raise Refused("op", f"no layer computes {kind}")


def lower_clamp(context: Context, node: Node, val: Val) -> None:
    """relu, relu6, hardtanh; maximum or minimum where one bound is missing."""
    low, high = node.attrs.get("min"), node.attrs.get("max")
    if low == 0 and high == 6:
        put_same(context, node, Layer("zp::relu6"), val)
    elif low == 0 and high is None:
        put_same(context, node, Layer("zp::relu"), val)
    elif low == -1 and high == 1:
        put_same(context, node, Layer("zp::hardtanh"), val)
    elif low is not None and high is not None:
        args = (Number(thousandths(low, "a bound"), "Thousandths"), Number(thousandths(high, "a bound"), "Thousandths"))
        put_same(context, node, Layer("zp::clamp", args), val)
    elif low is not None or high is not None:
        bound = np.array([low if low is not None else high], np.float32)
        row = constant_row(context, "", bound, val.layout, val.layout.extents)
        template = "zp::maximum" if low is not None else "zp::minimum"
        context.put(node, Layer(template, (), "binary.hpp"), [val.row, row], val.layout)
    else:
        context.set(node.outputs[0], val)


@lowers("requantize")
def lower_requantize(context: Context, node: Node) -> None:
    """The same values with another scale and zero point."""
    from zeropoint.layers import Name

    val = context.get(node.inputs[0])
    name = context.unique_name(context.origin.name)
    context.result.names.add(name)
    row = context.row(Layer("zp::requantize", (Name(name),), "requantize.hpp"), [val.row], val.layout.shape, name)
    context.set(node.outputs[0], Val(row, val.layout, val.flat))


@lowers("prelu")
def lower_prelu(context: Context, node: Node) -> None:
    """A slope for all channels or one each; the second axis is the channels."""
    from zeropoint.layers import Name

    val = context.get(node.inputs[0])
    slopes = context.data(node.inputs[1], "the slopes").reshape(-1)
    if len(slopes) != 1:
        if len(slopes) != val.layout.extents[1]:
            raise Refused("axis", "slopes that are not one a channel")
        val = context.innermost(val, val.layout.axes[1])
    name = context.name_for(node.inputs[1])
    context.tensor(name + ".weight", slopes)
    args = (Name(name),) if len(slopes) == 1 else (Name(name), Number(len(slopes), "Channels"))
    row = context.row(Layer("zp::prelu", args, "prelu.hpp"), [val.row], val.layout.shape, name)
    context.set(node.outputs[0], Val(row, val.layout))


@lowers("binary")
def lower_binary(context: Context, node: Node) -> None:
    """add, sub, mul, div, maximum, minimum, hypot of two values, one of which may be a constant."""
    a, b = node.inputs
    kind, rank = node.attrs["kind"], len(node.outputs[0].shape)
    if a.data is not None and b.data is not None:
        raise Refused("computed_operand", "both operands are constants")
    for value, other, is_first in ((a, b, True), (b, a, False)):
        if value.data is not None and value.data.size == 1 and len(value.shape) <= len(other.shape) and \
                node.outputs[0].coding is None:  # in integers a number has its own codes
            if lower_scalar(context, node, context.get(other), float(value.data.reshape(-1)[0]), is_first):
                return
    layer = Layer(f"zp::{kind}", (), "" if kind == "add" else "binary.hpp")
    if a.data is not None or b.data is not None:
        rows, layout = with_constant(context, a, b, rank, node.outputs[0].shape)
        context.put(node, layer, rows, layout)
        return
    if a is b:
        if kind == "mul":
            put_same(context, node, Layer("zp::square"), context.get(a))
            return
        if kind == "add":
            put_same(context, node, Layer("zp::mul_scalar", (ratio(2.0),)), context.get(a))
            return
    left, right, layout = align_two(context, context.get(a), context.get(b), rank)
    context.put(node, layer, [left.row, right.row], layout)


def lower_scalar(context: Context, node: Node, val: Val, c: float, is_first: bool) -> bool:
    """An operator whose one operand is a number; False where that has no form of its own."""
    kind = node.attrs["kind"]
    if not np.isfinite(c):
        raise Refused("value", f"a constant of {c}")
    if kind == "sub" and not is_first:
        kind, c = "add", -c
    if kind == "div" and not is_first and c != 0:
        kind, c = "mul", float(np.float32(1.0) / np.float32(c))
    if kind == "add":
        layers = [Layer("zp::add_scalar", (ratio(c),))] if c != 0 else []
    elif kind == "sub":
        layers = [Layer("zp::neg"), Layer("zp::add_scalar", (ratio(c),))] if c != 0 else [Layer("zp::neg")]
    elif kind == "mul" and c != 0:
        layers = [Layer("zp::mul_scalar", (ratio(abs(c)),))] if abs(c) != 1 else []
        layers += [Layer("zp::neg")] if c < 0 else []
    elif kind == "maximum" and c == 0:
        layers = [Layer("zp::relu")]
    else:
        return False
    if layers:
        put_steps(context, node, layers, val)
    else:
        context.set(node.outputs[0], val)
    return True


def with_constant(context: Context, a: Value, b: Value, rank: int, extents: tuple[int, ...]) -> tuple[list[Row], Layout]:
    """The two operands where one is a constant, which is written in the order of the other."""
    value, known = (b, a) if a.data is not None else (a, b)
    val = context.get(value)
    layout = with_rank(val.layout, rank)
    if layout.extents != extents:  # the constant has axes that the value repeats along
        val, layout = expanded(context, val, extents)
    row = shared_constant(context, known, layout, extents)
    row.coding = known.coding
    val = context.arrange(Val(val.row, layout, val.flat), *layout.groups)
    return ([row, val.row] if known is a else [val.row, row]), layout


def shared_constant(context: Context, known: Value, layout: Layout, extents: tuple[int, ...]) -> Row:
    """A row of a constant; several who read it alike have one, which they find by name."""
    place = {a: i for i, a in enumerate(layout.source)}
    key = ("constant", known.name, known.data.shape, known.data.tobytes(), extents, layout.shape, tuple(place[a] for a in layout.memory))
    if key in context.moved:
        context.moved[key].title = context.moved[key].name
        return context.moved[key]
    row = constant_row(context, known.name, known.data, layout, extents)
    if known.data is not None and known.data.size > 1 and known.coding is None:
        context.moved[key] = row
    return row


def expanded(context: Context, val: Val, extents: tuple[int, ...]) -> tuple[Val, Layout]:
    """A layout of larger extents for a value; nothing is moved, as its axes of 1 repeat in operators of two values."""
    layout = with_rank(val.layout, len(extents))
    axes, sizes, groups = list(layout.axes), dict(layout.sizes), list(layout.groups)
    for axis, extent in enumerate(extents):
        if layout.extents[axis] == extent:
            continue
        new = Layout.fresh((extent,), (0,))
        axes[axis] = new.axes[0]
        sizes |= new.sizes
        empty = next((i for i in (1, 0, 2) if not groups[i]), None)
        if empty is None:
            raise Refused("broadcast", f"a value of {layout.extents} is repeated to {extents}")
        groups[empty] = new.axes[0]
    return val, Layout(tuple(axes), tuple(groups), sizes)  # type: ignore[arg-type]
