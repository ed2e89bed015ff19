# SPDX-License-Identifier: BSD-3-Clause
"""Six headers as they are written, committed to be read: a change of the emitter shows in them.

    python python/tests/test_golden.py      writes python/tests/golden/ again
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from networks import BasicBlock, network  # noqa: E402

from zeropoint.compiler import include_folders  # noqa: E402
from zeropoint.emit.header import write_header  # noqa: E402
from zeropoint.emit.structure import Structure  # noqa: E402
from zeropoint.front.torch_reader import read_module  # noqa: E402
from zeropoint.importer import lowered_of  # noqa: E402

GOLDEN = Path(__file__).resolve().parent / "golden"


class DenseLayer(nn.Module):
    """Norm first, a bottleneck, a few channels more."""

    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features: list[torch.Tensor]) -> torch.Tensor:
        x = self.conv1(torch.relu(self.norm1(torch.cat(features, 1))))
        return self.conv2(torch.relu(self.norm2(x)))


class DenseBlock(nn.Module):
    """Each layer reads all before it."""

    def __init__(self, before: int, growth: int, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(before + i * growth, growth) for i in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class Transition(nn.Sequential):
    """Half of the channels, half of the extents."""

    def __init__(self, before: int) -> None:
        super().__init__(nn.BatchNorm2d(before), nn.ReLU(), nn.Conv2d(before, before // 2, 1, bias=False), nn.AvgPool2d(2))


class DenseNet(nn.Module):
    """Of three blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.block1, self.transition1 = DenseBlock(16, 8, 4), Transition(48)
        self.block2, self.transition2 = DenseBlock(24, 8, 6), Transition(72)
        self.block3, self.norm = DenseBlock(36, 8, 3), nn.BatchNorm2d(60)
        self.fc = nn.Linear(60, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.transition2(self.block2(self.transition1(self.block1(self.stem(x)))))
        x = torch.relu(self.norm(self.block3(x)))
        return self.fc(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class Exchange(nn.Module):
    """Two resolutions that read each other, which no nesting of branches has."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.high = nn.Sequential(BasicBlock(channels, channels), BasicBlock(channels, channels))
        self.low = nn.Sequential(BasicBlock(2 * channels, 2 * channels), BasicBlock(2 * channels, 2 * channels))
        self.up = nn.Sequential(nn.Conv2d(2 * channels, channels, 1, bias=False), nn.BatchNorm2d(channels),
                                nn.Upsample(scale_factor=2))
        self.down = nn.Sequential(nn.Conv2d(channels, 2 * channels, 3, 2, 1, bias=False), nn.BatchNorm2d(2 * channels))

    def forward(self, pair: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        high, low = self.high(pair[0]), self.low(pair[1])
        return torch.relu(high + self.up(low)), torch.relu(self.down(high) + low)


class HighResolution(nn.Module):
    """HRNet's idea, with two stages of two resolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.narrow = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.stage1, self.stage2 = Exchange(16), Exchange(16)
        self.head = nn.Conv2d(48, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        high, low = self.stage2(self.stage1((x, self.narrow(x))))
        return self.head(torch.cat([high, nn.functional.interpolate(low, scale_factor=2)], 1))


def own(make: Callable[[], nn.Module]) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A network of this file and its argument."""
    return make().eval(), (torch.randn(1, 3, 32, 32),)


NAMES = ["resnet18", "mobilenet_v2", "unet", "vit", "dense_net", "high_resolution"]


def text_of(name: str) -> str:
    """Its header, without what depends on versions."""
    made = {"dense_net": DenseNet, "high_resolution": HighResolution}
    module, example = own(made[name]) if name in made else network(name)
    lowered = lowered_of(read_module(module, example)[0])
    return write_header(lowered, Structure(lowered), name, f"{type(module).__name__}, a module of PyTorch", "0.1", []).text


@pytest.mark.parametrize("name", NAMES)
def test_header_is_the_committed_one(name: str) -> None:
    """To the byte."""
    assert text_of(name) == (GOLDEN / f"{name}.hpp").read_text(), "read what has changed, then write them again"


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_no_warnings(compiler: str, tmp_path: Path) -> None:
    """Of all six in one source, up to their tables."""
    path = shutil.which(compiler) or (shutil.which("clang++") if compiler.startswith("clang") else None)
    if path is None:
        pytest.skip(f"{compiler} is not installed")
    lines = ["#include <zeropoint/zeropoint.hpp>", *(f'#include "{name}.hpp"' for name in NAMES)]
    lines += [f"static_assert(zp::source<{name}>::table.size > 20);" for name in NAMES]
    (tmp_path / "all.cpp").write_text("\n".join(lines) + "\n")
    folders = [flag for folder in include_folders() for flag in ("-isystem" if "xsimd" in str(folder) else "-I", str(folder))]
    command = [path, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{GOLDEN}", *folders,
               str(tmp_path / "all.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in NAMES:
        (GOLDEN / f"{each}.hpp").write_text(text_of(each))
