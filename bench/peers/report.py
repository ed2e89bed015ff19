# SPDX-License-Identifier: BSD-3-Clause
"""The results as Markdown, JSON and charts."""
import json
import pathlib

from targets import FLOAT_PEERS, INT8_PEERS

PEER_COLUMNS = INT8_PEERS + FLOAT_PEERS
KINDS = ["matrix products", "convolutions", "depthwise"]
IN_A_CHAIN = "ONNX Runtime u8s8, a node in a chain"
OWN_COLUMNS = ["zeropoint uniform", "zeropoint gaussian", "zeropoint laplace", "zeropoint 4-bit", "zeropoint 7-bit x"]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def rate_table(results: list[dict], names: list[str]) -> str:
    """GOPS, best (median)."""
    names = [name for name in names if any(name in result["times"] for result in results)]
    rows = []
    for result in results:
        cells = []
        for name in names:
            time = result["times"].get(name)
            cells.append("" if time is None else f"{number(result['operations'] / time['best'] / 1e9)} "
                                                 f"({number(result['operations'] / time['median'] / 1e9)})")
        rows.append([result["name"], *cells])
    return table(["GOPS, best (median)", *names], rows)


def time_table(results: list[dict], names: list[str]) -> str:
    """Microseconds, best (median)."""
    names = [name for name in names if any(name in result["times"] for result in results)]
    rows = [[result["name"], *(f"{number(t['best'] * 1e6)} ({number(t['median'] * 1e6)})" if
                               (t := result["times"].get(name)) else "" for name in names)] for result in results]
    return table(["microseconds, best (median)", *names], rows)


def equality_table(layers: list[dict]) -> str:
    """The largest difference of an output code, over all layers of a kind."""
    rows = []
    for name in ["zeropoint", *INT8_PEERS]:
        for weights, key in (("uniform", "errors"), ("gaussian", "errors with gaussian weights")):
            if name == "zeropoint" and key != "errors":
                continue  # all its distributions are among "errors"
            errors = [[error for layer in layers if kind_of(layer["name"]) == kind
                       for who, error in layer[key].items() if who.startswith(name)] for kind in KINDS]
            rows.append([name, "all" if name == "zeropoint" else weights,
                         *("" if not one else "equal" if max(one) == 0 else f"up to {max(one)}" for one in errors)])
    return table(["difference of codes", "weights", *KINDS], rows)


def kind_of(name: str) -> str:
    return "matrix products" if name.startswith("gemm") else "depthwise" if name.startswith("depthwise") else \
        "convolutions"


def model_table(models: list[dict]) -> str:
    sizes = ["arena_bytes", "parameter_bytes", "float_bytes"]
    return table(["network", "arena bytes", "packed bytes", "bytes of float weights"],
                 [[model["name"], *(f"{model[size]:,}" for size in sizes)] for model in models]) + "\n" + \
        time_table(models, ["zeropoint int8", "zeropoint f32", *PEER_COLUMNS])


def accuracy_table(models: list[dict]) -> str:
    names = ["zeropoint int8", "zeropoint f32", *PEER_COLUMNS]
    names = [name for name in names if any(name in model["errors"] for model in models)]
    return table(["relative RMS error of the outputs", *names],
                 [[model["name"], *(f"{model['errors'][name]:.1e}" if name in model["errors"] else ""
                                    for name in names)] for model in models])


def target_table(verdicts: list[dict]) -> str:
    return table(["case", "of", "beside", "aim", "ratio", "of medians", ""],
                 [[row["case"], row["of"], row["beside"], f"{row['aim']:.2f}", f"{row['ratio']:.3f}",
                   f"{row['ratio of medians']:.3f}", "holds" if row["holds"] else "**missed**"] for row in verdicts])


def algorithm_table(layers: list[dict]) -> str:
    """What was taken, and the packed bytes, for each distribution of weights."""
    rows = []
    for layer in layers:
        cells = [f"{layer['taken'][name]}; {layer['packed'][name]:,}" for name in OWN_COLUMNS]
        rows.append([layer["name"], *("the same" if i and cell == cells[i - 1] else cell
                                      for i, cell in enumerate(cells))])
    return table(["algorithm, packed bytes", *OWN_COLUMNS], rows)


def rates(layers: list[dict]) -> str:
    peaks = [layer["peak"]["best"] / 1e9 for layer in layers]
    return rate_table(layers, OWN_COLUMNS) + "\n" + rate_table(layers, PEER_COLUMNS) + \
        f"\nThe peak of the maddubs triple, measured beside each: {number(min(peaks))} to {number(max(peaks))} GOPS.\n"


