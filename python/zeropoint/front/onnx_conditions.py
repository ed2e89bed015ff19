# SPDX-License-Identifier: BSD-3-Clause
"""ONNX operators of conditions and places: comparisons, logic, choices, indexing by constants, argmax."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.onnx_operators import Call, converts
from zeropoint.front.places import take
from zeropoint.ir import constant

COMPARE = {"Equal": "eq", "Less": "lt", "LessOrEqual": "le", "Greater": "gt", "GreaterOrEqual": "ge"}


@converts(*COMPARE)
def convert_compare(call: Call) -> None:
    """Of two values."""
    call.give("compare", call.inputs, kind=COMPARE[call.node.op_type])


@converts("OneHot")
def convert_one_hot(call: Call) -> None:
    """Whether an index is 0, 1, 2, ..., along a new last axis."""
    x, count, values = call.inputs[0], int(np.asarray(call.known(1)).reshape(-1)[0]), np.asarray(call.known(2)).reshape(-1)
    if call.attrs.get("axis", -1) % (len(x.shape) + 1) != len(x.shape) or values.tolist() != [0, 1]:
        raise NotSupported("a OneHot of other values than 0 and 1, or not along the last axis")
    column = call.make("reshape", [x], (*x.shape, 1))
    column.is_integer = x.is_integer
    call.give("compare", [column, constant("", np.arange(count))], kind="eq")


@converts("And", "Or", "Xor", "Not")
def convert_logical(call: Call) -> None:
    """Of conditions."""
    call.give("logical", call.inputs, kind=call.node.op_type.lower())


@converts("Where")
def convert_where(call: Call) -> None:
    """A choice."""
    call.give("where", call.inputs)


@converts("ArgMax", "ArgMin")
def convert_argmax(call: Call) -> None:
    """Along an axis."""
    x = call.inputs[0]
    if call.attrs.get("select_last_index", 0):
        raise NotSupported("the last of several largest values")
    call.give("argmax", [x], axis=call.attrs.get("axis", 0) % len(x.shape), keepdim=bool(call.attrs.get("keepdims", 1)),
              kind="max" if call.node.op_type == "ArgMax" else "min")


@converts("GatherND")
def convert_gather_nd(call: Call) -> None:
    """By constant places."""
    if call.attrs.get("batch_dims", 0):
        raise NotSupported("places of a batch each")
    x, places = call.inputs[0], np.asarray(call.known(1, "indices"))
    numbers = np.arange(int(np.prod(x.shape))).reshape(x.shape)
    take(call, x, numbers[tuple(np.moveaxis(places, -1, 0))], call.outputs[0].shape)


@converts("RMSNormalization")
def convert_rms_norm(call: Call) -> None:
    """Over the last axis."""
    x = call.inputs[0]
    if call.attrs.get("axis", -1) % len(x.shape) != len(x.shape) - 1:
        raise NotSupported("an rms_norm over several axes")
    call.give("rms_norm", call.inputs[:2], epsilon=call.attrs.get("epsilon", 1e-5))
