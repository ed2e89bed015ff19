# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

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
