# SPDX-License-Identifier: BSD-3-Clause
"""What trained networks write out in arithmetic, as single layers: norms by squares, hard swish, softmax, factors of convolutions."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as f

import zeropoint
from zeropoint.front.torch_reader import read_module
from zeropoint.importer import lowered_of


class FastVariance(nn.Module):
    """A layer norm along an axis whose variance is mean(x^2) - mean(x)^2, as Flax writes it."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis
        shape = [1, 1, 1]
        shape[axis] = (1, 6, 10)[axis]
        self.weight, self.bias = nn.Parameter(torch.rand(shape) + 0.5), nn.Parameter(torch.randn(shape))
        self.linear = nn.Linear(10, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[self.axis]
        mean, squares = x.sum(self.axis) * (1 / n), (x * x).sum(self.axis) * (1 / n)
        variance = torch.relu(squares - mean * mean).unsqueeze(self.axis)
        y = (x - mean.unsqueeze(self.axis)) * (torch.reciprocal(torch.sqrt(variance + 1e-6)) * self.weight) + self.bias
        return self.linear(y)


class TwoPasses(nn.Module):
    """A layer norm as older exporters of PyTorch and Paddle write it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias, self.linear = nn.Parameter(torch.rand(10)), nn.Parameter(torch.randn(10)), nn.Linear(10, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        middle = x - x.mean(-1, keepdim=True)
        return self.linear(middle / torch.sqrt((middle ** 2).mean(-1, keepdim=True) + 1e-5) * self.weight + self.bias)


class Softmax(nn.Module):
    """In exponentials and their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(10, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)


class Affine(nn.Module):
    """Hard swish with its division behind the product, and factors and offsets that were learned, in front of and behind convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False)
        self.third = nn.ConvTranspose2d(6, 4, 3, groups=2)
        self.gain, self.shift = nn.Parameter(torch.rand(1, 6, 1, 1) + 0.5), nn.Parameter(torch.randn(1, 6, 1, 1))
        self.last = nn.Conv2d(4, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x) * 1.384 + 0.586
        x = x * f.relu6(x + 3) / 6
        x = self.second(x * 0.1675) * self.gain + self.shift
        x = x * torch.clamp(x + 3, 0, 6) * (1 / 6)
        x = self.third(x) * torch.tensor([0.5, 1.5, 2.0, -1.0]).view(1, 4, 1, 1)
        return self.last(f.relu(x) * 0.25 + 0.1)


class Padded(nn.Module):
    """An offset in front of a convolution that pads zeros behind it stays, its factor does not."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv((torch.tanh(x) + 0.3) * 0.7)


class Magnitudes(nn.Module):
    """Of complex numbers: halves of the channels, an axis of two that goes or stays, a norm along it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 12, 3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        real, imaginary = x[:, :6], x[:, 6:]
        halves = torch.sqrt(real ** 2 + imaginary * imaginary)
        pairs = x.reshape(1, 6, 2, *x.shape[2:])
        return torch.cat([halves, pairs.pow(2).sum(2).sqrt(), (pairs ** 2).sum(2, keepdim=True).sqrt().flatten(1, 2),
                          torch.linalg.vector_norm(pairs, dim=2), torch.hypot(real, imaginary), (x[:, :1] ** 2 + 1).sqrt().flip(3).abs()], 1)


CASES = [("fast_variance_last", FastVariance(2), (1, 6, 10), ["layer_norm", "linear"]),
         ("fast_variance_middle", FastVariance(1), (1, 6, 10), ["layer_norm", "linear"]),
         ("two_passes", TwoPasses(), (1, 6, 10), ["layer_norm", "linear"]),
         ("softmax", Softmax(), (1, 6, 10), ["linear", "softmax"]),
         ("affine", Affine(), (1, 4, 8, 9), ["conv2d", "hardswish", "conv2d", "hardswish", "conv_transpose2d", "relu", "conv2d"]),
         ("magnitudes", Magnitudes(), (1, 4, 8, 9), ["conv2d", *["chunk", "chunk", "hypot"] * 4, "hypot", "slice", "square", "add_scalar", "sqrt", "flip", "concat"]),
         ("padded", Padded(), (1, 4, 8, 9), ["tanh", "add_scalar", "conv2d"])]


def computing(module: nn.Module, shape: tuple[int, ...]) -> list[str]:
    """The layers of a module without those that move values."""
    with contextlib.redirect_stderr(io.StringIO()):
        lowered = lowered_of(read_module(module.eval(), torch.randn(shape))[0])
    names = [row.layer.template.removeprefix("zp::") for row in lowered.rows if row.layer is not None]
    return [name for name in names if name not in ("rearrange", "transpose", "permute", "reshape", "input", "output")]


@pytest.mark.parametrize("name, module, shape, layers", CASES, ids=[case[0] for case in CASES])
def test_layers(name: str, module: nn.Module, shape: tuple[int, ...], layers: list[str]) -> None:
    """Each is the layers that it means."""
    assert computing(module, shape) == layers


def test_names_of_changed_weights() -> None:
    """Are not the module's: its state dict would load, and give other numbers."""
    with contextlib.redirect_stderr(io.StringIO()):
        lowered = lowered_of(read_module(Affine().eval(), torch.randn(1, 4, 8, 9))[0])
    assert not set(lowered.tensors) & set(Affine().state_dict())


class All(nn.Module):
    """All cases in one network, so that one program is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.sequences = nn.ModuleList([module for _, module, shape, *_ in CASES if len(shape) == 3])
        self.images = nn.ModuleList([module for _, module, shape, *_ in CASES if len(shape) == 4])

    def forward(self, x: torch.Tensor, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (*(module(x) for module in self.sequences), *(module(image) for module in self.images))


def test_numbers(tmp_path: Path) -> None:
    """They compute what PyTorch does: the import checks it."""
    made = zeropoint.from_torch(All().eval(), (torch.randn(1, 6, 10), torch.randn(1, 4, 8, 9)), tmp_path, name="all")
    assert made.result is not None
