# SPDX-License-Identifier: BSD-3-Clause
"""Writes python/tests/models/*.tflite: small networks of TensorFlow Lite, quantized to int8 by Google's ai-edge-quantizer.

    pip install ai-edge-quantizer
    python scripts/golden/tflite_networks.py

The float models are made here, from random weights, all extents unlike: there is no TensorFlow. They are calibrated with normal
numbers and quantized by the recipe static_wi8_ai8 (weights with a scale a channel). python/tests/test_quantized.py imports them.

    cnn          convolutions, a residual, depthwise, max pools, concat, mean, fully connected, softmax
    ds_cnn       a keyword spotter of depthwise separable convolutions, average pools
    mobilenet    inverted bottlenecks with hard_swish and squeeze-and-excite (mean, mul, logistic)
    sequence     dilated convolutions over time, gates of tanh and logistic, a fully connected layer over all steps; floats go
                 in and come out, codes in the others
    decoder      max pool, transposed convolution, concat, padding, nearest resize
    tiny_float, tiny_dynamic, tiny_int16    what is imported as floats, and what is refused
    conditions   floats: comparisons, logic, choices
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_quantizer import algorithm_manager, qtyping, quantizer, recipe, recipe_manager

FOLDER = Path(__file__).resolve().parents[2] / "python/tests/models"
ACTIVATION = schema.ActivationFunctionType


class Author:
    """A float model of one subgraph; tensors are numbers."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.random = np.random.default_rng(seed)
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs, self.model.buffers = 3, [self.graph], [schema.BufferT()]
        self.model.operatorCodes, self.graph.tensors, self.graph.operators = [], [], []
        self.shapes: list[tuple[int, ...]] = []
        self.x = self.tensor("x", shape)

    def tensor(self, name: str, shape: tuple[int, ...], data: np.ndarray | None = None) -> int:
        """A value, or a constant."""
        made = schema.TensorT()
        made.name, made.shape, made.type = name, np.array(shape, np.int32), schema.TensorType.FLOAT32
        if data is not None:
            made.buffer = len(self.model.buffers)
            self.model.buffers.append(schema.BufferT())
            self.model.buffers[-1].data = np.frombuffer(data.tobytes(), np.uint8)
            made.type = schema.TensorType.INT32 if data.dtype == np.int32 else schema.TensorType.FLOAT32
        self.graph.tensors.append(made)
        self.shapes.append(tuple(shape))
        return len(self.graph.tensors) - 1

    def floats(self, name: str, shape: tuple[int, ...], spread: float) -> int:
        """Random weights."""
        return self.tensor(name, shape, (self.random.standard_normal(shape) * spread).astype(np.float32))

    def numbers(self, values: Any) -> int:
        """Constant integers."""
        array = np.array(values, np.int32)
        return self.tensor(f"numbers{len(self.shapes)}", array.shape, array)

    def add(self, kind: str, inputs: list[int], shape: tuple[int, ...], name: str = "", options: Any = None, version: int = 1,
            **fields: Any) -> int:
        """An operator; fields are those of its options."""
        code, operator = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode, code.version = getattr(schema.BuiltinOperator, kind), version
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        out = self.tensor(name or f"{kind.lower()}_{len(self.shapes)}", shape)
        if options is not None:
            table = getattr(schema, f"{options}T")()
            for field, value in fields.items():
                setattr(table, field, value)
            operator.builtinOptionsType, operator.builtinOptions = getattr(schema.BuiltinOptions, options), table
        operator.opcodeIndex = len(self.model.operatorCodes)
        operator.inputs, operator.outputs = np.array(inputs, np.int32), np.array([out], np.int32)
        self.model.operatorCodes.append(code)
        self.graph.operators.append(operator)
        return out

    def conv(self, x: int, name: str, channels: int, kernel: tuple[int, int] = (1, 1), stride: tuple[int, int] = (1, 1),
             activation: int = ACTIVATION.NONE, dilation: tuple[int, int] = (1, 1), depthwise: bool = False) -> int:
        """SAME; depthwise ones have `channels` times the channels of x."""
        _, height, width, depth = self.shapes[x]
        out = depth * channels if depthwise else channels
        fan_in = kernel[0] * kernel[1] * (1 if depthwise else depth)
        shape = (1, *kernel, out) if depthwise else (out, *kernel, depth)
        weight, bias = self.floats(f"{name}/weight", shape, (2 / fan_in) ** 0.5), self.floats(f"{name}/bias", (out,), 0.3)
        fields = dict(padding=schema.Padding.SAME, strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
                      dilationWFactor=dilation[1], fusedActivationFunction=activation)
        if depthwise:
            fields["depthMultiplier"] = channels
        size = (1, -(-height // stride[0]), -(-width // stride[1]), out)
        return self.add("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [x, weight, bias], size, f"{name}/out",
                        "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", **fields)

    def linear(self, x: int, name: str, outputs: int, activation: int = ACTIVATION.NONE, keeps: bool = False) -> int:
        """Over the last axis."""
        *rows, depth = self.shapes[x]
        weight = self.floats(f"{name}/weight", (outputs, depth), (2 / depth) ** 0.5)
        bias = self.floats(f"{name}/bias", (outputs,), 0.3)
        return self.add("FULLY_CONNECTED", [x, weight, bias], (*rows, outputs), f"{name}/out", "FullyConnectedOptions",
                        fusedActivationFunction=activation, keepNumDims=keeps)

    def pool(self, x: int, kind: str, kernel: tuple[int, int], stride: tuple[int, int], padding: int = schema.Padding.VALID) -> int:
        """MAX_POOL_2D, AVERAGE_POOL_2D"""
        _, height, width, depth = self.shapes[x]
        if padding == schema.Padding.SAME:
            size = (-(-height // stride[0]), -(-width // stride[1]))
        else:
            size = ((height - kernel[0]) // stride[0] + 1, (width - kernel[1]) // stride[1] + 1)
        return self.add(kind, [x], (1, *size, depth), "", "Pool2DOptions", padding=padding, strideH=stride[0],
                        strideW=stride[1], filterHeight=kernel[0], filterWidth=kernel[1])

    def binary(self, kind: str, a: int, b: int, activation: int = ACTIVATION.NONE) -> int:
        """ADD, MUL, SUB"""
        shape = tuple(np.broadcast_shapes(self.shapes[a], self.shapes[b]))
        return self.add(kind, [a, b], shape, "", f"{kind.capitalize()}Options", fusedActivationFunction=activation)

    def unary(self, kind: str, x: int) -> int:
        """LOGISTIC, TANH, HARD_SWISH"""
        return self.add(kind, [x], self.shapes[x], "", "HardSwishOptions" if kind == "HARD_SWISH" else None)

    def condition(self, kind: str, *inputs: int) -> int:
        """EQUAL and alike, LOGICAL_AND and alike."""
        shape = tuple(np.broadcast_shapes(*(self.shapes[x] for x in inputs)))
        options = {"EQUAL": "EqualOptions", "NOT_EQUAL": "NotEqualOptions"}.get(kind)
        made = self.add(kind, list(inputs), shape, "", options)
        self.graph.tensors[made].type = schema.TensorType.BOOL
        return made

    def mean(self, x: int, axes: list[int], keeps: bool) -> int:
        """Along axes."""
        shape = tuple(1 if i in axes else n for i, n in enumerate(self.shapes[x]) if keeps or i not in axes)
        return self.add("MEAN", [x, self.numbers(axes)], shape, "", "ReducerOptions", keepDims=keeps)

    def concat(self, parts: list[int], axis: int) -> int:
        """Side by side."""
        shape = list(self.shapes[parts[0]])
        shape[axis] = sum(self.shapes[p][axis] for p in parts)
        return self.add("CONCATENATION", parts, tuple(shape), "", "ConcatenationOptions", axis=axis,
                        fusedActivationFunction=ACTIVATION.NONE)

    def reshape(self, x: int, shape: tuple[int, ...]) -> int:
        """Other axes."""
        return self.add("RESHAPE", [x, self.numbers(shape)], shape, "", "ReshapeOptions", newShape=np.array(shape, np.int32))

    def slice(self, x: int, begin: list[int], size: list[int]) -> int:
        """A part of each axis."""
        return self.add("SLICE", [x, self.numbers(begin), self.numbers(size)], tuple(size), "", "SliceOptions")

    def softmax(self, x: int) -> int:
        """Over the last axis."""
        return self.add("SOFTMAX", [x], self.shapes[x], "", "SoftmaxOptions", beta=1.0)

    def finish(self, y: int) -> bytes:
        """The file, with a signature."""
        self.graph.inputs, self.graph.outputs = np.array([self.x], np.int32), np.array([y], np.int32)
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = "serving_default", 0
        signature.inputs, signature.outputs = [schema.TensorMapT()], [schema.TensorMapT()]
        signature.inputs[0].name, signature.inputs[0].tensorIndex = "x", self.x
        signature.outputs[0].name, signature.outputs[0].tensorIndex = "y", y
        self.model.signatureDefs = [signature]
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


RELU, RELU6, NONE = ACTIVATION.RELU, ACTIVATION.RELU6, ACTIVATION.NONE


def cnn() -> tuple[bytes, tuple[int, ...]]:
    a = Author(1, (1, 20, 28, 3))
    x = a.conv(a.x, "conv1", 8, (3, 3), (2, 2), RELU)
    y = a.binary("ADD", a.conv(x, "conv2", 8, (3, 3), activation=RELU), x)
    y = a.conv(y, "depthwise", 2, (3, 3), activation=RELU6, depthwise=True)
    left, right = a.conv(y, "left", 12), a.conv(y, "right", 5, (1, 3), activation=RELU)
    y = a.pool(a.concat([left, right], 3), "MAX_POOL_2D", (3, 3), (2, 2), schema.Padding.SAME)
    y = a.linear(a.mean(y, [1, 2], False), "fc", 11)
    return a.finish(a.softmax(y)), a.shapes[a.x]


def ds_cnn() -> tuple[bytes, tuple[int, ...]]:
    a = Author(2, (1, 49, 10, 1))
    y = a.conv(a.x, "conv", 16, (10, 4), (2, 2), RELU)
    for i in range(2):
        y = a.conv(y, f"block{i}/depthwise", 1, (3, 3), activation=RELU, depthwise=True)
        y = a.conv(y, f"block{i}/pointwise", 16 + 8 * i, activation=RELU)
    y = a.pool(y, "AVERAGE_POOL_2D", (5, 2), (5, 2))
    y = a.pool(y, "AVERAGE_POOL_2D", (5, 2), (5, 2))
    y = a.linear(a.reshape(y, (1, 24)), "fc", 12)
    return a.finish(a.softmax(y)), a.shapes[a.x]


def mobilenet() -> tuple[bytes, tuple[int, ...]]:
    a = Author(3, (1, 24, 18, 3))
    y = a.unary("HARD_SWISH", a.conv(a.x, "stem", 8, (3, 3), (2, 2)))

    def bottleneck(x: int, name: str, expand: int, out: int, stride: int, squeezes: bool) -> int:
        h = a.conv(x, f"{name}/expand", expand, activation=RELU6)
        h = a.conv(h, f"{name}/depthwise", 1, (3, 3), (stride, stride), RELU6, depthwise=True)
        if squeezes:
            s = a.conv(a.mean(h, [1, 2], True), f"{name}/reduce", 6, activation=RELU)
            h = a.binary("MUL", h, a.unary("LOGISTIC", a.conv(s, f"{name}/restore", expand)))
        h = a.conv(h, f"{name}/project", out)
        return a.binary("ADD", x, h) if a.shapes[x] == a.shapes[h] else h

    y = bottleneck(y, "block1", 20, 10, 2, False)
    y = bottleneck(y, "block2", 26, 10, 1, True)
    y = bottleneck(y, "block3", 26, 14, 2, True)
    y = a.linear(a.mean(y, [1, 2], False), "fc", 9)
    return a.finish(y), a.shapes[a.x]


def sequence() -> tuple[bytes, tuple[int, ...]]:
    a = Author(4, (1, 1, 37, 6))
    y = a.conv(a.x, "conv0", 16, (1, 5), activation=RELU)
    for i in range(2):
        both = a.conv(y, f"layer{i}", 32, (1, 3), dilation=(1, 2 + i))
        gate = a.unary("LOGISTIC", a.slice(both, [0, 0, 0, 0], [1, 1, 37, 16]))
        value = a.unary("TANH", a.slice(both, [0, 0, 0, 16], [1, 1, 37, 16]))
        y = a.binary("ADD", y, a.conv(a.binary("MUL", gate, value), f"mix{i}", 16))
    y = a.linear(a.reshape(y, (1, 37, 16)), "steps", 12, RELU, keeps=True)
    y = a.linear(a.mean(y, [1], False), "fc", 7)
    return a.finish(a.unary("LOGISTIC", y)), a.shapes[a.x]


def decoder() -> tuple[bytes, tuple[int, ...]]:
    a = Author(5, (1, 12, 20, 2))
    x = a.conv(a.x, "down", 6, (3, 3), activation=RELU)
    y = a.pool(x, "MAX_POOL_2D", (2, 2), (2, 2))
    y = a.conv(y, "middle", 10, (3, 3), activation=RELU)
    weight, bias = a.floats("grow/weight", (7, 2, 2, 10), 0.3), a.floats("grow/bias", (7,), 0.3)
    y = a.add("TRANSPOSE_CONV", [a.numbers((1, 12, 20, 7)), weight, y, bias], (1, 12, 20, 7), "grow/out",
              "TransposeConvOptions", 3, padding=schema.Padding.VALID, strideH=2, strideW=2, fusedActivationFunction=NONE)
    y = a.concat([x, y], 3)
    y = a.add("PAD", [y, a.numbers([[0, 0], [1, 1], [2, 0], [0, 0]])], (1, 14, 22, 13), "", "PadOptions")
    y = a.conv(y, "up", 5, (3, 3), (2, 2), RELU)
    y = a.add("RESIZE_NEAREST_NEIGHBOR", [y, a.numbers((21, 33))], (1, 21, 33, 5), "", "ResizeNearestNeighborOptions",
              alignCorners=False, halfPixelCenters=False)
    return a.finish(a.conv(y, "last", 3)), a.shapes[a.x]


def tiny() -> tuple[bytes, tuple[int, ...]]:
    a = Author(6, (1, 6, 9, 2))
    y = a.pool(a.unary("HARD_SWISH", a.conv(a.x, "conv", 5, (3, 3), (2, 2))), "AVERAGE_POOL_2D", (3, 5), (3, 5))
    return a.finish(a.linear(a.reshape(y, (1, 5)), "fc", 3)), a.shapes[a.x]


def conditions() -> bytes:
    a = Author(7, (1, 5, 6, 3))
    y = a.conv(a.x, "conv", 4, (3, 3))
    positive, other = a.add("RELU", [y], a.shapes[y]), a.conv(a.x, "other", 4)
    zero, half = (a.tensor(name, (1,), np.array([value], np.float32)) for name, value in (("zero", 0.0), ("half", 0.5)))
    first = a.add("SELECT_V2", [a.condition("EQUAL", positive, zero), other, positive], a.shapes[y], "", "SelectV2Options")
    small = a.condition("LOGICAL_AND", a.condition("LESS", y, half), a.condition("NOT_EQUAL", positive, zero))
    large = a.condition("LOGICAL_OR", a.condition("GREATER_EQUAL", other, y), a.condition("LOGICAL_NOT", small))
    second = a.add("SELECT", [large, other, first], a.shapes[y], "", "SelectOptions")
    return a.finish(second)


NETWORKS = {"cnn": cnn, "ds_cnn": ds_cnn, "mobilenet": mobilenet, "sequence": sequence, "decoder": decoder, "tiny": tiny}


def with_float_ports() -> Any:
    """static_wi8_ai8 with QUANTIZE at the entry and DEQUANTIZE at the end."""
    made = recipe_manager.RecipeManager()
    made.add_static_config(regex=".*", operation_name=qtyping.TFLOperationName.ALL_SUPPORTED, activation_num_bits=8,
                           weight_num_bits=8)
    for port in (qtyping.TFLOperationName.INPUT, qtyping.TFLOperationName.OUTPUT):
        made.add_quantization_config(regex=".*", operation_name=port,
                                     algorithm_key=algorithm_manager.AlgorithmName.NO_QUANTIZE)
    return made.get_quantization_recipe()


RECIPES = {"tiny_dynamic": recipe.dynamic_wi8_afp32, "tiny_int16": recipe.static_wi8_ai16}


def quantized(content: bytes, shape: tuple[int, ...], how: Any) -> bytes:
    """By a recipe of the quantizer."""
    random = np.random.default_rng(7)
    data = [{"x": random.standard_normal(shape).astype(np.float32)} for _ in range(12)]
    made = quantizer.Quantizer(bytearray(content), how())
    ranges = made.calibrate({"serving_default": data}) if made.need_calibration else None
    return bytes(made.quantize(ranges).quantized_model)


def main() -> None:
    """All of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in NETWORKS.items():
        if name != "tiny":
            how = with_float_ports if name == "sequence" else recipe.static_wi8_ai8
            (FOLDER / f"{name}.tflite").write_bytes(quantized(*make(), how))
    (FOLDER / "tiny_float.tflite").write_bytes(tiny()[0])
    (FOLDER / "conditions.tflite").write_bytes(conditions())
    for name, how in RECIPES.items():
        (FOLDER / f"{name}.tflite").write_bytes(quantized(*tiny(), how))


if __name__ == "__main__":
    main()
