"""The graph between front ends and layers: values, nodes, constants.

Operators are neutral; front/ says which ONNX and aten operators become which of them, lower/ which layers they become:

    conv, conv_transpose, batch_norm, linear, matmul, unary, prelu, binary, pool, adaptive_avg_pool, reduce, softmax,
    log_softmax, layer_norm, group_norm, embedding, rnn, resize, pad, reshape, permute, slice, concat, expand, flip, roll,
    gather, pixel_shuffle, pixel_unshuffle, argmax, where

Anything else, such as `aten.grid_sampler`, is kept under its own name and reported when the graph is lowered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(eq=False)
class Value:
    """A tensor. A constant has data, and the name that the source gives it (its key in a state dict)."""

    name: str
    shape: tuple[int, ...]
    is_integer: bool = False
    data: np.ndarray | None = None


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


@dataclass
class Graph:
    """A model: what goes in, what comes out, and the nodes in an order in which they can run."""

    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    title: str = "net"    # the class or file that it was made of
    source: str = ""      # for the head comment: what it was read from
    notes: list[str] = field(default_factory=list)
    given: list[Value] = field(default_factory=list)  # all inputs of the source, those that nothing needs too
    program: Any = None   # the decomposed program of torch.export, for comparing values in between

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

    def consumers(self, value: Value) -> list[Node]:
        """The nodes that read a value."""
        return [node for node in self.nodes if any(v is value for v in node.inputs)]


def constant(name: str, data: Any) -> Value:
    """A value that is known."""
    array = np.asarray(data)
    is_integer = array.dtype.kind in "iub"
    return Value(name, tuple(array.shape), is_integer, array)
