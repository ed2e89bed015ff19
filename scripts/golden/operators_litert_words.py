# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_litert_words.safetensors: what LiteRT's reference kernels compute with int16 activations.

    python scripts/golden/operators_litert_words.py

What operators_litert.py has of them are ADD, MUL and FULLY_CONNECTED. Groups and tensors are as there:

    CONV_2D/int16, DEPTHWISE_CONV_2D/int16     x I16 [1, 6, 5, 4], weight OHWI [8, 3, 3, 4] or [1, 3, 3, 4], bias I64,
                                               weight_scale F32 [8] or [4], padding SAME
    TRANSPOSE_CONV/int16                       x [1, 3, 4, 5], weight OHWI [6, 3, 3, 5], stride 2, padding SAME
    CONV_2D/int16_deep                         x [1, 2, 3, 1000], weight [5, 1, 1, 1000]: sums beyond int32
    LOGISTIC/int16, TANH/int16                 x I16 [601], codes

The convolutions are checked bit for bit: `fixed_15`, where fully connected layers have `fixed_16x8`. Logistic and tanh come from LiteRT's tables of lines; they are
compared with the real functions, by operator_vectors.py.
"""

import importlib.metadata

import numpy as np
from operators_litert import (
    Operand,
    add_product,
    centered,
    exact,
    grid16,
    image_options,
    quantize_multiplier,
    run,
    schema,
)
from operator_vectors import GoldenFile, Grid


def fixed_15(x: np.ndarray, factor: float) -> np.ndarray:
    """MultiplyByQuantizedMultiplier of int64: a multiplier of 15 bits, rounded once, ties up."""
    multiplier, shift = quantize_multiplier(factor)
    reduced = (multiplier + 0x8000) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF
    return (x.astype(np.int64) * reduced + (1 << (14 - shift))) >> (15 - shift)


def add_convolutions(file: GoldenFile, generator) -> None:
    def narrow(shape):
        return generator.integers(-127, 128, shape).astype(np.int8)

    def scales(count):
        return generator.uniform(0.002, 0.02, count).astype(np.float32)

    def words(shape):
        codes = generator.integers(-32768, 32768, shape).astype(np.int16)
        codes.flat[:2] = -32768, 32767
        return codes

    grid = grid16(generator)
    x, weight = words((1, 6, 5, 4)), narrow((8, 3, 3, 4))
    padded = np.pad(centered(grid, x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    cells = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    dilation = {"dilationHFactor": 1, "dilationWFactor": 1}
    options = image_options(schema.Conv2DOptionsT, **dilation)
    sums = np.einsum("nhwcij,oijc->nhwo", cells, weight.astype(np.int64))
    add_product(file, generator, "CONV_2D/int16", 4, grid, x, weight, 0, scales(8), sums, options, requantize=fixed_15)
    weight = narrow((1, 3, 3, 4))
    sums = np.einsum("nhwcij,ijc->nhwc", cells, weight[0].astype(np.int64))
    depthwise = image_options(schema.DepthwiseConv2DOptionsT, depthMultiplier=1, **dilation)
    add_product(file, generator, "DEPTHWISE_CONV_2D/int16", 5, grid, x, weight, 3, scales(4), sums, depthwise, requantize=fixed_15)
    x_small, weight = words((1, 3, 4, 5)), narrow((6, 3, 3, 5))
    full = np.zeros((1, 2 * 3 + 1, 2 * 4 + 1, 6), np.int64)
    for row in range(3):
        for column in range(4):
            patch = np.einsum("nc,oijc->nijo", centered(grid, x_small)[:, row, column], weight.astype(np.int64))
            full[:, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3] += patch
    shape = Operand(np.array([1, 6, 8, 6], np.int32), constant=True)
    strided = image_options(schema.TransposeConvOptionsT, strideH=2, strideW=2)
    add_product(
        file, generator, "TRANSPOSE_CONV/int16", 3, grid, x_small, weight, 0, scales(6), full[:, :6, :8], strided,
        first=shape, requantize=fixed_15,
    )
    x = generator.integers(20000, 32768, (1, 2, 3, 1000)).astype(np.int16)
    weight = np.sign(np.arange(5) - 2.5).astype(np.int8).reshape(5, 1, 1, 1) * generator.integers(
        60, 128, (5, 1, 1, 1000)
    ).astype(np.int8)
    sums = np.einsum("nhwc,oc->nhwo", centered(grid, x), weight[:, 0, 0].astype(np.int64))
    assert np.abs(sums).max() > 2**31
    add_product(file, generator, "CONV_2D/int16_deep", 4, grid, x, weight, 0, scales(5), sums, options, requantize=fixed_15)


def add_functions(file: GoldenFile, generator) -> None:
    x = np.linspace(-32768, 32767, 601).round().astype(np.int16)
    functions = {"LOGISTIC": (lambda v: 1 / (1 + np.exp(-v)), 8 / 32768), "TANH": (np.tanh, 4 / 32768)}
    for name, (function, scale) in functions.items():
        grid, out = Grid(scale, 0, "qint16"), Grid(1 / 32768, 0, "qint16")
        codes = run(name, 3, [Operand(x, grid)], x.shape, out)
        real = function(x.astype(np.float64) * np.float64(grid.scale))
        file.add_codes(f"{name}/int16", [grid, out], {"x": x}, codes, exact(out, real, np.int16), bound=4)


def main() -> None:
    generator = np.random.default_rng(31)
    versions = {"ai-edge-litert": importlib.metadata.version("ai-edge-litert"), "numpy": np.__version__}
    file = GoldenFile(
        "operators_litert_words", "operators_litert_words.py", {**versions, "kernels": "BUILTIN_REF"}
    )
    add_convolutions(file, generator)
    add_functions(file, generator)
    file.save()


if __name__ == "__main__":
    main()
