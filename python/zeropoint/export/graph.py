# SPDX-License-Identifier: BSD-3-Clause
"""An ONNX graph that is being written: nodes, constants kept once, and values that may lie channels first or last."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np

from zeropoint.errors import need

OPSET = 21


@dataclass
class Value:
    """What a row gives, under a name for each layout that was asked for.

    extents are depth, height, width, channels. "first" is [1, C, H, W], of a volume [1, C, D, H, W]; "last" [1, H, W, C], or
    [1, D, H, W, C]. Of a vector that a flatten made of an image (`flattened`), "first" has the image's values channel by channel and
    "last" pixel by pixel, as memory has them.
    """

    extents: tuple[int, ...]
    forms: dict[str, str]
    flattened: tuple[int, ...] | None = None

    @property
    def layout(self) -> str:
        """One that needs no move."""
        return "first" if "first" in self.forms else "last"

    @property
    def is_volume(self) -> bool:
        """Whether it has a depth."""
        return self.extents[0] != 1


def shape_in(extents: Sequence[int], layout: str) -> list[int]:
    """The shape of a tensor of these extents."""
    pixels = list(extents[:3]) if extents[0] != 1 else list(extents[1:3])
    return [1, extents[3], *pixels] if layout == "first" else [1, *pixels, extents[3]]


def moved_axes(rank: int, to: str) -> list[int]:
    """The permutation from the other layout to this one."""
    return [0, rank - 1, *range(1, rank - 1)] if to == "first" else [0, *range(2, rank), 1]


@dataclass
class Graph:
    """Nodes of one graph; constants are those of all graphs inside it too."""

    helper: Any = field(default_factory=lambda: need("onnx", "onnx").helper)
    nodes: list[Any] = field(default_factory=list)
    initializers: dict[str, Any] = field(default_factory=dict)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    scope: str = ""
    _by_content: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def unique(self, name: str) -> str:
        """The name, with a number where it is taken."""
        made, number = name, 1
        while made in self._used:
            number += 1
            made = f"{name}.{number}"
        self._used.add(made)
        return made

    def const(self, array: Any, name: str = "constant", dtype: Any = None) -> str:
        """An initializer; equal ones are one."""
        array = np.array(array, dtype, order="C")
        key = (str(array.dtype), array.shape, hashlib.sha256(array).digest())
        if key not in self._by_content:
            made = self.unique(name)
            self.initializers[made] = need("onnx", "onnx").numpy_helper.from_array(array, made)
            self._by_content[key] = made
        return self._by_content[key]

    def op(self, kind: str, *inputs: str, name: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """Appends a node; gives the name of its output, or of several a list."""
        base = name or f"{self.scope}.{kind}"
        names = [self.unique(base if outputs == 1 else f"{base}.{i}") for i in range(outputs)]
        self.nodes.append(self.helper.make_node(kind, list(inputs), names, name=f"{names[0]}/{kind}", **attributes))
        return names[0] if outputs == 1 else names

    def inner(self) -> Graph:
        """A graph inside of a node of this one."""
        return Graph(self.helper, scope=self.scope, initializers=self.initializers, _by_content=self._by_content,
                     _used=self._used)

    # What most rows are made of.

    def cast(self, x: str, dtype: Any) -> str:
        """To another type."""
        kinds = {np.uint8: 2, np.int8: 3, np.int32: 6, np.int64: 7, np.float32: 1, np.float64: 11, np.bool_: 9}
        return self.op("Cast", x, to=kinds[dtype])

    def reshape(self, x: str, shape: Sequence[int], name: str = "") -> str:
        """The same values in another shape."""
        return self.op("Reshape", x, self.const(list(shape), "shape", np.int64), name=name)

    def transpose(self, x: str, order: Sequence[int]) -> str:
        """The same values along permuted axes."""
        return self.op("Transpose", x, perm=list(order))

    def slice(self, x: str, axis: int, begin: int, end: int, step: int = 1) -> str:
        """begin, begin + step, ... below end along one axis."""
        of = [self.const([n], "places", np.int64) for n in (begin, end, axis, step)]
        return self.op("Slice", x, *of)

    def rounded(self, real: str, low: int, high: int, zero: int, dtype: Any, *, to: Any = np.uint8, name: str = "") -> str:
        """rne(clamp(real, low - zero, high - zero)) + zero: from floats of `dtype` to places."""
        clamped = self.op("Clip", real, self.const(low - zero, "low", dtype), self.const(high - zero, "high", dtype))
        steps = self.op("Round", clamped)
        if zero != 0:
            steps = self.op("Add", steps, self.const(zero, "zero_point", dtype))
        cast = {np.uint8: 2, np.int32: 6}[to]
        return self.op("Cast", steps, to=cast, name=name)

    def floor_divide(self, x: str, by: Any, bits: int) -> str:
        """floor(x / by) of int64 below 2^bits, where `by` is a power of two of at most 2^bits, or an array of such."""
        by = np.asarray(by, np.int64)
        above = self.op("Add", x, self.const(1 << bits, "above", np.int64))
        quotient = self.op("Div", above, self.const(by, "by", np.int64))
        return self.op("Sub", quotient, self.const((1 << bits) // by, "above", np.int64))

    def shift_down(self, x: str, shift: int, bits: int = 62) -> str:
        """floor(x / 2^shift) of int64 below 2^bits."""
        above = self.op("Add", x, self.const(1 << bits, "above", np.int64))
        return self.op("Sub", self.op("Div", above, self.const(1 << shift, "by", np.int64)),
                       self.const(1 << bits >> shift, "above", np.int64))

    def shift_half_even(self, x: str, shift: int, bits: int = 61) -> str:
        """x / 2^shift of int64 below 2^bits, ties to even."""
        if shift == 0:
            return x
        above = self.op("Add", x, self.const(1 << bits, "above", np.int64))
        by = self.const(1 << shift, "by", np.int64)
        odd = self.op("Mod", self.op("Div", above, by), self.const(2, "two", np.int64))
        raised = self.op("Add", self.op("Add", above, self.const((1 << shift >> 1) - 1, "half", np.int64)), odd)
        return self.op("Sub", self.op("Div", raised, by), self.const(1 << bits >> shift, "above", np.int64))
