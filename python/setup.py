# SPDX-License-Identifier: BSD-3-Clause
"""Puts zeropoint's headers and xsimd's into the wheel, so that networks compile where there is only a compiler."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from xsimd_headers import find_xsimd  # noqa: E402


class BuildWithHeaders(build_py):
    """Copies ../include/zeropoint and the xsimd that is found beside the package's modules, each with its licence."""

    def run(self) -> None:
        super().run()
        package = Path(self.build_lib) / "zeropoint"
        for old in (package / "include", package / "third_party"):
            shutil.rmtree(old, ignore_errors=True)
        repository = HERE.parent
        if (repository / "include" / "zeropoint").exists():
            shutil.copytree(repository / "include" / "zeropoint", package / "include" / "zeropoint")
            shutil.copy2(repository / "LICENSE", package / "include" / "LICENSE")
        xsimd = find_xsimd()
        if xsimd is None:
            self.warn("xsimd 14.1 or newer is not on this machine, so that the wheel is made without it and its users must "
                      "install it: `cmake --preset demo` in the repository unpacks it, or set ZEROPOINT_XSIMD to its prefix")
            return
        target = package / "third_party" / "xsimd"
        shutil.copytree(xsimd.include / "xsimd", target / "include" / "xsimd",
                        ignore=lambda folder, names: [n for n in names if "." in n and not n.endswith(".hpp")])
        shutil.copy2(xsimd.licence, target / "LICENSE")


setup(cmdclass={"build_py": BuildWithHeaders})
