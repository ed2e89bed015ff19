#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ONNX Runtime's and PyTorch's int8 networks on one thread and on several, in turns: what bench_threads measures of ours.

    bench_threads resnet18 mobilenet_v2 --save=FOLDER    # the same weights
    python bench/peers/threads.py FOLDER [--workers 2] [--seconds 8]

Ratios are of least and of median times.
"""
import argparse
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType
from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import networks  # noqa: E402
import onnx_networks  # noqa: E402
import torch_networks  # noqa: E402


def calls_of(name: str, weights: pathlib.Path, x: np.ndarray, workers: int) -> dict[str, dict[int, callable]]:
    """Calls by the number of threads, which spin between them as they do by default."""
    net = networks.network(name, load_file(weights / f"{name}.safetensors"))
    graph = onnx_networks.float_graph(net, x.shape, 1000)
    with tempfile.TemporaryDirectory() as folder:
        int8 = onnx_networks.quantized_graph(graph, [x], QuantType.QInt8, pathlib.Path(folder))
    calls = {}
    for title, one in (("ONNX Runtime int8 (u8s8)", int8), ("ONNX Runtime float32", graph)):
        calls[title] = {}
        for threads in (1, workers):
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
            session = onnxruntime.InferenceSession(one.SerializeToString(), options, providers=["CPUExecutionProvider"])
            calls[title][threads] = lambda session=session: session.run(None, {"x": x})
    tensor, model = torch_networks.tensor_of(x), torch_networks.float_function(net)

    def run_torch(threads: int) -> None:
        torch.set_num_threads(threads)
        with torch.inference_mode():
            model(tensor)
    calls["PyTorch float32"] = {threads: lambda threads=threads: run_torch(threads) for threads in (1, workers)}
    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, torch {torch.__version__}\n")
    print(f"| network | peer | us on one | us on {options.workers} | ratio | of medians |\n|---|---|--:|--:|--:|--:|")
    x = np.random.default_rng(1).standard_normal((1, 3, 224, 224), np.float32)
    for name in ("resnet18", "mobilenet_v2"):
        calls = calls_of(name, options.weights, x, options.workers)
        times = {(title, threads): [] for title, by_threads in calls.items() for threads in by_threads}
        for by_threads in calls.values():
            for call in by_threads.values():
                call()
        end = time.perf_counter() + options.seconds
        while time.perf_counter() < end:
            for title, by_threads in calls.items():
                for threads, call in by_threads.items():
                    call()  # threads that slept are awake
                    for _ in range(3):
                        start = time.perf_counter()
                        call()
                        times[title, threads].append(1e6 * (time.perf_counter() - start))
                    time.sleep(0.02)  # until those of others have stopped spinning
        for title in calls:
            one, several = times[title, 1], times[title, options.workers]
            print(f"| {name} | {title} | {min(one):.0f} | {min(several):.0f} | {min(one) / min(several):.2f} "
                  f"| {np.median(one) / np.median(several):.2f} |", flush=True)


if __name__ == "__main__":
    main()
