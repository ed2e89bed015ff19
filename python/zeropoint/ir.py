# SPDX-License-Identifier: BSD-3-Clause
"""The graph between front ends and layers: values, nodes, constants.

Operators are neutral; front/ says which ONNX and aten operators become which of them, lower/ which layers they become:

    conv, conv_transpose, batch_norm, linear, matmul, unary, prelu, binary, pool, adaptive_avg_pool, reduce, softmax,
    log_softmax, layer_norm, group_norm, embedding, rnn, resize, pad, reshape, permute, slice, concat, expand, flip, roll,
    gather, pixel_shuffle, pixel_unshuffle, argmax, cast, compare, logical, where, masked_softmax, attention, rms_norm

Conditions are 0 and 1, and are integers to the source.

Anything else, such as `aten.grid_sampler`, is kept under its own name and reported when the graph is lowered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

NO_TABLE = 2**31  # rows, as all integers of 32 bits that are no less than 0 are below it


@dataclass(frozen=True, eq=False)
class Coding:
    """How a source of integers has a value: real = scale * (code - zero_point). Activations have one of each.

    source: the tensor there, and order: which of its axes is which of the value's, where a front end has permuted them.
    codes: of a constant, in its shape; axis: that along which there are several scales.
    """

    dtype: str  # int8, uint8, int16, int32
    scale: np.ndarray  # float32, one or one a channel
    zero_point: np.ndarray  # int64, as many
    axis: int = 0
    source: Any = None
    order: tuple[int, ...] | None = None
    codes: np.ndarray | None = None

    @property
    def grid(self) -> tuple[str, float, int]:
        """Of an activation."""
        return self.dtype, float(self.scale[0]), int(self.zero_point[0])

    @property
    def limits(self) -> tuple[int, int]:
        """The lowest and the highest code of the dtype."""
        about = np.iinfo(self.dtype)
        return int(about.min), int(about.max)

    def real(self, codes: np.ndarray) -> np.ndarray:
        """float32, each operation rounded."""
        steps = (codes.astype(np.int64) - self.spread(self.zero_point, codes.ndim)).astype(np.float32)
        return steps * self.spread(self.scale, codes.ndim)

    def spread(self, values: np.ndarray, rank: int) -> np.ndarray:
        """One a channel, along the axis of an array of so many."""
        return values.reshape([-1 if i == self.axis else 1 for i in range(rank)]) if values.size > 1 else values.reshape(())


@dataclass(eq=False)
class Value:
    """A tensor. A constant has data, and the name that the source gives it (its key in a state dict)."""

    name: str
    shape: tuple[int, ...]
    is_integer: bool = False
    data: np.ndarray | None = None
    coding: Coding | None = None  # where the source has it in integers
    is_mask: bool = False  # an input of integers that goes into no table: 0 or 1
    is_state: bool = False  # an input that goes into first states alone, whose first axis is no batch
    is_number: bool = False  # an input of integers that is one of floats here
    part: int = 0  # which of a node's outputs, where all have its name
    dtype: str = ""  # of an input of integers or truths: as the source has it, by numpy's name


@dataclass(frozen=True)
class Origin:
    """Where a node comes from: its name, the modules that it is inside of (path, class), outermost first, its source line."""

    name: str
    modules: tuple[tuple[str, str], ...] = ()
    source: str = ""


@dataclass(eq=False)
class Node:
    """An operator over values; an input may be None where it is optional."""

    op: str
    inputs: list[Value | None]
    outputs: list[Value]
    attrs: dict[str, Any]
    origin: Origin
    why: tuple[str, str] | None = None  # reason and text, where a front end found that it cannot be


@dataclass(frozen=True)
class State:
    """Of recurrent layers, which a source takes as an input and gives as its output of this number."""

    coming: Value
    going: Value
    number: int


@dataclass
class Graph:
    """A model: what goes in, what comes out, and the nodes in an order in which they can run."""

    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)  # of each output, where the source has others than the values'; "" where not
    nodes: list[Node] = field(default_factory=list)
    title: str = "net"    # the class or file that it was made of
    source: str = ""      # for the head comment: what it was read from
    notes: list[str] = field(default_factory=list)
    given: list[Value] = field(default_factory=list)  # all inputs of the source, those that nothing needs too
    fired: dict[str, int] = field(default_factory=dict)  # patterns that became one layer, and how often
    examples: dict[str, np.ndarray] = field(default_factory=dict)  # of inputs, where they are known
    states: list[State] = field(default_factory=list)  # that are neither inputs nor outputs any more: zeropoint.states
    keeper: str = ""  # of states: zp::streaming or zp::stateful
    all_outputs: list[Value] = field(default_factory=list)  # with these
    program: Any = None   # the decomposed program of torch.export, for comparing values in between

    @property
    def is_coded(self) -> bool:
        """Whether the source computes in integers."""
        return any(out.coding is not None for node in self.nodes for out in node.outputs)

    def add(self, op: str, inputs: list[Value | None], shape: tuple[int, ...], origin: Origin, *,
            is_integer: bool = False, name: str = "", why: tuple[str, str] | None = None, **attrs: Any) -> Value:
        """Appends a node of one output, which it returns."""
        out = Value(name or f"{origin.name}", tuple(int(n) for n in shape), is_integer)
        self.nodes.append(Node(op, inputs, [out], attrs, origin, why))
        return out

    def drop_dead_nodes(self) -> None:
        """Removes what no output needs."""
        alive = {id(value) for value in self.outputs}
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if any(id(out) in alive for out in node.outputs):
                kept.append(node)
                alive.update(id(value) for value in node.inputs if value is not None)
        self.nodes = kept[::-1]
        self.given = self.given or list(self.inputs)
        self.inputs = [value for value in self.inputs if id(value) in alive]

    def tables(self, value: Value) -> list[int]:
        """The rows of the embeddings that an input of integers goes into."""
        return [rows for _, rows in self.readers_of(value)]

    def readers_of(self, value: Value) -> list[tuple[Node, int]]:
        """The embeddings that an input of integers goes into, with the rows of their tables."""
        same = {id(value)}
        found: list[tuple[Node, int]] = []
        for node in self.nodes:
            if node.op in ("reshape", "permute", "identity") and id(node.inputs[0]) in same:
                same.add(id(node.outputs[0]))
            if node.op == "embedding" and id(node.inputs[1]) in same:
                found.append((node, node.inputs[0].shape[0]))  # type: ignore[union-attr]
        return found

    def table_parts(self, value: Value) -> list[tuple[int, int]]:
        """Where the integers of an input go into several tables, part by part: (first, rows of the smallest table) of each run of integers
        that have the same, in the order of the source. Empty where all have one."""
        below = np.full(int(np.prod(value.shape)), NO_TABLE)
        for node in self.nodes:
            if node.op == "embedding" and node.inputs[1] is value and "first" in node.attrs:
                first, count = node.attrs["first"], int(np.prod(node.attrs["shape"]))
                below[first:first + count] = np.minimum(below[first:first + count], node.inputs[0].shape[0])  # type: ignore[union-attr]
        below = np.minimum(below, min((rows for node, rows in self.readers_of(value) if "first" not in node.attrs), default=NO_TABLE))
        starts = [0, *(np.flatnonzero(np.diff(below)) + 1).tolist()]
        return [(at, int(below[at])) for at in starts] if len(starts) > 1 else []

    def consumers(self, value: Value) -> list[Node]:
        """The nodes that read a value."""
        return [node for node in self.nodes if any(v is value for v in node.inputs)]


def constant(name: str, data: Any) -> Value:
    """A value that is known."""
    array = np.asarray(data)
    is_integer = array.dtype.kind in "iub"
    return Value(name, tuple(array.shape), is_integer, array)
