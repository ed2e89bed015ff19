# SPDX-License-Identifier: BSD-3-Clause
"""A network's rows and tensors as a dict: beside the files that C++ writes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from networks import network

import zeropoint


def tensors_of(path: Path) -> dict[str, tuple[str, list[int]]]:
    """Names, dtypes and shapes of a safetensors file."""
    data = path.read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    return {name: (t["dtype"], t["shape"]) for name, t in header.items() if name != "__metadata__"}


def listed(description: dict) -> dict[str, tuple[str, list[int]]]:
    """The same of a description."""
    return {t["name"]: (t["dtype"], t["shape"]) for t in description["tensors"]}


def test_rows_and_tensors(tmp_path: Path) -> None:
    """Of a float network those of its file; of an int8 one those that it saves."""
    module, example = network("lstm")
    made = zeropoint.from_torch(module, example, tmp_path, verify=False)
    real = zeropoint.describe(made.header, stage="float")
    assert listed(real) == tensors_of(made.weights)
    int8 = zeropoint.describe(made.header)
    net = zeropoint.build(made.header)
    net.calibrate(torch.randint(0, 50, (3, 11)).numpy())
    net.convert()
    net.save(tmp_path / "int8.safetensors")
    assert listed(int8) == tensors_of(tmp_path / "int8.safetensors")
    assert int8["format"] == "zeropoint.int8" and int8["requantization"] == "nearest_even"
    kinds = [node["op"]["kind"] for node in int8["nodes"]]
    assert kinds[0] == "input" and "lstm" in kinds and kinds[-1] == "dequantize"
    for number, node in enumerate(int8["nodes"]):
        assert all(before < number for before in node["inputs"])
        assert all(int8["tensors"][t]["node"] == number for t in node["tensors"])


def test_qconfig_of_ones_own(tmp_path: Path) -> None:
    """A type of C++ in place of a preset's name."""
    module, example = network("lstm")
    made = zeropoint.from_torch(module, example, tmp_path, verify=False)
    one = "zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>"
    described = zeropoint.describe(made.header, qconfig=f"zp::qconfig<{one}, zp::default_qconfig::weight>")
    assert {n["out"]["storage"] for n in described["nodes"]} == {"int32", "int8", "float32"}
    with pytest.raises(zeropoint.ZeropointError, match="a stage is one of"):
        zeropoint.describe(made.header, stage="fused")
