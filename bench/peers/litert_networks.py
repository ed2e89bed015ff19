# SPDX-License-Identifier: BSD-3-Clause
"""Networks as int8 flatbuffers of LiteRT, whose delegate is XNNPACK. Float in, float out, NHWC."""
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from litert_peer import GraphBuilder, Model, quantization
from torch_networks import codes_of

OPERATORS, OPTIONS, TYPES = schema.BuiltinOperator, schema.BuiltinOptions, schema.TensorType
ACTIVATIONS = {"": schema.ActivationFunctionType.NONE, "relu": schema.ActivationFunctionType.RELU,
               "relu6": schema.ActivationFunctionType.RELU6}


class NetworkBuilder:
    def __init__(self, net: list, ranges: list[tuple[float, float]], input_shape: tuple[int, ...]):
        self.net, self.graph = net, GraphBuilder()
        self.codes = [(scale, zero_point - 128) for scale, zero_point in (codes_of(*one) for one in ranges)]
        for i, node in enumerate(net):  # these only move codes
            if node.kind in ("max_pool", "flatten"):
                self.codes[i] = self.codes[node.inputs[0]]
        self.shapes, self.tensors = [], []
        self.float_input = self.graph.tensor(input_shape, TYPES.FLOAT32, None)
        for i in range(len(net)):
            self.tensors.append(self.add(i, input_shape))
        output = self.graph.tensor(self.shapes[-1], TYPES.FLOAT32, None)
        self.graph.operator(OPERATORS.DEQUANTIZE, OPTIONS.DequantizeOptions, schema.DequantizeOptionsT(),
                            [self.tensors[-1]], output, 2)
        self.content = self.graph.finish([self.float_input], [output])

    def activation(self, i: int, shape) -> int:
        self.shapes.append(tuple(shape))
        return self.graph.tensor(shape, TYPES.INT8, quantization(*self.codes[i]))

    def constants(self, node, weight: np.ndarray, axis: int) -> list[int]:
        """Weights per output channel and int32 biases."""
        others = tuple(k for k in range(weight.ndim) if k != axis)
        scales = (np.abs(weight).max(axis=others) / 127).astype(np.float32)
        extents = [-1 if k == axis else 1 for k in range(weight.ndim)]
        codes = np.clip(np.rint(weight / scales.reshape(extents)), -127, 127).astype(np.int8)
        bias_scales = (scales * np.float32(self.codes[node.inputs[0]][0])).astype(np.float32)
        bias = np.rint(node.bias / bias_scales).astype(np.int32)
        return [self.graph.tensor(codes.shape, TYPES.INT8, quantization(scales, 0, axis), codes),
                self.graph.tensor(bias.shape, TYPES.INT32, quantization(bias_scales, 0), bias)]

    def padded(self, x: int, node_index: int, padding: int) -> int:
        """Explicit zeros around an image, where TensorFlow's SAME means others."""
        _, height, width, channels = self.shapes[node_index]
        extents = np.array([[0, 0], [padding] * 2, [padding] * 2, [0, 0]], np.int32)
        amounts = self.graph.tensor((4, 2), TYPES.INT32, None, extents)
        y = self.graph.tensor((1, height + 2 * padding, width + 2 * padding, channels), TYPES.INT8,
                              quantization(*self.codes[node_index]))
        self.graph.operator(OPERATORS.PAD, OPTIONS.PadOptions, schema.PadOptionsT(), [x, amounts], y, 2)
        return y

    def window(self, options, node, size: int, x: int) -> tuple[int, tuple[int, int]]:
        """Stride and padding of a convolution or pool; its input and its output's extents."""
        _, height, width, _ = self.shapes[node.inputs[0]]
        options.strideH = options.strideW = node.stride
        same = node.stride == 1 and 2 * node.padding == size - 1
        options.padding = schema.Padding.SAME if same else schema.Padding.VALID
        extents = tuple((extent + 2 * node.padding - size) // node.stride + 1 for extent in (height, width))
        return (x if same or node.padding == 0 else self.padded(x, node.inputs[0], node.padding)), extents

    def add(self, i: int, input_shape: tuple[int, ...]) -> int:
        node, graph = self.net[i], self.graph
        inputs = [self.tensors[k] for k in node.inputs]
        if node.kind == "input":
            y = self.activation(i, input_shape)
            graph.operator(OPERATORS.QUANTIZE, OPTIONS.QuantizeOptions, schema.QuantizeOptionsT(), [self.float_input],
                           y, 1)
        elif node.kind == "conv":
            depthwise = node.groups > 1
            options = schema.DepthwiseConv2DOptionsT() if depthwise else schema.Conv2DOptionsT()
            options.dilationHFactor = options.dilationWFactor = 1
            options.fusedActivationFunction = ACTIVATIONS[node.activation]
            x, extents = self.window(options, node, node.weight.shape[2], inputs[0])
            if depthwise:
                options.depthMultiplier = 1
                constants = self.constants(node, node.weight.transpose(1, 2, 3, 0), 3)
            else:
                constants = self.constants(node, node.weight.transpose(0, 2, 3, 1), 0)
            y = self.activation(i, (1, *extents, node.weight.shape[0]))
            graph.operator(OPERATORS.DEPTHWISE_CONV_2D if depthwise else OPERATORS.CONV_2D,
                           OPTIONS.DepthwiseConv2DOptions if depthwise else OPTIONS.Conv2DOptions, options,
                           [x, *constants], y, 3)
        elif node.kind == "linear":
            options = schema.FullyConnectedOptionsT()
            options.fusedActivationFunction = ACTIVATIONS[node.activation]
            constants = self.constants(node, self.in_nhwc_order(node), 0)
            y = self.activation(i, (1, node.weight.shape[0]))
            graph.operator(OPERATORS.FULLY_CONNECTED, OPTIONS.FullyConnectedOptions, options, [*inputs, *constants], y,
                           5)
        elif node.kind == "max_pool":
            options = schema.Pool2DOptionsT()
            options.filterHeight = options.filterWidth = node.kernel
            x, extents = self.window(options, node, node.kernel, inputs[0])  # zeros are the least behind a ReLU
            y = self.activation(i, (1, *extents, self.shapes[node.inputs[0]][3]))
            graph.operator(OPERATORS.MAX_POOL_2D, OPTIONS.Pool2DOptions, options, [x], y, 2)
        elif node.kind == "global_avg_pool":
            options = schema.ReducerOptionsT()
            options.keepDims = True
            axes = graph.tensor((2,), TYPES.INT32, None, np.array([1, 2], np.int32))
            y = self.activation(i, (1, 1, 1, self.shapes[node.inputs[0]][3]))
            graph.operator(OPERATORS.MEAN, OPTIONS.ReducerOptions, options, [*inputs, axes], y, 2)
        elif node.kind == "flatten":
            shape = (1, int(np.prod(self.shapes[node.inputs[0]])))
            options = schema.ReshapeOptionsT()
            options.newShape = np.array(shape, np.int32)
            y = self.activation(i, shape)
            target = graph.tensor((2,), TYPES.INT32, None, np.array(shape, np.int32))
            graph.operator(OPERATORS.RESHAPE, OPTIONS.ReshapeOptions, options, [*inputs, target], y, 1)
        else:
            options = schema.AddOptionsT()
            options.fusedActivationFunction = ACTIVATIONS[node.activation]
            y = self.activation(i, self.shapes[node.inputs[0]])
            graph.operator(OPERATORS.ADD, OPTIONS.AddOptions, options, inputs, y, 2)
        return y

    def in_nhwc_order(self, node) -> np.ndarray:
        """Behind a flatten, PyTorch's weights count channels first."""
        before = self.net[node.inputs[0]]
        if before.kind != "flatten":
            return node.weight
        _, height, width, channels = self.shapes[before.inputs[0]]
        weight = node.weight.reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(weight.reshape(node.weight.shape))


def model(net: list, x: np.ndarray, ranges: list[tuple[float, float]], threads: int = 1) -> Model:
    """x: height x width x channels."""
    shape = (1, *x.shape) if x.shape[0] > 1 else (1, x.size)
    return Model("XNNPACK", NetworkBuilder(net, ranges, shape).content, x, threads)
