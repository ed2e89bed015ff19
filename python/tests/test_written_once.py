# SPDX-License-Identifier: BSD-3-Clause
"""Weights as they are written: the bytes, the rights, the memory, and what is left where that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import safetensors.numpy
import torch
from safetensors import SafetensorError

import zeropoint
from zeropoint.errors import ZeropointError
from zeropoint.export.writer import write_model
from zeropoint.importer import save_tensors
from zeropoint.replacing import replacing, write_tensors

# A state of 200 MB in pages of its own, written by the function that is named; then the most memory that the process had before
# and after. Not by getrusage, whose figure a process takes over from the one that started it.
PEAK = """
import sys
from pathlib import Path
import numpy as np
from zeropoint.coded.file import save_int8
from zeropoint.importer import save_tensors

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

kind, path = sys.argv[1], Path(sys.argv[2])
if kind == "onnx":  # constants that are alike are one, and are found by what they hold
    from zeropoint.export.graph import Graph
    from zeropoint.export.writer import write_model
    graph = Graph()
    for number in range(20):
        graph.const(np.full(10_000_000, number, np.int8))
    whole = graph.helper.make_model(graph.helper.make_graph([], "net", [], []))
    for name in list(graph.initializers):
        whole.graph.initializer.append(graph.initializers.pop(name))
    before = peak()
    write_model(path, whole)
    print(before, peak())
    sys.exit()
dtype = np.int8 if kind == "int8" else np.float32
state = {str(number): np.ones(10_000_000 // np.dtype(dtype).itemsize, dtype) for number in range(20)}
before = peak()
save_int8(path, state, "0" * 16, "net") if kind == "int8" else save_tensors(path, state)
print(before, peak())
"""

# A limit of the system on what a file may hold, which is as a full disk.
LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from zeropoint.errors import ZeropointError
from zeropoint.importer import save_tensors
from zeropoint.replacing import replacing

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
target = Path(sys.argv[1])
try:
    with replacing(target) as folder:
        save_tensors(folder / target.name, {"a": np.ones(1000)})
except ZeropointError as error:
    print(error)
"""


def run(program: str, *arguments: str) -> str:
    """What it prints."""
    path = os.pathsep.join(filter(None, [str(Path(zeropoint.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    return subprocess.run([sys.executable, "-c", program, *arguments], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": path}).stdout


def test_the_bytes_are_those_of_save(tmp_path: Path) -> None:
    """For all dtypes that networks have, views, no axes and no values."""
    random = np.random.default_rng(0)
    tensors = {f"{dtype}.{name}": array.astype(dtype) for dtype in ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")
               for name, array in (("z", random.normal(size=(5, 7))), ("a", np.array(3.0)), ("none", np.zeros((0, 4))))}
    tensors["turned"], tensors["stepped"] = tensors["float32.z"].T, tensors["int8.z"][::2, ::3]
    save_tensors(tmp_path / "net", tensors)
    whole = {name: np.ascontiguousarray(array) for name, array in sorted(tensors.items())}
    assert (tmp_path / "net").read_bytes() == safetensors.numpy.save(whole, {"format": "pt"})


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002])
def test_the_rights_are_those_of_any_new_file(mask: int, tmp_path: Path) -> None:
    """Whatever mask the user has, and whatever rights an older file has."""
    (tmp_path / "net").write_bytes(b"older")
    (tmp_path / "net").chmod(0o600)
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "net") as folder:
            write_tensors(folder / "net", {"a": np.ones(3)}, {})
    finally:
        os.umask(before)
    assert (tmp_path / "net").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), SafetensorError("something else"),
                                   SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")])
def test_older_files_are_whole_where_writing_fails(error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Header and weights, with nothing beside them, when half of the new weights is written."""
    def half(_: dict[str, np.ndarray], path: Path, *__: object) -> None:
        path.write_bytes(b"half of it")
        (path.parent / ".tmp123").write_bytes(b"what save_file writes first")
        raise error

    def made() -> None:
        zeropoint.from_torch(torch.nn.Linear(12, 3).eval(), torch.randn(1, 12), tmp_path, name="net", verify=False)

    made()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(before) == ["net.hpp", "net.safetensors"]
    monkeypatch.setattr(safetensors.numpy, "save_file", half)
    told = "No space left on device" in str(error)
    with pytest.raises(ZeropointError if told else type(error)) as caught:
        made()
    assert not told or str(caught.value) == f"{tmp_path / 'net.safetensors'} cannot be written: {tmp_path}: No space left on device"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_file_that_the_system_does_not_take(tmp_path: Path) -> None:
    """One sentence, though the library has errors of its own; the older file stays."""
    (tmp_path / "net").write_bytes(b"older")
    assert run(LIMITED, str(tmp_path / "net")) == f"{tmp_path / 'net'} cannot be written: {tmp_path}: File too large\n"
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"older"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("kind", ["float32", "int8", "onnx"])
def test_weights_are_in_memory_once(kind: str, tmp_path: Path) -> None:
    """The bytes of the file are not held beside the arrays."""
    before, after = map(int, run(PEAK, kind, str(tmp_path / "net")).split())
    assert 200_000 < before < 400_000 and after < 1.25 * before, f"{before} kB before, {after} kB after"


def test_the_bytes_of_an_onnx_file(tmp_path: Path) -> None:
    """Are those of PyTorch's and our exporters, of all kinds of fields, as the library has them."""
    helper = onnx.helper
    weights = [onnx.numpy_helper.from_array(np.arange(size, dtype=np.float32), f"w{size}") for size in (0, 1, 31, 32, 5000)]
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3])
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="a"), helper.make_node("Clip", ["y", "w1"], ["z"], doc_string="text")]
    graph = helper.make_graph(nodes, "net", [value], [helper.make_empty_tensor_value_info("z")], weights, doc_string="graph",
                              value_info=[helper.make_empty_tensor_value_info("y")])
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("other", 1)], ir_version=10,
                              producer_name="zeropoint", doc_string="model")
    helper.set_model_props(whole, {"key": "value"})
    for model in (whole, onnx.ModelProto(), helper.make_model(helper.make_graph([], "", [], []))):
        write_model(tmp_path / "net.onnx", model)
        assert (tmp_path / "net.onnx").read_bytes() == model.SerializeToString()
