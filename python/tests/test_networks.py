# SPDX-License-Identifier: BSD-3-Clause
"""Whole networks, by torch.export and by both of PyTorch's ONNX exporters: the numbers of the compiled program."""

from __future__ import annotations

import contextlib
import io
import logging
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from networks import NETWORKS, network

import zeropoint


def export(name: str, folder: Path, dynamo: bool) -> Path:
    """An ONNX file."""
    module, example = network(name)
    path = folder / f"{name}.onnx"
    logging.disable(logging.ERROR)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(module, example, str(path), dynamo=dynamo)
    return path


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_module(name: str, tmp_path: Path) -> None:
    """From the module itself."""
    module, example = network(name)
    made = zeropoint.from_torch(module, example, tmp_path, name=name)
    assert made.result.difference <= 1e-5
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{name}.hpp", f"{name}.safetensors"]


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_onnx(name: str, tmp_path: Path) -> None:
    """From PyTorch's exporter over torch.export, which fuses norms and decomposes some operators."""
    made = zeropoint.from_onnx(export(name, tmp_path, True), tmp_path / "out")
    assert made.result.difference <= 1e-5


@pytest.mark.parametrize("name", ["resnet18", "lstm", "vit", "mixed"])
def test_older_onnx(name: str, tmp_path: Path) -> None:
    """From its exporter over TorchScript, which computes extents in the graph and renames weights."""
    made = zeropoint.from_onnx(export(name, tmp_path, False), tmp_path / "out")
    assert made.result.difference <= 1e-5


def test_same_text_each_time(tmp_path: Path) -> None:
    """The same module gives the same header and the same file."""
    texts = []
    for number in range(2):
        module, example = network("vit")
        made = zeropoint.from_torch(module, example, tmp_path / str(number), verify=False)
        texts.append((made.header.read_bytes(), made.weights.read_bytes()))
    assert texts[0] == texts[1]


def test_state_dict_loads_as_it_is(tmp_path: Path) -> None:
    """Names and numbers of the file are those of the module."""
    from safetensors.numpy import load_file

    module, example = network("resnet18")
    made = zeropoint.from_torch(module, example, tmp_path, verify=False)
    saved = load_file(made.weights)
    state = {k: v.numpy() for k, v in module.state_dict().items() if not k.endswith("num_batches_tracked")}
    assert set(saved) == set(state)
    assert all((saved[k] == state[k]).all() and saved[k].shape == state[k].shape for k in state)


def test_program_of_torch_export(tmp_path: Path) -> None:
    """A .pt2 gives what the module gives."""
    module, example = network("keywords")
    torch.export.save(torch.export.export(module, example, strict=False), tmp_path / "keywords.pt2")
    made = zeropoint.from_onnx(tmp_path / "keywords.pt2", tmp_path / "out")
    again = zeropoint.from_torch(module, example, tmp_path / "module", name="keywords")
    assert made.result.difference <= 1e-5
    body = [p.read_text().split("#pragma once")[1] for p in (made.header, again.header)]
    assert body[0] == body[1]


class Query(torch.nn.Module):
    """Layers whose names are those of inputs, and of the input that is given none; sums go back to them."""

    def __init__(self) -> None:
        super().__init__()
        self.input, self.query = torch.nn.Linear(6, 8), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        first = self.input(x)
        return torch.tanh(self.query(first + query)) + first * query


class Input(Query):
    """One input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        first = self.input(x)
        return torch.tanh(self.query(first)) + first


@pytest.mark.parametrize("kind", [Input, Query])
def test_layers_named_as_inputs(kind: type[Query], tmp_path: Path) -> None:
    """An input gets a name that no layer has."""
    example = (torch.randn(1, 6), torch.randn(1, 8))[:1 if kind is Input else 2]
    made = zeropoint.from_torch(kind(), example, tmp_path, name="named")
    assert made.result.difference <= 1e-5
    assert "zp::named<" in made.header.read_text()


def test_node_without_a_name(tmp_path: Path) -> None:
    """Whose first output nobody reads: a layer with parameters needs a name all the same."""
    from onnx import TensorProto, helper

    weights = [onnx.numpy_helper.from_array(np.full((2, 4, n), 0.1 * n, np.float32), name) for name, n in (("w", 3), ("r", 4))]
    node = helper.make_node("RNN", ["x", "w", "r"], ["", "y"], hidden_size=4, direction="bidirectional")
    steps_first = helper.make_node("Transpose", ["sequence"], ["x"], perm=[1, 0, 2])
    graph = helper.make_graph([steps_first, node], "g", [helper.make_tensor_value_info("sequence", TensorProto.FLOAT, [1, 5, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 1, 4])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "net.onnx")
    assert zeropoint.from_onnx(tmp_path / "net.onnx", tmp_path / "out").result.difference <= 1e-5
