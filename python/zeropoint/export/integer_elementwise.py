# SPDX-License-Identifier: BSD-3-Clause
"""Boundaries, tables, clamps and operators of two values, in exact arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.emitter import Emitter, emits
from zeropoint.export.formulas import F32, F64, aligned_scales, bounds_of, fixed_point, grid_table
from zeropoint.export.graph import Value
from zeropoint.export.int8_model import Node
from zeropoint.export.integer_filters import fixed_point_places


@emits("input")
def emit_input(e: Emitter, node: Node) -> Value:
    """Floats and indices as they come, codes as places."""
    value = e.add_input(node)
    if node.storage == "int8":  # places from here on
        for layout, name in value.forms.items():
            wide = e.graph.op("Add", e.graph.cast(name, np.int32), e.graph.const(128, "lowest", np.int32))
            value.forms[layout] = e.graph.cast(wide, np.uint8)
    return value


@emits("output", "dropout", "identity")
def emit_same(e: Emitter, node: Node) -> Value:
    """A row that does nothing; at an output codes of int8 are signed again."""
    value = e.value(node)
    if node.op.get("is_output") and node.storage == "int8":
        return Value(value.extents, {layout: signed(e, name) for layout, name in value.forms.items()}, value.flattened)
    return value


def signed(e: Emitter, places: str) -> str:
    """Codes of int8 of their places."""
    code = e.graph.op("Sub", e.graph.cast(places, np.int32), e.graph.const(128, "lowest", np.int32))
    return e.graph.cast(code, np.int8)


@emits("quantize")
def emit_quantize(e: Emitter, node: Node) -> str:
    """clamp(rne(x * (1 / scale))) + zero_point."""
    if e.source(node).storage != "float32":
        raise Refused("value", "only floats are quantized")
    of = e.range_out(node)
    layout = e.any_layout(node)
    steps = e.graph.op("Mul", e.form(e.value(node), layout), e.graph.const(F32(1) / of.scale, "inverse_scale", F32))
    return e.finished(node, steps, F32)


@emits("dequantize")
def emit_dequantize(e: Emitter, node: Node) -> str:
    """scale * (code - zero_point)."""
    of = e.range_in(node)
    steps = e.centred(e.form(e.value(node), e.any_layout(node)), of, F32)
    return e.graph.op("Mul", steps, e.graph.const(of.scale, "scale", F32), name=f"{node.title}.output")


@emits("function", "requantize")
def emit_function(e: Emitter, node: Node) -> str:
    """The table of the file."""
    return e.looked_up(e.model.table(node), e.form(e.value(node), e.any_layout(node)), f"{node.title}.output")


@emits("relu", "relu6", "clamp")
def emit_clamp(e: Emitter, node: Node) -> str:
    """Between the codes of the bounds."""
    low, high = bounds_of(node, e.range_out(node))
    x = e.form(e.value(node), e.any_layout(node))
    return e.graph.op("Clip", x, e.graph.const(low, "low", np.uint8), e.graph.const(high, "high", np.uint8),
                      name=f"{node.title}.output")


@emits("mul_scalar", "divide_by_root")
def emit_scaled(e: Emitter, node: Node) -> Value:
    """Codes stay, their scale is another."""
    return replace(e.value(node))


@emits("full_like")
def emit_full_like(e: Emitter, node: Node) -> str:
    """A constant: its code is 1 above the zero point, or at it."""
    numerator = node.arguments[0]
    layout = e.any_layout(node)
    x = e.form(e.value(node), layout)
    zeros = e.graph.op("Mul", e.graph.cast(x, np.int32), e.graph.const(0, "zero", np.int32))
    place = int(numerator > 0) - node.lowest
    return e.graph.cast(e.graph.op("Add", zeros, e.graph.const(place, "place", np.int32)), np.uint8)


def operands(e: Emitter, node: Node) -> tuple[str, str, str]:
    """Both inputs in one layout, and which."""
    a, b = e.value(node, 0), e.value(node, 1)
    larger = a if np.prod(a.extents) >= np.prod(b.extents) else b
    layout = larger.layout
    return e.form(a, layout), e.form(b, layout), layout


@emits("add", "sub")
def emit_add(e: Emitter, node: Node) -> Value:
    """rne((a * a_multiplier +- b * b_multiplier) / 2^shift), integers below 2^32: exact in double."""
    a, b, y = e.range_in(node, 0), e.range_in(node, 1), e.range_out(node)
    first, second, shift = aligned_scales(a, b, y)
    x, z, layout = operands(e, node)
    sides = [e.graph.op("Mul", e.centred(t, of, F64), e.graph.const(m, "multiplier", F64))
             for t, of, m in ((x, a, first), (z, b, second if node.op["name"] == "add" else -second))]
    steps = e.graph.op("Mul", e.graph.op("Add", *sides), e.graph.const(2.0**-shift, "shift", F64))
    return e.made(node, e.finished(node, steps, F64), layout)


@emits("mul")
def emit_mul(e: Emitter, node: Node) -> Value:
    """The exact product times one float; as LiteRT in fixed point."""
    a, b, y = e.range_in(node, 0), e.range_in(node, 1), e.range_out(node)
    x, z, layout = operands(e, node)
    if e.model.requantization == "fixed_point_litert":
        total = e.graph.op("Mul", e.centred(x, a, np.int64), e.centred(z, b, np.int64))
        factor = fixed_point(float(F32(F32(a.scale * b.scale) / y.scale)))
        return e.made(node, fixed_point_places(e, node, total, factor), layout)
    multiplier = F32(F64(a.scale) * F64(b.scale) / F64(y.scale))
    product = e.graph.op("Mul", e.centred(x, a, F32), e.centred(z, b, F32))
    return e.made(node, e.finished(node, e.graph.op("Mul", product, e.graph.const(multiplier, "multiplier")), F32), layout)


@emits("div")
def emit_div(e: Emitter, node: Node) -> Value:
    """A float product and a quotient; by zero the outermost codes."""
    a, b, y = e.range_in(node, 0), e.range_in(node, 1), e.range_out(node)
    x, z, layout = operands(e, node)
    multiplier = F32(F64(a.scale) / (F64(b.scale) * F64(y.scale)))
    under = e.centred(z, b, F32)
    by_zero = e.graph.op("Equal", under, e.graph.const(0, "zero", F32))
    factor = e.graph.op("Where", by_zero, e.graph.const(1024, "beyond", F32), e.graph.const(multiplier, "multiplier"))
    divisor = e.graph.op("Where", by_zero, e.graph.const(1, "one", F32), under)
    quotient = e.graph.op("Div", e.graph.op("Mul", e.centred(x, a, F32), factor), divisor)
    return e.made(node, e.finished(node, quotient, F32), layout)


@emits("squared_difference")
def emit_squared_difference(e: Emitter, node: Node) -> Value:
    """The difference in fixed point, its float squared."""
    a, b, y = e.range_in(node, 0), e.range_in(node, 1), e.range_out(node)
    x, z, layout = operands(e, node)
    larger = F64(max(a.scale, b.scale))
    sides = [e.graph.op("Mul", e.centred(t, of, np.int32),
                        e.graph.const(int(np.rint(F64(of.scale) / larger * 2.0**22)), "multiplier", np.int32))
             for t, of in ((x, a), (z, b))]
    difference = e.graph.cast(e.graph.op("Sub", *sides), F32)
    multiplier = F32(larger * larger / F64(y.scale) * 2.0**-44)
    square = e.graph.op("Mul", difference, difference)
    return e.made(node, e.finished(node, e.graph.op("Mul", square, e.graph.const(multiplier, "multiplier")), F32), layout)


@emits("hypot")
def emit_hypot(e: Emitter, node: Node) -> Value:
    """Both operands in units of the larger scale, the root of their squares, a float product."""
    a, b, y = e.range_in(node, 0), e.range_in(node, 1), e.range_out(node)
    x, z, layout = operands(e, node)
    larger = F64(max(a.scale, b.scale))
    squares = []
    for codes, of in ((x, a), (z, b)):
        side = e.centred(codes, of, F32)
        if of.scale != larger:
            side = e.graph.op("Mul", side, e.graph.const(F32(F64(of.scale) / larger), "multiplier"))
        squares.append(e.graph.op("Mul", side, side))
    length = e.graph.op("Sqrt", e.graph.op("Add", *squares))
    steps = e.graph.op("Mul", length, e.graph.const(F32(larger / F64(y.scale)), "multiplier"))
    return e.made(node, e.finished(node, steps, F32), layout)


@emits("maximum", "minimum")
def emit_extremum(e: Emitter, node: Node) -> Value:
    """Of codes on the output's grid."""
    y = e.range_out(node)
    low, high = bounds_of(node, y)
    x, z, layout = operands(e, node)
    sides = [t if of == y else e.looked_up(grid_table(of, y, low, high), t)
             for t, of in ((x, e.range_in(node, 0)), (z, e.range_in(node, 1)))]
    kind = "Max" if node.op["name"] == "maximum" else "Min"
    chosen = e.graph.op(kind, *(e.graph.cast(s, np.int32) for s in sides))
    bounded = e.graph.op("Clip", chosen, e.graph.const(low, "low", np.int32), e.graph.const(high, "high", np.int32))
    return e.made(node, e.graph.op("Cast", bounded, to=2, name=f"{node.title}.output"), layout)


