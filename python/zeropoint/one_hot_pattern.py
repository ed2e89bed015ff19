# SPDX-License-Identifier: BSD-3-Clause
"""Indices that are compared with 0, 1, 2, ... and multiplied by a matrix, as a look-up of its rows."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Node, Value, constant
from zeropoint.passes import Rewriter, behind_copies


def rows_by_one_hot(r: Rewriter, node: Node) -> bool:
    """(x[..., None] == arange(n)) @ w, whose rows of other numbers would be zeros: an embedding, which refuses those."""
    if node.op != "linear" or len(node.inputs) > 2 and node.inputs[2] is not None:
        return False
    chosen, weight = node.inputs[0], node.inputs[1]
    while (same := r.maker.get(id(chosen))) is not None and same.op == "identity" and r.is_inner(chosen):  # type: ignore[arg-type]
        chosen = same.inputs[0]
    compare = r.made_by(chosen, "compare", "eq")
    if compare is None or weight is None or weight.data is None:
        return False
    for x, numbers in r.operands(compare):
        index = behind_copies(r, x)
        if index not in r.graph.inputs or not index.is_integer or numbers.data is None or not np.array_equal(numbers.data.reshape(-1), np.arange(numbers.data.size)) or \
                numbers.shape[-1:] != (weight.shape[1],) or x.shape[-1:] != (1,) or len(index.shape) not in (1, 2):
            continue
        out = node.outputs[0]
        table = constant(weight.name, np.ascontiguousarray(weight.data.T))
        rows = Value(f"{out.name}.rows", (*index.shape, weight.shape[0]))
        r.graph.nodes.insert(r.graph.nodes.index(node), Node("embedding", [table, index], [rows], {}, node.origin))
        r.replace(node, "identity" if rows.shape == out.shape else "reshape", [rows])
        note = f"Numbers of the input \"{index.name}\" beyond {weight.shape[1] - 1} are refused; the source has zeros for them."
        if note not in r.graph.notes:
            r.graph.notes.append(note)
        return True
    return False


PATTERNS = [rows_by_one_hot]
