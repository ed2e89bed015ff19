# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_unary.safetensors: functions of one 8-bit code, as tables of 256 codes.

    python scripts/golden/operators_unary.py

`codes` [256] belongs to the inputs low, low + 1, ... of the dtype (quint8: U8 from 0; qint8: I8 from -128); `scale` F32
[2] and `zero_point` I32 [2] are the input's and the output's, `options` F32 the function's numbers in the order below.

quantized/<function>/<dtype>_<number>: PyTorch's own int8 kernels.

    with its output's qparams given     sigmoid_out, elu [alpha, scale, input_scale], celu [alpha], hardswish,
                                        leaky_relu_out [negative_slope]
    with fixed output qparams           sigmoid and hardsigmoid (1 / 256, the lowest code), tanh (1 / 128, the middle)
    with the input's qparams            relu, relu6, clamp [min, max], threshold [threshold, value], leaky_relu, gelu
    prelu (quint8)                      x and codes [1, 4, 64], weight U8 [4] with the second of the qparams

table/<function>/<dtype>: functions for which PyTorch has no int8 kernel: its float64 function of the exact inputs, then
the code next to it. No value lies within 1e-6 of a tie, so that a correctly rounded function gives these codes whatever
its last bits.

PyTorch's kernels compute in float32 and by approximations of their own; every code is checked here against the function
in float64, rounded once: at most one code apart, `exact` where it is another (scripts/operator_vectors.py).
Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.ao.nn.quantized.functional as quantized_functional
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import NUMPY_DTYPE, RANGE, GoldenFile, Grid, torch_versions  # noqa: E402

warnings.filterwarnings("ignore", message=".*quantized tensor creation functions.*")


def every_code(dtype: str) -> np.ndarray:
    low, high = RANGE[dtype]
    return np.arange(low, high + 1).astype(NUMPY_DTYPE[dtype])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def elu(x, alpha, scale=1.0, input_scale=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * input_scale)) * scale


# name: (kernel(x, output scale, output zero point, options), the real function, options, who chooses its qparams)
GIVEN, FIXED, INPUT = "given", "fixed", "input"
QUANTIZED = {
    "sigmoid": (lambda x, s, z: torch.sigmoid(x), sigmoid, [], FIXED),
    "sigmoid_out": (lambda x, s, z: torch.ops.quantized.sigmoid(x, s, z), sigmoid, [], GIVEN),
    "tanh": (lambda x, s, z: torch.tanh(x), np.tanh, [], FIXED),
    "hardsigmoid": (lambda x, s, z: F.hardsigmoid(x), lambda x: np.clip(x + 3, 0, 6) / 6, [], FIXED),
    "hardswish": (
        lambda x, s, z: quantized_functional.hardswish(x, s, z),
        lambda x: x * np.clip(x + 3, 0, 6) / 6,
        [],
        GIVEN,
    ),
    "elu": (lambda x, s, z, *o: torch.ops.quantized.elu(x, s, z, *o), elu, [1.3, 1.1, 0.8], GIVEN),
    "celu": (
        lambda x, s, z, alpha: quantized_functional.celu(x, s, z, alpha),
        lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
        [1.7],
        GIVEN,
    ),
    "leaky_relu_out": (
        lambda x, s, z, slope: torch.ops.quantized.leaky_relu(x, slope, False, s, z),
        lambda x, slope: np.where(x > 0, x, slope * x),
        [0.1],
        GIVEN,
    ),
    "leaky_relu": (
        lambda x, s, z, slope: F.leaky_relu(x, slope),
        lambda x, slope: np.where(x > 0, x, slope * x),
        [0.07],
        INPUT,
    ),
    "relu": (lambda x, s, z: F.relu(x), lambda x: np.maximum(x, 0), [], INPUT),
    "relu6": (lambda x, s, z: torch.ops.quantized.relu6(x), lambda x: np.clip(x, 0, 6), [], INPUT),
    "clamp": (lambda x, s, z, *o: quantized_functional.clamp(x, *o), np.clip, [-1.37, 2.2], INPUT),
    "threshold": (
        lambda x, s, z, *o: quantized_functional.threshold(x, *o),
        lambda x, threshold, value: np.where(x > threshold, x, value),
        [0.33, -0.5],
        INPUT,
    ),
    "gelu": (lambda x, s, z: F.gelu(x), lambda x: F.gelu(torch.from_numpy(x)).numpy(), [], INPUT),
}

