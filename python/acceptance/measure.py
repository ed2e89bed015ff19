# SPDX-License-Identifier: BSD-3-Clause
"""Compiles an imported network once and runs it in float beside its source, and in int8 beside its float form."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from acceptance.fronts import Front
from acceptance.networks import Example, arrays_of
from zeropoint.native import build
from zeropoint.quantize import nearness
from zeropoint.verify import PASSES, Comparison, check, compare, inputs_for


def measured(front: Front, example: Example, with_int8: bool) -> dict[str, Any]:
    """difference, cosine, warnings, compile (seconds); int8: snr and cosine."""
    assert front.graph is not None and front.lowered is not None and front.header is not None
    start = time.perf_counter()
    if with_int8:
        net = build(front.header)
        seconds = time.perf_counter() - start
        found = float_of(front, net, example)
        if found.difference > PASSES:  # once more, with all values in between
            found = program_of(front, example)
        result = result_of(found, seconds)
        result["int8"] = int8_of(front, net)
        return result
    found = program_of(front, example)
    return result_of(found, time.perf_counter() - start)


def program_of(front: Front, example: Example) -> Comparison:
    """By the importer's own check."""
    return check(front.header, front.header.with_suffix(".safetensors"), front.header.stem,  # type: ignore
                 front.graph, front.lowered, front.structure, front.runner, lambda text: None,  # type: ignore
                 arrays_of(example))


def result_of(found: Comparison, seconds: float) -> dict[str, Any]:
    """As it is kept."""
    return {"difference": float(f"{found.difference:.2g}"), "cosine": round(found.cosine, 7), "first": found.first,
            "warnings": found.warnings, "compile": round(seconds)}


def float_of(front: Front, net: Any, example: Example) -> Comparison:
    """The same inputs and figures as the importer's check has."""
    sets = inputs_for(front.graph, 3, arrays_of(example))  # type: ignore[arg-type]
    names = [port.name for port in net.inputs]
    results = []
    for arrays in sets:
        y = net(*(arrays[name] for name in names))
        results.append(y if isinstance(y, list) else [y])
    expected = [front.runner(front.graph, arrays) for arrays in sets]
    return compare(results, expected, [port.name for port in net.outputs])


def int8_of(front: Front, net: Any) -> dict[str, float]:
    """Calibrated with eight inputs, compared over four others: normal numbers all, as batch norms had for their statistics."""
    sets = inputs_for(front.graph, 24, None)[::2]  # type: ignore[arg-type]
    names = [port.name for port in net.inputs]
    for arrays in sets[:8]:
        net.calibrate(*(arrays[name] for name in names))
    net.convert()
    reals, codes = [], []
    for arrays in sets[8:]:
        for run, kept in ((net, reals), (net.run_int8, codes)):
            y = run(*(arrays[name] for name in names))
            kept.append(np.concatenate([a.reshape(-1) for a in y]) if isinstance(y, list) else y.reshape(-1))
    snr, cosine, _ = nearness(reals, codes)
    return {"snr": round(snr, 1), "cosine": round(cosine, 4)}
