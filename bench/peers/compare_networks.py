# SPDX-License-Identifier: BSD-3-Clause
"""Times whole networks: float pixels in, float scores out."""
import argparse
import dataclasses
import pathlib
import tempfile

import numpy as np
from safetensors.numpy import load_file

import litert_networks
import networks
import onnx_networks
import onnx_peer
import timing
import torch_networks
import zeropoint_peer


def relative_error(y: np.ndarray, expected: np.ndarray) -> float:
    return float(np.sqrt(((y.ravel() - expected.ravel())**2).mean() / (expected**2).mean()))


def compare_network(library, runtime, index: int, name: str, seconds: float, folder: pathlib.Path) -> dict:
    model = zeropoint_peer.Model(library, index)
    model.save_float(folder / "float.safetensors")
    weights = load_file(folder / "float.safetensors")
    net = networks.network(name, weights)
    random = np.random.default_rng(index)
    images = [random.standard_normal(model.input_shape).astype(np.float32) for _ in range(5)]
    is_image = model.input_shape[0] > 1

    def for_peers(image: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(image.transpose(2, 0, 1)[None]) if is_image else image.reshape(1, -1)

    x, calibration = for_peers(images[0]), [for_peers(image) for image in images[1:]]
    ranges = torch_networks.activation_ranges(net, calibration)
    peers = [*onnx_networks.sessions(runtime, net, x, calibration, model.output_shape[2], folder),
             *torch_networks.functions(net, x, ranges), litert_networks.model(net, images[0], ranges)]
    own = [zeropoint_peer.RunningModel(model, images[0], kind, f"zeropoint {name}")
           for kind, name in (("int8", "int8"), ("float", "f32"))]
    timings = timing.interleaved([*own, *peers], seconds)
    expected = next(peer for peer in peers if peer.name == "ONNX Runtime f32").output()
    return {"name": name, "operations": 2 * model.multiplications,
            "times": {who: dataclasses.asdict(time) for who, time in timings.items()},
            "errors": {one.name: relative_error(one.output(), expected) for one in [*own, *peers]},
            "arena_bytes": model.arena_bytes, "parameter_bytes": model.parameter_bytes,
            "float_bytes": sum(value.nbytes for value in weights.values())}


def compare(library: zeropoint_peer.Library, runtime: onnx_peer.Runtime, options: argparse.Namespace) -> dict:
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for index, name in enumerate(library.model_names()):
            if options.only in name:
                print(name, flush=True)
                results.append(compare_network(library, runtime, index, name, 2 * options.seconds,
                                               pathlib.Path(folder)))
                if results[-1]["errors"]["zeropoint f32"] > 1e-4:
                    raise SystemExit(f"{name}: the peers compute another network than zeropoint")
    return {"models": results}
