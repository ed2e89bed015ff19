# SPDX-License-Identifier: BSD-3-Clause
"""The tensors of an int8 file, from the codes of the source."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from zeropoint import __version__
from zeropoint.coded.qconfig import weights_of
from zeropoint.coded.stage import Stage, coding_of
from zeropoint.errors import ZeropointError
from zeropoint.ir import Coding, Graph, Node
from zeropoint.layers import Row
from zeropoint.lower.context import Lowered
from zeropoint.replacing import write_tensors


def layers_of(graph: Graph, lowered: Lowered) -> dict[str, tuple[Node, Coding]]:
    """By the name of a layer: its node and how its weight is coded."""
    rows = {id(row.value): row for row in lowered.rows if row.kind == "layer" and row.value is not None}
    return {rows[id(node.outputs[0])].name: (node, coding) for node, coding in weights_of(graph).items()}


def channels_in_front(values: np.ndarray, node: Node, rank: int) -> np.ndarray:
    """One a channel, to be spread over a weight in the order of the file."""
    if values.size == 1:
        return values.reshape(())
    axis = 1 if node.op == "conv_transpose" else 0
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def weight_codes(real: np.ndarray, node: Node, coding: Coding) -> np.ndarray:
    """The codes that a dequantized weight was made of: its quotient is an integer but for a rounding."""
    if node.op == "conv_transpose" and node.attrs["groups"] != 1 and coding.scale.size > 1:
        raise ZeropointError(f"{node.origin.name}: a transposed convolution of groups cannot have a scale a channel here")
    scale = channels_in_front(coding.scale.astype(np.float64), node, real.ndim)
    codes = np.rint(real.astype(np.float64) / scale) + channels_in_front(coding.zero_point, node, real.ndim)
    return codes.astype(coding.dtype)


def bias_codes(node: Node, channels: int) -> np.ndarray:
    """int32, as the source has them; zeros where it has none."""
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is None:
        return np.zeros(channels, np.int32)
    assert bias.coding is not None and bias.coding.codes is not None
    codes = bias.coding.codes.reshape(-1)
    if np.abs(codes.astype(np.int64)).max() > 1 << 30:
        raise ZeropointError(f"{node.origin.name}: a bias beyond half of int32, which no layer takes")
    return np.ascontiguousarray(np.broadcast_to(codes, (channels,)), np.int32)


def table_of(stage: Stage, number: int, source: Any) -> np.ndarray:
    """Output codes of all input codes of a function, as the source computes it; bytes."""
    node = stage.nodes[number]
    y = stage.slots[node["out"]["qparams_id"]]
    fused = node.get("fused", {})
    x_slot = fused["table_qparams_id"] if "table_qparams_id" in fused else \
        stage.nodes[node["inputs"][0]]["out"]["qparams_id"]
    is_change = node["op"]["kind"] == "requantize"
    row = None if is_change else stage.row(number)
    value = row.value if row is not None else None
    return np.ascontiguousarray(source.table(value, stage.slots[x_slot], y)).view(np.uint8)


def tensors_of(stage: Stage, graph: Graph, lowered: Lowered, source: Any) -> dict[str, np.ndarray]:
    """Everything that zp::load of the int8 type wants."""
    layers = layers_of(graph, lowered)
    constants = {row.name: row for row in lowered.rows if row.kind == "constant"}
    made: dict[str, np.ndarray] = {}
    for tensor in stage.described["tensors"]:
        made[tensor["name"]] = tensor_of(tensor, stage, layers, constants, lowered, source)
        if list(made[tensor["name"]].shape) != tensor["shape"]:
            made[tensor["name"]] = made[tensor["name"]].reshape(tensor["shape"])
    return made


def tensor_of(tensor: dict[str, Any], stage: Stage, layers: dict[str, tuple[Node, Coding]], constants: dict[str, Row],
              lowered: Lowered, source: Any) -> np.ndarray:
    """One of them."""
    name, part, number = tensor["name"], tensor.get("part", ""), tensor["node"]
    if number < 0:
        if part == "scale":
            return np.array([0.0 if c is None else c.scale[0] for c in stage.slots], np.float32)
        return np.array([0 if c is None else c.zero_point[0] for c in stage.slots], np.int32)
    if tensor["array"] == "table":
        return table_of(stage, number, source)
    layer = stage.nodes[number]["name"]
    if layer in constants and part == "codes":
        coding = coding_of(constants[layer])
        assert coding is not None
        real = lowered.tensors[name].astype(np.float64)
        return (np.rint(real / float(coding.scale[0])) + int(coding.zero_point[0])).astype(coding.dtype)
    if part == "":
        return lowered.tensors[name]
    node, coding = layers[layer]
    channels = tensor["shape"][0]
    if part == "codes":
        return weight_codes(lowered.tensors[name], node, coding)
    if part == "scale":
        return np.broadcast_to(coding.scale, (channels,)).astype(np.float32)
    if part == "zero_point":
        return np.broadcast_to(coding.zero_point, (channels,)).astype(np.int32)
    if part == "bias":
        return bias_codes(node, channels)
    raise ZeropointError(f"{name}: nothing of the source is {part}")


def save_int8(path: Path, tensors: dict[str, np.ndarray], signature: str, network: str) -> None:
    """With the metadata of the format; network: the type of the header."""
    sums = {f"crc32.{name}": f"{zlib.crc32(np.ascontiguousarray(array)):08x}" for name, array in sorted(tensors.items())}
    write_tensors(path, tensors, {"format": "zeropoint.int8", "format_version": "2", "signature": signature, "network": network,
                                  "qconfig": f"{network}_qconfig", "zeropoint": __version__, **sums})
