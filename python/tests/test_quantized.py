# SPDX-License-Identifier: BSD-3-Clause
"""Models that are integers already: codes as their own runtimes compute them, every one; and what is refused."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdq_networks import NETWORKS, quantized
from safetensors.numpy import load_file, save_file

import zeropoint
from zeropoint.cli import main
from zeropoint.errors import ImportRefused, ZeropointError
from zeropoint.given import Given
from zeropoint.importer import import_file, read_coded, verify_file

pytest.importorskip("ai_edge_litert")
MODELS = Path(__file__).parent / "models"  # written by scripts/golden/tflite_networks.py


@pytest.mark.parametrize("name", ["cnn", "ds_cnn", "mobilenet", "sequence", "decoder"])
def test_codes_of_litert(name: str, tmp_path: Path) -> None:
    """Of ai-edge-quantizer's models: no code of any value differs from the interpreter's."""
    made = import_file(MODELS / f"{name}.tflite", tmp_path)
    assert made.result.codes > 10_000 and made.result.differing == 0, made.result.report()
    assert len(made.result.rows) >= 10 and len(made.result.outputs) == 1
    text = made.header.read_text()
    assert f"using {name}_int8 = zp::quantized<{name}, {name}_qconfig>;" in text
    assert "equal those of LiteRT" in text and "zp::fixed_point_litert" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{name}.hpp", f"{name}.int8.safetensors"]
    if "zp::codes_in" in text:
        with pytest.raises(ZeropointError, match="takes or gives codes"):
            zeropoint.build(made.header)


@pytest.mark.parametrize("name", ["classifier", "squeeze", "sequence", "constants"])
def test_codes_of_onnx_runtime(name: str, tmp_path: Path) -> None:
    """Of ONNX Runtime's quantizer: no code of any value differs from those of a session with its default optimizations."""
    made = import_file(quantized(name, tmp_path), tmp_path / "out")
    assert made.result.codes > 2_000 and made.result.differing == 0, made.result.report()
    assert len(made.result.rows) >= 7
    weights = NETWORKS[name][2]["weights"].lower().removeprefix("q")
    assert ("zp::quint8" if weights == "uint8" else "zp::qint8_narrow") in made.header.read_text()


def test_a_changed_code_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One weight, one table entry: the check says where the codes begin to differ."""
    made = import_file(MODELS / "sequence.tflite", tmp_path, verify=False)
    assert "Not checked" in made.header.read_text()
    tensors = load_file(made.weights)
    header = json.loads(made.weights.read_bytes()[8:8 + int.from_bytes(made.weights.read_bytes()[:8], "little")])

    def rewrite(changed: dict[str, np.ndarray]) -> None:
        sums = {f"crc32.{name}": f"{zlib.crc32(array.tobytes()):08x}" for name, array in changed.items()}
        save_file(changed, made.weights, {**header["__metadata__"], **sums})

    for name, row in (("mix0.weight", "mix0"), ("steps.bias", "steps")):
        changed = {**tensors, name: tensors[name].copy()}
        changed[name].reshape(-1)[0] += 60 if name.endswith("weight") else 3000
        rewrite(changed)
        result = verify_file(made.header, MODELS / "sequence.tflite")
        assert not result.passed and [r.name for r in result.sources] == [row]
    rewrite({**tensors, "conv0.weight": tensors["conv0.weight"][:, :, :, ::-1].copy()})
    assert main(["verify", str(made.header), str(MODELS / "sequence.tflite")]) == 1
    assert "begins at conv2d conv0 (CONV_2D)" in capsys.readouterr().out


def test_softmax_of_onnx_runtime(tmp_path: Path) -> None:
    """Its approximation is told by row, and explains every code: exponentials over their sum, times floor(1 / scale)."""
    path = quantized("with_softmax", tmp_path)
    made = import_file(path, tmp_path / "out")
    assert made.result.passed and made.result.differing > 0
    assert [row.operator for row in made.result.sources] == ["Softmax"]
    graph, source = read_coded(path, "onnx", Given())
    random = np.random.default_rng(2)
    logits, out = source.stripped.values["/fc/Gemm_output_0"], graph.outputs[0].coding
    assert out is not None and np.floor(1 / out.scale[0]) == 254
    real_differs = 0
    for _ in range(40):
        x = random.integers(0, 256, (1, 3, 20, 28)).astype(np.uint8)
        found = source.run({"x": x}, graph)
        powers = np.exp(logits.real(found[logits.source]).astype(np.float64))
        share = powers / powers.sum()
        assert np.array_equal(np.floor(share * 254 + 0.5), found[out.source])
        real_differs += int(np.count_nonzero(np.rint(share / out.scale[0]) != found[out.source]))
    assert real_differs > 0


@pytest.mark.parametrize("name", ["tiny_float", "conditions"])
def test_floats_of_litert(name: str, tmp_path: Path) -> None:
    """A model that was not quantized is a float network, checked as those of PyTorch are."""
    made = import_file(MODELS / f"{name}.tflite", tmp_path)
    assert made.result.difference <= 1e-5 and made.weights.name == f"{name}.safetensors"
    assert "qconfig" not in made.header.read_text()


@pytest.mark.parametrize("name, text", [("tiny_dynamic", "dynamic-range quantization"), ("tiny_int16", "activations of int16")])
def test_refused(name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, exit code 2, nothing written."""
    assert main(["import", str(MODELS / f"{name}.tflite"), "-o", str(tmp_path)]) == 2
    assert text in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_no_tflite_file(tmp_path: Path) -> None:
    """Other bytes are refused before they are read."""
    (tmp_path / "net.tflite").write_bytes(b"not a flatbuffer at all")
    with pytest.raises(ZeropointError, match="no TensorFlow Lite file"):
        import_file(tmp_path / "net.tflite", tmp_path / "out")
    content = (MODELS / "cnn.tflite").read_bytes()
    (tmp_path / "net.tflite").write_bytes(content[:2000])
    with pytest.raises(ZeropointError, match="damaged"):
        import_file(tmp_path / "net.tflite", tmp_path / "out")


