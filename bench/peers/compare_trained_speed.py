#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trained networks, imported and in int8, beside ONNX Runtime, OpenVINO and LiteRT with the same files: microseconds a call.

    build/venv/bin/python bench/peers/compare_trained_speed.py --peers-isa vnni --out docs/performance    # half an hour, most of it the compiler's
    build/venv/bin/python bench/peers/compare_trained_speed.py --only nudenet,silero

Networks, their inputs and what ONNX Runtime's tools make int8 of them are those of bench/accuracy/compare_trained.py. OpenVINO reads the
files in float, and those of ONNX Runtime's int8. MediaPipe's networks are float files of TensorFlow Lite, which LiteRT runs by XNNPACK.
Everyone is called from Python with inputs and outputs that are bound or lie in memory already; one thread, interleaved rounds. A network
of frames (silero_vad) keeps its states itself here, and is given zeros by its peers. Its figures do not contain what peers pay for that.
"""
from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import math
import os
import pathlib
import sys
import tempfile

import compare
import instruction_set
import timing

ROOT = instruction_set.HERE.parents[1]
INT8, FLOAT = ("ONNX Runtime int8", "OpenVINO int8"), ("ONNX Runtime f32", "OpenVINO f32", "LiteRT f32")
OWN_INT8, OWN_FLOAT = "zeropoint int8", "zeropoint f32"
QUICK = "silero_vad"


class Zeropoint:
    """A compiled network, called as a C library."""

    def __init__(self, name: str, net, function, call: tuple):
        import numpy as np
        self.name, self.net, self.function = name, net, function
        self.columns = net._columns(tuple(np.stack([one]) for one in call))
        self.results = [np.empty(math.prod(port.shape), np.float32) for port in net.outputs]
        self.xs = (ctypes.c_void_p * len(self.columns))(*(column[0].ctypes.data for column in self.columns))
        self.ys = (ctypes.c_void_p * len(self.results))(*(y.ctypes.data for y in self.results))

    def run(self, repeats: int) -> None:
        for _ in range(repeats):
            if self.function(self.net._at, self.xs, self.ys):
                raise RuntimeError(self.net._library.zp_error().decode())


class OnnxRuntime:
    def __init__(self, name: str, path: pathlib.Path, feed: dict):
        from trained_onnxruntime import session_of
        self.name, self.session = name, session_of(path, saturates=True)
        self.binding = self.session.io_binding()
        for key, value in feed.items():
            self.binding.bind_cpu_input(key, value)
        for one in self.session.get_outputs():
            self.binding.bind_output(one.name)

    def run(self, repeats: int) -> None:
        for _ in range(repeats):
            self.session.run_with_iobinding(self.binding)


class OpenVino:
    def __init__(self, name: str, path: pathlib.Path, feed: dict):
        import numpy as np
        import openvino
        self.name, core = name, openvino.Core()
        options = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False,
                   "INFERENCE_PRECISION_HINT": "f32"}  # bfloat16 is another network
        self.request = core.compile_model(core.read_model(path), "CPU", options).create_infer_request()
        for key, value in feed.items():
            self.request.set_tensor(key, openvino.Tensor(np.ascontiguousarray(value)))
        self.run(1)

    def run(self, repeats: int) -> None:
        for _ in range(repeats):
            self.request.infer()


def peer(make, *arguments) -> list:
    """One, or none and what it says of the file."""
    try:
        return [make(*arguments)]
    except Exception as error:  # whatever it raises is the result
        print(f"{arguments[0]}: {type(error).__name__}: {' '.join(str(error).split())[:160]}")
        return []


def peers_of(network, material, folder: pathlib.Path) -> list:
    if material.model.suffix == ".tflite":
        import litert_peer
        return [litert_peer.Model("LiteRT f32", material.model.read_bytes(), material.test[0][0][0])]
    from trained_onnxruntime import Float
    source = Float(network, material.model, folder)
    feed = source.run(material.test[:1])[0][0]
    found = [*peer(OnnxRuntime, "ONNX Runtime f32", source.path, feed), *peer(OpenVino, "OpenVINO f32", source.path, feed)]
    try:
        coded = source.quantized(material.calibration)
    except Exception as error:  # as above
        print(f"ONNX Runtime's quantizer: {type(error).__name__}: {' '.join(str(error).split())[:160]}")
        return found
    return [*found, *peer(OnnxRuntime, "ONNX Runtime int8", coded, feed), *peer(OpenVino, "OpenVINO int8", coded, feed)]


def compare_network(network, material, header: pathlib.Path, seconds: float) -> dict:
    from zeropoint import native
    import numpy as np
    net = native.build(header, weights=header.with_suffix(".safetensors"))
    for sequence in material.calibration:
        net.calibrate(*(np.stack(arrays) for arrays in zip(*sequence)))
    net.convert()
    call = material.test[0][0]
    own = [Zeropoint(OWN_INT8, net, net._library.zp_run_int8, call), Zeropoint(OWN_FLOAT, net, net._library.zp_run, call)]
    with tempfile.TemporaryDirectory() as folder:
        times = timing.interleaved([*own, *peers_of(network, material, pathlib.Path(folder))], seconds)
    return {"name": network.name, "times": {who: dataclasses.asdict(time) for who, time in times.items()}}


def ratio(times: dict, own: str, peers: tuple[str, ...], key: str = "best") -> str:
    """The fastest of the peers that are there; more than 1: zeropoint is faster."""
    present = [times[one][key] for one in peers if one in times]
    return f"{min(present) / times[own][key]:.2f}" if present else ""


def row(result: dict) -> str:
    times = result["times"]
    shown = [f"{times[who]['best'] * 1e6:,.0f}" if who in times else "" for who in (OWN_INT8, *INT8, OWN_FLOAT, *FLOAT)]
    ratios = [f"**{ratio(times, OWN_INT8, INT8)}**" if ratio(times, OWN_INT8, INT8) else "", ratio(times, OWN_INT8, INT8, "median"),
              ratio(times, OWN_INT8, FLOAT), ratio(times, OWN_FLOAT, FLOAT)]
    return f"| {result['name']} | " + " | ".join([*shown, *ratios]) + " |"


def heading(options: argparse.Namespace) -> list[str]:
    columns = ["network", OWN_INT8, *INT8, OWN_FLOAT, *FLOAT, "int8: times as fast", "by medians", "as float", "float: as float"]
    return ["# Trained networks beside ONNX Runtime, OpenVINO and LiteRT", "",
            f"{compare.processor()[0]}, {instruction_set.SAID[options.peers_isa]}, one thread, commit {compare.commit()}. Microseconds of a call, the best of",
            "interleaved rounds; times as fast as the fastest int8 peer (best round, and by medians), as the fastest float peer, and our float form beside",
            "that. [README](../../bench/peers/README.md) says what is called how.", "", "| " + " | ".join(columns) + " |",
            "|---|" + "--:|" * (len(columns) - 1)]


def prepare(options: argparse.Namespace) -> None:
    """Folders to import from, and how networks are compiled: --quick spares the compiler's time, and kernels for one network alone."""
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "accuracy")]
    os.environ["ZEROPOINT_COMPILED"] = "0" if options.quick else "1"
    os.environ["ZEROPOINT_CXXFLAGS"] = f"-O{0 if options.quick else 3} {instruction_set.FLAGS[options.peers_isa]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    compare.add_common_options(parser)
    parser.add_argument("--only", default="", help="networks whose name has this in it, or one of several with commas between")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "trained", help="what is downloaded and made; default: %(default)s")
    parser.add_argument("--out", type=pathlib.Path, help="folder for trained.md and trained.json")
    options = compare.read_options(parser)
    compare.begin(options)
    prepare(options)
    from trained_networks import NETWORKS, Wheels
    from trained_runs import imported
    lines, results = heading(options), []
    print("\n".join(lines), flush=True)
    for network in NETWORKS:
        if not options.asks_for(network.name) or (options.quick and network.name != QUICK):
            continue
        material = network.make(Wheels(options.folder / "wheels"))
        results.append(compare_network(network, material, imported(network, material, options.folder), 2 * options.seconds))
        lines.append(row(results[-1]))
        print(lines[-1], flush=True)
    if options.out:
        (options.out / "trained.md").write_text("\n".join(lines) + "\n")
        (options.out / "trained.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
