# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a file's model beside the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from zeropoint.errors import ZeropointError


@dataclass(frozen=True)
class Given:
    """Extents and values of inputs, and the values between which a network is cut out."""

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # by the name of an input; "" of all inputs of their rank that they fit
    values: dict[str, np.ndarray] = field(default_factory=dict)       # of inputs that are always these
    begin: tuple[str, ...] = ()                                       # what is an input in place of what it is computed of
    end: tuple[str, ...] = ()                                         # what is an output in place of those of the file

    def note(self) -> str:
        """For the head comment; empty of a whole model."""
        parts = [f"{word} " + ", ".join(f'"{name}"' for name in names) for word, names in (("from", self.begin), ("to", self.end)) if names]
        return f"Cut out of the source, {' '.join(parts)}." if parts else ""


def check_names(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raises ZeropointError for a name that no value has, with those that are nearest."""
    known = list(known)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3, 0.4)
            raise ZeropointError(f"{option} {name}: this model has no such value" + (f"; the nearest are {', '.join(near)}" if near else ""))


def not_reached(option: str, name: str) -> ZeropointError:
    """Of a beginning that no output needs."""
    return ZeropointError(f"{option} {name}: no output needs this value; name one that lies in front of what is wanted")
