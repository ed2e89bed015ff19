# SPDX-License-Identifier: BSD-3-Clause
"""Embeddings and recurrent layers."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import Refused
from zeropoint.ir import Node
from zeropoint.layers import Code, Layer, Name, Number, Options
from zeropoint.layout import Layout
from zeropoint.lower.context import Context, lowers


@lowers("embedding")
def lower_embedding(context: Context, node: Node) -> None:
    """Rows of a table by the integers that go into the model."""
    table = context.data(node.inputs[0], "the table of an embedding")
    ids = context.get(node.inputs[1])
    if ids.row.kind != "input":
        raise Refused("computed_operand", "the indices of an embedding are computed; they must be an input")
    name = context.name_for(node.inputs[0])
    context.tensor(name + ".weight", table)
    columns = Layout.fresh((table.shape[1],), channels=(0,))
    args = [Name(name), Number(table.shape[0], "Rows"), Number(table.shape[1], "Columns")]
    if "first" in node.attrs:
        shape = node.attrs["shape"]
        layout = Layout.fresh((*shape, table.shape[1]), (), tuple(range(len(shape))), (len(shape),))
        options = [("first", node.attrs["first"]), ("count", int(np.prod(shape)))]
        args.append(Options("zp::embedding_options", tuple(options), (("first", 0), ("count", 0))))
        context.put(node, Layer("zp::embedding", tuple(args), "embedding.hpp"), [ids.row], layout, name)
        return
    layout = Layout(ids.layout.axes + columns.axes, ((), ids.layout.memory, columns.groups[2]),
                    ids.layout.sizes | columns.sizes)
    context.put(node, Layer("zp::embedding", tuple(args), "embedding.hpp"), [ids.row], layout, name)


@lowers("cast")
def lower_cast(context: Context, node: Node) -> None:
    """Of an input of indices that is one of floats nothing is left."""
    raise Refused("attribute", "a cast of computed values to integers")


@lowers("rnn")
def lower_rnn(context: Context, node: Node) -> None:
    """lstm, gru, rnn from a state of zeros. Inputs: the sequence, then first states that are not zeros. Outputs: of all steps, and the last
    state of each direction.

    attrs: cell, hidden, layers, bidirectional, steps (the axis of time), parameters (names to constants), stateful.
    """
    attrs = node.attrs
    if any(state is not None for state in node.inputs[1:]):
        raise Refused("computed_operand", f"the first state of this {attrs['cell']} comes in or is not zero: a layer of several steps begins "
                                          "with zeros here; where it is what came out of the call before, --stateful CALLS leaves it to zp::streaming; "
                                          "where it is zeros in every call, --value NAME=0 says so")
    val = context.get(node.inputs[0])
    rank = len(val.layout.extents)
    steps = attrs["steps"]
    if rank == 3 and val.layout.extents[1 - steps] != 1:
        raise Refused("batch", "the batch must be 1: a call takes one sequence")
    val = context.place(val, (), (steps,), (rank - 1,))
    used = [bool(context.graph.consumers(out)) or any(out is v for v in context.graph.outputs) for out in node.outputs]
    name = context.name_for(attrs["first"], ".weight_ih_l0") if attrs.get("first") is not None else \
        context.unique_name(context.origin.name.removesuffix(f".{attrs['cell']}"))
    for key, array in attrs["parameters"].items():
        context.tensor(f"{name}.{key}", array)
    directions = 2 if attrs["bidirectional"] else 1
    if len(used) > 2 and used[2]:
        raise Refused("attribute", "the cell's last state is read, which no layer gives")
    reads_state = len(used) > 1 and used[1]
    if reads_state and attrs["layers"] != 1 and not attrs.get("gives_last"):
        raise Refused("attribute", "the last states of all layers are read, of which a layer gives the last one's: split the "
                                   "layers")
    if used[0] or len(used) == 1 or attrs.get("stateful"):  # a stream has a state after each step
        out = node.outputs[0].shape
        layout = Layout.fresh(out, (), (steps,), (len(out) - 1,))
        put(context, node, attrs, name, "", val, layout, 0)
        if reads_state:
            last_of_steps(context, node, steps, directions)
        return
    out = node.outputs[1].shape  # directions x batch x hidden: side by side in the layer's output
    put(context, node, attrs, name, "final_state", val, Layout.fresh(out, (), (), (0, len(out) - 1)), 1)


def last_of_steps(context: Context, node: Node, steps: int, directions: int) -> None:
    """The last state, of all steps: the last one's, and of what goes backwards the first one's."""
    val = context.get(node.outputs[0])
    count, width = val.layout.extents[steps], val.layout.extents[-1] // directions
    parts = []
    for direction in range(directions):
        row = val.row
        if count != 1:
            at = 0 if direction else count - 1
            args = (Code("zp::axis::width"), Number(at, "Begin"), Number(at + 1, "End"))
            row = context.row(Layer("zp::slice", args, "slice.hpp"), [row], (1, 1, width * directions))
        if directions == 2:
            row = context.row(Layer("zp::chunk", (Number(direction, "Part"), Number(2, "Parts")), "slice.hpp"), [row],
                              (1, 1, width))
        parts.append(row)
    row = parts[0] if directions == 1 else context.row(Layer("zp::concat"), parts, (1, 1, 2 * width))
    out = node.outputs[1].shape
    context.set(node.outputs[1], type(val)(row, Layout.fresh(out, (), (), (0, len(out) - 1))))


def put(context: Context, node: Node, attrs: dict, name: str, output: str, val: object, layout: Layout,
        number: int) -> None:
    """The row."""
    chosen = Code("zp::recurrent_output::" + (output or "all_steps"))
    nonlinearity = Code("zp::rnn_nonlinearity::" + ("relu" if attrs.get("relu") else "tanh"))
    fields: tuple = (("layers", attrs["layers"]), ("bidirectional", attrs["bidirectional"]),
                     ("projection", attrs.get("projection", 0)), ("output", chosen),
                     ("bias", any("bias" in key for key in attrs["parameters"])), ("nonlinearity", nonlinearity))
    defaults: tuple = (("layers", 1), ("bidirectional", False), ("projection", 0),
                       ("output", Code("zp::recurrent_output::all_steps")), ("bias", True),
                       ("nonlinearity", Code("zp::rnn_nonlinearity::tanh")))
    args: tuple = (Name(name), Number(attrs["hidden"], "Hidden"))
    if fields != defaults:
        args += (Options("zp::recurrent_options", fields, defaults),)
    context.put(node, Layer(f"zp::{attrs['cell']}", args, "lstm.hpp"), [val.row], layout, name, number)  # type: ignore


def torch_gates(array: np.ndarray, order: list[int]) -> np.ndarray:
    """Gates of ONNX, one block of rows each, in PyTorch's order."""
    blocks = np.split(array, len(order), axis=0)
    return np.concatenate([blocks[i] for i in order], axis=0)
