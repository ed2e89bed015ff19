# SPDX-License-Identifier: BSD-3-Clause
"""The qconfigs that zeropoint has names for."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from zeropoint.compiler import get_include
from zeropoint.errors import ZeropointError


def presets() -> list[str]:
    """default_qconfig and others, as the headers have them."""
    text = (Path(get_include()) / "zeropoint" / "workflow" / "presets.hpp").read_text(encoding="utf-8")
    return re.findall(r"^struct (\w+_qconfig)\b", text, re.MULTILINE)


def check_preset(name: str) -> None:
    """Raises ZeropointError where a name is none of them."""
    known = presets()
    if name in known:
        return
    near = difflib.get_close_matches(name, known, 1)
    raise ZeropointError(f"{name or 'an empty name'}: a qconfig is the name of one of zeropoint's presets: {', '.join(known)}"
                         + (f"; did you mean {near[0]}?" if near else ""))
