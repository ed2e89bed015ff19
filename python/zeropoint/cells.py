# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers of one step whose states come in: products, gates and sums, as there is no layer that is given a state. The states
stay inputs and outputs of the network."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Graph, Node, Value, constant
from zeropoint.states import places_behind


def write_cells_out(graph: Graph) -> None:
    """All that see one step alone, go forward, and are given all of their states."""
    if graph.is_coded:  # integers have layers of their own
        return
    for value in graph.inputs:
        value.is_state = bool(places_behind(graph, value)) or is_taken_apart(graph, value)
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        if is_cell(node):
            Cell(graph, node).write_out()
        else:
            graph.nodes.append(node)


def is_taken_apart(graph: Graph, value: Value) -> bool:
    """Whether all that read an input take one of its first axis, as cells do that the source itself has written out: no batch."""
    readers = [node for node in graph.nodes if value in node.inputs]
    return bool(readers) and all(node.op == "slice" and node.attrs["axis"] == 0 and node.attrs["end"] - node.attrs["begin"] == 1
                                 for node in readers)


def is_cell(node: Node) -> bool:
    """Whether a node is a recurrent layer of one step that is given all states."""
    if node.op != "rnn" or node.attrs["bidirectional"] or node.inputs[0].shape[node.attrs["steps"]] != 1:  # type: ignore[union-attr]
        return False
    states = [state for state in node.inputs[1:] if state is not None and state.data is None]
    return len(states) == (2 if node.attrs["cell"] == "lstm" else 1)


class Cell:
    """One of them. Gates lie as PyTorch has them: i, f, g, o of an LSTM; r, z, n of a GRU."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph, self.node = graph, node
        first = node.attrs["first"]
        self.name = first.name.removesuffix(".weight_ih_l0") if first is not None else node.origin.name

    def make(self, op: str, inputs: list[Value | None], shape: tuple[int, ...], **attrs: object) -> Value:
        """A node of one output."""
        return self.graph.add(op, inputs, shape, self.node.origin, **attrs)

    def linear(self, x: Value, what: str, layer: int) -> Value:
        """By the weights of this name: 1 x inputs to 1 x outputs."""
        parameters, name = self.node.attrs["parameters"], f"{self.name}.{what}_l{layer}"
        weight, bias = parameters[f"weight_{what}_l{layer}"], parameters.get(f"bias_{what}_l{layer}")
        inputs: list[Value | None] = [x, constant(f"{name}.weight", weight)]
        return self.make("linear", inputs if bias is None else [*inputs, constant(f"{name}.bias", bias)], (1, weight.shape[0]))

    def unary(self, kind: str, x: Value) -> Value:
        return self.make("unary", [x], x.shape, kind=kind)

    def binary(self, kind: str, a: Value, b: Value) -> Value:
        return self.make("binary", [a, b], a.shape, kind=kind)

    def gate(self, x: Value, number: int) -> Value:
        """Of those that lie side by side."""
        hidden = self.node.attrs["hidden"]
        return self.make("slice", [x], (1, hidden), axis=1, begin=number * hidden, end=(number + 1) * hidden, step=1)

    def lstm(self, x: Value, layer: int, h: Value, c: Value) -> tuple[Value, Value]:
        """i, f, g, o; c' = f c + i g; h' = o tanh(c'), projected where there is a projection."""
        z = self.binary("add", self.linear(x, "ih", layer), self.linear(h, "hh", layer))
        i, f, o = (self.unary("sigmoid", self.gate(z, number)) for number in (0, 1, 3))
        c = self.binary("add", self.binary("mul", f, c), self.binary("mul", i, self.unary("tanh", self.gate(z, 2))))
        h = self.binary("mul", o, self.unary("tanh", c))
        return (self.linear(h, "hr", layer) if self.node.attrs.get("projection") else h), c

    def gru(self, x: Value, layer: int, h: Value) -> tuple[Value]:
        """r, z, n = tanh(a_n + r b_n); h' = n + z (h - n)."""
        a, b = self.linear(x, "ih", layer), self.linear(h, "hh", layer)
        r, z = (self.unary("sigmoid", self.binary("add", self.gate(a, number), self.gate(b, number))) for number in (0, 1))
        n = self.unary("tanh", self.binary("add", self.gate(a, 2), self.binary("mul", r, self.gate(b, 2))))
        return (self.binary("add", n, self.binary("mul", z, self.binary("sub", h, n))),)

    def rnn(self, x: Value, layer: int, h: Value) -> tuple[Value]:
        """h' = tanh(a + b), or its relu."""
        z = self.binary("add", self.linear(x, "ih", layer), self.linear(h, "hh", layer))
        return (self.unary("relu" if self.node.attrs.get("relu") else "tanh", z),)

    def write_out(self) -> None:
        """Layer behind layer."""
        node, layers = self.node, self.node.attrs["layers"]
        x = self.make("reshape", [node.inputs[0]], (1, node.inputs[0].shape[-1]))  # type: ignore[union-attr]
        lasts: list[list[Value]] = [[] for _ in node.inputs[1:]]
        for layer in range(layers):
            states = [self.state(value, layer) for value in node.inputs[1:]]
            found = getattr(self, node.attrs["cell"])(x, layer, *states)
            for of_kind, last in zip(lasts, found):
                of_kind.append(last)
            x = found[0]
        self.give(0, x)
        for number, of_kind in enumerate(lasts, 1):
            if number < len(node.outputs):
                self.give(number, of_kind[0] if layers == 1 else
                          self.make("concat", list(of_kind), (layers, of_kind[0].shape[1]), axis=0))

    def state(self, value: Value | None, layer: int) -> Value:
        """1 x features of layers x batch x features, or of layers x features."""
        assert value is not None
        one = value if self.node.attrs["layers"] == 1 else self.make(
            "slice", [value], (1, *value.shape[1:]), axis=0, begin=layer, end=layer + 1, step=1)
        return self.make("reshape", [one], (1, int(np.prod(one.shape))))

    def give(self, number: int, value: Value) -> None:
        """An output of the node."""
        self.graph.nodes.append(Node("reshape", [value], [self.node.outputs[number]], {}, self.node.origin))
