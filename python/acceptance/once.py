# SPDX-License-Identifier: BSD-3-Clause
"""A precompiled header for all networks: most of what a small network's program costs is reading headers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from zeropoint.compiler import FLAGS, compiler, include_flags, key_of

COMMON = ("-O1", "-fPIC")


def prepare(build: Path) -> None:
    """Sets ZEROPOINT_CXXFLAGS so that all networks use it, beside the kernels of ZEROPOINT_COMPILED. g++ alone finds it."""
    folder = build / f"once-{key_of(*COMMON)[:12]}"
    header = folder / "zeropoint_all.hpp"
    made = folder / f"{header.name}.gch"
    if not made.exists():
        print("compiling the headers that all networks share", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        header.write_text("#include <chrono>\n#include <cstdio>\n#include <fstream>\n#include <memory>\n#include <optional>\n"
                          "#include <span>\n#include <zeropoint/operators.hpp>\n#include <zeropoint/zeropoint.hpp>\n")
        beside = folder / "new.gch"
        subprocess.run([compiler(), *FLAGS, *COMMON, "-DZEROPOINT_COMPILED", *include_flags(), "-x", "c++-header", str(header),
                        "-o", str(beside)], check=True)
        beside.replace(made)
    os.environ["ZEROPOINT_CXXFLAGS"] = " ".join([*COMMON, "-include", str(header)])
