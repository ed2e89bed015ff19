"""Puts zeropoint's headers into the wheel, so that networks compile without a checkout of the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithHeaders(build_py):
    """Copies ../include/zeropoint beside the package's modules."""

    def run(self) -> None:
        super().run()
        headers = Path(__file__).resolve().parent.parent / "include" / "zeropoint"
        if headers.exists():
            target = Path(self.build_lib) / "zeropoint" / "include" / "zeropoint"
            shutil.copytree(headers, target, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithHeaders})
