# SPDX-License-Identifier: BSD-3-Clause
"""How a tensor of any rank lies in the height x width x channels of a layer's value.

An axis of the source is a product of atoms; memory is an order of all atoms, cut into height, width and channels. Axes of
extent 1 have no atoms, so that a batch of one needs no care. Reshapes and permutations change which atoms an axis has,
and move nothing: what has to move is known only when an operator wants its axes in certain places.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import prod

Atoms = tuple[int, ...]
_numbers = itertools.count()


@dataclass(frozen=True)
class Layout:
    """axes: the atoms of each source axis. groups: those of height, width, channels, in the order of memory."""

    axes: tuple[Atoms, ...]
    groups: tuple[Atoms, Atoms, Atoms]
    sizes: dict[int, int]

    @staticmethod
    def fresh(extents: tuple[int, ...], height: tuple[int, ...] = (), width: tuple[int, ...] = (),
              channels: tuple[int, ...] = ()) -> Layout:
        """Of a value whose source axes of these numbers are its height, width and channels."""
        axes: list[Atoms] = []
        sizes: dict[int, int] = {}
        for extent in extents:
            if extent == 1:
                axes.append(())
                continue
            atom = next(_numbers)
            sizes[atom] = extent
            axes.append((atom,))
        groups = tuple(tuple(a for i in group for a in axes[i]) for group in (height, width, channels))
        return Layout(tuple(axes), groups, sizes)  # type: ignore[arg-type]

    def size(self, atoms: Atoms) -> int:
        """The product of their extents."""
        return prod(self.sizes[a] for a in atoms)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        return tuple(self.size(group) for group in self.groups)  # type: ignore[return-value]

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the source."""
        return tuple(self.size(axis) for axis in self.axes)

    @property
    def memory(self) -> Atoms:
        """All atoms, the last one innermost."""
        return self.groups[0] + self.groups[1] + self.groups[2]

    @property
    def source(self) -> Atoms:
        """All atoms in the order of the source's axes."""
        return tuple(a for axis in self.axes for a in axis)

    def with_groups(self, height: Atoms, width: Atoms, channels: Atoms) -> Layout:
        """The same axes elsewhere in memory."""
        return Layout(self.axes, (tuple(height), tuple(width), tuple(channels)), self.sizes)

    def permuted(self, order: list[int]) -> Layout:
        """Axis i is what order[i] was."""
        return Layout(tuple(self.axes[i] for i in order), self.groups, self.sizes)

    def split(self, atom: int, inner: int) -> tuple[Layout, int, int]:
        """An atom as two, the second of extent `inner`."""
        a, b = next(_numbers), next(_numbers)
        sizes = dict(self.sizes)
        whole = sizes.pop(atom)
        sizes[a], sizes[b] = whole // inner, inner

        def replaced(atoms: Atoms) -> Atoms:
            return tuple(itertools.chain.from_iterable((a, b) if x == atom else (x,) for x in atoms))

        layout = Layout(tuple(replaced(x) for x in self.axes), tuple(replaced(g) for g in self.groups),  # type: ignore
                        sizes)
        return layout, a, b

    def reshaped(self, extents: tuple[int, ...]) -> Layout | None:
        """Of x.reshape(extents), or None where an atom would have to be cut where no factor of it ends."""
        layout = self
        rest = list(layout.source)
        axes: list[Atoms] = []
        for extent in extents:
            axis: list[int] = []
            while extent != 1:
                if not rest:
                    return None
                atom = rest.pop(0)
                size = layout.sizes[atom]
                if extent % size == 0:
                    axis.append(atom)
                    extent //= size
                elif size % extent == 0:
                    layout, outer, inner = layout.split(atom, size // extent)
                    axes = [tuple(itertools.chain.from_iterable((outer, inner) if x == atom else (x,) for x in done))
                            for done in axes]
                    axis.append(outer)
                    rest.insert(0, inner)
                    extent = 1
                else:
                    return None
            axes.append(tuple(axis))
        return None if rest else Layout(tuple(axes), layout.groups, layout.sizes)

    def row_major(self) -> Layout:
        """As the source has it in memory, in one row: what any reshape can cut."""
        atom = next(_numbers)
        total = self.size(self.source)
        if total == 1:
            return Layout(((),), ((), (), ()), {})
        return Layout(((atom,),), ((), (), (atom,)), {atom: total})

    def renumbered(self) -> Layout:
        """The same of atoms that no other value has."""
        fresh = {atom: next(_numbers) for atom in self.sizes}
        axes, groups = (tuple(tuple(fresh[a] for a in atoms) for atoms in of) for of in (self.axes, self.groups))
        return Layout(axes, groups, {fresh[a]: n for a, n in self.sizes.items()})  # type: ignore[arg-type]

    def without(self, gone: set[int], axes: tuple[Atoms, ...]) -> Layout:
        """The atoms of a reduced value, under new axes."""
        groups = tuple(tuple(a for a in group if a not in gone) for group in self.groups)
        return Layout(axes, groups, {a: n for a, n in self.sizes.items() if a not in gone})  # type: ignore[arg-type]
