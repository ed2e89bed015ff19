#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the page of examples/web_digits and tests it in headless Chromium; page and screenshots are in build/web_digits.

    scripts/architectures/web_page.py

Takes the Emscripten in PATH, else that which install.py unpacks into the cache folder. Needs CMake and Chromium, which
install.py installs on Debian.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import debian
import emscripten

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "examples" / "web_digits"
BUILD = ROOT / "build" / "web_digits"


def environment() -> dict[str, str]:
    """That in which emcmake is found."""
    if shutil.which("emcmake"):
        return dict(os.environ)
    folder = emscripten.prepare()
    path = f"{folder / 'root/usr/share/emscripten'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "EM_CONFIG": str(folder / "config")}


def main() -> int:
    try:
        found = environment()
        for command in (["emcmake", "cmake", "-S", SOURCE, "-B", BUILD,
                         f"-DZEROPOINT_DEPENDENCY_CACHE={ROOT / 'build' / '_dependencies'}"],
                        ["cmake", "--build", BUILD],
                        ["ctest", "--test-dir", BUILD, "--verbose"]):
            subprocess.run(command, env=found, check=True)
    except (debian.DebianError, subprocess.CalledProcessError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
