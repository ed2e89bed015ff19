# SPDX-License-Identifier: BSD-3-Clause
"""The drawings of a page, as SVG that takes its colours from the page's style."""

from __future__ import annotations

from html import escape
from math import sqrt
from typing import Any

LEVELS = (40.0, 30.0, 20.0, 10.0)  # decibel, from good to bad


def level(sqnr: float | None) -> str:
    """The class of a colour: s0 where nothing is lost, s1 to s5 from good to bad."""
    if sqnr is None:
        return "s0"
    return f"s{1 + sum(sqnr < least for least in LEVELS)}"


def decibels(sqnr: float | None) -> str:
    """A figure with its unit."""
    return "exact" if sqnr is None else f"{sqnr:.1f} dB"


def number(value: float | None) -> str:
    """A number in few digits."""
    if value is None:
        return "–"
    if 1e4 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e+")


def share(value: float) -> str:
    """A share of 1, in percent."""
    if value == 0:
        return "0"
    return f"{100 * value:.2f} %" if value >= 0.0001 else "< 0.01 %"


def histogram(row: dict[str, Any]) -> str:
    """Real values as an area, what codes stand for as a line, the ends of the codes' range as dashed lines. Heights are roots of shares, so
    that tails are seen beside a peak at 0."""
    h = row["histogram"]
    real, codes = h.get("real", []), h.get("codes", [])
    if not real:
        return ""
    width, height = 320.0, 90.0
    most = max(max(real), max(codes, default=0.0)) or 1.0
    step = width / len(real)

    def y(value: float) -> str:
        return f"{height - (height - 4) * sqrt(value / most):.1f}"

    def outline(values: list[float]) -> str:
        return " ".join(f"L{i * step:.1f} {y(v)} L{(i + 1) * step:.1f} {y(v)}" for i, v in enumerate(values))

    parts = [f'<path class="area" d="M0 {height} {outline(real)} L{width} {height} Z"/>']
    if codes:
        parts.append(f'<path class="line" d="M0 {height} {outline(codes)} L{width} {height}"/>')

    def x(value: float) -> float:
        return (value - h["low"]) / (h["high"] - h["low"]) * width

    if row.get("scale"):
        for code in (row["quant_min"], row["quant_max"]):
            at = min(max(x(row["scale"] * (code - row["zero_point"])), 0.5), width - 0.5)
            parts.append(f'<path class="end" d="M{at:.1f} 0 V{height}"/>')
    zero = ""
    if h["low"] < 0 < h["high"]:
        parts.append(f'<path class="zero" d="M{x(0):.1f} {height - 5} V{height}"/>')
        zero = f'<span style="left:{100 * x(0) / width:.1f}%">0</span>' if 12 < 100 * x(0) / width < 88 else ""
    label = escape(f"values of {row['name']} from {number(h['low'])} to {number(h['high'])}")
    return (f'<svg class="histogram" viewBox="0 0 {width:.0f} {height:.0f}" preserveAspectRatio="none" role="img" '
            f'aria-label="{label}">{"".join(parts)}</svg><div class="axis"><span>{number(h["low"])}</span>{zero}'
            f'<span>{number(h["high"])}</span></div>')


def channels(weights: dict[str, Any]) -> str:
    """From the least to the largest weight of each channel, a bar each; what its codes reach as a line above and below."""
    low, high, scales = weights["min"], weights["max"], weights["scale"]
    count = len(low)
    reach = [(s * (weights["quant_min"] - z), s * (weights["quant_max"] - z))
             for s, z in zip(scales, weights["zero_point"])]
    size = max(max(map(abs, low)), max(map(abs, high)), max(abs(b) for r in reach for b in r)) or 1.0
    width, height = 320.0, 80.0
    step = width / count

    def y(value: float) -> str:
        return f"{height / 2 - value / size * (height / 2 - 2):.1f}"

    bar = max(step * 0.7, 0.6)
    bars = " ".join(f"M{(i + 0.5) * step:.1f} {y(b)} V{y(a)}" for i, (a, b) in enumerate(zip(low, high)))
    ends = "".join(f'<path class="end" d="M0 {y(reach[0][k])} ' + " ".join(
        f"L{i * step:.1f} {y(r[k])} L{(i + 1) * step:.1f} {y(r[k])}" for i, r in enumerate(reach)) + '"/>' for k in (0, 1))
    label = escape(f"{count} channels of weights")
    return (f'<svg class="channels" viewBox="0 0 {width:.0f} {height:.0f}" preserveAspectRatio="none" role="img" '
            f'aria-label="{label}"><path class="zero" d="M0 {height / 2} H{width}"/>'
            f'<path class="bars" style="stroke-width:{bar:.2f}" d="{bars}"/>{ends}</svg>')


def lanes(inputs: list[list[int]]) -> tuple[dict[tuple[int, int], int], int]:
    """A lane beside the nodes for every value that is not read by the next row, so that none crosses another in its lane; how many."""
    ends: list[int] = []
    found: dict[tuple[int, int], int] = {}
    edges = sorted({(x, i) for i, read in enumerate(inputs) for x in read if x != i - 1}, key=lambda e: (e[0], -e[1]))
    for first, last in edges:
        for lane, end in enumerate(ends):
            if end <= first:
                ends[lane] = last
                break
        else:
            lane = len(ends)
            ends.append(last)
        found[first, last] = lane
    return found, len(ends)


def graph(inputs: list[list[int]], colours: list[str], height: int = 36) -> tuple[str, int]:
    """Nodes in a column with what they read from above, and the width of the drawing."""
    skips, count = lanes(inputs)
    right = 12 + 12 * count
    parts = []
    for i, read in enumerate(inputs):
        if i - 1 in read:
            parts.append(f'<path d="M{right} {(i - 0.5) * height:.0f} V{(i + 0.5) * height:.0f}"/>')
    for (first, last), lane in skips.items():
        x = right - 12 * (lane + 1)
        a, b = (first + 0.5) * height, (last + 0.5) * height
        parts.append(f'<path d="M{right} {a:.0f} Q{x} {a:.0f} {x} {a + 10:.0f} V{b - 10:.0f} Q{x} {b:.0f} {right} {b:.0f}"/>')
    nodes = "".join(f'<circle class="{colour}" cx="{right}" cy="{(i + 0.5) * height:.0f}" r="6"/>'
                    for i, colour in enumerate(colours))
    width = right + 10
    return (f'<svg class="graph" width="{width}" height="{height * len(inputs)}" aria-hidden="true">{"".join(parts)}'
            f"{nodes}</svg>"), width
