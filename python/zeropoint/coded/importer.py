# SPDX-License-Identifier: BSD-3-Clause
"""The import of a model that is integers: a header with its qconfig, an int8 file, and a check of every code."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

from zeropoint import __version__
from zeropoint.coded.check import CodeComparison, check_codes
from zeropoint.coded.file import save_int8, tensors_of
from zeropoint.coded.grids import dtype_of, insert_changes
from zeropoint.coded.qconfig import appendix_of
from zeropoint.coded.stage import describe_stage
from zeropoint.emit.header import identifier, write_header
from zeropoint.emit.structure import Structure
from zeropoint.errors import CheckFailed
from zeropoint.files import text_of_header
from zeropoint.importer import Imported, lowered_of
from zeropoint.ir import Graph
from zeropoint.lower.context import Lowered
from zeropoint.replacing import replacing


def finish_coded(graph: Graph, source: Any, out: str | Path, name: str, verify: bool, force: bool,
                 progress: Callable[[str], None] | None) -> Imported:
    """Lowers, writes beside the target, checks, and renames. source: front.litert.LitertSource or front.qdq.OnnxSource."""
    say = progress or (lambda text: None)
    name = identifier(name or graph.title)
    say(f"read {graph.source}: {len(graph.nodes)} nodes, coded")
    dtype = dtype_of(graph, source.dtypes)
    insert_changes(graph)
    lowered = lowered_of(graph)
    structure = Structure(lowered)
    describe_ports(graph, lowered, source)
    appendix = appendix_of(graph, name, dtype, source.policy, source.takes_codes, source.gives_codes)
    header_path, weights_path = Path(out) / f"{name}.hpp", Path(out) / f"{name}.int8.safetensors"
    notes = list(graph.notes)

    def text() -> str:
        return write_header(lowered, structure, name, graph.source, __version__, notes, appendix).text

    say(f"describe {header_path.name}")
    stage = describe_stage(header_path.name, text(), name, lowered, structure)
    with replacing(weights_path, header_path) as folder:
        weights, header = folder / weights_path.name, folder / header_path.name
        save_int8(weights, tensors_of(stage, graph, lowered, source), stage.described["signature"], name)
        header.write_text(text())
        result: CodeComparison | None = None
        if verify:
            result = check_codes(header, weights, name, graph, lowered, stage, source, say)
            notes.append(result.comment())
            notes.extend(row.text() for row in result.sources)
            if not result.passed and not force:
                raise CheckFailed(("" if progress else result.report() + "\n") + "Nothing was written; --force writes it all the same.")
        else:
            notes.append("Not checked beside its source.")
        header.write_text(text())
    say(f"wrote {header_path} and {weights_path}")
    return Imported(header_path, weights_path, name, len(lowered.rows), result, notes)


def describe_ports(graph: Graph, lowered: Lowered, source: Any) -> None:
    """Says of ports that take or give codes what these are."""
    for ports, values, coded in ((lowered.inputs, graph.inputs, source.takes_codes),
                                 (lowered.outputs, graph.outputs, source.gives_codes)):
        for port, value in zip(ports, values):
            if value.coding is not None and port.name in coded:
                port.codes = value.coding.dtype
                port.note = f", scale {value.coding.grid[1]:.9g}, zero point {value.coding.grid[2]}"


def verify_coded(graph: Graph, source: Any, header: Path, name: str,
                 progress: Callable[[str], None] | None) -> CodeComparison:
    """Checks a header and the int8 file beside it, whoever has changed them, against a model."""
    dtype_of(graph, source.dtypes)
    insert_changes(graph)
    lowered = lowered_of(graph)
    structure = Structure(lowered)
    stage = describe_stage(header.name, text_of_header(header), name, lowered, structure)
    return check_codes(header, header.with_suffix(".int8.safetensors"), name, graph, lowered, stage, source,
                       progress or (lambda text: None))
