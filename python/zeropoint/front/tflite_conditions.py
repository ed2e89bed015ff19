# SPDX-License-Identifier: BSD-3-Clause
"""TensorFlow Lite's operators of conditions: comparisons, logic, choices."""

from __future__ import annotations

from zeropoint.errors import NotSupported
from zeropoint.front.tflite_operators import Call, converts

COMPARE = {"EQUAL": "eq", "NOT_EQUAL": "ne", "LESS": "lt", "LESS_EQUAL": "le", "GREATER": "gt", "GREATER_EQUAL": "ge"}
LOGICAL = {"LOGICAL_AND": "and", "LOGICAL_OR": "or", "LOGICAL_NOT": "not"}


@converts(*COMPARE)
def convert_compare(call: Call) -> None:
    """Of two values."""
    call.give("compare", [call.x(0), call.x(1)], kind=COMPARE[call.kind])


@converts(*LOGICAL)
def convert_logical(call: Call) -> None:
    """Of conditions."""
    call.give("logical", list(call.inputs), kind=LOGICAL[call.kind])


@converts("SELECT", "SELECT_V2")
def convert_select(call: Call) -> None:
    """A choice."""
    if call.kind == "SELECT" and call.x(0).shape != call.x(1).shape:
        raise NotSupported("a condition of rows")
    call.give("where", list(call.inputs))
