# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_litert_layers.safetensors: LiteRT's int8 layers where rounding shows, and its other operators.

    python scripts/golden/operators_litert_layers.py

Groups, tensors and what is checked as in operators_litert.py; layouts NHWC, weights OHWI (depthwise: 1HWO). Codes of
TFLITE_SINGLE_ROUNDING, of which there is no package, are computed by formula: `single`, where it differs from `codes`.

    FULLY_CONNECTED/<case>, CONV_2D/<case>, DEPTHWISE_CONV_2D/<case>, TRANSPOSE_CONV/<case>
        x, weight, weight_scale, bias, codes; options I32: stride, dilation and padding in front, each height and width,
        then 1 for a fused RELU. Cases: ties (scales are powers of two), saturation, a factor above 1, zero points at
        both ends, odd extents, strides and dilations
    BATCH_MATMUL/<case>                a [2, 3, 17], b [2, 17, 5] or, `adjoint`, [2, 5, 17]; ties with powers of two
    PRELU/<case>                       x [1, 4, 5, 6], slopes I8 [6] with the second of the qparams
    LOG_SOFTMAX, SOFTMAX, L2_NORMALIZATION/<case>   x [rows, n]
    LOGISTIC, TANH, HARD_SWISH/<case>  codes [256] of -128, -127, ...
    MEAN, REDUCE_MAX, REDUCE_MIN/<case>  x [1, 5, 4, 6], axes I32 of the four; means to another grid. Not SUM: the
                                       reference kernel of this release gives no sums of int8
    RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR/<case>  x [1, 4, 5, 3], options: align_corners, half_pixel_centers
    MAX_POOL_2D/<case>                 x; options: kernel, stride, padding in front, each height and width
    CONCATENATION, PAD, MIRROR_PAD, STRIDED_SLICE, TRANSPOSE, REVERSE_V2, TILE, SPACE_TO_DEPTH, DEPTH_TO_SPACE, GATHER
        x (x0, x1), y; options: what the operator takes, in its order
    FULLY_CONNECTED_HYBRID/<case>      x F32 [rows, n], weight I8, weight_scale F32 [1] or [O], bias F32, y F32, and of
                                       each row the range that it is quantized by: row_scale F32, row_zero_point I32

Checked bit for bit beside operators_litert.py's list:

    FULLY_CONNECTED    as I16 activations in operators_litert.py: one rounding, ties away from zero (`once_away`). What
                       double rounding gives stands in `double`, where it is another code; one scale: as there
    BATCH_MATMUL       fixed(acc, sa * sb / s) + z, the product of scales in float
    PRELU              fixed(x - zx, sx / s); below zero fixed((x - zx) * (slope - zs), sx * ss / s)
    copies, maxima     numpy's
    FULLY_CONNECTED_HYBRID  symmetric codes of a row: scale = max |x| / 127, rounded half away from zero; then
                       acc * scale * weight_scale + bias within 1e-6 of the magnitude

