# SPDX-License-Identifier: BSD-3-Clause
"""Networks of the acceptance suite, and the rule by which their weights are random."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import nn

from acceptance.families import NAMES

Example = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Network:
    """A constructor. expect: `imports`, `refused`, or `either` where both are right."""

    name: str
    make: Callable[[], nn.Module]
    example: Callable[[], Example]
    expect: str = "imports"
    int8: bool = True  # whether it is quantized too
    why: str = ""      # for networks that are refused: what they are made of that no layer computes


def images(height: int = 64, width: int = 0, channels: int = 3) -> Callable[[], Example]:
    """One argument of normal numbers, 1 x channels x height x width."""
    return lambda: (torch.randn(1, channels, height, width or height),)


def family(name: str) -> list[Network]:
    """Its networks."""
    return list(importlib.import_module(f"acceptance.families.{name}").NETWORKS)


def families(only: str = "") -> list[tuple[str, Network]]:
    """All, each with the name of its family."""
    return [(name, network) for name in NAMES if only in ("", name) for network in family(name)]


def made(network: Network) -> tuple[nn.Module, Example]:
    """The network with the same weights each time, and its arguments."""
    torch.manual_seed(7)
    module = network.make().eval()
    example = network.example()
    set_weights(module)
    if all(x.is_floating_point() for x in example):
        set_statistics(module, example)
    return module.eval(), example


@torch.no_grad()
def set_weights(module: nn.Module) -> None:
    """What constructors leave at 0 or 1 gets numbers that matter: an output must depend on every parameter.

    Norms have scales within a quarter of 1; biases of batch norms are within 1 of 0, as docs/models.md has them; layer
    scales, which begin as millionths, are within a quarter of 0.5; other zeros are small normal numbers.
    """
    of_batch_norms = {id(p) for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)
                      for p in m.parameters(recurse=False)}
    for parameter in module.parameters():
        if not parameter.is_floating_point() or parameter.numel() == 0:
            continue
        first = float(parameter.reshape(-1)[0])
        if bool((parameter != first).any()):
            continue
        if first == 0 and id(parameter) in of_batch_norms:
            parameter.uniform_(-1, 1)
        elif first == 0:
            inputs = parameter[0].numel() if parameter.ndim > 1 and parameter.shape[0] > 1 else 100
            parameter.normal_(0, 1 / math.sqrt(inputs))
        elif abs(first) < 0.5:
            parameter.uniform_(0.25, 0.75)
        else:
            parameter.uniform_(0.75, 1.25).mul_(first)


@torch.no_grad()
def set_statistics(module: nn.Module, example: Example, count: int = 16) -> None:
    """Batch norms get the statistics of their inputs over a few random inputs, one layer after the other."""
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm) and m.track_running_stats]
    if not norms:
        return
    for norm in norms:
        norm.train()
        norm.momentum = 1.0
    inputs = [torch.randn(count * x.shape[0], *x.shape[1:]) for x in example]
    try:
        module(*inputs)
    except (RuntimeError, ValueError):  # a network of a batch of one
        for norm in norms:
            norm.running_mean.normal_(0, 0.2)  # type: ignore[union-attr, operator]
            norm.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr, operator]
    for norm in norms:  # channels that were all but dead would be enlarged a hundred times by other inputs
        norm.running_var.clamp_(min=0.1 * float(norm.running_var.mean()))  # type: ignore[union-attr, operator]
    module.eval()


def arrays_of(example: Example) -> list[Any]:
    """As numpy has them."""
    return [x.detach().numpy() for x in example]
