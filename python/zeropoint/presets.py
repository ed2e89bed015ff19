# SPDX-License-Identifier: BSD-3-Clause
"""The qconfigs that zeropoint has names for."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from zeropoint.compiler import get_include
from zeropoint.errors import ZeropointError


def names_in(header: str) -> list[str]:
    """The qconfigs of a header of workflow/."""
    text = (Path(get_include()) / "zeropoint" / "workflow" / header).read_text(encoding="utf-8")
    return re.findall(r"^struct (\w+_qconfig)\b", text, re.MULTILINE)


def dynamic_presets() -> list[str]:
    """int4_dynamic_qconfig and others, which calibrate nothing, as the headers have them."""
    return names_in("dynamic_presets.hpp")


def presets() -> list[str]:
    """default_qconfig and all others, as the headers have them."""
    return names_in("presets.hpp") + dynamic_presets()


def is_dynamic(name: str) -> bool:
    """Whether a preset is one of quantize_dynamic: its networks are zp::dynamically_quantized<...>, and calibrate nothing."""
    return name in dynamic_presets()


def check_preset(name: str) -> None:
    """Raises ZeropointError where a name is none of them."""
    known = presets()
    if name in known:
        return
    near = difflib.get_close_matches(name, known, 1)
    raise ZeropointError(f"{name or 'an empty name'}: a qconfig is the name of one of zeropoint's presets: {', '.join(known)}"
                         + (f"; did you mean {near[0]}?" if near else ""))


def check_static(name: str, wants: str) -> None:
    """Raises ZeropointError where a preset is a dynamic one; wants is what needs codes of activations."""
    if is_dynamic(name):
        raise ZeropointError(f"{name}: {wants}, but under this preset values between layers are floats; take one that is calibrated, "
                             "such as default_qconfig")


def quantized_type(net: str, qconfig: str, architecture: str = "") -> str:
    """The quantized network's type in C++ under one of the presets; net is the model's."""
    template = "dynamically_quantized" if is_dynamic(qconfig) else "quantized"
    return f"zp::{template}<{net}, zp::{qconfig}{', ' if architecture else ''}{architecture}>"


def quantized_file(header: Path, qconfig: str) -> Path:
    """Where `zeropoint quantize` writes, beside the header: NAME.int8.safetensors, or of a dynamic preset such as int4_dynamic_qconfig
    NAME.int4_dynamic.safetensors, as the one's file is not the other's."""
    kind = qconfig.removesuffix("_qconfig") if is_dynamic(qconfig) else "int8"
    return header.with_suffix(f".{kind}.safetensors")
