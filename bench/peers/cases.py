# SPDX-License-Identifier: BSD-3-Clause
"""The single layers that are compared, and their operands: the same numbers for everyone."""
import dataclasses

import numpy as np

DISTRIBUTIONS = ("uniform", "gaussian", "laplace", "4-bit", "7-bit x")


@dataclasses.dataclass
class Case:
    """A convolution, NHWC; a matrix product of M rows is one of an M x 1 image."""
    index: int
    name: str
    in_height: int
    in_width: int
    in_channels: int
    out_height: int
    out_width: int
    out_channels: int
    kernel_height: int
    kernel_width: int
    stride: int
    padding: int
    groups: int

    @property
    def is_gemm(self) -> bool:
        return self.name.startswith("gemm")

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (self.in_height, self.in_width, self.in_channels)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.out_height, self.out_width, self.out_channels)

    @property
    def weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.kernel_height, self.kernel_width, self.in_channels // self.groups)

    @property
    def operations(self) -> int:
        """Taps on padding are counted."""
        depth = self.kernel_height * self.kernel_width * self.in_channels // self.groups
        return 2 * self.out_height * self.out_width * self.out_channels * depth


@dataclasses.dataclass
class Operands:
    """y = round(sum (x - x_zero_point) * w * multiplier) + y_zero_point, clamped to a byte. All scales but those of
    the weights are powers of two, so x_scale * w_scale / y_scale is the same float in whatever order it is computed.
    Peers get codes, zeropoint the floats that these are of."""
    x: np.ndarray             # uint8, NHWC
    real_weights: np.ndarray  # float32, OHWI
    real_bias: np.ndarray     # float32
    weights: np.ndarray       # int8
    bias: np.ndarray          # int32
    w_scale: np.ndarray
    range: int                # as zp_layer_new says
    x_zero_point: int
    y_zero_point: int = 128
    x_scale: float = 2.0**-6
    y_scale: float = 2.0**-4

    @property
    def multiplier(self) -> np.ndarray:
        return (self.w_scale * np.float32(self.x_scale / self.y_scale)).astype(np.float32)


def random_weights(random: np.random.Generator, shape: tuple[int, ...], distribution: str) -> np.ndarray:
    if distribution == "gaussian":
        return random.standard_normal(shape)
    if distribution == "laplace":
        return random.laplace(size=shape)
    return random.uniform(-1, 1, shape)


def quantized_weights(real: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales as PyTorch's per_channel_symmetric has them: a channel's largest weight is half of all steps. In
    float32, operation by operation: the layer must come to the same codes from the same floats."""
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    scales = np.abs(real).max(axis=(1, 2, 3)) / np.float32((highest - lowest) / 2)
    codes = np.rint(real * (np.float32(1) / scales)[:, None, None, None])
    return np.clip(codes, lowest, highest).astype(np.int8), scales


def operands_of(case: Case, distribution: str) -> Operands:
    random = np.random.default_rng(case.index)
    bits = 4 if distribution == "4-bit" else 8
    real = random_weights(random, case.weight_shape, distribution).astype(np.float32)
    x_max = 127 if distribution == "7-bit x" else 255
    x = random.integers(0, x_max + 1, case.input_shape).astype(np.uint8)
    # Scales under which outputs spread over their codes: a deviation of 40.
    codes, scales = quantized_weights(real, bits)
    deviation = np.sqrt((codes.astype(np.float64)**2).sum(axis=(1, 2, 3))) * (x_max + 1) / np.sqrt(12) + 1
    ranges = {"4-bit": 1, "7-bit x": 2}
    operands = Operands(x, real, np.zeros(case.out_channels, np.float32), codes, np.zeros(case.out_channels, np.int32),
                        scales, ranges.get(distribution, 0), (x_max + 1) // 2)
    spread = 40 / deviation * operands.y_scale / operands.x_scale / scales
    operands.real_weights = (real * spread[:, None, None, None]).astype(np.float32)
    operands.weights, operands.w_scale = quantized_weights(operands.real_weights, bits)
    if not case.is_gemm:
        step = operands.x_scale * operands.w_scale.astype(np.float64)
        operands.real_bias = (random.uniform(-0.5, 0.5, case.out_channels) * deviation * step).astype(np.float32)
        operands.bias = np.rint(operands.real_bias / step).astype(np.int32)
    return operands


def reference(case: Case, operands: Operands) -> np.ndarray:
    """The definition, summed in doubles, which are exact for these integers."""
    import torch
    x = torch.from_numpy(operands.x.astype(np.float64) - operands.x_zero_point).permute(2, 0, 1)[None]
    w = torch.from_numpy(operands.weights.astype(np.float64)).permute(0, 3, 1, 2)
    bias = torch.from_numpy(operands.bias.astype(np.float64))
    if case.is_gemm:
        sums = (x[0, :, :, 0].T @ w[:, :, 0, 0].T)[:, None, :].numpy()
    else:
        sums = torch.nn.functional.conv2d(x, w, bias, case.stride, case.padding, 1, case.groups)
        sums = sums[0].permute(1, 2, 0).numpy()
    real = np.rint(sums.astype(np.float32) * operands.multiplier)
    return np.clip(real + operands.y_zero_point, 0, 255).astype(np.uint8)
