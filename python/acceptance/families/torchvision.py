# SPDX-License-Identifier: BSD-3-Clause
"""torchvision's networks, without weights."""

from __future__ import annotations

import torch
from torch import nn

from acceptance.networks import Network, images


def load() -> object:
    """torchvision beside a torch that was built without CUDA.

    The C++ operators of its wheel are built for CUDA's torch and do not load beside the CPU's. Its networks need none of
    them, but it registers shapes for them when it is imported, which fails: those registrations are left out.
    """
    register = torch.library.register_fake

    def skipping(op: object, *args: object, **options: object) -> object:
        if isinstance(op, str) and op.startswith("torchvision::"):
            return lambda function: function
        return register(op, *args, **options)  # type: ignore[arg-type]

    torch.library.register_fake = skipping  # type: ignore[assignment]
    try:
        import torchvision.models

        return torchvision.models
    finally:
        torch.library.register_fake = register


class Main(nn.Module):
    """The first output of a segmentation network, whose outputs are a dictionary."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)["out"]


def of(name: str, size: int = 64, expect: str = "imports", why: str = "", int8: bool = True, **options: object) -> Network:
    """A constructor of torchvision.models."""
    return Network(name, lambda: getattr(load(), name)(weights=None, **options), images(size), expect, int8, why)


def segmentation(name: str, size: int = 64) -> Network:
    """A constructor of torchvision.models.segmentation."""
    return Network(name, lambda: getattr(load().segmentation, name)(  # type: ignore[attr-defined]
        weights=None, weights_backbone=None, num_classes=21), images(size))


def detection(name: str, why: str) -> Network:
    """A constructor of torchvision.models.detection, which takes a list of images."""

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = getattr(load().detection, name)(weights=None, weights_backbone=None)  # type: ignore[attr-defined]

        def forward(self, x: torch.Tensor) -> object:
            return self.inner([x[0]])[0]["boxes"]

    return Network(name, Detector, images(64), "refused", False, why)


NETWORKS = [
    of("squeezenet1_1"), of("mobilenet_v2", 128), of("mnasnet1_0", 128), of("shufflenet_v2_x1_0", 128),
    of("mobilenet_v3_small", 128), of("mobilenet_v3_large", 128), of("efficientnet_b0", 128), of("regnet_y_400mf", 128),
    of("googlenet", aux_logits=False, init_weights=False),
    of("densenet121"), of("resnet18"), of("resnet50"), of("resnext50_32x4d"), of("wide_resnet50_2"),
    of("inception_v3", 80, aux_logits=False, init_weights=False), of("efficientnet_v2_s"), of("convnext_tiny"),
    of("swin_t"), Network("maxvit_t", lambda: load().maxvit.MaxVit(  # type: ignore[attr-defined]
        (64, 64), 64, 2, [64, 128, 256, 512], [2, 2, 5, 2], 32, 0.2), images(64)),  # maxvit_t's, of windows of 2 for 7
    of("vit_b_16", image_size=64),
    of("alexnet", 224), of("vgg11_bn", 224),  # PyTorch's exporter writes a pool to more places than there are as indices
    segmentation("lraspp_mobilenet_v3_large"), segmentation("deeplabv3_mobilenet_v3_large"), segmentation("fcn_resnet50"),
    Network("raft_small", lambda: load().optical_flow.raft_small(weights=None),  # type: ignore[attr-defined]
            lambda: (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)), "refused", False,
            "grid_sample at computed places"),
    detection("retinanet_resnet50_fpn", "boxes whose number depends on the image"),
    detection("fasterrcnn_mobilenet_v3_large_fpn", "boxes whose number depends on the image"),
]
