# SPDX-License-Identifier: BSD-3-Clause
"""Times and checks every single layer."""
import argparse
import dataclasses

import numpy as np

import cases
import litert_peer
import ncnn_peer
import onnx_peer
import openvino_peer
import timing
import torch_peer
import zeropoint_peer


class Peak:
    """The machine's limit, seen in every round. kind: as zp_peak has it."""
    BYTES, FLOAT = 1, 2

    def __init__(self, library: zeropoint_peer.Library, kind: int = BYTES):
        self.library, self.kind, self.rates = library.c, kind, []

    def between_rounds(self) -> None:
        self.rates.append(self.library.zp_peak(self.kind) * 1e9)

    def result(self) -> dict[str, float]:
        return {"best": max(self.rates), "median": float(np.median(self.rates))}


def error_of(contender, expected: np.ndarray) -> int | None:
    """The largest difference of an output code; None of floats."""
    y = contender.output()
    return None if y.dtype != np.uint8 else int(np.abs(y.ravel().astype(int) - expected.ravel()).max())


def peers_of(runtimes, case: cases.Case, operands: cases.Operands) -> list:
    return [*onnx_peer.layers(runtimes.onnx, case, operands), *torch_peer.layers(case, operands),
            *litert_peer.layers(case, operands), *openvino_peer.layers(runtimes.openvino, case, operands),
            *ncnn_peer.layers(case, operands)]


def errors_of_peers(runtimes, case: cases.Case, operands: cases.Operands) -> dict[str, int]:
    """With weights as trained ones are, fewer sums saturate."""
    peers, expected = peers_of(runtimes, case, operands), cases.reference(case, operands)
    for peer in peers:
        peer.run(1)
    return {peer.name: error for peer in peers if (error := error_of(peer, expected)) is not None}


def compare_case(library, runtimes, case: cases.Case, seconds: float) -> dict:
    operands = cases.operands_of(case, "uniform")
    own = {weights: cases.operands_of(case, weights) for weights in cases.DISTRIBUTIONS}
    layers = {weights: zeropoint_peer.Layer(library, case, own[weights], f"zeropoint {weights}") for weights in own}
    peers = peers_of(runtimes, case, operands)
    chain = onnx_peer.chain(runtimes.onnx, case, operands)
    peak = Peak(library)
    timings = timing.interleaved([*layers.values(), *peers, *chain], seconds, after_round=peak.between_rounds)
    times = {name: dataclasses.asdict(timing) for name, timing in timings.items()}
    for one in chain:  # what a node costs more, without the call
        for kind in ("best", "median"):
            times[one.name][kind] = (times[one.name][kind] - times[one.single][kind]) / (one.nodes - 1)
    errors = {layer.name: error_of(layer, cases.reference(case, own[weights])) for weights, layer in layers.items()}
    expected = cases.reference(case, operands)
    errors |= {peer.name: error for peer in peers if (error := error_of(peer, expected)) is not None}
    return {"name": case.name, "index": case.index, "operations": case.operations, "peak": peak.result(), "times": times, "errors": errors,
            "errors with gaussian weights": errors_of_peers(runtimes, case, own["gaussian"]),
            "taken": {layer.name: layer.algorithm() for layer in layers.values()},
            "packed": {layer.name: layer.packed_bytes() for layer in layers.values()}}


def compare(library: zeropoint_peer.Library, runtimes, options: argparse.Namespace) -> dict:
    results = []
    for index, name in enumerate(library.case_names()):
        if options.asks_for(name):
            print(name, flush=True)
            case = cases.Case(index, name, *library.case_extents(index))
            results.append(compare_case(library, runtimes, case, options.seconds))
            wrong = [who for who, error in results[-1]["errors"].items() if who.startswith("zeropoint") and error != 0]
            if wrong:
                raise SystemExit(f"{name}: {', '.join(wrong)} differs from the definition")
    if not results:
        return {}
    empty = timing.interleaved([onnx_peer.overhead(runtimes.onnx)], options.seconds / 10)
    return {"layers": results,
            "overheads": {f"{who}, a call of an empty graph": dataclasses.asdict(time)
                          for who, time in empty.items()}}