# PyTorch's float64 function and its definition in numpy.
TABLES = {
    "silu": (F.silu, lambda x: x / (1 + np.exp(-x))),
    "mish": (F.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "softplus": (F.softplus, lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)),
    "selu": (F.selu, lambda x: elu(x, 1.6732632423543772848, 1.0507009873554804934)),
    "gelu_tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "softsign": (F.softsign, lambda x: x / (1 + np.abs(x))),
    "log_sigmoid": (F.logsigmoid, lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))),
    "tanhshrink": (F.tanhshrink, lambda x: x - np.tanh(x)),
    "softshrink": (F.softshrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "exp": (torch.exp, np.exp),
    "log": (lambda x: torch.log(x.clamp_min(0.01)), lambda x: np.log(np.maximum(x, 0.01))),
    "sqrt": (lambda x: torch.sqrt(x.clamp_min(0)), lambda x: np.sqrt(np.maximum(x, 0))),
    "rsqrt": (lambda x: torch.rsqrt(x.clamp_min(0.05)), lambda x: 1 / np.sqrt(np.maximum(x, 0.05))),
    "abs": (torch.abs, np.abs),
    "neg": (torch.neg, np.negative),
    "square": (torch.square, np.square),
    "sin": (torch.sin, np.sin),
    "erf": (torch.erf, lambda x: torch.special.erf(torch.from_numpy(x)).numpy()),
}


def add_quantized(file: GoldenFile, generator) -> None:
    for name, (kernel, function, options, chooses) in QUANTIZED.items():
        for dtype in RANGE:
            for number in range(2):
                grid, x = Grid.random(generator, dtype, 0.02, 0.06), every_code(dtype)
                options32 = [float(np.float32(option)) for option in options]
                real = function(grid.real(x), *options32)
                out = covering(real, dtype) if chooses == GIVEN else grid
                result = kernel(grid.torch(x), float(out.scale), out.zero_point, *options32)
                if chooses == FIXED:
                    middle = name == "tanh"
                    out = Grid(1 / 128 if middle else 1 / 256, RANGE[dtype][0] + (128 if middle else 0), dtype)
                assert np.float32(result.q_scale()) == out.scale and result.q_zero_point() == out.zero_point, name
                codes, group = result.int_repr().numpy(), f"quantized/{name}/{dtype}_{number}"
                tensors = {"options": np.float32(options32)} if options else {}
                file.add_codes(group, [grid, out], tensors, codes, out.exact(real))


def covering(real: np.ndarray, dtype: str) -> Grid:
    """A grid that holds the middle 98 percent of the values and zero."""
    low, high = min(0.0, np.quantile(real, 0.01)), max(0.0, np.quantile(real, 0.99))
    scale = np.float32((high - low) / 255)
    return Grid(scale, int(np.rint(RANGE[dtype][0] - low / scale)), dtype)


def add_prelu(file: GoldenFile, generator) -> None:
    grid, weight_grid, out = (Grid.random(generator, "quint8", 0.01, 0.04) for _ in range(3))
    x, weight = every_code("quint8").reshape(1, 4, 64)[:, :, generator.permutation(64)], weight_grid.codes(generator, 4)
    real = grid.real(x)
    real = np.where(real > 0, real, real * weight_grid.real(weight).reshape(1, 4, 1))
    codes = torch.ops.quantized.prelu(grid.torch(x), weight_grid.torch(weight), float(out.scale), out.zero_point)
    tensors = {"x": x, "weight": weight}
    file.add_codes(
        "quantized/prelu/quint8_0", [grid, weight_grid, out], tensors, codes.int_repr().numpy(), out.exact(real)
    )


def add_tables(file: GoldenFile, generator) -> None:
    for name, (function, definition) in TABLES.items():
        for dtype in RANGE:
            distance = 0.0
            while distance < 1e-6:
                grid, x = Grid.random(generator, dtype, 0.01, 0.04), every_code(dtype)
                real = definition(grid.real(x))
                out = covering(real, dtype)
                steps = real / np.float64(out.scale)
                distance = np.abs(steps - np.floor(steps) - 0.5).min()
            theirs = function(torch.from_numpy(grid.real(x))).numpy()
            assert np.allclose(theirs, real, rtol=1e-12, atol=1e-12), name
            file.add_codes(f"table/{name}/{dtype}", [grid, out], {}, out.exact(theirs), out.exact(real), bound=0)


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(22)
    file = GoldenFile("operators_unary", "operators_unary.py", torch_versions("fbgemm"))
    add_quantized(file, generator)
    add_prelu(file, generator)
    add_tables(file, generator)
    file.save()


if __name__ == "__main__":
    main()
