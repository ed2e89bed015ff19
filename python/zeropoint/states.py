# SPDX-License-Identifier: BSD-3-Clause
"""Networks that are given the states of their recurrent layers and give them back, as Keras's stateful layers keep them: here
zp::streaming does step by step, or zp::stateful frame by frame, and the network has neither as a port."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from zeropoint.errors import ZeropointError
from zeropoint.ir import Graph, Node, State, Value
from zeropoint.lower.context import Lowered, Port

FRAMES = "frames"
Stateful = int | str
"""How many calls of the source a sequence has, which zp::streaming runs step by step; or FRAMES: each call is one of zp::stateful's."""

MOVES = {"reshape", "permute", "slice", "concat", "identity"}  # what only brings values to other places

Place = tuple[int, int]
"""A recurrent node and which of its states: 1 is h, 2 the c of an LSTM; as its inputs and outputs are numbered."""


def keep_states(graph: Graph, keeper: str) -> None:
    """Takes the states out of the inputs and outputs, and says in graph.states which they were. Raises ZeropointError where a state that
    goes in does not come out, or where the keeper would keep one that the source does not."""
    drop_neutral(graph)
    coming = {id(value): places for value in graph.inputs if (places := places_behind(graph, value))}
    going = {id(value): places for value in graph.outputs if (places := places_before(graph, value))}
    if not coming:
        raise ZeropointError("--stateful: no recurrent layer of this model takes its first state from an input, so that there is no state "
                             "to keep; import it without")
    states = []
    for value in graph.inputs:
        if id(value) in coming:
            found = [number for number, out in enumerate(graph.outputs)
                     if going.get(id(out)) == coming[id(value)] and out.shape == value.shape]
            if not found:
                raise ZeropointError(f"--stateful: the state \"{value.name}\" goes in, and no output of {extents_of(value)} has the last state of "
                                     "the same layers, so that nothing tells what goes in with the next call")
            states.append(State(value, graph.outputs[found[0]], found[0]))
    check_layers(graph, {place for places in coming.values() for place in places}, keeper)
    for node in graph.nodes:
        if node.op == "rnn":
            node.inputs, node.attrs["stateful"] = node.inputs[:1], True
    graph.states, graph.keeper, graph.all_outputs = states, keeper, list(graph.outputs)
    gone = {id(state.coming) for state in states} | {id(state.going) for state in states}
    if graph.output_names:
        graph.output_names = [name for name, out in zip(graph.output_names, graph.outputs) if id(out) not in gone]
    graph.outputs = [out for out in graph.outputs if id(out) not in gone]
    graph.drop_dead_nodes()
    if len(graph.inputs) != 1 and keeper == "zp::streaming":
        names = ", ".join(value.name for value in graph.inputs) or "none"
        raise ZeropointError(f"--stateful: expected one input beside the states, as zp::streaming takes one, found {names}")


def drop_neutral(graph: Graph) -> None:
    """Sums with zeros and products with ones change nothing, such as 0 * rate of a rate that is always the same."""
    neutral = {"add": 0, "sub": 0, "mul": 1, "div": 1}
    for node in graph.nodes:
        kind = node.attrs.get("kind") if node.op == "binary" else None
        if kind not in neutral:
            continue
        pairs = [(0, 1), (1, 0)] if kind in ("add", "mul") else [(0, 1)]
        for at, other in pairs:
            value, constant = node.inputs[at], node.inputs[other]
            if value is not None and value.data is None and value.shape == node.outputs[0].shape and constant is not None and \
                    constant.data is not None and np.all(constant.data == neutral[kind]):
                node.op, node.inputs, node.attrs = "identity", [value], {}
                break


def extents_of(value: Value) -> str:
    """1x1x24"""
    return "x".join(map(str, value.shape))


def places_behind(graph: Graph, value: Value) -> set[Place]:
    """The first states that a value goes into; none where it goes anywhere else."""
    places: set[Place] = set()
    pending = [value]
    while pending:
        moved = pending.pop()
        for node in graph.consumers(moved):
            if node.op in MOVES:
                pending.extend(node.outputs)
            elif node.op == "rnn" and node.inputs[0] is not moved:
                places.update((id(node), i) for i, given in enumerate(node.inputs) if given is moved)
            else:
                return set()
    return places


