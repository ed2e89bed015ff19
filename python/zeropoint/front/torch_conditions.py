# SPDX-License-Identifier: BSD-3-Clause
"""aten operators of conditions, constants and places: comparisons, logic, choices, indexing by constants, argmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.places import take
from zeropoint.front.torch_operators import Call, converts
from zeropoint.ir import Value, constant


def known(value: Any) -> Value:
    """A number as a value."""
    return value if isinstance(value, Value) else constant("", np.asarray(value))


@converts("eq", "ne", "lt", "le", "gt", "ge")
def convert_compare(call: Call) -> None:
    """With a number or another value."""
    call.give("compare", [call.x, known(call["other"])], kind=str(call.node.target).removeprefix("aten.").split(".")[0])


@converts("logical_and", "logical_or", "logical_xor", "__and__", "__or__", "__xor__", "bitwise_and", "bitwise_or",
          "bitwise_xor")
def convert_logical(call: Call) -> None:
    """Of two conditions."""
    name = str(call.node.target).removeprefix("aten.").split(".")[0]
    if call.node.meta["val"].dtype is not call.reader.torch.bool:
        raise NotSupported("operators on bits")
    call.give("logical", [call.x, known(call["other"])], kind=name.strip("_").split("_")[-1])


@converts("logical_not", "bitwise_not")
def convert_not(call: Call) -> None:
    """Of a condition."""
    if call.node.meta["val"].dtype is not call.reader.torch.bool:
        raise NotSupported("operators on bits")
    call.give("logical", [call.x], kind="not")


@converts("where")
def convert_where(call: Call) -> None:
    """Values and numbers."""
    if call["other"] is None:
        raise NotSupported("the places of a condition, whose number is not known")
    condition, a = call["condition"], call["self"]
    call.give("where", [condition, known(a), known(call["other"])])


@converts("masked_fill", "masked_fill_")
def convert_masked_fill(call: Call) -> None:
    """A number where a condition holds."""
    call.give("where", [call["mask"], known(call["value"]), call.x])


@converts("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "empty_like")
def convert_full(call: Call) -> None:
    """A constant: only the extents of a value are asked."""
    name = str(call.node.target)
    number = 0 if "zeros" in name or "empty" in name else 1 if "ones" in name else call["fill_value"]
    dtype = np.bool_ if call.node.meta["val"].dtype is call.reader.torch.bool else \
        np.int64 if call.outputs[0].is_integer else np.float32
    call.same(constant(call.node.name, np.full(call.shape, number, dtype)))


@converts("index")
def convert_index(call: Call) -> None:
    """By constant places along some axes."""
    indices = [slice(None) if i is None else i for i in call["indices"]]
    if any(isinstance(i, Value) and i.data is None for i in indices):
        raise NotSupported("the places that are taken are computed from an input, as behind an argmax; return the whole value, and take from it in "
                           "the program, or take constant places", "computed_operand")
    chosen = tuple(i.data if isinstance(i, Value) else i for i in indices)
    take(call, call.x, np.arange(int(np.prod(call.x.shape))).reshape(call.x.shape)[chosen], call.shape)


@converts("argmax", "argmin")
def convert_argmax(call: Call) -> None:
    """Along an axis, or over all values."""
    axis = call["dim"]
    kind = "max" if "argmax" in str(call.node.target) else "min"
    call.give("argmax", [call.x], axis=None if axis is None else axis % len(call.x.shape), kind=kind,
              keepdim=bool(call["keepdim"]))


@converts("rms_norm")
def convert_rms_norm(call: Call) -> None:
    """Over the last axis."""
    if len(call["normalized_shape"]) != 1:
        raise NotSupported("an rms_norm over several axes")
    epsilon = call["eps"] if call["eps"] is not None else float(np.finfo(np.float32).eps)
    inputs = [call.x] if call["weight"] is None else [call.x, call["weight"]]
    call.give("rms_norm", inputs, epsilon=epsilon)
