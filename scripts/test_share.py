#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the CMake options of a build that has a share of all test units, the next one in the next run: what CI compiles under the
sanitizers.

    cmake --preset clang-asan-ubsan $(scripts/test_share.py --of 3)

Beside the share, the units of every room of which a header or a test has changed. scripts/changes.py says since when, and
whose turn it is; what was chosen goes to standard error.
"""
import argparse
import pathlib
import sys

import changes


def rooms_of(files: frozenset[str]) -> list[str]:
    """Rooms of include/zeropoint and tests that these files are in, and examples."""
    rooms = set()
    for file in files:
        parts = pathlib.PurePath(file).parts
        if parts[:2] == ("include", "zeropoint") and len(parts) > 3:
            rooms.add(parts[2])
        elif parts[0] == "tests" and len(parts) > 2:
            rooms.add(parts[1])
        elif parts[0] == "examples":
            rooms.add("examples")
    return sorted(rooms)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", type=int, default=3, help="how many runs have all units (default: %(default)s)")
    changes.add_options(parser)
    options = parser.parse_args()
    if options.of < 1:
        parser.error(f"--of: expected at least 1, found {options.of}")
    found = changes.find(options)
    rooms = rooms_of(found.files)
    print(f"share {found.turn % options.of} of {options.of}, and what changed ({', '.join(rooms) or 'nothing'}): {found.basis}",
          file=sys.stderr)
    print(f"-DZEROPOINT_TEST_SHARE={found.turn % options.of}/{options.of}", f"-DZEROPOINT_TEST_ROOMS={';'.join(rooms)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
