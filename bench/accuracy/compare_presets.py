#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Int8 against float under zeropoint's qconfigs, in dB, on trained networks with channels and images that make ranges hard.

    pip install --extra-index-url https://download.pytorch.org/whl/cpu -r bench/accuracy/requirements.txt
    bench/accuracy/compare_presets.py                # the table, five seeds; two minutes of training, which are kept
    bench/accuracy/compare_presets.py --seeds 1 2    # fails where robust_qconfig is more than --limit below the better of two

Three networks are trained on scikit-learn's digits, enlarged to 16 x 16: mobile (MobileNetV2's blocks), mobile6 (the same with ReLU6)
and res (residual blocks), for each seed anew. Then channels are multiplied by factors and divided again behind, which changes
nothing in float: "uneven1" by log-uniform factors from 0.32 to 3.2, "uneven" from 0.01 to 100, "outlier1" two channels of each residual stream
by 10 and 3 and one inside of blocks by 20, "outlier" by 100, 30 and 200. "rare": 2 of 256 images for calibration are ten times as bright.
Where a relu6 stands behind a channel, it keeps its size.

The ratio is that of all outputs over 599 test images to their difference from float. PyTorch's column has its HistogramObserver, one input
a call, and its per-channel weights, in floats that it quantizes and dequantizes where its fused modules do: its engines lose more (fbgemm
saturates in 8 bits, qnnpack's ReLU6 is wrong).
"""

import argparse
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.ao import quantization

from compare_pytorch import signal_to_noise
from networks import COMMON, SIDE, Graph, Network, cpp_type

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from digits_cnn import load_digits  # noqa: E402

CONFIGS = {"min_max": "min_max", "histogram": "zp::default_qconfig", "fbgemm": "zp::fbgemm_qconfig", "accurate": "zp::accurate_qconfig",
           "robust": "zp::robust_qconfig"}
HEADER = """// Written by compare_presets.py.
#include <ctime>
#include <zeropoint/methods/choose_by_outputs.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

"""
PROGRAM = COMMON + """template <class Net> void run(const std::string& folder, const std::string& name, const std::string& calibration_name) {
    const auto data = zp::safetensors_file::read(folder + "/images.safetensors");
    const auto calibration = data.values<float>(data.expect(calibration_name)), test = data.values<float>(data.expect("test"));
    const auto trained = zp::load<zp::float_model<Net>>(folder + "/" + name + ".safetensors");
    zp::safetensors_writer file;
    const auto add = [&](const char* what, const std::vector<float>& values) {
        file.add(what, {static_cast<std::int64_t>(values.size())}, values);
    };
    const auto add_int8 = [&]<class Config>(std::type_identity<Config>, const char* what) {
        const std::clock_t begin = std::clock();
        const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(trained), calibration));
        add((std::string(what) + ".seconds").c_str(), {static_cast<float>(std::clock() - begin) / CLOCKS_PER_SEC});
        add(what, outputs(int8, test));
    };
    add("float", outputs(trained, test));
