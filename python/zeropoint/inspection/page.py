# SPDX-License-Identifier: BSD-3-Clause
"""One HTML page of an inspection: no other file, no network."""

from __future__ import annotations

from html import escape
from typing import Any

from zeropoint.inspection.drawing import channels, decibels, graph, histogram, level, number, share
from zeropoint.inspection.style import SCRIPT, STYLE

Row = dict[str, Any]
LEGEND = (("s1", "40 dB and more"), ("s2", "30 to 40"), ("s3", "20 to 30"), ("s4", "10 to 20"), ("s5", "below 10"),
          ("s0", "exact, or floats"))


def page_of(data: dict[str, Any]) -> str:
    """The page of what zp::to_json(inspection) gives."""
    title = escape(data["network"] or "network")
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width, initial-scale=1"><title>{title}: int8 beside float</title>'
            f"<style>{STYLE}</style></head>\n<body><main>\n{head(data)}\n{advice(data)}\n{network(data)}\n{worst(data)}\n"
            f"{sensitivity(data)}\n{layers(data)}\n</main><script>{SCRIPT}</script></body></html>\n")


def by_row(comparison: dict[str, Any]) -> dict[int, Row]:
    """The rows of a comparison by their numbers."""
    return {row["row"]: row for row in comparison["rows"]}


def head(data: dict[str, Any]) -> str:
    """What it is, and the figures that matter most."""
    whole, table = data["whole"], data["table"]
    output, worst_row = whole["rows"][-1], least(data["alone"]["rows"])
    figures = [(decibels(output["sqnr"]), f"SQNR of the output, {escape(output['name'])}"),
               (number(output["cosine"]), "cosine of the output"),
               (escape(worst_row["name"]), f"worst row by itself, {decibels(worst_row['sqnr'])}"),
               (f"{table['parameter_bytes'] / 1000:,.1f} kB", f"parameters, {data['float_parameter_bytes'] / 1000:,.1f} kB in float")]
    cards = "".join(f'<div class="card"><b>{value}</b><span>{what}</span></div>' for value, what in figures)
    warnings = "".join(f'<p class="dim">Calibration: {escape(w)}.</p>' for w in data["calibration"]["warnings"])
    return (f"<header><h1>{escape(data['network'] or 'A network')}</h1><p class=dim>int8 under {escape(data['qconfig'] or 'its qconfig')} "
            f"beside float, over {whole['inputs']} inputs; calibrated with {data['calibration']['inputs']}</p></header>"
            f'<div class="figures">{cards}</div>{warnings}')


def least(rows: list[Row]) -> Row:
    """The row of the least SQNR."""
    return min(rows, key=lambda row: float("inf") if row["sqnr"] is None else row["sqnr"])


def anchor(row: int) -> str:
    """Of a layer's details."""
    return f"row{row}"


def advice(data: dict[str, Any]) -> str:
    """What to try next, the worst rows first."""
    alone = by_row(data["alone"])
    items = []
    for one in data["advice"]:
        colour = level(alone[one["row"]]["sqnr"]) if one["row"] in alone else "s3"
        items.append(f'<li class="card {colour}"><p>{escape(one["finding"])}.</p><p>{escape(one["remedy"])}</p></li>')
    shown, rest = items[:6], items[6:]
    body = "".join(shown) or '<li class="card s1"><p>Nothing stands out: no row loses more than rounding costs.</p></li>'
    more = (f'<details class="card" style="margin-top:10px"><summary><b>{len(rest)} more</b></summary><ol class="advice" '
            f'style="margin-top:10px">{"".join(rest)}</ol></details>' if rest else "")
    return f'<section><h2>What to try next</h2><ol class="advice">{body}</ol>{more}</section>'


def network(data: dict[str, Any]) -> str:
    """The rows as a graph, coloured by SQNR of both networks beside each other."""
    rows, compared = data["table"]["rows"], by_row(data["whole"])
    colours = [level(compared[i]["sqnr"]) if i in compared else "s0" for i in range(len(rows))]
    drawing, width = graph([row["inputs"] for row in rows], colours)
    items = []
    for i, row in enumerate(rows):
        extents = escape(" × ".join(str(n) for k, n in enumerate(row["extents"]) if k or n != 1))
        # A function that is fused behind a layer gives the values their name.
        name = compared[i]["name"] if i in compared and not row["name"] else row["name"] or row["operation"]
        text = (f'<b>{escape(name)}</b><span class="dim">{escape(row["operation"])}</span>'
                f'<span class="dim extents">{extents}</span>')
        if i in compared:
            items.append(f'<li style="padding-left:{width}px"><a href="#{anchor(i)}">{text}</a>'
                         f'<span class="pill c-{colours[i]}">{decibels(compared[i]["sqnr"])}</span></li>')
        else:
            items.append(f'<li style="padding-left:{width}px"><span class="name">{text}</span></li>')
    legend = "".join(f'<li class="dim c-{c}"><i></i>{what}</li>' for c, what in LEGEND)
    return (f'<section><h2>The network</h2><p class="dim">SQNR of each row with all errors of the rows in front of it.</p>'
            f'<ul class="legend">{legend}</ul><div class="card network">{drawing}<ol>{"".join(items)}</ol></div></section>')


def cell(value: Any, shown: str) -> str:
    """A cell with what it is sorted by."""
    return f'<td data-value="{1e9 if value is None else value}">{shown}</td>'


def table(heads: list[str], rows: list[str]) -> str:
    """A table that is sorted where its heads are pressed."""
    cells = "".join(f'<th><button type="button">{escape(h)}</button></th>' for h in heads)
    return f'<div class="card scroll"><table><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def link(row: Row) -> str:
    """The first cell of a row: its name."""
    return f'<td data-value="{escape(row["name"])}"><a href="#{anchor(row["row"])}">{escape(row["name"])}</a></td>'


