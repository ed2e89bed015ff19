# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import numpy as np

from zeropoint.errors import ZeropointError
from zeropoint.files import sentence_of


@contextmanager
def replacing(*targets: Path) -> Iterator[Path]:
    """A folder on the file system of the targets, which lie in one folder.

    What was written there under their names takes their places when the block ends well; else nothing has changed. Targets
    that were not written stay as they are. The folder is gone afterwards. Raises ZeropointError where one cannot be written.
    """
    home = targets[0].parent
    for target in targets:
        if target.is_dir():
            raise ZeropointError(f"{target}: expected the name of a file to write, found a folder")
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".zeropoint-", dir=home) as folder:
            yield Path(folder)
            for target in targets:
                made = Path(folder) / target.name
                if made.exists():
                    os.replace(made, target)
    except OSError as error:
        raise ZeropointError(f"{targets[0]} cannot be written: {sentence_of(error, home)}") from None


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
