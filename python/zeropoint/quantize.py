# SPDX-License-Identifier: BSD-3-Clause
"""From an imported network to an int8 file in one command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np

from zeropoint.data import Data, held_out, samples_of
from zeropoint.native import build
from zeropoint.ports import ports_of
from zeropoint.presets import check_preset
from zeropoint.replacing import check_writable, replacing


@dataclass
class Quantized:
    """An int8 file, and how near its network is to the float one."""

    file: Path
    snr: float      # decibel, over all outputs of the inputs that were compared
    cosine: float   # the least of an output
    agreement: float  # the share of inputs whose largest output is the same
    compared: int
    bytes_before: int
    bytes_after: int
    microseconds: tuple[float, float]
    calibration: str

    def report(self) -> str:
        """For the terminal."""
        before, after = self.microseconds
        return (f"{self.calibration}\n"
                f"int8 beside float, {self.compared} inputs: SNR {self.snr:.1f} dB, least cosine {self.cosine:.5f}, same "
                f"largest output {100 * self.agreement:.1f} %\n"
                f"parameters: {self.bytes_before:,} bytes in float, {self.bytes_after:,} in int8\n"
                f"a call: {before:.1f} us in float, {after:.1f} us in int8 (the least of 100 ms each, one thread)\n"
                f"wrote {self.file}")


def quantize(header: str | Path, calibration: Data, *, qconfig: str = "default_qconfig",
             weights: str | Path | None = None, out: str | Path | None = None,
             progress: Callable[[str], None] | None = None) -> Quantized:
    """Compiles, calibrates, converts, saves, compares.

    calibration: a .npy or an array of N inputs as the source has them; for a network of several, an .npz or a dict of such arrays by
    their names, or a list of `name=file.npy`. Where there are 16 and more, every fourth is left out of calibration and used to
    compare. Raises ZeropointError.
    """
    say = progress or (lambda text: None)
    header = Path(header)
    check_preset(qconfig)
    samples = samples_of(calibration, ports_of(header)[1])
    shown, apart = held_out(samples)
    first = [column[:1] for column in samples]
    target = Path(out) if out is not None else header.with_suffix(".int8.safetensors")
    check_writable(target)
    say(f"compile {header.name} under {qconfig}")
    net = build(header, qconfig=qconfig, weights=weights)
    bytes_before, before = net.parameter_bytes, net.microseconds(*first)
    say(f"calibrate with {len(shown[0])} input{'s' * (len(shown[0]) != 1)}")
    for one in zip(*shown):
        net.calibrate(*one)
    net.convert()
    say(f"compare {len(apart[0])} inputs")
    reals, codes = [], []
    for one in zip(*apart):
        for run, results in ((net, reals), (net.run_int8, codes)):
            y = run(*one)
            results.append(np.concatenate([a.reshape(-1) for a in y]) if isinstance(y, list) else y.reshape(-1))
    snr, cosine, agreement = nearness(reals, codes)
    made = Quantized(target, snr, cosine, agreement, len(reals), bytes_before, net.parameter_bytes,
                     (before, net.microseconds(*first)), net.report().rstrip())
    with replacing(target) as folder:  # the last thing of all: who stops anything before it finds no file
        net.save(folder / target.name)
    return made


def nearness(reals: list[np.ndarray], codes: list[np.ndarray]) -> tuple[float, float, float]:
    """SNR in decibel, the least cosine, the share whose largest output is the same."""
    signal = sum(float(np.square(x, dtype=np.float64).sum()) for x in reals)
    noise = sum(float(np.square(x - y, dtype=np.float64).sum()) for x, y in zip(reals, codes))
    snr = 10 * np.log10(signal / noise) if noise else float("inf")
    cosines = [float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y) or 1.0)) for x, y in zip(reals, codes)]
    same = [int(x.argmax() == y.argmax()) for x, y in zip(reals, codes)]
    return float(snr), min(cosines), sum(same) / len(same)
