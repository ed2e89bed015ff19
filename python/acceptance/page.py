# SPDX-License-Identifier: BSD-3-Clause
"""Results, a line of JSON for each network, and the page that is written from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "importing.md"
BEGIN = """# What is imported

Well-known networks with random weights, each from `torch.export` and from ONNX (PyTorch's exporter, which folds batch norms
and decomposes some operators), written by

    python python/acceptance/run.py            # runs what changed, --help for parts of it
    python python/acceptance/run.py --write    # this page

- *difference*: the largest between the compiled network and its source (PyTorch, ONNX Runtime) over three inputs, as a share of
  the largest value of the output. 1e-4 passes.
- *table*: whether both ways give one table of rows, once batch norms are folded.
- *nodes*: operators of the source. *rows*: layers here. *lines*: of the header. From torch.export.
- *seconds*: of reading, lowering and writing, without the compiler.
- *int8*: SNR and the least cosine to the float network over four inputs, under `default_qconfig`, calibrated with eight others.
  Weights and inputs are random, which is harder than what is trained: [models.md](models.md#what-they-cost-and-how-near-they-are-to-pytorch).
- Inputs are small, 32 to 128 pixels, so that the means in front of classifiers are of few pixels, whose errors average out less.
  Ten mobile networks have 128, most others 48 to 80: their int8 figures do not compare with one another.
- *not run*: read, lowered and written, but not compiled yet.
"""


def read(family: str) -> dict[str, dict[str, Any]]:
    """The kept results of a family, by name."""
    path = RESULTS / f"{family}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {record["name"]: record for record in map(json.loads, lines)}


def keep(family: str, record: dict[str, Any], order: list[str]) -> None:
    """Puts one result in its place."""
    RESULTS.mkdir(exist_ok=True)
    records = read(family) | {record["name"]: record}
    lines = [json.dumps(records[name], sort_keys=True) for name in order if name in records]
    path = RESULTS / f"{family}.jsonl"
    beside = path.with_suffix(".new")
    beside.write_text("\n".join(lines) + "\n")
    beside.replace(path)


def verdict(record: dict[str, Any]) -> str:
    """`passes`, `refused`, or what is wrong."""
    wrong = []
    for front in ("torch", "onnx"):
        found = record.get(front, {})
        if found.get("crash"):
            wrong.append(f"{front}: {found['crash']}")
        elif found.get("imported") and record["expect"] == "refused":
            wrong.append(f"{front}: imported, which was not expected")
        elif not found.get("imported") and record["expect"] == "imports":
            wrong.append(f"{front}: refused")
        elif found.get("difference", 0) > 1e-4:
            wrong.append(f"{front}: differs by {found['difference']:.0e}")
    if wrong:
        return "; ".join(wrong)
    return "passes" if record.get("torch", {}).get("imported") else "refused"


def difference(found: dict[str, Any]) -> str:
    """Of one front end."""
    if not found.get("imported"):
        return "refused"
    return f"{found['difference']:.0e}" if "difference" in found else "not run"


def row(name: str, record: dict[str, Any]) -> str:
    """Of the table."""
    torch, onnx, int8 = record["torch"], record["onnx"], record.get("int8")
    same = "one" if torch["table"] == onnx.get("table") else "two" if onnx.get("imported") else ""
    numbers = f"{int8['snr']:.1f} dB, {int8['cosine']:.4f}" if int8 else ""
    return (f"| `{name}` | {difference(torch)} | {difference(onnx)} | {same} | {torch['nodes']} | {torch['rows']} | "
            f"{torch['lines']} | {torch['seconds']:.1f} | {numbers} |")


def page(families: list[tuple[str, list[str]]]) -> str:
    """The whole text."""
    lines = [BEGIN]
    records = {(family, name): record for family, names in families for name, record in read(family).items() if name in names}
    passed = [r for r in records.values() if r["torch"].get("imported") and r["torch"].get("difference", 1) <= 1e-4]
    both = [r for r in passed if r["onnx"].get("imported") and r["onnx"].get("difference", 1) <= 1e-4]
    refused = [r for r in records.values() if not r["torch"].get("imported")]
    lines.append(f"{len(passed)} of {len(records)} networks pass from torch.export, {len(both)} from ONNX as well; "
                 f"{len(refused)} are refused.\n")
    for family, names in families:
        here = [(name, records[family, name]) for name in names if (family, name) in records]
        imported = [(name, r) for name, r in here if r["torch"].get("imported")]
        if imported:
            lines += [f"## {family}\n", "| network | torch.export | ONNX | table | nodes | rows | lines | seconds | int8 |",
                      "|---|--:|--:|---|--:|--:|--:|--:|--:|"]
            lines += [row(name, r) for name, r in imported] + [""]
    reasons = [f"- `{name}` from {label}: " + "; ".join(r[front]["reasons"][:6])
               + ("; ..." if len(r[front]["reasons"]) > 6 else "")
               for (_, name), r in records.items() for front, label in (("torch", "torch.export"), ("onnx", "ONNX"))
               if r[front].get("reasons")]
    if reasons:
        lines += ["## What is refused\n", *reasons, ""]
    return "\n".join(lines)
