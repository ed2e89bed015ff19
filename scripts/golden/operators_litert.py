# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_litert.safetensors: what LiteRT's reference kernels compute in int8.

    python scripts/golden/operators_litert.py

One group a model of one operator, run by the interpreter with its reference kernels, `<OPERATOR>/<n>`; scale F32 and
zero_point I32 of the inputs, then of the output; codes I8 (int16: I16), layouts NHWC:

    ADD, SUB, MUL, SQUARED_DIFFERENCE, MAXIMUM, MINIMUM     a, b, codes [count]; ADD, MUL with I16 too, zero points 0
    EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL  a, b, codes [151], which are 0 or 1; two grids
    QUANTIZE                                                x, codes [256], from one int8 grid to another
    LOGISTIC, TANH, HARD_SWISH, LEAKY_RELU (0.1), EXP, GELU, ABS, RELU, RELU6, LOG, RSQRT, RELU_N1_TO_1  codes [256] of -128, -127, ...
    SOFTMAX                                                 x, codes [5, 19]
    AVERAGE_POOL_2D, MAX_POOL_2D                            x [1, 7, 6, 5]; 3x3, stride 2, padding SAME
    MEAN                                                    x [1, 7, 6, 5], codes [1, 5], over the image
    L2_NORMALIZATION                                        x, codes [3, 16]
    FULLY_CONNECTED                                         x [3, 17], weight I8 [9, 17], bias I32, weight_scale F32 [1]
                                                            or [9]; with I16: bias I64
    CONV_2D, DEPTHWISE_CONV_2D                              x [1, 6, 5, 4], weight OHWI [8, 3, 3, 4] or [1, 3, 3, 4],
                                                            bias I32, weight_scale F32 [8] or [4], padding SAME
    TRANSPOSE_CONV                                          x [1, 3, 4, 5], weight OHWI [6, 3, 3, 5], stride 2, SAME

Checked bit for bit, where `fixed` is TFLite's double rounding with a factor of 31 bits and a shift, defined below. That
the package was built with it shows the group QUANTIZE/quarter, on which single rounding differs:

    CONV_2D, ...               fixed(acc + bias, x_scale * weight_scale[c] / y_scale) + z, factors in double; a fully
                               connected layer with one weight scale takes float(x_scale * weight_scale); I16
                               activations are rounded once, ties away from zero (`fixed_16x8`; older releases had a
                               15-bit multiplier and ties up), as the group FULLY_CONNECTED/int16_ties shows
    MUL                        fixed((a - za) * (b - zb), sa * sb / s) + z, the factor in float
    ADD, SUB                   fixed(fixed((a - za) << 20, sa / t) +- fixed((b - zb) << 20, sb / t), t / (2^20 * s))
                               + z, where t = 2 * max(sa, sb); int16: 15 for 20
    QUANTIZE                   fixed(x - zx, sx / s) + z, the factor in double
    LEAKY_RELU                 the same in float; for x < zx float(sx * slope / s)
    AVERAGE_POOL_2D            the sum of the codes over their number, ties away from zero, no zero point

