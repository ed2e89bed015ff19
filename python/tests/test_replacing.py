# SPDX-License-Identifier: BSD-3-Clause
"""Sets of files that belong together, such as a header and its weights: all are the new ones, or none, whatever comes between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from zeropoint.errors import ZeropointError
from zeropoint.replacing import replacing

NAMES = ["a.safetensors", "b.hpp", "c.json"]
REPLACE = os.replace

# A process that is ended by the system, as `kill` and a closed terminal do, when the first of two files has its place.
ENDED = """
import os, signal, sys
from pathlib import Path
from zeropoint.replacing import replacing

replace = os.replace
def ended(source, target):
    replace(source, target)
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))

os.replace = ended
targets = [Path(sys.argv[1]) / name for name in ("a.safetensors", "b.hpp")]
with replacing(*targets) as folder:
    for target in targets:
        (folder / target.name).write_text("new")
print("went on")
"""


def replace_all(home: Path) -> None:
    """With new ones."""
    targets = [home / name for name in NAMES]
    with replacing(*targets) as folder:
        for target in targets:
            (folder / target.name).write_text("new")


def content(home: Path) -> dict[str, str]:
    """Of all files in a folder, and there is nothing else."""
    return {path.name: path.read_text() for path in home.iterdir()}


@pytest.mark.parametrize("failing", NAMES)
@pytest.mark.parametrize("old", [[], NAMES, NAMES[:1], NAMES[1:]], ids=["none", "all", "first", "others"])
@pytest.mark.parametrize("has_links", [True, False])
def test_a_rename_that_fails(failing: str, old: list[str], has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was replaced before it is as it was, on file systems without links too."""
    for name in old:
        (tmp_path / name).write_text(f"old {name}")
    before = content(tmp_path)

    def full(source: Any, target: Any) -> None:
        if Path(target).name == failing and Path(source).name == failing:
            raise OSError(28, "No space left on device")
        REPLACE(source, target)

    def refused(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "replace", full)
    if not has_links:
        monkeypatch.setattr(os, "link", refused)
    with pytest.raises(ZeropointError, match="a.safetensors cannot be written: .*No space left on device"):
        replace_all(tmp_path)
    assert content(tmp_path) == before
    monkeypatch.setattr(os, "replace", REPLACE)
    replace_all(tmp_path)
    assert content(tmp_path) == dict.fromkeys(NAMES, "new")


def test_an_interrupt_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the last rename, and comes then, as the handler that was there has it."""
    for name in NAMES:
        (tmp_path / name).write_text("old")

    def interrupted(source: Any, target: Any) -> None:
        REPLACE(source, target)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "replace", interrupted)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        replace_all(tmp_path)
    assert content(tmp_path) == dict.fromkeys(NAMES, "new")
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_who_is_ended_has_both_files(name: str, tmp_path: Path) -> None:
    """And leaves no folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", ENDED, tmp_path, name], capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == -getattr(signal, name) and ended.stdout == ""
    assert content(tmp_path) == dict.fromkeys(NAMES[:2], "new")


def test_in_a_thread(tmp_path: Path) -> None:
    """Which may set no handlers, and is given no signals."""
    thread = threading.Thread(target=replace_all, args=(tmp_path,))
    thread.start()
    thread.join()
    assert content(tmp_path) == dict.fromkeys(NAMES, "new")
