# SPDX-License-Identifier: BSD-3-Clause
"""Models that others have quantized in ways that are not imported as integers, as float networks of their weights' real numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from test_exporters import FLOAT, INT, info, tensor, weights, written

from zeropoint.cli import main
from zeropoint.errors import ImportRefused, ZeropointError
from zeropoint.importer import import_file, verify_file

MODELS = Path(__file__).parent / "models"
random = np.random.default_rng(11)
node = helper.make_node


def coded(name: str, *extents: int, scales: int = 1, dtype: type = np.int8) -> list[onnx.TensorProto]:
    """Codes, their scale and zero point under the names that ONNX Runtime's quantizer gives."""
    limits = np.iinfo(dtype)
    middle = 0 if dtype is np.int8 else 128
    codes = random.integers(limits.min, limits.max + 1, extents)
    return [tensor(f"{name}_quantized", codes, dtype), tensor(f"{name}_scale", np.squeeze(random.uniform(0.004, 0.008, scales))),
            tensor(f"{name}_zero_point", np.squeeze(np.full(scales, middle)), dtype)]


def with_runtime(path: Path, nodes: list, inputs: list, outputs: list, constants: list) -> Path:
    """A model with operators of ONNX Runtime too."""
    written(path, nodes, inputs, outputs, constants, checked=False)
    model = onnx.load(str(path))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, str(path))
    return path


def test_dynamically_quantized(tmp_path: Path) -> None:
    """A table of codes, an LSTM of ONNX Runtime with both directions, a linear layer with a scale a column."""
    nodes = [node("Gather", ["t_quantized", "ids"], ["rows"]), node("DequantizeLinear", ["rows", "t_scale", "t_zero_point"], ["x"]),
             node("Transpose", ["rows"], ["turned"], perm=[1, 0, 2]), node("DequantizeLinear", ["turned", "t_scale", "t_zero_point"], ["steps"]),
             node("DynamicQuantizeLSTM", ["steps", "W_quantized", "R_quantized", "B", "", "", "", "", "W_scale", "W_zero_point", "R_scale",
                                          "R_zero_point"], ["h"], "lstm", domain="com.microsoft", direction="bidirectional", hidden_size=5),
             node("Transpose", ["h"], ["ht"], perm=[2, 0, 1, 3]), node("Reshape", ["ht", "shape"], ["flat"]),
             node("DynamicQuantizeLinear", ["flat"], ["q", "qs", "qz"]), node("MatMulInteger", ["q", "w_quantized", "qz", "w_zero_point"], ["i"]),
             node("Cast", ["i"], ["f"], to=FLOAT), node("Mul", ["qs", "w_scale"], ["scales"]), node("Mul", ["f", "scales"], ["p"]),
             node("Add", ["p", "b"], ["y"]), node("ReduceSum", ["x"], ["z"], keepdims=0)]
    constants = [*coded("t", 9, 4, dtype=np.uint8), *coded("W", 2, 4, 20, scales=2), *coded("R", 2, 5, 20, scales=2), weights("B", 2, 40),
                 tensor("shape", [1, 7, 10], np.int64), *coded("w", 10, 3, scales=3), weights("b", 3)]
    path = with_runtime(tmp_path / "net.onnx", nodes, [info("ids", [1, 7], INT)], [info("y", [1, 7, 3]), info("z", [])], constants)
    made = import_file(path, tmp_path / "out", dequantize=True)
    text = made.header.read_text()
    assert made.result.difference <= 1e-5 and 'zp::lstm<"lstm", 5' in text and '", 9, 4>' in text
    assert "dequantized" in text and "constant" not in text, text
    cosine = float(text.partition("beside the source as it is, cosine ")[2].partition(",")[0])
    assert cosine > 0.999, text
    assert verify_file(made.header, path, dequantize=True).passed


def test_a_part_stays_float(tmp_path: Path) -> None:
    """Pairs of QuantizeLinear and DequantizeLinear around a GELU that is not in codes, which is refused as a model of integers."""
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), node("DequantizeLinear", ["xq", "xs", "xz"], ["xr"]),
             node("DequantizeLinear", ["w_quantized", "w_scale", "w_zero_point"], ["w"], axis=1), node("MatMul", ["xr", "w"], ["a"]),
             node("Div", ["a", "root"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["s"]), node("Mul", ["s", "half"], ["g"]),
             node("Mul", ["a", "g"], ["y"])]
    constants = [*coded("w", 6, 3, scales=3), tensor("xs", 0.03), tensor("xz", 128, np.uint8), tensor("root", 2 ** 0.5), tensor("one", 1),
                 tensor("half", 0.5)]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 6])], [info("y", [1, 3])], constants)
    with pytest.raises(ImportRefused, match="--dequantize"):
        import_file(path, tmp_path / "out")
    made = import_file(path, tmp_path / "out", dequantize=True)
    assert made.result.difference <= 1e-5 and "zp::gelu" in made.header.read_text()