The others, and all of these too, against the real operator in float64, rounded once: `exact` where that is another
code, the bound in the metadata (scripts/operator_vectors.py). Versions: in the metadata; scripts/requirements.txt.
"""

import importlib.metadata
import math
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench/peers")]
from litert_peer import GraphBuilder, quantization  # noqa: E402
from operator_vectors import RANGE, GoldenFile, Grid  # noqa: E402

SLOPE = np.float32(0.1)  # of LEAKY_RELU
RANGE["qint16"] = (-32768, 32767)
KINDS = {np.dtype(np.int8): schema.TensorType.INT8, np.dtype(np.int16): schema.TensorType.INT16}
KINDS[np.dtype(np.int32)], KINDS[np.dtype(np.int64)] = schema.TensorType.INT32, schema.TensorType.INT64
KINDS[np.dtype(np.float32)] = schema.TensorType.FLOAT32


class Operand:
    """A tensor of the model: codes and their qparams; `grid` may be a pair (scales, axis) of symmetric weights."""

    def __init__(self, codes: np.ndarray, grid=None, constant: bool = False):
        self.codes, self.constant = codes, constant
        if grid is None:
            self.quantized = None
        elif isinstance(grid, tuple):
            self.quantized = quantization(grid[0], 0, grid[1])
        else:
            self.quantized = quantization(grid.scale, grid.zero_point)


def run(name: str, version: int, operands: list[Operand], shape, grid: Grid | None, options=None, kind=None) -> np.ndarray:
    """One operator, of which what is not constant is an input; without a grid the output is no code. `kind`: its type."""
    graph = GraphBuilder()
    tensors = [
        graph.tensor(o.codes.shape, KINDS[o.codes.dtype], o.quantized, o.codes if o.constant else None)
        for o in operands
    ]
    dtype = next(o for o in operands if not o.constant).codes.dtype
    y = graph.tensor(shape, kind or KINDS[dtype], quantization(grid.scale, grid.zero_point) if grid else None)
    table = type(options).__name__.removesuffix("T") if options is not None else "NONE"
    code = getattr(schema.BuiltinOperator, name)
    graph.operator(code, getattr(schema.BuiltinOptions, table), options, tensors, y, version)
    inputs = [tensor for tensor, operand in zip(tensors, operands) if not operand.constant]
    interpreter = Interpreter(
        model_content=graph.finish(inputs, [y]), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    for details, operand in zip(interpreter.get_input_details(), [o for o in operands if not o.constant]):
        interpreter.set_tensor(details["index"], operand.codes)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def quantize_multiplier(factor: float) -> tuple[int, int]:
    mantissa, shift = np.frexp(factor)
    multiplier = int(np.floor(mantissa * 2.0**31 + 0.5))
    if multiplier == 2**31:
        multiplier, shift = multiplier // 2, shift + 1
    return (multiplier, int(shift)) if shift >= -31 else (0, 0)


def fixed(x: np.ndarray, factor: float) -> np.ndarray:
    """x * factor in 32-bit fixed point, rounded twice."""
    multiplier, shift = quantize_multiplier(factor)
    product = (x.astype(np.int64) << max(shift, 0)) * multiplier
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.sign(nudged) * (np.abs(nudged) >> 31)  # truncated
    right = max(-shift, 0)
    mask = (1 << right) - 1
    return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))


def fixed_once(x: np.ndarray, factor: float) -> np.ndarray:
    multiplier, shift = quantize_multiplier(factor)
    return (x.astype(np.int64) * multiplier + (1 << (30 - shift))) >> (31 - shift)


def fixed_16x8(x: np.ndarray, factor: float) -> np.ndarray:
    """For accumulators of 64 bits: the whole multiplier, rounded once, ties away from zero."""
    multiplier, shift = quantize_multiplier(factor)
    return np.sign(x) * ((np.abs(x.astype(np.int64)) * multiplier + (1 << (30 - shift))) >> (31 - shift))


def clamp(codes, grid: Grid, kind) -> np.ndarray:
    return np.clip(codes + grid.zero_point, *RANGE[grid.dtype]).astype(kind)


def grid16(generator) -> Grid:
    return Grid(generator.uniform(1e-4, 1e-3), 0, "qint16")


def exact(grid: Grid, real, kind=np.int8) -> np.ndarray:
    return np.clip(np.rint(real / np.float64(grid.scale)) + grid.zero_point, *RANGE[grid.dtype]).astype(kind)


def same(name: str, codes: np.ndarray, expected: np.ndarray) -> None:
    assert np.array_equal(codes, expected), f"{name}: {np.count_nonzero(codes != expected)} of {codes.size} differ"


def centered(grid: Grid, codes: np.ndarray) -> np.ndarray:
    return codes.astype(np.int64) - grid.zero_point


def add_binary(file: GoldenFile, generator) -> None:
    options = {
        "ADD": (schema.AddOptionsT, 2),
        "SUB": (schema.SubOptionsT, 2),
        "MUL": (schema.MulOptionsT, 2),
        "SQUARED_DIFFERENCE": (schema.SquaredDifferenceOptionsT, 2),
        "MAXIMUM": (schema.MaximumMinimumOptionsT, 2),
        "MINIMUM": (schema.MaximumMinimumOptionsT, 2),
    }
    real_operator = {
        "ADD": np.add,
        "SUB": np.subtract,
        "MUL": np.multiply,
        "SQUARED_DIFFERENCE": lambda a, b: (a - b) ** 2,
        "MAXIMUM": np.maximum,
        "MINIMUM": np.minimum,
    }
    for name, (make, version) in options.items():
        for wide in (False, True) if name in ("ADD", "MUL") else (False,):
            ga, gb = (grid16(generator) if wide else Grid.random(generator, "qint8") for _ in range(2))
            kind, count = (np.int16, 151) if wide else (np.int8, 301)
            a, b = (generator.integers(*RANGE[g.dtype], count).astype(kind) for g in (ga, gb))
            if name in ("MAXIMUM", "MINIMUM"):
                gb = out = ga
            real = real_operator[name](centered(ga, a) * np.float64(ga.scale), centered(gb, b) * np.float64(gb.scale))
            if name not in ("MAXIMUM", "MINIMUM"):
                steps = 12000 if wide else 40
                out = Grid(np.abs(real).mean() / steps, 0 if wide else generator.integers(-128, 128), ga.dtype)
            codes = run(
                name, 4 if wide and name == "MUL" else version, [Operand(a, ga), Operand(b, gb)], a.shape, out, make()
            )
            sa, sb, s = (float(g.scale) for g in (ga, gb, out))
            if name in ("ADD", "SUB"):
                left, twice = (15 if wide else 20), 2 * max(sa, sb)
                first, second = fixed(centered(ga, a) << left, sa / twice), fixed(centered(gb, b) << left, sb / twice)
                total = first + second if name == "ADD" else first - second
                same(name, codes, clamp(fixed(total, twice / (2.0**left * s)), out, kind))
            elif name == "MUL":
                factor = float(ga.scale * gb.scale / out.scale)
                same(name, codes, clamp(fixed(centered(ga, a) * centered(gb, b), factor), out, kind))
            elif name != "SQUARED_DIFFERENCE":
                same(name, codes, real_operator[name](a, b))
            group = f"{name}/int16" if wide else f"{name}/int8"
            file.add_codes(group, [ga, gb, out], {"a": a, "b": b}, codes, exact(out, real, kind))


def add_unary(file: GoldenFile, generator) -> None:
    x = np.arange(-128, 128).astype(np.int8)
    middle, sigmoid = Grid(0.05, -3, "qint8"), Grid(1 / 256, -128, "qint8")
    small = Grid(0.02, 10, "qint8")

    def gelu(v):
        return 0.5 * v * (1 + np.vectorize(math.erf)(v / np.sqrt(2)))

    cases = {
        "LOGISTIC": (2, None, middle, sigmoid, lambda v: 1 / (1 + np.exp(-v))),
        "TANH": (2, None, small, Grid(1 / 128, 0, "qint8"), np.tanh),
        "HARD_SWISH": (
            1,
            schema.HardSwishOptionsT(),
            middle,
            Grid(0.03, -110, "qint8"),
            lambda v: v * np.clip(v + 3, 0, 6) / 6,
        ),
        "LEAKY_RELU": (
            2,
            schema.LeakyReluOptionsT(),
            middle,
            Grid(0.04, -20, "qint8"),
            lambda v: np.where(v > 0, v, v * SLOPE),
        ),
        "EXP": (2, schema.ExpOptionsT(), small, Grid(0.05, -128, "qint8"), np.exp),
        "GELU": (2, schema.GeluOptionsT(), small, Grid(0.011, -115, "qint8"), gelu),
        "ABS": (2, schema.AbsOptionsT(), small, Grid(0.011, -128, "qint8"), np.abs),
        "RELU": (2, None, middle, Grid(0.03, -128, "qint8"), lambda v: np.maximum(v, 0)),
        "RELU6": (2, None, middle, Grid(6 / 255, -128, "qint8"), lambda v: np.clip(v, 0, 6)),
    }
    for name, (version, options, grid, out, function) in cases.items():
        if name == "LEAKY_RELU":
            options.alpha = float(SLOPE)
        codes = run(name, version, [Operand(x, grid)], x.shape, out, options)
        if name == "LEAKY_RELU":
            steps = centered(grid, x)
            ratio, slope_ratio = float(grid.scale / out.scale), float(grid.scale * SLOPE / out.scale)
            expected = clamp(np.where(steps >= 0, fixed(steps, ratio), fixed(steps, slope_ratio)), out, np.int8)
            same(name, codes, expected)
        file.add_codes(
            f"{name}/int8", [grid, out], {}, codes, exact(out, function(centered(grid, x) * np.float64(grid.scale)))
        )
    differs = False
    for group, (grid, out) in {
        "QUANTIZE/quarter": (Grid(0.25, 0, "qint8"), Grid(1.0, 0, "qint8")),
        "QUANTIZE/any": (Grid(0.043, 17, "qint8"), Grid(0.031, -30, "qint8")),
    }.items():
        codes, steps = run("QUANTIZE", 2, [Operand(x, grid)], x.shape, out, schema.QuantizeOptionsT()), centered(
            grid, x
        )
        ratio = float(grid.scale) / float(out.scale)
        same(group, codes, clamp(fixed(steps, ratio), out, np.int8))
        differs |= not np.array_equal(fixed(steps, ratio), fixed_once(steps, ratio))
        file.add_codes(group, [grid, out], {}, codes, exact(out, steps * np.float64(grid.scale)))
    assert differs, "no code shows which rounding the package was built with"


def image_options(make, **values):
    options = make()
    options.padding, options.strideH, options.strideW = schema.Padding.SAME, 1, 1
    for name, value in values.items():
        setattr(options, name, value)
    return options


def add_reductions(file: GoldenFile, generator) -> None:
    grid, out = Grid(0.07, 5, "qint8"), Grid(1 / 256, -128, "qint8")
    x = grid.codes(generator, (5, 19))
    options = schema.SoftmaxOptionsT()
    options.beta = 1.0
    codes = run("SOFTMAX", 2, [Operand(x, grid)], x.shape, out, options)
    powers = np.exp(grid.real(x) - grid.real(x).max(axis=1, keepdims=True))
    file.add_codes("SOFTMAX/int8", [grid, out], {"x": x}, codes, out.exact(powers / powers.sum(axis=1, keepdims=True)))
    x = grid.codes(generator, (3, 16))
    out = Grid(1 / 128, 0, "qint8")
    codes = run("L2_NORMALIZATION", 2, [Operand(x, grid)], x.shape, out, schema.L2NormOptionsT())
    real = grid.real(x) / np.sqrt((grid.real(x) ** 2).sum(axis=1, keepdims=True))
    file.add_codes("L2_NORMALIZATION/int8", [grid, out], {"x": x}, codes, out.exact(real))
    x = grid.codes(generator, (1, 7, 6, 5))
    pool = {"filterHeight": 3, "filterWidth": 3, "strideH": 2, "strideW": 2}
    around = ((0, 0), (1, 1), (0, 1), (0, 0))  # SAME for 7x6 by 3x3 with stride 2
    padded = np.pad(x.astype(np.float64), around, constant_values=np.nan)
    cells = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    codes = run(
        "AVERAGE_POOL_2D", 2, [Operand(x, grid)], (1, 4, 3, 5), grid, image_options(schema.Pool2DOptionsT, **pool)
    )
    mean = np.nansum(cells, axis=(4, 5)) / np.isfinite(cells).sum(axis=(4, 5))
    same("AVERAGE_POOL_2D", codes, np.sign(mean) * np.floor(np.abs(mean) + 0.5))
    exact_codes = np.rint(mean - grid.zero_point).astype(np.int8) + np.int8(grid.zero_point)
    file.add_codes("AVERAGE_POOL_2D/int8", [grid, grid], {"x": x}, codes, exact_codes)
    codes = run("MAX_POOL_2D", 2, [Operand(x, grid)], (1, 4, 3, 5), grid, image_options(schema.Pool2DOptionsT, **pool))
    file.add_codes(
        "MAX_POOL_2D/int8", [grid, grid], {"x": x}, codes, np.nanmax(cells, axis=(4, 5)).astype(np.int8), bound=0
    )
    out, options = Grid(0.02, -7, "qint8"), schema.ReducerOptionsT()
    options.keepDims = False
    axes = Operand(np.array([1, 2], np.int32), constant=True)
    codes = run("MEAN", 2, [Operand(x, grid), axes], (1, 5), out, options)
    file.add_codes("MEAN/int8", [grid, out], {"x": x}, codes, out.exact(grid.real(x).mean(axis=(1, 2))))


def output_and_bias(generator, sums: np.ndarray, factors: np.ndarray, kind) -> tuple[np.ndarray, Grid]:
    typical = np.abs(sums).mean()
    bias = (generator.normal(0, 0.5, sums.shape[-1]) * typical).astype(np.int64)
    steps, zero_point, dtype = (40, generator.integers(-128, 128), "qint8") if kind == np.int8 else (12000, 0, "qint16")
    return bias, Grid(np.abs((sums + bias) * factors).mean() / steps, zero_point, dtype)


def add_product(
    file, generator, group, version, grid, x, weight, axis, weight_scale, sums, options, first=None, requantize=None
) -> None:
    """Runs a layer with constant weights and compares it with the sums' requantization."""
    factors = np.float64(grid.scale) * weight_scale.astype(np.float64)
    bias, out = output_and_bias(generator, sums, factors, x.dtype)
    wide = x.dtype == np.int16
    bias_codes = bias.astype(np.int64 if wide else np.int32)
    operands = [
        *([first] if first else []),
        Operand(weight, (weight_scale, axis), constant=True),
        Operand(x, grid),
        Operand(bias_codes, (np.float32(grid.scale) * weight_scale, 0), constant=True),
    ]
    if not first:
        operands[0], operands[1] = operands[1], operands[0]
    name = group.split("/")[0]
    codes = run(name, version, operands, sums.shape, out, options)
    scales = np.broadcast_to(weight_scale, sums.shape[-1:])
    if weight_scale.size == 1:
        ratios = (grid.scale * scales).astype(np.float64) / float(out.scale)
    else:
        ratios = float(grid.scale) * scales.astype(np.float64) / float(out.scale)
    requantize = requantize or (fixed_16x8 if wide else fixed)
    each = [requantize(sums[..., c] + bias[c], float(ratio)) for c, ratio in enumerate(ratios)]
    same(group, codes, clamp(np.stack(each, axis=-1), out, x.dtype))
    tensors = {"x": x, "weight": weight, "weight_scale": weight_scale, "bias": bias_codes}
    file.add_codes(group, [grid, out], tensors, codes, exact(out, (sums + bias) * factors, x.dtype))


