# SPDX-License-Identifier: BSD-3-Clause
"""ONNX of float operators between QuantizeLinear and DequantizeLinear: for ONNX Runtime, TensorRT, QNN and OpenVINO."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Sequence

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.emitter import Emitter
from zeropoint.export.float_operators import FLOAT, MOVES, FloatEmitter
from zeropoint.export.formulas import F32, F64, multipliers
from zeropoint.export.graph import Value
from zeropoint.export.int8_model import Int8Model, Node, Range
from zeropoint.export.integer_elementwise import emit_input, signed
from zeropoint.export.integer_filters import places_of_weights
from zeropoint.lower.context import Port

KEEP_CODES = {*MOVES, "max_pool2d", "max_pool1d", "input", "output"}  # whose codes are those of their input


def emit_pass(e: Emitter, node: Node) -> Value:
    """What is quantized or dequantized is, by what stands around it."""
    value = e.value(node)
    return Value(value.extents, {value.layout: e.form(value, value.layout)}, value.flattened)


@dataclass
class Read(Value):
    """What a row reads: codes, moved to a layout before they become floats, by a DequantizeLinear of this reader's own."""

    source: Value | None = None
    of: Range | None = None

    @property
    def layout(self) -> str:
        """That of the codes."""
        return self.source.layout  # type: ignore[union-attr]


def emit_dequantize(e: Emitter, node: Node) -> Value:
    """At an output add_output does it."""
    readers = [n for n in e.model.nodes if node.number in n.inputs]
    if all(n.op.get("is_output") for n in readers):
        return e.values[node.inputs[0]]
    return emit_pass(e, node)


def emit_output(e: Emitter, node: Node) -> Value:
    """Marks what is given to the caller."""
    return e.values[node.inputs[0]]


QDQ = {**FLOAT, "quantize": emit_pass, "dequantize": emit_dequantize, "input": emit_input, "output": emit_output}


