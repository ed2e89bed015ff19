# SPDX-License-Identifier: BSD-3-Clause
"""Operators of TensorFlow Lite as those of the graph: images are N H W C there, so that axes are renamed around windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.tflite_reader import TO_NCHW, TO_NHWC, TfliteReader, layer_name, names_of, nchw
from zeropoint.ir import Origin, Value, constant
from zeropoint.registry import registers

Converter = Callable[["Call"], None]
CONVERTERS: dict[str, Converter] = {}
converts = registers(CONVERTERS)
ACTIVATIONS: dict[str, dict[str, Any]] = {
    "RELU": {"kind": "relu"}, "RELU6": {"kind": "relu6"}, "RELU_N1_TO_1": {"kind": "clamp", "min": -1.0, "max": 1.0}}


class Call:
    """One operator, while it is converted."""

    def __init__(self, reader: TfliteReader, operator: Any, kind: str, number: int) -> None:
        self.reader, self.operator, self.kind = reader, operator, kind
        self.options = operator.builtinOptions
        self.inputs = [reader.value(int(i)) for i in operator.inputs]
        self.outputs = [int(i) for i in operator.outputs]
        self.origin = Origin(layer_name(reader.name(self.outputs[0])), (), f"operator {number}, {kind}")

    def option(self, name: str, default: Any = 0) -> Any:
        """Of the operator's table, or what the schema has where there is none."""
        return default if self.options is None else getattr(self.options, name)

    def known(self, number: int, what: str) -> np.ndarray:
        """A constant input."""
        value = self.inputs[number] if number < len(self.inputs) else None
        if value is None or value.data is None:
            raise NotSupported(f"{what} is computed; it must be a constant", "computed_operand")
        return value.data

    def x(self, number: int = 0) -> Value:
        """A computed input, or a constant one."""
        value = self.inputs[number]
        if value is None:
            raise NotSupported("an input is missing")
        return value

    def make(self, op: str, inputs: list[Value | None], shape: tuple[int, ...], **attrs: Any) -> Value:
        """A node in between."""
        return self.reader.graph.add(op, inputs, shape, self.origin, name=f"{self.origin.name}.{op}", **attrs)

    def image(self, value: Value) -> Value:
        """N C H W of N H W C."""
        if len(value.shape) != 4:
            raise NotSupported(f"an image of {len(value.shape)} axes", "axis")
        moved = self.make("permute", [value], tuple(value.shape[i] for i in TO_NCHW), order=list(TO_NCHW))
        moved.coding = nchw(value.coding)
        return moved

    def give(self, op: str, inputs: list[Value | None], number: int = 0, *, is_image: bool = False,
             shape: tuple[int, ...] | None = None, **attrs: Any) -> None:
        """The node that gives an output, with its activation; made in N C H W, or in another shape, and then moved."""
        index = self.outputs[number]
        extents, coding = self.reader.extents(index), self.reader.coding(index)
        inner = shape or (tuple(extents[i] for i in TO_NCHW) if is_image else extents)
        activation = names_of(self.reader.schema.ActivationFunctionType)[self.option("fusedActivationFunction", 0)] \
            if hasattr(self.options, "fusedActivationFunction") else "NONE"
        if activation not in (*ACTIVATIONS, "NONE"):
            raise NotSupported(f"a fused {activation}")
        value = self.make(op, inputs, inner, **attrs)
        if activation != "NONE":
            value = self.make("unary", [value], inner, **ACTIVATIONS[activation])
        value.coding = nchw(coding) if is_image else coding  # of another shape too: its values stand in the same order
        if is_image:
            value.name = f"{self.reader.name(index)} as N C H W"
            self.reader.images[value.name] = index
        self.reader.operator_of[id(value)] = self.operator
        if is_image:
            value = self.make("permute", [value], extents, order=list(TO_NHWC))
        elif shape is not None:
            value = self.make("reshape", [value], extents)
        self.put(value, number)

    def put(self, value: Value, number: int = 0) -> None:
        """Says what an output is."""
        index = self.outputs[number]
        value.name, value.coding = self.reader.name(index), self.reader.coding(index)
        self.reader.operator_of.setdefault(id(value), self.operator)
        self.reader.values[index] = value


def convert(reader: TfliteReader, operator: Any, number: int) -> None:
    """Adds what an operator becomes, or keeps it to be reported."""
    import zeropoint.front.tflite_conditions  # noqa: F401  (these register their converters)
    import zeropoint.front.tflite_layers  # noqa: F401

    code = reader.model.operatorCodes[operator.opcodeIndex]
    kind = reader.operators.get(max(int(code.builtinCode), int(code.deprecatedBuiltinCode)), "CUSTOM")
    if code.customCode:
        kind = f"CUSTOM {code.customCode.decode()}"
    converter = CONVERTERS.get(kind)
    before = len(reader.graph.nodes)
    try:
        if converter is None:
            raise NotSupported("no layer computes this operator; cut the model in front of it", "op")
        converter(Call(reader, operator, kind, number))
    except NotSupported as error:
        del reader.graph.nodes[before:]
        reader.unsupported(operator, number, kind, error.reason, error.text)


