"""ONNX's own node tests: what is imported computes their outputs; all else is refused, never wrong and never a crash."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from zeropoint.compiler import compiled, without_comments
from zeropoint.emit.header import write_header
from zeropoint.emit.structure import Structure
from zeropoint.errors import ZeropointError
from zeropoint.front.onnx_reader import read_onnx
from zeropoint.importer import lowered_of, save_tensors
from zeropoint.lower import Lowered
from zeropoint.ports import from_memory, to_memory

MAIN = r"""
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
int main() {
@CALLS@
}
"""
AT_A_TIME = 40  # networks in one program


def cases() -> list[Any]:
    """Those with a data set."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case for case in collect_testcases(None) if case.model is not None and case.data_sets and "float16" not in case.name]


def imported(case: Any, folder: Path) -> tuple[Lowered, str] | None:
    """A case's rows and header; None where it is refused."""
    path = folder / f"{case.name}.onnx"
    onnx.save(case.model, path)
    try:
        lowered = lowered_of(read_onnx(path))
    except ZeropointError:
        return None
    return lowered, write_header(lowered, Structure(lowered), f"net_{case.name}", "a node test", "0", []).text


def sizes(ports: list) -> str:
    """Numbers of values as C++."""
    return "{" + ", ".join(str(int(np.prod(port.shape))) for port in ports) + "}"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, Lowered, str]]:
    """All cases that are imported."""
    folder = tmp_path_factory.mktemp("onnx")
    made = [(case, imported(case, folder)) for case in cases()]
    return [(case, *result) for case, result in made if result is not None]


def test_enough_are_imported(found: list) -> None:
    """Of onnx 1.23.2; the others have a batch, integers, dynamic extents or no layer."""
    assert len(found) >= 100


@pytest.mark.parametrize("part", range(3))
def test_none_is_wrong(part: int, found: list, tmp_path: Path) -> None:
    """Each output beside the one that ONNX gives."""
    chosen = found[part * AT_A_TIME:(part + 1) * AT_A_TIME]
    if not chosen:
        return
    headers, calls = {}, []
    for case, lowered, text in chosen:
        headers[f"{case.name}.hpp"] = without_comments(text)
        save_tensors(tmp_path / f"{case.name}.safetensors", lowered.tensors)
        given = dict(zip((v.name for v in case.model.graph.input), case.data_sets[0][0]))
        with open(tmp_path / f"{case.name}.x", "wb") as file:
            for port in lowered.inputs:
                to_memory(np.asarray(given[port.name]), port).tofile(file)
        calls.append(f"    run<net_{case.name}>(\"{case.name}\", {sizes(lowered.inputs)}, {sizes(lowered.outputs)});")
    source = MAIN.replace("@INCLUDES@", "\n".join(f'#include "{name}"' for name in headers)).replace(
        "@CALLS@", "\n".join(calls))
    subprocess.run([compiled(source, headers)], cwd=tmp_path, check=True)
    wrong = []
    for case, lowered, _ in chosen:
        values = np.fromfile(tmp_path / f"{case.name}.y", np.float32)
        at = 0
        for port, expected in zip(lowered.outputs, case.data_sets[0][1]):
            size = int(np.prod(port.shape))
            y, reference = from_memory(values[at:at + size], port), np.asarray(expected, np.float64)
            at += size
            largest = np.abs(reference).max(initial=0.0) or 1.0
            if not np.abs(y.reshape(reference.shape) - reference).max(initial=0.0) <= 1e-4 * largest:
                wrong.append(f"{case.name}: {np.abs(y.reshape(reference.shape) - reference).max() / largest:.1e}")
    assert not wrong, "\n".join(wrong)
