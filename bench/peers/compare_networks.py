# SPDX-License-Identifier: BSD-3-Clause
"""Times whole networks: float pixels in, float scores out."""
import argparse
import dataclasses
import pathlib
import tempfile

import numpy as np
from safetensors.numpy import load_file

import energy
import litert_networks
import ncnn_networks
import networks
import onnx_networks
import openvino_peer
import timing
import torch_networks
import zeropoint_peer
from compare_layers import Peak


def relative_error(y: np.ndarray, expected: np.ndarray) -> float:
    return float(np.sqrt(((y.ravel() - expected.ravel())**2).mean() / (expected**2).mean()))


class Subject:
    """A network of zeropoint's, and what its peers need to build the same one."""
    def __init__(self, library: zeropoint_peer.Library, index: int, name: str, folder: pathlib.Path):
        self.model = zeropoint_peer.Model(library, index)
        self.model.save_float(folder / "float.safetensors")
        self.weights = load_file(folder / "float.safetensors")
        self.net = networks.network(name, self.weights)
        random = np.random.default_rng(index)
        images = [random.standard_normal(self.model.input_shape).astype(np.float32) for _ in range(5)]
        self.image, self.outputs = images[0], self.model.output_shape[2]
        self.x, *calibration = map(self.for_peers, images)
        self.ranges = torch_networks.activation_ranges(self.net, calibration)
        self.graphs = onnx_networks.graphs(self.net, self.x, calibration, self.outputs, folder)

    def for_peers(self, image: np.ndarray) -> np.ndarray:
        """NCHW, or 1 x features."""
        return np.ascontiguousarray(image.transpose(2, 0, 1)[None]) if image.shape[0] > 1 else image.reshape(1, -1)

    def peers(self, runtimes, threads: int = 1) -> list:
        """PyTorch's number of threads is that of the process."""
        return [*onnx_networks.sessions(runtimes.onnx, self.graphs, self.x, self.outputs, threads),
                *torch_networks.functions(self.net, self.x, self.ranges),
                litert_networks.model(self.net, self.image, self.ranges, threads),
                openvino_peer.network(runtimes.openvino, self.graphs["ONNX Runtime u8s8"], self.x, self.outputs, threads),
                *ncnn_networks.models(self.net, self.x, self.ranges, threads)]


def compare_network(library, runtimes, index: int, name: str, seconds: float, folder: pathlib.Path) -> dict:
    subject = Subject(library, index, name, folder)
    model, peers = subject.model, subject.peers(runtimes)
    own = [zeropoint_peer.RunningModel(model, subject.image, kind, f"zeropoint {name}")
           for kind, name in (("int8", "int8"), ("float", "f32"))]
    peak = Peak(library)
    timings = timing.interleaved([*own, *peers], seconds, after_round=peak.between_rounds)
    expected = next(peer for peer in peers if peer.name == "ONNX Runtime f32").output()
    joules = energy.of_calls([*own, *peers], {who: time.median for who, time in timings.items()}, seconds)
    return {"name": name, "index": index, "operations": 2 * model.multiplications, "peak": peak.result(), "joules": joules,
            "times": {who: dataclasses.asdict(time) for who, time in timings.items()},
            "errors": {one.name: relative_error(one.output(), expected) for one in [*own, *peers]},
            "arena_bytes": model.arena_bytes, "parameter_bytes": model.parameter_bytes,
            "float_bytes": sum(value.nbytes for value in subject.weights.values())}


def compare(library: zeropoint_peer.Library, runtimes, options: argparse.Namespace) -> dict:
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for index, name in enumerate(library.model_names()):
            if options.asks_for(name):
                print(name, flush=True)
                results.append(compare_network(library, runtimes, index, name, 2 * options.seconds,
                                               pathlib.Path(folder)))
                if results[-1]["errors"]["zeropoint f32"] > 1e-4:
                    raise SystemExit(f"{name}: the peers compute another network than zeropoint")
    return {"models": results}
