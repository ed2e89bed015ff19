# SPDX-License-Identifier: BSD-3-Clause
"""ONNX Runtime, called through its C interface: what a C++ program pays, without the time of its Python bindings."""
import ctypes
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import timing

# Positions in the table OrtApi, which are fixed since its first version.
GET_ERROR_MESSAGE, CREATE_ENV, CREATE_SESSION_FROM_ARRAY, RUN, CREATE_SESSION_OPTIONS = 2, 3, 8, 9, 10
SET_GRAPH_OPTIMIZATION_LEVEL, SET_INTRA_OP_THREADS, SET_INTER_OP_THREADS = 23, 24, 25
CREATE_TENSOR_WITH_DATA, CREATE_CPU_MEMORY_INFO = 49, 69
EXTENDED, ALL = 2, 99  # graph optimization levels
TYPES = {np.dtype(np.uint8): 2, np.dtype(np.float32): 1}
MICROSOFT = "com.microsoft"


class Runtime:
    """libonnxruntime and the tiny library that calls its Run in a loop."""
    def __init__(self, library: pathlib.Path, caller: pathlib.Path):
        base = ctypes.CDLL(str(library)).OrtGetApiBase
        base.restype = ctypes.POINTER(ctypes.c_void_p)
        get_api, get_version = base()[0], base()[1]
        self.version = ctypes.CFUNCTYPE(ctypes.c_char_p)(get_version)().decode()
        api = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32)(get_api)(1)
        self.address = lambda i: api[i]
        self.caller = ctypes.CDLL(str(caller))
        self.caller.call_onnx.restype = ctypes.c_void_p
        self.environment = self.made(CREATE_ENV, 3, b"peers")
        self.memory = self.made(CREATE_CPU_MEMORY_INFO, 0, 0)

    def check(self, status) -> None:
        if status:
            message = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(self.address(GET_ERROR_MESSAGE))
            raise RuntimeError(message(status).decode())

    def call(self, index: int, *arguments) -> None:
        function = ctypes.CFUNCTYPE(ctypes.c_void_p)(self.address(index))
        function.argtypes = None
        self.check(function(*arguments))

    def made(self, index: int, *arguments) -> ctypes.c_void_p:
        result = ctypes.c_void_p()
        self.call(index, *arguments, ctypes.byref(result))
        return result

    def tensor(self, array: np.ndarray, shape: tuple[int, ...]) -> ctypes.c_void_p:
        extents = (ctypes.c_int64 * len(shape))(*shape)
        return self.made(CREATE_TENSOR_WITH_DATA, self.memory, ctypes.c_void_p(array.ctypes.data),
                         ctypes.c_size_t(array.nbytes), extents, ctypes.c_size_t(len(shape)), TYPES[array.dtype])


class Session:
    """A graph of one input "x" and one output "y", with its buffers."""
    def __init__(self, runtime: Runtime, name: str, model: onnx.ModelProto, x: np.ndarray, y_shape: tuple[int, ...],
                 y_type=np.uint8, level: int = ALL, threads: int = 1):
        self.name, self.runtime = name, runtime
        options = runtime.made(CREATE_SESSION_OPTIONS)
        runtime.call(SET_INTRA_OP_THREADS, options, threads)
        runtime.call(SET_INTER_OP_THREADS, options, 1)
        runtime.call(SET_GRAPH_OPTIMIZATION_LEVEL, options, level)
        data = model.SerializeToString()
        self.session = runtime.made(CREATE_SESSION_FROM_ARRAY, runtime.environment, data, ctypes.c_size_t(len(data)),
                                    options)
        self.x, self.y = np.ascontiguousarray(x), np.zeros(y_shape, y_type)
        self.x_tensor, self.y_tensor = runtime.tensor(self.x, self.x.shape), runtime.tensor(self.y, y_shape)
        self.run_function = ctypes.c_void_p(runtime.address(RUN))

    def run(self, repeats: int) -> None:
        self.runtime.check(self.runtime.caller.call_onnx(self.run_function, self.session, self.x_tensor, self.y_tensor,
                                                         repeats))

    def output(self) -> np.ndarray:
        return self.y


def model_of(nodes: list, x_type: int, x_shape, y_type: int, y_shape, constants: dict[str, np.ndarray]):
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info("x", x_type, x_shape)],
                              [helper.make_tensor_value_info("y", y_type, y_shape)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, ir_version=9,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])


