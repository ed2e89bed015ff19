# SPDX-License-Identifier: BSD-3-Clause
"""Attention: zp::attention between projections of any name, zp::self_attention with those of PyTorch's MultiheadAttention."""

from __future__ import annotations

from zeropoint.ir import Node, Value
from zeropoint.layers import Code, Layer, Name, Number, Row
from zeropoint.layout import Layout
from zeropoint.lower.context import Context, Lowered, Val, lowers

HEADER = "attention.hpp"


@lowers("attention")
def lower_attention(context: Context, node: Node) -> None:
    """softmax(q k^T / sqrt(depth)) v of every outer axis, whose matrices lie side by side in the channels."""
    q, k, v = (context.get(value) for value in node.inputs[:3])
    rank = len(node.outputs[0].shape)
    outer = tuple(range(rank - 2))
    q, k, v = (context.place(val, (), (rank - 2,), (*outer, rank - 1)) for val in (q, k, v))
    heads = 1
    for axis in outer:
        heads *= q.layout.extents[axis]
    mask = mask_row(context, node.inputs[3], rank) if len(node.inputs) > 3 else None
    last = Layout.fresh((node.outputs[0].shape[-1],), channels=(0,))
    heads_of = tuple(a for axis in outer for a in q.layout.axes[axis])
    width = q.layout.axes[-2]
    layout = Layout(q.layout.axes[:-1] + last.axes, ((), width, heads_of + last.groups[2]),
                    {a: q.layout.sizes[a] for a in heads_of + width} | last.sizes)
    row = context.put(node, Layer("zp::attention", (Number(heads, "Heads"),), HEADER), [q.row, k.row, v.row], layout)
    row.sides = [mask] if mask is not None else []
    row.count = 8


@lowers("masked_softmax")
def lower_masked_softmax(context: Context, node: Node) -> None:
    """softmax over the last axis of what a condition keeps."""
    val = context.get(node.inputs[0])
    rank = len(node.outputs[0].shape)
    val = context.place(val, tuple(range(rank - 2)), (rank - 2,) if rank > 1 else (), (rank - 1,))
    layer = Layer("zp::masked_softmax", (Code("zp::identity"),), "masked_softmax.hpp")
    row = context.put(node, layer, [val.row], val.layout)
    row.sides = [mask_row(context, node.inputs[1], rank)]


def mask_row(context: Context, condition: Value | None, rank: int) -> Row:
    """A condition as height x width x channels of scores, or 1 along what it does not depend on. It is read by name."""
    from zeropoint.lower.align import constant_row, with_rank

    assert condition is not None
    if condition.data is not None:
        key = ("mask", condition.data.shape, condition.data.tobytes())
        if key not in context.moved:
            shape = (1,) * (rank - condition.data.ndim) + condition.data.shape
            layout = Layout.fresh(shape, tuple(range(rank - 2)), (rank - 2,), (rank - 1,))
            context.moved[key] = constant_row(context, "mask", condition.data, layout, shape)
        row = context.moved[key]
    else:
        val = context.get(condition)
        val = Val(val.row, with_rank(val.layout, rank))
        row = context.place(val, tuple(range(rank - 2)), (rank - 2,), (rank - 1,)).row
    row.title = row.title or (row.name if row.kind == "constant" else context.title_for("mask"))
    return row


def join_projections(lowered: Lowered) -> None:
    """`x.in_proj`, its three parts, attention and `x.out_proj` become zp::self_attention, whose tensors have PyTorch's names."""
    readers: dict[Row, list[Row]] = {}
    for row in lowered.rows:
        for x in (*row.inputs, *row.sides):
            readers.setdefault(x, []).append(row)
    for last in list(lowered.rows):
        attention = last.inputs[0] if is_of(last, "zp::linear") else None
        if attention is None or not is_of(attention, "zp::attention") or len(readers[attention]) != 1:
            continue
        parts = attention.inputs
        projection = parts[0].inputs[0] if parts[0].inputs else None
        if projection is None or not is_of(projection, "zp::linear") or len(readers[projection]) != 3:
            continue
        channels = projection.inputs[0].shape[2]
        is_whole = all(is_of(part, "zp::chunk") and part.inputs == [projection] and len(readers[part]) == 1 and
                       [getattr(arg, "value", None) for arg in part.layer.args] == [number, 3]  # type: ignore[union-attr]
                       for number, part in enumerate(parts))
        stem = projection.name.removesuffix("in_proj")
        if not is_whole or stem == projection.name or last.name != stem + "out_proj" or \
                projection.shape[2] != 3 * channels or last.shape[2] != channels:
            continue
        tensors = lowered.tensors
        has_bias = stem + "in_proj.bias" in tensors
        if has_bias != (stem + "out_proj.bias" in tensors):
            continue
        for kind in ("weight", "bias") if has_bias else ("weight",):
            tensors[f"{stem}in_proj_{kind}"] = tensors.pop(f"{stem}in_proj.{kind}")
        heads = attention.layer.args[0]  # type: ignore[union-attr]
        args: tuple = (Name(stem.removesuffix(".")), heads)
        if not has_bias or attention.sides:
            args += (Code(f"zp::with_bias::{'yes' if has_bias else 'no'}"),)
        last.layer, last.inputs, last.sides = Layer("zp::self_attention", args, HEADER), projection.inputs, attention.sides
        last.name, last.count, last.path = stem.removesuffix("."), 12, attention.path
        for gone in (projection, *parts, attention):
            lowered.rows.remove(gone)


def is_of(row: Row, template: str) -> bool:
    """Whether a row has this layer."""
    return row.layer is not None and row.layer.template == template