@emits("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
def emit_comparison(e: Emitter, node: Node) -> Value:
    """Of real numbers, which are exact in double."""
    a = e.range_in(node, 0)
    if len(node.inputs) == 1:
        layout = e.any_layout(node)
        x, constant = e.form(e.value(node), layout), F32(F64(node.arguments[0]) / F64(node.arguments[1]))
        other = e.graph.const(F64(constant), "constant", F64)
    else:
        x, z, layout = operands(e, node)
        b = e.range_in(node, 1)
        other = e.graph.op("Mul", e.centred(z, b, F64), e.graph.const(F64(b.scale), "scale", F64))
    real = e.graph.op("Mul", e.centred(x, a, F64), e.graph.const(F64(a.scale), "scale", F64))
    kind, turned = {"equal": ("Equal", False), "not_equal": ("Equal", True), "less": ("Less", False),
                    "less_equal": ("LessOrEqual", False), "greater": ("Greater", False),
                    "greater_equal": ("GreaterOrEqual", False)}[node.op["name"]]
    answer = e.graph.cast(e.graph.op(kind, real, other), np.int32)
    if turned:
        answer = e.graph.op("Sub", e.graph.const(1, "one", np.int32), answer)
    place = e.graph.op("Add", answer, e.graph.const(-node.lowest, "lowest", np.int32))
    return e.made(node, e.graph.cast(place, np.uint8), layout)


@emits("where")
def emit_where(e: Emitter, node: Node) -> Value:
    """Where the condition is not at its zero point."""
    y = e.range_out(node)
    layout = e.value(node, 1).layout
    low, high = node.quant_min - node.lowest, node.quant_max - node.lowest
    condition = e.graph.cast(e.form(e.value(node, 0), layout), np.int32)
    is_zero = e.graph.op("Equal", condition, e.graph.const(e.range_in(node, 0).zero_point, "zero_point", np.int32))
    sides = []
    for k in (1, 2):
        of, x = e.range_in(node, k), e.form(e.value(node, k), layout)
        sides.append(x if of == y else e.looked_up(grid_table(of, y, low, high), x))
    return e.made(node, e.graph.op("Where", is_zero, sides[1], sides[0], name=f"{node.title}.output"), layout)


@emits("prelu")
def emit_prelu(e: Emitter, node: Node) -> str:
    """One float product, by the sign of x."""
    x, y = e.range_in(node), e.range_out(node)
    slopes = e.model.tensor(node, "weight")
    layout = e.any_layout(node)
    factors = (slopes.astype(F64) * F64(x.scale) / F64(y.scale)).astype(F32)
    rank = len(e.value(node).extents) + (0 if not e.value(node).is_volume else 1)
    below = factors if factors.size == 1 else factors.reshape(-1, *[1] * (rank - 2)) if layout == "first" else factors
    above = F32(F64(F32(1)) * F64(x.scale) / F64(y.scale))
    steps = e.centred(e.form(e.value(node), layout), x, F32)
    is_above = e.graph.op("Greater", steps, e.graph.const(0, "zero", F32))
    factor = e.graph.op("Where", is_above, e.graph.const(above, "above", F32), e.graph.const(below, "below", F32))
    return e.finished(node, e.graph.op("Mul", steps, factor), F32)
