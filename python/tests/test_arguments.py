# SPDX-License-Identifier: BSD-3-Clause
"""Modules whose arguments, numbers or names are of other kinds than float32 tensors one behind the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional as f

import zeropoint
from zeropoint.importer import verify_file


class Nested(nn.Module):
    """Lists and dicts of tensors, numbers, and what is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, xs: list[torch.Tensor], named: dict[str, torch.Tensor], scale: float = 1.0,
                bias: torch.Tensor | None = None, relu: bool = False) -> dict[str, Any]:
        y = self.linear(xs[0]) * scale - xs[1]
        y = y if bias is None else y + bias
        return {"y": torch.relu(y) if relu else y, "rest": [named["p"] * 2, named["q"] * xs[0]]}


def some(*shape: int) -> torch.Tensor:
    """Numbers that differ from call to call."""
    return torch.randn(1, *shape)


@pytest.mark.parametrize("rest", [(), (2.5,), (2.5, some(6), True)], ids=["tensors", "number", "flag"])
def test_nested_arguments(rest: tuple[Any, ...], tmp_path: Path) -> None:
    """The check calls the module as the export did."""
    made = zeropoint.from_torch(Nested(), ([some(6), some(6)], {"q": some(6), "p": some(6)}, *rest), tmp_path)
    assert made.result.difference <= 1e-5


def test_names_in_another_order(tmp_path: Path) -> None:
    """Arguments by their names, of which one is a number."""
    given = {"scale": 0.5, "named": {"q": some(6), "p": some(6)}, "xs": [some(6), some(6)]}
    assert zeropoint.from_torch(Nested(), given, tmp_path).result.difference <= 1e-5


def test_nested_arguments_of_a_file(tmp_path: Path) -> None:
    """A .pt2 knows how it was called."""
    program = torch.export.export(Nested(), ([some(6), some(6)], {"q": some(6), "p": some(6)}, 2.0), strict=False)
    torch.export.save(program, tmp_path / "nested.pt2")
    assert zeropoint.from_onnx(tmp_path / "nested.pt2", tmp_path / "out").result.difference <= 1e-5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats(dtype: torch.dtype, tmp_path: Path) -> None:
    """A module of other floats is compared as its copy in float32, and stays as it is."""
    module = nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5)).to(dtype)
    assert zeropoint.from_torch(module, some(6).to(dtype), tmp_path).result.difference <= 1e-5
    assert all(p.dtype == dtype for p in module.parameters())


class OfTypes(nn.Module):
    """Makes, converts and keeps tensors of one type of floats."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
        self.register_buffer("places", torch.randn(1, 5, 16), persistent=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.layer(x + self.places + torch.full((1, 5, 16), 0.001, dtype=self.dtype), src_key_padding_mask=mask == 0)
        mean = y.float().mean(1).to(self.dtype)
        return y[:, 0] + mean, mean.float()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_program_of_half_floats(dtype: torch.dtype, tmp_path: Path) -> None:
    """Is run in float32, as modules are: what those floats round is no difference."""
    module = OfTypes(dtype).eval().to(dtype)
    program = torch.export.export(module, (torch.randn(1, 5, 16, dtype=dtype), torch.ones(1, 5, dtype=torch.int64)), strict=False)
    torch.export.save(program, tmp_path / "half.pt2")
    made = zeropoint.from_onnx(tmp_path / "half.pt2", tmp_path / "out")
    assert made.result.difference <= 1e-5
    assert "floats of 16 bits" in made.header.read_text()
    assert verify_file(made.header, tmp_path / "half.pt2").difference <= 1e-5


class Named(nn.Module):
    """A layer of any name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.add_module(name, nn.Linear(6, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.get_submodule(self.name)(x)


@pytest.mark.parametrize("name", ["for", "a\"b"])
def test_names_that_pytorch_does_not_take(name: str, tmp_path: Path) -> None:
    """It writes code with them, whose error says nothing of names."""
    with pytest.raises(zeropoint.ZeropointError, match=f"rename the modules called {name}"):
        zeropoint.from_torch(Named(name), some(6), tmp_path)


class Grouped(nn.Module):
    """Attention whose heads share keys and values in pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (layer(x).view(1, 5, -1, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, dim=1)
        return f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(1, 5, 16)


def test_shared_heads(tmp_path: Path) -> None:
    """Repeated keys are attention all the same."""
    made = zeropoint.from_torch(Grouped(), some(5, 16), tmp_path)
    assert made.result.difference <= 1e-5
    assert "zp::attention<" in made.header.read_text()


def test_a_number_without_axes(tmp_path: Path) -> None:
    """Is told what it may be."""
    with pytest.raises(zeropoint.ImportRefused, match="an array of one, of extents 1"):
        zeropoint.from_torch(nn.ReLU(), torch.tensor(2.0), tmp_path)


class Parts(NamedTuple):
    """A result whose parts have names."""

    first: torch.Tensor
    second: torch.Tensor


class InDict(nn.Module):
    """Outputs by keys: of a layer, of an input, of no C++ name, twice one name, nested, of one value, and none."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.logits = nn.Linear(6, 6), nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> dict[Any, Any]:
        h = self.body(x).relu()
        logits = self.logits(h)
        return {"logits": logits, "x": h, "two words": [h * 2, None, {"a\"\n": h * 3}], "two_words.0": h * 4,
                "again": logits, 3: Parts(h * 5, h - 1), "": h * 6}


class PlainResult(nn.Module):
    """A tuple."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        return x * 2, [x + 1]


def test_results_in_a_dict(tmp_path: Path) -> None:
    """Ports have the names of keys, as far as these are names; node names where there are none."""
    made = zeropoint.from_torch(InDict(), some(6), tmp_path)
    assert made.result.difference <= 1e-5
    names = re.findall(r"//   output \"(.*?)\"", made.header.read_text())
    assert names == ["logits", "x_1", "two_words.0", "two_words.2.a__", "two_words.0_4", "again", "3.first", "3.second", "mul_4"]
    plain = zeropoint.from_torch(PlainResult(), some(6), tmp_path)
    assert re.findall(r"//   output \"(.*?)\"", plain.header.read_text()) == ["mul", "add"]
