# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_convolution.safetensors: PyTorch's int8 conv1d, conv3d, transposed convolutions.

    python scripts/golden/operators_convolution.py

Groups `<operator>/<name>`, operators conv1d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, conv2d_add,
conv2d_add_relu (engine onednn, the others fbgemm):

    x U8 [1, C, ...], codes U8 [1, O, ...], bias F32 [O]
    weight I8 [O, C / groups, ...], transposed [C, O / groups, ...]
    weight_scale F32 and weight_zero_point I32, [1] or [O] (axis 0; PyTorch refuses it for a transposed convolution)
    scale F32, zero_point I32, of x, of the output; conv2d_add: of x, of the addend, of the output; addend U8 like codes
    options I32: for each spatial axis stride, padding, dilation, output padding; then groups, ReLU

    acc = sum (x - x_zero_point) * (w - w_zero_point), exact
    real = acc * x_scale * weight_scale[c] + bias[c] (+ addend)
    codes = clamp(rint(real / y_scale) + y_zero_point), lowest code y_zero_point with a ReLU

checked with that formula in float64 (scripts/operator_vectors.py): at most one code apart. The weights lie in [-64,
63], so that fbgemm's saturating kernels for AVX2 saturate nothing. Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, Grid, torch_versions  # noqa: E402

warnings.filterwarnings("ignore")

