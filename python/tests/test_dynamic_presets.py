# SPDX-License-Identifier: BSD-3-Clause
"""Presets that calibrate nothing, with weights of 8 and 4 bits: from a network to its file and back, and who refuses them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import nn

import zeropoint
from zeropoint.cli import main
from zeropoint.compiler import compiler, include_folders
from zeropoint.presets import dynamic_presets, is_dynamic, presets
from zeropoint.quantize import quantize

NAMES = ["int8_dynamic_qconfig", "int4_dynamic_qconfig", "int8_weight_only_qconfig", "int4_weight_only_qconfig"]
RUN = """
#include "texts.hpp"
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>
#include <zeropoint/deploy.hpp>
#include <zeropoint/io/mapped_file.hpp>
#include <zeropoint/io/packed_image.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
using network = zp::dynamically_quantized<texts, zp::int4_dynamic_qconfig, zp::portable>;
int main(int, char** argv) {
    const auto loaded = zp::load<network>(argv[1]);
    const zp::mapped_file image(argv[2]);
    const zp::in_place<network> placed(image.bytes());
    if (!placed || !placed.is_intact()) return std::puts(zp::text_of(placed.problem())), 1;
    const std::int32_t ids[] = {3, 1, 199, 0, 7, 50, 2, 90, 11};
    float a[24], b[24];
    loaded(ids, a);
    placed(ids, b);
    for (int i = 0; i != 24; ++i)
        if (a[i] != b[i]) return 2;
    return a[0] == a[1] && a[1] == a[2] ? 3 : 0;
}
"""


class Texts(nn.Module):
    """An encoder of words, whose weights are those of linear layers and a table."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(200, 64)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, batch_first=True), 2)
        self.out = nn.Linear(64, 24)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.out(self.encoder(self.words(ids)).mean(1))


@pytest.fixture(scope="module", name="texts")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its header, with texts.npy beside it."""
    folder = tmp_path_factory.mktemp("texts")
    torch.manual_seed(4)
    np.save(folder / "texts.npy", torch.randint(0, 200, (20, 9)).numpy())
    return zeropoint.from_torch(Texts().eval(), torch.randint(0, 200, (1, 9)), folder, name="texts", verify=False).header


def decibel(x: np.ndarray, y: np.ndarray) -> float:
    """Of y beside x."""
    return float(10 * np.log10(np.square(x).sum() / np.square(x - y).sum()))


def test_names_are_those_of_the_headers() -> None:
    """One name in C++ and here."""
    assert dynamic_presets() == NAMES
    assert presets()[0] == "default_qconfig" and presets()[-4:] == NAMES
    assert is_dynamic("int4_dynamic_qconfig") and not is_dynamic("int16_qconfig")


def test_four_bits_from_the_command_line(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without data; the file is small, and what comes out of it is near the module."""
    assert main(["quantize", str(texts), "--qconfig", "int4_dynamic_qconfig"]) == 0
    text = capsys.readouterr().out
    assert "not compared with float" in text and "calibrate" not in text and "bytes in float" in text and "in int4_dynamic" in text
    made = texts.with_suffix(".int4_dynamic.safetensors")
    assert made.stat().st_size < texts.with_suffix(".safetensors").stat().st_size / 5  # of a table and biases too
    layer = {name: array.nbytes for name, array in load_file(made).items() if name.startswith("encoder.layers.0.linear1.weight")}
    assert sorted(layer.values()) == [64 * 256 // 32 * 2, 64 * 256 // 2]  # scales of two bytes, codes of half a one
    ids = np.load(texts.with_name("texts.npy"))
    again = zeropoint.build(texts, qconfig="int4_dynamic_qconfig", int8=made)
    net = zeropoint.build(texts, qconfig="int4_dynamic_qconfig")
    reals = net(ids)
    assert decibel(reals, again.run_int8(ids)) > 20
    assert main(["quantize", str(texts), "--qconfig", "int4_dynamic_qconfig", "--calibration", str(texts.with_name("texts.npy"))]) == 0
    assert "int4_dynamic beside float, 20 inputs: SNR 2" in capsys.readouterr().out
    with pytest.raises(zeropoint.ZeropointError, match="nothing is calibrated: call convert"):
        net.calibrate(ids)
    with pytest.raises(zeropoint.ZeropointError, match="no integers yet: call convert first"):
        net.run_int8(ids)
    net.convert()
    assert (net.run_int8(ids) == again.run_int8(ids)).all() and net.report() == ""
    assert "dynamic linear of 4 bits in groups of 32" in net.table()
    with pytest.raises(zeropoint.ZeropointError, match="converted already"):
        again.convert()


def test_packed_it_runs_in_place(texts: Path) -> None:
    """From the file that quantize writes by default, as the same floats."""
    made = quantize(texts, qconfig="int4_dynamic_qconfig")
    assert main(["pack", str(texts), "--qconfig", "int4_dynamic_qconfig"]) == 0
    (texts.parent / "main.cpp").write_text(RUN)
    program = texts.parent / "program"
    folders = [f"-I{path}" for path in include_folders()]
    subprocess.run([compiler(), "-std=c++20", "-O0", *folders, str(texts.parent / "main.cpp"), "-o", program], check=True)
    subprocess.run([program, made.file, texts.with_suffix(".image")], check=True)


@pytest.mark.parametrize(("name", "nearest", "share"), [("int8_dynamic", 35, 0.27), ("int8_weight_only", 40, 0.27), ("int4_weight_only", 15, 0.18)])
def test_the_others(name: str, nearest: float, share: float, tmp_path: Path) -> None:
    """An MLP, whose stage is described by the preset's name."""
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(96, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64)).eval()
    header = zeropoint.from_torch(module, torch.randn(1, 96), tmp_path, name="mlp", verify=False).header
    made = quantize(header, torch.randn(8, 96).numpy(), qconfig=f"{name}_qconfig")
    assert made.file == tmp_path / f"mlp.{name}.safetensors" and made.compared == 8 and made.kind == name
    assert made.snr is not None and made.snr > nearest
    assert made.file.stat().st_size < share * header.with_suffix(".safetensors").stat().st_size
    assert len(zeropoint.describe(header, stage="dynamic", qconfig=f"{name}_qconfig")["nodes"]) > 3


def test_who_needs_codes_refuses(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one sentence, before anything is compiled, and writes nothing."""
    before = sorted(texts.parent.iterdir())
    file, data = str(texts.with_suffix(".safetensors")), str(texts.with_name("texts.npy"))
    for command in (["report", str(texts)], ["report", str(texts), "--calibration", data],
                    ["export", str(texts), file, "--onnx", "integer", "-o", str(texts.with_suffix(".onnx"))],
                    ["encodings", str(texts), file, "-o", str(texts.with_suffix(".onnx"))]):
        assert main([*command, "--qconfig", "int4_dynamic_qconfig"]) == 2
        said = capsys.readouterr().err
        assert "under this preset values between layers are floats; take one that is calibrated" in said and said.count("\n") == 1
    assert main(["quantize", str(texts)]) == 2
    assert "ranges come from data" in capsys.readouterr().err
    with pytest.raises(zeropoint.ZeropointError, match="the stage is \"dynamic\""):
        zeropoint.describe(texts, qconfig="int4_dynamic_qconfig")
    with pytest.raises(zeropoint.ZeropointError, match="dynamic ones are int8_dynamic_qconfig"):
        zeropoint.describe(texts, stage="dynamic")
    assert sorted(texts.parent.iterdir()) == before
