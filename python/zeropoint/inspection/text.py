# SPDX-License-Identifier: BSD-3-Clause
"""An inspection for a terminal."""

from __future__ import annotations

from typing import Any

from zeropoint.inspection.drawing import decibels, level, number, share

COLOURS = {"s0": "2", "s1": "32", "s2": "32", "s3": "33", "s4": "31", "s5": "31;1"}  # of ANSI terminals
WIDTH = 24


def bar(sqnr: float | None, coloured: bool) -> str:
    """Up to 60 dB in blocks."""
    filled = round(WIDTH * min(60.0, 60.0 if sqnr is None else max(sqnr, 0.0)) / 60)
    text = "█" * filled + "·" * (WIDTH - filled)
    return f"\x1b[{COLOURS[level(sqnr)]}m{text}\x1b[0m" if coloured else text


def text_of(data: dict[str, Any], coloured: bool = False) -> str:
    """Every row in the order of the network, what is worst, what to try."""
    alone = {row["row"]: row for row in data["alone"]["rows"]}
    rows = data["whole"]["rows"]
    output = rows[-1]
    wide = max(len(row["name"]) for row in rows)
    lines = [f"{data['network']} under {data['qconfig']}: int8 beside float over {data['whole']['inputs']} inputs",
             f"output {decibels(output['sqnr'])}, cosine {number(output['cosine'])}; parameters "
             f"{data['table']['parameter_bytes']:,} bytes, {data['float_parameter_bytes']:,} in float", "",
             f"{'layer':{wide}}  {'':{WIDTH}}  {'in network':>10} {'alone':>9} {'weights':>9} {'clipped':>10} {'codes':>6}"]
    for row in rows:
        weights = min((w["sqnr"] for w in row["weights"] if w["sqnr"] is not None), default=None)
        lines.append(f"{row['name']:{wide}}  {bar(row['sqnr'], coloured)}  {decibels(row['sqnr']):>10} "
                     f"{decibels(alone[row['row']]['sqnr']):>9} {decibels(weights) if row['weights'] else '':>9} "
                     f"{share(row['clipped_share']) if 'scale' in row else '':>10} {row.get('used_codes', ''):>6}")
    swept = data.get("sensitivity")
    if swept:
        lines += ["", f"most sensitive, {swept['metric']} with one row quantized:"]
        known = sorted((r for r in swept["rows"] if r["alone"] is not None), key=lambda r: r["alone"])
        lines += [f"  {decibels(row['alone']):>9}  {row['name']}" for row in known[:5]]
    lines += ["", *(f"warning: {warning}" for warning in data["calibration"]["warnings"])]
    if not data["advice"]:
        return "\n".join([*lines, "nothing stands out"]) + "\n"
    lines.append("what to try next:")
    for one in data["advice"]:
        lines += [f"- {one['finding']}", f"  {one['remedy']}"]
    return "\n".join(lines) + "\n"
