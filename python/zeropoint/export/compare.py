# SPDX-License-Identifier: BSD-3-Clause
"""Exported graphs beside the C++ network: how many codes differ, row by row and in the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zeropoint.errors import ZeropointError, need
from zeropoint.export.emitter import Emitter
from zeropoint.export.graph import Value
from zeropoint.export.int8_library import Int8Library
from zeropoint.export.int8_model import Int8Model


@dataclass
class Difference:
    """Values of a row, or of an output, that two systems have otherwise."""

    name: str
    differing: int
    count: int
    largest: float


def session_of(model: Any, *, optimize: bool) -> Any:
    """ONNX Runtime on the processor."""
    ort = need("onnxruntime", "verify")
    options = ort.SessionOptions()
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of types of its own
        raise ZeropointError(f"ONNX Runtime does not take this graph: {error}; --no-verify writes it without a "
                             "comparison") from error


def made_up_inputs(library: Int8Library, model: Int8Model, seed: int) -> list[np.ndarray]:
    """One of each port: of floats a little beyond the range that was calibrated, of indices what their tables have."""
    rng = np.random.default_rng(seed)
    arrays = []
    for port, described in zip(library.ports[0], model.inputs):
        node = model.nodes[described["node"]]
        if node.storage == "int32":
            below = port.below or least_bound(model, described["node"])
            arrays.append(rng.integers(0, below, port.extents).astype(np.int32))
        elif node.storage == "float32":
            reader = next((n for n in model.nodes if node.number in n.inputs and n.is_codes), None)
            scale, zero = (1.0, 128) if reader is None else (float(model.range_of(reader.number).scale),
                                                             model.range_of(reader.number).zero_point)
            arrays.append(((rng.uniform(-8, 264, port.extents) - zero) * scale).astype(np.float32))
        else:
            low = node.quant_min
            arrays.append(rng.integers(low, node.quant_max + 1, port.extents).astype(
                np.int8 if node.storage == "int8" else np.uint8))
    return arrays


def least_bound(model: Int8Model, input_row: int) -> int:
    """Below what all indices of an input must be."""
    bounds = [n.raw["indices"]["below"] for n in model.nodes if input_row in n.inputs and "indices" in n.raw]
    return min(bounds, default=2)


def feeds_of(library: Int8Library, arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    """What ONNX Runtime takes."""
    return {port.name: array.reshape(port.extents) for port, array in zip(library.ports[0], arrays)}


def differences(names: list[str], ours: list[np.ndarray], theirs: list[np.ndarray], steps: list[float]) -> list[Difference]:
    """Of arrays of one order; `steps` is what one code is worth."""
    found = []
    for name, a, b, step in zip(names, ours, theirs, steps):
        apart = np.abs(a.astype(np.float64).reshape(-1) - b.astype(np.float64).reshape(-1))
        found.append(Difference(name, int((apart > step / 2).sum() if step else (apart != 0).sum()), apart.size,
                                float(apart.max(initial=0)) / (step or 1)))
    return found


def rows_of(emitter: Emitter) -> list[tuple[int, str, str]]:
    """Every row that has a tensor of its own in the graph: its number, the tensor, the layout."""
    made = {name for node in emitter.graph.nodes for name in node.output}
    rows = []
    for number, value in emitter.values.items():
        for layout, name in value.forms.items():
            if name in made and emitter.model.nodes[number].storage in ("uint8", "int8", "float32"):
                rows.append((number, name, layout))
                break
    return rows


def in_memory(values: np.ndarray, value: Value, layout: str) -> np.ndarray:
    """A tensor of the graph in the order of memory."""
    extents = value.flattened or value.extents
    if layout == "last":
        return values.reshape(-1)
    depth, height, width, channels = extents
    return values.reshape(channels, depth, height, width).transpose(1, 2, 3, 0).reshape(-1)


def compare_rows(emitter: Emitter, library: Int8Library, arrays: list[np.ndarray], *, optimize: bool = False) -> list[Difference]:
    """Every row of the graph beside every row of C++, in codes."""
    rows = rows_of(emitter)
    names = sorted({name for _, name, _ in rows})
    session = session_of(emitter.finish("rows", names), optimize=optimize)
    theirs = dict(zip(names, session.run(names, feeds_of(library, arrays))))
    ours: dict[int, np.ndarray] = {}
    library.run(arrays, ours)
    found = []
    for number, name, layout in rows:
        node = emitter.model.nodes[number]
        if not node.is_codes and theirs[name].dtype != np.float32:
            continue  # of a dequantize whose reader has it itself
        mine = ours[number].astype(np.float64) - (node.lowest if node.is_codes and not node.op.get("is_output") else 0)
        other = in_memory(theirs[name], emitter.values[number], layout)
        if theirs[name].dtype == np.int8 and not node.op.get("is_output"):
            other = other.astype(np.float64) + 128
        found += differences([f"{number} {node.title}"], [mine], [other], [0])
    return found
