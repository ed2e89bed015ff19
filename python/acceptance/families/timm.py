# SPDX-License-Identifier: BSD-3-Clause
"""timm's networks, without weights."""

from __future__ import annotations

from torch import nn

from acceptance.families.torchvision import load
from acceptance.networks import Network, images


def made(name: str, **options: object) -> nn.Module:
    """A model of timm."""
    load()  # timm imports torchvision
    import timm

    return timm.create_model(name, pretrained=False, **options)


def of(name: str, size: int = 64, expect: str = "imports", why: str = "", **options: object) -> Network:
    """A name of timm.create_model."""
    return Network(name, lambda: made(name, **options), images(size), expect, True, why)


NETWORKS = [
    of("ghostnet_100", 128), of("mobilenetv4_conv_small", 128), of("tf_efficientnet_b0", 128), of("repvgg_a0"), of("mobileone_s0"),
    of("edgenext_xx_small"), of("mobilevit_s"), of("xcit_nano_12_p16_224", img_size=64), of("levit_128", img_size=64),
    of("deit_tiny_patch16_224", img_size=64), of("mixer_b16_224", img_size=64), of("poolformer_s12"), of("resnest14d"),
    of("eca_resnet33ts"), of("hrnet_w18_small"), of("nfnet_f0"),
]