UNARY: dict[str, dict[str, Any]] = {
    **ACTIVATIONS, "LOGISTIC": {"kind": "sigmoid"}, "TANH": {"kind": "tanh"}, "HARD_SWISH": {"kind": "hardswish"},
    "EXP": {"kind": "exp"}, "LOG": {"kind": "log"}, "SQRT": {"kind": "sqrt"}, "RSQRT": {"kind": "rsqrt"},
    "ABS": {"kind": "abs"}, "NEG": {"kind": "neg"}, "SQUARE": {"kind": "square"}, "ELU": {"kind": "elu", "alpha": 1.0},
    "RELU_0_TO_1": {"kind": "clamp", "min": 0.0, "max": 1.0}}


@converts(*UNARY)
def convert_unary(call: Call) -> None:
    """Functions of one value."""
    call.give("unary", [call.x()], **UNARY[call.kind])


@converts("LEAKY_RELU", "GELU")
def convert_activation(call: Call) -> None:
    """Those with an attribute."""
    if call.kind == "GELU":
        call.give("unary", [call.x()], kind="gelu_tanh" if call.option("approximate", False) else "gelu")
    else:
        call.give("unary", [call.x()], kind="leaky_relu", slope=float(np.float32(call.option("alpha"))))


BINARY = {"ADD": "add", "SUB": "sub", "MUL": "mul", "DIV": "div", "MAXIMUM": "maximum", "MINIMUM": "minimum",
          "SQUARED_DIFFERENCE": "squared_difference"}


@converts(*BINARY)
def convert_binary(call: Call) -> None:
    """Operators of two values."""
    call.give("binary", [call.x(0), call.x(1)], kind=BINARY[call.kind])


@converts("QUANTIZE")
def convert_quantize(call: Call) -> None:
    """Of floats at the entry nothing but how they are coded; of codes another grid."""
    value, coding = call.x(), call.reader.coding(call.outputs[0])
    if coding is None:
        raise NotSupported("codes without a scale")
    if value.coding is not None and value.coding.dtype == "uint8" and coding.dtype == "int8" and value in \
            call.reader.graph.inputs and value.coding.scale[0] == coding.scale[0] and \
            int(value.coding.zero_point[0]) - 128 == int(coding.zero_point[0]):
        value.coding = replace(coding, source=value.coding.source)
        call.reader.values[call.outputs[0]] = value
        call.reader.graph.notes.append(f"Codes of the input \"{value.name}\" are those of the source minus 128.")
    elif value.coding is None:
        if value.data is None and value not in call.reader.graph.inputs:
            raise NotSupported("a value that was computed in float becomes codes; only whole networks of integers can be "
                               "imported", "value")
        value.coding = coding
        call.reader.values[call.outputs[0]] = value
    elif coding.dtype == "uint8" and value.coding.dtype == "int8" and call.outputs[0] in call.reader.subgraph.outputs and \
            value not in call.reader.graph.inputs and value.coding.scale[0] == coding.scale[0] and \
            int(value.coding.zero_point[0]) + 128 == int(coding.zero_point[0]):
        call.reader.values[call.outputs[0]] = value
        call.reader.shifted.add(call.outputs[0])
    else:
        call.give("requantize", [value])


@converts("DEQUANTIZE")
def convert_dequantize(call: Call) -> None:
    """To floats: of constants, and at the end."""
    value = call.x()
    if value.data is not None and (value.coding is None or call.reader.dequantize):  # float16, or codes of which the real numbers are wanted
        call.reader.values[call.outputs[0]] = value if value.coding is None else constant(value.name, value.data)
        return
    if value.data is not None:
        raise NotSupported("weights alone are integers (weight-only quantization); import the float model, or with --dequantize the real "
                           "numbers of these, and give it zp::weight_only", "value")
    call.reader.values[call.outputs[0]] = value


@converts("DENSIFY")
def convert_densify(call: Call) -> None:
    """Of a constant, whose zeros the reader has put back."""
    call.known(0, "a sparse tensor")
    call.reader.values[call.outputs[0]] = call.x()


