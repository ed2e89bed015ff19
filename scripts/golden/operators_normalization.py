# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_normalization.safetensors: PyTorch's quantized norms and softmax.

    python scripts/golden/operators_normalization.py

Groups `<operator>/<dtype>_<number>`; x and codes U8 or I8 [N, C, ...]; scale F32 [2], zero_point I32 [2] of the input
and the output; epsilon is 1e-5:

    batch_norm2d, batch_norm2d_relu, batch_norm3d, batch_norm3d_relu    weight, bias, running_mean, running_var F32 [C]
    layer_norm          weight, bias F32 of the last axis
    group_norm          weight, bias F32 [C]; options I32 [1], the number of groups
    instance_norm       weight, bias F32 [C]
    softmax             options I32 [1], the axis; output 1 / 256 around the lowest code, as PyTorch fixes it

Checked against the real function in float64, rounded once to the output's grid: at most one code apart, `exact` where
it is another (scripts/operator_vectors.py). The variance is the biased one. Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import RANGE, GoldenFile, Grid, torch_versions  # noqa: E402

warnings.filterwarnings("ignore", message=".*quantized tensor creation functions.*")
EPSILON = 1e-5


def affine(generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    return generator.uniform(0.3, 1.5, count).astype(np.float32), generator.normal(0, 0.5, count).astype(np.float32)


def output_grid(generator, dtype: str) -> Grid:
    """For values of unit variance: some are clamped."""
    low, _ = RANGE[dtype]
    return Grid(generator.uniform(0.015, 0.03), low + generator.integers(90, 166), dtype)


def per_channel(values: np.ndarray, axes: int) -> np.ndarray:
    return values.astype(np.float64).reshape(1, -1, *[1] * (axes - 2))


def normalized(real: np.ndarray, axes) -> np.ndarray:
    return (real - real.mean(axis=axes, keepdims=True)) / np.sqrt(real.var(axis=axes, keepdims=True) + EPSILON)


def add_batch_norm(file: GoldenFile, generator, dtype: str) -> None:
    for name, shape in (("batch_norm2d", (1, 19, 3, 4)), ("batch_norm3d", (1, 5, 2, 3, 4))):
        for relu in (False, True):
            for number in range(2):
                grid, out = Grid.random(generator, dtype, 0.02, 0.06), output_grid(generator, dtype)
                x = grid.codes(generator, shape)
                weight, bias = affine(generator, shape[1])
                mean = generator.normal(0, 1, shape[1]).astype(np.float32)
                var = generator.uniform(0.5, 8, shape[1]).astype(np.float32)
                parameters = {"weight": weight, "bias": bias, "running_mean": mean, "running_var": var}
                full = f"{name}_relu" if relu else name
                operator = getattr(torch.ops.quantized, full)
                tensors = [torch.from_numpy(value) for value in parameters.values()]
                codes = operator(grid.torch(x), *tensors, EPSILON, float(out.scale), out.zero_point).int_repr().numpy()
                weight, bias, mean, var = (per_channel(value, len(shape)) for value in parameters.values())
                exact = out.exact((grid.real(x) - mean) / np.sqrt(var + EPSILON) * weight + bias, relu)
                file.add_codes(f"{full}/{dtype}_{number}", [grid, out], {"x": x, **parameters}, codes, exact)


def add_norms(file: GoldenFile, generator, dtype: str) -> None:
    def add(name, number, x, weight, bias, options, result, exact):
        tensors = {"x": x, "weight": weight, "bias": bias}
        if options:
            tensors["options"] = np.int32(options)
        file.add_codes(f"{name}/{dtype}_{number}", [grid, out], tensors, result.int_repr().numpy(), exact)

    for number, shape in enumerate(((3, 37), (2, 3, 16), (1, 130))):
        grid, out = Grid.random(generator, dtype, 0.02, 0.06), output_grid(generator, dtype)
        x, (weight, bias) = grid.codes(generator, shape), affine(generator, shape[-1])
        result = torch.ops.quantized.layer_norm(
            grid.torch(x),
            [shape[-1]],
            torch.from_numpy(weight),
            torch.from_numpy(bias),
            EPSILON,
            float(out.scale),
            out.zero_point,
        )
        exact = out.exact(normalized(grid.real(x), -1) * weight.astype(np.float64) + bias)
        add("layer_norm", number, x, weight, bias, [], result, exact)
    for number, (shape, groups) in enumerate((((2, 6, 4, 3), 3), ((1, 8, 3, 3), 1), ((1, 12, 17), 4))):
        grid, out = Grid.random(generator, dtype, 0.02, 0.06), output_grid(generator, dtype)
        x, (weight, bias) = grid.codes(generator, shape), affine(generator, shape[1])
        result = torch.ops.quantized.group_norm(
            grid.torch(x),
            groups,
            torch.from_numpy(weight),
            torch.from_numpy(bias),
            EPSILON,
            float(out.scale),
            out.zero_point,
        )
        unit = normalized(grid.real(x).reshape(shape[0], groups, -1), -1).reshape(shape)
        exact = out.exact(unit * per_channel(weight, len(shape)) + per_channel(bias, len(shape)))
        add("group_norm", number, x, weight, bias, [groups], result, exact)
    for number, shape in enumerate(((2, 4, 19), (1, 7, 4, 5), (1, 3, 2, 3, 4))):
        grid, out = Grid.random(generator, dtype, 0.02, 0.06), output_grid(generator, dtype)
        x, (weight, bias) = grid.codes(generator, shape), affine(generator, shape[1])
        result = torch.ops.quantized.instance_norm(
            grid.torch(x), torch.from_numpy(weight), torch.from_numpy(bias), EPSILON, float(out.scale), out.zero_point
        )
        unit = normalized(grid.real(x), tuple(range(2, len(shape))))
        exact = out.exact(unit * per_channel(weight, len(shape)) + per_channel(bias, len(shape)))
        add("instance_norm", number, x, weight, bias, [], result, exact)


def add_softmax(file: GoldenFile, generator, dtype: str) -> None:
    for number, (shape, axis, scale) in enumerate(
        (((4, 10), 1, 0.05), ((3, 7, 5), 1, 0.02), ((1, 100), 1, 0.04), ((5, 1), 1, 0.1))
    ):
        grid, out = Grid(scale * generator.uniform(0.8, 1.2), generator.integers(*RANGE[dtype]), dtype), Grid(
            1 / 256, RANGE[dtype][0], dtype
        )
        x = grid.codes(generator, shape)
        result = torch.ops.quantized.softmax(grid.torch(x), axis, float(out.scale), out.zero_point)
        powers = np.exp(grid.real(x) - grid.real(x).max(axis=axis, keepdims=True))
        exact = out.exact(powers / powers.sum(axis=axis, keepdims=True))
        tensors = {"x": x, "options": np.int32([axis])}
        file.add_codes(f"softmax/{dtype}_{number}", [grid, out], tensors, result.int_repr().numpy(), exact)


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(24)
    file = GoldenFile("operators_normalization", "operators_normalization.py", torch_versions("fbgemm"))
    for dtype in RANGE:
        add_batch_norm(file, generator, dtype)
        add_norms(file, generator, dtype)
        add_softmax(file, generator, dtype)
    file.save()


if __name__ == "__main__":
    main()
