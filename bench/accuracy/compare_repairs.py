#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Methods that repair accuracy, on handwritten digits: a table of accuracy and processor seconds.

    pip install --extra-index-url https://download.pytorch.org/whl/cpu -r bench/accuracy/requirements.txt
    bench/accuracy/compare_repairs.py                       # all cases, both networks; some minutes to compile
    bench/accuracy/compare_repairs.py --networks mobile --cases W4A4
    bench/accuracy/compare_repairs.py --cases rescaled      # 8 bits a tensor after rescaling of channels by 2^-6 to 2^6, 5 seeds
    bench/accuracy/compare_repairs.py --cases ranges        # SQNR in dB in place of accuracy: ranges by observers and by search_ranges
    bench/accuracy/compare_repairs.py --torch               # AdaRound in PyTorch beside it: nearest and adaround, W4A4 of digits_cnn

digits_cnn is the network of examples/01_digits with the weights committed there. mobile, MobileNetV2's blocks on 8 x 8 pixels, is trained
here (seeded, one thread, about a minute) and kept in the folder. The data are scikit-learn's digits: 512 images of the training two
thirds for calibration and for the methods, 599 of the other third for accuracy. First and last layers have 8 bits, scales of
weights and activations are those of the least squared error. Everything runs on one thread.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from digits_cnn import DATA, WEIGHTS, DigitsCnn, accuracy, load_digits  # noqa: E402
from train_digits import augment  # noqa: E402

CASES = {"W4A8": (4, 8), "W4A4": (4, 4), "W3A3": (3, 3), "W2A4": (2, 4), "rescaled": "-DRESCALED", "ranges": "-DRANGES"}


class Block(nn.Module):
    """An inverted residual with relus."""

    def __init__(self, inputs: int, wide: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.expand = nn.Conv2d(inputs, wide, 1, bias=False)
        self.n1 = nn.BatchNorm2d(wide)
        self.depthwise = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
        self.n2 = nn.BatchNorm2d(wide)
        self.project = nn.Conv2d(wide, outputs, 1, bias=False)
        self.n3 = nn.BatchNorm2d(outputs)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.n1(self.expand(x)))
        y = self.n3(self.project(F.relu(self.n2(self.depthwise(y)))))
        return x + y if self.adds else y


