# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of the source as a network here has them, and back; what a header's head comment says of its ports."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import numpy as np

from zeropoint.errors import ZeropointError
from zeropoint.files import text_of_header
from zeropoint.lower.context import Port

LINE = re.compile(r'//   (input|output) "(.*)": (int|float|u?int8)(?: below (\d+))?((?:,? below \d+ from \d+)*) ([\dx]+), here ([\dx]+) \(axes ([\d -]+)\)')

PART = re.compile(r"below (\d+) from (\d+)")


def to_memory(array: np.ndarray, port: Port) -> np.ndarray:
    """A tensor of the source in the order of memory, as one row of numbers."""
    if array.size != prod(port.extents):
        raise ZeropointError(f"\"{port.name}\" is {'x'.join(map(str, port.extents))}, but an array of "
                             f"{'x'.join(map(str, array.shape))} came")
    kept = [i for i, n in enumerate(port.extents) if n != 1]
    small = array.reshape([port.extents[i] for i in kept])
    moved = small.transpose([kept.index(i) for i in port.order])
    with np.errstate(over="ignore"):  # what float32 does not hold is infinite there, which calibration tells
        return np.ascontiguousarray(moved, dtype=np.int32 if port.is_integer else np.float32).reshape(-1)


def from_memory(values: np.ndarray, port: Port) -> np.ndarray:
    """The inverse."""
    kept = [i for i, n in enumerate(port.extents) if n != 1]
    moved = values.reshape([port.extents[i] for i in port.order])
    small = moved.transpose([port.order.index(i) for i in kept])
    return np.ascontiguousarray(small).reshape(port.extents)


def keeper_of(header: str | Path) -> str:
    """Who keeps the states that the source is given: "zp::streaming" step by step, "zp::stateful" frame by frame, or nobody."""
    found = re.search(r"^// Stateful: (a call is a frame)?", text_of_header(header), re.MULTILINE)
    return "" if found is None else "zp::stateful" if found.group(1) else "zp::streaming"


def ports_of(header: str | Path) -> tuple[str, list[Port], list[Port]]:
    """The network in a header that was imported, its inputs and its outputs."""
    text = text_of_header(header)
    found: dict[str, list[Port]] = {"input": [], "output": []}
    for kind, name, number, below, ranges, extents, shape, order in LINE.findall(text):
        axes = tuple(int(a) for a in order.split() if a != "-")
        parts = tuple((int(first), int(rows)) for rows, first in PART.findall(ranges))
        found[kind].append(Port(name, tuple(map(int, extents.split("x"))), tuple(map(int, shape.split("x"))), axes,  # type: ignore[arg-type]
                                number == "int", int(below or min((rows for _, rows in parts), default=0)), number if number.endswith("8") else "",
                                parts=parts))
    name = re.search(r"^// (\w+), made by zeropoint", text)
    if not name or not found["input"] or not found["output"]:
        raise ZeropointError(f"{header}: this header does not begin as those do that `zeropoint import` writes")
    return name.group(1), found["input"], found["output"]
