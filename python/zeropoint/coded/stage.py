# SPDX-License-Identifier: BSD-3-Clause
"""The rows and slots of an int8 network as C++ has them, and which values of the source they hold."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from math import prod
from typing import Any

from zeropoint.compiler import compiled, without_comments
from zeropoint.emit.structure import Structure, rows_of
from zeropoint.errors import ImportRefused, Problem, ZeropointError
from zeropoint.ir import Coding, Value
from zeropoint.layers import Row
from zeropoint.lower.context import Lowered

DESCRIPTION = r"""// Prints the int8 stage of a network as JSON, and which rows each of its rows is made of.
#include <cstdio>

#include <zeropoint/analysis/model_json.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "@HEADER@"

int main() {
    using stage = typename @NET@_int8::stage;
    std::printf("{\"stage\": %s, \"source\": [", zp::to_json<stage>().c_str());
    constexpr const auto& source = zp::source<@NET@>::table;
    for (int i = 0; i != source.size; ++i)
        std::printf("%s%d", i == 0 ? "" : ", ", source.nodes[i].input_count == 0 ? -1 : int{source.nodes[i].inputs[0]});
    std::printf("], \"fused\": [");
    constexpr const auto& fused = stage::prepared;
    constexpr auto before = zp::fused_nodes<@NET@, typename stage::architecture>::loose;
    for (int i = 0; i != fused.size; ++i)
        std::printf("%s[%d, %d]", i == 0 ? "" : ", ", before.nodes[i].from.self, fused.nodes[i].out.qparams_id);
    std::printf("], \"from\": [");
    for (int i = 0; i != stage::loose.size; ++i) {
        const zp::provenance& from = stage::loose.nodes[i].from;
        std::printf("%s[%d, %d, %d]", i == 0 ? "" : ", ", from.self, from.sum, from.lut);
    }
    std::printf("]}\n");
}
"""


@dataclass
class Stage:
    """What the int8 type says of itself, beside the rows of the import."""

    described: dict[str, Any]          # zp::to_json
    sources: list[tuple[int, int, int]]  # of each int8 row: fused rows that it is (self, sum, lut), or -1
    parts: list[list[Row]]             # of each fused row: the rows that it is made of, in order
    slots: list[Coding]                # scale and zero point of each slot
    slot_of: list[int]                 # of each fused row

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The int8 rows."""
        return self.described["nodes"]

    def row(self, number: int) -> Row | None:
        """The row whose value an int8 row has; None of what was put in between."""
        own, total, lut = self.sources[number]
        place = lut if lut >= 0 else total if total >= 0 else own
        size = prod(self.nodes[number]["out"]["extents"])  # zeros around an image may be a convolution's padding now
        coded = [row for row in self.parts[place] if coding_of(row) is not None and prod(row.shape) == size] \
            if place >= 0 else []
        return coded[-1] if coded else None


def coding_of(row: Row) -> Coding | None:
    """How the source has the value of a row in integers."""
    if row.coding is not None:
        return row.coding  # type: ignore[return-value]
    return row.value.coding if isinstance(row.value, Value) else None


def describe_stage(header: str, text: str, name: str, lowered: Lowered, structure: Structure) -> Stage:
    """Compiles and runs the description. Raises ImportRefused where the source does not say how a slot is coded."""
    source = DESCRIPTION.replace("@HEADER@", header).replace("@NET@", name)
    program = compiled(source, {header: without_comments(text)}, flags=("-O0",))
    found = json.loads(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    rows: list[Row] = list(structure.inputs) + [row for item in structure.items for row in rows_of(item)]
    if len(rows) != len(found["source"]):
        raise ZeropointError(f"the network has {len(found['source'])} rows, the import {len(rows)}")
    owner: list[int] = []
    by_self = {self: j for j, (self, _) in enumerate(found["fused"])}
    for i, first in enumerate(found["source"]):
        owner.append(by_self[i] if i in by_self else owner[first])
    parts: list[list[Row]] = [[] for _ in found["fused"]]
    for row, j in zip(rows, owner):
        parts[j].append(row)
    slot_of = [slot for _, slot in found["fused"]]
    stage = Stage(found["stage"], [tuple(f) for f in found["from"]], parts, [], slot_of)  # type: ignore[misc]
    stage.slots = slots_of(stage, found["stage"]["qparams_count"])
    return stage


def slots_of(stage: Stage, count: int) -> list[Coding]:
    """One coding a slot, the same of all values that share it."""
    slots: list[Coding | None] = [None] * count
    problems: list[Problem] = []
    for j, slot in enumerate(stage.slot_of):
        for row in stage.parts[j]:
            coding = coding_of(row)
            if coding is None or slot < 0:
                continue
            if slots[slot] is None:
                slots[slot] = coding
            elif slots[slot].grid != coding.grid:  # type: ignore[union-attr]
                _, scale, zero_point = slots[slot].grid  # type: ignore[union-attr]
                text = (f"its codes have scale {coding.grid[1]:g} and zero point {coding.grid[2]}, but its layer has those of "
                        f"what it reads or is read by: {scale:g} and {zero_point}")
                problems.append(Problem(kind_of(row), row.origin.name, "value", text, row.origin.source))
    used = {node["out"]["qparams_id"] for node in stage.nodes if "quant_min" in node["out"]}
    used |= {node["fused"]["table_qparams_id"] for node in stage.nodes if "table_qparams_id" in node.get("fused", {})}
    for slot in sorted(used):
        if slots[slot] is None:
            row = next(stage.parts[j][-1] for j, s in enumerate(stage.slot_of) if s == slot)
            text = "the source does not round this value to codes; quantize the whole model, or cut it here"
            problems.append(Problem(kind_of(row), row.origin.name, "value", text, row.origin.source))
    if problems:
        raise ImportRefused(problems)
    return slots  # type: ignore[return-value]


def kind_of(row: Row) -> str:
    """What a row is called in reports."""
    return row.layer.template.removeprefix("zp::") if row.layer is not None else row.kind
