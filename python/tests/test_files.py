# SPDX-License-Identifier: BSD-3-Clause
"""Names and rights of the files that commands read and write; what is written when."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import zeropoint
from zeropoint import compiler
from zeropoint.cli import main
from zeropoint.emit.header import identifier
from zeropoint.native import Network


@pytest.fixture(scope="module", name="folder")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with an imported network and images."""
    folder = tmp_path_factory.mktemp("files")
    zeropoint.from_torch(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).eval(), torch.randn(1, 3, 2, 2), folder, name="net", verify=False)
    np.save(folder / "images.npy", np.random.default_rng(0).normal(size=(4, 3, 2, 2)).astype(np.float32))
    return folder


def test_weights_have_the_rights_of_other_files(folder: Path) -> None:
    """Those of the header: whoever may read one may read the other."""
    assert os.stat(folder / "net.safetensors").st_mode == os.stat(folder / "net.hpp").st_mode


def test_a_header_of_any_name(folder: Path) -> None:
    """C++ includes no file with a quote in its name; whoever renames a header needs not know."""
    for ending in ("hpp", "safetensors"):
        (folder / f"a\"b\\.{ending}").write_bytes((folder / f"net.{ending}").read_bytes())
    header = str(folder / "a\"b\\.hpp")
    assert main(["quantize", header, "--calibration", str(folder / "images.npy")]) == 0
    assert main(["pack", header]) == 0


def test_who_stops_it_finds_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever quantize was at, the timing of calls at its end too."""
    def interrupted(self: Network, *_: np.ndarray) -> float:
        if self.has_int8:
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(Network, "microseconds", interrupted)
    made = folder / "stopped.safetensors"
    assert main(["quantize", str(folder / "net.hpp"), "--calibration", str(folder / "images.npy"), "-o", str(made)]) == 130
    assert "no file is half-written" in capsys.readouterr().err
    assert not made.exists()


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.INT64])
def test_casts_to_the_type_of_another(kind: int, tmp_path: Path) -> None:
    """CastLike of ONNX, whose target is that of a weight, and of another input."""
    weight = numpy_helper.from_array(np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32), "w")
    nodes = [helper.make_node("CastLike", ["x", "w"], ["a"]), helper.make_node("CastLike", ["a", "z"], ["b"]),
             helper.make_node("Mul", ["b", "z"], ["c"]), helper.make_node("MatMul", ["c", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, [1, 8]),
                                           helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "net.onnx")
    assert zeropoint.from_onnx(tmp_path / "net.onnx", tmp_path).result.difference <= 1e-5


@pytest.mark.parametrize("title, name", [("PP-OCRv6_det", "pp_ocrv6_det"), ("YOLOv8n", "yolov8n"), ("BertSelfAttention", "bert_self_attention"),
                                         ("HTTPServer", "http_server"), ("320n", "net_320n"), ("model", "model")])
def test_names(title: str, name: str) -> None:
    """Versions stay with what they are of."""
    assert identifier(title) == name


@pytest.mark.parametrize("name, limit", [("g++ (Debian 12.2.0) 12.2.0", "-fconstexpr-ops-limit"), ("Debian clang version 14.0.6", "-fconstexpr-steps")])
def test_many_rows(name: str, limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers are told to go on where a plan is much work, and the header says what else has to compile it."""
    commands: list[list[str]] = []

    def run(folder: str, command: list[str]) -> None:
        commands.append(command)
        (Path(folder) / "program").touch()

    monkeypatch.delenv("ZEROPOINT_COMPILED", raising=False)
    monkeypatch.setenv("ZEROPOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(compiler, "version", lambda: name)
    monkeypatch.setattr(compiler, "run", run)
    compiler.compiled(f"int main() {{}} // {tmp_path}", {})
    assert any(option.startswith(limit) for option in commands[0])
    layers = [layer for _ in range(450) for layer in (nn.Linear(4, 4), nn.Tanh())]
    made = zeropoint.from_torch(nn.Sequential(*layers), torch.rand(1, 4), tmp_path, name="deep", verify=False)
    assert "rows: compile with -fconstexpr-ops-limit=2000000000 by GCC, -fconstexpr-steps=2000000000 by Clang." in made.header.read_text()