def model_of(nodes: list[Any], tensors: dict[str, Any], shape: list[int]) -> bytes:
    """An ONNX file from x to y."""
    import onnx
    from onnx import helper, numpy_helper

    return helper.make_model(helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items()]),
        opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


def test_qdq_that_has_no_grid(tmp_path: Path) -> None:
    """A value that is read as floats and as codes, one that nothing rounds, and scales that are computed."""
    from onnx import helper

    def make(name: str, inputs: list[str], out: str) -> Any:
        return helper.make_node(name, inputs, [out])

    tensors = {"s": np.float32(0.1), "z": np.uint8(3), "s2": np.float32(0.2)}
    coded = [make("QuantizeLinear", ["x", "s", "z"], "q"), make("DequantizeLinear", ["q", "s", "z"], "d")]
    cases = {
        "as floats, which others read as codes": [*coded, make("Relu", ["d"], "r"), make("QuantizeLinear", ["r", "s", "z"], "rq"),
                                                  make("DequantizeLinear", ["rq", "s", "z"], "rd"),
                                                  make("Add", ["r", "rd"], "y")],
        "does not round this value to codes": [*coded, make("Sigmoid", ["d"], "r"), make("Mul", ["d", "r"], "m"),
                                               make("QuantizeLinear", ["m", "s", "z"], "mq"),
                                               make("DequantizeLinear", ["mq", "s", "z"], "y")],
        "another scale or zero point": [coded[0], make("DequantizeLinear", ["q", "s2", "z"], "d"), make("Relu", ["d"], "y")],
        "they must be constants": [make("Abs", ["s"], "s3"), make("ReduceMax", ["x"], "m"),
                                   make("QuantizeLinear", ["x", "m", "z"], "q"),
                                   make("DequantizeLinear", ["q", "m", "z"], "d"), make("Relu", ["d"], "y")]}
    for text, nodes in cases.items():
        (tmp_path / "net.onnx").write_bytes(model_of(nodes, tensors, [1, 3, 4, 5]))
        with pytest.raises(ImportRefused, match=text):
            import_file(tmp_path / "net.onnx", tmp_path / "out")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_grids_change_where_the_source_has_them() -> None:
    """A requantize stands behind what keeps its grid here, and in front of a concat; a global pool becomes a mean."""
    from zeropoint.coded.grids import insert_changes
    from zeropoint.ir import Coding, Graph, Origin, Value

    def coding(scale: float) -> Coding:
        return Coding("int8", np.float32([scale]), np.int64([0]), source="there")

    graph, x = Graph(), Value("x", (1, 3, 4, 5), coding=coding(0.5))
    graph.inputs = [x]

    def add(op: str, inputs: list[Value | None], shape: tuple[int, ...], scale: float | None, **attrs: Any) -> Value:
        made = graph.add(op, inputs, shape, Origin(op), **attrs)
        made.coding = None if scale is None else coding(scale)
        return made

    relu = add("unary", [x], (1, 3, 4, 5), 0.25, kind="relu")
    same = add("pool", [relu], (1, 3, 2, 2), 0.25, kind="max")
    joined = add("concat", [relu, x], (1, 6, 4, 5), 0.5, axis=1)
    mean = add("adaptive_avg_pool", [joined], (1, 6, 1, 1), 0.125)
    insert_changes(graph)
    assert [node.op for node in graph.nodes] == ["unary", "requantize", "pool", "requantize", "concat", "reduce"]
    assert graph.nodes[0].outputs[0].coding.grid[1] == 0.5 and graph.nodes[1].outputs[0] is relu
    assert graph.nodes[4].inputs[0] is graph.nodes[3].outputs[0] and graph.nodes[4].inputs[1] is x
    assert graph.nodes[5].outputs[0] is mean and graph.nodes[2].outputs[0] is same
