# SPDX-License-Identifier: BSD-3-Clause
"""A trained network, imported and run call by call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from trained_inputs import Sequences
from trained_networks import Material, Outputs, Trained

Run = Callable[[tuple[np.ndarray, ...]], Outputs]


def imported(network: Trained, material: Material, folder: Path) -> Path:
    """The header of its import, which is kept in the folder. `zeropoint` must be there to import."""
    import zeropoint

    out = folder / "imports" / network.name
    headers = sorted(out.glob("*.hpp"))
    if headers and headers[0].stat().st_mtime > material.model.stat().st_mtime:
        return headers[0]
    found = zeropoint.from_onnx(material.model, out, input_shapes=network.shapes, verify=False,  # docs/import.md has the check
                                input_values={name: np.array(value) for name, value in network.values.items()},
                                stateful="frames" if network.states else 0)
    return Path(found.header)


def state_shapes(network: Trained) -> dict[int, tuple[int, ...]]:
    """Of the inputs that are states."""
    shapes = list(network.shapes.values())
    return {at: shapes[at] for at in network.states.values()}


def run_all(network: Trained, sequences: Sequences, run: Run, begin: Callable[[], None] = lambda: None) -> \
        tuple[list[tuple[np.ndarray, ...]], list[Outputs]]:
    """Each call's whole inputs, and its outputs without states, which begin with zeros in every sequence."""
    given, made = [], []
    for sequence in sequences:
        begin()
        states = {at: np.zeros(shape, np.float32) for at, shape in state_shapes(network).items()}
        for call in sequence:
            arrays = list(call)
            for at in sorted(states):
                arrays.insert(at, states[at])
            outputs = run(tuple(arrays))
            for output, at in network.states.items():
                states[at] = outputs[output].reshape(states[at].shape)
            given.append(tuple(arrays))
            made.append([y for i, y in enumerate(outputs) if i not in network.states])
    return given, made
