# SPDX-License-Identifier: BSD-3-Clause
"""Times small networks that run a step at a time: floats in, floats out, one step a call."""
import argparse
import dataclasses
import pathlib
import tempfile

import numpy as np
from safetensors.numpy import load_file

import onnx_streams
import rtneural
import timing
import torch_streams
import zeropoint_peer
from compare_layers import Peak

CHECKED_STEPS = 64  # of different inputs
FLOAT_LIMIT = 1e-4  # relative error of the outputs


def outputs_of(contender, inputs: np.ndarray) -> np.ndarray:
    """A sequence from its beginning."""
    contender.reset()
    first, outputs = contender.x.copy(), []
    for row in inputs:
        contender.x[...] = row.reshape(contender.x.shape)
        contender.run(1)
        outputs.append(contender.output().ravel().copy())
    contender.x[...] = first
    return np.array(outputs)


def compare_stream(library, runtimes, index: int, name: str, seconds: float, folder: pathlib.Path) -> dict:
    stream = zeropoint_peer.Stream(library, index)
    stream.save_float(folder / "stream.safetensors")
    weights = load_file(folder / "stream.safetensors")
    inputs = np.random.default_rng(index).standard_normal((CHECKED_STEPS, stream.inputs)).astype(np.float32)
    own = [zeropoint_peer.RunningStream(stream, inputs[0], kind, f"zeropoint {title}")
           for kind, title in (("int8", "int8"), ("float", "f32"))]
    peers = [*onnx_streams.sessions(runtimes.onnx, name, weights, inputs, stream.outputs, folder),
             torch_streams.Script(name, weights, inputs[:1])]
    if runtimes.rtneural is not None:
        peers.append(rtneural.Stream(runtimes.rtneural, name, weights, inputs[0], stream.outputs))
    results = {one.name: outputs_of(one, inputs) for one in [*own, *peers]}
    expected = results["torch.jit f32"]
    errors = {who: float(np.sqrt(((y - expected)**2).mean() / (expected**2).mean())) for who, y in results.items()}
    for who in ("zeropoint f32", "ONNX Runtime f32", rtneural.NAME):
        if not errors.get(who, 0) <= FLOAT_LIMIT:
            raise SystemExit(f"{name}: {who} computes another network than torch.jit, error {errors[who]:.1e}")
    peak = Peak(library, Peak.FLOAT)
    timings = timing.interleaved([*own, *peers], seconds, after_round=peak.between_rounds)
    return {"name": name, "index": index, "operations": 2 * stream.multiplications, "peak": peak.result(),
            "times": {who: dataclasses.asdict(time) for who, time in timings.items()}, "errors": errors}


def compare(library: zeropoint_peer.Library, runtimes, options: argparse.Namespace) -> dict:
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for index, name in enumerate(library.stream_names()):
            if options.asks_for(name):
                print(name, flush=True)
                results.append(compare_stream(library, runtimes, index, name, options.seconds, pathlib.Path(folder)))
    return {"streams": results}
