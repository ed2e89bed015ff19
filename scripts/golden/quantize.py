# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/quantize.safetensors: torch.quantize_per_tensor and quantize_per_channel, and back.

    python scripts/golden/quantize.py

Groups, each with the tensors `<group>/x` F32, `<group>/scale` F32, `<group>/zero_point` I32, `<group>/codes` (U8 or I8,
the shape of x) and `<group>/dequantized` F32 (the shape of x):

    per_tensor/quint8, per_tensor/qint8            x [cases, values]; one scale and zero point a case
    per_channel/quint8, per_channel/qint8          x [channels, values]; one scale and zero point a channel (axis 0)
    per_channel_axis_1/qint8                       x [values, channels]; one scale and zero point a channel (axis 1)
    zero_point_first/per_tensor/{quint8,qint8}     as above, values on which the order of the operations matters
    zero_point_first/per_channel/{quint8,qint8}

The arithmetic of PyTorch 2.13 on x86, checked below bit for bit (all in float32, inverse = 1 / scale; rint rounds half
to even):

    per tensor     clamp(rint(fma(x, inverse, zero_point)))
    per channel    clamp(rint(x * inverse + zero_point))       (product rounded, sum rounded)
    dequantize     (code - zero_point) * scale

Both add the zero point *before* they round. zeropoint's definition rounds first, clamp(rint(x * inverse) + zero_point),
which differs on a tie if the zero point is odd (2.5 + 1 rounds to 4, but rint(2.5) + 1 is 3), and within a rounding
error of a tie. The groups per_* hold only values on which all agree, ties with even zero points among them; the groups
zero_point_first/* hold only values on which they differ. Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402

warnings.filterwarnings("ignore", message=".*quantized tensor creation functions.*")
OUTPUT = ROOT / "tests/golden/quantize.safetensors"
TORCH_DTYPE = {"quint8": torch.quint8, "qint8": torch.qint8}
RANGE = {"quint8": (0, 255), "qint8": (-128, 127)}
SCALES = np.float32([1.0, 0.5, 2.0**-7, 2.0**5, 0.1, 1 / 255, 0.0235, 3.7, 1.1920929e-07, 6e4])
TINY = [0.0, -0.0, 1e-45, -1e-45, 1e-40, -1e-40, 1.1754944e-38, 1e-30, -1e-30]
SPECIAL = np.float32([*TINY, 3.4e38, -3.4e38, np.inf, -np.inf])


def spec(x, scale, zero_point, dtype):
    """zeropoint's definition: round, then add the zero point."""
    return np.clip(np.rint(x * (np.float32(1) / scale)) + zero_point.astype(np.float32), *RANGE[dtype])


def pytorch_per_tensor(x, scale, zero_point, dtype):
    inverse = (np.float32(1) / scale).astype(np.float64)
    fused = (x.astype(np.float64) * inverse + zero_point).astype(np.float32)  # one rounding to float32: an fma
    return np.clip(np.rint(fused), *RANGE[dtype])


def pytorch_per_channel(x, scale, zero_point, dtype):
    return np.clip(np.rint(x * (np.float32(1) / scale) + zero_point.astype(np.float32)), *RANGE[dtype])


def extremes(scale: np.float32) -> np.ndarray:
    """Zeros, denormals, tiny and huge values, infinities, far out of the code range."""
    return np.concatenate([SPECIAL, np.float32([2.0**31, -(2.0**31), 2.0**33, -(2.0**33), 1000, -1000]) * scale])


def candidates(scale: np.float32, generator: np.random.Generator) -> np.ndarray:
    """Ties, grid points and values between them, inside and around the code range, in random order."""
    ties = (np.arange(-290, 290, dtype=np.float32) + np.float32(0.5)) * scale
    grid = np.arange(-300, 300, 4, dtype=np.float32) * scale
    between = (generator.normal(0, 120, 400) * scale).astype(np.float32)
    return generator.permutation(np.concatenate([ties, grid, between]))


def quantize_with_pytorch(x, scale, zero_point, dtype, axis):
    """Codes and dequantized values; axis None is per tensor."""
    if axis is None:
        quantized = torch.quantize_per_tensor(torch.from_numpy(x), float(scale), int(zero_point), TORCH_DTYPE[dtype])
    else:
        scales, zero_points = torch.from_numpy(scale.astype(np.float64)), torch.from_numpy(zero_point.astype(np.int64))
        quantized = torch.quantize_per_channel(torch.from_numpy(x), scales, zero_points, axis, TORCH_DTYPE[dtype])
    codes, dequantized = quantized.int_repr().numpy(), quantized.dequantize().numpy()
    shape = [1] * x.ndim
    if axis is not None:
        shape[axis] = -1
    expanded_scale, expanded_zero_point = np.reshape(scale, shape), np.reshape(zero_point, shape)
    model = pytorch_per_tensor if axis is None else pytorch_per_channel
    assert np.array_equal(codes, model(x, expanded_scale, expanded_zero_point, dtype)), "the docstring's order is wrong"
    real = (codes.astype(np.float32) - expanded_zero_point.astype(np.float32)) * expanded_scale
    assert np.array_equal(dequantized, real), "dequantize is (code - zero_point) * scale"
    return codes, dequantized


def rows(dtype: str, model, agree: bool, count: int, generator: np.random.Generator):
    """A row of values for each scale and zero point, on which `model` and the definition agree or else differ."""
    low, high = RANGE[dtype]
    zero_points = np.int32([low, high, 0, 1, 63, low + 1, high - 1, 100, low + 128, 126])
    if not agree:
        zero_points |= 1
    x = []
    for scale, zero_point in zip(SCALES, zero_points):
        values = candidates(scale, generator)
        same = model(values, scale, zero_point, dtype) == spec(values, scale, zero_point, dtype)
        chosen = np.concatenate([extremes(scale), values[same]]) if agree else values[~same]
        x.append(chosen[:count])
    return np.stack(x), zero_points


def main() -> None:
    generator = np.random.default_rng(7)
    tensors = {}

    def add(group, x, scale, zero_point, codes, dequantized):
        named = {"x": x, "scale": scale, "zero_point": zero_point, "codes": codes, "dequantized": dequantized}
        tensors.update({f"{group}/{name}": torch.from_numpy(array) for name, array in named.items()})

    with np.errstate(over="ignore", invalid="ignore"):
        for prefix, agree, count in (("", True, 120), ("zero_point_first/", False, 16)):
            for dtype in RANGE:
                x, zero_point = rows(dtype, pytorch_per_tensor, agree, count, generator)
                results = [quantize_with_pytorch(*row, dtype, None) for row in zip(x, SCALES, zero_point)]
                codes, dequantized = (np.stack(part) for part in zip(*results))
                add(f"{prefix}per_tensor/{dtype}", x, SCALES, zero_point, codes, dequantized)
                x, zero_point = rows(dtype, pytorch_per_channel, agree, count, generator)
                add(
                    f"{prefix}per_channel/{dtype}",
                    x,
                    SCALES,
                    zero_point,
                    *quantize_with_pytorch(x, SCALES, zero_point, dtype, 0),
                )
        x, zero_point = rows("qint8", pytorch_per_channel, True, 40, generator)
        x = np.ascontiguousarray(x.T)
        add(
            "per_channel_axis_1/qint8", x, SCALES, zero_point, *quantize_with_pytorch(x, SCALES, zero_point, "qint8", 1)
        )
    stable_safetensors.save(OUTPUT, tensors, {"torch": torch.__version__, "made_by": "scripts/golden/quantize.py"})


if __name__ == "__main__":
    main()
