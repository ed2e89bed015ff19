# SPDX-License-Identifier: BSD-3-Clause
"""Networks that no package has under one name."""

from __future__ import annotations

import torch
from torch import nn

from acceptance.networks import Network, images


class DoubleConv(nn.Sequential):
    """Two convolutions with norms."""

    def __init__(self, before: int, channels: int) -> None:
        super().__init__(nn.Conv2d(before, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                         nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())


class Up(nn.Module):
    """Twice the extents, joined with what was there before."""

    def __init__(self, before: int, channels: int, bilinear: bool) -> None:
        super().__init__()
        self.up: nn.Module = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True) if bilinear else \
            nn.ConvTranspose2d(before, before // 2, 2, 2)
        self.conv = DoubleConv(before, channels)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        return self.conv(torch.cat([skip, self.up(x)], 1))


class UNet(nn.Module):
    """Ronneberger 2015, padded, with batch norms."""

    def __init__(self, width: int = 16, bilinear: bool = False, classes: int = 2) -> None:
        super().__init__()
        half = 2 if bilinear else 1
        self.inc = DoubleConv(3, width)
        self.downs = nn.ModuleList(DoubleConv(width << i, (width << i + 1) // (half if i == 3 else 1)) for i in range(4))
        self.ups = nn.ModuleList(Up(width << 4 - i, (width << 3 - i) // (half if i < 3 else 1), bilinear) for i in range(4))
        self.pool = nn.MaxPool2d(2)
        self.outc = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = [self.inc(x)]
        for down in self.downs:
            skips.append(down(self.pool(skips[-1])))
        x = skips.pop()
        for up in self.ups:
            x = up(x, skips.pop())
        return self.outc(x)


class DsCnn(nn.Sequential):
    """Zhang 2017, keywords in 49 x 10 MFCCs."""

    def __init__(self, channels: int = 64, classes: int = 12) -> None:
        layers: list[nn.Module] = [nn.ZeroPad2d((1, 1, 4, 5)), nn.Conv2d(1, channels, (10, 4), 2, bias=False),
                                   nn.BatchNorm2d(channels), nn.ReLU(), nn.Dropout(0.2)]
        for _ in range(4):
            layers += [nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False), nn.BatchNorm2d(channels),
                       nn.ReLU(), nn.Conv2d(channels, channels, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
        super().__init__(*layers, nn.Dropout(0.4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class ResidualUnit(nn.Module):
    """Group norms, SiLU."""

    def __init__(self, before: int, channels: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, before, eps=1e-6), nn.Conv2d(before, channels, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, channels, eps=1e-6), nn.Conv2d(channels, channels, 3, padding=1)
        self.shortcut = nn.Conv2d(before, channels, 1) if before != channels else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv1(nn.functional.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(nn.functional.silu(self.norm2(y)))


class PixelAttention(nn.Module):
    """One head over all pixels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, channels, eps=1e-6)
        self.q, self.k, self.v, self.out = (nn.Conv2d(channels, channels, 1) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        y = self.norm(x)
        q, k, v = (f(y).reshape(n, c, h * w) for f in (self.q, self.k, self.v))
        shares = torch.softmax(torch.bmm(q.transpose(1, 2), k) * c ** -0.5, -1)
        return x + self.out(torch.bmm(v, shares.transpose(1, 2)).reshape(n, c, h, w))


class VaeDecoder(nn.Module):
    """Of latent diffusion, small: latents to an image eight times as large."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_in = nn.Conv2d(4, 64, 3, padding=1)
        self.mid = nn.Sequential(ResidualUnit(64, 64), PixelAttention(64), ResidualUnit(64, 64))
        self.ups = nn.ModuleList(nn.Sequential(ResidualUnit(a, b), ResidualUnit(b, b))
                                 for a, b in ((64, 64), (64, 32), (32, 32), (32, 16)))
        self.grow = nn.ModuleList(nn.Conv2d(c, c, 3, padding=1) for c in (64, 32, 32))
        self.norm_out, self.conv_out = nn.GroupNorm(8, 16, eps=1e-6), nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        x = self.mid(self.conv_in(z))
        for number, up in enumerate(self.ups):
            x = up(x)
            if number < len(self.grow):
                x = self.grow[number](nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"))
        return torch.tanh(self.conv_out(nn.functional.silu(self.norm_out(x))))


NETWORKS = [
    Network("ds_cnn", DsCnn, images(49, 10, 1)),
    Network("unet", UNet, images(64)),
    Network("unet_bilinear", lambda: UNet(bilinear=True), images(64)),
    Network("vae_decoder", VaeDecoder, images(8, 8, 4)),
]
