# SPDX-License-Identifier: BSD-3-Clause
"""An int8 network in memory: the rows that C++ describes and the tensors of its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zeropoint.errors import ZeropointError


@dataclass(frozen=True)
class Range:
    """Scale and zero point of a value, counted in places: its codes from the lowest of its storage type, 0 to 255."""

    scale: np.float32
    zero_point: int


@dataclass
class Node:
    """A row. extents are depth, height, width, channels; flattened: the image that a flatten made a vector of."""

    number: int
    name: str
    kind: str
    op: dict[str, Any]
    inputs: list[int]
    options: dict[str, int]
    extents: tuple[int, ...]
    flattened: tuple[int, ...] | None
    storage: str
    quant_min: int
    quant_max: int
    qparams_id: int
    weights: dict[str, Any]
    fused: dict[str, Any]
    raw: dict[str, Any] = field(repr=False, default_factory=dict)

    @property
    def lowest(self) -> int:
        """The lowest code of the storage type."""
        return {"uint8": 0, "int8": -128, "int16": -32768}.get(self.storage, 0)

    @property
    def is_codes(self) -> bool:
        """Whether its values are codes of a range."""
        return self.storage in ("uint8", "int8", "int16")

    @property
    def arguments(self) -> list[int]:
        """The operator's template arguments."""
        return list(self.op.get("options", []))

    @property
    def title(self) -> str:
        """For people: its name, or its operator and number."""
        return self.name or f"{self.op['name']}_{self.number}"

    @property
    def size(self) -> int:
        """How many values it has."""
        return int(np.prod(self.extents))


class Int8Model:
    """All rows, ranges and tensors of a network."""

    def __init__(self, description: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.description, self.tensors = description, tensors
        self.requantization: str = description["requantization"]
        self.nodes = [node_of(number, raw) for number, raw in enumerate(description["nodes"])]
        self._scales = tensors["activation.scale"]
        self._zero_points = tensors["activation.zero_point"]

    def range_at(self, qparams_id: int, node: Node) -> Range:
        """Of codes of the storage type that the node has."""
        return Range(np.float32(self._scales[qparams_id]), int(self._zero_points[qparams_id]) - node.lowest)

    def range_of(self, number: int) -> Range:
        """Of what a row gives."""
        node = self.nodes[number]
        return self.range_at(node.qparams_id, node)

    def tensor(self, node: Node, array: str, part: str = "") -> np.ndarray | None:
        """One of the node's tensors, or None where it has no such."""
        for index in node.raw["tensors"]:
            listed = self.description["tensors"][index]
            if listed["array"] == array and listed.get("part", "") == part:
                return self.tensors[listed["name"]]
        return None

    def table(self, node: Node) -> np.ndarray:
        """Of a function: the places that it gives, for each place that it reads."""
        found = self.tensor(node, "table")
        if found is None:
            raise ZeropointError(f"{node.title}: its file has no table of it")
        return found ^ np.uint8(128) if node.storage == "int8" else found

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Ports, in order."""
        return self.description["inputs"]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Ports, in order."""
        return self.description["outputs"]


def node_of(number: int, raw: dict[str, Any]) -> Node:
    """A row of the description."""
    out = raw["out"]
    return Node(number, raw["name"], raw["op"]["kind"], raw["op"], raw["inputs"], raw.get("options", {}),
                tuple(out["extents"]), tuple(out["flattened"]) if "flattened" in out else None, out["storage"],
                out.get("quant_min", 0), out.get("quant_max", 0), out.get("qparams_id", -1), raw.get("weights", {}),
                raw.get("fused", {}), raw)


def read_model(description: dict[str, Any], path: str | Path) -> Int8Model:
    """An int8 file under its description. Raises ZeropointError where it is another network's."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), "np") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise ZeropointError(f"{path}: expected an int8 file that zeropoint wrote, found none: {error}") from error
    for key in ("format", "signature"):
        if metadata.get(key) != description[key]:
            raise ZeropointError(f"{path}: expected the {key} {description[key]}, found {metadata.get(key, 'none')}: "
                                 "it was saved from another network, or under another qconfig")
    listed = {t["name"]: tuple(t["shape"]) for t in description["tensors"]}
    found = {name: tensor.shape for name, tensor in tensors.items()}
    if listed != found:
        wrong = sorted(set(listed.items()) ^ set(found.items()))[0]
        raise ZeropointError(f"{path}: its tensors are not those of the network, first {wrong[0]} {list(wrong[1])}")
    return Int8Model(description, tensors)