def worst(data: dict[str, Any]) -> str:
    """All rows as a table, those first that lose most by themselves."""
    whole = by_row(data["whole"])
    ordered = sorted(data["alone"]["rows"], key=lambda r: float("inf") if r["sqnr"] is None else r["sqnr"])
    lines = []
    for row in ordered:
        beside = whole[row["row"]]
        weights = min((w["sqnr"] for w in row["weights"] if w["sqnr"] is not None), default=None)
        lines.append("<tr>" + link(row) + cell(row["sqnr"], decibels(row["sqnr"])) + cell(beside["sqnr"], decibels(beside["sqnr"]))
                     + cell(weights, decibels(weights) if row["weights"] else "–")
                     + cell(row.get("rmse_in_steps", 0), number(row.get("rmse_in_steps")) if "scale" in row else "–")
                     + cell(beside.get("clipped_share", 0), share(beside.get("clipped_share", 0)))
                     + cell(beside.get("used_codes", 0), str(beside.get("used_codes", "–")))
                     + cell(beside["dead_channels"], str(beside["dead_channels"])) + "</tr>")
    heads = ["layer", "alone", "in the network", "weights", "rmse/scale", "clipped", "codes used", "dead channels"]
    return ('<section><h2>Worst layers first</h2><p class="dim">Alone: the row by itself, on the float network\'s values, quantized. '
            'rmse/scale: 0.289 is what rounding leaves. Clipped: values outside of what the codes reach.</p>' + table(heads, lines) + "</section>")


def sensitivity(data: dict[str, Any]) -> str:
    """Each row quantized alone, and each left in float alone."""
    swept = data.get("sensitivity")
    if not swept:
        return ""
    rows = sorted(swept["rows"], key=lambda r: float("inf") if r["alone"] is None else r["alone"])
    lines = []
    for row in rows:
        lines.append("<tr>" + link(row) + cell(row["alone"], f'<i class="bar c-{level(row["alone"])}" style="width:'
                     f'{min(60.0, row["alone"] or 60.0):.0f}px"></i> {decibels(row["alone"])}')
                     + cell(row["without"], decibels(row["without"])) + "</tr>")
    return (f'<section><h2>Sensitivity</h2><p class="dim">{escape(swept["metric"])}: {decibels(swept["quantized"])} with all rows '
            'quantized.</p>' + table(["layer", "it alone quantized", "all but it"], lines) + "</section>")


def terms(pairs: list[tuple[str, str]]) -> str:
    """Figures with their names."""
    return "<dl>" + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in pairs) + "</dl>"


def values_part(row: Row, alone: Row) -> str:
    """What a row gives."""
    figures = [("in the network", decibels(row["sqnr"])), ("alone", decibels(alone["sqnr"])), ("cosine", number(row["cosine"])),
               ("largest error", number(row["max_error"])), ("mean error", number(row["mean_error"]))]
    key = '<div class="key"><span style="--c:var(--area)"><i></i>float</span>'
    if "scale" in row:
        figures += [("rmse/scale", number(row["rmse_in_steps"])), ("scale", number(row["scale"])), ("zero point", str(row["zero_point"])),
                    ("codes used", f"{row['used_codes']} of {row['quant_max'] - row['quant_min'] + 1}"),
                    ("saturated", share(row["saturated_share"])), ("clipped", share(row["clipped_share"]))]
        key += ('<span style="--c:var(--accent)"><i></i>codes</span><span style="--c:var(--s4)"><i></i>ends of the codes</span>')
    lost = f", {row['lost_channels']} in int8 alone" if row["lost_channels"] else ""
    figures.append(("dead channels", f"{row['dead_channels']}{lost}"))
    return f"<div>{histogram(row)}{key}</div>{terms(figures)}</div>"


def weights_part(weights: Row) -> str:
    """One array of weights, channel by channel."""
    known = [x for x in weights["channel_sqnr"] if x is not None]
    figures = [("weights", decibels(weights["sqnr"])), ("worst channel", decibels(min(known, default=None))),
               ("channels differ by", f"{number(weights['spread'])} times"),
               ("codes used", f"{weights['used_codes']} of {weights['quant_max'] - weights['quant_min'] + 1}"),
               ("at an end", share(weights["saturated_share"])), ("largest error", number(weights["max_error"]))]
    return (f'<div>{channels(weights)}<div class="key"><span style="--c:var(--accent)"><i></i>{escape(weights["name"])}, '
            f'{len(weights["min"])} channels</span><span style="--c:var(--s4)"><i></i>ends of the codes</span></div>{terms(figures)}</div>')


def layers(data: dict[str, Any]) -> str:
    """Each row by itself: its histogram, its weights, all figures."""
    alone = by_row(data["alone"])
    bad = least(data["alone"]["rows"])["row"]
    parts = []
    for row in data["whole"]["rows"]:
        colour, opened = level(row["sqnr"]), " open" if row["row"] == bad else ""
        weights = "".join(weights_part(w) for w in row["weights"])
        parts.append(f'<details class="card" id="{anchor(row["row"])}"{opened}><summary><b>{escape(row["name"])}</b>'
                     f'<span class="pill c-{colour}">{decibels(row["sqnr"])}</span></summary><p class="dim">{escape(row["operation"])}'
                     f'</p><div class="parts">{values_part(row, alone[row["row"]])}{weights}</div></details>')
    return f'<section><h2>Each layer</h2><div class="layers">{"".join(parts)}</div></section>'
