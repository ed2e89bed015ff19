# SPDX-License-Identifier: BSD-3-Clause
"""LSTM and GRU in integers: products of a whole sequence at once, then a Scan over its steps."""

from __future__ import annotations

import numpy as np

from zeropoint.errors import Refused
from zeropoint.export.emitter import Emitter, emits
from zeropoint.export.formulas import F32, argument_factors, gate_tables, quantized
from zeropoint.export.graph import Graph, Value, shape_in
from zeropoint.export.int8_model import Node, Range

I64 = np.int64


def product(g: Graph, x: str, zero: int, codes: np.ndarray, name: str) -> str:
    """(x - zero) * codes transposed, codes rows x columns of int8, in int64."""
    weights = (codes.astype(np.int16).T + 128).astype(np.uint8)
    sums = g.op("MatMulInteger", x, g.const(weights, name), g.const(zero, "zero_point", np.uint8),
                g.const(128, "zero_point", np.uint8))
    return g.cast(sums, I64)


def clamped(g: Graph, x: str, low: int, high: int) -> str:
    """Within a type's range."""
    return g.op("Clip", x, g.const(low, "low", I64), g.const(high, "high", I64))


def word(g: Graph, x: str) -> str:
    """The nearest integer of 16 bits."""
    return clamped(g, x, -32768, 32767)


def rounded(g: Graph, x: str, shift: int) -> str:
    """x / 2^shift, halves upwards."""
    return g.shift_down(g.op("Add", x, g.const(1 << shift >> 1, "half", I64)), shift)


class Step:
    """One step of a cell, inside of a Scan: h as places of int8, the wide state as int64."""

    def __init__(self, g: Graph, factors: tuple, codes: np.ndarray, name: str, hidden: int) -> None:
        self.g, self.codes, self.name, self.hidden = g, codes, name, hidden
        self.x_multiplier, self.h_multiplier, self.x_bias, self.h_bias, self.shift = factors
        self.sigmoid, self.tanh = (g.const(t.astype(np.int16), n) for t, n in zip(gate_tables(), ("sigmoid", "tanh")))

    def sums(self, x_sums: str, h: str) -> tuple[str, str]:
        """From the input and from the state, for all gates, before they are shifted."""
        h_sums = product(self.g, h, 128, self.codes, self.name)
        both = []
        for sums, multiplier, bias in ((x_sums, self.x_multiplier, self.x_bias), (h_sums, self.h_multiplier, self.h_bias)):
            scaled = self.g.op("Mul", sums, self.g.const(multiplier, "multiplier"))
            both.append(self.g.op("Add", scaled, self.g.const(bias, "bias")))
        return both[0], both[1]

    def gate(self, all_gates: str, number: int) -> str:
        """The values of one gate."""
        return self.g.slice(all_gates, 1, number * self.hidden, (number + 1) * self.hidden)

    def looked_up(self, table: str, argument: str) -> str:
        """sigmoid or tanh of the nearest word."""
        place = self.g.op("Add", word(self.g, argument), self.g.const(32768, "middle", I64))
        return self.g.cast(self.g.op("Gather", table, place), I64)

    def shifted(self, sums: str) -> str:
        """An argument of a sum, whose half is in its bias."""
        return self.g.shift_down(sums, self.shift)

    def h(self, wide: str) -> str:
        """Places of int8 codes of an h of 16 bits."""
        code = clamped(self.g, rounded(self.g, wide, 8), -128, 127)
        return self.g.cast(self.g.op("Add", code, self.g.const(128, "lowest", I64)), np.uint8)

    def lstm(self, x_sums: str, h: str, c: str) -> tuple[str, str]:
        """Gates i, f, g, o: kernel/recurrent/byte_cell.hpp."""
        g = self.g
        argument = self.shifted(g.op("Add", *self.sums(x_sums, h)))
        i, f, o = (self.looked_up(self.sigmoid, self.gate(argument, n)) for n in (0, 1, 3))
        fresh = self.looked_up(self.tanh, self.gate(argument, 2))
        added = rounded(g, g.op("Mul", i, fresh), 4)
        c = word(g, rounded(g, g.op("Add", g.op("Mul", f, c), added), 15))
        bounded = self.looked_up(self.tanh, g.op("Add", c, c))
        return self.h(rounded(g, g.op("Mul", o, bounded), 15)), c

    def gru(self, x_sums: str, h: str, state: str) -> tuple[str, str]:
        """Gates r, z, n."""
        g = self.g
        from_input, from_state = self.sums(x_sums, h)
        reset, update = (self.looked_up(self.sigmoid, self.shifted(g.op("Add", self.gate(from_input, n),
                                                                        self.gate(from_state, n)))) for n in (0, 1))
        hidden = rounded(g, g.op("Mul", reset, self.shifted(self.gate(from_state, 2))), 15)
        fresh = self.looked_up(self.tanh, rounded(g, g.op("Add", self.shifted(self.gate(from_input, 2)), hidden), 2))
        mixed = g.op("Add", g.op("Mul", fresh, g.const(32768, "one", I64)),
                     g.op("Mul", update, g.op("Sub", state, fresh)))
        state = rounded(g, mixed, 15)
        return self.h(state), state