def places_before(graph: Graph, value: Value) -> set[Place]:
    """The last states that a value is made of; none where it is made of anything else."""
    makers = {id(out): (node, i) for node in graph.nodes for i, out in enumerate(node.outputs)}
    places: set[Place] = set()
    pending = [value]
    while pending:
        node, number = makers.get(id(pending.pop()), (None, 0))
        if node is not None and node.op in MOVES:
            pending.extend(given for given in node.inputs if given is not None)
        elif node is not None and node.op == "rnn" and (number or node.attrs.get("is_cell")):
            places.add((id(node), number or 1))  # what a cell gives is its state
        else:
            return set()
    return places


def check_layers(graph: Graph, kept: set[Place], keeper: str) -> None:
    """That all states of all recurrent layers come in, and none goes backwards."""
    for node in graph.nodes:
        if node.op != "rnn":
            continue
        name = node.origin.name
        if node.attrs["bidirectional"]:
            raise ZeropointError(f"--stateful: the {node.attrs['cell']} {name} goes both ways, so that it has to see all of a sequence first")
        if any((id(node), i) not in kept for i in range(1, 3 if node.attrs["cell"] == "lstm" else 2)):
            raise ZeropointError(f"--stateful: the {node.attrs['cell']} {name} begins with a state of its own in each call, where {keeper} "
                                 "keeps the states of all recurrent layers")


class stateful_runner:
    """A source that is called one time after another, the states that came out going in again. They are zeros at first."""

    def __init__(self, runner: Any, graph: Graph) -> None:
        self.runner = runner
        self.whole = replace(graph, outputs=graph.all_outputs)
        self.kept = [out for out in range(len(graph.all_outputs)) if all(state.number != out for state in graph.states)]
        self.states = {state.coming.name: np.zeros(state.coming.shape, np.float32) for state in graph.states}

    def __call__(self, graph: Graph, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs but for the states."""
        outputs = self.runner(self.whole, {**arrays, **self.states})
        self.states = {state.coming.name: outputs[state.number] for state in graph.states}
        return [outputs[number] for number in self.kept]


def sequence_ports(ports: list[Port], calls: int) -> list[Port]:
    """Of so many calls of the source, one behind the other."""
    return [sequence_port(port, calls) for port in ports]


def sequence_port(port: Port, calls: int) -> Port:
    """Longer along the axis of time, which is the outermost in memory. Where a call has one step, that is whichever axis of one lies in
    front of the features, or a new one."""
    height, width, channels = port.shape
    if height != 1:
        raise ZeropointError(f"--stateful: expected a sequence of features, found {height}x{width}x{channels} in \"{port.name}\", which "
                             "zp::streaming does not take step by step")
    extents, order = port.extents, port.order
    if width == 1:
        if 1 not in extents:
            extents, order = (1, *extents), tuple(axis + 1 for axis in order)
        free = [axis for axis, n in enumerate(extents) if n == 1]
        time = max((axis for axis in free if axis < min(order, default=len(extents))), default=free[0])
        order = (time, *order) if calls != 1 else order
    else:
        time = order[0]
    extents = tuple(n * calls if axis == time else n for axis, n in enumerate(extents))
    return replace(port, extents=extents, shape=(height, width * calls, channels), order=order)


def of_sequences(lowered: Lowered, calls: int) -> Lowered:
    """The same rows with longer inputs and outputs."""
    return replace(lowered, inputs=sequence_ports(lowered.inputs, calls), outputs=sequence_ports(lowered.outputs, calls))


def notes_of(graph: Graph, stateful: Stateful) -> Iterator[str]:
    """For the head comment, which verify reads again."""
    for state in graph.states:
        name = f"\"{state.going.name}\"" if graph.program is None else f"output {state.number} of the module, counted from 0"
        yield f"The state \"{state.coming.name}\", which comes out as {name}, is kept by {graph.keeper}."
    if graph.keeper == "zp::stateful":
        yield "Stateful: a call is a frame, and calls follow one another."
    else:
        yield f"Stateful: a sequence here is {stateful} calls of the source."
