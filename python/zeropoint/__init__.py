# SPDX-License-Identifier: BSD-3-Clause
"""Brings models of PyTorch and ONNX to zeropoint: a C++ header, a safetensors file, and a check of both.

    import zeropoint
    zeropoint.from_torch(module, torch.randn(1, 3, 224, 224), "out/")
    net = zeropoint.build("out/net.hpp")

On the command line: `zeropoint import net.onnx -o out/`, `zeropoint verify`, `zeropoint quantize`, `zeropoint --help`.
"""

from __future__ import annotations

from typing import Any

from zeropoint.errors import CheckFailed, ImportRefused, Problem, ZeropointError

__version__ = "0.1.0"
__all__ = ["CheckFailed", "ImportRefused", "Problem", "ZeropointError", "build", "describe", "from_onnx", "from_torch"]


def from_torch(module: Any, example: Any, out: Any = ".", **options: Any) -> Any:
    """Imports a module of PyTorch; `example` is its arguments, with a batch of 1. See zeropoint.importer.import_torch."""
    from zeropoint.importer import import_torch

    return import_torch(module, example, out, **options)


def from_onnx(path: Any, out: Any = ".", **options: Any) -> Any:
    """Imports an ONNX file. See zeropoint.importer.import_file."""
    from zeropoint.importer import import_file

    return import_file(path, out, **options)


def build(header: Any, **options: Any) -> Any:
    """Compiles a network's header to a library and loads it. See zeropoint.native.build."""
    from zeropoint.native import build as build_native

    return build_native(header, **options)


def describe(header: Any, **options: Any) -> Any:
    """The rows of a network and the tensors of its files, as a dict. See zeropoint.description.describe."""
    from zeropoint.description import describe as describe_network

    return describe_network(header, **options)
