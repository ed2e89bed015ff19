# SPDX-License-Identifier: BSD-3-Clause
"""XNNPACK, as the default delegate of LiteRT (TensorFlow Lite): one-operator int8 flatbuffers written here."""
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter


def quantization(scale, zero_point: int, axis: int = 0):
    result = schema.QuantizationParametersT()
    result.scale = np.atleast_1d(np.asarray(scale, np.float32))
    result.zeroPoint = np.full(result.scale.size, zero_point, np.int64)
    result.quantizedDimension = axis
    return result


class GraphBuilder:
    """A model of one subgraph. Tensors are named by their index."""
    def __init__(self):
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs = 3, [self.graph]
        self.model.buffers = [schema.BufferT()]  # number 0 is empty, for tensors without constants
        self.model.operatorCodes, self.graph.tensors, self.graph.operators = [], [], []

    def tensor(self, shape, kind: int, quantized, constant: np.ndarray | None = None) -> int:
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.quantization = np.asarray(shape, np.int32), kind, quantized
        tensor.name = f"tensor{len(self.graph.tensors)}"
        if constant is not None:
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(schema.BufferT())
            self.model.buffers[-1].data = np.frombuffer(constant.tobytes(), np.uint8)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def operator(self, code: int, options_type: int, options, inputs: list[int], output: int, version: int) -> None:
        operator_code = schema.OperatorCodeT()
        operator_code.builtinCode, operator_code.deprecatedBuiltinCode = code, min(code, 127)
        operator_code.version = version
        operator = schema.OperatorT()
        operator.opcodeIndex = len(self.model.operatorCodes)
        operator.inputs, operator.outputs = np.array(inputs, np.int32), np.array([output], np.int32)
        operator.builtinOptionsType, operator.builtinOptions = options_type, options
        self.model.operatorCodes.append(operator_code)
        self.graph.operators.append(operator)

    def finish(self, inputs: list[int], outputs: list[int]) -> bytes:
        self.graph.inputs, self.graph.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def layer_model(case, operands) -> bytes:
    """Signed codes are the unsigned ones minus 128."""
    graph, types = GraphBuilder(), schema.TensorType
    x_shape, y_shape = (1, *case.input_shape), (1, *case.output_shape)
    weights, axis = operands.weights, 0
    depthwise = case.groups > 1
    if case.is_gemm:
        x_shape, y_shape = (case.in_height, case.in_channels), (case.out_height, case.out_channels)
        weights = weights[:, 0, 0, :]
    if depthwise:
        weights, axis = weights.transpose(3, 1, 2, 0), 3
    x = graph.tensor(x_shape, types.INT8, quantization(operands.x_scale, operands.x_zero_point - 128))
    w = graph.tensor(weights.shape, types.INT8, quantization(operands.w_scale, 0, axis), np.ascontiguousarray(weights))
    bias_scale = operands.w_scale * np.float32(operands.x_scale)
    bias = graph.tensor((case.out_channels,), types.INT32, quantization(bias_scale, 0), operands.bias)
    y = graph.tensor(y_shape, types.INT8, quantization(operands.y_scale, operands.y_zero_point - 128))
    operators, options_types = schema.BuiltinOperator, schema.BuiltinOptions
    if case.is_gemm:
        graph.operator(operators.FULLY_CONNECTED, options_types.FullyConnectedOptions,
                       schema.FullyConnectedOptionsT(), [x, w, bias], y, 5)
        return graph.finish([x], [y])
    if depthwise:
        options = schema.DepthwiseConv2DOptionsT()
        options.depthMultiplier = 1
    else:
        options = schema.Conv2DOptionsT()
    options.padding = schema.Padding.SAME
    options.strideH = options.strideW = case.stride
    options.dilationHFactor = options.dilationWFactor = 1
    padded = x
    if case.padding and case.stride > 1:  # TensorFlow's SAME would pad at the end only
        options.padding = schema.Padding.VALID
        extents = np.array([[0, 0], [case.padding] * 2, [case.padding] * 2, [0, 0]], np.int32)
        amounts = graph.tensor((4, 2), types.INT32, None, extents)
        size = (1, case.in_height + 2 * case.padding, case.in_width + 2 * case.padding, case.in_channels)
        padded = graph.tensor(size, types.INT8, quantization(operands.x_scale, operands.x_zero_point - 128))
        graph.operator(operators.PAD, options_types.PadOptions, schema.PadOptionsT(), [x, amounts], padded, 2)
    if depthwise:
        graph.operator(operators.DEPTHWISE_CONV_2D, options_types.DepthwiseConv2DOptions, options, [padded, w, bias],
                       y, 3)
    else:
        graph.operator(operators.CONV_2D, options_types.Conv2DOptions, options, [padded, w, bias], y, 3)
    return graph.finish([x], [y])


class Model:
    def __init__(self, name: str, content: bytes, x: np.ndarray, threads: int = 1):
        self.name = name
        self.interpreter = Interpreter(model_content=content, num_threads=threads)
        self.interpreter.allocate_tensors()
        self.output_index = self.interpreter.get_output_details()[0]["index"]
        x_details = self.interpreter.get_input_details()[0]
        self.interpreter.set_tensor(x_details["index"], x.reshape(x_details["shape"]))

    def run(self, repeats: int) -> None:
        invoke = self.interpreter.invoke
        for _ in range(repeats):
            invoke()

    def output(self) -> np.ndarray:
        y = self.interpreter.get_tensor(self.output_index)
        return (y.astype(np.int16) + 128).astype(np.uint8) if y.dtype == np.int8 else y


def layers(case, operands) -> list[Model]:
    x = (operands.x.astype(np.int16) - 128).astype(np.int8)
    return [Model("XNNPACK", layer_model(case, operands), x)]
