# SPDX-License-Identifier: BSD-3-Clause
"""Files that a user names: read with one sentence where they are not what they should be."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from zeropoint.errors import ZeropointError


def sentence_of(error: OSError, path: str | Path = "") -> str:
    """What the system says of a file, with its name in front."""
    return f"{error.filename or path}: {error.strerror or error}"


def text_of_header(path: str | Path) -> str:
    """The text of a header. Raises ZeropointError."""
    path = Path(path)
    if not path.exists():
        raise ZeropointError(f"{path}: there is no such file")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ZeropointError(sentence_of(error, path)) from None
    except UnicodeDecodeError:
        raise ZeropointError(f"{path}: expected a header of C++, found bytes that are no text") from None


def array_of(array: str | Path | np.ndarray) -> np.ndarray:
    """An array of numbers, from its .npy where it is one. Raises ZeropointError."""
    if isinstance(array, np.ndarray):
        return real_numbers(array, "the array")
    loaded = arrays_in(array)
    if isinstance(loaded, dict):
        raise ZeropointError(f"{array}: expected one array, as numpy.save writes it, found the several of numpy.savez")
    return real_numbers(loaded, array)


def arrays_in(path: str | Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of a .npy, or those of an .npz, of real numbers, by their names. Raises ZeropointError."""
    if Path(path).is_dir():
        raise ZeropointError(f"{path}: Is a directory; join its arrays in one file: "
                             "np.save(\"all.npy\", np.stack([np.load(path) for path in paths]))")
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            found = {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise ZeropointError(sentence_of(error, path)) from None
    except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):  # numpy speaks of pickled data, whatever the file is
        raise ZeropointError(f"{path}: expected an array of numbers as numpy.save writes it, or several of numpy.savez") from None
    return {name: real_numbers(np.asarray(array), f"{path}, {name}") for name, array in found.items()}


def real_numbers(array: np.ndarray, name: str | Path) -> np.ndarray:
    """The array. Raises ZeropointError where it has others, such as complex ones, whose imaginary part would go, or text."""
    if array.dtype.kind not in "biuf":
        raise ZeropointError(f"{name}: expected real numbers, found {array.dtype}")
    return array


def check_finite(array: np.ndarray, name: str) -> None:
    """Raises ZeropointError where a number of N inputs is NaN or infinite, as it is or in float32: no figure that is made of it would mean anything."""
    if array.dtype.kind not in "fc":
        return
    rows = array.reshape(len(array), -1)
    with np.errstate(over="ignore"):
        bad = np.argwhere(~np.isfinite(rows.astype(np.float32)))
    if len(bad):
        value = rows[tuple(bad[0])]
        wanted = "values that float32 holds" if np.isfinite(value) else "finite values"
        raise ZeropointError(f"{name}, input {bad[0][0]}: expected {wanted}, but value {bad[0][1]} is {value}: clean the data")
