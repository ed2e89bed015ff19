#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes ResNet-18 with random weights as an ONNX file: torchvision's, or where that is not installed the same of python/tests.

    scripts/packaging/export_resnet18.py resnet18.onnx
"""

import pathlib
import sys
import warnings

import torch

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def network() -> tuple[torch.nn.Module, str]:
    """The module and who wrote it."""
    register = torch.library.register_fake

    def without_operators(name, *args, **options):
        # PyPI's torchvision is built for CUDA: its own operators, which no network here needs, are missing beside a
        # PyTorch for CPUs
        return (lambda function: function) if str(name).startswith("torchvision::") else register(name, *args, **options)

    torch.library.register_fake = without_operators
    try:
        import torchvision

        return torchvision.models.resnet18(weights=None), f"torchvision {torchvision.__version__}"
    except ImportError:
        sys.path.insert(0, str(REPOSITORY / "python" / "tests"))
        from networks import ResNet18

        return ResNet18(), "python/tests/networks.py, as torchvision is not installed"
    finally:
        torch.library.register_fake = register


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    module, origin = network()
    for norm in module.modules():  # as after training: random statistics that keep values near one
        if isinstance(norm, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(norm.weight, 0.5, 1.0)
            torch.nn.init.normal_(norm.bias, std=0.1)
    torch.onnx.export(module.eval(), (torch.randn(1, 3, 64, 48),), sys.argv[1], dynamo=True, verbose=False, external_data=False)
    print(f"ResNet-18 of {origin}")


if __name__ == "__main__":
    main()
