# SPDX-License-Identifier: BSD-3-Clause
"""Nodes that random graphs are made of: one function a family, with the attributes and forms that ONNX's opsets have."""

from __future__ import annotations

from typing import Any

import numpy as np
from random_graphs import Builder, generates


def divisors(n: int) -> list[int]:
    """All of them."""
    return [d for d in range(1, n + 1) if n % d == 0]


def attribute_or_input(b: Builder, since: int, name: str, values: list[int]) -> tuple[list[str], dict[str, Any]]:
    """What opsets before `since` have as an attribute and later ones as an input."""
    if b.opset < since:
        return [], {name: values}
    return [b.constant(np.array(values, np.int64))], {}


def positive(b: Builder, x: str) -> str | None:
    """|x| + a little: for logarithms, roots and divisors."""
    made = b.node("Abs", [x])
    made = b.node("Add", [made[0], b.constant(np.float32(b.random.uniform(0.3, 1.5)))]) if made else []
    return made[0] if made else None


@generates("Relu", "Sigmoid", "Tanh", "Softsign", "Abs", "Neg", "Exp", "Softplus", "Identity", "HardSwish", "Mish")
def unary(b: Builder) -> bool:
    since = {"HardSwish": 14, "Mish": 18}.get(b.wanted, 1)
    x = b.pick()
    return x is not None and b.opset >= since and bool(b.node(b.wanted, [x]))


@generates("Log", "Sqrt", "Reciprocal")
def unary_of_positive(b: Builder) -> bool:
    x = b.pick()
    x = positive(b, x) if x else None
    return x is not None and bool(b.node(b.wanted, [x]))