def add_products(file: GoldenFile, generator) -> None:
    def narrow(shape):
        return generator.integers(-127, 128, shape).astype(np.int8)

    def scales(count):
        return generator.uniform(0.002, 0.02, count).astype(np.float32)

    for group, per_channel, wide in (("per_tensor", 1, False), ("per_channel", 9, False), ("int16", 1, True)):
        grid = grid16(generator) if wide else Grid.random(generator, "qint8")
        x = generator.integers(*RANGE[grid.dtype], (3, 17)).astype(np.int16 if wide else np.int8)
        weight = narrow((9, 17))
        sums = centered(grid, x) @ weight.astype(np.int64).T
        version = 11 if wide else 5
        options = schema.FullyConnectedOptionsT()
        add_product(
            file, generator, f"FULLY_CONNECTED/{group}", version, grid, x, weight, 0, scales(per_channel), sums, options
        )
    grid, out = Grid(0.25, 0, "qint16"), Grid(1.0, 0, "qint16")
    x, one, zero = np.arange(-9, 10).astype(np.int16).reshape(-1, 1), np.array([[1]], np.int8), np.zeros(1, np.int64)
    scale = np.float32([1])
    operands = [Operand(x, grid), Operand(one, (scale, 0), True), Operand(zero, (scale * grid.scale, 0), True)]
    codes = run("FULLY_CONNECTED", 11, operands, x.shape, out, schema.FullyConnectedOptionsT())
    same("FULLY_CONNECTED/int16_ties", codes, fixed_16x8(x, 0.25))
    tensors = {"x": x, "weight": one, "weight_scale": scale, "bias": zero}
    file.add_codes("FULLY_CONNECTED/int16_ties", [grid, out], tensors, codes, exact(out, x * 0.25, np.int16))
    grid = Grid(0.05, 37, "qint8")
    x, weight = grid.codes(generator, (1, 6, 5, 4)), narrow((8, 3, 3, 4))
    padded = np.pad(centered(grid, x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    cells = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))  # [1, 6, 5, 4, 3, 3]
    sums = np.einsum("nhwcij,oijc->nhwo", cells, weight.astype(np.int64))
    dilation = {"dilationHFactor": 1, "dilationWFactor": 1}
    options = image_options(schema.Conv2DOptionsT, **dilation)
    add_product(file, generator, "CONV_2D/int8", 3, grid, x, weight, 0, scales(8), sums, options)
    weight = narrow((1, 3, 3, 4))
    sums = np.einsum("nhwcij,ijc->nhwc", cells, weight[0].astype(np.int64))
    options = image_options(schema.DepthwiseConv2DOptionsT, depthMultiplier=1, **dilation)
    add_product(file, generator, "DEPTHWISE_CONV_2D/int8", 3, grid, x, weight, 3, scales(4), sums, options)
    x, weight = grid.codes(generator, (1, 3, 4, 5)), narrow((6, 3, 3, 5))
    full = np.zeros((1, 2 * 3 + 1, 2 * 4 + 1, 6), np.int64)
    for row in range(3):
        for column in range(4):
            patch = np.einsum("nc,oijc->nijo", centered(grid, x)[:, row, column], weight.astype(np.int64))
            full[:, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3] += patch
    sums = full[:, :6, :8]  # SAME: nothing is cut in front for an odd kernel with stride 2
    shape = Operand(np.array([1, 6, 8, 6], np.int32), constant=True)
    options = image_options(schema.TransposeConvOptionsT, strideH=2, strideW=2)
    add_product(file, generator, "TRANSPOSE_CONV/int8", 3, grid, x, weight, 0, scales(6), sums, options, first=shape)


