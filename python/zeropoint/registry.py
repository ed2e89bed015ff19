# SPDX-License-Identifier: BSD-3-Clause
"""Functions by the names of the operators that they are for."""

from __future__ import annotations

from typing import Callable, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def registers(table: dict[str, Function]) -> Callable[..., Callable[[Function], Function]]:
    """A decorator `@of("conv", "linear")` that puts a function into a table under each of these names.

    Raises ValueError where a name has a function already: of two, one would be lost without a word.
    """

    def of(*names: str) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            for name in names:
                if name in table:
                    raise ValueError(f"{name} has a function already: {table[name]!r}")
                table[name] = function
            return function

        return register

    return of
