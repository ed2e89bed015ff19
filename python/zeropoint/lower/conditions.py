# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons, logic, choices and argmax: values of 0 and 1."""

from __future__ import annotations

import operator

import numpy as np

from zeropoint.errors import Refused
from zeropoint.ir import Node, Value
from zeropoint.layers import Layer, Name, Number, Row, ratio
from zeropoint.layout import Layout
from zeropoint.lower.align import align_two, constant_row, with_rank
from zeropoint.lower.context import Context, Val, lowers
from zeropoint.lower.elementwise import put_same, put_steps, with_constant

NAMES = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
HEADER = "compare.hpp"


@lowers("compare")
def lower_compare(context: Context, node: Node) -> None:
    """Of two values, or of one with constants. Of indices it is a table of answers, which an embedding looks up."""
    a, b = node.inputs
    kind = node.attrs["kind"]
    if a is not None and a.data is not None:
        a, b, kind = b, a, SWAPPED[kind]
    assert a is not None and b is not None
    if a.data is not None:
        raise Refused("computed_operand", "both operands are constants")
    scalar = float(b.data.reshape(-1)[0]) if b.data is not None and b.data.size == 1 and len(b.shape) <= len(a.shape) else None
    rows = context.table_rows(a)
    if context.is_indices(a) and scalar is None:
        raise Refused("value", "integers of an input are compared with something else than a number")
    if rows:
        answers = getattr(operator, kind)(np.arange(rows), scalar).astype(np.float32)
        look_up(context, node, context.raw(a), answers)
        return
    if scalar is not None:
        if not np.isfinite(scalar):
            raise Refused("value", f"a comparison with {scalar}")
        put_same(context, node, Layer(f"zp::{NAMES[kind]}_scalar", (ratio(scalar),), HEADER), context.get(a))
        return
    two(context, node, f"zp::{NAMES[kind]}", a, b)


def look_up(context: Context, node: Node, ids: Val, answers: np.ndarray) -> None:
    """A function of indices."""
    name = context.unique_name(f"{ids.row.name}.{node.attrs['kind']}")
    context.tensor(name + ".weight", answers[:, None])
    args = (Name(name), Number(len(answers), "Rows"), Number(1, "Columns"))
    row = context.row(Layer("zp::embedding", args, "embedding.hpp"), [ids.row], (1, ids.row.shape[1], 1), name)
    context.set(node.outputs[0], Val(row, ids.layout.with_groups((), ids.layout.memory, ())))


def two(context: Context, node: Node, template: str, a: Value, b: Value) -> None:
    """An operator of two values, one of which may be constant."""
    rank = len(node.outputs[0].shape)
    if a.data is not None or b.data is not None:
        rows, layout = with_constant(context, a, b, rank, node.outputs[0].shape)
    else:
        left, right, layout = align_two(context, context.get(a), context.get(b), rank)
        rows = [left.row, right.row]
    context.put(node, Layer(template, (), HEADER if template[4:] in NAMES.values() else "binary.hpp"), rows, layout)


@lowers("logical")
def lower_logical(context: Context, node: Node) -> None:
    """Of 0 and 1: the smaller one is both, the larger one is either."""
    kind = node.attrs["kind"]
    if kind == "not":
        put_same(context, node, Layer("zp::equal_scalar", (ratio(0.0),), HEADER), context.get(node.inputs[0]))
        return
    a, b = node.inputs
    assert a is not None and b is not None
    template = {"and": "zp::minimum", "or": "zp::maximum", "xor": "zp::not_equal"}[kind]
    two(context, node, template, a, b)


@lowers("where")
def lower_where(context: Context, node: Node) -> None:
    """Of two numbers a factor and an offset of the condition, else zp::where over values of the same extents."""
    condition, a, b = node.inputs
    assert condition is not None and a is not None and b is not None
    numbers = [float(v.data.reshape(-1)[0]) if v.data is not None and v.data.size == 1 else None for v in (a, b)]
    if any(n is not None and not np.isfinite(n) for n in numbers):
        raise Refused("value", "an infinity is chosen, which only a softmax behind it can take")
    extents = node.outputs[0].shape
    if None not in numbers and condition.data is None and condition.shape == extents:
        yes, no = numbers
        val = context.get(condition)
        steps = [Layer("zp::mul_scalar", (ratio(abs(yes - no)),))] if abs(yes - no) != 1 else []  # type: ignore[operator]
        steps += [Layer("zp::neg")] if yes < no else []  # type: ignore[operator]
        steps += [Layer("zp::add_scalar", (ratio(no),))] if no != 0 else []  # type: ignore[arg-type]
        if yes == no:
            raise Refused("value", "a choice between equal numbers")
        put_steps(context, node, steps, val) if steps else context.set(node.outputs[0], val)
        return
    computed = [v for v in (condition, a, b) if v.data is None]
    if not computed:
        raise Refused("computed_operand", "all operands are constants")
    largest = max(computed, key=lambda v: len(with_rank(context.get(v).layout, len(extents)).memory))
    first = context.get(largest)
    layout = with_rank(first.layout, len(extents))
    if layout.extents != extents:
        raise Refused("broadcast", f"a choice of {extents} of which no operand has all axes")
    rows = []
    for value in (condition, a, b):
        if value.data is not None:
            rows.append(whole_constant(context, value, layout, extents))
            continue
        val = context.get(value)
        _, val, _ = align_two(context, Val(first.row, layout), val, len(extents))
        rows.append(context.expanded(val, layout).row)
    context.put(node, Layer("zp::where", (), "where.hpp"), rows, layout)


def whole_constant(context: Context, value: Value, layout: Layout, extents: tuple[int, ...]) -> Row:
    """A constant of all extents."""
    full = np.broadcast_to(value.data, extents)  # type: ignore[arg-type]
    return constant_row(context, value.name, full, layout, extents)


@lowers("argmax")
def lower_argmax(context: Context, node: Node) -> None:
    """The place of the largest value along an axis, as a whole float."""
    val = context.get(node.inputs[0])
    axis = node.attrs["axis"]
    if axis is None:
        val = context.row_major(val)
        val = Val(val.row, val.layout.row_major())
        axes: tuple = ((),) * len(node.outputs[0].shape)
        gone = val.layout.axes[0]
    else:
        gone = val.layout.axes[axis]
        axes = tuple(() if i == axis else x for i, x in enumerate(val.layout.axes) if node.attrs["keepdim"] or i != axis)
    val = context.innermost(val, gone)
    if node.attrs["kind"] == "min":
        val = put_between(context, Layer("zp::neg"), val)
    context.put(node, Layer("zp::argmax", (), "argmax.hpp"), [val.row], val.layout.without(set(gone), axes))


def put_between(context: Context, layer: Layer, val: Val) -> Val:
    """A row of the same layout."""
    return Val(context.row(layer, [val.row], val.layout.shape), val.layout)