def add_comparisons(file: GoldenFile, generator) -> None:
    comparisons = {
        "EQUAL": (schema.EqualOptionsT, np.equal),
        "NOT_EQUAL": (schema.NotEqualOptionsT, np.not_equal),
        "LESS": (schema.LessOptionsT, np.less),
        "LESS_EQUAL": (schema.LessEqualOptionsT, np.less_equal),
        "GREATER": (schema.GreaterOptionsT, np.greater),
        "GREATER_EQUAL": (schema.GreaterEqualOptionsT, np.greater_equal),
    }
    # Scales of 1 : 2, so that codes meet; a grid for both; others.
    grids = [(Grid(0.05, 5, "qint8"), Grid(0.1, -128, "qint8")), (Grid(0.05, 127, "qint8"),) * 2]
    grids.append((Grid(0.043, -17, "qint8"), Grid(0.031, 40, "qint8")))
    for name, (make, compare) in comparisons.items():
        for number, (ga, gb) in enumerate(grids):
            a = ga.codes(generator, 151)
            b = gb.exact(ga.real(a)).astype(np.int64) + generator.integers(-1, 2, 151)  # next to it
            b = np.clip(b, -128, 127).astype(np.int8)
            operands = [Operand(a, ga), Operand(b, gb)]
            codes = run(name, 2, operands, a.shape, None, make(), schema.TensorType.BOOL).astype(np.int8)
            real = [np.round(g.real(v) * 1e9) for g, v in ((ga, a), (gb, b))]
            file.add_codes(f"{name}/{number}", [ga, gb], {"a": a, "b": b}, codes, compare(*real).astype(np.int8))


