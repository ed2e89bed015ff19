# SPDX-License-Identifier: BSD-3-Clause
"""What zeropoint aims at beside its peers: with AVX2 alone, and with AVX-512 VNNI."""
import dataclasses

LARGE = ["gemm 16x1024x1024", "gemm 64x768x768", "gemm 128x768x3072", "gemm 512x512x512", "gemm 1024x1024x1024"]
DEPTHWISE = ["depthwise 112x112 32", "depthwise 56x56 144 s2", "depthwise 14x14 384"]
U8S8, U8U8, FLOAT = "ONNX Runtime u8s8", "ONNX Runtime u8u8", "ONNX Runtime f32"
FIRST_PEERS = [U8S8, U8U8, "PyTorch fbgemm", "PyTorch onednn", "XNNPACK"]  # there were no others when these aims were set
INT8_PEERS = [*FIRST_PEERS, "OpenVINO", "ncnn", "ncnn winograd"]
FLOAT_PEERS = [FLOAT, "PyTorch f32"]
PEERS = FIRST_PEERS + FLOAT_PEERS


@dataclasses.dataclass
class Target:
    """`contender` is to be at least `ratio` times as fast as the fastest of `peers`. Without peers: `ratio` is a share
    of the machine's peak of products of bytes."""
    ratio: float
    cases: list[str]
    contender: str
    peers: list[str]


def any_weights(ratio: float, case: str, peers: list[str]) -> list[Target]:
    return [Target(ratio, [case], f"zeropoint {weights}", peers) for weights in ("uniform", "gaussian")]


WITH_AVX2 = [
    Target(1.10, LARGE, "zeropoint uniform", [U8U8]),
    Target(0.72, LARGE, "zeropoint uniform", []),
    Target(0.95, LARGE, "zeropoint gaussian", [U8S8]),
    Target(1.00, LARGE, "zeropoint laplace", [U8S8]),
    Target(1.00, LARGE, "zeropoint 7-bit x", [U8S8]),
    Target(1.45, LARGE, "zeropoint 4-bit", [U8S8]),
    *any_weights(1.10, "gemm 1x1024x1024", FIRST_PEERS),
    *any_weights(20.0, "gemm 1x64x64", [U8S8, U8U8]),
    *any_weights(8.0, "gemm 8x32x32", [U8S8, U8U8]),
    *any_weights(2.5, "gemm 16x64x64", [U8S8, U8U8]),
    *any_weights(2.2, "3x3 56x56 64", PEERS),
    *any_weights(2.2, "3x3 28x28 128", PEERS),
    *any_weights(1.7, "3x3 14x14 256", PEERS),
    *any_weights(1.1, "3x3 7x7 512", PEERS),
    Target(0.95, ["1x1 56x56 64-256", "1x1 14x14 384-64"], "zeropoint gaussian", PEERS),
    *any_weights(1.0, "7x7s2 224x224 3-64", PEERS),
    *(Target(1.8, [case], "zeropoint uniform", INT8_PEERS) for case in DEPTHWISE),
    Target(1.0, DEPTHWISE, "zeropoint uniform", FLOAT_PEERS),
    *(Target(ratio, [model], "zeropoint int8", [U8S8]) for model, ratio in
      {"resnet18": 1.8, "lenet": 4.0, "mlp_784": 1.8, "mlp_64": 15.0}.items()),
    Target(1.4, ["mobilenet_v2"], "zeropoint int8", INT8_PEERS),
    *(Target(ratio, [model], "zeropoint int8", [FLOAT]) for model, ratio in
      {"resnet18": 3.3, "mobilenet_v2": 2.0, "lenet": 2.5, "mlp_784": 4.0, "mlp_64": 10.0}.items()),
]

WITH_VNNI = [
    *(Target(ratio, [case], "zeropoint gaussian", INT8_PEERS) for case, ratio in
      {"gemm 512x512x512": 1.05, "gemm 1024x1024x1024": 1.05, "3x3 56x56 64": 1.45, "3x3 28x28 128": 1.45, "3x3 14x14 256": 1.2,
       "3x3 7x7 512": 1.1, "1x1 56x56 64-256": 1.1, "1x1 14x14 384-64": 1.05, "1x1 7x7 320-1280": 1.05, "7x7s2 224x224 3-64": 1.3,
       "depthwise 112x112 32": 2.0, "depthwise 56x56 144 s2": 1.2, "depthwise 14x14 384": 1.6}.items()),
    Target(0.9, ["gemm 512x512x512", "gemm 1024x1024x1024"], "zeropoint gaussian", []),
    *(Target(ratio, [model], "zeropoint int8", INT8_PEERS) for model, ratio in
      {"resnet18": 1.35, "mobilenet_v2": 1.45, "lenet": 2.0, "mlp_784": 1.5, "mlp_64": 6.0}.items()),
]


def verdicts(results: list[dict], aims: list[Target]) -> list[dict]:
    """One row for each target and case that was run with all it needs. `results`: as compare.py collects them."""
    by_name, rows = {result["name"]: result for result in results}, []
    for target in aims:
        for case in target.cases:
            times = by_name.get(case, {"times": {}})["times"]
            present = [peer for peer in target.peers if peer in times]
            if target.contender not in times or (target.peers and not present):
                continue
            own = times[target.contender]
            row = {"case": case, "of": target.contender, "aim": target.ratio}
            if target.peers:
                rival = min(present, key=lambda peer: times[peer]["best"])
                row |= {"beside": rival, "ratio": times[rival]["best"] / own["best"],
                        "ratio of medians": min(times[peer]["median"] for peer in present) / own["median"]}
            else:
                peak = by_name[case]["peak"]
                row |= {"beside": "the peak", "ratio": by_name[case]["operations"] / own["best"] / peak["best"],
                        "ratio of medians": by_name[case]["operations"] / own["median"] / peak["median"]}
            row["holds"] = row["ratio"] >= target.ratio
            rows.append(row)
    return rows
