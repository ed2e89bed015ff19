# SPDX-License-Identifier: BSD-3-Clause
"""What a network is calibrated with and compared over: an array for each input, all of as many samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from zeropoint.errors import ZeropointError
from zeropoint.files import array_of, arrays_in, check_finite, real_numbers
from zeropoint.ir import NO_TABLE
from zeropoint.lower.context import Port

One = str | Path | np.ndarray
Data = One | Mapping[str, One] | Sequence[str | Path]
"""Of a network of one input an array or its .npy. Of any number a dict by their names, an .npz whose arrays have them, or a list of such
files and of `name=file.npy`. Each array is as the source has it, samples along the first axis."""
Inputs = list[np.ndarray]
"""For each port N x its extents: one input that stands alone, N being 1, or the N frames of a recording."""


def inputs_of(data: Data, ports: list[Port], goes_on: bool) -> list[Inputs]:
    """Inputs that stand alone, or recordings whose frames follow one another. Raises ZeropointError where data are not what the network
    takes."""
    if goes_on:
        return recordings_of(data, ports)
    columns = columns_of(arrays_of(data, ports), ports)
    return [[column[i:i + 1] for column in columns] for i in range(len(columns[0]))]


def recordings_of(data: Data, ports: list[Port]) -> list[Inputs]:
    """Of each recording its frames for each port. An array of one axis more than frames have has several recordings of one length; for a
    network of one input a list of arrays or files has some of any lengths."""
    if len(ports) == 1 and isinstance(data, (list, tuple)):
        return [recording for one in data for recording in recordings_of(one, ports)]
    arrays = arrays_of(data, ports)
    if not all(has_recordings(array, port) for array, port in zip(arrays, ports)):
        return [columns_of(arrays, ports)]
    if len({len(array) for array in arrays}) != 1:
        counts = ", ".join(f"{len(array)} of {port.name}" for array, port in zip(arrays, ports))
        raise ZeropointError(f"expected as many recordings of each input, found {counts}")
    return [columns_of(list(one), ports) for one in zip(*arrays)]


def has_recordings(array: np.ndarray, port: Port) -> bool:
    """Whether an array is recordings x frames x the extents of a port."""
    extents = port.extents[1:] if port.extents[:1] == (1,) else port.extents
    return array.shape[1:] != port.extents and array.ndim > 2 and array.shape[2:] in (extents, port.extents)


def arrays_of(data: Data, ports: list[Port]) -> list[np.ndarray]:
    """The array for each port, as it came."""
    names = [port.name for port in ports]
    found: dict[str, np.ndarray] = {}
    for source, name, array in named_arrays(data, names):
        if name not in names:
            raise ZeropointError(f"{source}: this network has no input {name}; it has {', '.join(names)}")
        if name in found:
            raise ZeropointError(f"{source}: the input {name} is given twice")
        found[name] = array
    missing = [name for name in names if name not in found]
    if missing:
        raise ZeropointError(f"there is no array for the input {missing[0]}: this network has {', '.join(names)}")
    return [np.asarray(found[name]) for name in names]


def columns_of(arrays: list[np.ndarray], ports: list[Port]) -> list[np.ndarray]:
    """Of each port N x its extents."""
    columns = checked(arrays, ports)
    for column, port in zip(columns, ports):
        check_finite(column, port.name)  # those that are compared too, which no observer sees
    return columns


def named_arrays(data: Data, names: list[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    """What each array is called in messages, the input that it is for, and the array."""
    if isinstance(data, Mapping):
        for name, one in data.items():
            yield "the arrays", name, array_of(one)
        return
    for one in data if isinstance(data, (list, tuple)) else [data]:
        name, source = "", "the array"
        if isinstance(one, np.ndarray):
            given: np.ndarray | dict[str, np.ndarray] = one
        else:
            source = str(one)
            name, path = split_name(source, names)
            given = array_of(path) if name else arrays_in(path)
        if isinstance(given, dict):
            for name, array in given.items():
                yield source, name, array
        elif name or len(names) == 1:
            yield source, name or names[0], real_numbers(given, source)
        else:
            raise ZeropointError(f"{source}: one array for a network of {len(names)} inputs ({', '.join(names)}): give an .npz whose "
                                 "arrays have these names, or name=file.npy for each")


def split_name(text: str, names: list[str]) -> tuple[str, str]:
    """The input's name and the file of `name=file.npy`; no name where the text is a file's alone."""
    for name in sorted(names, key=len, reverse=True):  # names of ONNX may have = in them
        if text.startswith(f"{name}="):
            return name, text[len(name) + 1:]
    name, _, path = text.partition("=")
    return ("", text) if not path or Path(text).exists() else (name, path)


def checked(arrays: Sequence[np.ndarray], ports: list[Port]) -> list[np.ndarray]:
    """Arrays in the order of ports as N x their extents. Raises ZeropointError for other extents, kinds of numbers, numbers of samples,
    and for indices that no table has: the network itself reads what it is given."""
    if len(arrays) != len(ports):
        names = ", ".join(port.name for port in ports)
        raise ZeropointError(f"this network has {len(ports)} inputs ({names}), but {len(arrays)} arrays came")
    columns = [checked_one(np.asarray(array), port) for array, port in zip(arrays, ports)]
    if len({len(column) for column in columns}) != 1:
        counts = ", ".join(f"{len(column)} of {port.name}" for column, port in zip(columns, ports))
        raise ZeropointError(f"expected as many samples of each input, found {counts}")
    return columns


def checked_one(array: np.ndarray, port: Port) -> np.ndarray:
    """N x the extents of the port."""
    extents = port.extents[1:] if port.extents[:1] == (1,) else port.extents
    is_fitting = any(shape in (extents, port.extents) for shape in (array.shape, array.shape[1:]))
    if array.size == 0 or not is_fitting:
        raise ZeropointError(f"\"{port.name}\" takes {' x '.join(map(str, ('N', *extents)))}, but an array of "
                             f"{' x '.join(map(str, array.shape)) or 'no axes'} came")
    real_numbers(array, port.name)
    column = array.reshape(array.size // prod(port.extents), *port.extents)
    if port.is_integer:
        check_integers(column, port)
    return column


def check_integers(column: np.ndarray, port: Port) -> None:
    """Rows of a table, or a mask. Raises ZeropointError."""
    if column.dtype.kind == "f":
        raise ZeropointError(f"\"{port.name}\" takes integers, but an array of {column.dtype} came")
    ends = np.full(prod(port.extents), port.below or NO_TABLE)
    for first, rows in port.parts:
        ends[first:] = rows
    ends = ends.reshape(port.extents)
    outside = np.argwhere((column < 0) | (column >= ends))
    if len(outside):
        at = tuple(outside[0])
        place = f" at {', '.join(map(str, at[1:]))}" if port.parts else ""
        raise ZeropointError(f"\"{port.name}\", input {at[0]}: expected integers from 0 to {ends[at[1:]] - 1}{place}, found {column[at]}")


def held_out(inputs: list[Inputs], goes_on: bool) -> tuple[list[Inputs], list[Inputs]]:
    """Those to calibrate with, and those to compare over: every fourth of 16 and more, of recordings of four and more; of fewer recordings
    the last quarter of each, where they have 16 frames and more. Else all are both."""
    if len(inputs) >= (4 if goes_on else 16):
        return [one for i, one in enumerate(inputs) if i % 4 != 3], inputs[3::4]
    if not goes_on or any(len(one[0]) < 16 for one in inputs):
        return inputs, inputs
    ends = [len(one[0]) * 3 // 4 for one in inputs]
    return ([[column[:end] for column in one] for one, end in zip(inputs, ends)],
            [[column[end:] for column in one] for one, end in zip(inputs, ends)])


def count_of(inputs: list[Inputs], goes_on: bool) -> str:
    """1 input; 320 frames of 4 recordings"""
    def of(count: int, what: str) -> str:
        return f"{count} {what}{'s' * (count != 1)}"
    return f"{of(sum(len(one[0]) for one in inputs), 'frame')} of {of(len(inputs), 'recording')}" if goes_on else of(len(inputs), "input")