class QdqEmitter(FloatEmitter):
    """One QuantizeLinear a value, one DequantizeLinear a reader. Codes are unsigned, or signed where `signed` says so."""

    drops_idle_clamps, scales_weights = True, True

    def __init__(self, model: Int8Model, ports: tuple[list[Port], list[Port]], *, signed: bool = False) -> None:
        super().__init__(model, ports, QDQ)
        self.signed = signed
        self._read: dict[tuple[int, int], Value] = {}
        self.exact_channels = self.channels = 0

    def value(self, node: Node, k: int = 0) -> Value:
        """Input k as floats, by a DequantizeLinear of its own."""
        source = self.source(node, k)
        value = super().value(node, k)
        if not source.is_codes:
            return value
        if (node.number, k) not in self._read:
            self._read[node.number, k] = Read(value.extents, {}, value.flattened, value, self.range_in(node, k))
        return self._read[node.number, k]

    def form(self, value: Value, layout: str) -> str:
        """Of codes: moved first."""
        if not isinstance(value, Read):
            return super().form(value, layout)
        if layout not in value.forms:
            value.forms[layout] = self.dequantized(super().form(value.source, layout), value.of)
        return value.forms[layout]

    def shaped(self, node: Node, k: int, layout: str, shape: Sequence[int]) -> str:
        """Of codes: shaped first."""
        value = self.value(node, k)
        if not isinstance(value, Read):
            return super().shaped(node, k, layout, shape)
        return self.dequantized(self.graph.reshape(super().form(value.source, layout), shape), value.of)

    def moved(self, node: Node, k: int, layout: str, order: Sequence[int]) -> str:
        """Of codes: moved first."""
        value = self.value(node, k)
        if not isinstance(value, Read):
            return super().moved(node, k, layout, order)
        return self.dequantized(self.graph.transpose(super().form(value.source, layout), order), value.of)

    def wrapped(self, node: Node, value: Value) -> Value:
        """Quantized onto the row's range."""
        if node.op.get("is_input"):
            if self.signed and node.is_codes:
                value = replace(value, forms={layout: signed(self, name) for layout, name in value.forms.items()})
            return value
        if not node.is_codes:
            return value
        if node.op.get("is_output"):
            wanted = node.storage == "int8"
            if wanted != self.signed:
                raise Refused("value", f"codes of {node.storage} at an output: write the graph {'with' if wanted else 'without'} "
                                       "--signed")
            return value
        of = self.range_out(node)
        forms = {}
        low, high = node.quant_min - node.lowest, node.quant_max - node.lowest
        for layout, name in value.forms.items():
            if (low, high) != (0, 255) and node.op["name"] not in KEEP_CODES:
                ends = [self.graph.const(F32(of.scale * F32(n - of.zero_point)), "bound", F32) for n in (low, high)]
                name = self.graph.op("Clip", name, *ends)
            forms[layout] = self.quantized(name, of, f"{node.title}.output")
            break
        return Value(value.extents, forms, value.flattened)

    def add_output(self, port: Port, number: int) -> None:
        """The last DequantizeLinear stands behind what brings codes to the source's shape."""
        node = self.model.nodes[number]
        last = self.model.nodes[node.inputs[0]] if node.op.get("is_output") and not node.is_codes else node
        if last.kind != "dequantize":
            return super().add_output(port, number)
        of, source = self.range_in(last), last.inputs[0]
        x = self.in_port(port, self.values[source])
        self.graph.nodes.append(self.graph.helper.make_node(
            "DequantizeLinear", [x, self.graph.const(of.scale, "scale", F32), self.zero(of)], [port.name],
            name=f"{port.name}/DequantizeLinear"))
        return self.declare_output(port, number)

    # Codes of both kinds.

    def zero(self, of: Range, shape: tuple[int, ...] = ()) -> str:
        """A zero point."""
        place = np.full(shape, of.zero_point)
        kind = np.int8 if self.signed else np.uint8
        return self.graph.const((place - (128 if self.signed else 0)).astype(kind), "zero_point")

    def quantized(self, x: str, of: Range, name: str = "") -> str:
        """QuantizeLinear."""
        return self.graph.op("QuantizeLinear", x, self.graph.const(of.scale, "scale", F32), self.zero(of), name=name)

    def dequantized(self, x: str, of: Range) -> str:
        """DequantizeLinear."""
        return self.graph.op("DequantizeLinear", x, self.graph.const(of.scale, "scale", F32), self.zero(of))

    def through_codes(self, node: Node, x: str, qparams_id: int) -> str:
        """Rounded to the range in front of a function."""
        of = self.model.range_at(qparams_id, node)
        return self.dequantized(self.quantized(x, of), of)

    def as_codes(self, places: np.ndarray, middle: int = 128) -> np.ndarray:
        """Unsigned places as the graph has them."""
        return (places.astype(np.int16) - middle).astype(np.int8) if self.signed else places

    def codes(self, node: Node, codes: np.ndarray) -> str:
        """A constant of the row's own range."""
        places = (codes.astype(np.int16) - node.lowest).astype(np.uint8)
        of = self.range_out(node)
        return self.dequantized(self.graph.const(self.as_codes(places), f"{node.title}.weight"), of)

    def matrices(self, node: Node, codes: np.ndarray, scales: np.ndarray, name: str) -> str:
        """directions x rows x columns, with a scale a row."""
        places, middle = places_of_weights(codes.reshape(-1, codes.shape[-1]))
        zero = self.zero(Range(F32(1), middle), (len(places),))
        x = self.graph.op("DequantizeLinear", self.graph.const(self.as_codes(places), name),
                          self.graph.const(scales.reshape(-1), f"{name}_scale"), zero, axis=0)
        return self.graph.reshape(x, codes.shape)

    def weights(self, node: Node, codes: np.ndarray, axis: int) -> tuple[str, list[str]]:
        """Filters with a scale an output channel, and their bias in units of input scale * weight scale."""
        x, zero_points = self.range_in(node), self.model.tensor(node, "weight", "zero_point")
        y_scale = self.model.range_at(node.fused.get("table_qparams_id", node.qparams_id), node).scale
        scales = self.searched_scales(x, self.model.tensor(node, "weight", "scale"), y_scale)
        places, middle = places_of_weights(codes)
        if zero_points is None:
            zero = self.zero(Range(F32(1), middle), scales.shape)
        else:
            shifted = zero_points + middle
            zero = self.graph.const((shifted - 128).astype(np.int8) if self.signed else shifted.astype(np.uint8), "zero_point")
        weight = self.graph.op("DequantizeLinear", self.graph.const(self.as_codes(places), f"{node.title}.weight"),
                               self.graph.const(scales, f"{node.title}.weight_scale"), zero, axis=axis)
        bias = self.model.tensor(node, "bias", "bias")
        if bias is None:
            return weight, []
        units = (x.scale * scales).astype(F32)
        if bias.dtype == F32:
            bias = np.rint(bias.astype(F64) / (F64(x.scale) * scales.astype(F64))).astype(np.int32)
        made = self.graph.op("DequantizeLinear", self.graph.const(bias, f"{node.title}.bias"),
                             self.graph.const(units, f"{node.title}.bias_scale"), axis=0)
        return weight, [made]

    def searched_scales(self, x: Range, scales: np.ndarray, y_scale: np.float32) -> np.ndarray:
        """Scales within some last bits for which fl(fl(x * w) / y), what ONNX Runtime multiplies with, is our multiplier."""
        wanted, found = multipliers(x, scales, y_scale), scales.copy()
        is_open = np.ones(scales.shape, bool)
        for distance in range(9):
            for sign in (1, -1)[:1 + (distance > 0)]:
                near = (scales.view(np.int32) + sign * distance).view(F32)
                hits = is_open & (((x.scale * near).astype(F32) / y_scale).astype(F32) == wanted)
                found[hits] = near[hits]
                is_open &= ~hits
        self.channels += scales.size
        self.exact_channels += int(scales.size - is_open.sum())
        return found


def emit_qdq(model: Int8Model, ports: tuple[list[Port], list[Port]], *, signed: bool = False) -> QdqEmitter:
    """The graph of a network. Raises ExportRefused with every row that has no such form."""
    emitter = QdqEmitter(model, ports, signed=signed)
    emitter.emit()
    return emitter


