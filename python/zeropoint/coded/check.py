# SPDX-License-Identifier: BSD-3-Clause
"""The check of a coded network: every code of every value, here and in the source's runtime."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import numpy as np

from zeropoint.coded.stage import Stage, coding_of
from zeropoint.compiler import compiled, without_comments
from zeropoint.errors import ZeropointError
from zeropoint.files import text_of_header
from zeropoint.ir import Coding, Graph, Value
from zeropoint.layers import Row
from zeropoint.layout import Layout
from zeropoint.lower.context import Lowered
from zeropoint.ports import to_memory

PROGRAM = r"""// Runs an int8 network: program weights inputs outputs, which get what every row has computed.
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "@HEADER@"

int main(int argc, char** argv) try {
    if (argc != 4) return 2;
    const auto model = zp::load<::@NET@_int8>(argv[1]);
    using network = ::@NET@_int8;
    const auto memory = std::make_unique<network::workspace>();
    std::vector<std::vector<char>> xs, ys;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    const auto bytes = [](const zp::port& p) {
        return std::vector<char>(static_cast<std::size_t>(p.extents.size()) * static_cast<std::size_t>(zp::size_of(p.storage)));
    };
    for (const zp::port& p : network::inputs()) xs.push_back(bytes(p));
    for (const zp::port& p : network::outputs()) ys.push_back(bytes(p));
    for (std::vector<char>& x : xs) inputs.push_back(x.data());
    for (std::vector<char>& y : ys) outputs.push_back(y.data());
    std::ifstream from(argv[2], std::ios::binary);
    std::ofstream to(argv[3], std::ios::binary);
    const auto table = network::rows();
    while (true) {
        for (std::vector<char>& x : xs) from.read(x.data(), static_cast<std::streamsize>(x.size()));
        if (!from) break;
        model.run(inputs.data(), outputs.data(), memory->bytes, [&](int row, const void* values) {
            const zp::node& n = table[static_cast<std::size_t>(row)];
            const int size = n.op->is_output ? 0 : n.out.extents.size() * zp::size_of(n.out.storage);
            to.write(reinterpret_cast<const char*>(&size), 4);
            to.write(static_cast<const char*>(values), static_cast<std::streamsize>(size));
        });
    }
    return to.flush() ? 0 : 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
"""

# Operators whose runtime does not give the real result rounded once, where no policy here repeats what it does. Next to a
# tie their codes are one apart.
APPROXIMATE = {
    "ADD": "a sum in fixed point of 20 bits", "SUB": "a difference in fixed point of 20 bits",
    "SQUARED_DIFFERENCE": "fixed point", "RESIZE_BILINEAR": "interpolation in fixed point of 10 bits",
    "SOFTMAX": "exponentials in fixed point", "LOG_SOFTMAX": "logarithms in fixed point", "SUM": "fixed point",
    "PRELU": "fixed point", "BATCH_MATMUL": "two roundings; a network's matmul is exact",
    "Conv": "its multiplier is the quotient of a product that is a float", "Gemm": "as Conv", "MatMul": "as Conv",
    "ConvTranspose": "as Conv", "AveragePool": "means in float, the zero point added before they are rounded",
    "GlobalAveragePool": "means in float", "ReduceMean": "means in float", "Resize": "interpolation in float",
    "Add": "sums in float", "Sub": "differences in float",
    "Mul": "products in float", "Div": "quotients in float", "Softmax": "multiplies by floor(1 / scale), which is 254 for 1/255",
    "LogSoftmax": "logarithms in float", "LayerNormalization": "in float", "InstanceNormalization": "in float",
    "PRelu": "in float"}


@dataclass
class RowResult:
    """A row beside the source."""

    row: Row
    name: str
    kind: str         # here
    operator: str     # of the source
    codes: int = 0
    differing: int = 0
    furthest: int = 0
    is_first: bool = True  # all that it reads is equal
    example: str = ""

    @property
    def is_documented(self) -> bool:
        """One code apart, where the source is known to approximate."""
        return self.furthest <= 1 and self.operator in APPROXIMATE

    def text(self) -> str:
        """A line."""
        why = f": {APPROXIMATE[self.operator]}" if self.is_documented else ""
        return (f"{self.kind} {self.name} ({self.operator}): {self.differing} of {self.codes} codes differ, by at most "
                f"{self.furthest}{why}{self.example}")


@dataclass
class CodeComparison:
    """All codes of all rows, over all inputs."""

    inputs: int
    runtime: str
    rows: list[RowResult] = field(default_factory=list)
    outputs: list[RowResult] = field(default_factory=list)

    @property
    def codes(self) -> int:
        """How many were compared."""
        return sum(row.codes for row in self.rows)

    @property
    def differing(self) -> int:
        """How many are not equal, what follows from others too."""
        return sum(row.differing for row in self.rows)

    @property
    def sources(self) -> list[RowResult]:
        """Rows that differ though what they read does not."""
        return [row for row in self.rows if row.differing and row.is_first]

    @property
    def passed(self) -> bool:
        """No code differs, or where some do it begins where the source approximates."""
        return self.codes > 0 and all(row.is_documented for row in self.sources)

    def to_json(self) -> dict[str, Any]:
        """For reports."""
        return {"codes": self.codes, "differing": self.differing, "passed": self.passed,
                "rows": [{"row": r.name, "operator": r.operator, "codes": r.codes,
                          "differing": r.differing, "furthest": r.furthest} for r in self.sources]}

    def comment(self) -> str:
        """For the head of a header."""
        outputs = sum(row.differing for row in self.outputs)
        if self.differing == 0:
            return (f"Checked with {self.inputs} inputs: all {self.codes:,} codes of all values equal those of "
                    f"{self.runtime}.")
        verdict = "Checked" if self.passed else "FAILED its check"
        return (f"{verdict} with {self.inputs} inputs: {self.differing:,} of {self.codes:,} codes differ from those of "
                f"{self.runtime}, {outputs} of them in outputs.")

    def report(self) -> str:
        """For the terminal."""
        lines = [f"{'passed' if self.passed else 'FAILED'}: {self.inputs} inputs, {self.differing} of {self.codes} codes of "
                 f"{len(self.rows)} values differ, {sum(row.differing for row in self.outputs)} of them in outputs "
                 f"({self.runtime})"]
        return "\n".join(lines + [f"  begins at {row.text()}" for row in self.sources])


def inputs_for(graph: Graph, count: int) -> list[dict[str, np.ndarray]]:
    """Codes from end to end, then those of normal and of uniform numbers."""
    random = np.random.default_rng(20261125)
    bounds = {id(node.inputs[1]): node.inputs[0].shape[0] for node in graph.nodes if node.op == "embedding"}
    sets: list[dict[str, np.ndarray]] = []
    for number in range(count):
        arrays: dict[str, np.ndarray] = {}
        for value in graph.given:
            if value.coding is None:
                arrays[value.name] = random.integers(0, bounds.get(id(value), 2), value.shape)
                continue
            low, high = value.coding.limits
            if number % 3 == 0:
                codes = random.integers(low, high + 1, value.shape)
            else:
                real = random.standard_normal(value.shape) if number % 3 == 1 else random.random(value.shape)
                codes = np.rint(real / float(value.coding.scale[0])) + int(value.coding.zero_point[0])
            arrays[value.name] = np.clip(codes, low, high).astype(value.coding.dtype)
        sets.append(arrays)
    return sets


def in_memory(array: np.ndarray, coding: Coding, layout: Layout) -> np.ndarray:
    """A tensor of the source as it lies here."""
    if coding.order is not None:
        array = array.transpose(coding.order)
    atoms = array.reshape([layout.sizes[a] for a in layout.source])
    return atoms.transpose([layout.source.index(a) for a in layout.memory]).reshape(-1)


def run_rows(program: Path, weights: Path, graph: Graph, lowered: Lowered, sets: list[dict[str, np.ndarray]],
             takes_codes: set[str], rows: int) -> list[list[bytes]]:
    """What every row has computed, of each set."""
    codings = {value.name: value.coding for value in graph.given}
    with tempfile.TemporaryDirectory(prefix="zeropoint-") as name:
        folder = Path(name)
        with open(folder / "x", "wb") as file:
            for arrays in sets:
                for port in lowered.inputs:
                    array, coding = arrays[port.name], codings[port.name]
                    if coding is None or port.name not in takes_codes:
                        to_memory(array if coding is None else coding.real(array), port).tofile(file)
                    else:
                        to_memory(array, port).astype(coding.dtype).tofile(file)
        done = subprocess.run([program, weights, folder / "x", folder / "y"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ZeropointError(f"the compiled network stopped ({done.returncode}): {done.stderr.strip()}")
        raw = (folder / "y").read_bytes()
    parts: list[bytes] = []
    at = 0
    while at < len(raw):
        size = int.from_bytes(raw[at:at + 4], "little")
        parts.append(raw[at + 4:at + 4 + size])
        at += 4 + size
    return [parts[i:i + rows] for i in range(0, len(parts), rows)]


def check_codes(header: Path, weights: Path, name: str, graph: Graph, lowered: Lowered, stage: Stage, source: Any,
                say: Callable[[str], None], count: int = 3) -> CodeComparison:
    """Compiles, runs both sides, compares every code."""
    say(f"compile {header.name}")
    text = PROGRAM.replace("@HEADER@", header.name).replace("@NET@", name)
    program = compiled(text, {header.name: without_comments(text_of_header(header))})
    sets = inputs_for(graph, count)
    say(f"run {count} inputs here")
    mine = run_rows(program, weights, graph, lowered, sets, source.takes_codes, len(stage.nodes))
    say(f"run them in {source.title}")
    made = CodeComparison(count, source.title)
    results: dict[int, RowResult] = {}
    for arrays, rows in zip(sets, mine):
        theirs = source.run(arrays, graph)
        for number, raw in enumerate(rows):
            compare_row(stage, number, raw, theirs, source, results)
    differs = {number for number, result in results.items() if result.differing}
    for number, result in results.items():
        result.is_first = not any(x in differs for x in coded_inputs(stage, number, results))
    made.rows = list(results.values())
    outputs = {id(value) for value in graph.outputs}
    last = {id(coding_of(row.row)): row for row in made.rows}
    made.outputs = [last[id(value.coding)] for value in graph.outputs if id(value.coding) in last] or \
        [row for row in made.rows if id(row.row.value) in outputs] or made.rows[-1:]
    say(made.report())
    return made


def coded_inputs(stage: Stage, number: int, results: dict[int, RowResult]) -> list[int]:
    """The nearest rows in front of one that were compared."""
    found: list[int] = []
    for x in stage.nodes[number]["inputs"]:
        found += [x] if x in results else coded_inputs(stage, x, results)
    return found


def compare_row(stage: Stage, number: int, raw: bytes, theirs: dict[Any, np.ndarray], source: Any,
                results: dict[int, RowResult]) -> None:
    """The codes of one row and one input, where the source has such a value."""
    node = stage.nodes[number]
    if "quant_min" not in node["out"] or node["op"].get("is_output") or node["op"]["kind"] == "requantize":
        return
    row = stage.row(number)
    if row is None or row.kind == "constant" or not isinstance(row.layout, Layout):
        return
    coding = coding_of(row)
    if coding is None or coding.source not in theirs:
        return
    expected = in_memory(theirs[coding.source], coding, row.layout).astype(np.int16)
    found = np.frombuffer(raw, np.int8 if node["out"]["storage"] == "int8" else np.uint8).astype(np.int16)
    value = row.value if isinstance(row.value, Value) else None
    name = node["name"] or row.origin.name
    result = results.setdefault(number, RowResult(row, name, node["op"]["kind"], source.kind_of(value)))
    distance = np.abs(expected - found)
    result.codes += distance.size
    result.differing += int(np.count_nonzero(distance))
    result.furthest = max(result.furthest, int(distance.max()))
    if distance.any() and not result.example:
        at = int(distance.argmax())
        result.example = f"; value {at} is {found[at]}, there {expected[at]}"
