# SPDX-License-Identifier: BSD-3-Clause
"""A float ONNX, and beside it the encodings of its tensors as AIMET and Qualcomm's tools read them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.float_operators import FLOAT, FloatEmitter
from zeropoint.export.formulas import F32
from zeropoint.export.graph import Value
from zeropoint.export.int8_model import Int8Model, Node, Range
from zeropoint.export.integer_elementwise import emit_input
from zeropoint.export.integer_filters import places_of_weights
from zeropoint.export.qdq import emit_pass
from zeropoint.lower.context import Port

VERSIONS = ("0.6.1", "2.0.0")
REAL = {**FLOAT, "quantize": emit_pass, "dequantize": emit_pass, "input": emit_input, "output": emit_pass}


class RealEmitter(FloatEmitter):
    """Floats alone. Weights are what codes mean, so that quantizing them again gives these codes."""

    def __init__(self, model: Int8Model, ports: tuple[list[Port], list[Port]]) -> None:
        super().__init__(model, ports, REAL)
        self.activations: dict[str, Range] = {}
        self.parameters: dict[str, tuple[np.ndarray, np.ndarray, int]] = {}  # scales, zero places, axis

    def wrapped(self, node: Node, value: Value) -> Value:
        """Named after the row, with its range."""
        if node.is_codes and node.raw.get("port_codes"):
            raise Refused("value", "codes at a port")
        if not node.is_codes:
            return value
        of = self.range_out(node)
        for layout, name in value.forms.items():
            made = self.graph.nodes[-1] if self.graph.nodes else None
            if made is not None and name in made.output and not name.endswith(".output"):
                title = self.graph.unique(f"{node.title}.output")
                made.output[list(made.output).index(name)] = title
                value.forms[layout] = name = title
            self.activations.setdefault(name, of)
        return value

    def through_codes(self, node: Node, x: str, qparams_id: int) -> str:
        """The value in front of a function has an encoding of its own."""
        name = self.graph.op("Identity", x, name=f"{node.title}.sum")
        self.activations[name] = self.model.range_at(qparams_id, node)
        return name

    def parameter(self, places: np.ndarray, scales: np.ndarray, zeros: np.ndarray, axis: int, name: str) -> str:
        """A constant of what places mean along an axis of scales."""
        shape = [-1 if i == axis else 1 for i in range(places.ndim)]
        real = scales.reshape(shape) * (places.astype(np.int32) - zeros.reshape(shape)).astype(F32)
        made = self.graph.const(real.astype(F32), name)
        self.parameters[made] = (scales, zeros, axis)
        return made

    def codes(self, node: Node, codes: np.ndarray) -> str:
        """A constant of what codes of the row's own range mean."""
        of = self.range_out(node)
        places = (codes.astype(np.int16) - node.lowest).astype(np.uint8)
        return self.graph.const((of.scale * (places.astype(np.int32) - of.zero_point).astype(F32)).astype(F32),
                                f"{node.title}.weight")

    def matrices(self, node: Node, codes: np.ndarray, scales: np.ndarray, name: str) -> str:
        """Those of recurrent layers have no encodings: their steps are floats elsewhere."""
        return self.graph.const((scales[..., None] * codes.astype(F32)).astype(F32), name)

    def weights(self, node: Node, codes: np.ndarray, axis: int) -> tuple[str, list[str]]:
        """Filters and bias."""
        places, middle = places_of_weights(codes)
        scales, zeros = self.model.tensor(node, "weight", "scale"), self.model.tensor(node, "weight", "zero_point")
        if axis == 1 and node.options["groups"] != 1:
            raise Refused("value", "a scale an output channel of a transposed convolution in groups")
        of_zero = np.full(scales.shape, middle, np.int32) if zeros is None else zeros + middle
        weight = self.parameter(places, scales, of_zero, axis, f"{node.title}.weight")
        bias = self.model.tensor(node, "bias", "bias")
        if bias is None:
            return weight, []
        real = bias if bias.dtype == F32 else (np.float64(self.range_in(node).scale) * scales * bias).astype(F32)
        return weight, [self.graph.const(real, f"{node.title}.bias")]


def entry_061(scale: float, zero: int, is_symmetric: bool) -> dict[str, Any]:
    """offset is minus the zero point of unsigned codes."""
    return {"bitwidth": 8, "dtype": "int", "is_symmetric": str(is_symmetric), "max": scale * (255 - zero),
            "min": scale * (0 - zero), "offset": -zero, "scale": scale}


def encodings_061(emitter: RealEmitter) -> dict[str, Any]:
    """AIMET's format 0.6.1."""
    activations = {name: [entry_061(float(of.scale), of.zero_point, False)] for name, of in emitter.activations.items()}
    parameters = {name: [entry_061(float(s), int(z), bool((zeros == 128).all())) for s, z in zip(scales, zeros)]
                  for name, (scales, zeros, _) in emitter.parameters.items()}
    return {"version": "0.6.1", "activation_encodings": activations, "param_encodings": parameters,
            "quantizer_args": {"activation_bitwidth": 8, "dtype": "int", "is_symmetric": "True",
                               "param_bitwidth": 8, "per_channel_quantization": "True", "quant_scheme": "post_training_tf"}}


def encodings_200(emitter: RealEmitter) -> dict[str, Any]:
    """AIMET's format 2.0.0: the numbers of QuantizeLinear."""
    entries: list[dict[str, Any]] = [
        {"name": name, "output_dtype": "uint8", "y_scale": float(of.scale), "y_zero_point": of.zero_point}
        for name, of in emitter.activations.items()]
    for name, (scales, zeros, axis) in emitter.parameters.items():
        if (zeros == 128).all():
            entries.append({"name": name, "output_dtype": "int8", "y_scale": [float(s) for s in scales], "axis": axis})
        else:
            entries.append({"name": name, "output_dtype": "uint8", "y_scale": [float(s) for s in scales],
                            "y_zero_point": [int(z) for z in zeros], "axis": axis})
    return {"version": "2.0.0", "encodings": entries}


def emit_real(model: Int8Model, ports: tuple[list[Port], list[Port]]) -> RealEmitter:
    """The float graph. Raises ExportRefused with every row that has no such form."""
    emitter = RealEmitter(model, ports)
    emitter.emit()
    return emitter


def encodings_text(emitter: RealEmitter, version: str) -> str:
    """The file of a version."""
    made = encodings_061(emitter) if version == "0.6.1" else encodings_200(emitter)
    return json.dumps(made, indent=1) + "\n"
