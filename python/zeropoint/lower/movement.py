# SPDX-License-Identifier: BSD-3-Clause
"""What only moves values, or only renames their axes."""

from __future__ import annotations

from zeropoint.errors import Refused
from zeropoint.ir import Node
from zeropoint.layers import Code, Layer, Number, Options, Row, square
from zeropoint.layout import Atoms, Layout
from zeropoint.lower.align import common_atoms, constant_row, cuts_of
from zeropoint.lower.context import Context, Val, lowers
from zeropoint.lower.filters import image_layout, spatial

PLACES = ("height", "width", "channels")


@lowers("reshape")
def lower_reshape(context: Context, node: Node) -> None:
    """Another view of the axes; a row only where axes are cut or joined that do not lie so."""
    val = context.get(node.inputs[0])
    extents = node.outputs[0].shape
    layout = val.layout.reshaped(extents)
    if layout is None:
        val = context.row_major(val)
        flat = val.layout.row_major()
        layout = flat.reshaped(extents)
        if layout is None:
            raise AssertionError("a row-major value takes any shape")
    before = len(val.layout.extents)
    is_flat = not node.attrs.get("picks") and len(extents) == 2 and before >= 3 and extents[0] == val.layout.extents[0]
    context.set(node.outputs[0], Val(val.row, layout, is_flat or val.flat and len(extents) == 2))


@lowers("permute")
def lower_permute(context: Context, node: Node) -> None:
    """Nothing moves here."""
    val = context.get(node.inputs[0])
    context.set(node.outputs[0], Val(val.row, val.layout.permuted(node.attrs["order"])))


@lowers("identity")
def lower_identity(context: Context, node: Node) -> None:
    """Nothing at all."""
    context.set(node.outputs[0], context.get(node.inputs[0]))


def as_group(context: Context, val: Val, axis: int) -> tuple[Val, int]:
    """The value with all atoms of an axis as one of height, width, channels, and which."""
    atoms = val.layout.axes[axis]
    if atoms in val.layout.groups:
        return val, val.layout.groups.index(atoms)
    if not atoms:
        raise Refused("axis", "this axis has an extent of 1")
    for groups in cuts_of(val.layout.memory):
        if atoms in groups:
            return context.arrange(val, *groups), groups.index(atoms)
    channels = val.layout.groups[2]
    if channels in val.layout.axes and channels != atoms:  # they stay innermost, the others as the source has them
        others = [a for a in val.layout.source if a not in channels and a not in atoms]
        first = val.layout.source.index(atoms[0])
        before = tuple(a for a in others if val.layout.source.index(a) < first)
        after = tuple(a for a in others if a not in before)
        if not before:
            return context.arrange(val, atoms, after, channels), 0
        return context.arrange(val, before, atoms, after + channels), 1
    val = context.innermost(val, atoms)
    return val, 2


def as_groups(context: Context, val: Val, axes: list[int]) -> Val:
    """The value with all atoms of each of some axes as one of height, width, channels."""
    wanted = [val.layout.axes[axis] for axis in axes]
    if len(axes) == 1 or not all(wanted):
        return as_group(context, val, next((a for a in axes if not val.layout.axes[a]), axes[0]))[0]
    for groups in (val.layout.groups, *cuts_of(val.layout.memory)):
        if all(atoms in groups for atoms in wanted):
            return context.arrange(val, *groups)
    rest = tuple(a for a in val.layout.memory if not any(a in atoms for atoms in wanted))
    places = [rest, *wanted] if rest or len(wanted) < 3 else wanted
    if len(places) > 3:
        raise Refused("axis", f"{len(wanted)} axes change beside others, where three are all there are")
    return context.arrange(val, *places)


def outer_group(layout: Layout, atoms: Atoms) -> int | None:
    """The group that begins with these atoms, so that a range of them is a range of the group."""
    return next((i for i in (2, 1, 0) if layout.groups[i][:len(atoms)] == atoms and atoms), None)


