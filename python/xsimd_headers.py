# SPDX-License-Identifier: BSD-3-Clause
"""Finds xsimd's headers and licence on this machine, for the wheel that carries them and for scripts/packaging."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent
LEAST, BELOW = (14, 1), (15,)  # as zeropoint_find_xsimd() in cmake/zeropointFindDependency.cmake has them


@dataclass(frozen=True)
class Xsimd:
    """Headers of a version that zeropoint takes."""

    include: Path  # the folder that has xsimd/xsimd.hpp
    licence: Path
    version: tuple[int, ...]


def prefixes() -> Iterator[Path]:
    """Where it may be: $ZEROPOINT_XSIMD, what builds of this repository have unpacked, $CMAKE_PREFIX_PATH, the system's."""
    yield from (Path(p) for p in os.environ.get("ZEROPOINT_XSIMD", "").split(os.pathsep) if p)
    yield from sorted(REPOSITORY.glob("build/_dependencies/**/xsimd/usr"))
    yield from sorted(REPOSITORY.glob("build/**/_dependencies/**/xsimd/usr"))
    yield from sorted(REPOSITORY.glob("build/*/_deps/zeropoint_xsimd-src"))
    yield from (Path(p) for p in os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep) if p)
    yield from (Path("/usr/local"), Path("/usr"))


def version_of(include: Path) -> tuple[int, ...]:
    """From its macros; empty where they are not there."""
    config = include / "xsimd" / "config" / "xsimd_config.hpp"
    if not config.exists():
        return ()
    return tuple(int(n) for n in re.findall(r"^#define XSIMD_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", config.read_text(), re.M))


def find_xsimd() -> Xsimd | None:
    """The first that has the right version and says under which licence it is."""
    for prefix in prefixes():
        include = prefix / "include"
        version = version_of(include)
        licences = (prefix / "LICENSE", prefix / "licenses" / "LICENSE", prefix / "share" / "doc" / "libxsimd-dev" / "copyright",
                    prefix / "share" / "xsimd" / "copyright", prefix / "share" / "licenses" / "xsimd" / "LICENSE")
        licence = next((path for path in licences if path.exists()), None)
        if LEAST <= version < BELOW and licence is not None:
            return Xsimd(include, licence, version)
    return None
