# SPDX-License-Identifier: BSD-3-Clause
"""Forms of trained TensorFlow Lite models: constants without their zeros, custom operators that built-in ones mean, pools of SAME."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")
from tflite_models import Model, options, s, sparse  # noqa: E402

from zeropoint.errors import ImportRefused, ZeropointError  # noqa: E402
from zeropoint.front.tflite_sparse import dense_of  # noqa: E402
from zeropoint.importer import import_file  # noqa: E402

random = np.random.default_rng(3)


def pruned(path: Path, values: int = 5) -> Path:
    """A 1x1 convolution of 3 channels to 4, of whose 12 weights 5 are kept, as float16: rows of the matrix have 2, 0, 1 and 2."""
    model = Model()
    x, y = model.tensor("x", (1, 4, 5, 3)), model.tensor("y", (1, 4, 5, 4))
    kept = random.standard_normal(values).astype(np.float16)
    weight = model.tensor("w", (4, 1, 1, 3), kept, "FLOAT16")
    model.graph.tensors[weight].sparsity = sparse([0, 1, 2, 3], [4, 1, 1, ([0, 2, 2, 3, 5], [0, 2, 1, 0, 1])])
    dense, real = model.tensor("dense", (4, 1, 1, 3), None, "FLOAT16"), model.tensor("real", (4, 1, 1, 3))
    bias = model.constant("b", random.standard_normal(4).astype(np.float32))
    model.operator("DENSIFY", [weight], [dense], options("Densify"))
    model.operator("DEQUANTIZE", [dense], [real], options("Dequantize"))
    model.operator("CONV_2D", [x, real, bias], [y], options("Conv2D", strideW=1, strideH=1))
    return model.write(path, [x], [y])


def test_constants_without_zeros(tmp_path: Path) -> None:
    """Of a pruned model, beside LiteRT; tables that do not fit are told."""
    assert import_file(pruned(tmp_path / "net.tflite"), tmp_path / "out").result.difference <= 1e-6
    with pytest.raises(ZeropointError, match="the constant w of this TensorFlow Lite file is damaged: a sparse tensor has places for 5 values, found 4"):
        import_file(pruned(tmp_path / "short.tflite", 4), tmp_path / "out")


def test_sparse_blocks() -> None:
    """A matrix of 4 x 6 in blocks of 2 x 3, of which three are there; columns in front of rows."""
    dense = np.zeros((4, 6), np.float32)
    dense[:2, :3], dense[2:, :3], dense[2:, 3:] = (random.standard_normal((2, 3)) for _ in range(3))
    blocks = [dense[:2, :3], dense[2:, :3], dense[2:, 3:]]
    about = sparse([0, 1, 2, 3], [2, ([0, 1, 3], [0, 0, 1]), 2, 3], [0, 1])
    assert np.array_equal(dense_of(about, (4, 6), np.concatenate([b.reshape(-1) for b in blocks])), dense)
    about = sparse([1, 0], [6, ([0, 2, 2, 3, 3, 3, 4], [1, 3, 0, 2])])
    expected = np.zeros((4, 6), np.float32)
    expected[[1, 3, 0, 2], [0, 0, 2, 5]] = [1, 2, 3, 4]
    assert np.array_equal(dense_of(about, (4, 6), np.arange(1, 5, dtype=np.float32)), expected)
    about.dimMetadata[1].arrayIndices.values = np.array([1, 3, -1, 2], np.int32)  # as wide as files may have them
    with pytest.raises(ValueError, match="an index of a sparse tensor is negative"):
        dense_of(about, (4, 6), np.arange(1, 5, dtype=np.float32))


def custom(path: Path, code: str, padding: int) -> Path:
    """MediaPipe's transposed convolution behind a pool of SAME."""
    model = Model()
    x, small, y = model.tensor("x", (1, 5, 7, 3)), model.tensor("small", (1, 3, 4, 3)), model.tensor("y", (1, 6, 8, 2))
    weight = model.constant("w", random.standard_normal((2, 2, 2, 3)).astype(np.float32))
    bias = model.constant("b", random.standard_normal(2).astype(np.float32))
    model.operator("MAX_POOL_2D", [x], [small], options("Pool2D", strideW=2, strideH=2, filterWidth=2, filterHeight=2))
    model.operator(code, [small, weight, bias], [y], custom=struct.pack("<3i", padding, 2, 2))
    return model.write(path, [x], [y])