class Mobile(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(16)
        self.b1, self.b2, self.b3 = Block(16, 48, 16, 1), Block(16, 48, 24, 2), Block(24, 72, 24, 1)
        self.head = nn.Conv2d(24, 96, 1, bias=False)
        self.head_norm = nn.BatchNorm2d(96)
        self.classifier = nn.Linear(96, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.stem_norm(self.stem(x)))
        x = F.relu(self.head_norm(self.head(self.b3(self.b2(self.b1(x))))))
        return self.classifier(torch.flatten(F.avg_pool2d(x, 4), 1))


def train(path: Path, epochs: int) -> None:
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    images, labels = load_digits(test=False)
    model = Mobile()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs * (len(images) // 64))
    for _ in range(epochs):
        model.train()
        order = torch.randperm(len(images), generator=generator)
        for chosen in order[: len(order) // 64 * 64].split(64):
            loss = F.cross_entropy(model(augment(images[chosen], generator)), labels[chosen], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    print(f"mobile: {accuracy(model, *load_digits(test=True)):.2f} % in PyTorch")
    save_file(model.state_dict(), path)


def rounded(values: Tensor, scale: Tensor, low: int, high: int) -> Tensor:
    return torch.clamp(torch.round(values / scale), low, high) * scale


def torch_adaround(iterations: int, batch: int) -> None:
    """AdaRound as the library has it, in PyTorch: layer by layer over windows, W4A4 with the same ends of 8 bits."""
    model = DigitsCnn()
    model.load_state_dict(load_file(WEIGHTS))
    model.eval()
    convolutions = [("conv1", "bn1", 8), ("block.conv1", "block.bn1", 4), ("block.conv2", "block.bn2", 4)]
    convolutions += [("separable.depthwise", "separable.bn1", 4), ("separable.pointwise", "separable.bn2", 4)]
    layers = {}
    for name, norm, bits in convolutions:
        fused = torch.nn.utils.fusion.fuse_conv_bn_eval(model.get_submodule(name), model.get_submodule(norm))
        layers[name] = (fused.weight.detach(), fused.bias.detach(), fused.groups, fused.padding, bits)
    for name, bits in (("fc1", 4), ("fc2", 8)):
        layer = model.get_submodule(name)
        layers[name] = (layer.weight.detach()[:, :, None, None], layer.bias.detach(), 1, 0, bits)

    def best_scale(values: Tensor, bits: int, signed: bool) -> Tensor:
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        largest = values.abs().amax(1, keepdim=True).clamp(min=1e-8)
        best, scales = torch.full_like(largest, torch.inf), largest / high
        for k in range(20, 101):
            scale = largest * k / 100 / (high + 0.5 * signed)
            error = (rounded(values, scale, low, high) - values).pow(2).sum(1, keepdim=True)
            scales, best = torch.where(error < best, scale, scales), torch.minimum(error, best)
        return scales

    def run(x: Tensor, weights: dict, scales: dict | None, seen: dict) -> Tensor:
        """Logits; what each layer gets and gives is left in `seen`. With `scales` activations are rounded."""

        def value(name: str, y: Tensor) -> Tensor:
            seen[name] = y
            if scales is None:
                return y
            low = -128 if name == "logits" else 0
            return rounded(y, scales[name], low, low + 2 ** (8 if name in ("input", "conv1", "logits") else 4) - 1)

        def layer(name: str, y: Tensor) -> Tensor:
            seen["in " + name] = y
            weight, bias, groups, padding, _ = layers[name]
            return F.conv2d(y, weights.get(name, weight), bias, 1, padding, 1, groups)

        x = value("conv1", F.relu(layer("conv1", value("input", x))))
        y = value("block.conv1", F.relu(layer("block.conv1", x)))
        x = value("block", F.relu(x + layer("block.conv2", y)))
        x = value("depthwise", F.relu6(layer("separable.depthwise", F.max_pool2d(x, 2))))
        x = F.avg_pool2d(value("pointwise", F.relu(layer("separable.pointwise", x))), 2)
        x = value("fc1", F.relu(layer("fc1", torch.flatten(x, 1)[:, :, None, None])))
        return layer("fc2", x)[:, :, 0, 0]

    ends = {"block.conv2": lambda y: y, "separable.depthwise": F.relu6, "fc2": lambda y: y}
    images = load_digits(test=False)[0][:512]
    test, labels = load_digits(test=True)
    floats: dict = {}
    with torch.no_grad():
        run(images, {}, None, floats)
        scales = {}
        for name in ("input", "conv1", "block.conv1", "block", "depthwise", "pointwise", "fc1"):
            scales[name] = best_scale(floats[name].reshape(1, -1), 8 if name in ("input", "conv1") else 4, False)[0, 0]
    begin = time.process_time()
    nearest, chosen = {}, {}
    for name, (weight, bias, groups, padding, bits) in layers.items():
        flat = weight.flatten(1)
        scale = best_scale(flat, bits, True)
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        nearest[name] = rounded(flat, scale, low, high).view_as(weight)
        with torch.no_grad():
            seen: dict = {}
            run(images, chosen, scales, seen)
            inputs = F.unfold(seen["in " + name], weight.shape[2:], padding=padding).transpose(1, 2)
            inputs = inputs.reshape(-1, groups, flat.shape[1])
            end = ends.get(name, F.relu)
            target = end(F.conv2d(floats["in " + name], weight, bias, 1, padding, 1, groups)).permute(0, 2, 3, 1).reshape(len(inputs), -1)
            inputs, target = inputs[:16384], target[:16384]
        floor = torch.floor(flat / scale)
        alpha = (-torch.log(1.2 / (flat / scale - floor + 0.1) - 1)).requires_grad_(True)
        optimizer = torch.optim.Adam([alpha], 1e-2)
        grouped = (groups, flat.shape[0] // groups, flat.shape[1])
        for step in range(iterations):
            picked = torch.randint(len(inputs), (batch,))
            h = torch.clamp(torch.sigmoid(alpha) * 1.2 - 0.1, 0, 1)
            soft = (scale * torch.clamp(floor + h, low, high)).view(grouped)
            y = end(torch.einsum("ngk,gok->ngo", inputs[picked], soft).reshape(batch, -1) + bias)
            loss = (y - target[picked]).pow(2).sum(1).mean()
            if step >= 0.2 * iterations:
                t = (step - 0.2 * iterations) / (0.8 * iterations)
                beta = 2 + 9 * (1 + torch.cos(torch.tensor(torch.pi * t)))
                loss = loss + 0.01 * (1 - (2 * h - 1).abs().pow(beta)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        chosen[name] = (scale * torch.clamp(floor + (alpha >= 0), low, high)).detach().view_as(weight)
    seconds = time.process_time() - begin
    with torch.no_grad():
        for method, weights in (("nearest", nearest), ("adaround", chosen)):
            correct = (run(test, weights, scales, {}).argmax(1) == labels).double().mean().item()
            print(f"| PyTorch | W4A4 | {method} | {100 * correct:.2f} | {seconds if method == 'adaround' else 0:.1f} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="*", choices=("digits_cnn", "mobile"), default=["digits_cnn", "mobile"])
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--folder", type=Path, default=ROOT / "build/repairs", help="for programs and the trained network")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++") + " -O2 -march=native")
    parser.add_argument("--include", nargs="*", default=[], help="folders of xsimd, where the compiler does not find it")
    parser.add_argument("--epochs", type=int, default=60, help="of the training of mobile")
    parser.add_argument("--torch", action="store_true", help="AdaRound in PyTorch alone")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.folder.mkdir(parents=True, exist_ok=True)
    print("| network | case | method | accuracy | seconds |\n|---|---|---|--:|--:|", flush=True)
    if given.torch:
        torch.manual_seed(1)
        torch_adaround(iterations=2000, batch=256)
        return 0
    for network in given.networks:
        weights = WEIGHTS if network == "digits_cnn" else given.folder / f"mobile_{given.epochs}.safetensors"
        if not weights.exists():
            train(weights, given.epochs)
        for case in given.cases:
            bits = CASES[case]
            defines = [bits] if isinstance(bits, str) else [f"-DWEIGHT_BITS={bits[0]}", f"-DACTIVATION_BITS={bits[1]}"]
            program = given.folder / f"{network}_{case}"
            includes = [f"-I{ROOT / 'include'}"] + [part for folder in given.include for part in ("-isystem", folder)]
            subprocess.run(
                [*given.compiler.split(), "-std=c++20", f"-DNETWORK={network}", *defines, *includes, ROOT / "bench/accuracy/repairs.cpp", "-o", program],
                check=True,
            )
            result = subprocess.run([program, DATA, weights], check=True, capture_output=True, text=True)
            for line in result.stdout.splitlines():
                method, percent, seconds = line.split("\t")
                print(f"| {network} | {case} | {method} | {percent} | {float(seconds):.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
