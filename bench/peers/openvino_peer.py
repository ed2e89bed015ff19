# SPDX-License-Identifier: BSD-3-Clause
"""OpenVINO, called through its C interface, which its package has: graphs of ONNX whose values are quantized and dequantized
between float operators, which its CPU plugin turns into int8 kernels."""
import ctypes
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper

from onnx_peer import model_of

PROPERTIES = ("NUM_STREAMS", "1", "ENABLE_CPU_PINNING", "NO", "PERFORMANCE_HINT", "LATENCY")


class Runtime:
    """libopenvino_c and the tiny library that calls its infer in a loop."""
    def __init__(self, folder: pathlib.Path, caller: pathlib.Path):
        self.c = ctypes.CDLL(str(next((folder / "libs").glob("libopenvino_c.so*"))))
        self.c.ov_get_last_err_msg.restype = ctypes.c_char_p
        self.caller = ctypes.CDLL(str(caller))
        self.infer = ctypes.cast(self.c.ov_infer_request_infer, ctypes.c_void_p)
        self.core = self.made("ov_core_create")

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(f"OpenVINO, status {status}: {self.c.ov_get_last_err_msg().decode()}")

    def made(self, function: str, *arguments) -> ctypes.c_void_p:
        result = ctypes.c_void_p()
        self.check(getattr(self.c, function)(*arguments, ctypes.byref(result)))
        return result

    def compiled(self, model: onnx.ModelProto, threads: int) -> ctypes.c_void_p:
        data = model.SerializeToString()
        graph = self.made("ov_core_read_model_from_memory_buffer", self.core, data, ctypes.c_size_t(len(data)), None)
        properties = [one.encode() for one in (*PROPERTIES, "INFERENCE_NUM_THREADS", str(threads))]
        result = ctypes.c_void_p()
        self.check(self.c.ov_core_compile_model(self.core, graph, b"CPU", ctypes.c_size_t(len(properties)), ctypes.byref(result),
                                                *map(ctypes.c_char_p, properties)))
        return result


class Request:
    """A graph of one input and one output. Both live in OpenVINO's own tensors."""
    def __init__(self, runtime: Runtime, name: str, model: onnx.ModelProto, x: np.ndarray, y_shape: tuple[int, ...],
                 y_type=np.uint8, threads: int = 1):
        self.name, self.runtime = name, runtime
        self.request = runtime.made("ov_compiled_model_create_infer_request", runtime.compiled(model, threads))
        self.y = self.tensor("ov_infer_request_get_output_tensor", np.dtype(y_type), y_shape)
        self.tensor("ov_infer_request_get_input_tensor", x.dtype, x.shape)[...] = x
        self.run(1)
        self.y = self.tensor("ov_infer_request_get_output_tensor", np.dtype(y_type), y_shape)

    def tensor(self, function: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        tensor, size = self.runtime.made(function, self.request), ctypes.c_size_t()
        self.runtime.check(self.runtime.c.ov_tensor_get_byte_size(tensor, ctypes.byref(size)))
        if size.value != dtype.itemsize * int(np.prod(shape)):
            raise RuntimeError(f"OpenVINO: a tensor of {size.value} bytes, not {shape} of {dtype}")
        data = self.runtime.made("ov_tensor_data", tensor)
        return np.frombuffer((ctypes.c_char * size.value).from_address(data.value), dtype).reshape(shape)

    def run(self, repeats: int) -> None:
        self.runtime.check(self.runtime.caller.call_openvino(self.runtime.infer, self.request, repeats))

    def output(self) -> np.ndarray:
        return self.y


def layer_graph(case, operands) -> tuple[onnx.ModelProto, np.ndarray, tuple[int, ...]]:
    """From codes to codes, NHWC as its kernels have it. Of the transposes the plugin leaves a copy; in front of the first
    DequantizeLinear, one would make it compute in floats."""
    weights = operands.weights.transpose(0, 3, 1, 2)
    constants = {"x_scale": np.float32(operands.x_scale), "x_zero": np.uint8(operands.x_zero_point), "w_scale": operands.w_scale,
                 "w_zero": np.zeros(case.out_channels, np.int8), "y_scale": np.float32(operands.y_scale),
                 "y_zero": np.uint8(operands.y_zero_point)}
    if case.is_gemm:
        x, y_shape = operands.x[:, 0, :], (case.out_height, case.out_channels)
        constants["w"] = np.ascontiguousarray(weights[:, :, 0, 0].T)
        nodes = [helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["real"]),
                 helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_real"], axis=1),
                 helper.make_node("MatMul", ["real", "w_real"], ["sums"]),
                 helper.make_node("QuantizeLinear", ["sums", "y_scale", "y_zero"], ["y"])]
    else:
        x, y_shape = operands.x[None], (1, *case.output_shape)
        bias = (operands.bias * operands.w_scale * np.float32(operands.x_scale)).astype(np.float32)
        constants |= {"w": np.ascontiguousarray(weights), "bias": bias}
        nodes = [helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["pixels"]),
                 helper.make_node("Transpose", ["pixels"], ["real"], perm=[0, 3, 1, 2]),
                 helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_real"], axis=0),
                 helper.make_node("Conv", ["real", "w_real", "bias"], ["sums"], group=case.groups, pads=[case.padding] * 4,
                                  kernel_shape=[case.kernel_height, case.kernel_width], strides=[case.stride] * 2),
                 helper.make_node("QuantizeLinear", ["sums", "y_scale", "y_zero"], ["codes"]),
                 helper.make_node("Transpose", ["codes"], ["y"], perm=[0, 2, 3, 1])]
    constants = {name: np.array(value) for name, value in constants.items()}
    return model_of(nodes, TensorProto.UINT8, x.shape, TensorProto.UINT8, y_shape, constants), x, y_shape


def network(runtime: Runtime, model: onnx.ModelProto, x: np.ndarray, outputs: int, threads: int = 1) -> Request:
    """model: ONNX Runtime's, quantized with int8 weights."""
    return Request(runtime, "OpenVINO", model, x, (1, outputs), np.float32, threads)


def layers(runtime: Runtime, case, operands) -> list[Request]:
    return [Request(runtime, "OpenVINO", *layer_graph(case, operands))]