Versions: in the metadata; scripts/requirements.txt.
"""

import importlib.metadata

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from operators_litert import Operand, centered, clamp, exact, fixed, fixed_16x8, fixed_once, image_options, run, same
from operator_vectors import GoldenFile, Grid

once_away = fixed_16x8  # FULLY_CONNECTED of this release rounds int8 as the 16x8 layers: once, ties away from zero


def constant(values) -> Operand:
    return Operand(np.asarray(values, np.int32), constant=True)


def powers(count: int, generator, low: int, high: int) -> np.ndarray:
    return np.float32(2.0) ** generator.integers(low, high + 1, count).astype(np.float32)


def conv_sums(x: np.ndarray, weight: np.ndarray, options, out_shape) -> np.ndarray:
    """Of codes without their zero points; `weight` OHWI, or 1HWO for a channel each."""
    sh, sw, dh, dw, top, left, _ = options
    depthwise = weight.shape[0] == 1
    kh, kw = weight.shape[1:3]
    padded = np.zeros((x.shape[1] + 64, x.shape[2] + 64, x.shape[3]), np.int64)
    padded[top : top + x.shape[1], left : left + x.shape[2]] = x[0]
    out = np.zeros(out_shape, np.int64)
    for row in range(out_shape[1]):
        for column in range(out_shape[2]):
            cell = padded[row * sh : row * sh + kh * dh : dh, column * sw : column * sw + kw * dw : dw]
            if depthwise:
                multiplier = weight.shape[3] // x.shape[3]
                out[0, row, column] = (np.repeat(cell, multiplier, axis=2) * weight[0]).sum(axis=(0, 1))
            else:
                out[0, row, column] = np.einsum("ijc,oijc->o", cell, weight.astype(np.int64))
    return out


def same_padding(extent: int, out: int, kernel: int, stride: int, dilation: int) -> int:
    return max((out - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0) // 2


def add_layer(file, group, version, grid, out, x, weight, axis, scale, bias, sums, options, literal, first=None) -> None:
    """`literal` are the options in numbers, the last being RELU."""
    name = group.split("/")[0]
    tensors = [
        *([first] if first else []),
        Operand(x, grid),
        Operand(weight, (scale, axis), constant=True),
        Operand(bias, (np.float32(grid.scale) * scale, 0), constant=True),
    ]
    if first:
        tensors[1], tensors[2] = tensors[2], tensors[1]
    relu = literal[-1] != 0
    if relu:
        options.fusedActivationFunction = schema.ActivationFunctionType.RELU
    codes = run(name, version, tensors, sums.shape, out, options)
    scales = np.broadcast_to(scale, sums.shape[-1:])
    if scale.size == 1:
        ratios = (grid.scale * scales).astype(np.float64) / float(out.scale)
    else:
        ratios = float(grid.scale) * scales.astype(np.float64) / float(out.scale)

    double = once_away if name == "FULLY_CONNECTED" else fixed

    def requantized(form) -> np.ndarray:
        each = [form(sums[..., c] + int(bias[c]), float(ratio)) for c, ratio in enumerate(ratios)]
        return np.maximum(clamp(np.stack(each, axis=-1), out, np.int8), np.int8(out.zero_point if relu else -128))

    same(group, codes, requantized(double))
    single = requantized(fixed_once)
    real = exact(out, (sums + bias) * np.float64(grid.scale) * scales.astype(np.float64))
    real = np.maximum(real, np.int8(out.zero_point if relu else -128))
    tensors = {"x": x, "weight": weight, "weight_scale": scale, "bias": bias, "options": np.int32(literal)}
    if not np.array_equal(single, codes):
        tensors["single"] = single
    if name == "FULLY_CONNECTED" and not np.array_equal(requantized(fixed), codes):
        tensors["double"] = requantized(fixed)
    file.add_codes(group, [grid, out], tensors, codes, real)


def add_linear(file: GoldenFile, generator) -> None:
    def narrow(shape):
        return generator.integers(-127, 128, shape).astype(np.int8)

    # rows, depth, outputs, scale of x, zero point of x, scales of weights, scale and zero point of y, RELU
    cases = {
        "ties": (5, 9, 7, 0.25, -128, np.float32([2**-5]), 2**-5, 3, 0),
        "ties_per_channel": (4, 8, 6, 0.5, 127, powers(6, generator, -4, -2), 0.5, -5, 0),
        "saturating": (3, 33, 5, 0.05, 127, np.float32([0.03]), 0.02, 127, 0),
        "one_row_relu": (1, 65, 17, 0.02, -128, generator.uniform(0.002, 0.02, 17).astype(np.float32), 0.3, -128, 1),
        "growing": (3, 2, 4, 0.9, 11, generator.uniform(0.9, 1.4, 4).astype(np.float32), 0.7, -9, 0),
    }
    for name, (rows, depth, outputs, x_scale, zero, scale, y_scale, y_zero, relu) in cases.items():
        grid, out = Grid(x_scale, zero, "qint8"), Grid(y_scale, y_zero, "qint8")
        x, weight = grid.codes(generator, (rows, depth)), narrow((outputs, depth))
        if name.startswith("ties"):  # small sums, about as often above as below zero
            x = np.clip(generator.integers(-4, 5, x.shape) + zero, -128, 127).astype(np.int8)
            weight = generator.integers(-9, 10, weight.shape).astype(np.int8)
        if name == "growing":
            x, weight = np.clip(zero + x % 3 - 1, -128, 127).astype(np.int8), (weight % 5 - 2).astype(np.int8)
        sums = centered(grid, x) @ weight.astype(np.int64).T
        bias = generator.integers(-int(np.abs(sums).mean()) - 1, int(np.abs(sums).mean()) + 2, outputs).astype(np.int32)
        literal = [1, 1, 1, 1, 0, 0, relu]
        options = schema.FullyConnectedOptionsT()
        add_layer(file, f"FULLY_CONNECTED/{name}", 5, grid, out, x, weight, 0, scale, bias, sums, options, literal)


def add_images(file: GoldenFile, generator) -> None:
    # operator, extents of x, channels out, kernel, stride, dilation, SAME, zero points of x and y, RELU, powers of two
    cases = {
        "CONV_2D/stride_2": ((7, 6, 3), 5, (3, 3), (2, 2), (1, 1), True, -128, 127, 0, False),
        "CONV_2D/dilated_ties": ((8, 7, 2), 6, (2, 3), (1, 1), (2, 2), False, 127, -6, 0, True),
        "CONV_2D/1x1_relu": ((5, 3, 17), 9, (1, 1), (1, 2), (1, 1), True, -9, -128, 1, False),
        "DEPTHWISE_CONV_2D/stride_2_ties": ((7, 9, 19), 19, (3, 3), (2, 2), (1, 1), True, -128, 20, 0, True),
        "DEPTHWISE_CONV_2D/two_each": ((5, 6, 3), 6, (3, 2), (1, 1), (1, 1), False, 127, -128, 1, False),
        "DEPTHWISE_CONV_2D/dilated": ((9, 8, 5), 5, (3, 3), (1, 1), (2, 2), True, 4, 127, 0, False),
    }
    for group, (extents, channels, kernel, stride, dilation, is_same, zero, y_zero, relu, ties) in cases.items():
        depthwise = group.startswith("D")
        grid = Grid(0.25 if ties else 0.04, zero, "qint8")
        x = grid.codes(generator, (1, *extents))
        weight = generator.integers(-127, 128, (1 if depthwise else channels, *kernel, channels if depthwise else extents[2]))
        scale = powers(channels, generator, -3, -1) if ties else generator.uniform(0.002, 0.02, channels).astype(np.float32)
        if ties:
            x, weight = np.clip(zero + generator.integers(-5, 6, x.shape), -128, 127).astype(np.int8), weight % 9 - 4
        weight = weight.astype(np.int8)
        if is_same:
            size = [-(-e // s) for e, s in zip(extents, stride)]
            front = [same_padding(*a) for a in zip(extents, size, kernel, stride, dilation)]
        else:
            size = [(e - (k - 1) * d - 1) // s + 1 for e, k, s, d in zip(extents, kernel, stride, dilation)]
            front = [0, 0]
        literal = [*stride, *dilation, *front, relu]
        sums = conv_sums(centered(grid, x), weight, literal, (1, *size, channels))
        typical = int(np.abs(sums).mean()) + 1
        bias = generator.integers(-typical, typical + 1, channels).astype(np.int32)
        factors = np.float64(grid.scale) * scale.astype(np.float64)
        out = Grid(0.5 if ties else np.abs((sums + bias) * factors).mean() / 40, y_zero, "qint8")
        values = {"strideH": stride[0], "strideW": stride[1]}
        values |= {"dilationHFactor": dilation[0], "dilationWFactor": dilation[1]}
        values["padding"] = schema.Padding.SAME if is_same else schema.Padding.VALID
        if depthwise:
            values["depthMultiplier"] = channels // extents[2]
        options = image_options(schema.DepthwiseConv2DOptionsT if depthwise else schema.Conv2DOptionsT, **values)
        axis = 3 if depthwise else 0
        add_layer(file, group, 3, grid, out, x, weight, axis, scale, bias, sums, options, literal)
    # VALID, kernel 2x3, stride (1, 2); ties
    grid, out = Grid(0.25, -128, "qint8"), Grid(0.5, 1, "qint8")
    x = np.clip(-128 + generator.integers(0, 9, (1, 4, 3, 7)), -128, 127).astype(np.int8)
    weight, scale = generator.integers(-9, 10, (5, 2, 3, 7)).astype(np.int8), powers(5, generator, -3, -1)
    sums = np.zeros((1, 5, 7, 5), np.int64)
    for row in range(4):
        for column in range(3):
            patch = np.einsum("nc,oijc->nijo", centered(grid, x)[:, row, column], weight.astype(np.int64))
            sums[:, row : row + 2, 2 * column : 2 * column + 3] += patch
    bias = generator.integers(-30, 31, 5).astype(np.int32)
    options = image_options(schema.TransposeConvOptionsT, strideH=1, strideW=2, padding=schema.Padding.VALID)
    literal = [1, 2, 1, 1, 0, 0, 0]
    add_layer(
        file, "TRANSPOSE_CONV/ties", 3, grid, out, x, weight, 0, scale, bias, sums, options, literal, constant(sums.shape)
    )


def add_batch_matmul(file: GoldenFile, generator) -> None:
    for name, adjoint, ties in (("plain", False, False), ("adjoint", True, False), ("ties", False, True)):
        ga, gb = Grid(0.25, 0, "qint8"), Grid(2**-5, -128, "qint8")
        if not ties:
            ga, gb = (Grid(generator.uniform(0.01, 0.1), z, "qint8") for z in (-128, 9))
        a, b = ga.codes(generator, (2, 3, 17)), gb.codes(generator, (2, 17, 5))
        if ties:
            a, b = generator.integers(-6, 7, a.shape).astype(np.int8), (b.astype(int) % 11 - 128).astype(np.int8)
        sums = centered(ga, a) @ centered(gb, b)
        factor = float(ga.scale * gb.scale)
        out = Grid(2**-5 if ties else np.abs(sums).mean() * factor / 40, 7, "qint8")
        options = schema.BatchMatMulOptionsT()
        options.adjX, options.adjY = False, adjoint
        given = np.ascontiguousarray(b.transpose(0, 2, 1)) if adjoint else b
        codes = run("BATCH_MATMUL", 2, [Operand(a, ga), Operand(given, gb)], sums.shape, out, options)
        ratio = factor / float(out.scale)
        same(f"BATCH_MATMUL/{name}", codes, clamp(fixed(sums, ratio), out, np.int8))
        single = clamp(fixed_once(sums, ratio), out, np.int8)
        tensors = {"a": a, "b": given, **({} if np.array_equal(single, codes) else {"single": single})}
        real = sums * (np.float64(ga.scale) * np.float64(gb.scale))
        file.add_codes(f"BATCH_MATMUL/{name}", [ga, gb, out], tensors, codes, exact(out, real))


def add_functions(file: GoldenFile, generator) -> None:
    every = np.arange(-128, 128).astype(np.int8)
    sigmoid_out, tanh_out = Grid(1 / 256, -128, "qint8"), Grid(1 / 128, 0, "qint8")
    functions = {
        "LOGISTIC": (2, None, [Grid(0.2, -128, "qint8"), Grid(0.011, 127, "qint8")], sigmoid_out, lambda v: 1 / (1 + np.exp(-v))),
        "TANH": (2, None, [Grid(0.1, 127, "qint8"), Grid(0.004, -60, "qint8")], tanh_out, np.tanh),
        "HARD_SWISH": (
            1,
            schema.HardSwishOptionsT(),
            [Grid(0.05, 0, "qint8"), Grid(0.02, -128, "qint8"), Grid(0.023, 127, "qint8")],
            Grid(0.025, -110, "qint8"),
            lambda v: v * np.clip(v + 3, 0, 6) / 6,
        ),
    }
    for name, (version, options, grids, out, function) in functions.items():
        for number, grid in enumerate(grids):
            codes = run(name, version, [Operand(every, grid)], every.shape, out, options)
            file.add_codes(f"{name}/{number}", [grid, out], {}, codes, exact(out, function(grid.real(every))))
    for name, zero, slope_zero in (("ends", -128, 127), ("middle", 3, 0)):
        grid, slopes_grid, out = Grid(0.04, zero, "qint8"), Grid(0.01, slope_zero, "qint8"), Grid(0.03, -7, "qint8")
        x, slopes = grid.codes(generator, (1, 4, 5, 6)), slopes_grid.codes(generator, 6)
        operands = [Operand(x, grid), Operand(slopes.reshape(1, 1, 6), slopes_grid, constant=True)]
        codes = run("PRELU", 1, operands, x.shape, out)
        steps, below = centered(grid, x), centered(grid, x) * centered(slopes_grid, slopes)
        ratio, slope_ratio = float(grid.scale) / float(out.scale), float(grid.scale * slopes_grid.scale) / float(out.scale)
        formula = np.where(steps >= 0, fixed(steps, ratio), fixed(below, slope_ratio))
        same(f"PRELU/{name}", codes, clamp(formula, out, np.int8))
        real = grid.real(x)
        real = np.where(real > 0, real, real * slopes_grid.real(slopes))
        file.add_codes(f"PRELU/{name}", [grid, slopes_grid, out], {"x": x, "slopes": slopes}, codes, exact(out, real))
    for name, grid, n in (("fine", Grid(0.01, 127, "qint8"), 31), ("coarse", Grid(0.3, -128, "qint8"), 9)):
        x = grid.codes(generator, (4, n))
        real = grid.real(x) - grid.real(x).max(axis=1, keepdims=True)
        sums = np.exp(real).sum(axis=1, keepdims=True)
        out = Grid(16 / 256, 127, "qint8")
        codes = run("LOG_SOFTMAX", 2, [Operand(x, grid)], x.shape, out, schema.LogSoftmaxOptionsT())
        file.add_codes(f"LOG_SOFTMAX/{name}", [grid, out], {"x": x}, codes, out.exact(real - np.log(sums)))
        out, options = Grid(1 / 256, -128, "qint8"), schema.SoftmaxOptionsT()
        options.beta = 1.0
        codes = run("SOFTMAX", 2, [Operand(x, grid)], x.shape, out, options)
        file.add_codes(f"SOFTMAX/{name}", [grid, out], {"x": x}, codes, out.exact(np.exp(real) / sums))
        out = Grid(1 / 128, 0, "qint8")
        codes = run("L2_NORMALIZATION", 2, [Operand(x, grid)], x.shape, out, schema.L2NormOptionsT())
        norm = grid.real(x) / np.sqrt((grid.real(x) ** 2).sum(axis=1, keepdims=True))
        file.add_codes(f"L2_NORMALIZATION/{name}", [grid, out], {"x": x}, codes, out.exact(norm))


def add_reductions(file: GoldenFile, generator) -> None:
    for number, axes in enumerate(([1, 2], [3], [1], [2, 3])):
        zero = (-128, 127, 5, 0)[number]
        grid = Grid(0.07, zero, "qint8")
        x = grid.codes(generator, (1, 5, 4, 6))
        options = schema.ReducerOptionsT()
        options.keepDims = True
        shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
        operands, tensors = [Operand(x, grid), constant(axes)], {"x": x, "axes": np.int32(axes)}
        for name, reduce in (("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min)):
            codes = run(name, 2, operands, shape, grid, options)
            same(f"{name}/{number}", codes, reduce(x, axis=tuple(axes), keepdims=True))
            file.add_codes(f"{name}/{number}", [grid, grid], tensors, codes, codes, bound=0)
        out = Grid(0.05, -zero // 2, "qint8")
        codes = run("MEAN", 2, operands, shape, out, options)
        real = grid.real(x).mean(axis=tuple(axes), keepdims=True)
        file.add_codes(f"MEAN/{number}", [grid, out], tensors, codes, out.exact(real))


def positions(extent: int, out: int, align: int, half: int) -> np.ndarray:
    i = np.arange(out)
    if align and out > 1:
        return i * (extent - 1) / (out - 1)
    where = (i + 0.5) * extent / out - 0.5 if half else i * extent / out
    return np.clip(where, 0, extent - 1)


def add_resizing(file: GoldenFile, generator) -> None:
    grid = Grid(0.05, 17, "qint8")
    for number, (out, align, half) in enumerate((((8, 10), 0, 0), ((7, 3), 1, 0), ((9, 7), 0, 1), ((2, 13), 0, 1))):
        x = grid.codes(generator, (1, 4, 5, 3))
        shape, size = (1, *out, 3), constant(out)
        options = schema.ResizeBilinearOptionsT()
        options.alignCorners, options.halfPixelCenters = bool(align), bool(half)
        codes = run("RESIZE_BILINEAR", 3, [Operand(x, grid), size], shape, grid, options)
        real = centered(grid, x)[0].astype(np.float64)
        for axis in (0, 1):
            at = positions(real.shape[axis], out[axis], align, half)
            first = np.floor(at).astype(int)
            second = np.minimum(first + 1, real.shape[axis] - 1)
            part = (at - first).reshape([-1 if a == axis else 1 for a in range(3)])
            real = np.take(real, first, axis) * (1 - part) + np.take(real, second, axis) * part
        expected = np.clip(np.rint(np.round(real, 9)) + grid.zero_point, -128, 127).astype(np.int8)[None]
        numbers = {"x": x, "options": np.int32([align, half])}
        file.add_codes(f"RESIZE_BILINEAR/{number}", [grid, grid], numbers, codes, expected)
        options = schema.ResizeNearestNeighborOptionsT()
        options.alignCorners, options.halfPixelCenters = bool(align), bool(half)
        codes = run("RESIZE_NEAREST_NEIGHBOR", 3, [Operand(x, grid), size], shape, grid, options)
        file.add_codes(f"RESIZE_NEAREST_NEIGHBOR/{number}", [grid, grid], numbers, codes, codes)
    for number, (extents, kernel, stride) in enumerate((((9, 7, 17), (3, 2), (2, 2)), ((5, 6, 4), (5, 6), (1, 1)))):
        x = grid.codes(generator, (1, *extents))
        size = [-(-e // s) for e, s in zip(extents, stride)]
        front = [same_padding(*a, 1) for a in zip(extents, size, kernel, stride)]
        options = image_options(
            schema.Pool2DOptionsT, filterHeight=kernel[0], filterWidth=kernel[1], strideH=stride[0], strideW=stride[1]
        )
        codes = run("MAX_POOL_2D", 2, [Operand(x, grid)], (1, *size, extents[2]), grid, options)
        tensors = {"x": x, "options": np.int32([*kernel, *stride, *front])}
        file.add_codes(f"MAX_POOL_2D/{number}", [grid, grid], tensors, codes, codes, bound=0)


def add_copies(file: GoldenFile, generator) -> None:
    grid = Grid(0.05, 17, "qint8")
    x = grid.codes(generator, (1, 4, 6, 8))

    def add(name, version, operands, options, y, literal, **more) -> None:
        codes = run(name, version, operands, y.shape, grid, options)
        same(name, codes, y)
        file.add(f"{name}/0", [grid], {"x": x, **more, "y": codes, "options": np.int32(literal)})

    whole = Operand(x, grid)
    other = grid.codes(generator, (1, 4, 6, 3))
    options = schema.ConcatenationOptionsT()
    options.axis = 3
    add("CONCATENATION", 2, [whole, Operand(other, grid)], options, np.concatenate([x, other], 3), [3], x1=other)
    sides = [[0, 0], [1, 2], [0, 3], [2, 1]]
    padded = np.pad(x, sides, constant_values=grid.zero_point)
    add("PAD", 2, [whole, constant(sides)], schema.PadOptionsT(), padded, np.ravel(sides[1:]))
    options = schema.MirrorPadOptionsT()
    options.mode = schema.MirrorPadMode.SYMMETRIC
    add("MIRROR_PAD", 2, [whole, constant(sides)], options, np.pad(x, sides, mode="symmetric"), np.ravel(sides[1:]))
    begin, end, step = [0, 3, 1, 7], [1, 0, 6, 0], [1, -1, 2, -3]
    sliced = x[:, 3:0:-1, 1:6:2, 7:0:-3]
    operands = [whole, constant(begin), constant(end), constant(step)]
    add("STRIDED_SLICE", 2, operands, schema.StridedSliceOptionsT(), sliced, [*begin[1:], *step[1:]])
    add("TRANSPOSE", 2, [whole, constant([0, 3, 1, 2])], schema.TransposeOptionsT(), x.transpose(0, 3, 1, 2), [3, 1, 2])
    add("REVERSE_V2", 3, [whole, constant([2])], schema.ReverseV2OptionsT(), x[:, :, ::-1], [2])
    add("TILE", 1, [whole, constant([1, 2, 1, 3])], schema.TileOptionsT(), np.tile(x, (1, 2, 1, 3)), [2, 1, 3])
    options = schema.SpaceToDepthOptionsT()
    options.blockSize = 2
    blocks = x.reshape(1, 2, 2, 3, 2, 8).transpose(0, 1, 3, 2, 4, 5).reshape(1, 2, 3, 32)
    add("SPACE_TO_DEPTH", 2, [whole], options, blocks, [2])
    options = schema.DepthToSpaceOptionsT()
    options.blockSize = 2
    spread = x.reshape(1, 4, 6, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 8, 12, 2)
    add("DEPTH_TO_SPACE", 1, [whole], options, spread, [2])
    options = schema.GatherOptionsT()
    options.axis = 2
    indices = [5, 0, 0, 3]
    add("GATHER", 2, [whole, constant(indices)], options, x[:, :, indices], [2, *indices])


def add_hybrid(file: GoldenFile, generator) -> None:
    for name, rows, depth, outputs, channels in (("per_tensor", 3, 17, 9, 1), ("per_channel", 2, 33, 5, 5)):
        x = (generator.normal(0, 1, (rows, depth)) + generator.normal(0, 1, (rows, 1))).astype(np.float32)
        weight = generator.integers(-127, 128, (outputs, depth)).astype(np.int8)
        scale = generator.uniform(0.002, 0.02, channels).astype(np.float32)
        bias = generator.normal(0, 1, outputs).astype(np.float32)
        operands = [Operand(x), Operand(weight, (scale, 0), constant=True), Operand(bias, constant=True)]
        options = schema.FullyConnectedOptionsT()
        y = run("FULLY_CONNECTED", 12 if channels > 1 else 3, operands, (rows, outputs), None, options)
        row_scale = np.abs(x).max(axis=1) / np.float32(127)
        steps = x * (np.float32(1) / row_scale)[:, None]
        codes = np.clip(np.sign(steps) * np.floor(np.abs(steps) + 0.5), -127, 127)
        products = codes @ weight.astype(np.float64).T * row_scale[:, None] * scale
        error = np.abs(y - products - bias)
        magnitude = np.abs(codes) @ np.abs(weight.astype(np.float64)).T * row_scale[:, None] * scale + np.abs(bias)
        assert (error <= 1e-6 * magnitude).all(), (name, (error / magnitude).max())
        tensors = {"x": x, "weight": weight, "weight_scale": scale, "bias": bias, "y": y, "row_scale": row_scale}
        file.add(f"FULLY_CONNECTED_HYBRID/{name}", [], tensors)


def main() -> None:
    generator = np.random.default_rng(31)
    versions = {"ai-edge-litert": importlib.metadata.version("ai-edge-litert"), "numpy": np.__version__}
    file = GoldenFile("operators_litert_layers", "operators_litert_layers.py", {**versions, "kernels": "BUILTIN_REF"})
    add_linear(file, generator)
    add_images(file, generator)
    add_batch_matmul(file, generator)
    add_functions(file, generator)
    add_reductions(file, generator)
    add_resizing(file, generator)
    add_copies(file, generator)
    add_hybrid(file, generator)
    file.save()


if __name__ == "__main__":
    main()
