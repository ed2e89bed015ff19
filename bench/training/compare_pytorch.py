#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times a step of training beside PyTorch, float and QAT, one thread each, in turn.

Usage: compare_pytorch.py STEP [--rounds 5] [--steps 20] [--networks digits_cnn,mlp,resnet20]
STEP is bench/training/step.cpp, compiled: c++ -std=c++20 -O2 -march=... -I include -I <xsimd> bench/training/step.cpp -o step
Each figure is the least of all rounds, in milliseconds for a batch of 64. A round runs every contestant once.
"""
import argparse
import subprocess
import time

import torch
from torch import nn
from torch.ao.quantization import get_default_qat_qconfig_mapping, quantize_fx

BATCH = 64


class Digits(nn.Module):
    """examples/01_digits/digits_cnn.hpp; batch norms are folded, as zeropoint trains it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 48, 3, padding=1)
        self.block1, self.block2 = nn.Conv2d(48, 48, 3, padding=1), nn.Conv2d(48, 48, 3, padding=1)
        self.depthwise, self.pointwise = nn.Conv2d(48, 48, 3, padding=1, groups=48), nn.Conv2d(48, 64, 1)
        self.fc1, self.fc2 = nn.Linear(256, 64), nn.Linear(64, 10)
        self.relu, self.relu6 = nn.ReLU(), nn.ReLU6()
        self.max_pool, self.avg_pool = nn.MaxPool2d(2), nn.AvgPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.conv1(x))
        x = self.relu(self.block2(self.relu(self.block1(x))) + x)
        x = self.max_pool(x)
        x = self.relu6(self.depthwise(x))
        x = self.avg_pool(self.relu(self.pointwise(x)))
        return self.fc2(self.relu(self.fc1(torch.flatten(x, 1))))


class Block(nn.Module):
    def __init__(self, inside: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inside, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels)
        self.relu1, self.relu2, self.downsample = nn.ReLU(), nn.ReLU(), None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(inside, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return self.relu2(y + (x if self.downsample is None else self.downsample(x)))


def resnet20() -> nn.Module:
    """As step.cpp has it: batch norms are trained."""
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    inside = 16
    for channels in (16, 32, 64):
        for number in range(3):
            layers.append(Block(inside, channels, 2 if channels != 16 and number == 0 else 1))
            inside = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


NETWORKS = {"digits_cnn": (Digits, (1, 8, 8)), "mlp": (mlp, (784,)), "resnet20": (resnet20, (3, 32, 32))}
KINDS = {"digits_cnn": ("float", "qat"), "mlp": ("float", "qat"), "resnet20": ("float", "qat", "frozen")}


def seconds_of_pytorch(network: str, kind: str, steps: int) -> float:
    torch.manual_seed(1)
    make, extents = NETWORKS[network]
    model = make().train()
    data = [(torch.rand(BATCH, *extents), torch.randint(0, 10, (BATCH,))) for _ in range(4)]
    if kind != "float":
        model = quantize_fx.prepare_qat_fx(model, get_default_qat_qconfig_mapping("x86"), (data[0][0],))
    if kind == "frozen":
        model.apply(torch.ao.nn.intrinsic.qat.freeze_bn_stats)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    for step in range(steps + 2):
        if step == 2:
            begin = time.perf_counter()
        x, y = data[step % 4]
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    return (time.perf_counter() - begin) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--networks", default="digits_cnn,mlp,resnet20")
    options = parser.parse_args()
    networks = options.networks.split(",")
    torch.set_num_threads(1)
    least: dict[tuple[str, str, str], float] = {}
    for _ in range(options.rounds):
        for network in networks:
            for kind in KINDS[network]:
                command = [options.step, network, kind, str(options.steps)]
                ours = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                theirs = seconds_of_pytorch(network, kind, options.steps)
                for who, seconds in (("zeropoint", ours), ("PyTorch", theirs)):
                    key = (network, kind, who)
                    least[key] = min(least.get(key, seconds), seconds)
    print(f"PyTorch {torch.__version__}, one thread, batch {BATCH}, milliseconds a step, least of {options.rounds}\n")
    print("| network | kind | zeropoint | PyTorch | PyTorch / zeropoint |\n|---|---|---|---|---|")
    for network in networks:
        for kind in KINDS[network]:
            ours, theirs = least[network, kind, "zeropoint"], least[network, kind, "PyTorch"]
            print(f"| {network} | {kind} | {ours * 1e3:.2f} | {theirs * 1e3:.2f} | {theirs / ours:.2f} |")


if __name__ == "__main__":
    main()