# name: (channels and extents, out channels, kernel, stride, padding, dilation, groups)
CONVOLUTIONS = {
    "conv1d/3": ((5, 17), 7, (3,), (1,), (1,), (1,), 1),
    "conv1d/5_stride_2": ((8, 16), 16, (5,), (2,), (2,), (1,), 1),
    "conv1d/3_dilated_groups_2": ((6, 19), 4, (3,), (1,), (2,), (2,), 2),
    "conv1d/4_depthwise": ((8, 13), 8, (4,), (1,), (0,), (1,), 8),
    "conv3d/3x3x3": ((3, 4, 5, 4), 5, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "conv3d/1x3x2_stride": ((4, 3, 7, 6), 8, (1, 3, 2), (1, 2, 2), (0, 1, 0), (1, 1, 1), 1),
    "conv3d/3x1x3_groups_2": ((4, 5, 3, 5), 6, (3, 1, 3), (2, 1, 1), (1, 0, 1), (1, 1, 1), 2),
}
# the same with output padding
TRANSPOSED = {
    "conv_transpose1d/3": ((5, 7), 6, (3,), (1,), (0,), (1,), 1, (0,)),
    "conv_transpose1d/4_stride_2": ((8, 6), 3, (4,), (2,), (1,), (1,), 1, (1,)),
    "conv_transpose1d/3_groups_2": ((4, 8), 6, (3,), (2,), (1,), (1,), 2, (0,)),
    "conv_transpose2d/3x3": ((4, 4, 5), 5, (3, 3), (1, 1), (1, 1), (1, 1), 1, (0, 0)),
    "conv_transpose2d/2x2_stride_2": ((9, 3, 4), 4, (2, 2), (2, 2), (0, 0), (1, 1), 1, (0, 0)),
    "conv_transpose2d/3x4_uneven": ((3, 4, 3), 7, (3, 4), (2, 1), (1, 2), (1, 2), 1, (1, 0)),
    "conv_transpose2d/3x3_groups_3": ((6, 4, 4), 6, (3, 3), (2, 2), (1, 1), (1, 1), 3, (1, 1)),
    "conv_transpose3d/2x2x2": ((3, 2, 3, 2), 2, (2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1), 1, (0, 0, 0)),
}


def weights(generator, shape, channels: int, affine: bool):
    codes = generator.integers(-64, 64, shape).astype(np.int8)
    scale = generator.uniform(0.001, 0.02, channels).astype(np.float32)
    return codes, scale, (generator.integers(-9, 10, channels) * int(affine)).astype(np.int32)


def torch_weights(codes, scale, zero_point) -> torch.Tensor:
    if scale.size == 1:
        return torch._make_per_tensor_quantized_tensor(torch.from_numpy(codes), float(scale[0]), int(zero_point[0]))
    scales, zero_points = torch.from_numpy(scale.astype(np.float64)), torch.from_numpy(zero_point.astype(np.int64))
    return torch._make_per_channel_quantized_tensor(torch.from_numpy(codes), scales, zero_points, 0)


def real_sums(operator, grid: Grid, x, codes, scale, zero_point, *geometry) -> np.ndarray:
    """Without the bias. With one scale a channel the channels are the leading axis of the weights."""
    weight = codes.astype(np.float64) - zero_point.reshape(-1, *[1] * (codes.ndim - 1))
    acc = operator(
        torch.from_numpy(x.astype(np.float64) - grid.zero_point), torch.from_numpy(weight), None, *geometry
    ).numpy()
    assert np.array_equal(acc, np.rint(acc)) and np.abs(acc).max() < 2**31
    return acc * (np.float64(grid.scale) * scale.astype(np.float64)).reshape(1, -1, *[1] * (acc.ndim - 2))


def finish(generator, sums: np.ndarray, out_channels: int):
    """A bias and an output grid that clamps some values."""
    typical = np.abs(sums).mean()
    bias = (generator.normal(0, 0.5, out_channels) * typical).astype(np.float32)
    real = sums + bias.astype(np.float64).reshape(1, -1, *[1] * (sums.ndim - 2))
    return bias, real, Grid(typical / 60, generator.integers(0, 256), "quint8")


def add_convolutions(file: GoldenFile, generator) -> None:
    for turn, (name, (shape, out, kernel, stride, padding, dilation, groups)) in enumerate(CONVOLUTIONS.items()):
        axes, relu, grid = len(kernel), bool(turn % 2), Grid.random(generator, "quint8")
        weight = weights(generator, (out, shape[0] // groups, *kernel), 1 if turn % 3 == 0 else out, turn % 4 == 3)
        x = grid.codes(generator, (1, *shape))
        sums = real_sums(getattr(F, f"conv{axes}d"), grid, x, *weight, stride, padding, dilation, groups)
        bias, real, out_grid = finish(generator, sums, out)
        prepack = getattr(torch.ops.quantized, f"conv{axes}d_prepack")
        packed = prepack(torch_weights(*weight), torch.from_numpy(bias), stride, padding, dilation, groups)
        operator = getattr(torch.ops.quantized, f"conv{axes}d_relu" if relu else f"conv{axes}d")
        codes = operator(grid.torch(x), packed, float(out_grid.scale), out_grid.zero_point).int_repr().numpy()
        options = [*np.transpose([stride, padding, dilation, [0] * axes]).flat, groups, relu]
        tensors = {"x": x, "weight": weight[0], "weight_scale": weight[1], "weight_zero_point": weight[2], "bias": bias}
        tensors["options"] = np.int32(options)
        file.add_codes(name, [grid, out_grid], tensors, np.ascontiguousarray(codes), out_grid.exact(real, relu))


def add_transposed(file: GoldenFile, generator) -> None:
    for turn, (name, (shape, out, kernel, stride, padding, dilation, groups, extra)) in enumerate(TRANSPOSED.items()):
        axes, grid = len(kernel), Grid.random(generator, "quint8")
        weight = weights(generator, (shape[0], out // groups, *kernel), 1, turn % 4 == 3)
        x = grid.codes(generator, (1, *shape))
        sums = real_sums(
            getattr(F, f"conv_transpose{axes}d"), grid, x, *weight, stride, padding, extra, groups, dilation
        )
        bias, real, out_grid = finish(generator, sums, out)
        prepack = getattr(torch.ops.quantized, f"conv_transpose{axes}d_prepack")
        packed = prepack(torch_weights(*weight), torch.from_numpy(bias), stride, padding, extra, dilation, groups)
        operator = getattr(torch.ops.quantized, f"conv_transpose{axes}d")
        codes = operator(grid.torch(x), packed, float(out_grid.scale), out_grid.zero_point).int_repr().numpy()
        options = [*np.transpose([stride, padding, dilation, extra]).flat, groups, 0]
        tensors = {"x": x, "weight": weight[0], "weight_scale": weight[1], "weight_zero_point": weight[2], "bias": bias}
        tensors["options"] = np.int32(options)
        file.add_codes(name, [grid, out_grid], tensors, np.ascontiguousarray(codes), out_grid.exact(real))


def add_residuals(file: GoldenFile, generator) -> None:
    torch.backends.quantized.engine = "onednn"
    one = (1, 1)
    for turn, name in enumerate(("conv2d_add/3x3", "conv2d_add_relu/3x3")):
        relu, grid = name.startswith("conv2d_add_relu"), Grid.random(generator, "quint8")
        weight = weights(generator, (8, 4, 3, 3), 8, False)
        x = grid.codes(generator, (1, 4, 6, 5))
        sums = real_sums(F.conv2d, grid, x, *weight, one, one, one, 1)
        bias, real, out_grid = finish(generator, sums, 8)
        addend_grid = Grid(out_grid.scale * np.float32(0.7), generator.integers(0, 256), "quint8")
        addend = addend_grid.codes(generator, real.shape)
        packed = torch.ops.quantized.conv2d_prepack(torch_weights(*weight), torch.from_numpy(bias), one, one, one, 1)
        operator = torch.ops.quantized.conv2d_add_relu if relu else torch.ops.quantized.conv2d_add
        result = operator(grid.torch(x), addend_grid.torch(addend), packed, float(out_grid.scale), out_grid.zero_point)
        exact = out_grid.exact(real + addend_grid.real(addend), relu)
        tensors = {"x": x, "weight": weight[0], "weight_scale": weight[1], "weight_zero_point": weight[2], "bias": bias}
        tensors.update(addend=addend, options=np.int32([1, 1, 1, 0, 1, 1, 1, 0, 1, relu]))
        codes = np.ascontiguousarray(result.int_repr().numpy())
        file.add_codes(name, [grid, addend_grid, out_grid], tensors, codes, exact)


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(26)
    file = GoldenFile("operators_convolution", "operators_convolution.py", torch_versions("fbgemm, onednn"))
    add_convolutions(file, generator)
    add_transposed(file, generator)
    add_residuals(file, generator)
    file.save()


if __name__ == "__main__":
    main()
