# SPDX-License-Identifier: BSD-3-Clause
"""From an imported network, or from the JSON of a program, to a page and to text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np

from zeropoint.data import Data, count_of, held_out, inputs_of
from zeropoint.errors import ZeropointError
from zeropoint.inspection.page import page_of
from zeropoint.inspection.text import text_of
from zeropoint.native import build
from zeropoint.ports import keeper_of, ports_of
from zeropoint.replacing import replacing


@dataclass
class Report:
    """The data, and what is made of them."""

    data: dict[str, Any]

    @property
    def page(self) -> str:
        """HTML, whole in one file."""
        return page_of(self.data)

    def text(self, coloured: bool = False) -> str:
        """For a terminal."""
        return text_of(self.data, coloured)

    def write(self, path: str | Path) -> Path:
        """The page, replaced as a whole."""
        return write_whole(Path(path), self.page)


def write_whole(path: Path, text: str) -> Path:
    """A file that is there as a whole or not at all. Raises ZeropointError."""
    with replacing(path) as folder:
        (folder / path.name).write_text(text, encoding="utf-8")
    return path


def read(path: str | Path) -> Report:
    """Of a file that zp::to_json(inspection) wrote. Raises ZeropointError."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ZeropointError(f"{path}: {error}") from None
    if not isinstance(data, dict) or data.get("format") != "zeropoint.inspection":
        raise ZeropointError(f"{path}: expected the JSON of a zp::inspection, whose format is \"zeropoint.inspection\"")
    if data.get("version") != 1:
        raise ZeropointError(f"{path}: expected version 1 of an inspection, found {data.get('version')}")
    return Report(data)


def report(header: str | Path, calibration: Data, *, images: Data | None = None,
           qconfig: str = "default_qconfig", weights: str | Path | None = None, swept: int = 32, smooth: float | None = None,
           progress: Callable[[str], None] | None = None) -> Report:
    """Compiles, calibrates, converts and inspects.

    calibration: a .npy or an array of N inputs as the source has them; for a network of several, an .npz or a dict of such arrays by
    their names, or a list of `name=file.npy`. images: those that both networks run over, given alike; by default every fourth of the
    others where there are 16 and more, which calibration does then not see. swept: how many inputs a sweep of
    sensitivity runs over, 0 for none. smooth: as zeropoint.quantize's. Where states go on from frame to frame, calibration is as zeropoint.quantize's, and what is
    compared are frames that each begin with states of zeros. Raises ZeropointError.
    """
    say = progress or (lambda text: None)
    header = Path(header)
    ports = ports_of(header)[1]
    goes_on = keeper_of(header) == "zp::stateful"
    inputs = inputs_of(calibration, ports, goes_on)
    shown, apart = held_out(inputs, goes_on) if images is None else (inputs, inputs_of(images, ports, goes_on))
    say(f"compile {header.name} under {qconfig}")
    net = build(header, qconfig=qconfig, weights=weights, inspects=True, smooths=smooth is not None)
    if smooth is not None:
        say(f"smooth with alpha {smooth}")
        net.smooth(*(np.concatenate(columns) for columns in zip(*shown)), alpha=smooth)
    say(f"calibrate with {count_of(shown, goes_on)}")
    for one in shown:
        net.calibrate(*one)
    net.convert()
    say(f"compare {count_of(apart, goes_on)}" + ", each frame with states of zeros in front" * goes_on)
    data = net.inspect(*(np.concatenate(columns) for columns in zip(*apart)), swept=swept)
    data["qconfig"] = qconfig if smooth is None else f"{qconfig}, smoothed with alpha {smooth}"
    return Report(data)

