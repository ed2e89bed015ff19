# SPDX-License-Identifier: BSD-3-Clause
"""Indexing by constants as reshapes, ranges and picks."""

from __future__ import annotations

from typing import Any

import numpy as np

from zeropoint.ir import Value

MOST_PICKED = 256  # numbers in a template's arguments


def take(call: Any, x: Value, places: np.ndarray, shape: tuple[int, ...]) -> None:
    """The output of a call: the values of x whose numbers in row-major order these are."""
    size = int(np.prod(x.shape))
    flat = places.reshape(-1)
    if flat.size == size and np.array_equal(flat, np.arange(size)):
        call.give("reshape", [x])
        return
    for axis, extent in enumerate(x.shape):  # along one axis, the others as they are
        numbers = np.arange(size).reshape(x.shape)
        if places.ndim != len(x.shape) or any(n != m for i, (n, m) in enumerate(zip(places.shape, x.shape)) if i != axis):
            break
        first = np.moveaxis(places, axis, 0).reshape(places.shape[axis], -1)[:, 0]
        chosen = first // int(np.prod(x.shape[axis + 1:])) % extent
        if np.array_equal(np.take(numbers, chosen, axis), places) and len(chosen) <= MOST_PICKED:
            call.give("gather", [x], axis=axis, indices=[int(i) for i in chosen])
            return
    if flat.size > MOST_PICKED:
        raise call.refused(f"{flat.size} picked values, more than {MOST_PICKED}")
    picked = call.make("gather", [call.make("reshape", [x], (size,))], (flat.size,), axis=0, indices=[int(i) for i in flat])
    call.give("reshape", [picked])
    assert tuple(shape) == tuple(places.shape)


def repeat(call: Any, x: Value, times: tuple[int, ...]) -> None:
    """The output of a call: x so many times side by side along each axis; where there are more numbers than axes, new axes come first."""
    shape = (1,) * (len(times) - len(x.shape)) + x.shape
    if shape != x.shape:
        x = call.make("reshape", [x], shape)
    for axis, count in enumerate(times):
        if count == 1 or not x.shape[axis]:
            continue
        places = list(range(x.shape[axis])) * count
        if len(places) > MOST_PICKED:
            raise call.refused(f"{len(places)} places of an axis by repetition, more than {MOST_PICKED}")
        shape = x.shape[:axis] + (len(places),) + x.shape[axis + 1:]
        x = call.make("expand", [x], shape) if x.shape[axis] == 1 else call.make("gather", [x], shape, axis=axis, indices=places)
    call.give("identity", [x])
