#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The results as Markdown, JSON and charts.

    python bench/peers/report.py docs/performance    # peers.md and the charts once more, of its peers.json
"""
import argparse
import json
import pathlib
import sys

import charts
import instruction_set
import rtneural
import standing
import targets
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


def ratio(one: dict | None) -> list[str]:
    return ["", "", ""] if one is None else [one["peer"], f"{one['ratio']:.2f}", f"{one['ratio of medians']:.2f}"]


def standing_table(rows: list[dict]) -> str:
    header = ["more than 1: zeropoint is faster", "of", "GOPS", "share of peak"]
    for which in ("fastest int8", "fastest exact int8", "fastest float32"):
        header += [which, "ratio", "of medians"]
    return table(header, [[row["case"], row["own"].removeprefix("zeropoint "), number(row["rate"] / 1e9),
                           "" if row["share of peak"] is None else f"{100 * row['share of peak']:.0f} %",
                           *ratio(row["int8"]), *ratio(row["exact"]), *ratio(row["float"])] for row in rows])


def standing_section(results: dict) -> str:
    exact = [peer for peer in INT8_PEERS if peer in standing.exact_peers(results.get("layers", []))]
    return standing_table(standing.standings(results)) + \
        f"\nExact of the peers: {', '.join(exact)}. The peak of layers and networks is that of products of bytes, of streams float " \
        "multiply-add.\n"


def stream_section(streams: list[dict]) -> str:
    names = ["zeropoint int8", "zeropoint f32", *standing.STREAM_INT8, *standing.STREAM_FLOAT]
    names = [name for name in names if any(name in stream["times"] for stream in streams)]
    rows = [[stream["name"], *(f"{number(t['best'] * 1e9)} ({number(t['median'] * 1e9)})" if (t := stream["times"].get(name)) else ""
                               for name in names)] for stream in streams]
    errors = [[stream["name"], *(f"{stream['errors'][name]:.1e}" if name in stream["errors"] else "" for name in names)]
              for stream in streams]
    return table(["nanoseconds a step, best (median)", *names], rows) + "\n" + \
        table(["relative RMS error beside torch.jit", *names], errors) + "\n" + rtneural.section(streams)


def thread_section(threads: list[dict]) -> str:
    """Wall time. Of each contender the ratio to itself on one thread."""
    text = ""
    for result in threads:
        counts = result["counts"]
        rows = []
        for who, by_count in result["times"].items():
            one = by_count[str(counts[0])]["best"]
            rows.append([who, *(f"{number(by_count[str(n)]['best'] * 1e6)}" + (f", {one / by_count[str(n)]['best']:.2f}" if n > 1 else "")
                                for n in counts)])
        own = result["times"]["zeropoint int8"]
        ratios = []
        for n in map(str, counts):
            rival = min((who for who in result["times"] if who in INT8_PEERS), key=lambda who: result["times"][who][n]["best"])
            ratios.append(f"{result['times'][rival][n]['best'] / own[n]['best']:.2f} of {rival}")
        rows.append(["zeropoint, times as fast as the fastest", *ratios])
        text += table([f"{result['name']}, us, ratio to one thread", *(f"{n} thread{'s' if n > 1 else ''}" for n in counts)], rows) + "\n"
    return text


def energy_section(models: list[dict]) -> str:
    names = [name for name in ["zeropoint int8", "zeropoint f32", *PEER_COLUMNS] if any(name in model["joules"] for model in models)]
    return table(["millijoules an inference", *names],
                 [[model["name"], *(number(1e3 * model["joules"][name]) if name in model["joules"] else "" for name in names)]
                  for model in models])


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
    layers, models, streams = (results.get(kind, []) for kind in ("layers", "models", "streams"))
    measured_energy = [model for model in models if model.get("joules")]
    of_kind = {kind: [layer for layer in layers if kind_of(layer["name"]) == kind] for kind in KINDS}
    small = [layer for layer in of_kind["matrix products"] if layer["operations"] < 3e5]
    sections = [("Beside the fastest of all peers", layers + models + streams, lambda _: standing_section(results)),
                ("Aims", results["targets"], target_table),
                ("Matrix products, M x N x K", of_kind["matrix products"], rates),
                ("Small matrix products, in time", small, lambda some: small_products(some, results.get("overheads", {}))),
                ("Convolutions", of_kind["convolutions"], rates),
                ("Depthwise 3x3", of_kind["depthwise"], rates),
                ("Equality with the exact result", layers, equality_table),
                ("Networks", models, lambda some: model_table(some) + "\n" + accuracy_table(some)),
                ("Energy", measured_energy, energy_section),
                ("Networks on several threads", results.get("threads", []), thread_section),
                ("Small networks a step at a time", streams, stream_section),
                ("What zeropoint took", layers, algorithm_table)]
    head = "# zeropoint beside its peers\n\n" + "".join(f"- {what}: {value}\n" for what, value in
                                                          results["run"].items())
    return head + "".join(f"\n## {title}\n\n{content(rows)}" for title, rows, content in sections if rows)


def merged(old: dict, new: dict) -> dict:
    """Results of one name replace earlier ones, in the order of a whole run; commands are kept side by side."""
    for key in ("machine", "instruction set", "versions", "compiler of zeropoint"):
        if old["run"][key] != new["run"][key]:
            sys.exit(f"--add: {key} was \"{old['run'][key]}\" and is \"{new['run'][key]}\"")
    result = old | new
    for kind in ("layers", "models", "streams", "threads"):
        by_name = {one["name"]: one for one in old.get(kind, [])} | {one["name"]: one for one in new.get(kind, [])}
        result[kind] = sorted(by_name.values(), key=lambda one: one["index"])
    result["overheads"] = old.get("overheads", {}) | new.get("overheads", {})
    commands = old["run"]["command"].split("; ")
    result["run"] = new["run"] | {"command": "; ".join(dict.fromkeys([*commands, new["run"]["command"]])),
                                  "threads": old["run"]["threads"]}
    return result


def with_verdicts(results: dict) -> dict:
    aims = {instruction_set.SAID["avx2"]: targets.WITH_AVX2, instruction_set.SAID["vnni"]: targets.WITH_VNNI}
    rows = results.get("layers", []) + results.get("models", [])
    return results | {"targets": targets.verdicts(rows, aims.get(results["run"]["instruction set"], []))}


def write(results: dict, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.md").write_text(markdown(results))
    (folder / "peers.json").write_text(json.dumps(results, indent=1) + "\n")
    charts.write(results, folder)


def finish(results: dict, options: argparse.Namespace) -> None:
    """What a run ends with."""
    file = options.out / "peers.json" if options.out else None
    if options.add and file and file.exists():
        results = merged(json.loads(file.read_text()), results)
    results = with_verdicts(results)
    print("\n" + markdown(results))
    if options.out:
        write(results, options.out)
        print(f"written to {options.out}")


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    write(with_verdicts(json.loads((folder / "peers.json").read_text())), folder)
