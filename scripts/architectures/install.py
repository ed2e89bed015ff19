#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs on Debian 12 what run.py, dispatch.py and web_page.py need: cross compilers, qemu, Chromium (as root, or through
sudo), and into the cache folder, without root, a later Debian's Emscripten and Bochs, and PyPI's Node.js.

    scripts/architectures/install.py

About 350 MB from the system's own mirror for Debian's packages, 245 MB for Emscripten, 60 MB each for Bochs and Node.js.
The cache is $ZEROPOINT_CACHE, else $XDG_CACHE_HOME/zeropoint or ~/.cache/zeropoint: keep it, and the latter three come once.
"""
import glob
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time

import bochs
import debian
import emscripten
import node

# A file that tells whether the package is there. GCC's cross packages bring the libraries that Clang uses as well.
PACKAGES = {
    "/usr/bin/g++": "g++",
    "/usr/bin/aarch64-linux-gnu-g++-12": "g++-12-aarch64-linux-gnu",
    "/usr/bin/arm-linux-gnueabihf-g++-12": "g++-12-arm-linux-gnueabihf",
    "/usr/bin/powerpc64le-linux-gnu-g++-12": "g++-12-powerpc64le-linux-gnu",
    "/usr/bin/s390x-linux-gnu-g++-12": "g++-12-s390x-linux-gnu",
    "/usr/riscv64-linux-gnu/include/c++/12": "libstdc++-12-dev-riscv64-cross",
    "/usr/riscv64-linux-gnu/include/stdio.h": "libc6-dev-riscv64-cross",
    "/usr/bin/clang++-19": "clang-19",
    "/usr/bin/ld.lld-19": "lld-19",
    "/usr/bin/llvm-nm-19": "llvm-19",  # for Emscripten
    "/usr/bin/qemu-aarch64-static": "qemu-user-static",
    "/usr/bin/i686-linux-gnu-g++-12": "g++-12-i686-linux-gnu",
    "/usr/bin/chromium": "chromium",  # for web_page.py
}
WINDOWS = {  # on x86-64
    "/usr/bin/x86_64-w64-mingw32-g++-posix": "g++-mingw-w64-x86-64-posix",
    "/usr/lib/wine/wine64": "wine64",
    "/usr/bin/wine": "wine",
}
MICROCONTROLLERS = {  # for microcontrollers.py
    "/usr/bin/arm-none-eabi-g++": "gcc-arm-none-eabi",
    "/usr/lib/arm-none-eabi/lib/libc.a": "libnewlib-arm-none-eabi",
    "/usr/include/newlib/c++/*": "libstdc++-arm-none-eabi-newlib",
    "/usr/bin/qemu-system-arm": "qemu-system-arm",
}


def install_packages(packages: dict[str, str]) -> None:
    missing = [package for file, package in packages.items() if not glob.glob(file)]
    if packages is not MICROCONTROLLERS and importlib.util.find_spec("pip") is None:
        missing.append("python3-pip")
    if packages is not MICROCONTROLLERS and shutil.which("node") is None:
        missing.append("nodejs")  # for Emscripten
    if not missing:
        return
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*as_root, "apt-get", "update", "-q"], check=True)
    subprocess.run([*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y",
                    "--no-install-recommends", *missing], check=True)


def main() -> int:
    for name, prepare in (("Debian's packages", lambda: install_packages(PACKAGES | (WINDOWS if platform.machine() == "x86_64" else {}))), ("Emscripten", emscripten.prepare),
                          ("Bochs", bochs.prepare), ("Node.js", node.prepare)):
        begin = time.monotonic()
        try:
            prepare()
        except (debian.DebianError, bochs.EmulationError, subprocess.CalledProcessError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        print(f"{name}: ready after {time.monotonic() - begin:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
