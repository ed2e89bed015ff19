# SPDX-License-Identifier: BSD-3-Clause
"""ONNX of integer operators: the same codes at every row as the C++ network, in every run time that computes them as specified."""

from __future__ import annotations

from typing import Any

from zeropoint.export import integer_attention, integer_elementwise, integer_filters, integer_movement  # noqa: F401
from zeropoint.export import integer_recurrent, integer_reductions  # noqa: F401
from zeropoint.export.emitter import INTEGER, Emitter
from zeropoint.export.int8_model import Int8Model
from zeropoint.lower.context import Port


def emit_integer(model: Int8Model, ports: tuple[list[Port], list[Port]]) -> Emitter:
    """The graph of a network. Raises ExportRefused with every row that has no exact form."""
    emitter = Emitter(model, ports, INTEGER)
    emitter.emit()
    return emitter


def to_onnx(model: Int8Model, ports: tuple[list[Port], list[Port]], name: str) -> Any:
    """The same as an ONNX model."""
    return emit_integer(model, ports).finish(name)