@emits("lstm", "gru")
def emit_recurrent(e: Emitter, node: Node) -> Value:
    """Layer by layer, each direction by a Scan."""
    hidden, layers, is_bidirectional, projection, gives, has_bias = node.arguments[:6]
    if projection or not node.is_codes or node.storage == "int16":
        raise Refused("value", "a recurrent layer that computes with floats")
    if node.raw.get("keeps_state"):
        raise Refused("value", "a layer that goes on from where the call before ended")
    g, x, of = e.graph, e.last(node), e.range_in(node)
    steps, inputs = e.value(node).extents[2:]
    x, scale, zero = g.reshape(x, [steps, inputs]), of.scale, of.zero_point
    for layer in range(layers):
        outputs = []
        for direction in range(1 + is_bidirectional):
            is_last = layer == layers - 1
            given = ("all" if not is_last or gives == 0 else
                     "last" if direction == 0 or gives == 2 else "first")  # of what goes backwards, last_step is its first
            outputs.append(one_direction(e, node, x, scale, zero, layer, direction, given))
        x = outputs[0] if len(outputs) == 1 else g.op("Concat", *outputs, axis=-1)
        scale, zero = F32(2.0**-7), 128
    return Value(node.extents, {"last": g.reshape(onto_output(e, node, x), shape_in(node.extents, "last"))})


def one_direction(e: Emitter, node: Node, x: str, scale: np.float32, zero: int, layer: int, direction: int,
                  given: str) -> str:
    """[steps, hidden] places of h in the order of the sequence, or one row of them."""
    hidden, has_bias, suffix = node.arguments[0], node.arguments[5], f"_l{layer}" + "_reverse" * direction
    codes, scales = ([e.model.tensor(node, f"weight_{k}{suffix}", part) for k in ("ih", "hh")] for part in ("codes", "scale"))
    zeros = np.zeros(len(scales[0]), F32)
    biases = [e.model.tensor(node, f"bias_{k}{suffix}") if has_bias else zeros for k in ("ih", "hh")]
    factors = argument_factors(node.op["name"], scale, *scales, *biases)
    g = e.graph
    sums = product(g, x, zero, codes[0], f"{node.title}.weight_ih{suffix}")
    body = g.inner()
    names = [g.unique(f"{node.title}{suffix}.{n}") for n in ("h", "state", "sums")]
    h_out, state_out = getattr(Step(body, factors, codes[1], f"{node.title}.weight_hh{suffix}", hidden),
                               node.op["name"])(body.reshape(names[2], [1, -1]), names[0], names[1])
    row = body.reshape(h_out, [hidden])
    info = g.helper.make_tensor_value_info
    inner = g.helper.make_graph(
        body.nodes, f"{node.title}{suffix}.step",
        [info(names[0], 2, [1, hidden]), info(names[1], 7, [1, hidden]), info(names[2], 7, [len(scales[0])])],
        [info(h_out, 2, [1, hidden]), info(state_out, 7, [1, hidden]), info(row, 2, [hidden])])
    begin = [g.const(np.full((1, hidden), 128, np.uint8), "no_state"), g.const(np.zeros((1, hidden), I64), "no_state")]
    backwards = (0, -1, -(1 << 31), -1)  # not by Scan's own directions, which onnx.reference does not have
    h, _, rows = g.op("Scan", *begin, g.slice(sums, *backwards) if direction else sums, outputs=3, body=inner,
                      num_scan_inputs=1)
    if given == "all":
        return g.slice(rows, *backwards) if direction else rows
    return h if given == "last" else g.slice(rows, 0, 0, 1)


def onto_output(e: Emitter, node: Node, h: str) -> str:
    """From places of h, scale 2^-7, to the output's grid."""
    y = e.range_out(node)
    low, high = node.quant_min - node.lowest, node.quant_max - node.lowest
    table = np.array([quantized(float(F32(code) * F32(2.0**-7)), Range(y.scale, y.zero_point), low, high)
                      for code in range(-128, 128)], np.uint8)
    return e.looked_up(table, h, f"{node.title}.output")


