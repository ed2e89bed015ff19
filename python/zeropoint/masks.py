# SPDX-License-Identifier: BSD-3-Clause
"""Masks of attention: what is added to scores is taken apart into a bias and a condition on what is kept."""

from __future__ import annotations

import operator
from typing import Callable

import numpy as np

from zeropoint.ir import Node, Value, constant
from zeropoint.layout import Layout
from zeropoint.passes import Rewriter

LEFT_OUT = -1e4  # what is as far below others has a share of 0
MOVES = ("reshape", "permute", "expand", "slice", "flip", "gather")
COMPARE: dict[str, Callable] = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
                                "gt": operator.gt, "ge": operator.ge}
ARITHMETIC: dict[str, Callable] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
                                   "maximum": max, "minimum": min}
Parts = tuple[Value | None, list[Value]]  # what is added, and conditions that all hold where a score is kept


def number_of(value: Value | None) -> float | None:
    """Of a constant all of whose values are one."""
    if value is None or value.data is None or value.data.size == 0:
        return None
    first = value.data.reshape(-1)[0]
    return float(first) if bool((value.data == first).all()) else None


class Masks:
    """New values stand in front of the node that is rewritten."""

    def __init__(self, rewriter: Rewriter, before: Node) -> None:
        self.r, self.before = rewriter, before
        self.made: list[Node] = []

    def node(self, op: str, inputs: list[Value | None], shape: tuple[int, ...], **attrs: object) -> Value:
        """A condition."""
        out = Value(f"{self.before.origin.name}.mask", tuple(shape), True)
        self.made.append(Node(op, inputs, [out], dict(attrs), self.before.origin))
        return out

    def moved(self, like: Node, value: Value) -> Value:
        """A value as a node moves its input, but for axes along which it repeats: they are repeated where it is read."""
        before, after = like.inputs[0].shape, like.outputs[0].shape  # type: ignore[union-attr]
        if like.op == "expand":
            return value
        if value.shape == before:
            return self.node(like.op, [value], after, **like.attrs)
        own = (1,) * (len(before) - len(value.shape)) + value.shape
        if own != value.shape:
            value = self.node("reshape", [value], own)
        if like.op == "permute":
            return self.node("permute", [value], tuple(own[i] for i in like.attrs["order"]), **like.attrs)
        if like.op == "reshape":
            layout = Layout.fresh(before)
            whole = layout.reshaped(after)
            repeated = {a for axis, n in zip(layout.axes, own) if n == 1 for a in axis}
            if whole is not None and all(set(axis) <= repeated or not set(axis) & repeated for axis in whole.axes):
                small = tuple(1 if set(axis) <= repeated else n for axis, n in zip(whole.axes, after))
                return self.node("reshape", [value], small)
        value = self.node("expand", [value], before)
        return self.node(like.op, [value], after, **like.attrs)

    def choice(self, value: Value | None) -> tuple[Value, float, float] | None:
        """A condition, and the numbers that a value has where it is false and where it is true."""
        if value is None or value.data is not None:
            return None
        made = self.r.maker.get(id(value))
        if made is None:
            return (value, 0.0, 1.0) if value.is_integer and value.is_mask else None
        if made.op == "compare":
            a, b = made.inputs
            for x, c, swapped in ((a, b, False), (b, a, True)):
                number, inner = number_of(c), self.choice(x)
                if number is not None and inner is not None and len(c.shape) <= len(x.shape):  # type: ignore[union-attr]
                    f = COMPARE[made.attrs["kind"]]
                    no, yes = (float(f(number, v) if swapped else f(v, number)) for v in inner[1:])
                    return inner[0], no, yes
            return value, 0.0, 1.0
        if made.op == "logical" and made.attrs["kind"] == "not":
            inner = self.choice(made.inputs[0])
            return (inner[0], float(not inner[1]), float(not inner[2])) if inner is not None else (value, 0.0, 1.0)
        if made.op == "logical":
            return value, 0.0, 1.0
        if made.op == "where":
            condition = self.choice(made.inputs[0])
            a, b = (number_of(v) for v in made.inputs[1:])
            if condition is None or a is None or b is None:
                return None
            return condition[0], a if condition[1] else b, a if condition[2] else b
        if made.op == "unary" and made.attrs["kind"] == "neg":
            inner = self.choice(made.inputs[0])
            return None if inner is None else (inner[0], -inner[1], -inner[2])
        if made.op == "binary" and made.attrs["kind"] in ARITHMETIC:
            f = ARITHMETIC[made.attrs["kind"]]
            for (x, c), swapped in ((made.inputs, False), (made.inputs[::-1], True)):
                number, inner = number_of(c), self.choice(x)
                if number is None or inner is None or len(c.shape) > len(x.shape):  # type: ignore[union-attr]
                    continue
                try:
                    no, yes = (float(f(number, v) if swapped else f(v, number)) for v in inner[1:])
                except ZeroDivisionError:
                    return None
                return inner[0], no, yes
            return None
        if made.op in MOVES:
            inner = self.choice(made.inputs[0])
            return None if inner is None else (self.moved(made, inner[0]), inner[1], inner[2])
        return None

    def negated(self, value: Value) -> Value:
        """The opposite of a condition."""
        made = next((n for n in self.made if n.outputs[0] is value), self.r.maker.get(id(value)))
        kind = made.attrs.get("kind", "") if made is not None else ""
        if made is not None and made.op == "compare" and kind in ("eq", "ne"):
            return self.node("compare", made.inputs, value.shape, kind="ne" if kind == "eq" else "eq")
        if made is not None and made.op in ("reshape", "permute"):
            return self.node(made.op, [self.negated(made.inputs[0])], value.shape, **made.attrs)  # type: ignore[arg-type]
        if made is not None and made.op == "logical" and kind == "not":
            return made.inputs[0]  # type: ignore[return-value]
        return self.node("logical", [value], value.shape, kind="not")

    def kept(self, condition: Value | None, wanted: bool = True) -> list[Value] | None:
        """Conditions that all hold exactly where one is true (or false); none where it always is."""
        number = number_of(condition)
        if condition is None or number is not None:
            return [] if condition is not None and bool(number) == wanted else None
        if condition.data is not None:
            return [constant(condition.name, condition.data.astype(bool) == wanted)]
        made = self.r.maker.get(id(condition))
        kind = made.attrs["kind"] if made is not None and made.op == "logical" else ""
        if made is not None and kind == "not":
            return self.kept(made.inputs[0], not wanted)
        if made is not None and kind == ("and" if wanted else "or"):
            parts = [self.kept(v, wanted) for v in made.inputs]
            return None if any(p is None for p in parts) else [v for p in parts for v in p]  # type: ignore[union-attr]
        if made is not None and made.op == "expand":
            return self.kept(made.inputs[0], wanted)
        chosen = self.choice(condition)
        if chosen is None:
            return None
        value, no, yes = chosen
        if bool(no) == bool(yes):
            return [] if bool(yes) == wanted else None
        return [value] if bool(yes) == wanted else [self.negated(value)]

    def parts(self, value: Value | None) -> Parts | None:
        """Of a value that is added to scores; None where it leaves nothing out, or where it is not known what."""
        if value is None:
            return None
        if value.data is not None:
            out = np.nan_to_num(value.data, nan=0.0, neginf=-3e38) <= LEFT_OUT
            if not out.any() or out.all():
                return None
            rest = np.where(out, np.float32(0), value.data)
            return constant(value.name, rest) if np.any(rest) else None, [constant(value.name, ~out)]
        made = self.r.maker.get(id(value))
        if made is None:
            return None
        if made.op == "expand":
            return self.parts(made.inputs[0])
        if made.op == "binary" and made.attrs["kind"] == "add":
            pairs = [(v, self.parts(v)) for v in made.inputs]
            if all(p is None for _, p in pairs):
                return None
            rests = [p[0] if p is not None else v for v, p in pairs]
            kept = [c for _, p in pairs if p is not None for c in p[1]]
            left = [v for v in rests if v is not None]
            if len(left) == 2:
                total = self.node("binary", left, made.outputs[0].shape, kind="add")  # type: ignore[arg-type]
                total.is_integer = False
                return total, kept
            return left[0] if left else None, kept
        if made.op == "where":
            condition, a, b = made.inputs
            for chosen, other, wanted in ((a, b, True), (b, a, False)):
                number = number_of(other)
                kept = self.kept(condition, wanted) if number is not None and number <= LEFT_OUT else None
                if kept is not None:
                    inner = self.parts(chosen)
                    zero = number_of(chosen) == 0
                    if inner is not None:
                        return inner[0], inner[1] + kept
                    return None if zero else chosen, kept
        found = self.choice(value)
        if found is not None:
            condition, no, yes = found
            if yes == 0 and no <= LEFT_OUT:
                return None, [condition]
            if no == 0 and yes <= LEFT_OUT:
                return None, [self.negated(condition)]
        return None

    def together(self, conditions: list[Value]) -> Value | None:
        """One condition of several; constants are joined here."""
        known = [c for c in conditions if c.data is not None]
        rest: list[Value] = []
        for condition in conditions:
            if condition.data is None and not any(condition is r for r in rest):
                rest.append(condition)
        if known:
            data = known[0].data
            for other in known[1:]:
                data = np.logical_and(data, other.data)
            if number_of(constant("", data)) != 1:
                rest.append(constant("mask", data))
        total = rest[0] if rest else None
        for other in rest[1:]:
            shape = np.broadcast_shapes(total.shape, other.shape)  # type: ignore[union-attr]
            total = self.node("logical", [total, other], shape, kind="and")
        return total


def insert(rewriter: Rewriter, masks: Masks) -> None:
    """Puts the new nodes in front of the one that reads them."""
    at = rewriter.graph.nodes.index(masks.before)
    rewriter.graph.nodes[at:at] = masks.made
