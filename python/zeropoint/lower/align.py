# SPDX-License-Identifier: BSD-3-Clause
"""Two values under one layout: what operators of several values need."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from zeropoint.errors import Refused
from zeropoint.layers import Layer, Name, Number, Row
from zeropoint.layout import Atoms, Layout
from zeropoint.lower.context import Context, Val, is_made_up, runs_of


def with_rank(layout: Layout, rank: int) -> Layout:
    """With axes of extent 1 in front, as broadcasting adds them."""
    return Layout(((),) * (rank - len(layout.axes)) + layout.axes, layout.groups, layout.sizes)


def refined(layout: Layout, parts: list[list[int]]) -> Layout | None:
    """With each axis made of atoms of at most these extents; None where that cannot be."""
    cut = layout.reshaped(tuple(n for part in parts for n in part))
    if cut is None:
        return None
    axes: list[Atoms] = []
    at = 0
    for part in parts:
        axes.append(tuple(a for axis in cut.axes[at:at + len(part)] for a in axis))
        at += len(part)
    return Layout(tuple(axes), cut.groups, cut.sizes)


def extents_of_atoms(layout: Layout, axis: int) -> list[int]:
    """Of an axis."""
    return [layout.sizes[a] for a in layout.axes[axis]]


def common_atoms(a: Layout, b: Layout, besides: int = -1) -> tuple[Layout, Layout]:
    """Both with the same atoms along each axis that both have, but for one axis; b has the atoms of a there."""
    def wanted(of: Layout, like: Layout, i: int) -> list[int]:
        both = i != besides and of.axes[i] and like.axes[i]
        return extents_of_atoms(like if both else of, i) or [1]

    axes = range(len(a.axes))
    b = b.renumbered()  # two views of one value may have its atoms on different axes
    b1 = refined(b, [wanted(b, a, i) for i in axes])
    a1 = refined(a, [wanted(a, b1, i) for i in axes]) if b1 is not None else None
    if a1 is None or b1 is None:
        raise Refused("broadcast", f"values of {a.extents} and {b.extents} lie too differently in memory")
    renamed = {y: x for i in axes if i != besides and a1.axes[i] and b1.axes[i]
               for x, y in zip(a1.axes[i], b1.axes[i])}

    def rename(atoms: Atoms) -> Atoms:
        return tuple(renamed.get(x, x) for x in atoms)

    b2 = Layout(tuple(rename(x) for x in b1.axes), tuple(rename(g) for g in b1.groups),  # type: ignore[arg-type]
                {renamed.get(x, x): n for x, n in b1.sizes.items()})
    return a1, b2


def cuts_of(memory: Atoms) -> list[tuple[Atoms, Atoms, Atoms]]:
    """All ways to cut an order of atoms into height, width and channels."""
    return [(memory[:i], memory[i:j], memory[j:])
            for i, j in combinations_with_replacement(range(len(memory) + 1), 2)]


def whole_groups(layout: Layout, atoms: set[int]) -> tuple[Atoms, Atoms, Atoms] | None:
    """Groups each of which is inside of `atoms` or outside of them, of the same memory: those that are, if they do."""
    def fits(groups: tuple[Atoms, Atoms, Atoms]) -> bool:
        return all(set(group) <= atoms or not set(group) & atoms for group in groups)

    if fits(layout.groups):
        return layout.groups
    return next((groups for groups in cuts_of(layout.memory) if fits(groups)), None)


def constant_row(context: Context, name: str, data: np.ndarray, layout: Layout, extents: tuple[int, ...]) -> Row:
    """zp::constant of an array, laid out as `layout` has its axes; groups of which it has a part are repeated to the whole."""
    array = np.asarray(data, dtype=np.float32)
    array = array.reshape((1,) * (len(extents) - array.ndim) + array.shape)
    cut: list[int] = []
    for axis, n in enumerate(array.shape):
        atoms = layout.axes[axis]
        cut += [layout.sizes[a] for a in atoms] if n != 1 else [1] * len(atoms)
    array = array.reshape(cut)
    place = {a: i for i, a in enumerate(layout.source)}
    array = array.transpose([place[a] for a in layout.memory])
    shape: list[int] = []
    at = 0
    for group in layout.groups:
        mine = array.shape[at:at + len(group)]
        full = tuple(layout.sizes[a] for a in group)
        if any(n != 1 for n in mine):
            target = array.shape[:at] + full + array.shape[at + len(group):]
            array = np.broadcast_to(array, target)
            shape.append(int(np.prod(full)))
        else:
            shape.append(1)
        at += len(group)
    unique = unique_tensor(context, name)
    context.tensor(unique, array.reshape(shape))
    layer = Layer("zp::constant", (Name(unique), *(Number(n, "Extent") for n in shape)), "constant.hpp")
    return context.row(layer, [], tuple(shape), unique, "constant")


def unique_tensor(context: Context, name: str) -> str:
    """A name that no tensor has."""
    stem = context.origin.name + ".constant" if is_made_up(name) else name
    unique, number = stem, 1
    taken = context.result.tensors.keys() | {name for row in context.result.rows for name in (row.title, row.name)}
    while unique in taken:
        number += 1
        unique = f"{stem}_{number}"
    return unique


def is_windows_in_order(a: Layout, b: Layout) -> bool:
    """Whether the same windows lie one behind the other in a, as the source has them, and spread over an image in b."""
    if a.groups[2] != b.groups[2] or sorted(a.memory) != sorted(b.memory):
        return False
    outer = [tuple(x for x in layout.memory if x not in layout.groups[2]) for layout in (a, b)]
    source = tuple(x for x in a.source if x not in a.groups[2])
    runs = [len(runs_of(memory, source)) for memory in outer]
    return runs[0] < runs[1] and runs[1] >= 4


def align_two(context: Context, a: Val, b: Val, rank: int) -> tuple[Val, Val, Layout]:
    """Two operands that broadcast, each in the places of the other's axes, and the layout of what comes of them."""
    la, lb = common_atoms(with_rank(a.layout, rank), with_rank(b.layout, rank))
    swapped = len(lb.memory) > len(la.memory) or is_windows_in_order(lb, la)
    main, other = (lb, la) if swapped else (la, lb)
    extra = [x for x in other.memory if x not in main.sizes]
    sizes = main.sizes | other.sizes
    axes = tuple(x or y for x, y in zip(main.axes, other.axes))
    groups = main.groups
    if extra:  # each has axes of its own: they go where the other has nothing
        merged = []
        for mine, theirs in zip(main.groups, other.groups):
            new = tuple(x for x in theirs if x in extra)
            if mine and new:
                raise Refused("broadcast", f"values of {la.extents} and {lb.extents} repeat along axes that share a place")
            merged.append(mine or new)
        groups = tuple(merged)  # type: ignore[assignment]
        if any(x not in tuple(a for g in groups for a in g) for x in extra):
            raise Refused("broadcast", f"values of {la.extents} and {lb.extents} cannot share height, width and channels")
    whole = Layout(axes, groups, sizes)
    for having in (set(other.sizes), set(main.sizes)):
        found = whole_groups(whole, having)
        if found is None:
            raise Refused("broadcast", f"a value of {other.extents} repeats inside of an axis of {main.extents}")
        whole = whole.with_groups(*found)

    def placed(val: Val, layout: Layout) -> Val:
        mine = [tuple(x for x in group if x in layout.sizes) for group in whole.groups]
        return context.arrange(Val(val.row, layout, val.flat), *mine)

    return placed(a, la), placed(b, lb), whole
