#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes build/venv, a virtual environment with what the programs here need: requirements.txt.

    bench/peers/install.py

About 520 MB from PyPI and PyTorch's index of builds for CPUs. PyPI's own build of PyTorch brings CUDA, several times that.
What is there already stays. Needs Python's module venv: on Debian the package python3-venv.
"""
import pathlib
import re
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
FOLDER = HERE.parents[1] / "build" / "venv"
BUILDS_FOR_CPUS = "https://download.pytorch.org/whl/cpu"


def main() -> int:
    begin = time.monotonic()
    torch = re.search(r"^torch==\S+", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)[0]
    pip = [FOLDER / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        if not pip[0].exists():
            venv.create(FOLDER, with_pip=True)
        subprocess.run([*pip, "--no-deps", "--extra-index-url", BUILDS_FOR_CPUS, f"{torch}+cpu"], check=True)
        subprocess.run([*pip, "-r", REQUIREMENTS], check=True)
    except (subprocess.CalledProcessError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{FOLDER}: ready after {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
