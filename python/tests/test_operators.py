# SPDX-License-Identifier: BSD-3-Clause
"""Operators one by one: branches of a few networks, each an output, so that few programs are compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as f

import zeropoint


class Functions(nn.Module):
    """Functions of one value, behind a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        x = self.conv(x)
        y = x.abs() + 0.25
        return [f.relu6(x), f.hardswish(x), f.hardsigmoid(x), torch.sigmoid(x), f.silu(x), f.gelu(x),
                f.gelu(x, approximate="tanh"), torch.tanh(x), f.leaky_relu(x), f.leaky_relu(x, 0.3), f.elu(x, 0.5),
                f.celu(x, 2.0), f.selu(x), f.mish(x), f.softplus(x), f.softplus(x, 2.0, 10.0), f.hardtanh(x),
                torch.clamp(x, -0.5, 0.75), torch.clamp(x, min=-0.3), torch.clamp(x, max=0.4), x.exp(), y.log(), y.sqrt(),
                y.rsqrt(), -x, x ** 2, y.reciprocal(), x ** 3, f.threshold(x, 0.1, 0.2)]


class Places(nn.Module):
    """What moves values, along each axis of an image whose extents all differ."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(6, 1, 5))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        n, c, h, w = x.shape
        return [x.permute(0, 2, 3, 1), x.permute(0, 3, 1, 2), x.transpose(2, 3),
                x.reshape(n, c, h * w),
                x.reshape(n, 2, 3, h, w).transpose(1, 2).flatten(1, 2), x.flatten(1), x[:, 1:4], x[:, :, ::2], x[..., -2:],
                x[:, :, 1], x.flip(1), x.flip((2, 3)), x.roll((1, 2), (2, 3)), torch.cat([x, x * 2], 2),
                torch.stack([x[:, 0], x[:, 3]], 1), f.pad(x, (1, 2, 0, 3)), f.pad(x, (1, 1, 2, 0), mode="reflect"),
                f.pad(x, (2, 1, 0, 1), mode="replicate"), x + self.bias, x.mean(1), x.mean((1, 2)), x.sum(3, keepdim=True),
                x.amax((2, 3)), x.amin(1), x.std((2, 3)), x.softmax(1), x.softmax(2), x.reshape(n, 12, h * w // 2).sum(2),
                x.index_select(1, torch.tensor([4, 0, 2])),
                f.pixel_shuffle(x[:, :4], 2), f.pixel_unshuffle(x[..., :4], 2), f.interpolate(x, size=(7, 9)),
                f.interpolate(x, size=(8, 10), mode="bilinear", align_corners=True), x - x.mean((2, 3), keepdim=True),
                x.repeat(1, 2, 1, 1), x.repeat_interleave(2, 3), x[:, :, :1].tile(3, 2), torch.maximum(x, x.flip(1)), x / (x.abs() + 1), 1 - x, 2 / (x * x + 1)]


class Windows(nn.Module):
    """Convolutions and pools with options."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([
            nn.Conv2d(6, 8, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2),
            nn.Conv2d(6, 12, 3, padding="same", groups=6, bias=False), nn.ConvTranspose2d(6, 4, 3, 2, 1, output_padding=1),
            nn.ConvTranspose2d(6, 4, (2, 3), groups=2, bias=False), nn.MaxPool2d(3, 2, 1), nn.MaxPool2d((2, 3), ceil_mode=True),
            nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d((2, 3)),
            nn.AdaptiveMaxPool2d(1), nn.GroupNorm(3, 6), nn.InstanceNorm2d(6), nn.InstanceNorm2d(6, affine=True),
            nn.BatchNorm2d(6), nn.BatchNorm2d(6, affine=False, eps=1e-3), nn.LayerNorm((6, 9, 8)), nn.PReLU(), nn.PReLU(6),
            nn.Upsample(scale_factor=2), nn.ChannelShuffle(2), nn.LayerNorm(8, elementwise_affine=False)])

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [part(x) for part in self.parts]


class Sequences(nn.Module):
    """Layers over 1 x length x channels and products."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.gru = nn.LSTM(6, 5, 2), nn.GRU(6, 4, bidirectional=True, batch_first=True)
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)
        self.plain = nn.RNN(6, 3, batch_first=True)
        self.linear = nn.Linear(6, 7, bias=False)
        self.bilinear = nn.Parameter(torch.randn(6, 6))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        mixed = x.reshape(1, 6, 7)  # no axis of which is made of axes of x
        return [self.rnn(x.transpose(0, 1))[0], self.gru(x)[0], self.plain(x)[0],
                self.attention(x, x, x, need_weights=False)[0], self.linear(x), x @ x.transpose(1, 2), x @ self.bilinear,
                self.attention(x, x, x, need_weights=False, attn_mask=mask, is_causal=True)[0],
                f.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True),
                f.log_softmax(x, -1), f.glu(x, -1), f.avg_pool1d(mixed, 2), mixed.amax(1),
                torch.cat([self.linear(x)[:, -1], x[:, 0]], -1)]


@pytest.mark.parametrize("module, shape", [(Functions(), (3, 4, 5)), (Places(), (6, 4, 5)), (Windows(), (6, 9, 8)),
                                           (Sequences(), (7, 6))], ids=lambda v: type(v).__name__)
def test_operators(module: nn.Module, shape: tuple[int, ...], tmp_path: Path) -> None:
    """Every output is PyTorch's."""
    torch.manual_seed(3)
    made = zeropoint.from_torch(module.eval(), torch.randn(1, *shape), tmp_path)
    assert made.result.difference <= 2e-5, made.result.report()
