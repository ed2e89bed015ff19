# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites of the graph before it is lowered: several nodes that are one layer."""

from __future__ import annotations

from typing import Callable

import numpy as np

from zeropoint.ir import Graph, Node, Value, constant


class Rewriter:
    """A graph with the questions that patterns ask."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.index()

    def index(self) -> None:
        """Who makes and who reads each value."""
        self.maker = {id(out): node for node in self.graph.nodes for out in node.outputs}
        self.readers: dict[int, list[Node]] = {}
        for node in self.graph.nodes:
            for value in node.inputs:
                if value is not None:
                    self.readers.setdefault(id(value), []).append(node)
        self.outputs = {id(value) for value in self.graph.outputs}

    def made_by(self, value: Value | None, op: str, kind: str = "") -> Node | None:
        """The node that makes a value which one node reads, if it is of this kind."""
        node = self.maker.get(id(value))
        if node is None or node.op != op or kind and node.attrs.get("kind") != kind:
            return None
        return node

    def is_inner(self, value: Value, readers: int = 1) -> bool:
        """Whether only so many nodes, and no output, read a value that the source does not round to codes."""
        return value.coding is None and len(self.readers.get(id(value), [])) == readers and id(value) not in self.outputs

    def operands(self, node: Node) -> list[tuple[Value, Value]]:
        """Of a commutative node, both orders."""
        a, b = node.inputs
        return [(a, b), (b, a)]  # type: ignore[list-item]

    def number(self, value: Value | None) -> float | None:
        """Of a constant of one value."""
        return float(value.data.reshape(-1)[0]) if value is not None and value.data is not None and value.data.size == 1 \
            else None

    def replace(self, last: Node, op: str, inputs: list[Value | None], **attrs: object) -> None:
        """The last node of a pattern becomes the whole of it."""
        last.op, last.inputs, last.attrs = op, inputs, dict(attrs)


Pattern = Callable[[Rewriter, Node], bool]


def near(value: float | None, wanted: float) -> bool:
    """Of constants that float32 has rounded."""
    return value is not None and abs(value - wanted) <= 1e-4 * abs(wanted)


def behind_copies(r: Rewriter, value: Value | None) -> Value | None:
    """What a value has the numbers of, in the same order, through reshapes and what adds axes of 1."""
    while value is not None:
        node = r.maker.get(id(value))
        if node is None or node.op not in ("identity", "reshape", "expand") or node.inputs[0] is None or \
                np.prod(node.inputs[0].shape) != np.prod(value.shape):
            break
        value = node.inputs[0]
    return value


def no_bound(r: Rewriter, node: Node) -> bool:
    """max(x, -inf), min(x, inf)."""
    if node.op != "binary" or node.attrs["kind"] not in ("maximum", "minimum"):
        return False
    unbounded = float("-inf") if node.attrs["kind"] == "maximum" else float("inf")
    for x, bound in r.operands(node):
        if r.number(bound) == unbounded and x.shape == node.outputs[0].shape:
            r.replace(node, "identity", [x])
            return True
    return False


# Functions that give nothing below 0, by the operator that has them, and what moves values.
NOT_NEGATIVE = {"unary": {"abs", "square", "sqrt", "relu", "relu6", "sigmoid", "hard_sigmoid", "exp", "softplus"},
                "binary": {"hypot"}, "reduce": {"l2", "sum_square"}}
MOVES = ("identity", "reshape", "permute", "slice", "expand", "flip", "roll")


def no_sign(r: Rewriter, node: Node) -> bool:
    """|x| of what is never below 0, as of the magnitude of complex numbers."""
    if node.op != "unary" or node.attrs["kind"] != "abs":
        return False
    made = r.maker.get(id(node.inputs[0]))
    while made is not None and made.op in MOVES:
        made = r.maker.get(id(made.inputs[0]))
    if made is None or made.attrs.get("kind") not in NOT_NEGATIVE.get(made.op, ()):
        return False
    r.replace(node, "identity", [node.inputs[0]])
    return True


def join_bias(r: Rewriter, node: Node) -> bool:
    """A linear layer without a bias and the constant vector that is added behind it."""
    if node.op != "binary" or node.attrs["kind"] != "add":
        return False
    for a, b in r.operands(node):
        made = r.made_by(a, "linear")
        if made is not None and len(made.inputs) == 2 and b.data is not None and r.is_inner(a) and b.shape and \
                b.data.size == b.shape[-1] == made.outputs[0].shape[-1] and made.outputs[0].shape == node.outputs[0].shape:
            origin, weight = made.origin, made.inputs[1]
            bias = b if len(b.shape) == 1 else constant(b.name, b.data.reshape(-1))
            r.replace(node, "linear", [made.inputs[0], weight, bias])
            node.origin = origin
            return True
    return False


def gates(r: Rewriter, node: Node) -> bool:
    """x * sigmoid(x), x * hard_sigmoid(x), x * clip(x + 3, 0, 6) / 6, x * tanh(softplus(x))."""
    if node.op != "binary" or node.attrs["kind"] != "mul":
        return False
    for x, gate in r.operands(node):
        made = r.maker.get(id(gate))
        if made is None or not r.is_inner(gate) or made.op != "unary":
            continue
        if made.inputs[0] is x and made.attrs["kind"] in ("sigmoid", "hard_sigmoid"):
            r.replace(node, "unary", [x], kind={"sigmoid": "silu", "hard_sigmoid": "hardswish"}[made.attrs["kind"]])
            return True
        soft = r.made_by(made.inputs[0], "unary", "softplus") if made.attrs["kind"] == "tanh" else None
        if soft is not None and soft.inputs[0] is x:
            r.replace(node, "unary", [x], kind="mish")
            return True
    return False


def hard_gate(r: Rewriter, node: Node) -> bool:
    """clip(x + 3, 0, 6) / 6."""
    if node.op != "binary" or node.attrs["kind"] not in ("div", "mul"):
        return False
    divides = node.attrs["kind"] == "div"
    for a, b in r.operands(node)[:1 if divides else 2]:
        clip = r.maker.get(id(a))
        if not near(r.number(b), 6.0 if divides else 1 / 6) or clip is None or clip.op != "unary" or not r.is_inner(a):
            continue
        if clip.attrs["kind"] != "relu6" and (clip.attrs["kind"], clip.attrs.get("min"), clip.attrs.get("max")) != \
                ("clamp", 0, 6):
            continue
        plus = r.made_by(clip.inputs[0], "binary", "add")
        for x, c in r.operands(plus) if plus is not None and r.is_inner(clip.inputs[0]) else []:  # type: ignore
            if r.number(c) == 3.0:
                r.replace(node, "unary", [x], kind="hard_sigmoid")
                return True
    return False


def hard_swish(r: Rewriter, node: Node) -> bool:
    """x * clip(x + 3, 0, 6), and then / 6."""
    if node.op != "binary" or node.attrs["kind"] not in ("div", "mul"):
        return False
    divides = node.attrs["kind"] == "div"
    for a, b in r.operands(node)[:1 if divides else 2]:
        product = r.made_by(a, "binary", "mul")
        if not near(r.number(b), 6.0 if divides else 1 / 6) or product is None or not r.is_inner(a):
            continue
        for x, gate in r.operands(product):
            clip = r.maker.get(id(gate))
            if clip is None or clip.op != "unary" or not r.is_inner(gate) or clip.attrs["kind"] != "relu6" and \
                    (clip.attrs["kind"], clip.attrs.get("min"), clip.attrs.get("max")) != ("clamp", 0, 6):
                continue
            plus = r.made_by(clip.inputs[0], "binary", "add")
            if plus is not None and any(y is x and r.number(c) == 3.0 for y, c in r.operands(plus)):
                r.replace(node, "unary", [x], kind="hardswish")
                return True
    return False


def factors_of(r: Rewriter, value: Value) -> list[Value]:
    """Of a product of several, through its inner values."""
    made = r.maker.get(id(value))
    if made is not None and made.op == "binary" and r.is_inner(value) and made.attrs["kind"] == "mul":
        return [f for v in made.inputs for f in factors_of(r, v)]  # type: ignore[arg-type]
    if made is not None and made.op == "binary" and r.is_inner(value) and made.attrs["kind"] == "div" and \
            r.number(made.inputs[1]) not in (None, 0.0):
        inverse = constant("", np.float32(1.0 / r.number(made.inputs[1])))  # type: ignore[operator]
        return [*factors_of(r, made.inputs[0]), inverse]  # type: ignore[arg-type]
    return [value]


def gelu(r: Rewriter, node: Node) -> bool:
    """x * 0.5 * (1 + erf(x / sqrt(2))) in any order of its factors."""
    if node.op != "binary" or node.attrs["kind"] not in ("mul", "div"):
        return False
    r_value = node.outputs[0]
    made = [f for v in node.inputs for f in factors_of(r, v)] if node.attrs["kind"] == "mul" else []  # type: ignore
    numbers = [r.number(f) for f in made if r.number(f) is not None]
    rest = [f for f in made if r.number(f) is None]
    if len(rest) != 2 or not near(float(np.prod(numbers)), 0.5) or r_value is None:
        return False
    for x, sum_ in (rest, rest[::-1]):
        plus = r.made_by(sum_, "binary", "add")
        for erf_value, one in r.operands(plus) if plus is not None else []:
            erf = r.maker.get(id(erf_value))
            if r.number(one) != 1.0 or erf is None or erf.op not in ("Erf", "aten.erf.default"):
                continue
            inner = factors_of(r, erf.inputs[0])  # type: ignore[arg-type]
            scale = [r.number(f) for f in inner if r.number(f) is not None]
            if [f for f in inner if r.number(f) is None] == [x] and near(float(np.prod(scale)), 2 ** -0.5):
                r.replace(node, "unary", [x], kind="gelu")
                return True
    return False


def grow_concat(r: Rewriter, node: Node) -> bool:
    """cat(a, b, c), where cat(a, b) is there already, goes on from that: dense blocks are written so."""
    if node.op != "concat" or len(node.inputs) < 3:
        return False
    place = {id(n): i for i, n in enumerate(r.graph.nodes)}
    best: Node | None = None
    for other in r.readers.get(id(node.inputs[0]), []):
        count = len(other.inputs)
        if other.op == "concat" and other is not node and other.attrs == node.attrs and 2 <= count < len(node.inputs) and \
                all(a is b for a, b in zip(other.inputs, node.inputs)) and place[id(other)] < place[id(node)] and \
                (best is None or count > len(best.inputs)):
            best = other
    if best is None:
        return False
    node.inputs = [best.outputs[0], *node.inputs[len(best.inputs):]]
    return True


def join_nothing(r: Rewriter, node: Node) -> bool:
    """cat(a, b) where b has no elements, as of padding by 0 that an example has made."""
    if node.op != "concat":
        return False
    left = [value for value in node.inputs if value is not None and 0 not in value.shape]
    if not left or len(left) == len(node.inputs):
        return False
    if len(left) == 1:
        r.replace(node, "identity", left)  # type: ignore[arg-type]
    node.inputs = left  # type: ignore[assignment]
    return True


PATTERNS: list[Pattern] = [no_bound, no_sign, join_nothing, join_bias, hard_gate, hard_swish, gates, gelu, grow_concat]


def drop_identities(graph: Graph) -> None:
    """What is read instead is what goes into them."""
    same: dict[int, Value] = {}
    for node in graph.nodes:
        node.inputs = [same.get(id(value), value) if value is not None else None for value in node.inputs]
        if node.op == "identity" and node.inputs[0] is not None:
            same[id(node.outputs[0])] = node.inputs[0]


def simplify(graph: Graph) -> None:
    """Applies all patterns until none fires, and drops what they left over; then those for what no pattern took. In integers a
    function is what the source has."""
    from zeropoint import (affine_pattern, attention_pattern, batch_pattern, image_pattern, index_pattern, integer_inputs, layer_norm_pattern,
                           magnitude_pattern, norm_pattern, one_hot_pattern, recurrent_pattern, softmax_pattern)

    patterns = [*PATTERNS, *norm_pattern.PATTERNS, *layer_norm_pattern.PATTERNS, *softmax_pattern.PATTERNS, *image_pattern.PATTERNS,
                *attention_pattern.PATTERNS, *recurrent_pattern.PATTERNS, *batch_pattern.PATTERNS, *one_hot_pattern.PATTERNS, *index_pattern.PATTERNS]
    integer_inputs.guess_masks(graph)
    if graph.is_coded:
        apply(graph, [join_bias])
        return
    apply(graph, patterns)
    apply(graph, [*affine_pattern.PATTERNS, *image_pattern.LATE_PATTERNS, *magnitude_pattern.PATTERNS])
    merge_conditions(graph)
    index_pattern.take_float_indices(graph)
    integer_inputs.find_numbers(graph)


def apply(graph: Graph, patterns: list[Pattern]) -> None:
    """Until none fires."""
    fired = True
    while fired:
        fired = False
        if not graph.is_coded:
            drop_identities(graph)
            graph.drop_dead_nodes()
        rewriter = Rewriter(graph)
        for node in [node for node in graph.nodes if node.inputs]:  # what makes numbers of nothing, as randperm, is refused behind
            pattern = next((p for p in patterns if p(rewriter, node)), None)
            if pattern is not None:
                rewriter.index()
                fired = True
                graph.fired[pattern.__name__] = graph.fired.get(pattern.__name__, 0) + 1
        graph.drop_dead_nodes()


def merge_conditions(graph: Graph) -> None:
    """Conditions that are computed alike, as one: each attention has a mask of its own in what is exported."""
    same: dict[int, Value] = {}
    first: dict[tuple, Value] = {}
    for node in graph.nodes:
        node.inputs = [same.get(id(value), value) if value is not None else None for value in node.inputs]
        out = node.outputs[0]
        if len(node.outputs) != 1 or not out.is_integer or any(out is v for v in graph.outputs):
            continue
        key = (node.op, out.shape, repr(sorted(node.attrs.items())),
               tuple(v if v is None else id(v) if v.data is None else (v.data.shape, v.data.tobytes()) for v in node.inputs))
        same[id(out)] = first.setdefault(key, out)
    graph.drop_dead_nodes()
