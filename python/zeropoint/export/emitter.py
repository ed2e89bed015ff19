# SPDX-License-Identifier: BSD-3-Clause
"""From rows to ONNX, one function an operator: what all of them share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Sequence

import numpy as np

from zeropoint.errors import ExportRefused, Problem, Refused, need
from zeropoint.export.formulas import bounds_of
from zeropoint.export.graph import OPSET, Graph, Value, moved_axes, shape_in
from zeropoint.export.int8_model import Int8Model, Node, Range
from zeropoint.lower.context import Port
from zeropoint.ports import to_memory
from zeropoint.registry import registers

TYPES = {"float32": np.float32, "uint8": np.uint8, "int8": np.int8, "int32": np.int32}
Emission = Callable[["Emitter", Node], Any]
INTEGER: dict[str, Emission] = {}
# Of functions that give the row's Value, or the name of a tensor in the layout of its first input.
emits = registers(INTEGER)


class Emitter:
    """The state of one export: the graph, and what stands for each row."""

    def __init__(self, model: Int8Model, ports: tuple[list[Port], list[Port]], emissions: dict[str, Emission]) -> None:
        self.model, self.graph, self.emissions = model, Graph(), emissions
        self.input_ports, self.output_ports = ports
        self.values: dict[int, Value] = {}
        self.problems: list[Problem] = []
        for port in (*ports[0], *ports[1]):
            self.graph.unique(port.name)

    # The inputs of a row.

    def value(self, node: Node, k: int = 0) -> Value:
        """What its input k is."""
        return self.values[node.inputs[k]]

    def source(self, node: Node, k: int = 0) -> Node:
        """Which row its input k is of."""
        return self.model.nodes[node.inputs[k]]

    def range_in(self, node: Node, k: int = 0) -> Range:
        """That of its input k."""
        return self.model.range_of(node.inputs[k])

    def range_out(self, node: Node) -> Range:
        """Its own."""
        return self.model.range_of(node.number)

    def form(self, value: Value, layout: str) -> str:
        """The tensor of a value in a layout, moved there once."""
        if layout not in value.forms:
            other = "last" if layout == "first" else "first"
            x = value.forms[other]
            if value.flattened is not None:
                x = self.graph.reshape(x, shape_in(value.flattened, other))
                x = self.graph.transpose(x, moved_axes(len(shape_in(value.flattened, layout)), layout))
                x = self.graph.reshape(x, shape_in(value.extents, layout))
            elif all(n == 1 for n in value.extents[:3]) or value.extents[3] == 1:
                x = self.graph.reshape(x, shape_in(value.extents, layout))
            else:
                x = self.graph.transpose(x, moved_axes(len(shape_in(value.extents, layout)), layout))
            value.forms[layout] = x
        return value.forms[layout]

    def shaped(self, node: Node, k: int, layout: str, shape: Sequence[int]) -> str:
        """Input k in a layout, seen as another shape."""
        return self.graph.reshape(self.form(self.value(node, k), layout), shape)

    def moved(self, node: Node, k: int, layout: str, order: Sequence[int]) -> str:
        """Input k in a layout, along permuted axes."""
        return self.graph.transpose(self.form(self.value(node, k), layout), order)

    def wrapped(self, node: Node, value: Value) -> Value:
        """What a row leaves, of what its function gave."""
        return value

    def first(self, node: Node, k: int = 0) -> str:
        """Input k channels first."""
        return self.form(self.value(node, k), "first")

    def last(self, node: Node, k: int = 0) -> str:
        """Input k channels last, as memory has it."""
        return self.form(self.value(node, k), "last")

    def any_layout(self, node: Node) -> str:
        """A layout that needs no move of the first input."""
        return self.value(node).layout

    def made(self, node: Node, name: str, layout: str) -> Value:
        """The value of a row."""
        return Value(node.extents, {layout: name}, node.flattened)

    # Arithmetic that many rows have.

    def centred(self, x: str, of: Range, dtype: Any) -> str:
        """place - zero_point as a number of another type."""
        as_number = self.graph.cast(x, dtype)
        if of.zero_point == 0:
            return as_number
        return self.graph.op("Sub", as_number, self.graph.const(of.zero_point, "zero_point", dtype))

    def finished(self, node: Node, steps: str, dtype: Any) -> str:
        """From steps of the output's scale, as floats, to places, under the row's clamp."""
        of = self.range_out(node)
        low, high = bounds_of(node, of)
        return self.graph.rounded(steps, low, high, of.zero_point, dtype, name=f"{node.title}.output")

    def looked_up(self, table: np.ndarray, places: str, name: str = "") -> str:
        """table[places]."""
        if (table == np.arange(table.size)).all():
            return places
        return self.graph.op("Gather", self.graph.const(table, "table"), self.graph.cast(places, np.int32), name=name)

    def per_channel(self, values: np.ndarray, layout: str, rank: int, name: str) -> str:
        """One number a channel, spread over pixels."""
        return self.graph.const(values.reshape(-1, *[1] * (rank - 2)) if layout == "first" else values, name)

    # Ports.

    def add_input(self, node: Node) -> Value:
        """A graph input in the source's shape, as a row has it."""
        port = self.input_ports[node.options["port"]]
        kind = TYPES[node.storage]
        element = self.graph.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        name = port.name
        self.graph.inputs.append(self.graph.helper.make_tensor_value_info(name, element, list(port.extents)))
        value = Value(node.extents, {})
        for layout in ("first", "last"):
            if same_order(port, node.extents, layout):
                shape = shape_in(node.extents, layout)
                value.forms[layout] = name if shape == list(port.extents) else self.graph.reshape(name, shape)
                break
        else:
            kept = [i for i, n in enumerate(port.extents) if n != 1]
            moved = self.graph.transpose(self.graph.reshape(name, [port.extents[i] for i in kept]),
                                         [kept.index(i) for i in port.order])
            value.forms["last"] = self.graph.reshape(moved, shape_in(node.extents, "last"))
        return value

    def in_port(self, port: Port, value: Value) -> str:
        """A value in the source's shape."""
        for layout in [*value.forms, "last"]:
            if value.flattened is None and same_order(port, value.extents, layout):
                return self.graph.reshape(self.form(value, layout), port.extents)
        kept = [i for i, n in enumerate(port.extents) if n != 1]
        moved = self.graph.reshape(self.form(value, "last"), [port.extents[i] for i in port.order])
        return self.graph.reshape(self.graph.transpose(moved, [port.order.index(i) for i in kept]), port.extents)

    def add_output(self, port: Port, number: int) -> None:
        """A graph output in the source's shape."""
        x = self.in_port(port, self.values[number])
        self.graph.nodes.append(self.graph.helper.make_node("Identity", [x], [port.name], name=f"{port.name}/Identity"))
        self.declare_output(port, number)

    def declare_output(self, port: Port, number: int) -> None:
        """Its name and type."""
        element = self.graph.helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[self.model.nodes[number].storage]))
        self.graph.outputs.append(self.graph.helper.make_tensor_value_info(port.name, element, list(port.extents)))

    # All rows.

    takes_floats = False  # rows that compute floats

    def emission_of(self, node: Node) -> Emission:
        """What emits a row. Raises Refused where nothing does."""
        if node.storage == "int16":
            raise Refused("value", "codes of 16 bits")
        is_port = node.op.get("is_input") or node.op.get("is_output")
        if node.storage == "float32" and not (is_port or node.kind == "dequantize" or self.takes_floats):
            raise Refused("value", "this row computes floats, which are not the same everywhere")
        function = self.emissions.get(node.op["name"]) or self.emissions.get(node.kind)
        if node.op.get("is_function"):
            function = self.emissions.get("function")
        if function is None:
            raise Refused("op", "this operator has no form in the exported graph")
        return function

    def emit(self) -> None:
        """Every row, then the outputs. Raises ExportRefused with all rows that cannot be exported."""
        for node in self.model.nodes:
            self.graph.scope = node.title
            try:
                made = self.emission_of(node)(self, node)
                value = made if isinstance(made, Value) else self.made(node, made, self.any_layout(node))
                self.values[node.number] = self.wrapped(node, value)
            except Refused as refused:
                self.problems.append(Problem(node.op["name"], node.title, refused.reason, refused.text))
                self.values[node.number] = Value(node.extents, {"first": "?", "last": "?"}, node.flattened)
        if self.problems:
            raise ExportRefused(self.problems)
        for port, output in zip(self.output_ports, self.model.outputs):
            self.add_output(port, output["node"])

    def finish(self, name: str, extra: Sequence[str] = ()) -> Any:
        """The model, checked; `extra` are tensors that become outputs too."""
        onnx = need("onnx", "onnx")
        outputs = [*self.graph.outputs, *(onnx.helper.make_empty_tensor_value_info(e) for e in extra)]
        graph = onnx.helper.make_graph(self.graph.nodes, name, self.graph.inputs, outputs,
                                       list(self.graph.initializers.values()))
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10,
                                      producer_name="zeropoint")
        if not extra:
            onnx.checker.check_model(made, full_check=True)
        return made


def same_order(port: Port, extents: Sequence[int], layout: str) -> bool:
    """Whether the source's tensor has the values of a layout in the same order."""
    places = to_memory(np.arange(np.prod(port.extents)).reshape(port.extents), replace(port, is_integer=True))
    shape = shape_in(extents, layout)
    here = np.arange(places.size).reshape(shape)
    if layout == "first":
        here = here.transpose(moved_axes(len(shape), "last"))
    return bool((places == here.reshape(-1)).all())