def quantized_layer(case, operands, unsigned_weights: bool) -> tuple[onnx.ModelProto, np.ndarray, tuple[int, ...]]:
    """One node on unsigned activations in NHWC. Weights as int8 are ONNX Runtime's default; as uint8, with 128 added
    and 128 as zero point, its kernels are exact."""
    weights = operands.weights.transpose(0, 3, 1, 2)
    if unsigned_weights:
        weights = (weights.astype(np.int16) + 128).astype(np.uint8)
    zero_points = np.full(case.out_channels if not unsigned_weights else 1, 128 if unsigned_weights else 0,
                          weights.dtype)
    constants = {"x_scale": np.float32(operands.x_scale), "x_zero": np.uint8(operands.x_zero_point),
                 "w_scale": operands.w_scale, "w_zero": zero_points,
                 "y_scale": np.float32(operands.y_scale), "y_zero": np.uint8(operands.y_zero_point)}
    constants = {name: np.array(value) for name, value in constants.items()}
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"]
    if unsigned_weights:
        constants["w_zero"] = np.full(case.out_channels, 128, np.uint8)
    if case.is_gemm:
        x, y_shape = operands.x[:, 0, :], (case.out_height, case.out_channels)
        constants["w"] = np.ascontiguousarray(weights[:, :, 0, 0].T)
        node = helper.make_node("QLinearMatMul", names, ["y"])
    else:
        x, y_shape = operands.x[None], (1, *case.output_shape)
        constants |= {"w": np.ascontiguousarray(weights), "bias": operands.bias}
        node = helper.make_node("QLinearConv", [*names, "bias"], ["y"], domain=MICROSOFT, channels_last=1,
                                group=case.groups, kernel_shape=[case.kernel_height, case.kernel_width],
                                pads=[case.padding] * 4, strides=[case.stride] * 2)
    model = model_of([node], TensorProto.UINT8, x.shape, TensorProto.UINT8, y_shape, constants)
    return model, x, y_shape


def float_layer(case, operands) -> tuple[onnx.ModelProto, np.ndarray, tuple[int, ...]]:
    """The same layer on floats, NCHW."""
    x = (operands.x.astype(np.float32) - operands.x_zero_point) * np.float32(operands.x_scale)
    weights = (operands.weights * operands.w_scale[:, None, None, None]).astype(np.float32).transpose(0, 3, 1, 2)
    if case.is_gemm:
        x, y_shape = x[:, 0, :], (case.out_height, case.out_channels)
        constants = {"w": np.ascontiguousarray(weights[:, :, 0, 0].T)}
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
    else:
        x, y_shape = x.transpose(2, 0, 1)[None], (1, case.out_channels, case.out_height, case.out_width)
        constants = {"w": np.ascontiguousarray(weights),
                     "bias": (operands.bias * operands.w_scale * operands.x_scale).astype(np.float32)}
        node = helper.make_node("Conv", ["x", "w", "bias"], ["y"], group=case.groups, pads=[case.padding] * 4,
                                kernel_shape=[case.kernel_height, case.kernel_width], strides=[case.stride] * 2)
    return model_of([node], TensorProto.FLOAT, x.shape, TensorProto.FLOAT, y_shape, constants), x, y_shape


def layers(runtime: Runtime, case, operands) -> list[Session]:
    exact, x, y_shape = quantized_layer(case, operands, True)
    default, _, _ = quantized_layer(case, operands, False)
    floats, x_float, y_float = float_layer(case, operands)
    # For a single convolution, level ALL reorders input and output into blocks of channels; it does not always pay.
    floats = [Session(runtime, "ONNX Runtime f32", floats, x_float, y_float, np.float32, level)
              for level in (EXTENDED, ALL)]
    return [Session(runtime, "ONNX Runtime u8s8", default, x, y_shape),
            Session(runtime, "ONNX Runtime u8u8", exact, x, y_shape), timing.fastest(floats)]


def chain(runtime: Runtime, case, operands) -> list[Session]:
    """Small square products one behind the other: what a node costs within a graph."""
    if not case.is_gemm or case.in_channels != case.out_channels or case.operations > 3e5:
        return []
    model, x, y_shape = quantized_layer(case, operands, False)
    node, = model.graph.node
    nodes = 17
    for i in range(1, nodes):
        following = onnx.NodeProto()
        following.CopyFrom(node)
        following.input[0], following.output[0] = f"h{i}", f"h{i + 1}"
        model.graph.node.append(following)
    node.output[0], model.graph.node[-1].output[0] = "h1", "y"
    session = Session(runtime, "ONNX Runtime u8s8, a node in a chain", model, x, y_shape)
    session.nodes, session.single = nodes, "ONNX Runtime u8s8"
    return [session]


def overhead(runtime: Runtime) -> Session:
    node = helper.make_node("Identity", ["x"], ["y"])
    x = np.zeros((1, 16), np.float32)
    return Session(runtime, "ONNX Runtime", model_of([node], TensorProto.FLOAT, x.shape, TensorProto.FLOAT, x.shape,
                                                     {}), x, x.shape, np.float32)
