# SPDX-License-Identifier: BSD-3-Clause
"""Runs many imported networks in few programs, as most of a small program's compile time is the headers'."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeropoint.compiler import compiled, without_comments
from zeropoint.emit.header import write_header
from zeropoint.emit.structure import Structure
from zeropoint.errors import ZeropointError
from zeropoint.front.onnx_reader import read_onnx
from zeropoint.importer import lowered_of, save_tensors
from zeropoint.lower import Lowered
from zeropoint.ports import from_memory, to_memory

AT_A_TIME = 40  # networks in one program
COMPILERS = min(2, os.cpu_count() or 1)
MAIN = r"""
#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>
@INCLUDES@
using sizes = std::vector<int>;
template <class Net> void run(const std::string& name, const sizes& in, const sizes& out) {
    const auto model = zp::load<Net>(name + ".safetensors");
    std::vector<std::vector<float>> xs, ys;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::ifstream from(name + ".x", std::ios::binary);
    for (const int n : in) {
        xs.emplace_back(static_cast<std::size_t>(n));
        from.read(reinterpret_cast<char*>(xs.back().data()), 4l * n);
    }
    for (const int n : out) ys.emplace_back(static_cast<std::size_t>(n));
    for (auto& x : xs) inputs.push_back(x.data());
    for (auto& y : ys) outputs.push_back(y.data());
    using network = std::remove_const_t<decltype(model)>;
    model.run(inputs.data(), outputs.data(), std::make_unique<typename network::workspace>()->bytes);
    std::ofstream to(name + ".y", std::ios::binary);
    for (auto& y : ys) to.write(reinterpret_cast<const char*>(y.data()), static_cast<std::streamsize>(4 * y.size()));
}
int main(int argc, char** argv) {  // of these networks, or of all
    const auto wanted = [&](std::string_view name) { return argc == 1 || std::find(argv + 1, argv + argc, name) != argv + argc; };
@CALLS@
}
"""


@dataclass
class Network:
    """One that was imported, under a name that C++ takes, with what goes in."""

    name: str
    lowered: Lowered
    header: str
    inputs: dict[str, np.ndarray]


def imported(path: Path, inputs: dict[str, np.ndarray], batches: bool = False) -> Network:
    """Of an ONNX file. Raises ZeropointError where it is refused."""
    lowered = lowered_of(read_onnx(path), batches)
    header = write_header(lowered, Structure(lowered), f"net_{path.stem}", "a test", "0", []).text
    return Network(path.stem, lowered, header, inputs)


def sizes(ports: list) -> str:
    """Numbers of values as C++."""
    return "{" + ", ".join(str(int(np.prod(port.shape))) for port in ports) + "}"


def program_of(networks: list[Network], flags: tuple[str, ...]) -> Path:
    """A program with all of them."""
    headers = {f"{n.name}.hpp": without_comments(n.header) for n in networks}
    calls = [f'    if (wanted("{n.name}")) run<net_{n.name}>("{n.name}", {sizes(n.lowered.inputs)}, '
             f'{sizes(n.lowered.outputs)});' for n in networks]
    source = MAIN.replace("@INCLUDES@", "\n".join(f'#include "{name}"' for name in headers)).replace("@CALLS@", "\n".join(calls))
    return compiled(source, headers, flags=flags)


def run_together(networks: list[Network], folder: Path, flags: tuple[str, ...] = ()) -> dict[str, list[np.ndarray] | str]:
    """The outputs of each, or why there are none: it does not compile, or its program ended otherwise than well."""
    found: dict[str, list[np.ndarray] | str] = {}
    parts = [networks[begin:begin + AT_A_TIME] for begin in range(0, len(networks), AT_A_TIME)]
    for part in parts[:1]:  # which makes what all programs share
        found |= run_some(part, folder, flags)
    with ThreadPoolExecutor(COMPILERS) as pool:
        for made in pool.map(lambda part: run_some(part, folder, flags), parts[1:]):
            found |= made
    return found


def run_some(networks: list[Network], folder: Path, flags: tuple[str, ...]) -> dict[str, list[np.ndarray] | str]:
    """The same in one program, or in halves where that one does not compile."""
    try:
        program = program_of(networks, flags)
    except ZeropointError as error:
        if len(networks) == 1:
            return {networks[0].name: str(error)}
        half = len(networks) // 2
        return run_some(networks[:half], folder, flags) | run_some(networks[half:], folder, flags)
    for network in networks:
        save_tensors(folder / f"{network.name}.safetensors", network.lowered.tensors)
        with open(folder / f"{network.name}.x", "wb") as file:
            for port in network.lowered.inputs:
                to_memory(network.inputs[port.name], port).tofile(file)
    is_well = subprocess.run([program], cwd=folder, capture_output=True, check=False).returncode == 0
    found: dict[str, list[np.ndarray] | str] = {}
    for network in networks:
        if not is_well:
            done = subprocess.run([program, network.name], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                found[network.name] = f"its program ended with {done.returncode}: {done.stderr[-300:]}"
                continue
        values = np.fromfile(folder / f"{network.name}.y", np.float32)
        ends = np.cumsum([int(np.prod(port.shape)) for port in network.lowered.outputs])
        parts = np.split(values, ends[:-1])
        found[network.name] = [from_memory(part, port) for part, port in zip(parts, network.lowered.outputs)]
    return found


def difference(mine: list[np.ndarray] | str, expected: list[np.ndarray]) -> str:
    """What is wrong with the outputs, within a ten-thousandth of the largest value of each; empty where nothing is."""
    if isinstance(mine, str):
        return mine
    if len(mine) != len(expected):
        return f"{len(mine)} outputs, not {len(expected)}"
    for number, (y, reference) in enumerate(zip(mine, expected)):
        reference = np.asarray(reference, np.float64)
        largest = np.abs(reference).max(initial=0.0) or 1.0
        apart = np.abs(y.reshape(reference.shape) - reference).max(initial=0.0)
        if not apart <= 1e-4 * largest:
            return f"output {number}: {apart / largest:.1e} of its largest value"
    return ""
