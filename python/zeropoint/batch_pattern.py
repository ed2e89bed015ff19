# SPDX-License-Identifier: BSD-3-Clause
"""Several sequences at once inside of a network: they are the rows of an image, whose windows are one row high."""

from __future__ import annotations

from zeropoint.ir import Node, Value, constant
from zeropoint.passes import Rewriter

ONE_ROW = {"stride": 1, "dilation": 1, "output_padding": 0, "kernel": 1}


def rows_of_sequences(r: Rewriter, node: Node) -> bool:
    """A 1-d convolution or pool over N x C x L, N > 1, as a 2-d one over 1 x C x N x L."""
    x = node.inputs[0]
    if node.op not in ("conv", "conv_transpose", "pool") or x is None or len(x.shape) != 3 or x.shape[0] == 1 or \
            len(node.inputs) > 1 and (node.inputs[1] is None or node.inputs[1].data is None):
        return False
    n, c, length = x.shape
    after = node.outputs[0]
    channels, out_length = after.shape[1:]
    name = node.origin.name
    turned, image = Value(f"{name}.rows", (c, n, length)), Value(f"{name}.image", (1, c, n, length))
    result, rows = Value(f"{name}.result", (1, channels, n, out_length)), Value(f"{name}.results", (channels, n, out_length))
    attrs = {key: [ONE_ROW[key], *value] if key in ONE_ROW else value for key, value in node.attrs.items()}
    begin, end = attrs["pads"]
    attrs["pads"] = ([0, *begin], [0, *end])
    inputs: list[Value | None] = [image, *node.inputs[1:]]
    if len(inputs) > 1:
        weight = node.inputs[1]
        inputs[1] = constant(weight.name, weight.data[:, :, None, :])  # type: ignore[union-attr, index]
    at = r.graph.nodes.index(node)
    r.graph.nodes[at:at] = [Node("permute", [x], [turned], {"order": [1, 0, 2]}, node.origin),
                            Node("reshape", [turned], [image], {}, node.origin),
                            Node(node.op, inputs, [result], attrs, node.origin),
                            Node("reshape", [result], [rows], {}, node.origin)]
    r.replace(node, "permute", [rows], order=[1, 0, 2])
    return True


PATTERNS = [rows_of_sequences]