def test_weights_alone_are_codes(tmp_path: Path) -> None:
    """A model of floats, whose check was a traceback."""
    nodes = [node("DequantizeLinear", ["w_quantized", "w_scale", "w_zero_point"], ["w"], axis=1), node("MatMul", ["x", "w"], ["a"]),
             node("Tanh", ["a"], ["y"])]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 6])], [info("y", [1, 3])], coded("w", 6, 3, scales=3))
    made = import_file(path, tmp_path / "out")
    assert made.result.difference <= 1e-6 and verify_file(made.header, path).passed


def test_a_bias_in_whole_steps(tmp_path: Path) -> None:
    """A convolution of integers that adds its bias before its scale."""
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
             node("ConvInteger", ["q", "w_quantized", "qz", "w_zero_point"], ["i"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
             node("Mul", ["qs", "w_scale"], ["scale"]), node("Div", ["b", "scale"], ["steps"]), node("Floor", ["steps"], ["whole"]),
             node("Cast", ["whole"], ["codes"], to=TensorProto.INT32), node("Reshape", ["codes", "shape"], ["column"]),
             node("Add", ["i", "column"], ["sum"]), node("Cast", ["sum"], ["f"], to=FLOAT), node("Mul", ["f", "scale"], ["y"])]
    constants = [*coded("w", 4, 3, 3, 3), weights("b", 4), tensor("shape", [1, 4, 1, 1], np.int64)]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 3, 6, 6])], [info("y", [1, 4, 6, 6])], constants)
    assert import_file(path, tmp_path / "out", dequantize=True).result.difference <= 1e-5


def test_operators_of_codes(tmp_path: Path) -> None:
    """ONNX Runtime's other format: a convolution with a bias of int32, a sum, a mean."""
    nodes = [node("QuantizeLinear", ["x", "xs", "z"], ["xq"]),
             node("QLinearConv", ["xq", "xs", "z", "w_quantized", "w_scale", "w_zero_point", "ys", "z", "b"], ["c"], pads=[1, 1, 1, 1]),
             node("QLinearAdd", ["c", "ys", "z", "xq", "xs", "z", "ys", "z"], ["s"], domain="com.microsoft"),
             node("QLinearGlobalAveragePool", ["s", "ys", "z", "ys", "z"], ["m"], domain="com.microsoft", channels_last=0),
             node("DequantizeLinear", ["m", "ys", "z"], ["y"])]
    constants = [*coded("w", 3, 3, 3, 3, scales=3), tensor("xs", 0.03), tensor("ys", 0.05), tensor("z", 128, np.uint8),
                 tensor("b", [4000, -3000, 500], np.int32)]
    path = with_runtime(tmp_path / "net.onnx", nodes, [info("x", [1, 3, 6, 6])], [info("y", [1, 3, 1, 1])], constants)
    assert import_file(path, tmp_path / "out", dequantize=True).result.difference <= 1e-5


def test_weights_of_codes_in_tensorflow_lite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dynamic-range quantization, by the command."""
    pytest.importorskip("ai_edge_litert")
    assert main(["import", str(MODELS / "tiny_dynamic.tflite"), "-o", str(tmp_path), "--dequantize"]) == 0
    said = capsys.readouterr().out
    assert "passed: 3 inputs" in said and "beside the source as it is, cosine" in said


def test_what_is_not_dequantized(tmp_path: Path) -> None:
    """Models of floats and of integers throughout, and codes whose scale nobody has seen."""
    pytest.importorskip("ai_edge_litert")
    with pytest.raises(ZeropointError, match="this one computes in integers; import it without"):
        import_file(MODELS / "cnn.tflite", tmp_path, dequantize=True)
    path = written(tmp_path / "float.onnx", [node("Relu", ["x"], ["y"])], [info("x", [1, 6])], [info("y", [1, 6])], [])
    with pytest.raises(ZeropointError, match="for models with codes, and this one has none"):
        import_file(path, tmp_path, dequantize=True)
    nodes = [node("QuantizeLinear", ["x", "xs", "z"], ["q"]), node("MatMulInteger", ["q", "w_quantized", "z", "w_zero_point"], ["i"]),
             node("Cast", ["i"], ["y"], to=TensorProto.FLOAT)]
    path = written(tmp_path / "static.onnx", nodes, [info("x", [1, 6])], [info("y", [1, 3])],
                   [*coded("w", 6, 3), tensor("xs", 0.03), tensor("z", 128, np.uint8)])
    with pytest.raises(ImportRefused, match="codes that no DynamicQuantizeLinear makes"):
        import_file(path, tmp_path, dequantize=True)
