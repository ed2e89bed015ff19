# SPDX-License-Identifier: BSD-3-Clause
"""Emscripten, which Debian 12 has too old: a later Debian's, unpacked into the cache and run with Debian 12's LLVM 19."""
import pathlib

import debian

SUITE = "trixie"
NAME = "emscripten-" + SUITE
# Variants of the system libraries that take most of two gigabytes, tests and documentation.
LEFT_OUT = ("*/wasm32-emscripten/*lto*", "*/wasm32-emscripten/pic*", "*/wasm64-emscripten*", "./usr/share/emscripten/test/*",
            "./usr/share/emscripten/docs/*", "./usr/share/emscripten/media/*", "./usr/share/doc*", "./usr/share/man*")
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def build(suite: debian.Suite, folder: pathlib.Path) -> None:
    suite.unpack(["emscripten", "binaryen", "node-acorn", "libc6", "libgcc-s1", "libstdc++6"], folder / "root",
                 "--wildcards", *(f"--exclude={pattern}" for pattern in LEFT_OUT))
    # Binaryen needs that Debian's C library, and gets it without anyone else seeing it.
    for program in (folder / "root/usr/bin").glob("wasm*"):
        wrapper = folder / "bin" / program.name
        wrapper.parent.mkdir(exist_ok=True)
        wrapper.write_text('#!/bin/sh\nroot=$(dirname "$0")/../root\n'
                           f'exec "$root/{LIBRARIES}/ld-linux-x86-64.so.2" --library-path "$root/{LIBRARIES}" '
                           f'"$root/usr/bin/{program.name}" "$@"\n')
        wrapper.chmod(0o755)
    config = (folder / "root/usr/share/emscripten/.emscripten").read_text(encoding="utf-8")
    (folder / "config").write_text(config + "\nimport os\nBINARYEN_ROOT = os.path.dirname(os.environ['EM_CONFIG'])\n")


def prepare() -> pathlib.Path:
    return debian.prepare(NAME, SUITE, build)


def command() -> tuple[str, ...] | None:
    """The compiler, where prepare() was called before."""
    folder = debian.cache_folder() / NAME
    compiler = folder / "root/usr/share/emscripten/em++"
    return ("env", f"EM_CONFIG={folder / 'config'}", str(compiler)) if compiler.exists() else None
