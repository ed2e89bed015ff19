# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterator

import numpy as np

from zeropoint.errors import ZeropointError
from zeropoint.files import sentence_of


@contextmanager
def replacing(*targets: Path) -> Iterator[Path]:
    """A folder on the file system of the targets, which lie in one folder.

    What was written there under their names takes their places when the block ends well, all of it or none: where one cannot be
    replaced, those before it are put back, and signals such as Ctrl-C wait until the last one is in place. Else nothing has changed.
    Targets that were not written stay as they are. The folder is gone afterwards. Raises ZeropointError where one cannot be written.
    """
    home = targets[0].parent
    for target in targets:
        if target.is_dir():
            raise ZeropointError(f"{target}: expected the name of a file to write, found a folder")
    try:
        home.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held, tempfile.TemporaryDirectory(prefix=".zeropoint-", dir=home) as folder:
            yield Path(folder)
            held.enter_context(signals_held())  # the folder goes before they come
            put_in_place(Path(folder), [target for target in targets if (Path(folder) / target.name).exists()])
    except OSError as error:
        raise ZeropointError(f"{targets[0]} cannot be written: {sentence_of(error, home)}") from None


@contextmanager
def signals_held() -> Iterator[None]:
    """Signals that would end the block come behind it. Python gives them to the main thread alone, so that others need nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {}
    for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")):
        if number is not None and signal.getsignal(number) is not None:  # None: of a handler that is not Python's
            before[number] = signal.signal(number, lambda given, _: came.append(given))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def put_in_place(folder: Path, targets: list[Path]) -> None:
    """Renames what is in the folder to the targets, all of it or none. Raises OSError."""
    replaced: list[tuple[Path, Path | None]] = []  # each with where the file is that it replaces, if there was one
    try:
        for number, target in enumerate(targets):
            is_new, kept = not target.exists(), folder / f".before-{number}"
            if not is_new and target != targets[-1]:  # behind the last one nothing can fail
                keep(target, kept)
                replaced.append((target, kept))
            os.replace(folder / target.name, target)
            if is_new:
                replaced.append((target, None))
    except BaseException:
        for target, old in reversed(replaced):
            if old is None:
                target.unlink()
            else:
                os.replace(old, target)
        raise


def keep(path: Path, kept: Path) -> None:
    """The same file under another name; under that alone where the file system has no links, which takes it away for a moment."""
    try:
        os.link(path, kept)
    except OSError:
        os.replace(path, kept)


def check_writable(*targets: Path) -> None:
    """Raises ZeropointError where one cannot be written, before anybody works for it."""
    for target in targets:
        with replacing(target):
            pass


def write_tensors(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """A safetensors file in a folder of `replacing`, with the rights of any new file. Raises OSError.

    Written from the arrays themselves: the bytes of `safetensors.numpy.save` would be two more copies of them all.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    path.touch()  # save_file puts a file of its own here, which only its owner may read; this one has the rights that others have
    rights = path.stat().st_mode & 0o777
    try:
        save_file({name: np.ascontiguousarray(array) for name, array in sorted(tensors.items())}, path, metadata)
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from None
    path.chmod(rights)
