# SPDX-License-Identifier: BSD-3-Clause
"""What all tests share: the programs that they compile are kept between runs."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))
os.environ.setdefault("ZEROPOINT_CXXFLAGS", "-O1 -Wall -Wextra -Wconversion -Wshadow -Werror")
os.environ.setdefault("ZEROPOINT_COMPILED", "1")
warnings.filterwarnings("ignore")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many random graphs are made, and which of ONNX's node tests are taken."""
    parser.addoption("--graphs", type=int, default=20, help="random graphs to import, compile and compare")
    parser.addoption("--all-nodes", action="store_true",
                     help="also those node tests that are imported with their parameters as constants, or with a batch")
    parser.addoption("--nodes-in-turn", type=int, default=1, metavar="PARTS",
                     help="so many runs take all node tests: each the next part, by the number of commits")
    parser.addoption("--in-turn", type=int, default=1, metavar="PARTS",
                     help="so many runs take all files of tests: each the next ones, by the number of commits; all where python/ has changed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the files whose turn it is."""
    parts = config.getoption("--in-turn")
    if parts < 2:
        return
    import changes

    now = changes.find(argparse.Namespace(turn=None, base=None))
    if any(file.startswith("python/") for file in now.files):
        return
    files = sorted({item.path for item in items})
    taken = set(files[now.turn % parts::parts])
    config.hook.pytest_deselected(items=[item for item in items if item.path not in taken])
    items[:] = [item for item in items if item.path in taken]
