# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a network and the tensors of its files, as C++ has them: what exporters read, and who writes int8 files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from zeropoint.compiler import compiled, without_comments
from zeropoint.errors import ZeropointError
from zeropoint.files import text_of_header
from zeropoint.ports import ports_of
from zeropoint.presets import check_preset, dynamic_presets, is_dynamic, presets

PROGRAM = r"""// Prints a stage of a network as JSON.
#include <cstdio>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>
#include <zeropoint/analysis/model_json.hpp>

#include "@HEADER@"

int main() {
    using network = @NETWORK@;
    return std::fputs(zp::to_json<typename network::stage>().c_str(), stdout) < 0;
}
"""

STAGES = {"float": "zp::float_model<@NET@>", "int8": "zp::quantized<@NET@, @QCONFIG@>",
          "dynamic": "zp::dynamically_quantized<@NET@, @QCONFIG@>"}


def qconfig_text(qconfig: str) -> str:
    """A qconfig as C++ has it: the name of one of zeropoint's presets, or a type that is written out. Raises ZeropointError."""
    if not re.fullmatch(r"\w+", qconfig):
        return qconfig
    check_preset(qconfig)
    return f"zp::{qconfig}"


def network_text(net: str, stage: str = "int8", qconfig: str = "default_qconfig") -> str:
    """The type of a network in C++; net is the model's, stage one of STAGES."""
    if stage not in STAGES:
        raise ZeropointError(f"{stage}: a stage is one of {', '.join(STAGES)}")
    if stage == "int8" and is_dynamic(qconfig):
        raise ZeropointError(f"{qconfig}: of a dynamic preset the stage is \"dynamic\", not \"int8\"")
    if stage == "dynamic" and qconfig in presets() and not is_dynamic(qconfig):
        raise ZeropointError(f"{qconfig}: under this preset the stage is \"int8\"; dynamic ones are {', '.join(dynamic_presets())}")
    return STAGES[stage].replace("@NET@", net).replace("@QCONFIG@", qconfig_text(qconfig))


def describe(header: str | Path, *, qconfig: str = "default_qconfig", stage: str = "int8") -> dict[str, Any]:
    """What `zp::to_json` says of a network in an imported header: a dict with the keys of docs/files.md.

    qconfig: one of zeropoint's presets, such as accurate_qconfig, or a type of C++, such as
    `zp::qconfig<zp::quantizer<...>, ...>`; of a dynamic stage int4_dynamic_qconfig or a `zp::dynamic_qconfig<...>`. stage: "int8", "float" or
    "dynamic". The program that prints it is compiled once and kept. Raises ZeropointError.
    """
    header = Path(header)
    source = PROGRAM.replace("@HEADER@", header.name).replace("@NETWORK@", network_text(ports_of(header)[0], stage, qconfig))
    program = compiled(source, {header.name: without_comments(text_of_header(header))}, flags=("-O0",))
    return json.loads(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