def small_products(layers: list[dict], overheads: dict) -> str:
    calls = "; ".join(f"{who}: {number(time['best'] * 1e6)} us" for who, time in overheads.items())
    return time_table(layers, [OWN_COLUMNS[0], *PEER_COLUMNS, IN_A_CHAIN]) + f"\nCalls are included. {calls}.\n"


def markdown(results: dict) -> str:
    layers, models = results["layers"], results["models"]
    of_kind = {kind: [layer for layer in layers if kind_of(layer["name"]) == kind] for kind in KINDS}
    small = [layer for layer in of_kind["matrix products"] if layer["operations"] < 3e5]
    sections = [("Aims", results["targets"], target_table),
                ("Matrix products, M x N x K", of_kind["matrix products"], rates),
                ("Small matrix products, in time", small, lambda some: small_products(some, results["overheads"])),
                ("Convolutions", of_kind["convolutions"], rates),
                ("Depthwise 3x3", of_kind["depthwise"], rates),
                ("Equality with the exact result", layers, equality_table),
                ("Networks", models, lambda some: model_table(some) + "\n" + accuracy_table(some)),
                ("What zeropoint took", layers, algorithm_table)]
    head = "# zeropoint beside its peers\n\n" + "".join(f"- {what}: {value}\n" for what, value in
                                                          results["run"].items())
    return head + "".join(f"\n## {title}\n\n{content(rows)}" for title, rows, content in sections if rows)


COLORS = {"zeropoint uniform": "#0b3c5d", "zeropoint gaussian": "#1d6fa5", "zeropoint laplace": "#3fa7d6",
          "zeropoint int8": "#0b3c5d", "zeropoint f32": "#3fa7d6", "ONNX Runtime u8s8": "#d1495b",
          "ONNX Runtime u8u8": "#8d1c2f", "PyTorch fbgemm": "#edae49", "PyTorch onednn": "#c98b1d",
          "XNNPACK": "#5f9e6e", "ONNX Runtime f32": "#bbbbbb", "PyTorch f32": "#888888"}
INEXACT = ("ONNX Runtime u8s8", "PyTorch fbgemm", "PyTorch onednn")


def bars(axes, results: list[dict], names: list[str], value, label: str, is_avx2: bool) -> None:
    names = [name for name in names if any(name in result["times"] for result in results)]
    width = 0.84 / max(len(names), 1)
    for i, name in enumerate(names):
        heights = [value(result, result["times"][name]) if name in result["times"] else 0 for result in results]
        axes.bar([k - 0.42 + (i + 0.5) * width for k in range(len(results))], heights, width, color=COLORS[name],
                 label=name + (" (inexact)" if name in INEXACT and is_avx2 else ""))
    axes.set_xticks(range(len(results)), [result["name"].removeprefix("gemm ") for result in results], fontsize=8,
                    rotation=12)
    axes.set_ylabel(label)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize=7, ncols=5, loc="upper left", bbox_to_anchor=(0, 1.2), frameon=False)


def draw(results: dict, files: list[pathlib.Path]) -> None:
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "zeropoint"
    from matplotlib import pyplot
    layers, models = results["layers"], results["models"]
    names = OWN_COLUMNS[:3] + PEER_COLUMNS

    def rate(result: dict, time: dict) -> float:
        return result["operations"] / time["best"] / 1e9

    groups = [*((f"{kind}, GOPS", [layer for layer in layers if kind_of(layer["name"]) == kind], names, rate)
                for kind in KINDS),
              ("networks, speed over\nONNX Runtime float32", models, ["zeropoint int8", "zeropoint f32", *PEER_COLUMNS],
               lambda result, time: result["times"]["ONNX Runtime f32"]["best"] / time["best"])]
    groups = [group for group in groups if group[1]]
    figure, rows = pyplot.subplots(len(groups), 1, figsize=(13, 3.6 * len(groups)), squeeze=False)
    for axes, (label, chosen, contenders, value) in zip(rows[:, 0], groups):
        bars(axes, chosen, contenders, value, label, bool(results["targets"]))
    figure.suptitle(results["run"]["machine"] + ", one thread, " + results["run"]["instruction set"], fontsize=10)
    figure.tight_layout()
    for file in files:
        figure.savefig(file, dpi=110, metadata={"Date": None} if file.suffix == ".svg" else None)


def write(results: dict, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.md").write_text(markdown(results))
    (folder / "peers.json").write_text(json.dumps(results, indent=1) + "\n")
    draw(results, [folder / "peers.svg", folder / "peers.png"])
