"""Embeddings and recurrent layers."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Node
from zeropoint.layers import Code, Layer, Name, Number, Options
from zeropoint.layout import Layout
from zeropoint.lower.context import Context, Refused, lowers


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
    layout = Layout(ids.layout.axes + columns.axes, ((), ids.layout.memory, columns.groups[2]),
                    ids.layout.sizes | columns.sizes)
    args = (Name(name), Number(table.shape[0], "Rows"), Number(table.shape[1], "Columns"))
    context.put(node, Layer("zp::embedding", args, "embedding.hpp"), [ids.row], layout, name)


@lowers("rnn")
def lower_rnn(context: Context, node: Node) -> None:
    """lstm, gru, rnn from a state of zeros. Outputs: of all steps, and the last state of each direction.

    attrs: cell, hidden, layers, bidirectional, steps (the axis of time), parameters (names to constants).
    """
    attrs = node.attrs
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
    has_bias = any("bias" in key for key in attrs["parameters"])
    directions = 2 if attrs["bidirectional"] else 1
    base = (("layers", attrs["layers"]), ("bidirectional", attrs["bidirectional"]))
    defaults: tuple = (("layers", 1), ("bidirectional", False), ("output", None), ("bias", True))
    if len(used) > 2 and used[2]:
        raise Refused("attribute", "the cell's last state is read, which no layer gives")
    if used[0] and len(used) > 1 and used[1]:
        raise Refused("attribute", "all steps and the last state are both read; read the last step instead")
    if used[0] or len(used) == 1:
        fields = base + (("bias", has_bias),)
        chosen = tuple(d for d in defaults if d[0] != "output")
        options = Options("zp::recurrent_options", fields, chosen)
        out = node.outputs[0].shape
        layout = Layout.fresh(out, (), (steps,), (len(out) - 1,))
        put(context, node, attrs, name, options, val, layout, 0)
        return
    if attrs["layers"] * directions != node.outputs[1].shape[0]:
        raise Refused("attribute", "a last state of unexpected extents")
    if attrs["layers"] != 1:
        raise Refused("attribute", "the last state of all layers; read that of the last one: split the layers")
    fields = base + (("output", Code("zp::recurrent_output::final_state")), ("bias", has_bias))
    options = Options("zp::recurrent_options", fields, defaults)
    out = node.outputs[1].shape  # directions x batch x hidden: side by side in the layer's output
    fresh = Layout.fresh(out, (), (), (0, len(out) - 1))
    put(context, node, attrs, name, options, val, fresh, 1)


def put(context: Context, node: Node, attrs: dict, name: str, options: Options, val: object, layout: Layout,
        output: int) -> None:
    """The row."""
    args: tuple = (Name(name), Number(attrs["hidden"], "Hidden"))
    if any(f[1] != d[1] for f, d in zip(options.fields, options.defaults)):
        args += (options,)
    context.put(node, Layer(f"zp::{attrs['cell']}", args, "lstm.hpp"), [val.row], layout, name, output)  # type: ignore


def torch_gates(array: np.ndarray, order: list[int]) -> np.ndarray:
    """Gates of ONNX, one block of rows each, in PyTorch's order."""
    blocks = np.split(array, len(order), axis=0)
    return np.concatenate([blocks[i] for i in order], axis=0)
