# SPDX-License-Identifier: BSD-3-Clause
"""From an imported network to an int8 file in one command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np

from zeropoint.data import Data, Inputs, count_of, held_out, inputs_of
from zeropoint.errors import ZeropointError
from zeropoint.lower.context import Port
from zeropoint.native import Network, build
from zeropoint.ports import keeper_of, ports_of
from zeropoint.presets import check_preset, is_dynamic, quantized_file
from zeropoint.replacing import check_writable, replacing


@dataclass
class Quantized:
    """An int8 file, and how near its network is to the float one."""

    file: Path
    kind: str  # int8, or of a dynamic preset int4_dynamic and others
    snr: float | None  # decibel, over all outputs of the inputs that were compared; None, as the next two, where there were none
    cosine: float | None  # the least of an output
    agreement: float | None  # the share of inputs whose largest output is the same
    compared: int
    bytes_before: int
    bytes_after: int
    microseconds: tuple[float, float]
    calibration: str

    def report(self) -> str:
        """For the terminal."""
        before, after = self.microseconds
        lines = [self.calibration] if self.calibration else []
        if self.snr is None or self.cosine is None or self.agreement is None:
            lines.append("not compared with float: that takes inputs, --calibration FILE")
        else:
            lines.append(f"{self.kind} beside float, {self.compared} inputs: SNR {self.snr:.1f} dB, least cosine {self.cosine:.5f}, same "
                         f"largest output {100 * self.agreement:.1f} %")
        return "\n".join([*lines, f"parameters: {self.bytes_before:,} bytes in float, {self.bytes_after:,} in {self.kind}",
                          f"a call: {before:.1f} us in float, {after:.1f} us in {self.kind} (the least of 100 ms each, one thread)",
                          f"wrote {self.file}"])


def quantize(header: str | Path, calibration: Data | None = None, *, qconfig: str = "default_qconfig",
             weights: str | Path | None = None, out: str | Path | None = None, smooth: float | None = None,
             progress: Callable[[str], None] | None = None) -> Quantized:
    """Compiles, calibrates, converts, saves, compares.

    calibration: a .npy or an array of N inputs as the source has them; for a network of several, an .npz or a dict of such arrays by
    their names, or a list of `name=file.npy`. Where there are 16 and more, every fourth is left out of calibration and used to
    compare. Of a network whose states go on from frame to frame such an array is a recording, one of an axis more has several, and every
    fourth of four and more is left out, or the last quarter of fewer. Under a dynamic preset, which calibrates nothing, all of them are
    used to compare, and there need be none. smooth: the alpha that channels of activations are evened
    out with before calibration (Network.smooth), None for none. Raises ZeropointError.
    """
    say = progress or (lambda text: None)
    header = Path(header)
    check_preset(qconfig)
    ports = ports_of(header)[1]
    if calibration is None and not is_dynamic(qconfig):
        raise ZeropointError(f"{header}: give inputs with --calibration images.npy; ranges come from data")
    goes_on = keeper_of(header) == "zp::stateful"
    inputs = [] if calibration is None else inputs_of(calibration, ports, goes_on)
    shown, apart = ([], inputs) if is_dynamic(qconfig) else held_out(inputs, goes_on)
    first = [column[:1] for column in inputs[0]] if inputs else made_up(ports)
    target = Path(out) if out is not None else quantized_file(header, qconfig)
    check_writable(target)
    say(f"compile {header.name} under {qconfig}")
    net = build(header, qconfig=qconfig, weights=weights, smooths=smooth is not None)
    bytes_before, before = net.parameter_bytes, net.microseconds(*first)
    if smooth is not None:
        say(f"smooth with alpha {smooth}")
        net.smooth(*(np.concatenate(columns) for columns in zip(*shown)), alpha=smooth)
    if shown:
        say(f"calibrate with {count_of(shown, goes_on)}")
        for one in shown:
            net.calibrate(*one)
    net.convert()
    near: tuple[float | None, float | None, float | None] = (None, None, None)
    if apart:
        say(f"compare {count_of(apart, goes_on)}")
        near = compared(net, apart)
    kind = qconfig.removesuffix("_qconfig") if is_dynamic(qconfig) else "int8"
    made = Quantized(target, kind, *near, sum(len(one[0]) for one in apart), bytes_before, net.parameter_bytes,
                     (before, net.microseconds(*first)), net.report().rstrip())
    with replacing(target) as folder:  # the last thing of all: who stops anything before it finds no file
        net.save(folder / target.name)
    return made


def made_up(ports: list[Port]) -> list[np.ndarray]:
    """One input, to take the time of a call with: of integers all 1, which no mask leaves nothing of."""
    rng = np.random.default_rng(0)
    return [np.full((1, *port.extents), min(1, (port.below or 2) - 1), np.int32) if port.is_integer
            else rng.standard_normal((1, *port.extents), np.float32) for port in ports]


def compared(net: Network, inputs: list[Inputs]) -> tuple[float, float, float]:
    """The integers beside the floats: SNR in decibel, the least cosine, the share whose largest output is the same."""
    reals: list[np.ndarray] = []
    codes: list[np.ndarray] = []
    for one in inputs:
        net.reset()
        for run, results in ((net, reals), (net.run_int8, codes)):
            y = run(*one)
            outputs = y if isinstance(y, list) else [y]
            results.extend(np.concatenate([a[i].reshape(-1) for a in outputs]) for i in range(len(one[0])))
    return nearness(reals, codes)


def nearness(reals: list[np.ndarray], codes: list[np.ndarray]) -> tuple[float, float, float]:
    """SNR in decibel, the least cosine, the share whose largest output is the same."""
    signal = sum(float(np.square(x, dtype=np.float64).sum()) for x in reals)
    noise = sum(float(np.square(x - y, dtype=np.float64).sum()) for x, y in zip(reals, codes))
    snr = 10 * np.log10(signal / noise) if noise else float("inf")
    cosines = [float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y) or 1.0)) for x, y in zip(reals, codes)]
    same = [int(x.argmax() == y.argmax()) for x, y in zip(reals, codes)]
    return float(snr), min(cosines), sum(same) / len(same)