@converts("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def convert_reshape(call: Call) -> None:
    """Other axes of the same values."""
    call.give("reshape", [call.x()])


@converts("TRANSPOSE")
def convert_transpose(call: Call) -> None:
    """Axes in another order."""
    call.give("permute", [call.x()], order=[int(i) for i in call.known(1, "an order of axes")])


@converts("CONCATENATION")
def convert_concat(call: Call) -> None:
    """Side by side along an axis."""
    rank = len(call.reader.extents(call.outputs[0]))
    call.give("concat", list(call.inputs), axis=int(call.option("axis")) % rank)


@converts("PACK")
def convert_pack(call: Call) -> None:
    """Side by side along a new axis."""
    extents = call.reader.extents(call.outputs[0])
    axis = int(call.option("axis")) % len(extents)
    parts: list[Value | None] = []
    for number in range(len(call.inputs)):
        x = call.x(number)
        parts.append(call.make("reshape", [x], x.shape[:axis] + (1,) + x.shape[axis:]))
        parts[-1].coding = x.coding  # type: ignore[union-attr]
    call.give("concat", parts, axis=axis)


@converts("SPLIT", "SPLIT_V", "UNPACK")
def convert_split(call: Call) -> None:
    """A slice for each part."""
    if call.kind == "UNPACK":
        x, axis = call.x(), int(call.option("axis"))
    else:
        x = call.x(1 if call.kind == "SPLIT" else 0)
        axis = int(call.known(0 if call.kind == "SPLIT" else 2, "an axis").reshape(-1)[0])
    axis, at = axis % len(x.shape), 0
    for number, index in enumerate(call.outputs):
        extents = call.reader.extents(index)
        size = 1 if call.kind == "UNPACK" else extents[axis]
        part = x.shape[:axis] + (size,) + x.shape[axis + 1:]
        call.give("slice", [x], number, shape=part if part != extents else None, axis=axis, begin=at, end=at + size, step=1)
        at += size


@converts("SLICE", "STRIDED_SLICE")
def convert_slice(call: Call) -> None:
    """A range along each axis."""
    x, begin = call.x(), [int(n) for n in call.known(1, "a begin")]
    second = [int(n) for n in call.known(2, "an end")]
    step = [1] * len(begin)
    if call.kind == "SLICE":
        end = [n if size == -1 else b + size for b, size, n in zip(begin, second, x.shape)]
    else:
        step = [int(n) for n in call.known(3, "a step")]
        if any(call.option(mask) for mask in ("ellipsisMask", "newAxisMask")) or any(s < 1 for s in step):
            raise NotSupported("a slice backwards, with an ellipsis or with new axes")
        masks = [(call.option("beginMask") >> i & 1, call.option("endMask") >> i & 1) for i in range(len(begin))]
        ranges = [slice(None if m[0] else b, None if m[1] else e, s).indices(n)
                  for b, e, s, n, m in zip(begin, second, step, x.shape, masks)]
        shrink = call.option("shrinkAxisMask")
        begin = [r[0] for r in ranges]
        end = [r[0] + 1 if shrink >> i & 1 else r[1] for i, r in enumerate(ranges)]
    current = x
    for axis, (b, e, s) in enumerate(zip(begin, end, step)):
        extent = -(-(e - b) // s)
        if extent == current.shape[axis]:
            continue
        shape = current.shape[:axis] + (extent,) + current.shape[axis + 1:]
        current = call.make("slice", [current], shape, axis=axis, begin=b, end=e, step=s)
    same = current.shape == call.reader.extents(call.outputs[0])
    call.give("identity" if same else "reshape", [current])


@converts("PAD", "PADV2", "MIRROR_PAD")
def convert_pad(call: Call) -> None:
    """Values around."""
    x, amounts = call.x(), call.known(1, "an amount of padding")
    value = float(call.known(2, "a padding").reshape(-1)[0]) if call.kind == "PADV2" else 0.0
    if call.kind == "MIRROR_PAD" and call.option("mode") != call.reader.schema.MirrorPadMode.REFLECT:
        raise NotSupported("a symmetric padding")
    mode = "reflect" if call.kind == "MIRROR_PAD" else "constant"
    begin, end = amounts[:, 0].tolist(), amounts[:, 1].tolist()
    if len(x.shape) == 4:
        call.give("pad", [call.image(x)], is_image=True, begin=[begin[i] for i in TO_NCHW],
                  end=[end[i] for i in TO_NCHW], mode=mode, value=value)
    else:
        call.give("pad", [x], begin=begin, end=end, mode=mode, value=value)


@converts("REVERSE_V2", "TILE", "BROADCAST_TO", "GATHER")
def convert_movement(call: Call) -> None:
    """What picks and repeats values."""
    x, rank = call.x(), len(call.x().shape)
    if call.kind == "REVERSE_V2":
        call.give("flip", [x], axes=[int(a) % rank for a in call.known(1, "the axes")])
    elif call.kind == "GATHER":
        axis, indices = int(call.option("axis")) % rank, call.known(1, "indices")
        if indices.ndim != 1 or call.option("batchDims"):
            raise NotSupported("indices of more than one axis")
        call.give("gather", [x], axis=axis, indices=[int(i) for i in indices])
    else:
        extents = call.reader.extents(call.outputs[0])
        if any(n != m and n != 1 for n, m in zip(x.shape, extents)) or len(extents) != rank:
            raise NotSupported("an axis that is repeated as a whole")
        call.give("expand", [x])


def reordered(call: Call, weight: Value, data: np.ndarray) -> Value:
    """A constant under its name in another order, with its scales."""
    made = constant(weight.name, np.ascontiguousarray(data))
    made.coding = weight.coding
    return made
