# SPDX-License-Identifier: BSD-3-Clause
"""Random valid ONNX graphs: what is imported computes what ONNX Runtime does; all else is refused, never wrong, never a crash.

pytest --graphs 500 runs so many; by default it is a few.
"""

from __future__ import annotations

import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from many_networks import Network, difference, imported, run_together
from random_graphs import OPERATORS, random_graph

from zeropoint.errors import ImportRefused, ZeropointError
from zeropoint.front.onnx_operators import CONVERTERS


def test_random_graphs(tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture) -> None:
    """Prints how many were imported, and refused for which reason; those that are wrong with their seeds."""
    count = request.config.getoption("--graphs")
    networks: list[Network] = []
    expected: dict[str, list[np.ndarray]] = {}
    refused: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(count):
        graph = random_graph(seed)
        path = tmp_path / f"seed_{seed}.onnx"
        onnx.save(graph.model, path)
        try:
            networks.append(imported(path, graph.inputs))
            expected[path.stem] = graph.outputs
            operators.update(set(graph.operators))
        except ImportRefused as error:
            refused[error.problems[0].reason] += 1
        except ZeropointError:
            refused["other"] += 1
        except Exception:
            wrong.append(f"{path.stem}: {traceback.format_exc()}")
    found = run_together(networks, tmp_path, ("-O0",))
    wrong += [f"{name}: {why}" for name, reference in expected.items() if (why := difference(found[name], reference))]
    with capsys.disabled():
        reasons = ", ".join(f"{reason} {number}" for reason, number in refused.most_common())
        print(f"\n{count} random graphs: {count - len(wrong) - refused.total()} passed, {len(wrong)} wrong, "
              f"{refused.total()} refused ({reasons}); {len(operators)} operators were imported")
    assert not wrong, "\n".join(wrong)
    assert refused.total() <= 0.3 * count


def test_operators_are_generated() -> None:
    """All that the importer converts, but for what jumps where values cross, old opsets, and what it always refuses."""
    import random_operators  # noqa: F401  (registers them)
    import zeropoint.front.onnx_layers  # noqa: F401

    discrete = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "Where", "ArgMax", "ArgMin",
                "OneHot"}
    missing = set(CONVERTERS) - set(OPERATORS) - discrete - {"Upsample", "LpPool", "Swish", "GatherND", "RMSNormalization"}
    assert not missing, f"give these a function in random_operators.py: {sorted(missing)}"
