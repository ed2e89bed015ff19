#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails where a layer, an operator of docs/operators.md or a row of docs/accuracy.md is not in the sweep, or the other way
round. Usage: check_operator_sweep.py [--update <test program>]

The sweep is tests/workflow/operator_sweep*.cpp: each `entry<"name", Layer>` there runs in float32 and in int8. A layer is a
type of the headers in operators/ that appends nodes. --update runs the program (test_workflow) and writes what it printed into
docs/accuracy.md.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include/zeropoint"
HEADERS = [INCLUDE / "model/composition.hpp"]
PAGE = ROOT / "docs/accuracy.md"
BASE = re.compile(r"\s*:\s*(?:operators::)?(\w+)")
TABLE = re.compile(r"(?<=<!-- sweep -->\n).*?(?=<!-- /sweep -->)", re.DOTALL)

# What is in those headers and no layer that computes, or what others of them are made of.
NO_LAYERS = {
    "model": "a whole network",
    "quant_stub": "where the quantized region begins",
    "dequant_stub": "where the quantized region ends",
    "named": "gives a name",
    "input": "what goes in",
    "indices": "what goes in",
    "attention_mask": "reads indices: workflow/convert_masked_attention.cpp",
    "from": "goes on from an earlier value",
    "output": "what comes out",
    "recurrent_geometry": "the extents of a recurrent layer",
    "squeeze_excite": "convolutions and a mul: workflow/convert_layer_blocks.cpp",
}
# Operators of docs/operators.md that are no layers of a model, or read indices, and so have their own tests of accuracy.
BY_THEMSELVES = {
    "embedding": "workflow/convert_embedding.cpp",
    "embedding_bag": "workflow/convert_embedding_bag.cpp",
    "attention_mask": "workflow/convert_masked_attention.cpp",
    "streaming": "workflow/streaming.cpp",
    "dynamic_linear": "workflow/quantize_dynamic.cpp",
    "dynamic_conv1d": "workflow/quantize_dynamic.cpp",
    "dynamic_conv_transpose1d": "workflow/quantize_dynamic.cpp",
    "dynamic_lstm": "layer/recurrent.cpp",
    "dynamic_gru": "layer/recurrent.cpp",
    "dynamic_lstm_cell": "layer/recurrent.cpp",
    "dynamic_gru_cell": "layer/recurrent.cpp",
    "dynamic_rnn_cell": "layer/recurrent.cpp",
    "quant_stub": "workflow/fuse.cpp",
    "dequant_stub": "workflow/fuse.cpp",
    "shape": "core/shape.cpp",
    "streaming": "workflow/streaming.cpp",
}


def layers() -> set[str]:
    """Names of the types that append rows: they have `lower`, or derive from one that does."""
    bodies: dict[str, str] = {}
    for header in HEADERS + sorted((INCLUDE / "operators").glob("*.hpp")):
        text = header.read_text(encoding="utf-8")
        text = re.sub(r"namespace (?:zp::inline v0::)?(operators|detail) \{\n.*?\n\}  // namespace (?:zp::inline v0::)?\1\n", "", text, flags=re.DOTALL)
        text = re.sub(r"//[^\n]*", "", text)
        parts = re.split(r"^(?:template <.*?>\s+)?struct (\w+)", text, flags=re.MULTILINE)
        bodies.update(zip(parts[1::2], parts[2::2]))
    found: set[str] = set()
    while True:
        more = {
            name
            for name, body in bodies.items()
            if " lower(" in body or (base := BASE.match(body)) and (base[1] in found or base[1].endswith("_layer"))
        }
        if more == found:
            return found
        found = more


def rows_of_operators() -> list[tuple[str, set[str]]]:
    """Each row of docs/operators.md that says yes: its operator, and the names that it has here."""
    rows = []
    for line in (ROOT / "docs/operators.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) < 5 or not cells[0].startswith("`"):
            continue
        ours, status = cells[-4], cells[-3]
        if len(cells) == 6:
            ours, status = cells[2], cells[3]
        if not status.startswith("yes"):
            continue
        names = set(re.findall(r"`(\w+)`", ours)) - {"fuse"}
        if "the same" in ours:
            names |= set(re.findall(r"`(\w+)`", cells[0]))
        rows.append((cells[0], names or set(re.findall(r"`(\w+)`", status))))
    return rows


def sweep() -> tuple[list[str], set[str]]:
    """The names of all entries, and all layers that they are made of."""
    names, used = [], set()
    for source in sorted((ROOT / "tests/workflow").glob("operator_sweep*.cpp")):
        text = source.read_text(encoding="utf-8")
        names += re.findall(r'\b(?:entry|behind_conv)<"([^"]+)"', text)
        used |= set(re.findall(r"\bzp::(\w+)", text))
    return names, used


def update(program: str) -> None:
    env = dict(os.environ, ZEROPOINT_PRINT_SWEEP="1")
    output = subprocess.run([program, "-tc=operator sweep*"], env=env, check=True, capture_output=True, text=True).stdout
    rows = [line for line in output.splitlines() if line.startswith("| `")]
    table = "\n".join(["| layer | int8 beside float32 |", "|---|---|", *rows, ""])
    PAGE.write_text(TABLE.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> int:
    if sys.argv[1:2] == ["--update"]:
        update(sys.argv[2])
    names, used = sweep()
    errors = [f"two entries of the sweep are named {name!r}" for name in sorted(set(names)) if names.count(name) > 1]
    all_layers = layers()
    errors += [
        f"layer {name}: add an entry to tests/workflow/operator_sweep*.cpp"
        for name in sorted(all_layers - used - NO_LAYERS.keys())
    ]
    errors += [f"{name} is no layer any more" for name in sorted(NO_LAYERS.keys() - all_layers)]
    rows = rows_of_operators()
    for operator, ours in rows:
        if not ours & used and not ours & BY_THEMSELVES.keys():
            errors.append(f"docs/operators.md: {operator} says yes, but the sweep has no layer {sorted(ours)}")
    told = re.findall(r"^\| `([^`]+)`", "".join(TABLE.findall(PAGE.read_text(encoding="utf-8"))), re.MULTILINE)
    for name in sorted(set(names) ^ set(told)):
        errors.append(f"{PAGE.name} and the sweep differ in {name!r}: run scripts/check_operator_sweep.py --update")
    print("\n".join(errors) or f"{len(names)} entries, {len(all_layers)} layers, {len(rows)} operators")
    return 1 if errors or len(all_layers) < 100 or len(rows) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
