# SPDX-License-Identifier: BSD-3-Clause
"""ONNX operators as those of the graph. Attributes of old opsets are brought to one form."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.places import repeat
from zeropoint.ir import Origin, Value, constant
from zeropoint.lower.sequences import torch_gates
from zeropoint.registry import registers

Converter = Callable[["Call"], None]
CONVERTERS: dict[str, Converter] = {}
converts = registers(CONVERTERS)


class Call:
    """One node, while it is converted."""

    def __init__(self, reader: Any, node: Any, inputs: list[Value | None], outputs: list[Value], origin: Origin) -> None:
        self.reader, self.node, self.outputs, self.origin = reader, node, outputs, origin
        self.inputs = list(inputs)
        self.attrs = reader.attributes(node)
        self.opset = reader.opset

    def input(self, number: int) -> Value | None:
        """Or None, where it is left out."""
        return self.inputs[number] if number < len(self.inputs) else None

    def known(self, number: int, attribute: str = "", default: Any = None) -> Any:
        """A constant input, which older opsets have as an attribute."""
        value = self.input(number)
        if value is None:
            return self.attrs.get(attribute, default)
        if value.data is None:
            raise NotSupported(f"{attribute or 'an operand'} is computed", "computed_operand")
        return value.data

    def make(self, op: str, inputs: list[Value | None], shape: tuple[int, ...], **attrs: Any) -> Value:
        """A node in between."""
        return self.reader.graph.add(op, inputs, shape, self.origin, name=self.origin.name, **attrs)

    def give(self, op: str, inputs: list[Value | None], number: int = 0, **attrs: Any) -> None:
        """The node that gives an output."""
        out = self.outputs[number]
        made = self.reader.graph.add(op, inputs, out.shape, self.origin, is_integer=out.is_integer, name=out.name, **attrs)
        self.reader.graph.nodes[-1].outputs[0] = out
        assert made is not None

    def refused(self, text: str) -> Exception:
        """An attribute without a form here."""
        return NotSupported(text)

    def same(self, number: int = 0) -> None:
        """An output that is the first input."""
        self.reader.values[self.node.output[number]] = self.inputs[0]


def convert(reader: Any, node: Any, inputs: list[Value | None], outputs: list[Value], origin: Origin) -> bool:
    """Adds what a node becomes; False where no converter knows it."""
    import zeropoint.front.onnx_conditions  # noqa: F401  (these register their converters)
    import zeropoint.front.onnx_layers  # noqa: F401

    converter = CONVERTERS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if converter is None:
        return False
    call = Call(reader, node, inputs, outputs, origin)
    before = len(reader.graph.nodes)
    try:
        converter(call)
    except NotSupported as error:
        del reader.graph.nodes[before:]
        reader.unsupported(node, inputs, outputs, origin, (error.reason, error.text))
    return True


UNARY = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "HardSwish": "hardswish", "Mish": "mish", "Exp": "exp",
         "Softsign": "softsign", "Log": "log", "Sqrt": "sqrt", "Abs": "abs", "Neg": "neg", "Reciprocal": "reciprocal",
         "Softplus": "softplus"}


@converts(*UNARY)
def convert_unary(call: Call) -> None:
    """Functions of one value without attributes."""
    call.give("unary", [call.inputs[0]], kind=UNARY[call.node.op_type])


@converts("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "Selu", "Gelu", "Swish", "HardSigmoid", "Clip", "PRelu")
def convert_activation(call: Call) -> None:
    """Those with attributes."""
    op, attrs, x = call.node.op_type, call.attrs, call.inputs[0]
    if op == "LeakyRelu":
        call.give("unary", [x], kind="leaky_relu", slope=attrs.get("alpha", 0.01))
    elif op in ("Elu", "Celu"):
        call.give("unary", [x], kind=op.lower(), alpha=attrs.get("alpha", 1.0))
    elif op == "ThresholdedRelu":
        call.give("unary", [x], kind="threshold", limit=attrs.get("alpha", 1.0), value=0.0)
    elif op == "Selu":
        if abs(attrs.get("alpha", 1.6732632) - 1.6732632) > 1e-4 or abs(attrs.get("gamma", 1.0507010) - 1.050701) > 1e-4:
            raise NotSupported("a Selu of its own alpha or gamma")
        call.give("unary", [x], kind="selu")
    elif op == "Gelu":
        call.give("unary", [x], kind="gelu_tanh" if attrs.get("approximate", "none") == "tanh" else "gelu")
    elif op == "Swish":
        if attrs.get("alpha", 1.0) != 1.0:
            raise NotSupported("a Swish of its own alpha")
        call.give("unary", [x], kind="silu")
    elif op == "HardSigmoid":
        alpha, beta = attrs.get("alpha", 0.2), attrs.get("beta", 0.5)
        if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
            call.give("unary", [x], kind="hard_sigmoid")
        else:
            call.give("unary", [x], kind="linear_clamp", scale=alpha, offset=beta)
    elif op == "Clip" and any(v is not None and v.data is None for v in call.inputs[1:]):
        clip_by_values(call)
    elif op == "Clip":
        low, high = bound(call.known(1, "min")), bound(call.known(2, "max"))
        if low is not None and high is not None and low > high:
            raise NotSupported(f"a clip between {low:g} and {high:g}: the lower bound lies above the upper one")
        call.give("unary", [x], kind="clamp", min=low, max=high)
    else:
        convert_prelu(call)


def clip_by_values(call: Call) -> None:
    """Between bounds that are computed."""
    current = call.inputs[0]
    for limit, kind in zip(call.inputs[1:], ("maximum", "minimum")):
        if limit is not None and (limit.data is None or bound(limit.data) is not None):
            current = call.make("binary", [current, limit], current.shape, kind=kind)
    call.give("identity", [current])


def convert_prelu(call: Call) -> None:
    """A slope or one a channel; slopes of other extents by arithmetic."""
    x, slopes = call.inputs
    wanted = (1,) * (len(x.shape) - len(slopes.shape)) + slopes.shape
    if slopes.data is None or slopes.data.size == 1 or all(n == 1 for i, n in enumerate(wanted) if i != 1):
        call.give("prelu", [x, slopes])
        return
    zero = constant("", np.float32(0))
    below = call.make("binary", [call.make("binary", [x, zero], x.shape, kind="minimum"), slopes], x.shape, kind="mul")
    call.give("binary", [call.make("unary", [x], x.shape, kind="relu"), below], kind="add")


def bound(value: Any) -> float | None:
    """None where it bounds nothing."""
    if value is None:
        return None
    number = float(np.asarray(value).reshape(-1)[0])
    return None if abs(number) > 3e38 else number


BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}


@converts(*BINARY, "Max", "Min", "Sum", "Mean", "Pow")
def convert_binary(call: Call) -> None:
    """Operators of two values and more."""
    op = call.node.op_type
    if op in BINARY:
        call.give("binary", call.inputs, kind=BINARY[op])
        return
    if op == "Pow":
        exponent = call.known(1)
        number = float(exponent.reshape(-1)[0]) if exponent.size == 1 else 0.0
        kinds = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
        if number == 3.0:
            square = call.make("unary", [call.inputs[0]], call.inputs[0].shape, kind="square")
            call.give("binary", [square, call.inputs[0]], kind="mul")
        elif number in kinds:
            call.give("unary", [call.inputs[0]], kind=kinds[number])
        else:
            raise NotSupported(f"a power of {number:g}")
        return
    kind = {"Max": "maximum", "Min": "minimum"}.get(op, "add")
    if len(call.inputs) == 1:
        call.give("identity", call.inputs)
        return
    total = call.inputs[0]
    for number, value in enumerate(call.inputs[1:]):
        shape = tuple(np.broadcast_shapes(total.shape, value.shape))
        if number == len(call.inputs) - 2 and op != "Mean":
            call.give("binary", [total, value], kind=kind)
            return
        total = call.make("binary", [total, value], shape, kind=kind)
    call.give("binary", [total, constant("", np.float32(len(call.inputs)))], kind="div")


def axes_of(call: Call, number: int, rank: int) -> list[int]:
    """Of a reduction: an input, an attribute, or all."""
    axes = call.known(number, "axes")
    if axes is None or len(np.asarray(axes).reshape(-1)) == 0:
        return [] if call.attrs.get("noop_with_empty_axes") else list(range(rank))
    return [int(a) % rank for a in np.asarray(axes).reshape(-1)]


REDUCTIONS = {"ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
              "ReduceL2": "l2", "ReduceSumSquare": "sum_square"}


@converts(*REDUCTIONS)
def convert_reduction(call: Call) -> None:
    """Along axes."""
    x = call.inputs[0]
    axes = axes_of(call, 1, len(x.shape))
    call.give("reduce", [x], kind=REDUCTIONS[call.node.op_type], axes=axes, keepdim=bool(call.attrs.get("keepdims", 1)))


@converts("ReduceL1", "ReduceLogSum", "ReduceLogSumExp")
def convert_composed_reduction(call: Call) -> None:
    """Sums of absolute values; logarithms of sums, of exponentials from their largest one on."""
    op, x = call.node.op_type, call.inputs[0]
    options = dict(axes=axes_of(call, 1, len(x.shape)), keepdim=bool(call.attrs.get("keepdims", 1)))
    if op == "ReduceL1":
        call.give("reduce", [call.make("unary", [x], x.shape, kind="abs")], kind="sum", **options)
        return
    out = call.outputs[0].shape
    if op == "ReduceLogSum":
        call.give("unary", [call.make("reduce", [x], out, kind="sum", **options)], kind="log")
        return
    kept = tuple(1 if i in options["axes"] else n for i, n in enumerate(x.shape))
    largest = call.make("reduce", [x], kept, kind="max", axes=options["axes"], keepdim=True)
    powers = call.make("unary", [call.make("binary", [x, largest], x.shape, kind="sub")], x.shape, kind="exp")
    total = call.make("unary", [call.make("reduce", [powers], out, kind="sum", **options)], out, kind="log")
    call.give("binary", [total, largest if out == kept else call.make("reshape", [largest], out)], kind="add")


@converts("Identity", "Dropout", "Cast")
def convert_nothing(call: Call) -> None:
    """What inference does not have."""
    if call.node.op_type == "Cast":
        to_bool = call.attrs["to"] == call.reader.onnx.TensorProto.BOOL
        if call.outputs[0].is_integer and not call.inputs[0].is_integer and not to_bool:
            call.give("cast", [call.inputs[0]])  # of an input that is indices, what zeropoint.index_pattern takes
            return
        if to_bool:
            call.give("compare", [call.inputs[0], constant("", np.float32(0))], kind="ne")
            return
        if call.outputs[0].is_integer != call.inputs[0].is_integer:
            call.give("identity", [call.inputs[0]])
            return
    if len(call.node.output) > 1 and call.node.output[1]:
        raise NotSupported("the mask of a dropout is read")
    call.same()


@converts("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def convert_reshape(call: Call) -> None:
    """Other axes of the same values."""
    call.give("reshape", [call.inputs[0]])


@converts("Transpose")
def convert_transpose(call: Call) -> None:
    """Axes in another order."""
    rank = len(call.inputs[0].shape)
    call.give("permute", [call.inputs[0]], order=list(call.attrs.get("perm", range(rank - 1, -1, -1))))


@converts("Concat")
def convert_concat(call: Call) -> None:
    """Side by side along an axis."""
    call.give("concat", call.inputs, axis=call.attrs["axis"] % len(call.outputs[0].shape))


@converts("Split")
def convert_split(call: Call) -> None:
    """A slice for each part."""
    x = call.inputs[0]
    axis = call.attrs.get("axis", 0) % len(x.shape)
    at = 0
    for number, out in enumerate(call.outputs):
        if out.name:
            call.give("slice", [x], number, axis=axis, begin=at, end=at + out.shape[axis], step=1)
        at += out.shape[axis]


@converts("Slice")
def convert_slice(call: Call) -> None:
    """A range along each of some axes."""
    x = call.inputs[0]
    starts = np.asarray(call.known(1, "starts")).reshape(-1)
    ends = np.asarray(call.known(2, "ends")).reshape(-1)
    axes = call.known(3, "axes")
    steps = call.known(4, "steps")
    axes = list(range(len(starts))) if axes is None else [int(a) for a in np.asarray(axes).reshape(-1)]
    steps = [1] * len(starts) if steps is None else [int(s) for s in np.asarray(steps).reshape(-1)]
    current, parts = x, list(zip(starts, ends, axes, steps))
    for number, (start, end, axis, step) in enumerate(parts):
        axis %= len(x.shape)
        if step < 0:
            if step != -1 or len(range(*slice(int(start), int(end), -1).indices(current.shape[axis]))) != \
                    current.shape[axis]:
                raise NotSupported("a slice backwards over a part of an axis")
            current = call.make("flip", [current], current.shape, axes=[axis])
        else:
            begin, stop, _ = slice(int(start), int(end), step).indices(current.shape[axis])
            shape = list(current.shape)
            shape[axis] = max(0, -(-(stop - begin) // step))
            current = call.make("slice", [current], tuple(shape), axis=axis, begin=begin, end=stop, step=step)
    call.give("identity", [current])


@converts("Gather")
def convert_gather(call: Call) -> None:
    """Rows of a table by indices, or constant indices along an axis."""
    data, indices = call.inputs
    axis = call.attrs.get("axis", 0) % len(data.shape)
    if data.data is not None:
        if axis != 0 or data.data.ndim != 2:
            raise NotSupported("computed indices into a constant that is no table")
        call.give("embedding", [data, indices])
        return
    chosen = np.asarray(call.known(1)) % data.shape[axis]
    if chosen.ndim == 0:
        index = int(chosen)
        shape = data.shape[:axis] + (1,) + data.shape[axis + 1:]
        part = call.make("slice", [data], shape, axis=axis, begin=index, end=index + 1, step=1)
        call.give("reshape", [part], picks=True)
    else:
        indices = [int(i) for i in chosen.reshape(-1)]
        shape = data.shape[:axis] + (len(indices),) + data.shape[axis + 1:]
        part = data if indices == list(range(data.shape[axis])) else \
            call.make("gather", [data], shape, axis=axis, indices=indices)
        call.give("reshape" if chosen.ndim > 1 else "identity", [part])


@converts("Expand")
def convert_expand(call: Call) -> None:
    """Axes of extent 1 repeated."""
    call.give("expand", [call.inputs[0]])


@converts("Tile")
def convert_tile(call: Call) -> None:
    """Copies side by side."""
    repeat(call, call.inputs[0], tuple(int(n) for n in np.asarray(call.known(1)).reshape(-1)))


@converts("LSTM", "GRU", "RNN")
def convert_recurrent(call: Call) -> None:
    """States of zeros are left out. Outputs are axes steps, directions, batch, hidden in ONNX."""
    op, attrs = call.node.op_type, call.attrs
    x, w, r = call.inputs[0], call.known(1), call.known(2)
    if x.shape[1 - attrs.get("layout", 0)] != 1:
        raise NotSupported("a batch of more than one: a call takes one sequence")
    bias = call.known(3)
    for number, what in ((4, "lengths of sequences"), (7, "peepholes")):
        if call.input(number) is not None:
            raise NotSupported(what)
    states = [state if state is not None and (state.data is None or np.any(state.data)) else None
              for state in map(call.input, (5, 6) if op == "LSTM" else (5,))]
    direction, hidden = attrs.get("direction", "forward"), attrs["hidden_size"]
    if any(v is not None and v.shape[-1] != hidden for v in map(call.input, (5, 6))):
        raise NotSupported("a state of other extents than hidden_size: PyTorch's exporter writes projections so, which no "
                           "runtime takes; import the module itself")
    given = [a.decode() if isinstance(a, bytes) else a for a in attrs.get("activations", [])]
    usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[op]
    is_relu = op == "RNN" and given in (["Relu"], ["Relu"] * 2)
    if direction == "reverse" or attrs.get("clip") or attrs.get("layout", 0) or \
            not is_relu and given not in ([], usual, usual * 2):
        raise NotSupported("a reversed direction, a clip, a layout or activations of its own")
    if op == "GRU" and not attrs.get("linear_before_reset", 0):
        raise NotSupported("linear_before_reset = 0; PyTorch's GRU has 1")
    order = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}[op]
    parameters = {}
    for number in range(w.shape[0]):
        suffix = "_reverse" if number else ""
        parameters[f"weight_ih_l0{suffix}"] = torch_gates(w[number], order)
        parameters[f"weight_hh_l0{suffix}"] = torch_gates(r[number], order)
        if bias is not None:
            first, second = np.split(bias[number], 2)
            parameters[f"bias_ih_l0{suffix}"] = torch_gates(first, order)
            parameters[f"bias_hh_l0{suffix}"] = torch_gates(second, order)
    steps, directions = x.shape[0], w.shape[0]
    graph = call.reader.graph
    all_steps = Value(call.origin.name, (steps, 1, directions * hidden))
    last = Value(call.origin.name, (directions, 1, hidden))
    from zeropoint.ir import Node
    cell = call.outputs[2] if len(call.outputs) > 2 else Value("", (directions, 1, hidden))
    graph.nodes.append(Node("rnn", [x, *states], [all_steps, last, cell],
                            dict(cell=op.lower(), hidden=hidden, layers=1, bidirectional=directions == 2, steps=0,
                                 parameters=parameters, first=None, relu=is_relu), call.origin))
    if call.outputs and call.outputs[0].name:
        apart = call.make("reshape", [all_steps], (steps, 1, directions, hidden))
        call.give("permute", [apart], order=[0, 2, 1, 3])
    if len(call.outputs) > 1 and call.outputs[1].name:
        call.give("identity", [last], 1)
