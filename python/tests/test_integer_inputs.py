# SPDX-License-Identifier: BSD-3-Clause
"""Integers that come in: rows of tables, masks, numbers; what floats would compute otherwise is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch import nn

import zeropoint
from zeropoint.ports import ports_of


class Camera(nn.Module):
    """Bytes of a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x.float() / 255)


class MeanOfWords(nn.Module):
    """A mask that is a number too: its sum is a length."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        weights = mask[:, :, None].float()
        return (self.words(ids) * weights).sum(1) / weights.sum(1)


class Twice(nn.Module):
    """Which wraps around in bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc((x * 2).float())


def test_bytes_of_a_picture(tmp_path: Path) -> None:
    """A picture of zeros does not make a mask of them: the port is one of floats, and 255 is 255."""
    made = zeropoint.from_torch(Camera(), torch.zeros(1, 3, 8, 8, dtype=torch.uint8), tmp_path, name="camera")
    assert made.result.difference <= 1e-5
    _, inputs, _ = ports_of(made.header)
    assert not inputs[0].is_integer


def test_mask_that_is_counted(tmp_path: Path) -> None:
    """Any weights, not 0 and 1 alone."""
    example = torch.randint(0, 11, (1, 5)), torch.ones(1, 5, dtype=torch.int64)
    made = zeropoint.from_torch(MeanOfWords(), example, tmp_path, name="mean")
    assert made.result.difference <= 1e-5
    assert [port.is_integer for port in ports_of(made.header)[1]] == [True, False]


def test_sums_of_bytes_are_refused(tmp_path: Path) -> None:
    """Those of longer integers are taken."""
    made = zeropoint.from_torch(Twice(), torch.arange(8)[None], tmp_path / "long", name="twice")
    assert made.result.difference <= 1e-5
    with pytest.raises(zeropoint.ImportRefused, match="mul of integers of 8 or 16 bits, which wraps around"):
        zeropoint.from_torch(Twice(), torch.arange(8, dtype=torch.uint8)[None], tmp_path / "bytes")


def test_quotients_of_integers_are_refused(tmp_path: Path) -> None:
    """ONNX cuts them off."""
    nodes = [helper.make_node("Div", ["x", "y"], ["q"]), helper.make_node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Relu", ["f"], ["z"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [1, 4])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4])],
                              [onnx.numpy_helper.from_array(np.array([[2, 3, 4, 5]]), "y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "div.onnx")
    with pytest.raises(zeropoint.ImportRefused, match="a quotient of integers, which is cut off"):
        zeropoint.from_onnx(tmp_path / "div.onnx", tmp_path / "out")
