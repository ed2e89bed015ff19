# SPDX-License-Identifier: BSD-3-Clause
"""What `cmake --install` leaves: moved to another folder, found by find_package and by pkg-config."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from common import DEPLOYED, MAIN, REPOSITORY, Part, build_consumer, compiler, library_only, xsimd

OLDER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES NONE)
find_package(zeropoint 0.0 CONFIG QUIET)
if(zeropoint_FOUND OR NOT zeropoint_CONSIDERED_VERSIONS STREQUAL "@VERSION@")
    message(FATAL_ERROR "asked for 0.0, considered '${zeropoint_CONSIDERED_VERSIONS}', found '${zeropoint_FOUND}'")
endif()
"""


def install(part: Part, name: str, compiled: bool) -> Path:
    """Configures, builds and installs, then moves what was installed."""
    build, prefix, moved = (part.folder / f"{name}_{what}" for what in ("build", "prefix", "moved"))
    part.run("cmake", "-S", REPOSITORY, "-B", build, *library_only(), f"-DCMAKE_PREFIX_PATH={xsimd(part).include.parent}",
             f"-DZEROPOINT_INSTALL_COMPILED={'ON' if compiled else 'OFF'}", "-DCMAKE_BUILD_TYPE=Debug",
             "-DCMAKE_CXX_FLAGS_DEBUG=-O0")
    part.run("cmake", "--build", build, "--parallel", "2")
    part.run("cmake", "--install", build, "--prefix", prefix)
    prefix.rename(moved)
    return moved


def check(part: Part, compiled: Path | None) -> Path:
    """compiled: an installation that has zeropoint::compiled, else one is made. Gives that of the headers alone."""
    shutil.rmtree(part.folder, ignore_errors=True)
    found = xsimd(part)
    prefix = install(part, "headers", compiled=False)
    build_consumer(part, "consumer", [prefix, found.include.parent], compiled=False)
    part.passed.append("find_package, headers alone")
    version = (REPOSITORY / "python" / "pyproject.toml").read_text(encoding="utf-8").split('version = "')[1].split('"')[0]
    other = part.folder / "other_version"
    other.mkdir()
    (other / "CMakeLists.txt").write_text(OLDER.replace("@VERSION@", version), encoding="utf-8")
    part.run("cmake", "-S", other, "-B", other / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    part.passed.append("another version is refused")
    made_here = compiled is None
    compiled = compiled or install(part, "compiled", compiled=True)
    if made_here:  # otherwise Conan's consumer was this one
        build_consumer(part, "compiled_consumer", [compiled, found.include.parent], compiled=True)
        part.passed.append("find_package, compiled")
    pkg_config(part, prefix, compiled)
    return prefix


def pkg_config(part: Part, prefix: Path, compiled: Path) -> None:
    """A compiler's call with what pkg-config says."""
    if shutil.which("pkg-config") is None:
        part.skipped["pkg-config"] = "pkg-config is not found"
        return
    found = xsimd(part)
    own = part.folder / "pkgconfig"  # for xsimd, whose file names the folder that its packager had in mind
    own.mkdir()
    (own / "xsimd.pc").write_text(f"Name: xsimd\nDescription: xsimd\nVersion: {'.'.join(map(str, found.version))}\n"
                                  f"Cflags: -I{found.include}\n", encoding="utf-8")

    def flags(where: Path, name: str, *options: str) -> list[str]:
        path = [own, where / "share" / "pkgconfig", *sorted(where.glob("lib*/**/pkgconfig"))]
        return part.run("pkg-config", *options, name, env={"PKG_CONFIG_PATH": os.pathsep.join(map(str, path))}).split()

    for where, name, source in ((prefix, "zeropoint", MAIN), (compiled, "zeropoint-compiled", DEPLOYED)):
        part.run(compiler(), "-std=c++20", "-O0", source, *flags(where, name, "--cflags", "--libs"), "-o", name)
        part.run(part.folder / name)
    version = flags(prefix, "zeropoint", "--modversion")[0]
    part.expect(version == flags(compiled, "zeropoint-compiled", "--modversion")[0], "two versions in the files of pkg-config")
    part.passed.append("pkg-config, both")
