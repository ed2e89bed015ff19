# SPDX-License-Identifier: BSD-3-Clause
"""Networks as ONNX graphs: float32, and int8 as onnxruntime.quantization makes them."""
import logging
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType,
                                      quantize_static)

from onnx_peer import Session, model_of


def float_graph(net: list, input_shape: tuple[int, ...], outputs: int) -> onnx.ModelProto:
    """NCHW. The input's batch is 1."""
    nodes, constants, names = [], {}, []
    for i, node in enumerate(net):
        inputs, output = [names[k] for k in node.inputs], f"node{i}"
        attributes = {}
        if node.weight is not None:
            constants |= {f"w{i}": node.weight, f"b{i}": node.bias}
            inputs += [f"w{i}", f"b{i}"]
        window = {"strides": [node.stride] * 2, "pads": [node.padding] * 4}
        match node.kind:
            case "input":
                names.append("x")
                continue
            case "conv": kind, attributes = "Conv", window | {"group": node.groups,
                                                              "kernel_shape": list(node.weight.shape[2:])}
            case "linear": kind, attributes = "Gemm", {"transB": 1}
            case "max_pool": kind, attributes = "MaxPool", window | {"kernel_shape": [node.kernel] * 2}
            case "global_avg_pool": kind = "GlobalAveragePool"
            case "flatten": kind = "Flatten"
            case "add": kind = "Add"
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        if node.activation == "relu":
            nodes.append(helper.make_node("Relu", [output], [output + "r"], name=output + "r"))
        if node.activation == "relu6":
            constants |= {"zero": np.array(0, np.float32), "six": np.array(6, np.float32)}
            nodes.append(helper.make_node("Clip", [output, "zero", "six"], [output + "r"], name=output + "r"))
        names.append(output + ("r" if node.activation else ""))
    nodes[-1].output[0] = "y"
    return model_of(nodes, TensorProto.FLOAT, input_shape, TensorProto.FLOAT, (1, outputs), constants)


class Inputs(CalibrationDataReader):
    def __init__(self, arrays: list[np.ndarray]):
        self.left = iter(arrays)

    def get_next(self):
        array = next(self.left, None)
        return None if array is None else {"x": array}


def quantized_graph(model: onnx.ModelProto, calibration: list[np.ndarray], weight_type, folder: pathlib.Path):
    """Static quantization with its defaults: min-max, uint8 activations, QDQ; weights per channel."""
    plain, quantized = folder / "float.onnx", folder / "int8.onnx"
    onnx.save(model, plain)
    logging.disable(logging.WARNING)  # it recommends preprocessing, whose work (folding, shapes) is done here
    quantize_static(plain, quantized, Inputs(calibration), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=weight_type,
                    calibrate_method=CalibrationMethod.MinMax,
                    extra_options={"WeightSymmetric": True})
    logging.disable(logging.NOTSET)
    return onnx.load(quantized)


def graphs(net: list, x: np.ndarray, calibration: list[np.ndarray], outputs: int,
           folder: pathlib.Path) -> dict[str, onnx.ModelProto]:
    """By contender. x and calibration: NCHW or, of a perceptron, 1 x features."""
    plain = float_graph(net, x.shape, outputs)
    return {"ONNX Runtime u8s8": quantized_graph(plain, calibration, QuantType.QInt8, folder),
            "ONNX Runtime u8u8": quantized_graph(plain, calibration, QuantType.QUInt8, folder),
            "ONNX Runtime f32": plain}


def sessions(runtime, models: dict[str, onnx.ModelProto], x: np.ndarray, outputs: int, threads: int = 1) -> list[Session]:
    return [Session(runtime, name, model, x, (1, outputs), np.float32, threads=threads) for name, model in models.items()]
