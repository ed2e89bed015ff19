#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Methods that repair accuracy, on handwritten digits: a table of accuracy and processor seconds.

    pip install --extra-index-url https://download.pytorch.org/whl/cpu -r bench/accuracy/requirements.txt
    bench/accuracy/compare_repairs.py                       # all cases, both networks; some minutes to compile
    bench/accuracy/compare_repairs.py --networks mobile --cases W4A4
    bench/accuracy/compare_repairs.py --cases rescaled      # 8 bits a tensor after rescaling of channels by 2^-6 to 2^6, 5 seeds
    bench/accuracy/compare_repairs.py --cases ranges        # SQNR in dB in place of accuracy: ranges by observers and by search_ranges
    bench/accuracy/compare_repairs.py --learned --cases W4A4 W3A3 W2A4    # learned step sizes
    bench/accuracy/compare_repairs.py --torch --cases W4A4 W3A3 W2A4      # the same methods in PyTorch (torch_repairs.py)
    bench/accuracy/compare_repairs.py --trainings 5 ...                   # networks trained from five seeds, each with a seed of its own for methods
    bench/accuracy/compare_repairs.py --trainings 5 --seeds 5 ...         # and four more seeds each: what chance does to one network is averaged

digits_cnn is the network of examples/01_digits with the weights committed there; of others with --trainings, the recipe of
scripts/train_digits.py makes them. mobile, MobileNetV2's blocks on 8 x 8 pixels, is trained here. Trained networks (seeded, one thread, a minute or
two each) are kept in the folder. A line a run comes first, then means with their standard errors. "augmented" is the accuracy on the test images
turned and moved as in training, 20 times: a draw moves it by a fifth to a third of what it moves the other. Seconds are those of the processor for
what makes the network: the method, and in the library convert. The data are scikit-learn's digits: 512 images of the training two
thirds for calibration and for the methods, 599 of the other third for accuracy. First and last layers have 8 bits, scales of
weights and activations are those of the least squared error. Everything runs on one thread.
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from digits_cnn import DATA, WEIGHTS, DigitsCnn, accuracy, load_digits  # noqa: E402
import train_digits  # noqa: E402

import torch_repairs  # noqa: E402

CASES = {"W4A8": (4, 8), "W4A4": (4, 4), "W3A3": (3, 3), "W2A4": (2, 4), "rescaled": "-DRESCALED", "ranges": "-DRANGES"}


TORCH_METHODS = ["nearest", "gptq", "adaround", "reconstruct_blocks", "learned steps"]


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


