# SPDX-License-Identifier: BSD-3-Clause
"""einsum of one or two operands: axes are moved, those of one operand alone are summed, and what is left is a product of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.ir import Value, constant

PLACES = "0123456789"  # what "..." stands for: an equation's own are letters


def convert_einsum(call: Any, equation: str, operands: list[Value]) -> None:
    """Adds the nodes. Raises NotSupported for more than two operands, diagonals, repeated axes, and a constant of several matrices."""
    if len(operands) > 2:
        raise NotSupported("an einsum of more than two operands: write it as several")
    terms, out = letters_of(equation, operands)
    if any(len(set(term)) != len(term) for term in [*terms, out]):
        raise NotSupported("an einsum with a diagonal")
    parts = [summed(call, x, term, set(out).union(*terms[:number], *terms[number + 1:]))
             for number, (x, term) in enumerate(zip(operands, terms))]
    if len(parts) == 1:
        finish(call, *parts[0], out)
        return
    (a, term_a), (b, term_b) = parts
    if a.data is not None and b.data is None:
        (a, term_a), (b, term_b) = parts[::-1]
    sizes = dict(zip(term_a, a.shape)) | dict(zip(term_b, b.shape))
    if any(sizes[c] != n for c, n in zip(term_a, a.shape)):
        raise NotSupported("an einsum that repeats an axis of 1: expand it in front of it")
    shared = [c for c in term_a if c in term_b and c not in out]
    batch = [c for c in out if c in term_a and c in term_b]
    left, right = [c for c in term_a if c not in term_b], [c for c in term_b if c not in term_a]
    extents = {name: [sizes[c] for c in group] for name, group in
               (("batch", batch), ("left", left), ("shared", shared), ("right", right))}
    depth, rows, columns = prod(extents["shared"]), prod(extents["left"]), prod(extents["right"])
    if not shared and (not left or not right or b.data is not None and batch):
        outer(call, (a, term_a), (b, term_b), out)
        return
    if b.data is not None:
        if batch:
            raise NotSupported("an einsum by a constant with a matrix for each of several places")
        matrix = np.transpose(b.data, [term_b.index(c) for c in [*right, *shared]]).reshape(columns, depth)
        x = reshaped(call, moved(call, a, term_a, [*left, *shared]), (*extents["left"], depth))
        made = call.make("linear", [x, constant(b.name, matrix)], (*extents["left"], columns))
    else:
        x = reshaped(call, moved(call, a, term_a, [*batch, *left, *shared]), (*extents["batch"], rows, depth))
        y = reshaped(call, moved(call, b, term_b, [*batch, *shared, *right]), (*extents["batch"], depth, columns))
        made = call.make("matmul", [x, y], (*extents["batch"], rows, columns))
    order = [*batch, *left, *right]
    finish(call, reshaped(call, made, tuple(sizes[c] for c in order)), "".join(order), out)


def letters_of(equation: str, operands: list[Value]) -> tuple[list[str], str]:
    """Those of each operand and of the output, one an axis; "..." as letters of its own."""
    inputs, arrow, out = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise NotSupported(f"an einsum of {len(operands)} operands with the equation {equation}")
    hidden = ""
    for number, (term, x) in enumerate(zip(terms, operands)):
        if "..." in term:
            places = PLACES[:len(x.shape) - len(term) + 3]
            if hidden and hidden != places:
                raise NotSupported("an einsum whose operands have unlike numbers of axes for ...")
            hidden, terms[number] = places, term.replace("...", places)
    if not arrow:
        letters = "".join(terms)
        out = hidden + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in hidden))
    return terms, out.replace("...", hidden)


def summed(call: Any, x: Value, term: str, kept: set[str]) -> tuple[Value, str]:
    """Over axes that nothing else has."""
    axes = [i for i, c in enumerate(term) if c not in kept]
    if not axes:
        return x, term
    rest = "".join(c for c in term if c in kept)
    shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    if x.data is not None:
        return constant(x.name, x.data.sum(tuple(axes))), rest
    return call.make("reduce", [x], shape, kind="sum", axes=axes, keepdim=False), rest


def moved(call: Any, x: Value, term: str, wanted: list[str]) -> Value:
    """With its axes in another order."""
    order = [term.index(c) for c in wanted]
    return x if order == sorted(order) else call.make("permute", [x], tuple(x.shape[i] for i in order), order=order)


def reshaped(call: Any, x: Value, shape: tuple[int, ...]) -> Value:
    """Where it is not so already."""
    return x if x.shape == shape else call.make("reshape", [x], shape)


def outer(call: Any, a: tuple[Value, str], b: tuple[Value, str], out: str) -> None:
    """Products without a sum, one by one: an operand is repeated along the axes of the other."""
    spread = []
    for x, term in (a, b):
        wanted = [c for c in out if c in term]
        shape = tuple(x.shape[term.index(c)] if c in term else 1 for c in out)
        if x.data is not None:
            spread.append(constant(x.name, np.transpose(x.data, [term.index(c) for c in wanted]).reshape(shape)))
        else:
            spread.append(reshaped(call, moved(call, x, term, wanted), shape))
    call.give("binary", spread, kind="mul")


def finish(call: Any, x: Value, term: str, out: str) -> None:
    """The output, whose axes may stand in another order."""
    order = [term.index(c) for c in out]
    if order == sorted(order):
        call.give("identity", [x])
    else:
        call.give("permute", [x], order=order)
