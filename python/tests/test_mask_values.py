# SPDX-License-Identifier: BSD-3-Clause
"""The check: masks that it draws leave every query a key, and where both sides differ it names the value that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.nn import functional as f

import zeropoint
from zeropoint.front.torch_reader import read_module
from zeropoint.importer import lowered_of, verify_file
from zeropoint.ir import Graph, Value
from zeropoint.verify import compare, inputs_for

LENGTH = 16


class Decoder(nn.Module):
    """Attention to what a mask keeps, and of that to a number of words up to each."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.words, self.qkv, self.out = nn.Embedding(20, 24), nn.Linear(24, 72), nn.Linear(24, 24)
        back = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)[None]
        self.register_buffer("seen", (back >= 0) & (back < window))

    def keeps(self, mask: torch.Tensor) -> torch.Tensor:
        return self.seen & mask[:, None, None].bool()  # type: ignore[operator]

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.view(1, LENGTH, 3, 8).transpose(1, 2) for x in self.qkv(self.words(ids)).chunk(3, -1))
        return self.out(f.scaled_dot_product_attention(q, k, v, self.keeps(mask)).transpose(1, 2).reshape(1, LENGTH, 24))


def example() -> tuple[torch.Tensor, torch.Tensor]:
    """The last words are padding."""
    return torch.randint(0, 20, (1, LENGTH)), (torch.arange(LENGTH)[None] < LENGTH - 3).long()


@pytest.mark.parametrize("window", [LENGTH, 3, 1])
def test_no_query_is_left_without_a_key(window: int) -> None:
    """The first word of a decoder sees itself alone, one behind a window of hidden words sees none: sources have zeros, NaN or equal
    shares there. Some words are hidden all the same, where that is possible."""
    module = Decoder(window)
    graph, _ = read_module(module, example())
    lowered_of(graph)
    masks = [arrays["mask"] for arrays in inputs_for(graph, 40, None)]
    assert all(module.keeps(torch.from_numpy(mask)).any(-1).all() for mask in masks)
    assert (sum(bool((mask == 0).any()) for mask in masks) > 30) == (window > 1)


def test_decoders_with_a_mask(tmp_path: Path) -> None:
    """Pass the check, by their module and by their file."""
    torch.manual_seed(3)
    module = Decoder(LENGTH).eval()
    made = zeropoint.from_torch(module, example(), tmp_path)
    assert made.result.difference <= 1e-5, made.result.report()
    torch.onnx.export(module, example(), str(tmp_path / "decoder.onnx"), dynamo=True)
    assert verify_file(made.header, tmp_path / "decoder.onnx").difference <= 1e-5


def test_a_mask_that_is_given_and_leaves_nothing(tmp_path: Path) -> None:
    """Is told where it is what makes the difference."""
    ids, mask = example()
    with pytest.raises(zeropoint.CheckFailed, match="leaves a query no key"):
        zeropoint.from_torch(Decoder(LENGTH).eval(), (ids, mask.flip(1)), tmp_path)


def test_masks_of_what_is_not_known_as_attention() -> None:
    """Leave something, and hide something."""
    mask = Value("mask", (1, 2), True, is_mask=True)
    graph = Graph(inputs=[mask], given=[mask])
    assert all(np.ptp(arrays["mask"]) == 1 for arrays in inputs_for(graph, 20, None))


class Parts(nn.Module):
    """Of a value, and a layer behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 9), nn.Linear(3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b, c = self.first(x).chunk(3, -1)
        return self.last(a * b + c)


def test_the_first_value_that_differs_is_wrong(tmp_path: Path) -> None:
    """Parts of a value are compared with the same part, those that are not the first too."""
    program = torch.export.export(Parts().eval(), (torch.randn(1, 6),), strict=False)
    torch.export.save(program, tmp_path / "parts.pt2")
    made = zeropoint.from_onnx(tmp_path / "parts.pt2", tmp_path)
    tensors = load_file(made.weights)
    save_file(tensors | {"last.weight": tensors["last.weight"] * 1.01}, made.weights)
    first = verify_file(made.header, tmp_path / "parts.pt2").first
    assert '"last"' in first or "zp::linear" in first and "node last" in first, first


class Far(nn.Module):
    """A table of which some rows are read by few inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(400, 6)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.words(ids).relu()


def test_the_inputs_that_differ_are_looked_at(tmp_path: Path) -> None:
    """Values in between are those of the inputs whose outputs differ, which need not be the first."""
    program = torch.export.export(Far().eval(), (torch.zeros(1, 4, dtype=torch.int64),), strict=False)
    torch.export.save(program, tmp_path / "far.pt2")
    made = zeropoint.from_onnx(tmp_path / "far.pt2", tmp_path)
    graph, _ = read_module(Far().eval(), (torch.zeros(1, 4, dtype=torch.int64),))
    third = inputs_for(graph, 3, None)[2]["ids"]
    tensors = load_file(made.weights)
    tensors["words.weight"][third[0, 1]] += 1
    save_file(tensors, made.weights)
    found = verify_file(made.header, tmp_path / "far.pt2")
    assert not found.passed and "zp::embedding" in found.first, found.report()


def test_what_is_no_number_differs() -> None:
    """Of whichever inputs it comes from."""
    right, wrong = [np.ones(3, np.float32)], [np.array([1, np.nan, 1], np.float32)]
    for results in ([wrong, right], [right, wrong]):
        assert not compare(results, [right, right], ["y"]).passed
