# SPDX-License-Identifier: BSD-3-Clause
"""A network through both front ends: what is imported, or why it is not, and whether both give the same table."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from acceptance.networks import Example
from zeropoint import __version__
from zeropoint.compiler import without_comments
from zeropoint.emit.header import identifier, write_header
from zeropoint.emit.structure import Structure
from zeropoint.errors import ImportRefused, ZeropointError
from zeropoint.importer import lowered_of, save_tensors
from zeropoint.ir import Graph
from zeropoint.layers import Name, Options
from zeropoint.lower import Lowered
from zeropoint.verify import onnx_runner, torch_runner


@dataclass
class Front:
    """What came of one front end. record is what is kept."""

    record: dict[str, Any]
    graph: Graph | None = None
    lowered: Lowered | None = None
    structure: Structure | None = None
    header: Path | None = None
    runner: Any = None


def from_torch(name: str, module: Any, example: Example, folder: Path) -> Front:
    """By torch.export."""
    from zeropoint.front.torch_reader import read_module

    return imported(name, folder, lambda: (read_module(module, example)[0], torch_runner(module)))


def from_onnx(name: str, module: Any, example: Example, folder: Path, sources: str) -> Front:
    """By torch.onnx.export, whose file is kept while what it is made of stays the same."""
    from zeropoint.front.onnx_reader import read_onnx

    path = folder / f"{sources}.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.onnx*"):
            old.unlink()
        try:
            logging.disable(logging.ERROR)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), \
                    warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.onnx.export(module, example, str(path), dynamo=True)
        except Exception as error:  # of any kind: it is the exporter's
            text = str(error).strip().splitlines()
            return Front({"imported": False, "reasons": [f"torch.onnx does not export it: {text[0] if text else error!r}"]})
        finally:
            logging.disable(logging.NOTSET)
    return imported(name, folder, lambda: (read_onnx(path), onnx_runner(path)))


def imported(name: str, folder: Path, read: Any) -> Front:
    """Reads, lowers and writes a network; seconds are of these, without the compiler."""
    start = time.perf_counter()
    try:
        graph, runner = read()
        nodes = len(graph.nodes)
        middle = time.perf_counter()
        lowered = lowered_of(graph)
        structure = Structure(lowered)
        name = identifier(name)
        text = write_header(lowered, structure, name, graph.source, __version__, list(graph.notes)).text
    except ImportRefused as refused:
        return Front({"imported": False, "reasons": reasons_of(refused)})
    except ZeropointError as error:
        return Front({"imported": False, "reasons": [str(error).splitlines()[0][:200]]})
    seconds = time.perf_counter() - start
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / f"{name}.hpp"
    header.write_text(text)
    save_tensors(header.with_suffix(".safetensors"), lowered.tensors)
    body = without_comments(text)
    digest = hashlib.sha256(body.encode() + header.with_suffix(".safetensors").read_bytes()).hexdigest()[:16]
    record = {"imported": True, "nodes": nodes, "rows": len(lowered.rows), "moves": lowered.moves,
              "lines": len(text.splitlines()), "seconds": round(seconds, 1),
              "lowering": round(time.perf_counter() - middle, 1), "table": table_of(lowered), "files": digest}
    return Front(record, graph, lowered, structure, header, runner)


def reasons_of(refused: ImportRefused) -> list[str]:
    """`aten.cumsum.default x2 (op): no layer computes this operator`, one for each kind."""
    found: Counter[tuple[str, str, str]] = Counter()
    where: dict[tuple[str, str, str], str] = {}
    for problem in refused.problems:
        key = (problem.op, problem.reason, problem.text)
        found[key] += 1
        where.setdefault(key, f"{problem.node} {problem.source}".strip())
    return [f"{op} x{count} ({reason}): {text} [{where[op, reason, text]}]"
            for (op, reason, text), count in found.most_common()]


def table_of(lowered: Lowered) -> str:
    """A digest of the table once its norms are folded, without names and with the operands of sums in one order.

    PyTorch's ONNX exporter folds batch norms into convolutions, so that the two front ends differ in that.
    """
    digests: dict[int, str] = {}
    outputs = []
    for row in lowered.rows:
        inputs = [digests[id(x)] for x in row.inputs]
        if row.layer is not None and row.layer.template in ("zp::batch_norm2d", "zp::batch_norm1d"):
            digests[id(row)] = inputs[0]
            continue
        text = row.kind
        if row.layer is not None:
            template = row.layer.template
            if template in ("zp::add", "zp::mul"):
                inputs.sort()
            args = [tuple(f for f in arg.fields if f[0] != "bias") if isinstance(arg, Options) else
                    getattr(arg, "value", getattr(arg, "text", "")) for arg in row.layer.args if not isinstance(arg, Name)]
            text = f"{template} {args}"
        digest = hashlib.sha256(repr((text, row.shape, inputs)).encode()).hexdigest()[:16]
        digests[id(row)] = digest
        if row.kind == "output":
            outputs.append(digest)
    return hashlib.sha256(repr(outputs).encode()).hexdigest()[:16]
