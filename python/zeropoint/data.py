# SPDX-License-Identifier: BSD-3-Clause
"""What a network is calibrated with and compared over: an array for each input, all of as many samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from zeropoint.errors import ZeropointError
from zeropoint.files import array_of, arrays_in, check_finite, real_numbers
from zeropoint.lower.context import Port

One = str | Path | np.ndarray
Data = One | Mapping[str, One] | Sequence[str | Path]
"""Of a network of one input an array or its .npy. Of any number a dict by their names, an .npz whose arrays have them, or a list of such
files and of `name=file.npy`. Each array is as the source has it, samples along the first axis."""


def samples_of(data: Data, ports: list[Port]) -> list[np.ndarray]:
    """The samples for each port, N x its extents. Raises ZeropointError where data are not what the network takes."""
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
    columns = checked([found[name] for name in names], ports)
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
    end = port.below or 2**31
    outside = np.argwhere((column < 0) | (column >= end))
    if len(outside):
        at = tuple(outside[0])
        raise ZeropointError(f"\"{port.name}\", input {at[0]}: expected integers from 0 to {end - 1}, found {column[at]}")


def held_out(columns: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Samples to calibrate with, and those to compare over: every fourth of 16 and more, else all are both."""
    if len(columns[0]) < 16:
        return columns, columns
    is_apart = np.arange(len(columns[0])) % 4 == 3
    return [column[~is_apart] for column in columns], [column[is_apart] for column in columns]
