# SPDX-License-Identifier: BSD-3-Clause
"""Exporters over the digits network, whose int8 models are in the repository: one compilation for all of it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from exported import check_integer, differing_rows, digits
from safetensors.numpy import load_file

import zeropoint
from zeropoint.cli import main
from zeropoint.export import export as exporting
from zeropoint.export.compare import feeds_of, made_up_inputs, session_of
from zeropoint.export.encodings import emit_real, encodings_061, encodings_200
from zeropoint.export.formulas import fixed_point, grid_table, residual_ratios, softmax_table
from zeropoint.export.int8_model import Int8Model, Range, read_model
from zeropoint.export.integer import emit_integer
from zeropoint.export.qdq import emit_qdq

CASE = digits("per_channel_histogram")


def test_integer() -> None:
    """Equal in ONNX Runtime and in onnx.reference."""
    check_integer(CASE)


def test_a_wrong_number_is_seen() -> None:
    """One multiplier a last bit off makes rows differ: the comparison would find it."""
    library, model = CASE.opened()
    scale = model.tensors["block.conv1.weight_scale"]
    model.tensors["block.conv1.weight_scale"] = scale * np.float32(1.001)
    found = differing_rows(emit_integer(model, library.ports), library)
    assert found and found[0].startswith("3 block.conv1")


@pytest.mark.parametrize("signed", [False, True])
def test_qdq(signed: bool) -> None:
    """Nearly equal, in unsigned and in signed codes; multipliers by the search for scales."""
    library, model = CASE.opened()
    emitter = emit_qdq(model, library.ports, signed=signed)
    made = emitter.finish("net")
    kinds = {onnx.helper.tensor_dtype_to_np_dtype(t.data_type).name for t in made.graph.initializer}
    assert ("uint8" in kinds) != signed and ("int8" in kinds) == signed
    assert {n.op_type for n in made.graph.node} <= {"QuantizeLinear", "DequantizeLinear", "Conv", "Add", "Relu", "MaxPool",
                                                    "AveragePool", "Reshape", "Clip"}
    readers = [x for n in made.graph.node if n.op_type != "QuantizeLinear" for x in n.input]
    floats = [n.output[0] for n in made.graph.node if n.op_type == "DequantizeLinear" and n.output[0] != "output"]
    assert all(readers.count(x) == 1 for x in floats)  # one reader each
    assert emitter.exact_channels > 0.7 * emitter.channels
    from zeropoint.export.compare import compare_rows

    for row in compare_rows(emitter, library, made_up_inputs(library, model, 0)):
        assert row.largest <= 1 and row.differing <= 0.15 * row.count, row


def test_encodings() -> None:
    """Weights are quantized again to their codes; every tensor is named; the float graph is near the int8 network."""
    library, model = CASE.opened()
    emitter = emit_real(model, library.ports)
    made = emitter.finish("net")
    old, new = encodings_061(emitter), encodings_200(emitter)
    tensors = {x for n in made.graph.node for x in (*n.input, *n.output)}
    assert set(old["activation_encodings"]) | set(old["param_encodings"]) == {e["name"] for e in new["encodings"]} <= tensors
    assert len(old["param_encodings"]) == 7 and len(old["activation_encodings"]) == 10
    codes = load_file(CASE.file)["conv1.weight"]
    weights = next(onnx.numpy_helper.to_array(t) for t in made.graph.initializer if t.name == "conv1.weight")
    entries = old["param_encodings"]["conv1.weight"]
    assert len(entries) == len(codes) and entries[0]["is_symmetric"] == "True" and entries[0]["offset"] == -128
    for one, filter_codes, entry in zip(weights, codes, entries):
        assert (np.rint(one / np.float32(entry["scale"])) == filter_codes).all()
        assert entry["min"] == entry["scale"] * entry["offset"] and entry["max"] == entry["scale"] * (255 + entry["offset"])
    arrays = made_up_inputs(library, model, 0)
    real, int8 = session_of(made, optimize=False).run(None, feeds_of(library, arrays))[0], library.run(arrays)[0]
    assert np.abs(real - int8).max() < 0.1 * np.abs(real).max()
    kinds = {e["name"]: e for e in new["encodings"]}
    assert kinds["conv1.weight"]["output_dtype"] == "int8" and "y_zero_point" not in kinds["conv1.weight"]
    assert kinds["conv1.output"]["y_zero_point"] == -old["activation_encodings"]["conv1.output"][0]["offset"]


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files, reports, and the exit code."""
    common = [str(CASE.header), str(CASE.file), "--qconfig", CASE.qconfig]
    report = tmp_path / "report.json"
    assert main(["export", *common, "--onnx", "integer", "-o", str(tmp_path / "a.onnx"), "--report", str(report)]) == 0
    assert "outputs with all optimizations: 0 of 40 codes differ" in capsys.readouterr().out
    assert json.loads(report.read_text())["differing"] == {"outputs": 0, "optimized": 0, "rows": 0}
    onnx.checker.check_model(str(tmp_path / "a.onnx"))
    assert main(["export", *common, "--onnx", "qdq", "-o", str(tmp_path / "b.onnx")]) == 0
    assert "multipliers of channels that are equal" in capsys.readouterr().out
    assert main(["encodings", *common, "-o", str(tmp_path / "c.onnx")]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"a.onnx", "b.onnx", "c.onnx", "c.0.6.1.encodings", "c.2.0.0.encodings",
                                                   "report.json"}
    assert json.loads((tmp_path / "c.0.6.1.encodings").read_text())["version"] == "0.6.1"