def train(path: Path, epochs: int, seed: int) -> None:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    images, labels = load_digits(test=False)
    model = Mobile()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs * (len(images) // 64))
    for _ in range(epochs):
        model.train()
        order = torch.randperm(len(images), generator=generator)
        for chosen in order[: len(order) // 64 * 64].split(64):
            loss = F.cross_entropy(model(train_digits.augment(images[chosen], generator)), labels[chosen], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    print(f"mobile: {accuracy(model, *load_digits(test=True)):.2f} % in PyTorch")
    save_file(model.state_dict(), path)


def trained_network(name: str, number: int, folder: Path, epochs: int) -> Path:
    """The weights of a network that was trained from seed `number`; of digits_cnn the first are those that are committed."""
    if name == "digits_cnn":
        path = WEIGHTS if number == 1 else folder / f"digits_cnn_{number}.safetensors"
        if not path.exists():
            save_file(train_digits.train(*load_digits(test=False), seed=number).state_dict(), path)
    else:
        path = folder / f"mobile_{epochs}{'' if number == 1 else f'_{number}'}.safetensors"
        if not path.exists():
            train(path, epochs, number)
    return path


def augmented_images() -> Tensor:
    """All test images in their order, turned and moved, once a copy."""
    generator, (images, _) = torch.Generator().manual_seed(1), load_digits(test=True)
    return torch.cat([train_digits.augment(images, generator) for _ in range(20)])


def run_torch(name: str, bits: tuple[int, int], weights: Path, methods: list[str], seeds: range) -> Iterator[tuple[str, float, float, float]]:
    training, test, augmented = load_digits(test=False), load_digits(test=True), augmented_images()
    model = DigitsCnn() if name == "digits_cnn" else Mobile()
    model.load_state_dict(load_file(weights))
    few = (torch_repairs.digits_cnn if name == "digits_cnn" else torch_repairs.mobile)(model.eval(), *bits, training[0][:512])
    for method in methods:
        for seed in seeds[:1] if method in ("nearest", "gptq") else seeds:  # these draw no numbers
            yield (f"PyTorch {method}", *torch_repairs.compare(few, training, test, augmented, method, seed))


def run_library(program: Path, augmented: Path, case: str, weights: Path, methods: list[str], seeds: range) -> Iterator[tuple[str, float, float, float]]:
    command = [program, DATA, augmented, weights, case, str(seeds[0]), str(seeds[-1]), *methods]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            method, *numbers = line.split("\t")
            yield method, *map(float, numbers)
    if running.returncode != 0:
        sys.exit(f"{program} ended with {running.returncode}")


def mean_and_error(networks: list[list[float]]) -> str:
    """Of several networks the standard error is that of their means, of one network that of its runs."""
    means = [statistics.mean(of_network) for of_network in networks]
    independent = means if len(means) > 1 else networks[0]
    return f"{statistics.mean(means):.2f} | {statistics.stdev(independent) / len(independent) ** 0.5:.2f}"


def print_means(runs: dict[tuple[str, str, str], dict[int, list[tuple[float, float, float]]]]) -> None:
    if all(sum(map(len, networks.values())) == 1 for networks in runs.values()):
        return
    print("\n| network | case | method | runs | mean | standard error | least to most | augmented | standard error | least seconds |\n"
          "|---|---|---|--:|--:|--:|---|--:|--:|--:|")
    for key, networks in runs.items():
        percents, augmented, seconds = zip(*(run for of_network in networks.values() for run in of_network))
        if len(percents) == 1:
            continue
        columns = [mean_and_error([[run[i] for run in of_network] for of_network in networks.values()]) for i in (0, 1)]
        print(f"| {' | '.join(key)} | {len(percents)} | {columns[0]} | {min(percents):.2f} to {max(percents):.2f} | {columns[1]} | {min(seconds):.2f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="*", choices=("digits_cnn", "mobile"), default=["digits_cnn", "mobile"])
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--folder", type=Path, default=ROOT / "build/repairs", help="for programs and the trained network")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++") + " -O2 -march=native")
    parser.add_argument("--include", nargs="*", default=[], help="folders of xsimd, where the compiler does not find it")
    parser.add_argument("--epochs", type=int, default=60, help="of the training of mobile")
    parser.add_argument("--trainings", type=int, default=1, help="networks of a kind, trained from seeds 1, 2, ...")
    parser.add_argument("--methods", nargs="*", default=[], help="these alone")
    parser.add_argument("--learned", action="store_true", help="training with learned step sizes")
    parser.add_argument("--torch", action="store_true", help="PyTorch alone")
    parser.add_argument("--seeds", type=int, help="of what draws numbers, on each network: default 5 of one, 1 of several")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.folder.mkdir(parents=True, exist_ok=True)
    print("| network | case | method | accuracy | augmented | seconds |\n|---|---|---|--:|--:|--:|", flush=True)
    runs: dict[tuple[str, str, str], dict[int, list[tuple[float, float, float]]]] = {}
    augmented = given.folder / "augmented.safetensors"
    save_file({"images": augmented_images()[:, 0].contiguous()}, augmented)
    draws = given.seeds or (1 if given.trainings > 1 else 5)
    built: set[Path] = set()
    for network, number, case in itertools.product(given.networks, range(1, 1 + given.trainings), given.cases):
        weights, bits = trained_network(network, number, given.folder, given.epochs), CASES[case]
        seeds = range(number, number + draws)
        if given.torch:
            results = run_torch(network, bits, weights, given.methods or TORCH_METHODS, seeds)
        else:
            kind = bits if isinstance(bits, str) else "-DLEARNED" if given.learned else "-DFEW"
            program = given.folder / f"{network}{kind}"
            if program not in built:  # one program for all numbers of bits
                includes = [f"-I{ROOT / 'include'}"] + [part for folder in given.include for part in ("-isystem", folder)]
                subprocess.run([*given.compiler.split(), "-std=c++20", f"-DNETWORK={network}", kind, *includes,
                                ROOT / "bench/accuracy/repairs.cpp", "-o", program], check=True)
                built.add(program)
            results = run_library(program, augmented, case, weights, given.methods, seeds)
        for method, *numbers in results:
            runs.setdefault((network, case, method), {}).setdefault(number, []).append(tuple(numbers))
            print(f"| {network} {number} | {case} | {method} | {' | '.join(f'{x:.2f}' for x in numbers)} |", flush=True)
    print_means(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