ADD
    file.write(folder + "/" + name + "." + calibration_name + ".outputs.safetensors");
}
int main(int count, char** arguments) {
    for (int i = 2; i + 1 < count; i += 2) run<NETWORK>(arguments[1], arguments[i], arguments[i + 1]);
}
"""


class Sites:
    """A graph, and which channels may be rescaled: those of `streams` and `inner`, pairs of producers and consumers."""

    def __init__(self, name: str) -> None:
        self.graph = Graph(name, 1)
        self.streams: list[tuple[list[int], list[int]]] = []
        self.inner: list[tuple[list[int], list[int]]] = []


def mobile(name: str, relu6: bool) -> Sites:
    net = Sites(name)
    g = net.graph
    def rectified(x: int) -> int:
        """The layer with a relu behind it."""
        g.nodes[x].relu, g.nodes[x].relu6 = not relu6, relu6
        return x

    def block(x: int, wide: int, outputs: int, stride: int) -> tuple[int, int, int]:
        """The expanding, the depthwise and the projecting layer."""
        expand = rectified(g.conv(x, wide, 1))
        depthwise = rectified(g.depthwise(expand, stride))
        project = g.conv(depthwise, outputs, 1, relu=False)
        if not relu6:
            net.inner += [([expand], [depthwise]), ([depthwise], [project])]
        return expand, depthwise, project

    stem = rectified(g.conv(0, 16, stride=2))
    e1, _, p1 = block(stem, 48, 16, 1)
    x = g.add(stem, p1)
    e2, _, p2 = block(x, 48, 24, 2)
    e3, _, p3 = block(p2, 72, 24, 1)
    x = g.add(p2, p3)
    head = rectified(g.conv(x, 96, 1))
    net.streams.append(([p2, p3], [e3, head]))
    if not relu6:
        net.streams.append(([stem, p1], [e1, e2]))
        net.inner.append(([head], [len(g.nodes) + 2]))
    g.classify(g.unary("global_avg_pool", head))
    return net


def res() -> Sites:
    net = Sites("res")
    g = net.graph
    stem = g.conv(0, 16, stride=2)
    a = g.conv(stem, 16)
    b = g.conv(a, 16, relu=False)
    down = g.conv(g.add(stem, b), 32, stride=2)
    c = g.conv(down, 32)
    d = g.conv(c, 32, relu=False)
    x = g.add(down, d)
    net.streams = [([stem, b], [a, down]), ([down, d], [c, len(g.nodes) + 2])]
    net.inner = [([a], [b]), ([c], [d])]
    g.classify(g.unary("global_avg_pool", x))
    return net


NETWORKS = {"mobile6": mobile("mobile6", True), "mobile": mobile("mobile", False), "res": res()}
CASES = [("mobile6", "", False), ("mobile6", "uneven1", False), ("mobile", "", False), ("mobile", "uneven1", False),
         ("mobile", "uneven1", True), ("res", "", False), ("res", "outlier1", False), ("res", "outlier", False),
         ("mobile", "", True), ("res", "", True), ("mobile", "uneven", False)]


@torch.no_grad()
def rescale(network: Network, net: Sites, how: str, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    exponent, stream, inner = {"uneven1": (0.5, [], []), "uneven": (2.0, [], []), "outlier1": (0, [10, 3], [20]),
                               "outlier": (0, [100, 30], [200])}[how]
    for sites, large in ((net.streams, stream), (net.inner, inner)):
        for producers, consumers in sites:
            channels = net.graph.nodes[producers[0]].channels
            if exponent:
                factors = 10 ** (exponent * (2 * torch.rand(channels, generator=draw) - 1))
            else:
                factors = torch.ones(channels)
                factors[torch.randperm(channels, generator=draw)[: len(large)]] = torch.tensor(large, dtype=torch.float)
            for i in producers:
                layer = network.layer_of(i)
                layer.weight.mul_(factors.view(-1, *[1] * (layer.weight.dim() - 1)))
                layer.bias.mul_(factors)
            for i in consumers:
                layer = network.layer_of(i)
                shape = (-1, 1, 1, 1) if net.graph.nodes[i].depthwise else (1, -1, *[1] * (layer.weight.dim() - 2))
                layer.weight.div_(factors.view(shape))


def train(net: Sites, images: Tensor, labels: Tensor, seed: int, epochs: int) -> Network:
    torch.manual_seed(seed)
    network = Network(net.graph, images[:128] + 0.1 * torch.randn(128, 1, SIDE, SIDE))
    draw = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(network.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs * (len(images) // 64))
    with torch.no_grad():
        for i in range(len(net.graph.nodes)):  # seeds differ in where they begin, too
            if net.graph.nodes[i].kind in ("conv", "linear"):
                layer = network.layer_of(i)
                layer.weight.add_(0.5 * layer.weight.std() * torch.randn(layer.weight.shape, generator=draw))
    for _ in range(epochs):
        order = torch.randperm(len(images), generator=draw)
        for chosen in order[: len(order) // 64 * 64].split(64):
            loss = F.cross_entropy(network(images[chosen])[:, :10], labels[chosen], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


class Quantized:
    """PyTorch's observers and fake quantization where its fused modules round: behind layers and sums; pools keep their input's grid."""

    def __init__(self, network: Network, calibration: Tensor) -> None:
        self.network = network
        self.grids: dict[int, tuple[float, int]] = {}
        self.weights: dict[int, tuple[Tensor, Tensor]] = {}
        nodes = network.graph.nodes
        observers = {i: quantization.HistogramObserver(dtype=torch.quint8) for i, n in enumerate(nodes)
                     if n.kind in ("input", "conv", "linear", "add")}
        whole: list[Tensor] = []
        for i, node in enumerate(nodes):
            whole.append(calibration if node.kind == "input" else network.apply_layer(i, [whole[k] for k in node.inputs]))
            if i in observers:
                for one in whole[i]:
                    observers[i](one)
                scale, zero_point = observers[i].calculate_qparams()
                self.grids[i] = float(scale), int(zero_point)
            else:
                self.grids[i] = self.grids[node.inputs[0]]
            if node.kind in ("conv", "linear"):
                weight = network.layer_of(i).weight
                observer = quantization.PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
                observer(weight)
                self.weights[i] = observer.calculate_qparams()

    def __call__(self, x: Tensor) -> Tensor:
        network, values = self.network, []
        kept = {i: network.layer_of(i).weight.clone() for i in self.weights}
        for i, (scale, zero_point) in self.weights.items():
            weight = network.layer_of(i).weight
            weight.copy_(torch.fake_quantize_per_channel_affine(weight, scale, zero_point.int(), 0, -128, 127))
        for i, node in enumerate(network.graph.nodes):
            y = x if node.kind == "input" else network.apply_layer(i, [values[k] for k in node.inputs])
            values.append(torch.fake_quantize_per_tensor_affine(y, *self.grids[i], 0, 255))
        for i, weight in kept.items():
            network.layer_of(i).weight.copy_(weight)
        return values[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3, 4, 5])
    parser.add_argument("--configs", nargs="*", choices=CONFIGS, default=list(CONFIGS))
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/presets", help="for programs and trained networks")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++") + " -O2 -march=native")
    parser.add_argument("--include", nargs="*", default=[], help="folders of xsimd, where the compiler does not find it")
    parser.add_argument("--limit", type=float, default=0.1, help="dB that robust may be below the better of min_max and PyTorch")
    parser.add_argument("--train", action="store_true", help="train alone")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    chosen.folder.mkdir(parents=True, exist_ok=True)

    def data(test: bool) -> tuple[Tensor, Tensor]:
        images, labels = load_digits(test)
        return F.interpolate(images, size=(SIDE, SIDE), mode="bilinear", align_corners=False), labels

    images, labels = data(test=False)
    test, test_labels = data(test=True)
    calibration = images[:256]
    rare = calibration.clone()
    rare[[50, 177]] *= 10
    save_file({"plain": calibration.permute(0, 2, 3, 1).contiguous(), "rare": rare.permute(0, 2, 3, 1).contiguous(),
               "test": test.permute(0, 2, 3, 1).contiguous()}, chosen.folder / "images.safetensors")

    def weights_of(base: str, how: str, seed: int) -> str:
        return f"{base}{'_' + how if how else ''}_{seed}"

    def loaded(name: str, base: str) -> Network:
        network = Network(NETWORKS[base].graph, images[:8]).eval()
        found = load_file(chosen.folder / f"{name}.safetensors")
        with torch.no_grad():
            for key, value in found.items():
                layer = network.layer_of(int(key.split(".")[0].removeprefix("node")))
                getattr(layer, key.split(".")[1]).copy_(value)
        return network

    cases = [case for case in CASES if case[0] in chosen.networks]
    for base in chosen.networks:
        for seed in chosen.seeds:
            path = chosen.folder / f"{weights_of(base, '', seed)}.safetensors"
            if path.exists():
                continue
            network = train(NETWORKS[base], images, labels, seed, chosen.epochs)
            with torch.no_grad():
                right = (network(test).argmax(1) == test_labels).double().mean().item()
            print(f"{base}, seed {seed}: {100 * right:.2f} %", flush=True)
            save_file(network.parameters_by_name(), path)
            for how in sorted({how for name, how, _ in CASES if name == base and how}):
                other = loaded(path.stem, base)
                rescale(other, NETWORKS[base], how, seed)
                with torch.inference_mode():
                    assert signal_to_noise(network(test), other(test)) > 90
                save_file(other.parameters_by_name(), chosen.folder / f"{weights_of(base, how, seed)}.safetensors")
    if chosen.train:
        return 0
    compiler = [*chosen.compiler.split(), "-std=c++20", f"-I{ROOT / 'include'}",
                *(part for folder in chosen.include for part in ("-isystem", folder))]
    for base in chosen.networks:
        source = chosen.folder / f"{base}.cpp"
        add = "".join(f'    add_int8(std::type_identity<{CONFIGS[name]}>{{}}, "{name}");\n' for name in chosen.configs)
        source.write_text(HEADER + cpp_type(NETWORKS[base].graph) + PROGRAM.replace("ADD\n", add).replace("NETWORK", base))
        subprocess.run([*compiler, source, "-o", source.with_suffix("")], check=True)
        arguments = [part for name, how, has_rare in cases if name == base for seed in chosen.seeds
                     for part in (weights_of(name, how, seed), "rare" if has_rare else "plain")]
        subprocess.run([source.with_suffix(""), chosen.folder, *arguments], check=True)
    print(f"PyTorch {torch.__version__}; {platform.machine()}; seeds {chosen.seeds}: mean, and the worst difference of any seed\n")
    print(f"| network | float | PyTorch | {' | '.join(chosen.configs)} | robust - best of two, worst | seconds |")
    print("|---|--:|--:|" + "--:|" * (len(chosen.configs) + 2))
    worst = float("inf")
    for base, how, has_rare in cases:
        rows, differences = [], []
        for seed in chosen.seeds:
            name = weights_of(base, how, seed)
            network = loaded(name, base)
            found = load_file(chosen.folder / f"{name}.{'rare' if has_rare else 'plain'}.outputs.safetensors")
            with torch.inference_mode():
                reference = network(test)
                right = 100 * (reference.argmax(1) == test_labels).double().mean().item()
                stored = chosen.folder / f"{name}.{has_rare}.torch.safetensors"
                if not stored.exists():
                    save_file({"y": Quantized(network, rare if has_rare else calibration)(test)}, stored)
                theirs = signal_to_noise(reference, load_file(stored)["y"])
                assert signal_to_noise(reference, found["float"].view_as(reference)) > 90
                ours = {c: signal_to_noise(reference, found[c].view_as(reference)) for c in chosen.configs}
            rows.append([right, theirs, *ours.values(), float(found[f"{chosen.configs[-1]}.seconds"])])
            if "robust" in ours and "min_max" in ours:
                differences.append(ours["robust"] - max(ours["min_max"], theirs))
        means = torch.tensor(rows, dtype=torch.double).mean(0).tolist()
        least = min(differences, default=0.0)
        worst = min(worst, least)
        label = f"{base}{'_' + how if how else ''}{', rare' if has_rare else ''}"
        print(f"| {label} | {means[0]:.2f} % | " + " | ".join(f"{x:.1f}" for x in means[1:-1]) + f" | {least:+.2f} | {means[-1]:.2f} |",
              flush=True)
    return int(worst < -chosen.limit)


if __name__ == "__main__":
    sys.exit(main())
