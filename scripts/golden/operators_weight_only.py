# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_weight_only.safetensors: weights of 8 and 4 bits in groups, as PyTorch quantizes them.

    python scripts/golden/operators_weight_only.py

Groups `linear_<bits>/<n>`:

    weight F32 [outputs, inputs], bias F32 [outputs], x F32 [rows, inputs]
    codes I8 [outputs, inputs], weight_scale F32 [outputs, groups]: of PerChannelMinMaxObserver, symmetric, and
      fake_quantize_per_channel_affine over rows of a group's weights
    y F32 [rows, outputs]: linear over those weights, in float64, rounded once

    scale = max(|w|) / ((2^bits - 1) / 2), at least 2^-23; code = clamp(rint(w * (1 / scale)), -2^(bits-1), 2^(bits-1) - 1)

Checked: codes and scales against those formulas for equality. Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from torch.ao.quantization.observer import PerChannelMinMaxObserver

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile  # noqa: E402

warnings.filterwarnings("ignore")

# inputs, outputs, rows, inputs of a group
LAYERS = {8: ((40, 5, 3, 40), (64, 18, 5, 32)), 4: ((40, 5, 3, 8), (64, 18, 5, 32))}


def quantize(weight: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales of rows."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    rows = torch.from_numpy(weight)
    observer = PerChannelMinMaxObserver(
        ch_axis=0, dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=low, quant_max=high
    )
    observer(rows)
    scale, zero_point = observer.calculate_qparams()
    assert not zero_point.any()
    values = torch.fake_quantize_per_channel_affine(rows, scale, zero_point.to(torch.int32), 0, low, high).numpy()
    scale = scale.numpy()
    codes = np.rint(values / scale[:, None]).astype(np.int8)
    largest = np.abs(weight).max(axis=1)
    formula = np.maximum(largest / np.float32((high - low) / 2), np.float32(2.0**-23))
    steps = np.rint(weight * (np.float32(1) / formula)[:, None])
    assert np.array_equal(scale, formula) and np.array_equal(codes, np.clip(steps, low, high)), "another formula"
    return codes, scale


def main() -> None:
    torch.set_num_threads(1)
    generator = np.random.default_rng(31)
    file = GoldenFile("operators_weight_only", "operators_weight_only.py", {"torch": torch.__version__, "numpy": np.__version__})
    for bits, layers in LAYERS.items():
        for number, (inputs, outputs, rows, group) in enumerate(layers):
            weight = (generator.normal(0, 1, (outputs, inputs)) * generator.uniform(0.1, 2, inputs)).astype(np.float32)
            weight[0, :group] = 0  # a group of zeros
            bias, x = (generator.normal(0, 1, n).astype(np.float32) for n in (outputs, (rows, inputs)))
            codes, scale = quantize(weight.reshape(-1, group), bits)
            real = (codes.astype(np.float64) * scale[:, None]).reshape(outputs, inputs)
            y = x.astype(np.float64) @ real.T + bias
            codes, scale = codes.reshape(outputs, inputs), scale.reshape(outputs, inputs // group)
            tensors = {"weight": weight, "bias": bias, "x": x, "codes": codes, "y": y.astype(np.float32)}
            file.add(f"linear_{bits}/{number}", [], {**tensors, "weight_scale": scale})
    file.save()


if __name__ == "__main__":
    main()
