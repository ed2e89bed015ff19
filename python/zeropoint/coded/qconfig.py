# SPDX-License-Identifier: BSD-3-Clause
"""The qconfig under which an int8 type has the source's codes and roundings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeropoint.errors import ImportRefused, Problem
from zeropoint.ir import Coding, Graph, Node, Value

WEIGHTED = ("conv", "conv_transpose", "linear")


@dataclass
class Appendix:
    """What stands behind a network in its header."""

    includes: list[str]
    text: str


def weights_of(graph: Graph) -> dict[Node, Coding]:
    """Of all layers with filters. Raises ImportRefused where some have none, or of several kinds."""
    found: dict[Node, Coding] = {}
    problems: list[Problem] = []
    for node in graph.nodes:
        if node.op not in WEIGHTED:
            continue
        weight, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
        coding = weight.coding if weight is not None else None
        where = (node.origin.name, "value")
        if coding is None or coding.dtype not in ("int8", "uint8"):
            kind = "floats" if coding is None else coding.dtype
            text = f"weights of {kind}; an import takes int8 or uint8"
            problems.append(Problem(node.op, *where, text, node.origin.source))
            continue
        if bias is not None and (bias.coding is None or bias.coding.dtype != "int32"):
            problems.append(Problem(node.op, *where, "a bias that is not int32, in units of input scale * weight scale",
                                    node.origin.source))
        elif bias is not None and not is_bias_scale(node.inputs[0], coding, bias.coding):  # type: ignore[arg-type]
            problems.append(Problem(node.op, *where, "a bias whose scale is not input scale * weight scale",
                                    node.origin.source))
        found[node] = coding
    if len({coding.dtype for coding in found.values()}) > 1:
        problems.append(Problem("weights", graph.title, "value", "weights of int8 and of uint8; an import takes one of them"))
    if problems:
        raise ImportRefused(problems)
    return found


def is_bias_scale(x: Value | None, weight: Coding, bias: Coding) -> bool:
    """Within LiteRT's 2 percent: the arithmetic takes the bias as it is."""
    if x is None or x.coding is None:
        return True
    expected = float(x.coding.scale[0]) * weight.scale.astype(np.float64)
    return bool(np.all(np.abs(bias.scale - expected) <= 0.02 * expected)) and not np.any(bias.zero_point)


def appendix_of(graph: Graph, name: str, dtype: str, policy: str, takes_codes: set[str],
                gives_codes: set[str]) -> Appendix:
    """The qconfig's struct, and the name of the int8 type."""
    weights = list(weights_of(graph).values())
    signed = not weights or weights[0].dtype == "int8"
    affine = any(np.any(w.zero_point) for w in weights)
    lowest = min((int(w.codes.min()) for w in weights if w.codes is not None), default=0)
    dtype_of_weights = ("zp::qint8_narrow" if lowest > -128 else "zp::qint8") if signed else "zp::quint8"
    scheme = "channel" if any(w.scale.size > 1 for w in weights) else "tensor"
    scheme += "_affine" if affine or not signed else "_symmetric"
    observer = "zp::per_channel_min_max_observer" if scheme.startswith("channel") else "zp::min_max_observer"
    options = [f"zp::requantize_with<{policy}>", "zp::separate_sums", "zp::table_bits<8>"]
    single_in, single_out = len(graph.inputs) == 1, len(graph.outputs) == 1
    options += ["zp::codes_in<>" if single_in else f'zp::codes_in<"{v.name}">' for v in graph.inputs if v.name in takes_codes]
    options += ["zp::codes_out<>" if single_out else f'zp::codes_out<"{v.name}">' for v in graph.outputs
                if v.name in gives_codes]
    lines = [f"/// Codes and roundings of the source: `zp::load<{name}_int8>(\"{name}.int8.safetensors\")`.",
             f"struct {name}_qconfig",
             f"    : zp::qconfig<zp::quantizer<zp::q{dtype}, zp::per_tensor_affine, zp::min_max_observer>,",
             f"                  zp::quantizer<{dtype_of_weights}, zp::per_{scheme}, {observer}>,",
             *filled(options, "                  ", "> {};"),
             f"using {name}_int8 = zp::quantized<{name}, {name}_qconfig>;"]
    return Appendix(["zeropoint/workflow/presets.hpp", "zeropoint/workflow/codes_at_ports.hpp",
                     "zeropoint/workflow/stages.hpp"], "\n".join(lines) + "\n")


def filled(items: list[str], pad: str, last: str) -> list[str]:
    """Items separated by commas, in lines of at most 120 columns."""
    lines, current = [], ""
    for number, item in enumerate(items):
        text = item + ("," if number + 1 < len(items) else last)
        if current and len(pad) + len(current) + 1 + len(text) > 120:
            lines.append(pad + current)
            current = ""
        current += (" " if current else "") + text
    return [*lines, pad + current]
