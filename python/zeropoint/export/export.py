# SPDX-License-Identifier: BSD-3-Clause
"""An int8 network to a file of another system, run beside the C++ network before it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import numpy as np

from zeropoint.errors import CheckFailed, ZeropointError
from zeropoint.export.compare import Difference, compare_rows, differences, feeds_of, made_up_inputs, session_of
from zeropoint.export.emitter import Emitter
from zeropoint.export.encodings import VERSIONS, emit_real, encodings_text
from zeropoint.export.int8_library import Int8Library
from zeropoint.export.int8_model import Int8Model, read_model
from zeropoint.export.integer import emit_integer
from zeropoint.export.qdq import emit_qdq
from zeropoint.export.writer import write_model
from zeropoint.replacing import check_writable, replacing

MODES = ("integer", "qdq")


@dataclass
class Exported:
    """A graph that was written, and how it compares with the C++ network."""

    file: Path
    nodes: int
    inputs: int = 0
    outputs: list[Difference] = field(default_factory=list)  # of ONNX Runtime, without optimizations
    optimized: list[Difference] = field(default_factory=list)
    rows: list[Difference] = field(default_factory=list)
    exact_channels: tuple[int, int] = (0, 0)  # of QDQ: multipliers that ONNX Runtime has as we do, and all

    def report(self) -> str:
        """For the terminal."""
        if not self.inputs:
            return f"wrote {self.file}: {self.nodes} nodes, not compared"
        lines = [f"compared with ONNX Runtime, {self.inputs} inputs:"]
        for name, found in (("without optimizations", self.outputs), ("with all optimizations", self.optimized)):
            lines.append(f"  outputs {name}: " + counted(found))
        lines.append(f"  codes of all {len(self.rows)} rows, one input: " + counted(self.rows))
        for row in sorted((r for r in self.rows if r.differing), key=lambda r: -r.differing)[:5]:
            lines.append(f"    {row.name}: {row.differing} of {row.count}, by {row.largest:g} at most")
        if self.exact_channels[1]:
            lines.append("  multipliers of channels that are equal: {} of {}".format(*self.exact_channels))
        return "\n".join([*lines, f"wrote {self.file}: {self.nodes} nodes"])


def counted(found: list[Difference]) -> str:
    """How many values differ, and by how many codes at most."""
    differing, count = sum(d.differing for d in found), sum(d.count for d in found)
    largest = max((d.largest for d in found), default=0)
    return f"{differing} of {count} codes differ" + (f", by {largest:g} at most" if differing else "")


def opened(header: str | Path, int8: str | Path, qconfig: str, net: str, say: Callable[[str], None]) -> tuple[
        Int8Library, Int8Model]:
    """The compiled network with its file loaded, and the file's numbers."""
    say(f"compile {Path(header).name} under {qconfig}")
    library = Int8Library(header, qconfig, net)
    library.load(int8)
    return library, read_model(library.description, int8)


def steps_of(library: Int8Library, model: Int8Model) -> list[float]:
    """What a code of each output is worth; 0 where the values themselves are compared."""
    steps = []
    for port in library.description["outputs"]:
        row = model.nodes[port["node"]]
        while row.op.get("is_output") or row.kind == "dequantize":
            row = model.nodes[row.inputs[0]]
        steps.append(float(model.range_of(row.number).scale) if row.is_codes and not model.nodes[port["node"]].is_codes else 0)
    return steps


def compared(emitter: Emitter, made: Any, library: Int8Library, inputs: list[list[np.ndarray]]) -> tuple[
        list[Difference], list[Difference]]:
    """Outputs over all inputs: without optimizations, and with all."""
    names, steps = [p.name for p in library.ports[1]], steps_of(library, emitter.model)
    both = []
    for optimize in (False, True):
        session = session_of(made, optimize=optimize)
        total: list[Difference] = []
        for arrays in inputs:
            total += differences(names, library.run(arrays), session.run(None, feeds_of(library, arrays)), steps)
        both.append(total)
    return both[0], both[1]


def export_onnx(header: str | Path, int8: str | Path, out: str | Path, *, mode: str = "integer",
                qconfig: str = "default_qconfig", net: str = "", signed: bool = False, verify: bool = True,
                force: bool = False, inputs: int = 4, progress: Callable[[str], None] | None = None) -> Exported:
    """Writes an int8 network as ONNX.

    header: an imported one, or any with a zp::model, `net` saying which where there are several. int8: the file that belongs
    to it under `qconfig`. mode: "integer", the same codes by construction, or "qdq", QuantizeLinear and DequantizeLinear, with
    signed codes where `signed`. With `verify` it is run in ONNX Runtime beside the C++ network; an integer graph that differs
    raises CheckFailed, and is written only where `force` says so. Raises ExportRefused with all rows that cannot be exported.
    """
    say = progress or (lambda text: None)
    if mode not in MODES:
        raise ZeropointError(f"{mode}: an ONNX graph is one of {', '.join(MODES)}")
    check_writable(Path(out))
    library, model = opened(header, int8, qconfig, net, say)
    emitter: Emitter
    emitter = emit_integer(model, library.ports) if mode == "integer" else emit_qdq(model, library.ports, signed=signed)
    made = emitter.finish(library.net)
    result = Exported(Path(out), len(made.graph.node))
    if mode == "qdq":
        result.exact_channels = (emitter.exact_channels, emitter.channels)
    if verify:
        say(f"compare {inputs} inputs")
        arrays = [made_up_inputs(library, model, seed) for seed in range(inputs)]
        result.inputs = inputs
        result.outputs, result.optimized = compared(emitter, made, library, arrays)
        result.rows = compare_rows(emitter, library, arrays[0])
        differing = sum(d.differing for d in (*result.outputs, *result.optimized, *result.rows))
        if mode == "integer" and differing and not force:
            raise CheckFailed(result.report().rsplit("\n", 1)[0] + "\nnothing was written: these must be equal")
    with replacing(Path(out)) as folder:
        write_model(folder / Path(out).name, made)
    return result


def export_encodings(header: str | Path, int8: str | Path, out: str | Path, *, versions: tuple[str, ...] = VERSIONS,
                     qconfig: str = "default_qconfig", net: str = "",
                     progress: Callable[[str], None] | None = None) -> list[Path]:
    """Writes NAME.onnx, a float graph, and NAME.VERSION.encodings with the ranges of its tensors: AIMET's formats.

    out: the .onnx file. Raises ExportRefused with all rows that cannot be exported.
    """
    say = progress or (lambda text: None)
    for version in versions:
        if version not in VERSIONS:
            raise ZeropointError(f"{version}: encodings have one of the versions {', '.join(VERSIONS)}")
    check_writable(Path(out))
    library, model = opened(header, int8, qconfig, net, say)
    emitter = emit_real(model, library.ports)
    made = emitter.finish(library.net)
    texts = {Path(out).with_suffix(f".{version}.encodings"): encodings_text(emitter, version) for version in versions}
    with replacing(Path(out), *texts) as folder:
        write_model(folder / Path(out).name, made)
        for path, text in texts.items():
            (folder / path.name).write_bytes(text.encode())
    return [Path(out), *texts]
