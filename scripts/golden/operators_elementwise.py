# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_elementwise.safetensors: PyTorch's quantized add, mul, with a scalar too, cat, matmul.

    python scripts/golden/operators_elementwise.py

Groups `<operator>/<dtype>_<number>` with these tensors, dtypes quint8 and qint8 (tensors U8 and I8):

    add, add_relu, mul, mul_relu      a, b [count], codes [count]; scale and zero_point of a, b, output
    add_scalar, add_scalar_relu,      a [count], constant F64 [1], codes [count]; scale and zero_point of a and
    mul_scalar, mul_scalar_relu       those that PyTorch derives for the output
    cat, cat_relu                     x0, x1, x2 [1, channels, 3, 5], codes; scale and zero_point of the inputs, the
                                      output; concatenated along the channels
    matmul                            a [batch, m, k], b [batch, k, n], codes [batch, m, n]
    scale F32, zero_point I32; codes and exact as scripts/operator_vectors.py says

PyTorch's arithmetic (float32, rint half to even, `(q - z) * s` also as fma(s, q, -s * z), and the last step also as
rint(fma(x, 1 / s, z)); each vector here is the same under all of them):

    add          clamp(rint(((a - za) * sa + (b - zb) * sb) * (1 / s)) + z)
    mul          clamp(rint((a - za) * (b - zb) * (sa * sb * (1 / s))) + z)
    cat          clamp(rint((x - zx) * sx * (1 / s)) + z)
    matmul       clamp(rint(sum of (a - za) * sa * (b - zb) * sb, in float, * (1 / s)) + z)
    add_scalar   c = rint(constant / sa); z = za - c and the codes of a if that z fits the dtype; otherwise z is the
                 end of the range that is nearer, and the scale grows so that the other end stays
    mul_scalar   scale |constant| * sa; the codes of a, with a negative constant low + high - a around low + high - za
    ..._relu     the lowest code is z

Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import NUMPY_DTYPE, RANGE, GoldenFile, Grid, torch_versions  # noqa: E402

warnings.filterwarnings("ignore", message=".*quantized tensor creation functions.*")
COUNT = 203  # whole vectors and a rest, whatever their length


def float_forms(grid: Grid, codes: np.ndarray):
    return grid.dequantize_vector(codes), grid.dequantize_one(codes)


def binary(name: str, a: np.ndarray, b: np.ndarray, grids: list[Grid]) -> tuple[list[np.ndarray], np.ndarray]:
    """PyTorch's codes in every order of operations that its kernels use, and the exact ones."""
    ga, gb, gy = grids
    relu = name.endswith("_relu")
    if name.startswith("add"):
        sums = [first + second for first in float_forms(ga, a) for second in float_forms(gb, b)]
        forms = [form(x, relu) for x in sums for form in (gy.quantize_vector, gy.quantize_one)]
        return forms, gy.exact(ga.real(a) + gb.real(b), relu)
    product = (a.astype(np.int64) - ga.zero_point) * (b.astype(np.int64) - gb.zero_point)
    multipliers = (ga.scale * gb.scale * (np.float32(1) / gy.scale), ga.scale * gb.scale / gy.scale)
    forms = [gy.clamp(np.rint(product.astype(np.float32) * m) + gy.zero_point, relu) for m in multipliers]
    return forms, gy.exact(ga.real(a) * gb.real(b), relu)


def add_binary(file: GoldenFile, generator) -> None:
    for name in ("add", "add_relu", "mul", "mul_relu"):
        for dtype in RANGE:
            for number in range(3):
                ga, gb = Grid.random(generator, dtype), Grid.random(generator, dtype)
                spread = ga.scale + gb.scale if name.startswith("add") else 100 * ga.scale * gb.scale
                gy = Grid(spread * generator.uniform(0.4, 1.5), generator.integers(*RANGE[dtype]), dtype)
                a, b = ga.codes(generator, 4 * COUNT), gb.codes(generator, 4 * COUNT)
                forms, exact = binary(name, a, b, [ga, gb, gy])
                same = np.flatnonzero(np.all([form == forms[0] for form in forms], axis=0))[:COUNT]
                a, b, expected, exact = a[same], b[same], forms[0][same], exact[same]
                operator = getattr(torch.ops.quantized, name)
                codes = operator(ga.torch(a), gb.torch(b), float(gy.scale), gy.zero_point).int_repr().numpy()
                assert np.array_equal(codes, expected), f"{name} {dtype}: another arithmetic"
                file.add_codes(f"{name}/{dtype}_{number}", [ga, gb, gy], {"a": a, "b": b}, codes, exact)


