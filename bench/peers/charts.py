#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Charts of a file of results, as SVG on a light card, which white and dark pages show alike.

    python bench/peers/charts.py docs/performance    # of its peers.json
"""
import json
import pathlib
import sys

import standing

CARD, INK, SOFT, GRID = "#f6f9f9", "#16242a", "#4d5b61", "#d5dede"
OWN, OWN_FLOAT, EXACT, SATURATES, FLOAT = "#0d6e6e", "#7fc4bb", "#e0913a", "#c9495b", "#9aa5ab"
STYLE = {"svg.hashsalt": "zeropoint", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10, "figure.facecolor": CARD,
         "axes.facecolor": CARD, "savefig.facecolor": CARD, "text.color": INK, "axes.labelcolor": SOFT, "axes.edgecolor": GRID,
         "xtick.color": SOFT, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
         "axes.grid": True, "axes.grid.axis": "x", "grid.color": GRID, "axes.axisbelow": True, "ytick.major.size": 0}
CUT_OFF = 3.5  # times the fastest peer: what is slower only gets an arrow
TITLES = {"mlp_64": "MLP 64-64-64-16", "mlp_784": "MLP 784-256-128-10", "lenet": "LeNet, 28 x 28", "resnet18": "ResNet-18",
          "mobilenet_v2": "MobileNetV2"}


def pyplot():
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update(STYLE)
    from matplotlib import pyplot
    return pyplot


def subtitle(results: dict) -> str:
    run = results["run"]
    isa = "AVX2" if run["instruction set"] != "native" else "all that the machine has"
    return f"{run['machine'].split(',')[0]}, {isa}, {run['date']}"


def legend(figure, entries: list[tuple[str, str]], top: float) -> None:
    from matplotlib.patches import Patch
    figure.legend(handles=[Patch(color=color, label=label) for label, color in entries], loc="upper left", bbox_to_anchor=(0.015, top),
                  ncols=len(entries), frameon=False, handlelength=1, handleheight=1, columnspacing=1.4, fontsize=9)


def heading(figure, title: str, below: str) -> None:
    height = figure.get_figheight()
    figure.text(0.02, 1 - 0.14 / height, title, va="top", size=13, weight="bold")
    figure.text(0.02, 1 - 0.4 / height, below, va="top", size=9, color=SOFT)


def layers(results: dict):
    """How many times as fast as the fastest peers, a row a layer."""
    rows = [row for row in standing.standings(results) if row["own"] == standing.OWN_OF_LAYERS]
    figure, axes = pyplot().subplots(figsize=(8.6, 1.5 + 0.27 * len(rows)))
    places = range(len(rows) - 1, -1, -1)
    kinds = [("float", FLOAT, "o", "fastest float32", 30), ("exact", EXACT, "o", "fastest exact int8", 52),
             ("int8", SATURATES, "D", "fastest int8 of all", 22)]
    for key, color, marker, label, size in kinds:
        points = [(row[key]["ratio"], place) for row, place in zip(rows, places) if row[key]]
        axes.scatter(*zip(*points), c=color, marker=marker, s=size, label=label, zorder=3)
    for row, place in zip(rows, places):
        if row["int8"]:
            axes.annotate(f"{row['int8']['ratio']:.2f}  {row['int8']['peer']}", (1.01, place), xycoords=("axes fraction", "data"),
                          va="center", size=8, color=SOFT, annotation_clip=False)
    axes.axvline(1, color=INK, linewidth=1, zorder=2)
    axes.set_xscale("log")
    ticks = [0.5, 1, 2, 4, 8, 16, 32, 64]
    low = min(row[key]["ratio"] for row in rows for key in ("int8", "exact", "float") if row[key])
    high = max(row[key]["ratio"] for row in rows for key in ("int8", "exact", "float") if row[key])
    axes.set_xlim(min(0.8, low * 0.9), high * 1.15)
    axes.set_xticks([tick for tick in ticks if axes.get_xlim()[0] <= tick <= high * 1.15])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_yticks(list(places), [row["case"] for row in rows], fontsize=9)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel("times as fast as the peer; right of 1 zeropoint is faster")
    heading(figure, "int8 layers beside the fastest peer", subtitle(results) + ", one thread, Gaussian weights")
    height = figure.get_figheight()
    figure.legend(loc="upper left", bbox_to_anchor=(0.015, 1 - 0.55 / height), ncols=3, frameon=False, fontsize=9, handletextpad=0.3)
    figure.subplots_adjust(left=0.23, right=0.76, top=1 - 0.95 / height, bottom=0.5 / height)
    return figure


def bars(axes, values: list[tuple[str, float, str]], number) -> None:
    """Shortest first: name, value, colour."""
    values = sorted(values, key=lambda one: one[1])
    places = range(len(values) - 1, -1, -1)
    axes.barh(list(places), [value for _, value, _ in values], color=[color for _, _, color in values], height=0.72)
    axes.set_yticks(list(places), [name for name, _, _ in values], fontsize=8)
    for label, (name, _, _) in zip(axes.get_yticklabels(), values):
        if name.startswith("zeropoint"):
            label.set_weight("bold")
    fastest_peer = min(value for name, value, _ in values if not name.startswith("zeropoint"))
    own = max(value for name, value, _ in values if name.startswith("zeropoint"))
    axes.set_xlim(0, min(max(CUT_OFF * fastest_peer, 1.25 * own), 1.2 * values[-1][1]))
    for place, (_, value, _) in zip(places, values):
        inside = value > 0.75 * axes.get_xlim()[1]
        axes.annotate(number(value) + (" →" if value > axes.get_xlim()[1] else ""),
                      (min(value, axes.get_xlim()[1]), place), xytext=(-3 if inside else 3, 0), textcoords="offset points",
                      ha="right" if inside else "left", va="center", size=8, color="white" if inside else INK)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def panels(results: dict, chosen: list[tuple[str, list]], number, title: str, below: str, entries: list, columns: int):
    rows = -(-len(chosen) // columns)
    tallest = max(len(values) for _, values in chosen)
    height = 1.0 + rows * (0.45 + 0.2 * tallest)
    figure, grid = pyplot().subplots(rows, columns, figsize=(8.6, height), squeeze=False)
    for axes in grid.flat[len(chosen):]:
        axes.set_visible(False)
    for axes, (name, values) in zip(grid.flat, chosen):
        bars(axes, values, number)
        axes.set_title(name, loc="left", fontsize=10, weight="bold", x=-0.02)
    heading(figure, title, below)
    legend(figure, entries, 1 - 0.52 / height)
    figure.subplots_adjust(left=0.205, right=0.985, top=1 - 1.05 / height, bottom=0.1 / height, wspace=0.72, hspace=0.22)
    return figure


def networks(results: dict):
    exact = standing.exact_peers(results.get("layers", []))

    def color(who: str) -> str:
        if who.startswith("zeropoint"):
            return OWN if who.endswith("int8") else OWN_FLOAT
        return FLOAT if who.endswith("f32") else EXACT if who in exact else SATURATES
    chosen = [(TITLES.get(model["name"], model["name"]), [(who, 1e6 * time["best"], color(who)) for who, time in model["times"].items()])
              for model in results["models"]]
    return panels(results, chosen, lambda us: f"{us / 1e3:.2f} ms" if us >= 1000 else f"{short(us)} us", "Networks, time of an inference",
                  subtitle(results) + ", one thread, floats in and out, shorter is faster, arrows: cut off",
                  [("zeropoint int8, exact", OWN), ("zeropoint float32", OWN_FLOAT), ("int8, exact", EXACT),
                   ("int8 whose sums can saturate or wrap", SATURATES), ("float32", FLOAT)], 2)


def streams(results: dict):
    def color(who: str) -> str:
        if who.startswith("zeropoint"):
            return OWN if who.endswith("int8") else OWN_FLOAT
        return FLOAT if who.endswith("f32") else SATURATES
    chosen = [(stream["name"], [(who, 1e9 * time["best"], color(who)) for who, time in stream["times"].items()])
              for stream in results["streams"]]
    return panels(results, chosen, lambda ns: f"{ns:,.0f} ns", "Small networks a step at a time, time of a step",
                  subtitle(results) + ", one thread, floats in and out, shorter is faster, arrows: cut off",
                  [("zeropoint int8", OWN), ("zeropoint float32", OWN_FLOAT), ("int8", SATURATES), ("float32", FLOAT)], 2)


def threads(results: dict):
    exact = standing.exact_peers(results.get("layers", []))
    chosen = []
    for result in results["threads"]:
        most = str(result["counts"][-1])
        values = [(who, 1e6 * by_count[most]["best"], OWN if who.startswith("zeropoint") else FLOAT if who.endswith("f32") else
                   EXACT if who in exact else SATURATES) for who, by_count in result["times"].items()]
        chosen.append((f"{TITLES.get(result['name'], result['name'])}, {most} threads", values))
    return panels(results, chosen, lambda us: f"{us / 1e3:.2f} ms" if us >= 1000 else f"{short(us)} us", "Networks on several threads",
                  subtitle(results) + ", time of an inference, shorter is faster, arrows: cut off",
                  [("zeropoint int8, exact", OWN), ("int8, exact", EXACT), ("int8 whose sums can saturate or wrap", SATURATES),
                   ("float32", FLOAT)], 2)


CHARTS = {"layers": layers, "models": networks, "streams": streams, "threads": threads}


def write(results: dict, folder: pathlib.Path) -> None:
    for kind, chart in CHARTS.items():
        if results.get(kind):
            figure = chart(results)
            figure.savefig(folder / f"peers_{chart.__name__}.svg", metadata={"Date": None, "Title": chart.__name__})
            pyplot().close(figure)


if __name__ == "__main__":
    write(json.loads((pathlib.Path(sys.argv[1]) / "peers.json").read_text()), pathlib.Path(sys.argv[1]))
