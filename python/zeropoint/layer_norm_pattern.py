# SPDX-License-Identifier: BSD-3-Clause
"""Layer norms that are written out in means and squares: as one layer, integers see neither squares nor differences of them."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Node, Value, constant
from zeropoint.masks import number_of
from zeropoint.passes import Rewriter, behind_copies, factors_of, near

def mean_of(r: Rewriter, value: Value | None) -> tuple[Value, int] | None:
    """x and the axis of its mean, which may be a sum over 1 / n."""
    value = behind_copies(r, value)
    node = r.maker.get(id(value))
    if node is None:
        return None
    kind = "mean"
    if node.op == "binary" and node.attrs["kind"] in ("mul", "div"):
        divides = node.attrs["kind"] == "div"
        for sum_, number in r.operands(node)[:1 if divides else 2]:
            inner = r.maker.get(id(behind_copies(r, sum_)))
            factor = number_of(number)
            if inner is not None and inner.op == "reduce" and factor:
                node, kind = inner, "sum"
                count = factor if divides else 1 / factor
                break
    if node.op != "reduce" or node.attrs["kind"] != kind or len(node.attrs["axes"]) != 1 or node.inputs[0] is None:
        return None
    x = node.inputs[0]
    axis = node.attrs["axes"][0] % len(x.shape)
    if kind == "sum" and not near(count, x.shape[axis]):
        return None
    return x, axis


def squared(r: Rewriter, value: Value | None) -> Value | None:
    """x of x^2."""
    value = behind_copies(r, value)
    node = r.maker.get(id(value))
    if node is None or not (node.op == "unary" and node.attrs["kind"] == "square" or
                            node.op == "binary" and node.attrs["kind"] == "mul" and node.inputs[0] is node.inputs[1]):
        return None
    return node.inputs[0]


def is_mean_of(r: Rewriter, value: Value | None, x: Value, axis: int) -> bool:
    """Whether a value is the mean of x along an axis."""
    found = mean_of(r, value)
    return found is not None and found[0] is x and found[1] == axis


def centred(r: Rewriter, value: Value | None) -> tuple[Value, int] | None:
    """x and the axis of x - mean(x)."""
    node = r.made_by(value, "binary", "sub")
    found = mean_of(r, node.inputs[1]) if node is not None else None
    return found if found is not None and found[0] is node.inputs[0] else None  # type: ignore[union-attr]


def is_variance(r: Rewriter, value: Value | None, x: Value, axis: int) -> bool:
    """mean((x - mean(x))^2), or mean(x^2) - mean(x)^2 and what is no less than 0 of it."""
    value = behind_copies(r, value)
    node = r.maker.get(id(value))
    if node is not None and node.op == "unary" and node.attrs["kind"] == "relu":
        node = r.maker.get(id(behind_copies(r, node.inputs[0])))
    elif node is not None and node.op == "binary" and node.attrs["kind"] == "maximum":
        rest = [v for v in node.inputs if number_of(v) != 0]
        node = r.maker.get(id(behind_copies(r, rest[0]))) if len(rest) == 1 else None
    if node is None:
        return False
    if node.op == "binary" and node.attrs["kind"] == "sub":
        squares = mean_of(r, node.inputs[0])
        return squares is not None and squares[1] == axis and squared(r, squares[0]) is x and \
            is_mean_of(r, squared(r, node.inputs[1]), x, axis)
    found = mean_of(r, node.outputs[0])
    return found is not None and found[1] == axis and centred(r, squared(r, found[0])) == (x, axis)


def root_of(r: Rewriter, value: Value | None) -> Value | None:
    """v of sqrt(v)."""
    node = r.made_by(behind_copies(r, value), "unary", "sqrt")
    return node.inputs[0] if node is not None else None


def inverse_root_of(r: Rewriter, value: Value | None) -> Value | None:
    """v of rsqrt(v), 1 / sqrt(v)."""
    node = r.maker.get(id(behind_copies(r, value)))
    if node is None or node.op not in ("unary", "binary"):
        return None
    if node.attrs["kind"] == "rsqrt":
        return node.inputs[0]
    if node.attrs["kind"] == "reciprocal":
        return root_of(r, node.inputs[0])
    return root_of(r, node.inputs[1]) if node.attrs["kind"] == "div" and number_of(node.inputs[0]) == 1 else None


def along(value: Value | None, x: Value, axis: int) -> np.ndarray | None:
    """The numbers of a constant that has one for each place of an axis of x, and is the same along all others."""
    if value is None or value.data is None or len(value.shape) > len(x.shape):
        return None
    shape = (1,) * (len(x.shape) - len(value.shape)) + value.shape
    is_along = shape[axis] == x.shape[axis] and all(n == 1 for i, n in enumerate(shape) if i != axis)
    return np.ascontiguousarray(value.data.reshape(-1)) if is_along else None


def layer_norm(r: Rewriter, node: Node) -> bool:
    """(x - mean(x)) / sqrt(variance(x) + epsilon), and a weight that multiplies either factor, along one axis."""
    if node.op != "binary" or node.attrs["kind"] not in ("mul", "div"):
        return False
    divides = node.attrs["kind"] == "div"
    for middle, scale in r.operands(node)[:1 if divides else 2]:
        found = centred(r, middle)
        if found is None:
            continue
        x, axis = found
        factors = [scale] if divides else factors_of(r, scale)
        weights = [f for f in factors if f.data is not None]
        roots = [f for f in factors if f.data is None]
        if len(roots) != 1 or len(weights) > 1:
            continue
        inside = root_of(r, roots[0]) if divides else inverse_root_of(r, roots[0])
        plus = r.made_by(inside, "binary", "add")
        weight = along(weights[0], x, axis) if weights else None
        if plus is None or weights and weight is None:
            continue
        for variance, epsilon in r.operands(plus):
            number = number_of(epsilon)
            if number and is_variance(r, variance, x, axis):
                give_norm(r, node, x, axis, constant(weights[0].name, weight) if weights else None, number)
                return True
    return False


def give_norm(r: Rewriter, node: Node, x: Value, axis: int, weight: Value | None, epsilon: float) -> None:
    """The norm in place of the node; of an axis that is not the last one, between permutations."""
    last = len(x.shape) - 1
    if axis == last:
        r.replace(node, "layer_norm", [x, weight, None], axes=1, epsilon=epsilon)
        return
    out = node.outputs[0]
    order = [i for i in range(last + 1) if i != axis] + [axis]
    shape = tuple(x.shape[i] for i in order)
    turned, normed = Value(f"{out.name}.turned", shape), Value(f"{out.name}.normed", shape)
    at = r.graph.nodes.index(node)
    r.graph.nodes[at:at] = [Node("permute", [x], [turned], {"order": order}, node.origin),
                            Node("layer_norm", [turned, weight, None], [normed], {"axes": 1, "epsilon": epsilon}, node.origin)]
    r.replace(node, "permute", [normed], order=[order.index(i) for i in range(last + 1)])


def centred_rms(r: Rewriter, node: Node) -> bool:
    """The RMS norm of x - mean(x)."""
    if node.op != "rms_norm":
        return False
    found = centred(r, node.inputs[0])
    if found is None or found[1] != len(found[0].shape) - 1:
        return False
    r.replace(node, "layer_norm", [found[0], node.inputs[1] if len(node.inputs) > 1 else None, None], axes=1,
              epsilon=node.attrs["epsilon"])
    fired = r.graph.fired
    fired["rms_norm"], fired["layer_norm"] = fired.get("rms_norm", 1) - 1, fired.get("layer_norm", 0) + 1
    return True


def affine(r: Rewriter, node: Node) -> bool:
    """A weight that multiplies a norm without one, and a bias that is added to one without; permutations may stand between."""
    if node.op != "binary" or node.attrs["kind"] not in ("mul", "add"):
        return False
    for value, other in r.operands(node):
        back = r.made_by(value, "permute")
        norm = r.made_by(back.inputs[0] if back is not None else value, "layer_norm")
        if norm is None or norm.attrs["axes"] != 1 or not r.is_inner(value) or value.shape != node.outputs[0].shape or \
                back is not None and not r.is_inner(norm.outputs[0]):
            continue
        last = len(value.shape) - 1
        numbers = along(other, value, back.attrs["order"].index(last) if back is not None else last)
        place = 1 if node.attrs["kind"] == "mul" else 2
        if numbers is None or norm.inputs[2] is not None or norm.inputs[place] is not None:
            continue
        if place == 2 and norm.inputs[1] is None:  # a bias of its own stands behind a weight
            norm.inputs[1] = constant(f"{other.name}.weight", np.ones_like(numbers))
        norm.inputs[place] = constant(other.name, numbers)
        r.replace(node, "identity", [value])
        return True
    return False


PATTERNS = [layer_norm, centred_rms, affine]
