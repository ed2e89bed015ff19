# SPDX-License-Identifier: BSD-3-Clause
"""Networks as people write them, small enough to compile and run in seconds."""

from __future__ import annotations

import math
from typing import Callable

import torch
from torch import nn


class BasicBlock(nn.Module):
    """Of ResNet-18."""

    def __init__(self, before: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or before != channels:
            self.downsample = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet18(nn.Module):
    """As torchvision's, names too."""

    def __init__(self, classes: int = 1000, width: int = 64) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        before = width
        for number in range(4):
            channels = width << number
            layer = nn.Sequential(BasicBlock(before, channels, 1 if number == 0 else 2), BasicBlock(channels, channels))
            setattr(self, f"layer{number + 1}", layer)
            before = channels
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class ConvBNReLU(nn.Sequential):
    """Convolution, norm, ReLU6."""

    def __init__(self, before: int, channels: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> None:
        super().__init__(nn.Conv2d(before, channels, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(channels), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    """Of MobileNetV2."""

    def __init__(self, before: int, channels: int, stride: int, expand: int) -> None:
        super().__init__()
        inner = before * expand
        self.skips = stride == 1 and before == channels
        layers: list[nn.Module] = [] if expand == 1 else [ConvBNReLU(before, inner, 1)]
        layers += [ConvBNReLU(inner, inner, 3, stride, inner), nn.Conv2d(inner, channels, 1, bias=False),
                   nn.BatchNorm2d(channels)]
        self.conv = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv(x) if self.skips else self.conv(x)


class MobileNetV2(nn.Module):
    """As torchvision's, names too."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
        features: list[nn.Module] = [ConvBNReLU(3, 32, 3, 2)]
        before = 32
        for expand, channels, count, stride in rows:
            for number in range(count):
                features.append(InvertedResidual(before, channels, stride if number == 0 else 1, expand))
                before = channels
        features.append(ConvBNReLU(before, 1280, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class DoubleConv(nn.Sequential):
    """Of a U-Net."""

    def __init__(self, before: int, channels: int) -> None:
        super().__init__(nn.Conv2d(before, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                         nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())


class UNet(nn.Module):
    """Of three levels: one by a transposed convolution, one bilinear, one nearest."""

    def __init__(self) -> None:
        super().__init__()
        self.inc, self.down1, self.down2, self.down3 = (DoubleConv(1, 8), DoubleConv(8, 16), DoubleConv(16, 24),
                                                        DoubleConv(24, 32))
        self.pool = nn.MaxPool2d(2)
        self.grow = nn.ConvTranspose2d(32, 24, 2, 2)
        self.up1, self.up2, self.up3 = DoubleConv(48, 16), DoubleConv(32, 8), DoubleConv(16, 8)
        self.outc = nn.Conv2d(8, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = self.inc(x)
        two = self.down1(self.pool(one))
        three = self.down2(self.pool(two))
        x = self.down3(self.pool(three))
        x = self.up1(torch.cat([three, self.grow(x)], 1))
        x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = self.up2(torch.cat([two, x], 1))
        x = self.up3(torch.cat([one, nn.functional.interpolate(x, scale_factor=2)], 1))
        return self.outc(x)


class LSTMClassifier(nn.Module):
    """Words, two layers in two directions, the last step."""

    def __init__(self, kind: type[nn.RNNBase] = nn.LSTM, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 12)
        self.rnn = kind(12, 10, layers, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(20, 5)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        y, _ = self.rnn(self.embedding(ids))
        return self.fc(y[:, -1])


class LastState(nn.Module):
    """A GRU whose last state is read, over features."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(7, 9, batch_first=True)
        self.fc = nn.Linear(9, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.fc(self.gru(x)[1][-1]), -1)


class Attention(nn.Module):
    """Written by hand, as in most ViTs."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, width = x.shape
        q, k, v = self.qkv(x).reshape(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, length, width))


class EncoderBlock(nn.Module):
    """Norm first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, eps=1e-6), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    """Patches, a class token, positions."""

    def __init__(self, blocks: int = 4) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, 24, 8, 8)
        self.cls_token = nn.Parameter(torch.randn(1, 1, 24) * 0.1)
        self.pos_embed = nn.Parameter(torch.randn(1, 13, 24) * 0.1)
        self.blocks = nn.Sequential(*(EncoderBlock(24, 3) for _ in range(blocks)))
        self.norm = nn.LayerNorm(24, eps=1e-6)
        self.head = nn.Linear(24, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


class Encoder(nn.Module):
    """PyTorch's own encoder layers over words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(60, 16)
        self.positions = nn.Parameter(torch.randn(9, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 20, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classes = nn.Linear(16, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.classes(self.encoder(self.words(ids) + self.positions).mean(1))


class Masked(nn.Module):
    """The same with words of padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(60, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 20, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classes = nn.Linear(16, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.classes(self.encoder(self.words(ids), src_key_padding_mask=mask == 0).mean(1))


class SqueezeExcite(nn.Module):
    """Of MobileNetV3."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, 4, 1), nn.Conv2d(4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = nn.functional.adaptive_avg_pool2d(x, 1)
        return x * nn.functional.hardsigmoid(self.fc2(nn.functional.relu(self.fc1(scale))))


class Mixed(nn.Module):
    """Squeeze and excite, channel shuffle, branches, a dense block, activations, pads of unequal sides."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.ZeroPad2d((0, 1, 2, 1)), nn.Conv2d(3, 16, 3, 2), nn.BatchNorm2d(16), nn.Hardswish())
        self.se = SqueezeExcite(16)
        self.left, self.right = nn.Conv2d(8, 8, (1, 3), padding=(0, 1)), nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.dense = nn.ModuleList([nn.Conv2d(16 + 4 * i, 4, 3, padding=1) for i in range(3)])
        self.norm = nn.GroupNorm(4, 28)
        self.act = nn.PReLU(28)
        self.bn = nn.BatchNorm2d(28)
        self.pool = nn.AvgPool2d(3, 2, 1)
        self.fc = nn.Linear(28 * 4 * 4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.se(self.stem(x))
        a, b = x.chunk(2, 1)
        x = torch.cat([self.left(a), nn.functional.silu(self.right(b))], 1)
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        features = [x]
        for conv in self.dense:
            features.append(nn.functional.elu(conv(torch.cat(features, 1))))
        x = self.pool(self.bn(self.act(self.norm(torch.cat(features, 1)))))
        return self.fc(x.flatten(1))


class ConvNeXtBlock(nn.Module):
    """Channels last inside."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dwconv = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.pwconv1, self.pwconv2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        y = self.gamma * self.pwconv2(nn.functional.gelu(self.pwconv1(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    """Two blocks between a stem and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 4, 4)
        self.blocks = nn.Sequential(ConvNeXtBlock(12), ConvNeXtBlock(12))
        self.norm = nn.LayerNorm(12)
        self.head = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.stem(x)).mean((-2, -1))))


class Keywords(nn.Module):
    """1-d convolutions over audio features, causal, with a gated unit."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(10, 16, 5, dilation=2)
        self.norm = nn.BatchNorm1d(16)
        self.conv2 = nn.Conv1d(8, 12, 3, stride=2, padding=1)
        self.fc = nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.glu(self.norm(self.conv1(nn.functional.pad(x, (8, 0)))), 1)
        x = nn.functional.leaky_relu(self.conv2(x), 0.2)
        return torch.softmax(self.fc(nn.functional.max_pool1d(x, 2).mean(-1) / math.sqrt(2) - 0.5), 1)


class Siamese(nn.Module):
    """Two inputs, two outputs, one encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc = nn.Linear(6, 5)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(torch.relu(self.conv(x)).mean((2, 3)))

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = self.encode(left), self.encode(right)
        return a, ((a - b) ** 2).sum(1, keepdim=True)


def images(*extents: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    """One argument of normal numbers."""
    return lambda: (torch.randn(1, *extents),)


def words(length: int, below: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    """One argument of integers."""
    return lambda: (torch.randint(0, below, (1, length)),)


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[torch.Tensor, ...]]]] = {
    "resnet18": (lambda: ResNet18(20, 16), images(3, 48, 40)),
    "mobilenet_v2": (lambda: MobileNetV2(30), images(3, 48, 40)),
    "unet": (UNet, images(1, 24, 32)),
    "lstm": (LSTMClassifier, words(11, 50)),
    "gru": (LastState, images(13, 7)),
    "vit": (ViT, images(3, 32, 24)),
    "encoder": (Encoder, words(9, 60)),
    "masked": (Masked, lambda: (torch.randint(0, 60, (1, 9)), torch.tensor([[1] * 6 + [0] * 3]))),
    "mixed": (Mixed, images(3, 13, 17)),
    "convnext": (ConvNeXt, images(3, 24, 28)),
    "keywords": (Keywords, images(10, 21)),
    "siamese": (Siamese, lambda: (torch.randn(1, 1, 8, 9), torch.randn(1, 1, 8, 9))),
}


def network(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A network with the same random weights each time, norms that have seen something, and its arguments."""
    torch.manual_seed(7)
    make, example = NETWORKS[name]
    module = make().eval()
    for part in module.modules():
        if isinstance(part, (nn.BatchNorm2d, nn.BatchNorm1d)):
            part.running_mean.normal_(0, 0.2)
            part.running_var.uniform_(0.5, 1.5)
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias, 0, 0.3)
    return module, example()
