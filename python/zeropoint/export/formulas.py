# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of int8 arithmetic, as docs/numerics.md defines them, in places from the lowest code on."""

from __future__ import annotations

import math

import numpy as np

from zeropoint.export.int8_model import Node, Range

F32, F64 = np.float32, np.float64


def quantized(x: float, of: Range, low: int, high: int) -> int:
    """clamp(rne(x * (1 / scale)) + zero_point, low, high): the product and the reciprocal in float."""
    steps = F32(x) * (F32(1) / of.scale)
    return int(np.rint(np.clip(F64(steps), low - of.zero_point, high - of.zero_point))) + of.zero_point


def bounds_of(node: Node, of: Range) -> tuple[int, int]:
    """The lowest and highest place of an output, those of its clamp where one is fused."""
    low, high = node.quant_min - node.lowest, node.quant_max - node.lowest
    first, last = low, high
    if node.fused.get("lowest") is not None:
        first = quantized(node.fused["lowest"], of, low, high)
    if node.fused.get("highest") is not None:
        last = quantized(node.fused["highest"], of, low, high)
    return first, last


def multipliers(x: Range, weights: np.ndarray, y_scale: np.float32) -> np.ndarray:
    """float(double(x_scale) * w_scale / y_scale)."""
    return (F64(x.scale) * weights.astype(F64) / F64(y_scale)).astype(F32)


def residual_ratios(residual: Range, x: Range, weights: np.ndarray) -> np.ndarray:
    """residual_scale / (x_scale * w_scale), rounded to 16 significant bits."""
    bits = (F64(residual.scale) / (F64(x.scale) * weights.astype(F64))).view(np.uint64)
    dropped = np.uint64(53 - 16)
    up = (np.uint64(1) << (dropped - np.uint64(1))) - np.uint64(1) + (bits >> dropped & np.uint64(1))
    return ((bits + up) >> dropped << dropped).view(F64).astype(F32)


def fixed_point(factor: float) -> tuple[int, int]:
    """TFLite's QuantizeMultiplier: a factor as multiplier * 2^(shift - 31), with the multiplier in [2^30, 2^31)."""
    if factor == 0:
        return 0, 0
    mantissa, shift = math.frexp(factor)
    multiplier = math.floor(mantissa * 2.0**31 + 0.5)
    if multiplier == 1 << 31:
        multiplier, shift = multiplier >> 1, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def aligned_scales(a: Range, b: Range, y: Range, bits: int = 21, most: int = 30) -> tuple[int, int, int]:
    """Multipliers of two operands times 2^shift, the larger one in [2^bits, 2^(bits + 1))."""
    ratios = [F64(x.scale) / F64(y.scale) for x in (a, b)]
    shift = min(bits - (math.frexp(max(ratios))[1] - 1), most)
    return int(np.rint(ratios[0] * 2.0**shift)), int(np.rint(ratios[1] * 2.0**shift)), shift


def grid_table(x: Range, y: Range, low: int, high: int) -> np.ndarray:
    """From 256 places of one range to those of another: clamp(rne(x_scale * (place - zero_point) * (1 / y_scale)) + zero)."""
    real = F64(x.scale) * (np.arange(256) - x.zero_point) * (1 / F64(y.scale))
    return (np.rint(np.clip(real, low - y.zero_point, high - y.zero_point)) + y.zero_point).astype(np.uint8)


def softmax_table(scale: np.float32) -> np.ndarray:
    """rne(exp(-(255 - i) * scale) * 2^30), by the integers of kernel/normalize/fixed_point_exponential.hpp."""
    bits = int(scale.view(np.uint32))
    field = bits >> 23 & 0xff
    exponent = (field or 1) - 150
    mantissa = bits & 0x7fffff | (0 if field == 0 else 1 << 23)
    ln2, one, table = 199786072581291495, 1 << 62, []
    for i in range(256):
        product = mantissa * (255 - i)
        if product == 0:
            table.append(1 << 30)
            continue
        shift = exponent + 58
        argument = product << shift if shift >= 0 else product >> -shift
        halvings, rest = divmod(argument, ln2)
        if product.bit_length() + exponent > 5 or halvings > 30:
            table.append(0)
            continue
        power = one
        for term in range(20, 0, -1):
            power = one - ((rest << 6) * power >> 64) // term
        table.append(shifted_half_even(power, 32 + halvings))
    return np.array(table, np.int64)


def shifted_half_even(value: int, shift: int) -> int:
    """value / 2^shift, ties to even."""
    floor = value >> shift
    rest, half = value - (floor << shift), 1 << shift >> 1
    return floor + (rest > half or (rest == half and floor & 1 == 1)) if shift else value


def argument_factors(cell: str, x_scale: np.float32, x_weights: np.ndarray, h_weights: np.ndarray, x_bias: np.ndarray,
                     h_bias: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """What makes arguments of gates of sums, for steps in integers over 8 bits: multipliers, biases with the half that the
    shift behind rounds by, that shift."""
    state, hidden = F64(2.0**-7), len(x_weights) // (4 if cell == "lstm" else 3)
    fraction = np.full(len(x_weights), 11)
    fraction[2 * hidden:3 * hidden] = 12 if cell == "lstm" else 14
    unit = 2.0**fraction
    x_steps, h_steps = (scale * weights.astype(F64) for scale, weights in ((F64(x_scale), x_weights), (state, h_weights)))
    shift = min(max(30 - math.frexp(float((np.maximum(x_steps, h_steps) * unit).max()))[1], 1), 32)

    def rounded(values: np.ndarray) -> np.ndarray:
        return np.rint(values.astype(F64) * (unit * 2.0**shift)).astype(np.int64)

    half = np.int64(1 << shift >> 1)
    halves_of_h = np.zeros(len(x_weights), np.int64)
    if cell == "gru":
        halves_of_h[2 * hidden:] = half
    return rounded(x_steps), rounded(h_steps), rounded(x_bias) + half, rounded(h_bias) + halves_of_h, shift


# Coefficients of t^0 to t^3 of each eighth: kernel/recurrent/word_functions.hpp.
TANH_CUBICS = np.array([[0, 15141, 24956, 29661, 31589, 32329, 32606, 32712], [16449, 12940, 6879, 2946, 1152, 432, 160, 594],
                        [-280, -3273, -2613, -1272, -521, -196, -72, -1803], [-1026, 146, 438, 254, 109, 41, 14, 1701]])


def gate_tables() -> tuple[np.ndarray, np.ndarray]:
    """sigmoid and tanh of every word, from -2^15 on, of scale 2^-11 and 2^-12, in units of 2^-15."""
    words = np.arange(-32768, 32768)
    beyond = np.maximum(np.abs(words) - 14336, 0)
    w = np.abs(words) - beyond + (beyond >> 4)
    t, cubics = w << 4 & 0x7fff, TANH_CUBICS[:, w >> 11]
    p = cubics[3]
    for coefficients in cubics[2::-1]:
        p = coefficients + (t * p + 16384 >> 15)
    tanh = np.where(words < 0, -1, 1) * np.minimum(p, 32767)
    return 16384 + (tanh >> 1).astype(np.int64), tanh.astype(np.int64)