@pytest.mark.parametrize("padding", [1, 2])
def test_custom_operators(padding: int, tmp_path: Path) -> None:
    """Beside LiteRT's TRANSPOSE_CONV; others have no layer."""
    made = import_file(custom(tmp_path / "net.tflite", "Convolution2DTransposeBias", padding), tmp_path / "out")
    assert made.result.difference <= 1e-6 and "zp::conv_transpose2d<" in made.header.read_text()
    with pytest.raises(ImportRefused, match="CUSTOM TransformLandmarks x1"):
        import_file(custom(tmp_path / "other.tflite", "TransformLandmarks", padding), tmp_path / "out")


class Kept(Model):
    """A model with variables, whose first values a subgraph of their own assigns."""

    def __init__(self, first: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.main = self.graph
        self.graph = type(self.main)()
        self.graph.tensors, self.graph.operators = [], []
        for name, data in first.items():
            self.operator("ASSIGN_VARIABLE", [self.handle(name), self.constant(name + ".first", data)], [])
        once, self.graph = self.graph, self.main
        once.inputs = once.outputs = np.zeros(0, np.int32)
        self.model.subgraphs.append(once)
        self.operator("CALL_ONCE", [], [], options("CallOnce", initSubgraphIndex=1))

    def handle(self, name: str) -> int:
        """A tensor that stands for a variable."""
        made = self.tensor(name + ".handle", (), None, "RESOURCE")
        self.operator("VAR_HANDLE", [], [made], options("VarHandle", container="", sharedName=name))
        return made


def kept(path: Path) -> Path:
    """The last three rows of four are kept; of a sum what comes out; of the input the input; of a gain nothing."""
    first = {"rows": np.zeros((1, 3, 4), np.float32), "sum": np.full((1, 4, 4), 2, np.float32), "before": np.zeros((1, 1, 4), np.float32),
             "gain": random.standard_normal((1, 4, 4)).astype(np.float32)}
    model = Kept(first)
    x, window, last = model.tensor("x", (1, 1, 4)), model.tensor("window", (1, 4, 4)), model.tensor("last", (1, 3, 4))
    total, scaled, twice, y, moved, both = (model.tensor(name, (1, 4, 4)) for name in ("total", "scaled", "twice", "y", "moved", "both"))
    read = {name: model.tensor(name + ".read", data.shape) for name, data in first.items()}
    for name, index in read.items():
        model.operator("READ_VARIABLE", [model.handle(name)], [index], options("ReadVariable"))
    model.operator("CONCATENATION", [read["rows"], x], [window], options("Concatenation", axis=1))
    begin, end, step = (model.constant(name, np.array(at, np.int32)) for name, at in (("b", [0, 1, 0]), ("e", [1, 4, 4]), ("s", [1, 1, 1])))
    model.operator("STRIDED_SLICE", [window, begin, end, step], [last], options("StridedSlice"))
    model.operator("ASSIGN_VARIABLE", [model.handle("rows"), last], [])
    model.operator("ADD", [window, read["sum"]], [total], options("Add"))
    model.operator("ASSIGN_VARIABLE", [model.handle("sum"), total], [])
    again = model.tensor("again", (1, 4, 4))
    model.operator("READ_VARIABLE", [model.handle("sum")], [again], options("ReadVariable"))
    model.operator("MUL", [again, read["gain"]], [scaled], options("Mul"))
    model.operator("TANH", [scaled], [moved])
    model.operator("MUL", [moved, window], [twice], options("Mul"))
    model.operator("ADD", [twice, read["before"]], [both], options("Add"))
    model.operator("ASSIGN_VARIABLE", [model.handle("before"), x], [])
    model.operator("TANH", [both], [y])
    return model.write(path, [x], [y, total])


def test_variables(tmp_path: Path) -> None:
    """They are inputs and outputs, whose values LiteRT keeps between the calls of the file as it is; read again, they are what they were given."""
    from ai_edge_litert.interpreter import Interpreter

    from zeropoint.front.litert import LitertSource
    from zeropoint.front.tflite_reader import read_tflite

    path = kept(tmp_path / "net.tflite")
    made = import_file(path, tmp_path / "out")
    text = made.header.read_text()
    assert made.result.difference <= 1e-6
    assert '"sum" is a variable of the source: each call but the first, of 2 everywhere, is given what came out as "sum.next".' in text
    assert '"rows" is a variable of the source: each call but the first, of 0 everywhere, ' in text and 'input "gain' not in text
    graph, reader = read_tflite(path)
    source, whole = LitertSource(reader, graph), Interpreter(model_content=path.read_bytes())
    whole.allocate_tensors()
    names = [value.name for value in graph.outputs]
    states = {"rows": np.zeros((1, 3, 4), np.float32), "sum": np.full((1, 4, 4), 2, np.float32), "before": np.zeros((1, 1, 4), np.float32)}
    for _ in range(4):
        x = random.standard_normal((1, 1, 4)).astype(np.float32)
        whole.set_tensor(whole.get_input_details()[0]["index"], x)
        whole.invoke()
        outputs = dict(zip(names, source(graph, {"x": x, **states})))
        for detail in whole.get_output_details():
            assert np.allclose(whole.get_tensor(detail["index"]), outputs[{"y": "y", "total": "total"}[detail["name"]]], atol=1e-6)
        states = {name: outputs[f"{name}.next"] for name in states}


def test_first_values_that_are_computed(tmp_path: Path) -> None:
    """Have a sentence."""
    model = Kept({"kept": np.zeros((1, 4), np.float32)})
    once = model.model.subgraphs[1]
    model.graph = once
    changed = model.tensor("changed", (1, 4))
    model.operator("NEG", [int(once.operators[-1].inputs[1])], [changed])
    once.operators[-2].inputs = np.array([once.operators[-2].inputs[0], changed], np.int32)
    once.operators[-2:] = once.operators[:-3:-1]
    model.graph = model.main
    x, read, y = (model.tensor(name, (1, 4)) for name in ("x", "read", "y"))
    model.operator("READ_VARIABLE", [model.handle("kept")], [read], options("ReadVariable"))
    model.operator("ADD", [read, x], [y], options("Add"))
    with pytest.raises(ImportRefused, match="NEG x1 .computed_operand.: the first values of variables are computed; they must be constants"):
        import_file(model.write(tmp_path / "net.tflite", [x], [y]), tmp_path / "out")


def test_codes_of_another_sign(tmp_path: Path) -> None:
    """An int8 network that gives uint8 gives int8 here, and says so."""
    model = Model()
    x, y, shifted = model.tensor("x", (1, 4), None, "INT8"), model.tensor("y", (1, 4), None, "INT8"), model.tensor("out", (1, 4), None, "UINT8")
    for index, scale, zero in ((x, 0.05, 3), (y, 1 / 256, -128), (shifted, 1 / 256, 0)):
        about = s.QuantizationParametersT()
        about.scale, about.zeroPoint = np.array([scale], np.float32), np.array([zero], np.int64)
        model.graph.tensors[index].quantization = about
    model.operator("LOGISTIC", [x], [y])
    model.operator("QUANTIZE", [y], [shifted], options("Quantize"))
    made = import_file(model.write(tmp_path / "net.tflite", [x], [shifted]), tmp_path / "out")
    assert made.result.differing == 0 and 'Codes of the output "out" are those of the source minus 128.' in made.header.read_text()
