# SPDX-License-Identifier: BSD-3-Clause
"""Networks as objects of Python, and the way to int8."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from networks import network

import zeropoint
from zeropoint.cli import main
from zeropoint.importer import save_tensors
from zeropoint.quantize import quantize


def test_runs_calibrates_and_converts(tmp_path: Path) -> None:
    """Float as PyTorch, int8 near it, and the same from its file."""
    module, example = network("resnet18")
    made = zeropoint.from_torch(module, example, tmp_path, verify=False)
    net = zeropoint.build(made.header)
    images = torch.randn(24, 3, 48, 40)
    with torch.no_grad():
        expected = module(images).numpy()
    assert np.abs(net(images.numpy()) - expected).max() <= 1e-5 * np.abs(expected).max()
    with pytest.raises(zeropoint.ZeropointError, match="calibrate"):
        net.run_int8(images.numpy())
    net.calibrate(images[:16].numpy())
    net.convert()
    int8 = net.run_int8(images[16:].numpy())
    reference = expected[16:]
    cosine = (int8 * reference).sum() / np.linalg.norm(int8) / np.linalg.norm(reference)
    assert 0.99 < cosine < 1
    net.save(tmp_path / "int8.safetensors")
    again = zeropoint.build(made.header, int8=tmp_path / "int8.safetensors")
    assert (again.run_int8(images[16:].numpy()) == int8).all()
    assert again.parameter_bytes < made.weights.stat().st_size / 3
    with pytest.raises(zeropoint.ZeropointError, match="takes N x 3 x 48 x 40"):
        net(np.zeros((1, 3, 40, 48), np.float32))


def test_quantize_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Says how near, and writes the file."""
    module, example = network("resnet18")
    made = zeropoint.from_torch(module, example, tmp_path, verify=False)
    np.save(tmp_path / "images.npy", torch.randn(16, 3, 48, 40).numpy())
    assert main(["quantize", str(made.header), "--calibration", str(tmp_path / "images.npy")]) == 0
    text = capsys.readouterr().out
    assert "SNR" in text and "wrote" in text
    assert made.header.with_suffix(".int8.safetensors").exists()
    assert not list(tmp_path.glob(".*"))


def test_words(tmp_path: Path) -> None:
    """Integers go in, and an index without a row is refused."""
    module, example = network("lstm")
    net = zeropoint.build(zeropoint.from_torch(module, example, tmp_path, verify=False).header)
    ids = torch.randint(0, 50, (3, 11))
    with torch.no_grad():
        expected = module(ids).numpy()
    assert np.abs(net(ids.numpy()) - expected).max() <= 1e-5 * np.abs(expected).max()
    with pytest.raises(zeropoint.ZeropointError, match="input 0: expected integers from 0 to 49, found 50"):
        net(np.full((1, 11), 50))


def test_two_networks_of_one_name(tmp_path: Path) -> None:
    """As a notebook has them, where a module is changed and imported again."""
    nets, images = [], np.random.default_rng(1).standard_normal((20, 6)).astype(np.float32)
    for width in (5, 9):
        torch.manual_seed(width)
        module = torch.nn.Sequential(torch.nn.Linear(6, width), torch.nn.ReLU(), torch.nn.Linear(width, 3))
        made = zeropoint.from_torch(module, torch.randn(1, 6), tmp_path / str(width), name="net", verify=False)
        net = zeropoint.build(made.header)
        net.calibrate(images)
        net.convert()
        nets.append((module, net))
    for module, net in nets:
        expected = module(torch.from_numpy(images)).detach().numpy()
        np.testing.assert_allclose(net(images), expected, atol=1e-5)
        np.testing.assert_allclose(net.run_int8(images), expected, atol=0.1)


def test_codes_are_transposed_under_the_flags_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ZEROPOINT_CXXFLAGS programs are compiled by -O2, where GCC 12 lost squares of transposed bytes."""
    monkeypatch.delenv("ZEROPOINT_CXXFLAGS")
    monkeypatch.delenv("ZEROPOINT_COMPILED", raising=False)
    header = tmp_path / "turned.hpp"
    header.write_text("""// turned, made by zeropoint 0.1.0 of a test, one layer.
// 0 numbers in turned.safetensors.
//   input "x": float 1x32x48, here 1x32x48 (axes 1 2)
//   output "y": float 1x48x32, here 1x48x32 (axes 1 2)
#pragma once
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/permute.hpp>

struct turned : zp::model<zp::input<1, 32, 48>, zp::permute<zp::axis::height, zp::axis::channels, zp::axis::width>> {};
""", encoding="utf-8")
    save_tensors(tmp_path / "turned.safetensors", {})
    net = zeropoint.build(header)
    x = np.random.default_rng(0).uniform(-1, 1, (8, 32, 48)).astype(np.float32)
    for one in x:
        net.calibrate(one[None])
    net.convert()
    assert np.abs(net.run_int8(x[:1]) - net(x[:1])).max() < 0.01


class Uneven(torch.nn.Module):
    """A convolution whose channels are of 1 and of 300, in front of one that takes them back."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.wide, self.reads = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 5, 1)
        with torch.no_grad():
            self.wide.weight[2] *= 300
            self.reads.weight[:, 2] /= 300

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.reads(torch.relu(self.wide(x)))


def test_smoothed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Channels that share a scale are made alike: by an object, by the command and by its report; the float network stays."""
    module = Uneven().eval()
    made = zeropoint.from_torch(module, torch.zeros(1, 3, 12, 12), tmp_path, verify=False)
    images = torch.randn(32, 3, 12, 12).numpy()
    net = zeropoint.build(made.header, smooths=True)
    with pytest.raises(zeropoint.ZeropointError, match="an alpha from 0 to 1, got 2"):
        net.smooth(images, alpha=2)
    net.smooth(images)
    with torch.no_grad():
        expected = module(torch.from_numpy(images)).numpy()
    assert np.abs(net(images) - expected).max() <= 1e-5 * np.abs(expected).max()
    net.calibrate(images)
    with pytest.raises(zeropoint.ZeropointError, match="call smooth before calibrate"):
        net.smooth(images)
    with pytest.raises(zeropoint.ZeropointError, match="smooths=True"):
        zeropoint.build(made.header).smooth(images)
    with pytest.raises(zeropoint.ZeropointError, match="smoothing evens out"):
        zeropoint.build(made.header, qconfig="int8_dynamic_qconfig", smooths=True)
    np.save(tmp_path / "images.npy", images)
    arguments = [str(made.header), "--calibration", str(tmp_path / "images.npy")]
    plain, smoothed = (quantize(made.header, images, smooth=alpha).snr for alpha in (None, 0.7))
    assert plain is not None and smoothed is not None and plain < 20 and smoothed > 35
    assert main(["quantize", *arguments, "--smooth"]) == 0
    assert f"SNR {smoothed:.1f} dB" in capsys.readouterr().out
    assert main(["report", *arguments, "--smooth", "0.9", "--sweep", "0", "--text"]) == 0
    assert "under default_qconfig, smoothed with alpha 0.9" in capsys.readouterr().out