def add_positive_functions(file: GoldenFile) -> None:
    x, grid = np.arange(-128, 128).astype(np.int8), Grid(0.02, -128, "qint8")

    def log(v):
        with np.errstate(divide="ignore"):
            return np.log(v)

    def rsqrt(v):
        with np.errstate(divide="ignore"):
            return 1 / np.sqrt(v)

    cases = {
        "LOG": (2, schema.LogOptionsT() if hasattr(schema, "LogOptionsT") else None, grid, Grid(0.025, 50, "qint8"), log),
        "RSQRT": (2, None, grid, Grid(0.03, -128, "qint8"), rsqrt),
        "RELU_N1_TO_1": (1, None, Grid(0.02, 3, "qint8"), Grid(0.02, 3, "qint8"), lambda v: np.clip(v, -1, 1)),
    }
    for name, (version, options, grid, out, function) in cases.items():
        codes = run(name, version, [Operand(x, grid)], x.shape, out, options)
        real = np.clip(function(centered(grid, x) * np.float64(grid.scale)), -1e6, 1e6)
        file.add_codes(f"{name}/int8", [grid, out], {}, codes, exact(out, real))


def main() -> None:
    generator = np.random.default_rng(29)
    versions = {"ai-edge-litert": importlib.metadata.version("ai-edge-litert"), "numpy": np.__version__}
    file = GoldenFile("operators_litert", "operators_litert.py", {**versions, "kernels": "BUILTIN_REF"})
    add_binary(file, generator)
    add_unary(file, generator)
    add_reductions(file, generator)
    add_products(file, generator)
    add_comparisons(file, np.random.default_rng(36))
    add_positive_functions(file)
    file.save()


if __name__ == "__main__":
    main()
