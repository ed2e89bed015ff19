# SPDX-License-Identifier: BSD-3-Clause
"""A trained network's file as ONNX Runtime has it: with fixed extents, and quantized by its own tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import version_converter
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from trained_inputs import Sequences
from trained_networks import Outputs, Trained
from trained_runs import run_all

Feed = dict[str, np.ndarray]


def session_of(path: Path, saturates: bool = False) -> onnxruntime.InferenceSession:
    """One thread. saturates: whether sums of int8 may, which is its default and faster where the processor has no dot products."""
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if not saturates:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options)


class Float:
    """The network of a file, whose extents and constant inputs are fixed."""

    def __init__(self, network: Trained, model: Path, folder: Path) -> None:
        self.network, self.folder, self.path = network, folder, folder / "source.onnx"
        read = onnx.load(model)
        for given, shape in zip(read.graph.input, network.shapes.values()):
            for axis, extent in zip(given.type.tensor_type.shape.dim, shape):
                axis.dim_value = extent
        if next(o.version for o in read.opset_import if o.domain in ("", "ai.onnx")) < 13:  # DequantizeLinear per channel
            read = version_converter.convert_version(read, 13)
        onnx.save(read, self.path)
        self.session = session_of(self.path)
        names = [one.name for one in self.session.get_inputs()]
        self.values = {name: np.array(value) for name, value in network.values.items() if name in names}
        self.free = [name for name in names if name not in self.values]

    def feed(self, arrays: tuple[np.ndarray, ...]) -> Feed:
        """Of one call, by names."""
        return {**dict(zip(self.free, arrays)), **self.values}

    def run(self, sequences: Sequences, session: onnxruntime.InferenceSession | None = None) -> tuple[list[Feed], list[Outputs]]:
        """What each call is given, with its states, and the outputs that are none; of this network, or of an integer one's session."""
        given, made = run_all(self.network, sequences, lambda a: (session or self.session).run(None, self.feed(a)))
        return [self.feed(arrays) for arrays in given], made

    def quantized(self, calibration: Sequences) -> Path:
        """QDQ, unsigned activations, weights per channel, minimum and maximum. Raises whatever its tools raise."""

        class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
            """The calibration's calls."""

            def __init__(self, feeds: list[Feed]) -> None:
                self.left = iter(feeds)

            def get_next(self) -> Feed | None:
                return next(self.left, None)

        prepared, coded = self.folder / "prepared.onnx", self.folder / "coded.onnx"
        quant_pre_process(str(self.path), str(prepared), skip_symbolic_shape=True)
        quantization.quantize_static(str(prepared), str(coded), Reader(self.run(calibration)[0]), quant_format=quantization.QuantFormat.QDQ,
                                     per_channel=True, activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8)
        return coded
