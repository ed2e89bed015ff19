# SPDX-License-Identifier: BSD-3-Clause
"""Int8 against float on networks with concats, in dB, beside PyTorch's static quantization with the same calibration data.

    pip install --extra-index-url https://download.pytorch.org/whl/cpu -r bench/accuracy/requirements.txt
    bench/accuracy/compare_pytorch.py               # the table; --limit 0.5 fails where zeropoint is more dB below
    bench/accuracy/compare_pytorch.py --qconfig fbgemm

Networks are those of networks.py, with the same weights in both. Weights are qint8 with a scale a channel. Activations are
quint8, over all 8 bits by minimum and maximum (PyTorch's engine is then qnnpack, whose sums are exact on every processor), or
as PyTorch's get_default_qconfig("fbgemm") has them. Both get the same calibration inputs, and the ratio is that of all outputs
over other inputs to their difference from PyTorch's float.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.ao import quantization

from networks import CHANNELS, COMMON, SIDE, Graph, Network, all_graphs, cpp_type

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = """// Written by compare_pytorch.py.
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

""" + COMMON + """struct fbgemm : zp::fbgemm_qconfig {};

template <class Net> void run(const std::string& name, const std::string& folder) {
    const auto data = zp::safetensors_file::read(folder + "/images.safetensors");
    const auto calibration = data.values<float>(data.expect("calibration")), test = data.values<float>(data.expect("test"));
    const auto trained = zp::load<zp::float_model<Net>>(folder + "/" + name + ".safetensors");
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<CONFIG>(trained), calibration));
    zp::safetensors_writer file;
    const auto add = [&](const char* what, const std::vector<float>& values) {
        file.add(what, {static_cast<std::int64_t>(values.size())}, values);
    };
    add("float", outputs(trained, test));
    add("int8", outputs(int8, test));
    file.write(folder + "/" + name + ".outputs.safetensors");
}
"""


def images(count: int, seed: int) -> Tensor:
    """Smooth patterns of random size and brightness, with a little noise."""
    draw = torch.Generator().manual_seed(seed)
    coarse = torch.randn(count, CHANNELS, 5, 5, generator=draw)
    smooth = torch.nn.functional.interpolate(coarse, size=SIDE, mode="bicubic", align_corners=True)
    contrast = 0.5 + torch.rand(count, 1, 1, 1, generator=draw)
    return contrast * smooth + 0.2 * torch.randn(smooth.shape, generator=draw)


def signal_to_noise(reference: Tensor, y: Tensor) -> float:
    return float(10 * torch.log10(reference.square().sum() / (reference - y).square().sum()))


def quantized(network: Network, calibration: Tensor, name: str) -> torch.nn.Module:
    network.qconfig = quantization.get_default_qconfig("fbgemm") if name == "fbgemm" else quantization.QConfig(
        activation=quantization.MinMaxObserver.with_args(dtype=torch.quint8),
        weight=quantization.default_per_channel_weight_observer)
    prepared = quantization.prepare(network)
    for image in calibration:
        prepared(image[None])
    return quantization.convert(prepared)


def build_and_run(compiler: list[str], qconfig: str, group: list[Graph], number: int, folder: Path) -> None:
    source = folder / f"group{number}.cpp"
    source.write_text(PROGRAM.replace("CONFIG", qconfig) + "".join(map(cpp_type, group)) + "int main(int, char** arguments) {\n" +
                      "".join(f'    run<{g.name}>("{g.name}", arguments[1]);\n' for g in group) + "}\n")
    program = source.with_suffix("")
    subprocess.run([*compiler, "-std=c++20", source, "-o", program], check=True)
    subprocess.run([program, folder], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=40, help="how many random graphs beside the four by name")
    parser.add_argument("--only", default="", help="networks whose names begin so")
    parser.add_argument("--qconfig", choices=("min_max", "fbgemm"), default="min_max")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++") + " -O1 -march=native")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, help="fail where zeropoint is more dB below PyTorch than this")
    parser.add_argument("--headers", type=Path, default=ROOT / "include", help="zeropoint to measure: another checkout's")
    parser.add_argument("--include", action="append", default=[], help="a folder with xsimd's headers, where needed")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.backends.quantized.engine = "fbgemm" if chosen.qconfig == "fbgemm" else "qnnpack"
    torch.set_num_threads(1)
    calibration, test = images(128, 1), images(256, 2)
    graphs = [g for g in all_graphs(chosen.random) if g.name.startswith(chosen.only)]
    compiler = [*chosen.compiler.split(), f"-I{chosen.headers}", *(f"-I{path}" for path in chosen.include)]
    version = subprocess.run([compiler[0], "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print(f"PyTorch {torch.__version__}, engine {torch.backends.quantized.engine}; {version}; {platform.machine()}; "
          f"{len(calibration)} inputs for calibration, {len(test)} for the test\n")
    with tempfile.TemporaryDirectory() as name, torch.inference_mode():
        folder = Path(name)
        save_file({"calibration": calibration.permute(0, 2, 3, 1).contiguous(),
                   "test": test.permute(0, 2, 3, 1).contiguous()}, folder / "images.safetensors")
        networks = [Network(g, calibration).eval() for g in graphs]
        for g, network in zip(graphs, networks):
            save_file(network.parameters_by_name(), folder / f"{g.name}.safetensors")
        groups = [graphs[i:i + 4] for i in range(0, len(graphs), 4)]
        with ThreadPoolExecutor(chosen.jobs) as pool:
            list(pool.map(lambda at: build_and_run(compiler, chosen.qconfig, groups[at], at, folder), range(len(groups))))
        print(f"{'network':12} {'layers':>6} {'concats':>7} {'float':>7} {'PyTorch':>8} {'zeropoint':>9} {'difference':>10}")
        differences = []
        for g, network in zip(graphs, networks):
            found = load_file(folder / f"{g.name}.outputs.safetensors")
            reference = network(test)
            ours_float = signal_to_noise(reference, found["float"].reshape(reference.shape))
            theirs = signal_to_noise(reference, quantized(network, calibration, chosen.qconfig)(test))
            ours = signal_to_noise(reference, found["int8"].reshape(reference.shape))
            differences.append(ours - theirs)
            concats = sum(node.kind == "concat" for node in g.nodes)
            print(f"{g.name:12} {len(g.nodes):6} {concats:7} {ours_float:7.1f} {theirs:8.2f} {ours:9.2f} {ours - theirs:+10.2f}")
        print(f"\nleast difference {min(differences):+.2f} dB, mean {sum(differences) / len(differences):+.2f} dB")
    return int(chosen.limit is not None and min(differences) < -chosen.limit)


if __name__ == "__main__":
    sys.exit(main())
