# SPDX-License-Identifier: BSD-3-Clause
"""The overlay port: installed by vcpkg where there is one, else its portfile under stand-ins of vcpkg's functions."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import installed
from common import CONSUMER, REPOSITORY, Part, build_consumer, files_below, xsimd

PORTS = REPOSITORY / "packaging" / "vcpkg" / "ports"
PORT = PORTS / "zeropoint"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check(part: Part, prefix: Path | None) -> None:
    """prefix: what `cmake --install` leaves, else it is made."""
    shutil.rmtree(part.folder, ignore_errors=True)
    manifest(part)
    vcpkg = find_vcpkg()
    if vcpkg is not None:
        with_vcpkg(part, vcpkg)
        return
    part.skipped["vcpkg"] = ("vcpkg was not run: it is not found (set VCPKG_ROOT); its manifest was checked, and its portfile "
                             "run under stand-ins of vcpkg's functions")
    with_stand_ins(part, prefix or installed.install(part, "headers", compiled=False))


def find_vcpkg() -> str | None:
    """The program in $VCPKG_ROOT, or on the PATH."""
    root = os.environ.get("VCPKG_ROOT")
    if root and (Path(root) / "vcpkg").exists():
        return str(Path(root) / "vcpkg")
    return shutil.which("vcpkg")


def manifest(part: Part) -> None:
    """Fields as vcpkg's reference has them."""
    data = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))
    known = {"name", "version", "description", "license", "dependencies", "features"}
    part.expect(set(data) <= known, f"vcpkg.json: fields that are not checked here: {sorted(set(data) - known)}")
    part.expect(data["name"] == PORT.name, "vcpkg.json: its name is not that of its folder")
    part.expect(bool(re.fullmatch(r"\d+\.\d+\.\d+", data["version"])), f"vcpkg.json: the version {data['version']}")
    for dependency in data["dependencies"]:
        part.expect(set(dependency) <= {"name", "host", "version>="} and bool(NAME.fullmatch(dependency["name"])),
                    f"vcpkg.json: the dependency {dependency}")
    for name, feature in data["features"].items():
        part.expect(bool(NAME.fullmatch(name)) and bool(feature["description"]), f"vcpkg.json: the feature {name}")
    part.passed.append("manifest")


def with_vcpkg(part: Part, vcpkg: str) -> None:
    """Both forms, installed into a tree of their own, each with its consumer."""
    root = Path(vcpkg).resolve().parent
    for feature in ("", "[compiled]"):
        tree = part.folder / f"installed{feature.strip('[]')}"
        part.run(vcpkg, "install", f"zeropoint{feature}", "--classic", f"--overlay-ports={PORTS}", f"--x-install-root={tree}",
                 "--binarysource=clear", f"--x-buildtrees-root={part.folder / 'buildtrees'}",
                 f"--x-packages-root={part.folder / 'packages'}")
        folder = part.folder / f"consumer{feature.strip('[]')}"
        part.run("cmake", "-S", CONSUMER, "-B", folder, f"-DCMAKE_TOOLCHAIN_FILE={root / 'scripts/buildsystems/vcpkg.cmake'}",
                 f"-DVCPKG_INSTALLED_DIR={tree}", "-DVCPKG_MANIFEST_MODE=OFF", f"-DEXPECT_COMPILED={'ON' if feature else 'OFF'}",
                 "-DCMAKE_BUILD_TYPE=Release")
        part.run("cmake", "--build", folder)
        part.run(folder / "program")
        part.passed.append(f"vcpkg install zeropoint{feature}, with its consumer")


def with_stand_ins(part: Part, prefix: Path) -> None:
    """The portfile leaves what an installation leaves, at vcpkg's places, and a consumer finds it."""
    packages = part.folder / "packages"
    found = xsimd(part)
    part.run("cmake", f"-DPORTFILE={PORT / 'portfile.cmake'}", "-DPORT=zeropoint", f"-DPACKAGES={packages}",
             f"-DBUILD={part.folder / 'build'}", f"-DXSIMD={found.include.parent}",
             "-P", Path(__file__).parent / "vcpkg_stand_ins.cmake")
    expected = {name.replace("share/cmake/zeropoint/", "share/zeropoint/") for name in files_below(prefix)}
    expected |= {"share/zeropoint/copyright", "share/zeropoint/usage"}
    difference = sorted(expected ^ files_below(packages))
    part.expect(not difference, f"the portfile's files and those of an installation differ: {difference[:10]}")
    part.passed.append(f"portfile under stand-ins, {len(expected)} files as after an installation")
    build_consumer(part, "consumer", [packages, found.include.parent], compiled=False)
    part.passed.append("its consumer")