@generates("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "Selu", "Gelu", "HardSigmoid", "Clip", "PRelu", "Dropout", "Cast")
def with_attributes(b: Builder) -> bool:
    x = b.pick()
    since = {"Celu": 12, "Gelu": 20, "Dropout": 12}.get(b.wanted, 1)
    if x is None or b.opset < since:
        return False
    alpha = {"alpha": b.number(50, 1500) / 1000 if b.chance(0.95) else 0.123456} if b.chance(0.7) else {}
    if b.wanted == "HardSigmoid":
        alpha = b.choice(({}, {"alpha": 1 / 6, "beta": 0.5}, {"alpha": 0.3, "beta": 0.4}))
    elif b.wanted == "Gelu":
        alpha = b.choice(({}, {"approximate": "tanh"}))
    elif b.wanted in ("Selu", "Dropout"):
        alpha = {}
    elif b.wanted == "Cast":
        alpha = {"to": 1}
    inputs = [x]
    if b.wanted == "Clip":
        alpha = {}
        low, high = np.sort(b.normal(2)).round(3 if b.chance(0.95) else 6)
        inputs += b.choice(([b.constant(low), b.constant(high)], ["", b.constant(high)], [b.constant(low)]))
    elif b.wanted == "PRelu":
        alpha = {}
        shape = b.shape(x)
        slopes = [(1,), shape[1:]] + ([(shape[1], *[1] * (len(shape) - 2))] if len(shape) > 1 else [])
        inputs.append(b.constant(b.random.uniform(0, 0.5, b.choice(slopes)).astype(np.float32)))
    return bool(b.node(b.wanted, inputs, **alpha))


def other_operand(b: Builder, x: str) -> str:
    """A value or a constant that can meet x."""
    shape = b.shape(x)
    fit = [n for n, v in b.values.items() if n != x and v.dtype == np.float32 and can_meet(v.shape, shape)]
    if fit and b.chance(0.6):
        return b.choice(fit)
    if b.chance(0.2):
        return x
    ones = [1 if b.chance(0.6) else n for n in shape]
    own = b.choice(((), shape, tuple(ones), shape[-1:], tuple(ones)[1:]))
    return b.constant(np.float32(b.random.normal()) if own == () else b.normal(*own))


def can_meet(a: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether numpy's rule gives one shape, of one batch."""
    try:
        return np.broadcast_shapes(a, shape)[:1] == shape[:1]
    except ValueError:
        return False


@generates("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean")
def binary(b: Builder) -> bool:
    x = b.pick()
    if x is None:
        return False
    y: str | None = other_operand(b, x)
    if b.wanted == "Div" and y in b.constants:
        y = b.constant(np.abs(b.constants[y]) + np.float32(0.5))
    elif b.wanted == "Div":
        y = positive(b, y)  # type: ignore[arg-type]
    if y is None:
        return False
    inputs = [x, y] if b.wanted == "Div" or b.chance(0.6) else [y, x]
    if b.wanted in ("Max", "Min", "Sum", "Mean") and b.chance(0.3):
        inputs.append(other_operand(b, x))
    return bool(b.node(b.wanted, inputs))


@generates("Pow")
def power(b: Builder) -> bool:
    x, exponent = b.pick(), b.choice((2.0, 3.0, 0.5, -0.5, -1.0))
    if x is not None and exponent < 1:
        x = positive(b, x)
    return x is not None and bool(b.node("Pow", [x, b.constant(np.float32(exponent))]))


def window(b: Builder, shape: tuple[int, ...], dilations: bool, most: int = 3) -> dict[str, Any]:
    """Kernel, strides, pads and dilations over all axes from the third on."""
    extents = shape[2:]
    kernel = [b.number(1, min(most, n)) for n in extents]
    made: dict[str, Any] = {"kernel_shape": kernel}
    if b.chance(0.5):
        made["strides"] = b.numbers(len(extents), 1, 2)
    if dilations and b.chance(0.3):
        made["dilations"] = b.numbers(len(extents), 1, 2)
    form = b.random.random()
    if form < 0.2:
        made["auto_pad"] = b.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        made.pop("dilations", None)
    elif form < 0.7:
        begin = [b.number(0, k - 1) for k in kernel]
        made["pads"] = begin + (begin if b.chance(0.5) else [b.number(0, k - 1) for k in kernel])
    return made


@generates("Conv", "ConvTranspose")
def convolution(b: Builder) -> bool:
    x = b.pick(3, 4)
    if x is None:
        return False
    shape = b.shape(x)
    groups = b.choice(divisors(shape[1])) if b.chance(0.4) else 1
    options = window(b, shape, True)
    per_group = b.number(1, 4)
    filters = (groups * per_group, shape[1] // groups) if b.wanted == "Conv" else (shape[1], per_group)
    weight = b.normal(*filters, *options["kernel_shape"])
    fan_in = max(1, weight[0].size if b.wanted == "Conv" else weight.size // per_group // groups)
    inputs = [x, b.constant(weight / np.float32(np.sqrt(fan_in)))]
    if b.chance(0.7):
        inputs.append(b.constant(b.normal(groups * per_group, scale=0.3)))
    if b.wanted == "ConvTranspose" and "strides" in options and b.chance(0.3):
        options["output_padding"] = [b.number(0, s - 1) for s in options["strides"]]
    if groups > 1:
        options["group"] = groups
    if b.chance(0.3):
        options.pop("kernel_shape")
    return bool(b.node(b.wanted, inputs, **options))


@generates("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
def pool(b: Builder) -> bool:
    x = b.pick(3, 4)
    if x is None or b.wanted.startswith("Global"):
        return x is not None and bool(b.node(b.wanted, [x]))
    options = window(b, b.shape(x), b.wanted == "MaxPool" or b.opset >= 19, 4)
    if b.chance(0.3) and "auto_pad" not in options:
        options["ceil_mode"] = 1
    if b.wanted == "AveragePool" and b.chance(0.4):
        options["count_include_pad"] = 1
    return bool(b.node(b.wanted, [x], **options))


@generates("BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization")
def normalization(b: Builder) -> bool:
    x = b.pick(2, 3, 4) if b.wanted in ("BatchNormalization", "LayerNormalization") else b.pick(3, 4)
    since = {"GroupNormalization": 21, "LayerNormalization": 17}.get(b.wanted, 1)
    if x is None or b.opset < since or b.values[x].std() < 0.05:
        return False
    shape = b.shape(x)
    options: dict[str, Any] = {"epsilon": b.choice((1e-5, 1e-3))} if b.chance(0.5) else {}
    if b.wanted == "BatchNormalization":
        c = shape[1]
        moments = [b.normal(c, scale=0.3), b.random.uniform(0.5, 2, c).astype(np.float32)]
        return bool(b.node(b.wanted, [x, *map(b.constant, [b.normal(c), b.normal(c, scale=0.3)]),
                                      *(fresh(b, v) for v in moments)], **options))
    over: tuple[int, ...] = (shape[1],)
    groups = shape[0] * shape[1]
    if b.wanted == "LayerNormalization":
        options["axis"] = axis = b.number(1, len(shape) - 1) - (len(shape) if b.chance(0.5) else 0)
        over = shape[axis:]
        groups = b.values[x].size // int(np.prod(over))
    elif b.wanted == "GroupNormalization":
        options["num_groups"] = b.choice(divisors(shape[1]))
        groups = shape[0] * options["num_groups"]
    if b.values[x].reshape(groups, -1).std(1).min() < 0.01:  # of one value: ONNX Runtime's rounding errors, enlarged
        return False
    inputs = [x, b.constant(b.normal(*over)), b.constant(b.normal(*over, scale=0.3))]
    return bool(b.node(b.wanted, inputs[:2] if b.wanted == "LayerNormalization" and b.chance(0.2) else inputs, **options))


def fresh(b: Builder, array: np.ndarray) -> str:
    """A constant that no other node has, as its values must not be any."""
    name = f"own{len(b.constants)}"
    b.constants[name] = array
    return name


@generates("Softmax", "LogSoftmax")
def softmax(b: Builder) -> bool:
    x = b.pick()
    if x is None:
        return False
    rank = len(b.shape(x))
    return bool(b.node(b.wanted, [x], axis=b.number(0, rank - 1) - (rank if b.chance(0.5) else 0)))


@generates("Gemm")
def gemm(b: Builder) -> bool:
    x = b.pick(2)
    if x is None:
        return False
    rows, before = b.shape(x)
    outputs, transposed = b.number(1, 9), b.number(0, 1)
    weight = b.normal(outputs, before) / np.float32(np.sqrt(before))
    inputs = [x, b.constant(weight if transposed else np.ascontiguousarray(weight.T))]
    options: dict[str, Any] = {"transB": transposed}
    if b.chance(0.7):
        inputs.append(b.constant(b.normal(*b.choice(((outputs,), (1, outputs), (1,))))))
        options |= {"beta": 0.5} if b.chance(0.2) else {}
    return bool(b.node("Gemm", inputs, **options, **({"alpha": 1.5} if b.chance(0.2) else {})))


@generates("MatMul")
def matmul(b: Builder) -> bool:
    x = b.pick(2, 3, 4)
    if x is None:
        return False
    before = b.shape(x)[-1]
    if b.chance(0.5):
        weight = b.normal(before, b.number(1, 9)) / np.float32(np.sqrt(before))
        made = b.node("MatMul", [x, b.constant(weight)])
        if made and b.chance(0.6):
            return bool(b.node("Add", b.choice(([made[0], b.constant(b.normal(weight.shape[1]))],
                                               [b.constant(b.normal(weight.shape[1])), made[0]]))))
        return bool(made)
    rank = len(b.shape(x))
    order = [*range(rank - 2), rank - 1, rank - 2]
    others = [n for n, v in b.values.items() if v.dtype == np.float32 and v.ndim == rank and v.shape[:-2] == b.shape(x)[:-2]]
    fit = [n for n in others if b.shape(n)[-2] == before]
    if fit and b.chance(0.6):
        return bool(b.node("MatMul", [x, b.choice(fit)]))
    other = b.choice([n for n in others if b.shape(n)[-1] == before])
    turned = b.node("Transpose", [other], perm=order)
    scaled = b.node("Mul", [x, b.constant(np.float32(before ** -0.5))]) if turned else []
    return bool(scaled) and bool(b.node("MatMul", [scaled[0], turned[0]]))


@generates("Einsum")
def einsum(b: Builder) -> bool:
    x = b.pick(3)
    if x is None:
        return False
    _, rows, depth = b.shape(x)
    if b.chance(0.6):
        equation, weight = b.choice((("bid,dk->bik", (depth, 4)), ("bid,kd->bki", (3, depth)), ("bid,ie->bde", (rows, 2))))
        weight = b.normal(*weight) / np.float32(np.sqrt(weight[0]))
        return bool(b.node("Einsum", [x, b.constant(weight)], equation=equation))
    scaled = b.node("Mul", [x, b.constant(np.float32(depth ** -0.5))])
    equation = b.choice(("bid,bjd->bij", "bid,bjd->bji", "bid,bid->bi"))
    return bool(scaled) and bool(b.node("Einsum", [scaled[0], x], equation=equation))


@generates("Pad")
def pad(b: Builder) -> bool:
    x = b.pick(2, 3, 4)
    if x is None:
        return False
    rank = len(b.shape(x))
    mode = b.choice(("constant", "reflect", "edge", "wrap")[:4 if b.opset >= 19 else 3])
    first = b.choice((1, 2)) if rank > 2 else 1
    around = [[0] * first + b.numbers(rank - first, 0, 2) for _ in range(2)]
    inputs = [x, b.constant(np.array(sum(around, []), np.int64))]
    if mode == "constant" and b.chance(0.5):
        inputs.append(b.constant(np.float32(0.75)))
    return bool(b.node("Pad", inputs, mode=mode))


@generates("DepthToSpace", "SpaceToDepth")
def depth(b: Builder) -> bool:
    is_out = b.wanted == "DepthToSpace"
    x = b.pick(4, where=lambda v: v.shape[1] % 4 == 0 if is_out else v.shape[2] % 2 == 0 and v.shape[3] % 2 == 0)
    if x is None:  # one is made to fit
        x = b.pick(4)
        if x is None:
            return False
        _, c, h, w = b.shape(x)
        if is_out:
            made = b.node("Conv", [x, b.constant(b.normal(4, c, 1, 1))])
        else:
            made = b.node("Pad", [x, b.constant(np.array([0, 0, 0, 0, 0, 0, h % 2, w % 2], np.int64))])
        if not made:
            return False
        x = made[0]
    mode = {"mode": b.choice(("DCR", "CRD"))} if is_out and b.chance(0.7) else {}
    return bool(b.node(b.wanted, [x], blocksize=2, **mode))


@generates("Resize")
def resize(b: Builder) -> bool:
    x = b.pick(3, 4)
    if x is None:
        return False
    shape = b.shape(x)
    kind = b.choice(("nearest", "linear"))
    place = b.choice(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    options: dict[str, Any] = {"mode": kind, "coordinate_transformation_mode": place}
    if kind == "nearest":
        options["nearest_mode"] = b.choice(("floor", "round_prefer_floor", "round_prefer_ceil", "ceil"))
    roi = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else ""
    if b.chance(0.5):
        scales = np.array([1, 1, *(float(b.choice((1, 2, 3, 0.5))) for _ in shape[2:])], np.float32)
        return bool(b.node("Resize", [x, roi, fresh(b, scales)], **options))
    sizes = [*shape[:2], *(b.choice((n, 2 * n, b.number(1, 2 * n))) for n in shape[2:])]
    empty = fresh(b, np.zeros(0, np.float32)) if b.opset < 13 else ""
    return bool(b.node("Resize", [x, roi, empty, b.constant(np.array(sizes, np.int64))], **options))


@generates("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile")
def view(b: Builder) -> bool:
    x = b.pick()
    if x is None:
        return False
    shape, op = b.shape(x), b.wanted
    rank = len(shape)
    if op == "Reshape":
        rest, target = int(np.prod(shape)), [1]
        while rest > 1 and len(target) < 4:
            target.append(b.choice(divisors(rest)))
            rest //= target[-1]
        target[-1] *= rest
        if b.chance(0.3):
            target[b.number(1, len(target) - 1) if len(target) > 1 else 0] = -1
        return bool(b.node(op, [x, b.constant(np.array(target, np.int64))]))
    if op == "Flatten":
        return bool(b.node(op, [x], **({} if b.chance(0.7) else {"axis": b.number(0, rank)})))
    if op == "Squeeze":
        ones = [i for i, n in enumerate(shape) if n == 1 and i > 0]
        if not ones:
            return False
        inputs, attributes = attribute_or_input(b, 13, "axes", [b.choice(ones)])
        return bool(b.node(op, [x, *inputs], **attributes))
    if op == "Unsqueeze":
        inputs, attributes = attribute_or_input(b, 13, "axes", [b.number(1, rank)])
        return rank < 4 and bool(b.node(op, [x, *inputs], **attributes))
    if op == "Transpose":
        order = [0, *(1 + b.random.permutation(rank - 1))] if rank > 1 and b.chance(0.9) else list(b.random.permutation(rank))
        return bool(b.node(op, [x], perm=[int(i) for i in order]))
    if op == "Tile":
        repeats = [b.number(1, 3) if i > 0 else 1 for i in range(rank)]
        return b.opset >= 6 and bool(b.node(op, [x, b.constant(np.array(repeats, np.int64))]))
    target = [b.number(2, 3) if n == 1 and i > 0 and b.chance(0.7) else n for i, n in enumerate(shape)]
    return bool(b.node(op, [x, b.constant(np.array(target, np.int64))]))


@generates("Concat")
def concat(b: Builder) -> bool:
    x = b.pick(2, 3, 4)
    if x is None:
        return False
    shape = b.shape(x)
    axis = b.number(1, len(shape) - 1)

    def fits(v: np.ndarray) -> bool:
        return v.dtype == np.float32 and v.ndim == len(shape) and all(
            n == m for i, (n, m) in enumerate(zip(v.shape, shape)) if i != axis)

    others = [n for n, v in b.values.items() if fits(v)]
    parts = [x, *(b.choice(others) for _ in range(b.number(1, 2)))]
    if b.chance(0.2):
        parts.append(b.constant(b.normal(*(b.number(1, 3) if i == axis else n for i, n in enumerate(shape)))))
    b.random.shuffle(parts)
    return bool(b.node("Concat", parts, axis=axis - (len(shape) if b.chance(0.3) else 0)))


@generates("Split")
def split(b: Builder) -> bool:
    x = b.pick(2, 3, 4, where=lambda v: max(v.shape[1:]) > 1)
    if x is None:
        return False
    shape = b.shape(x)
    axis = b.choice([i for i, n in enumerate(shape) if i > 0 and n > 1])
    n = shape[axis]
    count = b.number(2, min(3, n))
    if n % count == 0 and b.chance(0.5):
        return bool(b.node("Split", [x], count, axis=axis, **({"num_outputs": count} if b.opset >= 18 else {})))
    cuts = sorted(b.random.choice(np.arange(1, n), count - 1, replace=False))
    parts = [int(p) for p in np.diff([0, *cuts, n])]
    inputs, attributes = attribute_or_input(b, 13, "split", parts)
    return bool(b.node("Split", [x, *inputs], count, axis=axis, **attributes))


@generates("Slice")
def slices(b: Builder) -> bool:
    x = b.pick(2, 3, 4)
    if x is None:
        return False
    shape = b.shape(x)
    axes = sorted(int(a) for a in b.random.choice(np.arange(1, len(shape)), b.number(1, len(shape) - 1), replace=False))
    starts, ends, steps = [], [], []
    for axis in axes:
        n = shape[axis]
        begin = b.number(0, n - 1)
        end = b.number(begin + 1, n)
        starts.append(begin - n if b.chance(0.3) else begin)
        ends.append(b.choice((end, end, 2 ** 31)) if end != n or b.chance(0.5) else -1 if n - 1 > begin else n)
        steps.append(b.choice((1, 1, 1, 2)))
        if b.chance(0.15):
            starts[-1], ends[-1], steps[-1] = -1, -2 ** 31, -1
    arrays = [starts, ends, axes] + ([steps] if steps != [1] * len(axes) or b.chance(0.5) else [])
    return bool(b.node("Slice", [x, *(b.constant(np.array(a, np.int64)) for a in arrays)]))


@generates("Gather")
def gather(b: Builder) -> bool:
    if b.chance(0.2) and len(b.inputs) < 3:  # rows of a table
        name, rows = f"ids{len(b.inputs)}", b.number(3, 11)
        b.inputs[name] = b.values[name] = b.random.integers(0, rows, (1, b.number(2, 6)))
        return bool(b.node("Gather", [b.constant(b.normal(rows, b.number(2, 8))), name]))
    x = b.pick(2, 3, 4)
    if x is None:
        return False
    axis = b.number(1, len(b.shape(x)) - 1)
    n = b.shape(x)[axis]
    chosen = np.array(b.number(-n, n - 1)) if b.chance(0.4) else b.random.integers(-n, n, b.number(1, 4))
    return bool(b.node("Gather", [x, b.constant(chosen.astype(np.int64))], axis=axis))


@generates("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
           "ReduceLogSum", "ReduceLogSumExp")
def reduction(b: Builder) -> bool:
    x = b.pick(2, 3, 4)
    if x is not None and b.wanted == "ReduceLogSum":
        x = positive(b, x)
    if x is None:
        return False
    rank = len(b.shape(x))
    axes = sorted(int(a) for a in b.random.choice(np.arange(1, rank), b.number(1, rank - 1), replace=False))
    axes = [a - rank if b.chance(0.3) else a for a in axes]
    inputs, attributes = attribute_or_input(b, 13 if b.wanted == "ReduceSum" else 18, "axes", axes)
    return bool(b.node(b.wanted, [x, *inputs], keepdims=b.number(0, 1), **attributes))


@generates("LSTM", "GRU", "RNN")
def recurrent(b: Builder) -> bool:
    x = b.pick(3)
    turned = b.node("Transpose", [x], perm=[1, 0, 2]) if x else []  # steps, batch, features
    if not turned or b.shape(turned[0])[1] != 1:
        return False
    steps, _, features = b.shape(turned[0])
    hidden, directions = b.number(1, 6), b.number(1, 2)
    rows = {"LSTM": 4, "GRU": 3, "RNN": 1}[b.wanted] * hidden
    scale = hidden ** -0.5
    inputs = [turned[0], b.constant(b.normal(directions, rows, features, scale=scale)),
              b.constant(b.normal(directions, rows, hidden, scale=scale))]
    if b.chance(0.7):
        inputs.append(b.constant(b.normal(directions, 2 * rows, scale=0.3)))
    options: dict[str, Any] = {"hidden_size": hidden} | ({"direction": "bidirectional"} if directions == 2 else {})
    if b.wanted == "GRU":
        options["linear_before_reset"] = 1
    made = b.node(b.wanted, inputs, b.number(1, 2), **options)
    if not made:
        return False
    y = b.node("Transpose", [made[0]], perm=[2, 0, 1, 3])  # batch, steps, directions, hidden
    return bool(y) and bool(b.node("Reshape", [y[0], b.constant(np.array([1, steps, directions * hidden], np.int64))]))
