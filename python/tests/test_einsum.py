# SPDX-License-Identifier: BSD-3-Clause
"""Einsum of both front ends: attention written by it, sums and outer products."""

from __future__ import annotations

import contextlib
import io
import logging
from pathlib import Path

import pytest
import torch
from torch import nn

import zeropoint


class Attention(nn.Module):
    """Weights of three axes, two axes that are summed at once, axes of one operand alone, "...", another order of the output, operands of the same letters."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Parameter(torch.randn(2, 6, 4)), nn.Parameter(torch.randn(2, 6, 4))
        self.o, self.g = nn.Parameter(torch.randn(2, 4, 5)), nn.Parameter(torch.randn(7, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k = torch.einsum("bld,hde->bhle", x, self.q), torch.einsum("bld,hde->bhle", x, self.k)
        shares = torch.softmax(torch.einsum("bhie,bhje->bhij", q, k), -1)
        y = torch.einsum("hed,bhie->bid", self.o, torch.einsum("bhij,bhje->bhie", shares, k))
        z = torch.einsum("...A,BA->...B", y, self.g)
        first, second = torch.einsum("bid,bic->bd", y, z), torch.einsum("bid->bi", y)
        alike = torch.einsum("d,d->", y[0, 0], y[0, 1])  # letters that are one object in Python
        return torch.einsum("bd,bi->bid", first, second + alike) + y


def test_module(tmp_path: Path) -> None:
    """By torch.export."""
    torch.manual_seed(1)
    made = zeropoint.from_torch(Attention(), torch.randn(1, 3, 6), tmp_path)
    assert made.result.difference <= 1e-5


def test_onnx(tmp_path: Path) -> None:
    """By PyTorch's exporter, which keeps them."""
    torch.manual_seed(1)
    logging.disable(logging.ERROR)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(Attention().eval(), (torch.randn(1, 3, 6),), str(tmp_path / "net.onnx"), dynamo=True)
    made = zeropoint.from_onnx(tmp_path / "net.onnx", tmp_path / "out")
    assert made.result.difference <= 1e-5


@pytest.mark.parametrize("equation, text", [("bii->bi", "a diagonal"), ("bij,bjk,bkl->bil", "more than two operands"),
                                            ("bij,bjk->bik", "repeats an axis of 1")])
def test_refused(equation: str, text: str, tmp_path: Path) -> None:
    """In one sentence each."""
    class Module(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            others = [torch.relu(x[:, :1] if "repeats" in text else x)] * equation.count(",")
            return torch.einsum(equation, torch.relu(x), *others)

    with pytest.raises(zeropoint.ImportRefused, match=text):
        zeropoint.from_torch(Module(), torch.randn(1, 4, 4), tmp_path)
