# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of exporters share: int8 networks with their files, and graphs that are run."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from networks import network

import zeropoint
from zeropoint.compiler import compiled
from zeropoint.description import qconfig_text
from zeropoint.export.compare import compare_rows, feeds_of, made_up_inputs, session_of
from zeropoint.export.emitter import Emitter
from zeropoint.export.export import opened
from zeropoint.export.int8_library import Int8Library
from zeropoint.export.int8_model import Int8Model
from zeropoint.export.integer import emit_integer

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "01_digits" / "digits_cnn.hpp"
LAYERS = Path(__file__).parent / "export" / "layers.hpp"


@dataclass
class Case:
    """A header and an int8 file under a qconfig."""

    header: Path
    file: Path
    qconfig: str
    net: str = ""

    def opened(self) -> tuple[Int8Library, Int8Model]:
        """Compiled and read."""
        return opened(self.header, self.file, self.qconfig, self.net, lambda text: None)


def digits(qconfig: str) -> Case:
    """The committed int8 models of the digits network."""
    return Case(DIGITS, ROOT / "tests" / "identity" / "models" / f"{qconfig}.safetensors", f"::{qconfig}")


def imported(name: str, folder: Path, qconfig: str = "default_qconfig") -> Case:
    """A network of networks.py, imported, calibrated on eight inputs and converted."""
    module, example = network(name)
    made = zeropoint.from_torch(module, example, folder, verify=False)
    net = zeropoint.build(made.header, qconfig=qconfig)
    torch.manual_seed(3)
    for _ in range(8):
        net.calibrate(*(torch.randn(x.shape).numpy() if x.dtype.is_floating_point else torch.randint(0, 50 if x.max() > 1 else 2, x.shape).numpy()
                        for x in example))
    net.convert()
    file = made.header.with_suffix(".int8.safetensors")
    net.save(file)
    return Case(made.header, file, qconfig)


def of_layers(net: str, folder: Path, qconfig: str = "default_qconfig") -> Case:
    """A network of layers.hpp with made-up parameters."""
    text = (LAYERS.parent / "make_int8.cpp").read_text()
    for key, value in (("HEADER_NAME", LAYERS.name), ("NETWORK_TYPE", f"layers::{net}"), ("QCONFIG_TYPE", qconfig_text(qconfig))):
        text = text.replace(key, value)
    file = folder / f"{net}.safetensors"
    subprocess.run([compiled(text, {LAYERS.name: LAYERS.read_text()}), file], check=True)
    return Case(LAYERS, file, qconfig, f"layers::{net}")


def differing_rows(emitter: Emitter, library: Int8Library, seed: int = 0) -> list[str]:
    """The rows whose codes differ in ONNX Runtime."""
    arrays = made_up_inputs(library, emitter.model, seed)
    return [f"{d.name}: {d.differing} of {d.count}" for d in compare_rows(emitter, library, arrays) if d.differing]


def differing_outputs(run: Any, library: Int8Library, model: Int8Model, seeds: range) -> int:
    """Values of outputs that differ, of `run` over a dict of inputs."""
    count = 0
    for seed in seeds:
        arrays = made_up_inputs(library, model, seed)
        count += sum(int((ours.reshape(-1) != np.asarray(theirs).reshape(-1)).sum())
                     for ours, theirs in zip(library.run(arrays), run(feeds_of(library, arrays)), strict=True))
    return count


def check_integer(case: Case, *, reference: bool = True) -> None:
    """0 codes differ: at every row, and of outputs with and without optimizations, and in onnx.reference."""
    library, model = case.opened()
    emitter = emit_integer(model, library.ports)
    made = emitter.finish("net")
    assert differing_rows(emitter, library) == []
    for optimize in (False, True):
        session = session_of(made, optimize=optimize)
        assert differing_outputs(lambda feeds: session.run(None, feeds), library, model, range(5)) == 0
    if reference:
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(made)
        assert differing_outputs(lambda feeds: evaluator.run(None, feeds), library, model, range(2)) == 0