def scalar(name: str, a: np.ndarray, grid: Grid, constant: float) -> tuple[Grid, np.ndarray, np.ndarray]:
    """The output's qparams by PyTorch's rule, its codes and the exact ones (c being a multiple of the scale)."""
    low, high, zero_point = grid.low, grid.high, grid.zero_point
    relu = name.endswith("_relu")
    if name.startswith("mul"):
        if constant == 0:
            return Grid(1.0, 0, grid.dtype), np.zeros_like(a), np.zeros_like(a)
        if constant > 0:
            out, codes = Grid(constant * float(grid.scale), zero_point, grid.dtype), a.astype(np.int64)
        else:
            out = Grid(abs(constant) * float(grid.scale), low + high - zero_point, grid.dtype)
            codes = low + high - a.astype(np.int64)
        return out, out.clamp(codes, relu), out.clamp(codes, relu)
    shifted = zero_point - int(np.rint(constant / float(grid.scale)))
    if low <= shifted <= high:
        out = Grid(grid.scale, shifted, grid.dtype)
        return out, out.clamp(a.astype(np.int64), relu), out.clamp(a.astype(np.int64), relu)
    # The range no longer holds zero: stretch it until it does.
    span, kept = (high - shifted, low) if shifted < low else (shifted - low, high)
    out = Grid(float(grid.scale) * span / (high - low), kept, grid.dtype)
    steps = a.astype(np.int64) - shifted
    codes = np.rint(steps.astype(np.float32) * (grid.scale * (np.float32(1) / out.scale))) + kept
    return out, out.clamp(codes, relu), out.exact(steps * np.float64(grid.scale), relu)


def add_scalar(file: GoldenFile, generator) -> None:
    for name in ("add_scalar", "add_scalar_relu", "mul_scalar", "mul_scalar_relu"):
        constants = (0.0, 0.7, -1.3, 40.0, -35.0) if name.startswith("add") else (0.0, 0.75, -0.3, 2.5)
        for dtype in RANGE:
            for number, constant in enumerate(constants):
                grid = Grid.random(generator, dtype)
                a = grid.codes(generator, 67)
                result = getattr(torch.ops.quantized, name)(grid.torch(a), constant)
                out, codes, exact = scalar(name, a, grid, constant)
                assert np.float32(result.q_scale()) == out.scale, (name, constant, result.q_scale(), out.scale)
                assert result.q_zero_point() == out.zero_point, (name, constant)
                assert np.array_equal(result.int_repr().numpy(), codes), f"{name} {dtype} {constant}: another rule"
                tensors = {"a": a, "constant": np.float64([constant])}
                file.add_codes(f"{name}/{dtype}_{number}", [grid, out], tensors, codes, exact)


def add_cat(file: GoldenFile, generator) -> None:
    for name in ("cat", "cat_relu"):
        for dtype in RANGE:
            grids = [Grid.random(generator, dtype) for _ in range(3)]
            grids.append(Grid(generator.uniform(0.02, 0.08), generator.integers(*RANGE[dtype]), dtype))
            grids[1] = grids[3]  # one input needs no new grid
            xs, exacts = [], []
            for channels, grid in zip((3, 5, 2), grids):
                x = grid.codes(generator, (1, channels, 3, 5))
                for _ in range(20):  # draw those again on which the orders of operations differ
                    relu = name == "cat_relu"
                    forms = [
                        f(v, relu)
                        for v in float_forms(grid, x)
                        for f in (grids[3].quantize_vector, grids[3].quantize_one)
                    ]
                    odd = np.any([form != forms[0] for form in forms], axis=0)
                    x[odd] = generator.integers(*RANGE[dtype], np.count_nonzero(odd)).astype(NUMPY_DTYPE[dtype])
                assert not odd.any()
                xs.append(x)
                exacts.append(grids[3].exact(grid.real(x), relu))
            inputs = [grid.torch(x) for grid, x in zip(grids, xs)]
            operator = getattr(torch.ops.quantized, name)
            codes = operator(inputs, 1, float(grids[3].scale), grids[3].zero_point).int_repr().numpy()
            tensors = {f"x{i}": x for i, x in enumerate(xs)}
            file.add_codes(f"{name}/{dtype}", grids, tensors, codes, np.concatenate(exacts, axis=1))


def add_matmul(file: GoldenFile, generator) -> None:
    for dtype in RANGE:
        for number, (batch, m, k, n) in enumerate(((1, 3, 17, 5), (2, 4, 32, 9), (3, 1, 1, 1))):
            ga, gb = Grid.random(generator, dtype), Grid.random(generator, dtype)
            a, b = ga.codes(generator, (batch, m, k)), gb.codes(generator, (batch, k, n))
            real = ga.real(a) @ gb.real(b)
            gy = Grid(np.abs(real).mean() / 50, generator.integers(*RANGE[dtype]), dtype)
            result = torch.ops.quantized.matmul(ga.torch(a), gb.torch(b), float(gy.scale), gy.zero_point)
            file.add_codes(
                f"matmul/{dtype}_{number}", [ga, gb, gy], {"a": a, "b": b}, result.int_repr().numpy(), gy.exact(real)
            )


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(21)
    file = GoldenFile("operators_elementwise", "operators_elementwise.py", torch_versions("fbgemm"))
    add_binary(file, generator)
    add_scalar(file, generator)
    add_cat(file, generator)
    add_matmul(file, generator)
    file.save()


if __name__ == "__main__":
    main()
