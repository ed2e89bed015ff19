# SPDX-License-Identifier: BSD-3-Clause
"""The network of examples/01_digits and its data, shared by the training script and the golden logits.

The module names are the contract with the C++ type of the example: they are the names in digits_cnn.safetensors.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

DATA = Path(__file__).resolve().parent.parent / "examples/01_digits/data"
WEIGHTS = DATA / "digits_cnn.safetensors"


class ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class DepthwiseSeparable(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(in_channels, in_channels, 3, padding=1, groups=in_channels, bias=False)
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.pointwise = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu6(self.bn1(self.depthwise(x)))
        return F.relu(self.bn2(self.pointwise(x)))


class DigitsCnn(nn.Module):
    """Images [N, 1, 8, 8] in [0, 1] to logits [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 48, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(48)
        self.block = ResidualBlock(48)
        self.separable = DepthwiseSeparable(48, 64)
        self.dropout = nn.Dropout(0.2)
        self.fc1 = nn.Linear(256, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(self.block(x), 2)
        x = F.avg_pool2d(self.separable(x), 2)
        x = self.dropout(torch.flatten(x, 1))
        return self.fc2(F.relu(self.fc1(x)))


def load_digits(test: bool) -> tuple[Tensor, Tensor]:
    """Images [N, 1, 8, 8] in [0, 1] and labels [N] of the test third, or of the rest."""
    digits = load_file(DATA / "digits.safetensors")
    chosen = digits["is_test"] == int(test)
    return digits["images"][chosen].unsqueeze(1).float() / 16, digits["labels"][chosen].long()


@torch.no_grad()
def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Share of images whose largest logit is the label's, in percent."""
    model.eval()
    return 100 * (model(images).argmax(1) == labels).double().mean().item()
