#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes every package of zeropoint as its users do, and a program with each; says what ran, what could not and why.

    scripts/packaging/check.py                      # all
    scripts/packaging/check.py conan installed      # some
    scripts/packaging/check.py --require conan pkg-config torch

Of conan, pkg-config, vcpkg, torch and torchvision, what is missing is said and skipped, unless it is required. Everything is made
below build/packages, where the logs are too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, str(Path(__file__).resolve().parent))

import conan_package  # noqa: E402
import installed  # noqa: E402
import vcpkg_port  # noqa: E402
import wheel  # noqa: E402
from common import REPOSITORY, WORK, Failed, Part  # noqa: E402

PARTS = ("versions", "conan", "installed", "vcpkg", "wheel")


def versions(part: Part) -> None:
    """One version in all that names it."""
    def read(name: str) -> str:
        return (REPOSITORY / name).read_text(encoding="utf-8")

    def number(name: str, pattern: str) -> str:
        return ".".join(re.findall(pattern, read(name), re.M))

    found = {
        "version.hpp": number("include/zeropoint/version.hpp", r"define ZEROPOINT_VERSION_\w+ (\d+)"),
        "pyproject.toml": number("python/pyproject.toml", r'^version = "(.*)"'),
        "__init__.py": number("python/zeropoint/__init__.py", r'^__version__ = "(.*)"'),
        "vcpkg.json": json.loads(read("packaging/vcpkg/ports/zeropoint/vcpkg.json"))["version"],
    }
    part.expect(len(set(found.values())) == 1, f"expected one version, got {found}")
    part.passed.append(f"{found['vcpkg.json']} everywhere")


def timed(part: Part, check: Callable[..., Any], *arguments: Any) -> Any:
    """What a part gives; its failure is kept, as the others go on."""
    (WORK / f"{part.name}.log").unlink(missing_ok=True)
    begin = time.monotonic()
    try:
        return check(part, *arguments)
    except Failed as failure:
        part.failure = str(failure)
        return None
    finally:
        part.seconds = time.monotonic() - begin
        print(f"{part.name}: {'FAILED' if part.failure else 'done'} after {part.seconds:.0f} s", flush=True)


def built(parts: dict[str, Part], wanted: list[str]) -> None:
    """Those that compile the library, one after the other: each may use what the one before has made."""
    compiled = timed(parts["conan"], conan_package.check) if "conan" in wanted else None
    prefix = None
    if "installed" in wanted:
        prefix = timed(parts["installed"], installed.check, compiled)
    if "vcpkg" in wanted:
        timed(parts["vcpkg"], vcpkg_port.check, prefix)


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="by default all")
    parser.add_argument("--require", nargs="+", default=[], metavar="TOOL", help="fail where one of these is not there")
    options = parser.parse_args()
    wanted = options.parts or list(PARTS)
    parts = {name: Part(name) for name in PARTS if name in wanted}
    WORK.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        others = pool.submit(built, parts, wanted)
        if "versions" in wanted:
            timed(parts["versions"], versions)
        if "wheel" in wanted:
            timed(parts["wheel"], wheel.check)
        others.result()

    print()
    is_good = True
    for part in parts.values():
        missing = [tool for tool in part.skipped if tool in options.require]
        is_good = is_good and not part.failure and not missing
        verdict = "FAILED, after" if part.failure else "passed"
        print(f"{part.name:10} {part.seconds:4.0f} s  {verdict}: {'; '.join(part.passed) or 'nothing'}")
        for tool, why in part.skipped.items():
            print(f"{'':18}{'MISSING' if tool in missing else 'not run'}: {why}")
        if part.failure:
            print(part.failure)
    print(f"{time.monotonic() - begin:.0f} s")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
