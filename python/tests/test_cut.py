# SPDX-License-Identifier: BSD-3-Clause
"""Parts of models, between values that are named, and extents that TensorFlow Lite computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from test_exporters import info, tensor, weights, written

from zeropoint.cli import main
from zeropoint.errors import ImportRefused, ZeropointError
from zeropoint.importer import import_file

random = np.random.default_rng(11)


def detector(path: Path) -> Path:
    """Spectra that no layer computes, a network, and a selection of its outputs that none does either; a branch reads a value from outside."""
    inner = helper.make_graph([helper.make_node("Add", ["hidden", "hidden"], ["twice"])], "then", [], [info("twice", None)])
    other = helper.make_graph([helper.make_node("Neg", ["hidden"], ["minus"])], "else", [], [info("minus", None)])
    nodes = [helper.make_node("CumSum", ["sound", "axis"], ["spectrum"]), helper.make_node("Gemm", ["spectrum", "w", "b"], ["hidden"]),
             helper.make_node("If", ["is_loud"], ["chosen"], then_branch=inner, else_branch=other), helper.make_node("Relu", ["chosen"], ["score"]),
             helper.make_node("NonZero", ["score"], ["places"])]
    constants = [weights("w", 6, 4), weights("b", 4), tensor("axis", 1, np.int64), tensor("is_loud", True, np.bool_), weights("unused", 3)]
    return written(path, nodes, [info("sound", [1, 6])], [info("places", [2, None], 7)], constants)


def test_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Named values are the ports, what only the rest needs is gone, and the check runs the part in the source."""
    path, out = detector(tmp_path / "net.onnx"), tmp_path / "out"
    with pytest.raises(ImportRefused, match="(?s)CumSum x1.*a part of a model is imported with --from VALUE and --to VALUE, by the names"):
        import_file(path, out)
    made = import_file(path, out, begin=["spectrum"], end=["score", "hidden"])
    text = made.header.read_text()
    assert made.result.difference <= 1e-6 and 'input "spectrum": float 1x6' in text and 'output "score": float 1x4' in text and 'output "hidden": float 1x4' in text
    assert 'Cut out of the source, from "spectrum" to "score", "hidden".' in text
    cuts = ["--from", "spectrum", "--to", "score", "--to", "hidden"]
    assert main(["verify", str(made.header), str(path), *cuts]) == 0
    assert main(["import", str(path), "-o", str(out), "--no-verify", "--from", "spectra", "--to", "score"]) == 2
    assert "--from spectra: this model has no such value; the nearest are spectrum" in capsys.readouterr().err
    with pytest.raises(ZeropointError, match="--from score: no output needs this value; name one that lies in front of what is wanted"):
        import_file(path, out, begin=["score"], end=["hidden"])


def test_extents_of_a_beginning(tmp_path: Path) -> None:
    """Are given where nothing tells them."""
    nodes = [helper.make_node("Compress", ["x", "chosen"], ["left"], axis=0), helper.make_node("Tanh", ["left"], ["y"])]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [7, 3]), info("chosen", [7], 9)], [info("y", ["n", 3])], [])
    made = import_file(path, tmp_path, begin=["left"], input_shapes={"left": (1, 3)})
    assert made.result.difference <= 1e-6
    path = written(tmp_path / "none.onnx", [helper.make_node("Unknown", ["x"], ["left"], domain="other"), nodes[1]], [info("x", [7, 3])],
                   [info("y", ["n", 3])], [], checked=False)
    with pytest.raises(ZeropointError, match="--from left: its extents are not known; give them with --input left=1x"):
        import_file(path, tmp_path, begin=["left"])
    assert import_file(path, tmp_path, begin=["left"], input_shapes={"left": (1, 3)}).result.difference <= 1e-6


def frames(path: Path) -> Path:
    """A sequence of 12 in frames of 4, whose number the model computes, and the file does not have; then an operator without a layer."""
    from tflite_models import Model, options

    model = Model()
    x, shape, length, count, extents = (model.tensor("x", (1, 12)), model.tensor("shape", (2,), None, "INT32"), model.tensor("length", (1,), None, "INT32"),
                                        model.tensor("count", (1,), None, "INT32"), model.tensor("extents", (2,), None, "INT32"))
    begin, end, step, four = (model.constant(name, np.array([n], np.int32)) for name, n in (("b", 1), ("e", 2), ("s", 1), ("four", 4)))
    framed, y, out, last = (model.tensor(name, (1, n)) for name, n in (("framed", 4), ("y", 3), ("sine", 3), ("last", 3)))  # in truth 3 x 4, and 3 x 3
    model.operator("SHAPE", [x], [shape], options("Shape", outType=2))
    model.operator("STRIDED_SLICE", [shape, begin, end, step], [length], options("StridedSlice"))
    model.operator("FLOOR_DIV", [length, four], [count])
    model.operator("CONCATENATION", [count, four], [extents], options("Concatenation"))
    model.operator("RESHAPE", [x, extents], [framed])
    model.operator("FULLY_CONNECTED", [framed, model.constant("w", random.standard_normal((3, 4)).astype(np.float32)), -1], [y],
                   options("FullyConnected", keepNumDims=True))
    model.operator("SIN", [y], [out])
    model.operator("TANH", [out], [last])
    return model.write(path, [x], [last])


def test_tensorflow_lite(tmp_path: Path) -> None:
    """Extents are those of a run; parts are named as in ONNX."""
    pytest.importorskip("ai_edge_litert")
    path = frames(tmp_path / "net.tflite")
    with pytest.raises(ImportRefused, match="(?s)SIN x1.*a part of a model is imported with --from VALUE"):
        import_file(path, tmp_path)
    made = import_file(path, tmp_path, end=["y"])
    text = made.header.read_text()
    assert made.result.difference <= 1e-6 and 'output "y": float 3x3' in text and 'Cut out of the source, to "y".' in text
    made = import_file(path, tmp_path, begin=["sine"])
    assert made.result.difference <= 1e-6 and 'input "sine": float 3x3' in made.header.read_text()
    with pytest.raises(ZeropointError, match="--to z: this model has no such value"):
        import_file(path, tmp_path, end=["z"])
