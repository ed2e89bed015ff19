# SPDX-License-Identifier: BSD-3-Clause
"""`conan create` of the headers and of zeropoint::compiled, each with the consumer in test_package/."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from common import REPOSITORY, Part, program, xsimd

QUICK = ["-s", "compiler.cppstd=20", "-s", "build_type=Debug", "-c", 'tools.build:cxxflags=["-O0","-g0"]',
         "-c", "tools.build:jobs=2"]
AVX2 = "-mavx2 -mfma"


def check(part: Part) -> Path | None:
    """Gives the folder of the compiled package, an installation as every other."""
    conan = program("conan")
    if conan is None:
        part.skipped["conan"] = "conan is not found: pip install conan"
        return None
    found = xsimd(part)
    home = part.folder / "home"  # of its own: nothing in the user's cache changes
    shutil.rmtree(part.folder, ignore_errors=True)
    home.mkdir(parents=True)
    env = {"CONAN_HOME": str(home)}
    part.run(conan, "profile", "detect", env=env)
    # ConanCenter's xsimd without ConanCenter: -nr below is "no remote"
    part.run(conan, "create", REPOSITORY / "scripts" / "packaging" / "xsimd", "--no-remote", "--version",
             ".".join(map(str, found.version)), "-c", f"user.zeropoint:xsimd={found.include}", env=env)

    create = [conan, "create", str(REPOSITORY), "--no-remote", *QUICK, "-c",
              f"tools.cmake.cmake_layout:test_folder={part.folder / 'test_package'}"]
    part.run(*create, env=env)
    part.passed.append("conan create, headers alone, with its consumer")
    compiled = ["-o", "&:compiled=True", *(["-o", f"&:architecture_flags={AVX2}"] if has_avx2() else [])]
    made = json.loads(part.run(*create, *compiled, "--format=json", "-v", "quiet", env=env))
    part.passed.append("conan create, compiled, with its consumer")
    packages = [node["package_folder"] for node in made["graph"]["nodes"].values() if node.get("name") == "zeropoint"]
    return next(Path(folder) for folder in packages if folder)


def has_avx2() -> bool:
    """Of the machine that the consumer runs on."""
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
