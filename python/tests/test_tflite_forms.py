# SPDX-License-Identifier: BSD-3-Clause
"""Forms of trained TensorFlow Lite models: constants without their zeros, custom operators that built-in ones mean, pools of SAME."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")
from tflite_models import Model, options, sparse  # noqa: E402

from zeropoint.errors import ImportRefused, ZeropointError  # noqa: E402
from zeropoint.front.tflite_sparse import dense_of  # noqa: E402
from zeropoint.importer import import_file  # noqa: E402

random = np.random.default_rng(3)


def pruned(path: Path, values: int = 5) -> Path:
    """A 1x1 convolution of 3 channels to 4, of whose 12 weights 5 are kept, as float16: rows of the matrix have 2, 0, 1 and 2."""
    model = Model()
    x, y = model.tensor("x", (1, 4, 5, 3)), model.tensor("y", (1, 4, 5, 4))
    kept = random.standard_normal(values).astype(np.float16)
    weight = model.tensor("w", (4, 1, 1, 3), kept, "FLOAT16")
    model.graph.tensors[weight].sparsity = sparse([0, 1, 2, 3], [4, 1, 1, ([0, 2, 2, 3, 5], [0, 2, 1, 0, 1])])
    dense, real = model.tensor("dense", (4, 1, 1, 3), None, "FLOAT16"), model.tensor("real", (4, 1, 1, 3))
    bias = model.constant("b", random.standard_normal(4).astype(np.float32))
    model.operator("DENSIFY", [weight], [dense], options("Densify"))
    model.operator("DEQUANTIZE", [dense], [real], options("Dequantize"))
    model.operator("CONV_2D", [x, real, bias], [y], options("Conv2D", strideW=1, strideH=1))
    return model.write(path, [x], [y])


def test_constants_without_zeros(tmp_path: Path) -> None:
    """Of a pruned model, beside LiteRT; tables that do not fit are told."""
    assert import_file(pruned(tmp_path / "net.tflite"), tmp_path / "out").result.difference <= 1e-6
    with pytest.raises(ZeropointError, match="the constant w of this TensorFlow Lite file is damaged: a sparse tensor has places for 5 values, found 4"):
        import_file(pruned(tmp_path / "short.tflite", 4), tmp_path / "out")


def test_sparse_blocks() -> None:
    """A matrix of 4 x 6 in blocks of 2 x 3, of which three are there; columns in front of rows."""
    dense = np.zeros((4, 6), np.float32)
    dense[:2, :3], dense[2:, :3], dense[2:, 3:] = (random.standard_normal((2, 3)) for _ in range(3))
    blocks = [dense[:2, :3], dense[2:, :3], dense[2:, 3:]]
    about = sparse([0, 1, 2, 3], [2, ([0, 1, 3], [0, 0, 1]), 2, 3], [0, 1])
    assert np.array_equal(dense_of(about, (4, 6), np.concatenate([b.reshape(-1) for b in blocks])), dense)
    about = sparse([1, 0], [6, ([0, 2, 2, 3, 3, 3, 4], [1, 3, 0, 2])])
    expected = np.zeros((4, 6), np.float32)
    expected[[1, 3, 0, 2], [0, 0, 2, 5]] = [1, 2, 3, 4]
    assert np.array_equal(dense_of(about, (4, 6), np.arange(1, 5, dtype=np.float32)), expected)
    about.dimMetadata[1].arrayIndices.values = np.array([1, 3, -1, 2], np.int32)  # as wide as files may have them
    with pytest.raises(ValueError, match="an index of a sparse tensor is negative"):
        dense_of(about, (4, 6), np.arange(1, 5, dtype=np.float32))


def custom(path: Path, code: str, padding: int) -> Path:
    """MediaPipe's transposed convolution behind a pool of SAME."""
    model = Model()
    x, small, y = model.tensor("x", (1, 5, 7, 3)), model.tensor("small", (1, 3, 4, 3)), model.tensor("y", (1, 6, 8, 2))
    weight = model.constant("w", random.standard_normal((2, 2, 2, 3)).astype(np.float32))
    bias = model.constant("b", random.standard_normal(2).astype(np.float32))
    model.operator("MAX_POOL_2D", [x], [small], options("Pool2D", strideW=2, strideH=2, filterWidth=2, filterHeight=2))
    model.operator(code, [small, weight, bias], [y], custom=struct.pack("<3i", padding, 2, 2))
    return model.write(path, [x], [y])


@pytest.mark.parametrize("padding", [1, 2])
def test_custom_operators(padding: int, tmp_path: Path) -> None:
    """Beside LiteRT's TRANSPOSE_CONV; others have no layer."""
    made = import_file(custom(tmp_path / "net.tflite", "Convolution2DTransposeBias", padding), tmp_path / "out")
    assert made.result.difference <= 1e-6 and "zp::conv_transpose2d<" in made.header.read_text()
    with pytest.raises(ImportRefused, match="CUSTOM TransformLandmarks x1"):
        import_file(custom(tmp_path / "other.tflite", "TransformLandmarks", padding), tmp_path / "out")