def resized(layout: Layout, axis: int, group: int, extent: int, count: int) -> Layout:
    """Of another extent along an axis, whose atoms are the first `count` of a group."""
    fresh = Layout.fresh((extent,), (0,))
    old = layout.axes[axis]
    groups = list(layout.groups)
    groups[group] = fresh.axes[0] + groups[group][count:]
    axes = tuple(fresh.axes[0] if i == axis else x for i, x in enumerate(layout.axes))
    kept = {a: n for a, n in layout.sizes.items() if a not in old}
    return Layout(axes, tuple(groups), kept | fresh.sizes)  # type: ignore[arg-type]


@lowers("slice")
def lower_slice(context: Context, node: Node) -> None:
    """A range of an axis, a chunk where it is one of equal parts."""
    val = context.get(node.inputs[0])
    axis, begin, end, step = (node.attrs[key] for key in ("axis", "begin", "end", "step"))
    atoms = val.layout.axes[axis]
    whole = val.layout.extents[axis]
    extent = node.outputs[0].shape[axis]
    if extent == whole:
        context.set(node.outputs[0], val)
        return
    group = outer_group(val.layout, atoms) if step == 1 else None
    if group is None:
        val, group = as_group(context, val, axis)
    inner = val.layout.size(val.layout.groups[group][len(atoms):])
    place = Code(f"zp::axis::{PLACES[group]}")
    if step == 1 and whole % extent == 0 and begin % extent == 0 and (extent > 1 or whole <= 4):
        parts = (Number(begin // extent, "Part"), Number(whole // extent, "Parts"))
        layer = Layer("zp::chunk", parts if group == 2 else (*parts, place), "slice.hpp")
    else:
        args = (place, Number(begin * inner, "Begin"), Number(end * inner, "End"))
        layer = Layer("zp::slice", args if step == 1 else (*args, Number(step, "Step")), "slice.hpp")
    context.put(node, layer, [val.row], resized(val.layout, axis, group, extent, len(atoms)))


@lowers("gather")
def lower_gather(context: Context, node: Node) -> None:
    """Constant indices along an axis."""
    val = context.get(node.inputs[0])
    axis, indices = node.attrs["axis"], node.attrs["indices"]
    val, group = as_group(context, val, axis)
    layer = Layer("zp::gather", (Code(f"zp::axis::{PLACES[group]}"), *(Number(i, "Index") for i in indices)), "gather.hpp")
    context.put(node, layer, [val.row], resized(val.layout, axis, group, len(indices), len(val.layout.axes[axis])))


@lowers("concat")
def lower_concat(context: Context, node: Node) -> None:
    """Values one behind the other along an axis: zp::concat along the channels, else zp::stack."""
    axis, extents = node.attrs["axis"], node.outputs[0].shape
    if len(node.inputs) == 1:
        context.set(node.outputs[0], context.get(node.inputs[0]))
        return
    computed = [value for value in node.inputs if value.data is None]
    if not computed:
        raise Refused("computed_operand", "all that is joined is constant")
    first = max((context.get(value) for value in computed), key=lambda val: len(val.layout.memory))
    layout = first.layout
    atoms = layout.axes[axis]
    if atoms and atoms in layout.groups:
        group = layout.groups.index(atoms)
        rest = list(layout.groups)
        rest[group] = ()
    elif atoms:
        first, group = as_group(context, first, axis)
        layout = first.layout
        rest = [g if i != group else () for i, g in enumerate(layout.groups)]
    else:
        group = next((i for i in (1, 0) if not layout.groups[i]), 0)
        rest = list(layout.groups)
    rows: list[Row] = []
    for value in node.inputs:
        if value.data is not None:
            own = Layout.fresh((value.shape[axis],), (0,))
            axes = tuple(own.axes[0] if i == axis else x for i, x in enumerate(layout.axes))
            groups = list(rest)
            groups[group] = own.axes[0] + rest[group]
            here = Layout(axes, tuple(groups),  # type: ignore[arg-type]
                          {a: n for a, n in layout.sizes.items() if a not in atoms} | own.sizes)
            rows.append(constant_row(context, value.name, value.data, here, value.shape))
            continue
        val = context.get(value)
        reference, mine = common_atoms(layout, val.layout, axis)
        if len(reference.memory) != len(layout.memory):
            raise Refused("axis", "values whose axes lie too differently in memory")
        back = {new: old for new, old in zip(reference.source, layout.source)}
        mine = Layout(tuple(tuple(back.get(a, a) for a in x) for x in mine.axes),
                      tuple(tuple(back.get(a, a) for a in g) for g in mine.groups),  # type: ignore[arg-type]
                      {back.get(a, a): n for a, n in mine.sizes.items()})
        groups = list(rest)
        groups[group] = mine.axes[axis] + rest[group]
        rows.append(context.arrange(Val(val.row, mine), *groups).row)
    template, header = ("zp::concat", "") if group == 2 else ("zp::stack", "gather.hpp")
    args = () if group == 2 else (Code(f"zp::axis::{PLACES[group]}"),)
    own = Layout.fresh((extents[axis],), (0,))
    groups = list(rest)
    groups[group] = own.axes[0] + rest[group]
    made = Layout(tuple(own.axes[0] if i == axis else x for i, x in enumerate(layout.axes)),
                  tuple(groups), {a: n for a, n in layout.sizes.items() if a not in atoms} | own.sizes)  # type: ignore
    while len(rows) > 8:  # a concat has at most eight branches
        nested = [rows[i:i + 8] for i in range(0, len(rows), 8)]
        rows = [part[0] if len(part) == 1 else context.row(Layer(template, args, header), part, joined(part, group))
                for part in nested]
    context.put(node, Layer(template, args, header), rows, made)


def joined(rows: list[Row], group: int) -> tuple[int, int, int]:
    """The shape of rows one behind the other."""
    shape = list(rows[0].shape)
    shape[group] = sum(row.shape[group] for row in rows)
    return tuple(shape)  # type: ignore[return-value]


@lowers("expand")
def lower_expand(context: Context, node: Node) -> None:
    """Axes of extent 1, repeated."""
    from zeropoint.lower.elementwise import expanded

    val = context.get(node.inputs[0])
    if node.outputs[0].shape == val.layout.extents:
        context.set(node.outputs[0], val)
        return
    val, layout = expanded(context, val, node.outputs[0].shape)
    context.put(node, Layer("zp::expand", tuple(Number(n, "Extent") for n in layout.shape), "permute.hpp"), [val.row],
                layout)


@lowers("flip")
def lower_flip(context: Context, node: Node) -> None:
    """Axes backwards, a row each."""
    val = context.get(node.inputs[0])
    for axis in node.attrs["axes"]:
        if val.layout.extents[axis] == 1:
            continue
        val, group = as_group(context, val, axis)
        row = context.row(Layer("zp::flip", (Code(f"zp::axis::{PLACES[group]}"),), "permute.hpp"), [val.row],
                          val.layout.shape)
        val = Val(row, val.layout)
    context.set(node.outputs[0], val)


@lowers("roll")
def lower_roll(context: Context, node: Node) -> None:
    """Values that leave an axis come in at its other end."""
    val = context.get(node.inputs[0])
    for axis, shift in zip(node.attrs["axes"], node.attrs["shifts"]):
        val, group = as_group(context, val, axis)
        shifts = [0, 0, 0]
        shifts[group] = shift
        args = tuple(Number(n, "Shift") for n in (shifts if shifts[2] else shifts[:2]))
        row = context.row(Layer("zp::roll", args, "permute.hpp"), [val.row], val.layout.shape)
        val = Val(row, val.layout)
    context.set(node.outputs[0], val)


@lowers("pad")
def lower_pad(context: Context, node: Node) -> None:
    """Values around an image. Zeros in front of a convolution become its padding when the network is fused."""
    val = context.get(node.inputs[0])
    begin, end, mode = node.attrs["begin"], node.attrs["end"], node.attrs["mode"]
    value = node.attrs.get("value", 0.0)
    axes = [i for i in range(len(begin)) if begin[i] or end[i]]
    rank = len(begin)
    if rank in (3, 4) and axes and min(axes) >= 2 and val.layout.extents[0] == 1:
        val, _ = spatial(context, node)
    sides = {0: (0, 0), 1: (0, 0), 2: (0, 0)}
    if any(n < 0 for n in (*begin, *end)):
        raise Refused("attribute", "a padding below 0")
    if mode == "circular" and any(max(begin[i], end[i]) > val.layout.extents[i] for i in axes):
        raise Refused("attribute", "a circular padding of more than there is to repeat")
    if axes:
        val = as_groups(context, val, axes)
    layout = val.layout
    for axis in axes:
        if layout.axes[axis] not in layout.groups:
            raise Refused("axis", "a padding along several axes, one of which has no place of its own")
        group = layout.groups.index(layout.axes[axis])
        sides[group] = (begin[axis], end[axis])
        layout = resized(layout, axis, group, layout.extents[axis] + begin[axis] + end[axis], len(layout.axes[axis]))
    (top, bottom), (left, right), (front, back) = sides[0], sides[1], sides[2]
    numbers = [left, right, top, bottom] + ([front, back] if front or back else [])
    text = str(left) if len(set(numbers)) == 1 and len(numbers) == 4 else ", ".join(map(str, numbers))
    code = Code(f"zp::sides{{{text}}}")
    if mode == "constant" and value == 0:
        layer = Layer("zp::pad", (code,), "pad.hpp")
    elif mode == "constant":
        from zeropoint.lower.elementwise import thousandths
        layer = Layer("zp::constant_pad2d", (code, Number(thousandths(value, "a padding"), "Thousandths")), "pad.hpp")
    else:
        names = {"reflect": "zp::reflection_pad2d", "replicate": "zp::replication_pad2d", "circular": "zp::circular_pad2d"}
        layer = Layer(names[mode], (code,), "pad.hpp")
    context.put(node, layer, [val.row], layout)


@lowers("pixel_shuffle", "pixel_unshuffle", "depth_to_space", "space_to_depth")
def lower_shuffle(context: Context, node: Node) -> None:
    """Channels to pixels and back."""
    val, _ = spatial(context, node)
    context.put(node, Layer(f"zp::{node.op}", (Number(node.attrs["factor"], "Factor"),), "shuffle.hpp"), [val.row],
                image_layout(node.outputs[0].shape))


@lowers("resize")
def lower_resize(context: Context, node: Node) -> None:
    """zp::upsample of a whole factor, else zp::interpolate."""
    val, along = spatial(context, node)
    before, after, mode = node.inputs[0].shape[2:], node.outputs[0].shape[2:], node.attrs["mode"]
    code = Code(f"zp::resize_mode::{mode}")
    factors = {n // m for m, n in zip(before, after)}
    if along == 2 and len(factors) == 1 and all(n % m == 0 for m, n in zip(before, after)):
        factor = Number(factors.pop(), "Factor")
        layer = Layer("zp::upsample", (factor,) if mode == "nearest" else (factor, code), "interpolate.hpp")
    else:
        size = square((1, after[0]) if along == 1 else (after[0], after[1]))
        fields = (("size", size), ("mode", code))
        options = Options("zp::resize", fields, (("size", None), ("mode", Code("zp::resize_mode::nearest"))))
        layer = Layer("zp::interpolate", (options,), "interpolate.hpp")
    context.put(node, layer, [val.row], image_layout(node.outputs[0].shape))
