# SPDX-License-Identifier: BSD-3-Clause
"""ONNX's own node tests: what is imported computes their outputs; all else is refused, never wrong and never a crash."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from changes import turn_now
from many_networks import Network, difference, imported, run_together

from zeropoint.errors import ImportRefused, ZeropointError

EXPECTED = {False: 100, True: 390}  # imported at least, of onnx 1.23.2, and with --all-nodes


def is_coarse(values: np.ndarray) -> bool:
    """Of floats of 16 bits or fewer, whose references are rounded more than what is compared."""
    return values.dtype.kind not in "iub" and values.dtype.itemsize <= 2


def cases() -> list[Any]:
    """Those with a data set."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case for case in collect_testcases(None)
                if case.model is not None and case.data_sets
                and not any(is_coarse(np.asarray(out)) for out in case.data_sets[0][1] if not isinstance(out, list))]


def with_constants(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    """All inputs but the first as initializers, as models have weights, axes and extents."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.ir_version = max(made.ir_version, 4)  # before, initializers were inputs too
    for value in list(made.graph.input)[1:]:
        if value.name in inputs:
            made.graph.initializer.append(onnx.numpy_helper.from_array(inputs[value.name], value.name))
            made.graph.input.remove(value)
    return made


def imported_case(case: Any, path: Path, inputs: dict[str, np.ndarray], is_all: bool) -> Network:
    """As it is; of all, else with its parameters as constants. Raises what the last of these does."""
    onnx.save(case.model, path)
    if not is_all:
        return imported(path, inputs)
    try:
        return imported(path, inputs, batches=True)
    except ZeropointError:
        if len(inputs) < 2:
            raise
        onnx.save(with_constants(case.model, inputs), path)
        return imported(path, inputs, batches=True)


def test_node_tests(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest,
                    capsys: pytest.CaptureFixture) -> None:
    """Each output beside the one that ONNX gives; prints how many were imported, and refused for which reason."""
    folder, is_all = tmp_path_factory.mktemp("onnx"), request.config.getoption("--all-nodes")
    parts = request.config.getoption("--nodes-in-turn")
    networks: list[Network] = []
    expected, refused = {}, Counter()
    for case in cases()[turn_now()[0] % parts::parts]:
        path = folder / f"{case.name}.onnx"
        given = zip((v.name for v in case.model.graph.input), case.data_sets[0][0])
        inputs = {name: np.asarray(value) for name, value in given if isinstance(value, (np.ndarray, np.generic))}
        try:
            networks.append(imported_case(case, path, inputs, is_all))
            expected[case.name] = case.data_sets[0][1]
        except ImportRefused as error:
            refused[error.problems[0].reason] += 1
        except ZeropointError:
            refused["the whole"] += 1
    found = run_together(networks, folder, ("-O0",))
    wrong = [f"{name}: {why}" for name, reference in expected.items() if (why := difference(found[name], reference))]
    with capsys.disabled():
        reasons = ", ".join(f"{reason} {count}" for reason, count in refused.most_common())
        print(f"\nONNX's node tests: {len(networks) - len(wrong)} passed, {len(wrong)} wrong, {refused.total()} refused "
              f"({reasons})")
    assert not wrong, "\n".join(wrong)
    assert parts > 1 or len(networks) >= EXPECTED[is_all]