def broken(model: Int8Model, *numbers: int) -> Int8Model:
    """The same with rows that nobody knows."""
    description = copy.deepcopy(model.description)
    for number in numbers:
        description["nodes"][number]["op"] = {"kind": "custom", "name": "mystery", "range": "observed"}
    return Int8Model(description, model.tensors)


@pytest.mark.parametrize("command", [["export", "--onnx", "integer"], ["export", "--onnx", "qdq"], ["encodings"]])
def test_refusals(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All rows at once, exit code 2, nothing written."""
    library, model = CASE.opened()
    monkeypatch.setattr(exporting, "opened", lambda *rest: (library, broken(model, 5, 8)))
    report = tmp_path / "report.json"
    assert main([*command, str(CASE.header), str(CASE.file), "-o", str(tmp_path / "x.onnx"), "--report", str(report)]) == 2
    assert "2 nodes of 1 kind cannot be exported:\n  mystery x2 (op)" in capsys.readouterr().err
    assert [p["node"] for p in json.loads(report.read_text())["problems"]] == ["mystery_5", "mystery_8"]
    assert list(tmp_path.iterdir()) == [report]


@pytest.mark.parametrize("storage, text", [("float32", "this row computes floats"), ("int16", "codes of 16 bits")])
def test_rows_of_other_types(storage: str, text: str) -> None:
    """What the integer graph has no arithmetic for."""
    library, model = CASE.opened()
    description = copy.deepcopy(model.description)
    description["nodes"][4]["out"]["storage"] = storage
    with pytest.raises(zeropoint.ZeropointError, match=text):
        emit_integer(Int8Model(description, model.tensors), library.ports)


def test_a_difference_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An integer graph that is not equal is not written: exit code 1."""
    library, model = CASE.opened()
    model.tensors["fc2.bias"] = model.tensors["fc2.bias"] + np.int32(3000)
    monkeypatch.setattr(exporting, "opened", lambda *rest: (library, model))
    arguments = ["export", "--onnx", "integer", str(CASE.header), str(CASE.file), "-o", str(tmp_path / "x.onnx")]
    assert main(arguments) == 1
    assert "nothing was written" in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert main([*arguments, "--force"]) == 0 and (tmp_path / "x.onnx").exists()


def test_bad_files(tmp_path: Path) -> None:
    """One sentence each."""
    library, _ = CASE.opened()
    with pytest.raises(zeropoint.ZeropointError, match="expected the signature .* found"):
        read_model(library.description, digits("tflite_like").file)
    (tmp_path / "x.safetensors").write_bytes(b"nothing")
    with pytest.raises(zeropoint.ZeropointError, match="expected an int8 file that zeropoint wrote"):
        read_model(library.description, tmp_path / "x.safetensors")
    with pytest.raises(zeropoint.ZeropointError, match="expected"):
        library.load(tmp_path / "x.safetensors")


def test_formulas() -> None:
    """Numbers beside what defines them."""
    assert fixed_point(0.5) == (1 << 30, 0) and fixed_point(0.75) == (3 << 29, 0) and fixed_point(2.0**-40) == (0, 0)
    assert fixed_point(1 - 2.0**-40) == (1 << 30, 1)
    table = softmax_table(np.float32(0.1))
    exact = np.exp(-(255 - np.arange(256)) * float(np.float32(0.1))) * 2**30
    assert table[255] == 1 << 30 and np.abs(table - exact).max() <= 0.51
    same = grid_table(Range(np.float32(0.5), 3), Range(np.float32(0.5), 3), 0, 255)
    assert (same == np.arange(256)).all()
    ratio = residual_ratios(Range(np.float32(0.3), 0), Range(np.float32(0.01), 0), np.array([0.7], np.float32))[0]
    assert abs(float(ratio) / (0.3 / 0.007) - 1) < 2**-16 and int(ratio.view(np.uint32)) & 0xff == 0
