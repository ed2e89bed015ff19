#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SmoothQuant on outlier columns: accuracy in percent of 599 handwritten digits, before and behind zp::smooth.

    bench/accuracy/compare_smooth.py                 # five seeds; a minute, most of it the compiler's

A network of two layer norms, each in front of linear layers, is trained on scikit-learn's digits. Then gains and offsets of four of the 64 channels of each norm
are multiplied by --factor and the columns of the layer behind divided by it: the same function, with the outlier channels that
large transformers have. Weights have a scale a channel, activations one a tensor, by minimum and maximum and by PyTorch's histogram.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from digits_cnn import DATA, load_digits  # noqa: E402

PROGRAM = """// Written by compare_smooth.py.
#include <cstdio>
#include <zeropoint/methods/smooth.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>
#include "examples/01_digits/digits_data.hpp"

struct net : zp::model<zp::input<1, 1, 64>, zp::linear<"embed", 64>, zp::layer_norm<"n1">, zp::linear<"up", 128>, zp::gelu,
                       zp::linear<"down", 64>, zp::layer_norm<"n2">, zp::linear<"head", 10>> {};
struct min_max : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                             zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

int main(int, char** arguments) {
    const digits data = load_digits(arguments[1]);
    std::vector<std::vector<float>> images;
    for (std::size_t i = 0; i != 512; ++i)
        images.emplace_back(data.training.images[i].begin(), data.training.images[i].end());
    const auto right = [&](const auto& model) { return percent_equal(read_digits(model, data.test.images), data.test.labels); };
    const auto floats = zp::fuse(zp::load<zp::float_model<net>>(arguments[2]));
    const auto int8 = [&]<class Config>(std::type_identity<Config>, const zp::fused<net>& from) {
        return right(zp::convert(zp::calibrate(zp::prepare<Config>(from), images)));
    };
    constexpr std::type_identity<min_max> wide;
    constexpr std::type_identity<zp::default_qconfig> histogram;
    const auto smooth = zp::smooth(floats, images), strong = zp::smooth(floats, images, {.alpha = 0.8f});
    std::printf("| %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |", right(floats), int8(wide, floats), int8(wide, smooth),
                int8(wide, strong), int8(histogram, floats), int8(histogram, smooth), int8(histogram, strong));
}
"""


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.n1, self.up = nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, 128)
        self.down, self.n2, self.head = nn.Linear(128, 64), nn.LayerNorm(64), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.down(F.gelu(self.up(self.n1(self.embed(x.flatten(1))))))
        return self.head(self.n2(x))


def trained(seed: int, factor: float) -> Net:
    torch.manual_seed(seed)
    images, labels = load_digits(test=False)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, 30 * (len(images) // 32 + 1))
    for _ in range(30):
        for chosen in torch.randperm(len(images)).split(32):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        for norm, reader in ((model.n1, model.up), (model.n2, model.head)):
            channels = torch.randperm(64)[:4]
            norm.weight[channels] *= factor
            norm.bias[channels] *= factor
            reader.weight[:, channels] /= factor
    return model


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3, 4, 5])
    parser.add_argument("--factors", type=float, nargs="*", default=[30, 100])
    parser.add_argument("--folder", type=Path, default=ROOT / "build/smooth")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++") + " -O1 -march=native")
    parser.add_argument("--include", nargs="*", default=[], help="folders of xsimd, where the compiler does not find it")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.folder.mkdir(parents=True, exist_ok=True)
    source = given.folder / "smooth.cpp"
    source.write_text(PROGRAM)
    subprocess.run([*given.compiler.split(), "-std=c++20", f"-I{ROOT}", f"-I{ROOT / 'include'}",
                    *(part for folder in given.include for part in ("-isystem", folder)), source, "-o", given.folder / "smooth"], check=True)
    print("| seed | factor | float | min_max | smooth | alpha 0.8 | histogram | smooth | alpha 0.8 |\n" + "|---" + "|--:" * 8 + "|", flush=True)
    for factor in given.factors:
        for seed in given.seeds:
            weights = given.folder / f"{seed}_{factor}.safetensors"
            save_file(trained(seed, factor).state_dict(), weights)
            found = subprocess.run([given.folder / "smooth", DATA, weights], check=True, capture_output=True, text=True)
            print(f"| {seed} | {factor:g} {found.stdout}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
