# SPDX-License-Identifier: BSD-3-Clause
"""Normalizations and activations that are written out in arithmetic."""

from __future__ import annotations

import numpy as np

from zeropoint.ir import Node, Value
from zeropoint.masks import number_of
from zeropoint.passes import Rewriter, factors_of, near

GELU_CUBE, GELU_FACTOR = 0.044715, 0.7978845608


def mean_square(r: Rewriter, value: Value | None) -> tuple[Value, float] | None:
    """x and epsilon of mean(x^2) + epsilon along the last axis."""
    plus = r.made_by(value, "binary", "add")
    for mean_value, epsilon in r.operands(plus) if plus is not None else []:
        number = number_of(epsilon)
        mean = r.made_by(mean_value, "reduce", "mean")
        if number is None or mean is None or not mean.attrs["keepdim"]:
            continue
        square = r.maker.get(id(mean.inputs[0]))
        x = square.inputs[0] if square is not None else None
        is_square = square is not None and (
            square.op == "unary" and square.attrs["kind"] == "square" or
            square.op == "binary" and square.attrs["kind"] == "mul" and square.inputs[1] is x)
        if is_square and mean.attrs["axes"] == [len(x.shape) - 1]:  # type: ignore[union-attr]
            return x, number  # type: ignore[return-value]
    return None


def rms_norm(r: Rewriter, node: Node) -> bool:
    """x * rsqrt(mean(x^2) + epsilon), x / sqrt(...), and a weight that multiplies it."""
    if node.op == "binary" and node.attrs["kind"] == "mul":
        for x, weight in r.operands(node):
            made = r.made_by(x, "rms_norm")
            if made is not None and len(made.inputs) == 1 and r.is_inner(x) and weight.data is not None and \
                    weight.data.ndim == 1 and weight.shape == x.shape[-1:]:
                r.replace(node, "rms_norm", [made.inputs[0], weight], epsilon=made.attrs["epsilon"])
                r.graph.fired["rms_norm"] -= 1  # counted where it was found without the weight
                return True
    if node.op != "binary" or node.attrs["kind"] not in ("mul", "div"):
        return False
    divides = node.attrs["kind"] == "div"
    for x, root_value in r.operands(node)[:1 if divides else 2]:
        root = r.maker.get(id(root_value))
        inside: Value | None = None
        if root is not None and root.op == "unary" and root.attrs["kind"] == ("sqrt" if divides else "rsqrt"):
            inside = root.inputs[0]
        elif root is not None and root.op == "unary" and root.attrs["kind"] == "reciprocal" and not divides:
            sqrt = r.made_by(root.inputs[0], "unary", "sqrt")
            inside = sqrt.inputs[0] if sqrt is not None else None
        elif root is not None and root.op == "binary" and root.attrs["kind"] == "div" and not divides and \
                number_of(root.inputs[0]) == 1:
            sqrt = r.made_by(root.inputs[1], "unary", "sqrt")
            inside = sqrt.inputs[0] if sqrt is not None else None
        found = mean_square(r, inside)
        if found is not None and found[0] is x:
            r.replace(node, "rms_norm", [x], epsilon=found[1])
            return True
    return False


def gelu_tanh(r: Rewriter, node: Node) -> bool:
    """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) in any order of its factors."""
    if node.op != "binary" or node.attrs["kind"] != "mul":
        return False
    factors = [f for v in node.inputs for f in factors_of(r, v)]  # type: ignore[arg-type]
    numbers = [r.number(f) for f in factors if r.number(f) is not None]
    rest = [f for f in factors if r.number(f) is None]
    if len(rest) != 2 or not near(float(np.prod(numbers)), 0.5):
        return False
    for x, sum_ in (rest, rest[::-1]):
        plus = r.made_by(sum_, "binary", "add")
        for tanh_value, one in r.operands(plus) if plus is not None else []:
            tanh = r.made_by(tanh_value, "unary", "tanh")
            if r.number(one) != 1.0 or tanh is None:
                continue
            inner = factors_of(r, tanh.inputs[0])  # type: ignore[arg-type]
            scale = [r.number(f) for f in inner if r.number(f) is not None]
            sums = [f for f in inner if r.number(f) is None]
            made = r.made_by(sums[0], "binary", "add") if len(sums) == 1 else None
            if made is None or not near(float(np.prod(scale)), GELU_FACTOR):
                continue
            if any(a is x and is_cube(r, b, x) for a, b in r.operands(made)):
                r.replace(node, "unary", [x], kind="gelu_tanh")
                return True
    return False


def is_cube(r: Rewriter, value: Value, x: Value) -> bool:
    """0.044715 * x^3."""
    factors = factors_of(r, value)
    numbers = [r.number(f) for f in factors if r.number(f) is not None]
    powers = 0
    for factor in factors:
        if r.number(factor) is not None:
            continue
        square = r.made_by(factor, "unary", "square")
        if factor is x:
            powers += 1
        elif square is not None and square.inputs[0] is x:
            powers += 2
        else:
            return False
    return powers == 3 and near(float(np.prod(numbers)), GELU_CUBE)


PATTERNS = [rms_norm, gelu_tanh]
