# SPDX-License-Identifier: BSD-3-Clause
"""What networks of images write in many operators and is few layers here: numbers, and which rows they become."""

from __future__ import annotations

import contextlib
import io
import logging
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as f

import zeropoint
from zeropoint.front.torch_reader import read_module
from zeropoint.importer import lowered_of
from zeropoint.layout import Layout
from zeropoint.lower.context import runs_of, steps_of


class DenseLayer(nn.Module):
    """Of a dense block: it joins what all layers before it gave."""

    def __init__(self, before: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, 3, 3, padding=1)

    def forward(self, features: list[torch.Tensor]) -> torch.Tensor:
        return torch.relu(self.conv(torch.cat(features, 1)))


class Dense(nn.Module):
    """Four layers, three of which a sequence of joins can hold."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(4, 4, 1)
        for number in range(1, 5):
            self.add_module(f"denselayer{number}", DenseLayer(4 + 3 * (number - 1)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = [self.stem(x)]
        for number in range(1, 5):
            features.append(getattr(self, f"denselayer{number}")(features))
        return torch.cat(features, 1)


class Windows(nn.Module):
    """Attention in windows of 2 x 3 pixels with a bias, as Swin's; extents that all differ."""

    def __init__(self, channels: int = 8, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.bias = nn.Parameter(torch.randn(heads, 6, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, h, w, c = x.shape
        windows = x.view(n, h // 2, 2, w // 3, 3, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 6, c)
        q, k, v = self.qkv(windows).reshape(-1, 6, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        mask = x.new_zeros((h, w))
        mask[0:2, 0:3] = 1
        mask = mask.view(h // 2, 2, w // 3, 3).permute(0, 2, 1, 3).reshape(-1, 6)
        mask = mask.unsqueeze(1) - mask.unsqueeze(2)
        mask = mask.masked_fill(mask != 0, -100.0).unsqueeze(1)
        shares = (q * 0.3 @ k.transpose(-2, -1) + self.bias + mask).softmax(-1)
        y = self.proj((shares @ v).transpose(1, 2).reshape(-1, 6, c))
        return y.view(n, h // 2, w // 3, 2, 3, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)


class SplitAttention(nn.Module):
    """Of ResNeSt: two groups of channels, weighed against each other."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 10, 3, padding=1, groups=2)
        self.fc = nn.Conv2d(5, 10, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        n, c, h, w = x.shape
        parts = x.reshape(n, 2, c // 2, h, w)
        shares = self.fc(parts.sum(1).mean((2, 3), keepdim=True)).view(n, 1, 2, c // 2).transpose(1, 2)
        return (parts * shares.softmax(1).reshape(n, 2, c // 2, 1, 1)).sum(1)


class ChannelAttention(nn.Module):
    """ECA: a convolution along the channels' means."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 1, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x.mean((2, 3)).view(1, 1, -1)).sigmoid()
        return x * y.view(1, -1, 1, 1).expand_as(x)


class StandardizedConv(nn.Conv2d):
    """Of normalizer-free networks: weights that are normalized when they are read."""

    def __init__(self, before: int, channels: int) -> None:
        super().__init__(before, channels, 3, padding=1)
        self.gain = nn.Parameter(torch.rand(channels, 1, 1, 1) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = f.batch_norm(self.weight.reshape(1, self.out_channels, -1), None, None, weight=self.gain.view(-1) * 0.2,
                              training=True, momentum=0.0, eps=1e-6).reshape_as(self.weight)
        return f.conv2d(x, weight, self.bias, 1, 1)


class Unit(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.GroupNorm(2, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x))


class ReadAgain(nn.Module):
    """The last of several modules alike is read by what no nesting of branches has."""

    def __init__(self) -> None:
        super().__init__()
        self.units = nn.Sequential(*(Unit() for _ in range(4)))
        self.first, self.second = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.units(x)
        a, b = x.chunk(2, 1)
        a = self.first(a)
        return torch.cat([a, self.second(a + b)], 1) * x


class Patterns(nn.Module):
    """All of them over 4 x 6 x 9 and what comes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.windows, self.split, self.eca = Dense(), Windows(), SplitAttention(), ChannelAttention()
        self.widen, self.standardized = nn.Conv2d(4, 8, 1), StandardizedConv(4, 5)
        self.norm, self.again = nn.GroupNorm(2, 8), ReadAgain()

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        wide = self.norm(self.widen(x))
        q = wide.reshape(1, 2, 4, 54)
        scores = f.normalize(q, dim=-1) @ f.normalize(q * 0.5 + 0.25, dim=-1).transpose(-2, -1)
        same = f.pad(x, (0, 1, 0, 1))
        return [self.dense(x), self.windows(wide.permute(0, 2, 3, 1)), self.split(x), self.eca(x), scores,
                self.standardized(x), torch.linalg.vector_norm(x, dim=1), f.avg_pool2d(same, 3, 2),
                f.adaptive_avg_pool2d(wide, 1), wide.mean((2, 3), keepdim=True), f.normalize(x, dim=1),
                wide.mean((2, 3)), self.again(x)]


def patterns() -> Patterns:
    """With the same weights each time, and none that is zero."""
    torch.manual_seed(5)
    made = Patterns().eval()
    for parameter in made.norm.parameters():
        nn.init.uniform_(parameter, 0.5, 1.5)
    return made


def test_module(tmp_path: Path) -> None:
    """From torch.export."""
    made = zeropoint.from_torch(patterns(), torch.randn(1, 4, 6, 9), tmp_path)
    assert made.result.difference <= 2e-5, made.result.report()
    text = made.header.read_text()
    for layer in ("concat_dense_layers<\"dense.denselayer\"", "zp::l2_normalization", "zp::mean<>"):
        assert layer in text
    assert "zp::group_norm<\"norm\", 2>" in text


def test_onnx(tmp_path: Path) -> None:
    """From ONNX, where a group norm is an instance norm between two reshapes."""
    path = tmp_path / "patterns.onnx"
    logging.disable(logging.ERROR)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(patterns(), (torch.randn(1, 4, 6, 9),), str(path), dynamo=True, opset_version=18)
    made = zeropoint.from_onnx(path, tmp_path / "out")
    assert made.result.difference <= 2e-5, made.result.report()
    assert "zp::group_norm<\"norm\", 2>" in made.header.read_text()


def rows(module: nn.Module, *shape: int) -> list[str]:
    """The layers of a module, without names."""
    graph, _ = read_module(module.eval(), torch.randn(1, *shape))
    return [row.layer.template for row in lowered_of(graph).rows if row.layer is not None]


def test_joins_go_on_from_those_before() -> None:
    """Each concat of a dense block has two inputs."""
    graph, _ = read_module(Dense().eval(), torch.randn(1, 4, 6, 9))
    concats = [row for row in lowered_of(graph).rows if row.layer is not None and row.layer.template == "zp::concat"]
    assert [len(row.inputs) for row in concats] == [2, 2, 2, 2]


def test_windows_move_once() -> None:
    """In front of the first linear layer, and back behind the last; heads move for themselves."""
    found = rows(Windows(), 6, 9, 8)
    moves = [layer for layer in found if layer in ("zp::rearrange", "zp::window_partition", "zp::window_reverse")]
    assert len(moves) == 6 and found.count("zp::conv2d") == 2


@pytest.mark.parametrize("order", [(5, 4, 3, 2, 1, 0), (2, 5, 0, 3, 1, 4), (1, 3, 5, 0, 2, 4, 6)])
def test_more_axes_than_one_row_moves(order: tuple[int, ...]) -> None:
    """Two rows, each of at most five axes that move apart."""
    extents = tuple(range(2, 2 + len(order)))
    before = Layout.fresh(extents, channels=tuple(range(len(order))))
    after = before.with_groups((), (), tuple(before.memory[i] for i in order))
    steps = steps_of(before, after)
    assert len(steps) == 2 and steps[-1] == after
    assert len(runs_of(before.memory, steps[0].memory)) <= 5 and len(runs_of(steps[0].memory, after.memory)) <= 5
