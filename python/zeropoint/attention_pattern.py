# SPDX-License-Identifier: BSD-3-Clause
"""Attention in the graph: softmax of masked scores, products around it, scales wherever they stand."""

from __future__ import annotations

from zeropoint.ir import Node, Value
from zeropoint.masks import Masks, insert, number_of
from zeropoint.passes import Rewriter

SEES_NOTHING = ("A query that a mask leaves no key has equal shares of all, where its source has zeros or none: "
                "see zp::masked_softmax.")


def safe_softmax(r: Rewriter, node: Node) -> bool:
    """where(isnan(s), 0, s) of a softmax: 0 for what sees nothing."""
    if node.op != "where":
        return False
    test, zero, shares = node.inputs
    made, softmax = r.maker.get(id(test)), r.maker.get(id(shares))
    if made is None or made.op not in ("IsNaN", "aten.isnan.default") or made.inputs[0] is not shares or \
            number_of(zero) != 0 or softmax is None or softmax.op not in ("softmax", "masked_softmax"):
        return False
    r.replace(node, "identity", [shares])
    return True


def masked(r: Rewriter, node: Node) -> bool:
    """softmax(scores + mask), or softmax(where(kept, scores, -inf)), over the last axis."""
    rank = len(node.outputs[0].shape)
    if node.op != "softmax" or node.attrs["axis"] % rank != rank - 1 or rank < 2:
        return False
    scores = node.inputs[0]
    made = r.maker.get(id(scores))
    if made is None or not r.is_inner(scores) or made.op not in ("binary", "where"):  # type: ignore[arg-type]
        return False
    masks = Masks(r, node)
    found = masks.parts(scores)
    if found is None or found[0] is None:
        return False
    rest, conditions = found
    condition = masks.together(conditions)
    if condition is None or len(condition.shape) > rank or rest.shape != scores.shape:  # type: ignore[union-attr]
        return False
    insert(r, masks)
    r.replace(node, "masked_softmax", [rest, condition])
    sees_all = condition.data is not None and condition.data.any(-1).all()
    if SEES_NOTHING not in r.graph.notes and not sees_all:
        r.graph.notes.append(SEES_NOTHING)
    return True


def without_scales(r: Rewriter, value: Value, moves: list[Node]) -> tuple[Value, float]:
    """A value without the numbers that it is multiplied by, in front of what moves it too; those moves again go into `moves`."""
    made = r.maker.get(id(value))
    if made is None or not r.is_inner(value):
        return value, 1.0
    if made.op in ("reshape", "permute"):
        inner, factor = without_scales(r, made.inputs[0], moves)  # type: ignore[arg-type]
        if factor == 1.0:
            return value, 1.0
        again = Value(value.name, value.shape)
        moves.append(Node(made.op, [inner], [again], made.attrs, made.origin))
        return again, factor
    if made.op != "binary" or made.attrs["kind"] not in ("mul", "div"):
        return value, 1.0
    pairs = r.operands(made) if made.attrs["kind"] == "mul" else [(made.inputs[0], made.inputs[1])]
    for x, c in pairs:
        number = number_of(c)
        if number not in (None, 0.0) and len(c.shape) <= len(x.shape):  # type: ignore[union-attr]
            inner, factor = without_scales(r, x, moves)  # type: ignore[arg-type]
            return inner, factor * number if made.attrs["kind"] == "mul" else factor / number  # type: ignore[operator]
    return value, 1.0


def attention(r: Rewriter, node: Node) -> bool:
    """softmax(q k^T / sqrt(depth)) v, where the scale may be of any of both, or of the product, or a part of each."""
    if node.op != "matmul":
        return False
    shares, values = node.inputs
    softmax = r.maker.get(id(shares))
    rank = len(node.outputs[0].shape)
    if softmax is None or softmax.op not in ("softmax", "masked_softmax") or rank < 3 or not r.is_inner(shares):  # type: ignore
        return False
    if softmax.op == "softmax" and softmax.attrs["axis"] % rank != rank - 1:
        return False
    moves: list[Node] = []
    scores, factor = without_scales(r, softmax.inputs[0], moves)  # type: ignore[arg-type]
    product = r.made_by(scores, "matmul")
    if product is None or not r.is_inner(scores) or moves:
        return False
    queries, of_queries = without_scales(r, product.inputs[0], moves)  # type: ignore[arg-type]
    turned, of_keys = without_scales(r, product.inputs[1], moves)  # type: ignore[arg-type]
    depth = queries.shape[-1]
    factor *= of_queries * of_keys
    outer = queries.shape[:-2]
    if abs(factor * factor * depth - 1) > 5e-7 or factor < 0 or turned.shape[:-2] != outer or \
            values.shape[:-2] != outer or len(values.shape) != rank or len(queries.shape) != rank:  # type: ignore
        return False
    order = list(range(rank - 2)) + [rank - 1, rank - 2]
    keys = Value(f"{node.origin.name}.keys", tuple(turned.shape[i] for i in order))
    at = r.graph.nodes.index(node)
    r.graph.nodes[at:at] = [*moves, Node("permute", [turned], [keys], {"order": order}, node.origin)]
    r.replace(node, "attention", [queries, keys, values, *softmax.inputs[1:]])
    return True


def nothing_added(r: Rewriter, node: Node) -> bool:
    """x + 0 and x * 1, such as a mask that leaves nothing out."""
    kind = node.attrs.get("kind")
    if node.op != "binary" or kind not in ("add", "sub", "mul", "div"):
        return False
    pairs = r.operands(node) if kind in ("add", "mul") else [(node.inputs[0], node.inputs[1])]
    for x, c in pairs:
        if number_of(c) == (0 if kind in ("add", "sub") else 1) and x.data is None and \
                x.shape == node.outputs[0].shape:  # type: ignore[union-attr]
            r.replace(node, "identity", [x])
            return True
    return False


PATTERNS = [nothing_added, safe_softmax, masked, attention]
