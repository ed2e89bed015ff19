# SPDX-License-Identifier: BSD-3-Clause
"""zeropoint beside the fastest of all its peers, row by row, and beside the machine's peak."""
from targets import FLOAT_PEERS, INT8_PEERS

OWN_OF_LAYERS = "zeropoint gaussian"  # as trained weights are
EXACT_BY_DEFAULT = {"ONNX Runtime u8u8", "XNNPACK", "ncnn"}  # where no layers were run
WRAPS = {"ncnn winograd"}  # right with the weights here, wrong with the largest ones of one sign
STREAM_INT8, STREAM_FLOAT = ["ONNX Runtime u8s8", "ONNX Runtime dynamic int8"], ["ONNX Runtime f32", "torch.jit f32", "RTNeural f32"]


def exact_peers(layers: list[dict]) -> set[str]:
    """Those whose codes are the exact ones in every layer, but for one up or down: halves are rounded in several ways."""
    if not layers:
        return EXACT_BY_DEFAULT
    return {peer for peer in INT8_PEERS if peer not in WRAPS and any(peer in layer["errors"] for layer in layers) and
            all(layer[key].get(peer, 0) <= 1 for layer in layers for key in ("errors", "errors with gaussian weights"))}


def beside(result: dict, own: str, peers: list[str]) -> dict | None:
    """The fastest of the peers that are there; more than 1: zeropoint is faster."""
    times, present = result["times"], [peer for peer in peers if peer in result["times"]]
    if not present:
        return None
    rival = min(present, key=lambda peer: times[peer]["best"])
    return {"peer": rival, "ratio": times[rival]["best"] / times[own]["best"],
            "ratio of medians": min(times[peer]["median"] for peer in present) / times[own]["median"]}


def standings(results: dict) -> list[dict]:
    """One row for each layer, network and form of a stream."""
    exact = exact_peers(results.get("layers", []))
    rows = []

    def add(result: dict, own: str, int8: list[str], floats: list[str], exact_ones: list[str]) -> None:
        rate = result["operations"] / result["times"][own]["best"]
        rows.append({"case": result["name"], "own": own, "rate": rate,
                     "share of peak": rate / result["peak"]["best"] if "peak" in result else None,
                     "int8": beside(result, own, int8), "exact": beside(result, own, exact_ones),
                     "float": beside(result, own, floats)})

    for kind, own in (("layers", OWN_OF_LAYERS), ("models", "zeropoint int8")):
        for result in results.get(kind, []):
            add(result, own, INT8_PEERS, FLOAT_PEERS, [peer for peer in INT8_PEERS if peer in exact])
    for result in results.get("streams", []):
        add(result, "zeropoint int8", STREAM_INT8, STREAM_FLOAT, [])
        add(result, "zeropoint f32", [], STREAM_FLOAT, [])
    return rows
