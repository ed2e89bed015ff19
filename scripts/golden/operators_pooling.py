# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_pooling.safetensors: PyTorch's pooling, interpolation and copies.

    python scripts/golden/operators_pooling.py

Groups `<operator>/<name>_<dtype>`; x U8 or I8 [1, C, W], [1, C, H, W] or [1, C, D, H, W], codes in the same layout; the
output has the input's scale F32 [1] and zero_point I32 [1]. `options` I32 holds, for each spatial axis in turn:

    max_pool1d, max_pool2d, max_pool3d                kernel, stride, padding, dilation; then ceil_mode once
    avg_pool1d, avg_pool2d, avg_pool3d                kernel, stride, padding; then ceil_mode, count_include_pad once
    adaptive_avg_pool1d, _2d, _3d                     output size
    mean                                              the axes that are averaged (and dropped)
    std                                               whether it is unbiased, then the axes (which stay)
    upsample_nearest2d, upsample_bilinear2d           output size; bilinear: then align_corners
    pad_constant, pad_reflect                         before and after the last axis, before and after the one before;
                                                      constant: zero, in the real world
    pixel_shuffle, channel_shuffle                    factor or groups
    pad, shuffle, max_pool and nearest copy codes

Checked: max pooling and copies against numpy for equality; the averages against the exact quotient, rounded half to
even around the zero point (zeropoint's definition), at most one code apart, `exact` where it is another: PyTorch
adds the zero point before it rounds, which decides exact ties, and bilinear weights are floats
(scripts/operator_vectors.py). Versions: scripts/requirements.txt.
"""

import sys
import warnings
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import NUMPY_DTYPE, RANGE, GoldenFile, Grid, torch_versions  # noqa: E402

warnings.filterwarnings("ignore", message=".*quantized tensor creation functions.*")

# name: (channels and extents, kernel, stride, padding, dilation, ceil_mode)
MAX_POOLS = {
    "2": ((5, 9), 2, 2, 0, 1, False),
    "3_padded": ((3, 11), 3, 1, 1, 2, False),
    "2x2": ((5, 6, 7), 2, 2, 0, 1, False),
    "3x3_padded_ceil": ((17, 7, 6), 3, 2, 1, 1, True),
    "3x2_dilated": ((3, 8, 9), (3, 2), (1, 2), (1, 0), (2, 1), False),
    "2x2x2": ((2, 4, 5, 4), 2, 2, 0, 1, False),
}
# name: (channels and extents, kernel, stride, padding, ceil_mode, count_include_pad)
AVERAGE_POOLS = {
    "2": ((5, 9), 2, 2, 0, False, True),
    "3_padded": ((4, 10), 3, 2, 1, True, False),
    "2x2": ((5, 6, 7), 2, 2, 0, False, True),
    "3x3_counted": ((17, 7, 6), 3, 2, 1, False, True),
    "3x3_not_counted": ((8, 7, 6), 3, 1, 1, False, False),
    "3x2_ceil": ((3, 8, 8), (3, 2), (3, 3), (1, 0), True, True),
    "2x2x2": ((3, 4, 5, 4), 2, 2, 0, False, True),
    "3x3x3_padded": ((2, 4, 5, 5), 3, 2, 1, False, False),
}
# name: (channels and extents, output extents)
ADAPTIVE = {
    "to_3": ((5, 10), (3,)),
    "to_1x1": ((19, 5, 6), (1, 1)),
    "to_3x2": ((7, 8, 7), (3, 2)),
    "to_2x1x3": ((3, 4, 3, 5), (2, 1, 3)),
}


def each_axis(value, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else value


def windows(extent, kernel, stride, padding, dilation, ceil_mode):
    """For each output along one axis the input positions inside, and how many count with the padding."""
    span = dilation * (kernel - 1) + 1
    free = extent + 2 * padding - span
    count = (-(-free // stride) if ceil_mode else free // stride) + 1
    if ceil_mode and (count - 1) * stride >= extent + padding:
        count -= 1
    for index in range(count):
        positions = [index * stride - padding + dilation * tap for tap in range(kernel)]
        yield [p for p in positions if 0 <= p < extent], sum(p < extent + padding for p in positions)


def adaptive_windows(extent, out):
    for index in range(out):
        positions = range(index * extent // out, -(-(index + 1) * extent // out))
        yield list(positions), len(positions)


def pool(x, axes_windows, reduce):
    """reduce(values [N, C, taps], counted taps) for each combination of the windows of the axes."""
    axes_windows = [list(axis) for axis in axes_windows]
    out = np.empty((*x.shape[:2], *map(len, axes_windows)), x.dtype)
    for index in product(*(range(len(axis)) for axis in axes_windows)):
        chosen = [axis[i] for axis, i in zip(axes_windows, index)]
        values = x[(slice(None), slice(None), *np.ix_(*(positions for positions, _ in chosen)))]
        out[(slice(None), slice(None), *index)] = reduce(
            values.reshape(*x.shape[:2], -1), int(np.prod([counted for _, counted in chosen]))
        )
    return out


def rounded_mean(grid: Grid, counted_padding: bool):
    def reduce(values, counted):
        n = counted if counted_padding else values.shape[-1]
        sums = (values.astype(np.int64) - grid.zero_point).sum(axis=-1)
        means = [round(Fraction(int(total), n)) for total in sums.flat]  # round() of a fraction is half to even
        return np.reshape(means, sums.shape) + grid.zero_point

    return reduce


def add_pools(file: GoldenFile, generator, dtype: str) -> None:
    for name, (shape, kernel, stride, padding, dilation, ceil_mode) in MAX_POOLS.items():
        axes = len(shape) - 1
        options = [each_axis(value, axes) for value in (kernel, stride, padding, dilation)]
        grid = Grid.random(generator, dtype)
        x = grid.codes(generator, (1, *shape))
        operator = getattr(F, f"max_pool{axes}d")
        codes = operator(grid.torch(x), *options, ceil_mode=ceil_mode).int_repr().numpy()
        expected = pool(
            x,
            [windows(e, *(o[i] for o in options), ceil_mode) for i, e in enumerate(shape[1:])],
            lambda v, _: v.max(-1),
        )
        flat = np.int32([*np.transpose(options).flat, ceil_mode])
        file.add_codes(f"max_pool{axes}d/{name}_{dtype}", [grid], {"x": x, "options": flat}, codes, expected, bound=0)
    for name, (shape, kernel, stride, padding, ceil_mode, counted) in AVERAGE_POOLS.items():
        axes = len(shape) - 1
        options = [each_axis(value, axes) for value in (kernel, stride, padding)]
        grid = Grid.random(generator, dtype)
        x = grid.codes(generator, (1, *shape))
        codes = getattr(F, f"avg_pool{axes}d")(grid.torch(x), *options, ceil_mode, counted).int_repr().numpy()
        each = [windows(e, *(o[i] for o in options), 1, ceil_mode) for i, e in enumerate(shape[1:])]
        expected = pool(x, each, rounded_mean(grid, counted))
        flat = np.int32([*np.transpose(options).flat, ceil_mode, counted])
        file.add_codes(f"avg_pool{axes}d/{name}_{dtype}", [grid], {"x": x, "options": flat}, codes, expected)
    for name, (shape, out) in ADAPTIVE.items():
        axes = len(out)
        grid = Grid.random(generator, dtype)
        x = grid.codes(generator, (1, *shape))
        codes = getattr(F, f"adaptive_avg_pool{axes}d")(grid.torch(x), out).int_repr().numpy()
        expected = pool(x, [adaptive_windows(e, o) for e, o in zip(shape[1:], out)], rounded_mean(grid, False))
        tensors = {"x": x, "options": np.int32(out)}
        file.add_codes(f"adaptive_avg_pool{axes}d/{name}_{dtype}", [grid], tensors, codes, expected)


def add_means(file: GoldenFile, generator, dtype: str) -> None:
    for number, axes in enumerate(((2, 3), (1,), (3,))):
        grid = Grid.random(generator, dtype)
        x = grid.codes(generator, (1, 6, 5, 4))
        codes = torch.mean(grid.torch(x), axes).int_repr().numpy()
        n = int(np.prod([x.shape[axis] for axis in axes]))
        sums = (x.astype(np.int64) - grid.zero_point).sum(axis=axes)
        expected = np.reshape([round(Fraction(int(s), n)) for s in sums.flat], sums.shape) + grid.zero_point
        tensors = {"x": x, "options": np.int32(axes)}
        file.add_codes(f"mean/{number}_{dtype}", [grid], tensors, codes, expected.astype(x.dtype))


def add_deviations(file: GoldenFile, generator, dtype: str) -> None:
    for number, (axes, unbiased) in enumerate((((2, 3), 1), ((1,), 0), ((3,), 1))):
        grid = Grid(0.05, (RANGE[dtype][0], RANGE[dtype][0] + 90, RANGE[dtype][0] + 5)[number], dtype)
        x = grid.codes(generator, (1, 6, 5, 4))
        result = torch.std(grid.torch(x), axes, unbiased=bool(unbiased), keepdim=True)
        assert np.float32(result.q_scale()) == grid.scale and result.q_zero_point() == grid.zero_point
        exact = grid.exact(grid.real(x).std(axis=axes, keepdims=True, ddof=unbiased))
        tensors = {"x": x, "options": np.int32([unbiased, *axes])}
        file.add_codes(f"std/{number}_{dtype}", [grid], tensors, result.int_repr().numpy(), exact)


def bilinear(x: np.ndarray, out, align_corners: bool) -> tuple[np.ndarray, int]:
    """Of integers, over the last two axes: exact numerators, and the denominator of all."""
    denominator = 1
    for axis, size in zip((2, 3), out):
        extent = x.shape[axis]
        first, step, each = (
            (0, extent - 1, max(size - 1, 1)) if align_corners else (extent - size, 2 * extent, 2 * size)
        )
        source = np.maximum(first + step * np.arange(size), 0)
        lower = np.minimum(source // each, extent - 1)
        weight = (source - lower * each).reshape([-1 if a == axis else 1 for a in range(4)])
        x = np.take(x, lower, axis) * (each - weight) + np.take(x, np.minimum(lower + 1, extent - 1), axis) * weight
        denominator *= each
    return x, denominator


def add_interpolation_and_copies(file: GoldenFile, generator, dtype: str) -> None:
    def add(group, x, options, result, expected, bound=0):
        codes = result.int_repr().numpy()
        file.add_codes(f"{group}_{dtype}", [grid], {"x": x, "options": np.int32(options)}, codes, expected, bound)

    for number, out in enumerate(((8, 10), (7, 3))):
        grid = Grid.random(generator, dtype)
        x = grid.codes(generator, (1, 3, 4, 5))
        rows, columns = (np.arange(o) * e // o for o, e in zip(out, (4, 5)))
        add(
            f"upsample_nearest2d/{number}",
            x,
            out,
            F.interpolate(grid.torch(x), size=out),
            x[:, :, rows][:, :, :, columns],
        )
        for align_corners in (False, True):
            result = F.interpolate(grid.torch(x), size=out, mode="bilinear", align_corners=align_corners)
            sums, n = bilinear(x.astype(np.int64) - grid.zero_point, out, align_corners)
            expected = np.reshape([round(Fraction(int(s), n)) for s in sums.flat], sums.shape) + grid.zero_point
            expected = expected.astype(x.dtype)
            add(f"upsample_bilinear2d/{number}_{int(align_corners)}", x, (*out, align_corners), result, expected, 1)
    grid = Grid.random(generator, dtype)
    x, pads = grid.codes(generator, (1, 3, 4, 5)), (1, 2, 2, 0)
    around = ((0, 0), (0, 0), pads[2:], pads[:2])
    zero = NUMPY_DTYPE[dtype](grid.zero_point)
    add("pad_constant/0", x, pads, F.pad(grid.torch(x), pads), np.pad(x, around, constant_values=zero))
    add("pad_reflect/0", x, pads, F.pad(grid.torch(x), pads, mode="reflect"), np.pad(x, around, mode="reflect"))
    x = grid.codes(generator, (1, 12, 3, 2))
    shuffled = x.reshape(1, 3, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(1, 3, 6, 4)
    add("pixel_shuffle/0", x, [2], F.pixel_shuffle(grid.torch(x), 2), shuffled)
    if dtype == "quint8":  # PyTorch has no other
        shuffled = x.reshape(1, 3, 4, 3, 2).transpose(0, 2, 1, 3, 4).reshape(x.shape)
        add("channel_shuffle/0", x, [3], F.channel_shuffle(grid.torch(x), 3), shuffled)


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(23)
    file = GoldenFile("operators_pooling", "operators_pooling.py", torch_versions("fbgemm"))
    for dtype in RANGE:
        add_pools(file, generator, dtype)
        add_means(file, generator, dtype)
        add_interpolation_and_copies(file, generator, dtype)
    generator = np.random.default_rng(35)
    for dtype in RANGE:
        add_deviations(file, generator, dtype)
    file.save()


if __name__ == "__main__":
    main()
