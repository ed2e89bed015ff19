# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/gptq_network.safetensors: GPTQ of a network of three convolutions with weights of 2 bits and activations of 4.

    python scripts/golden/gptq_network.py

a: 3x3 padded, 2 -> 4 channels, relu; b: 3x3 depthwise, stride 2, padded, relu; c: 1x1, 2 groups, 4 -> 6 channels; images of 6x6. In float64 by
PyTorch's unfold, conv2d and linalg; nothing here shares code or formulas in code with the library. What is fixed: layers go in order, a layer
sees what it gets behind the layers that are already rounded, with activations and biases rounded as the integer network has them (a bias is a
multiple of input scale * weight scale); a Hessian a group; inputs in the order of taps, then channels.

    model/a.weight, a.bias, ...       float32, as PyTorch's state dicts
    network/images [40, 6, 6, 2]      height, width, channels
    network/scale [4], zero_point     of images, a, b, c
    network/<layer>.scales            a channel
    network/<layer>.codes I32         [outputs][taps][channels of a group]
    network/nearest.outputs, network/outputs I32  [8, 3, 3, 6]: codes of the first 8 images' outputs, by nearest codes and by GPTQ

Nothing is nearer to a tie than `margin`, and at least 3 codes are others where biases are not rounded, and where layers see what they get in the
float network.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402

LAYERS = {"a": dict(stride=1, padding=1, groups=1), "b": dict(stride=2, padding=1, groups=4), "c": dict(stride=1, padding=0, groups=2)}
SHAPES = {"a": (4, 2, 3, 3), "b": (4, 1, 3, 3), "c": (6, 2, 1, 1)}
LOW, HIGH, TOP = -2, 1, 15


class TooNear(Exception):
    """A rounding near a tie, which float arithmetic may decide otherwise."""


def rounded(steps: Tensor, low: float, high: float, margin: float) -> Tensor:
    inside = steps[(steps > low - 0.5) & (steps < high + 0.5)]
    if inside.numel() and float((inside - torch.floor(inside) - 0.5).abs().min()) < margin:
        raise TooNear
    return torch.clamp(torch.round(steps), low, high)


class Network:
    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.images = torch.from_numpy(np.float32(draw.normal(0, 1, (40, 2, 6, 6))))
        self.weights, self.biases, self.scales = {}, {}, {}
        for name, shape in SHAPES.items():
            depth = int(np.prod(shape[1:]))
            self.weights[name] = torch.from_numpy(np.float32(draw.normal(0, depth**-0.5, shape)))
            self.biases[name] = torch.from_numpy(np.float32(draw.normal(0, 0.5, shape[0])))
            self.scales[name] = self.weights[name].abs().flatten(1).amax(1) * np.float32(0.55)
        self.grids = []
        for values in self.float_values():
            low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
            scale = float(np.float32((high - low) / TOP * 0.8))  # the largest values are clipped
            self.grids.append((scale, round(-low * 0.8 / scale)))

    def float_values(self) -> list[Tensor]:
        values = [self.images.double()]
        for name, how in LAYERS.items():
            y = F.conv2d(values[-1], self.weights[name].double(), self.biases[name].double(), **how)
            values.append(y if name == "c" else F.relu(y))
        return values

    def on_grid(self, values: Tensor, number: int, margin: float) -> Tensor:
        scale, zero_point = self.grids[number]
        return (rounded(values / scale + zero_point, 0, TOP, margin) - zero_point) * scale

    def bias(self, number: int, name: str) -> Tensor:
        step = self.grids[number][0] * self.scales[name].double()
        return rounded(self.biases[name].double() / step, -np.inf, np.inf, 1e-3) * step

    def run(self, codes: dict[str, Tensor], rounds_biases: bool, margin: float) -> list[Tensor]:
        """What each layer gets, and last what comes out: layers of `codes` alone are run."""
        values = [self.on_grid(self.images.double(), 0, margin)]
        for number, name in enumerate(codes):
            weight = (codes[name] * self.scales[name].double()[:, None]).view(SHAPES[name])
            bias = self.bias(number, name) if rounds_biases else self.biases[name].double()
            y = F.conv2d(values[-1], weight, bias, **LAYERS[name])
            values.append(self.on_grid(y if name == "c" else F.relu(y), number + 1, margin))
        return values

    def nearest(self) -> dict[str, Tensor]:
        return {name: rounded(w.double().flatten(1) / self.scales[name].double()[:, None], LOW, HIGH, 1e-3) for name, w in self.weights.items()}

    def gptq(self, rounds_biases: bool = True, sees_floats: bool = False, margin: float = 2e-5) -> tuple[dict[str, Tensor], list[Tensor]]:
        codes: dict[str, Tensor] = {}
        for number, (name, how) in enumerate(LAYERS.items()):
            x = self.float_values()[number] if sees_floats else self.run(codes, rounds_biases, margin)[-1]
            outputs, inputs, *taps = SHAPES[name]
            depth, groups = inputs * taps[0] * taps[1], how["groups"]
            # [windows][groups][channels][taps] to taps before channels.
            windows = F.unfold(x, taps, 1, how["padding"], how["stride"]).transpose(1, 2).reshape(-1, groups, inputs, taps[0] * taps[1])
            windows = windows.transpose(2, 3).reshape(-1, groups, depth)
            w = self.weights[name].double().flatten(2).transpose(1, 2).reshape(groups, outputs // groups, depth)
            s = self.scales[name].double().view(groups, -1)
            chosen = torch.zeros_like(w)
            for g in range(groups):
                hessian = 2 / len(windows) * windows[:, g].T @ windows[:, g]
                hessian += 0.01 * torch.diag(hessian).mean() * torch.eye(depth, dtype=torch.float64)
                upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(hessian)), upper=True)
                left = w[g].clone()
                for k in range(depth):
                    chosen[g, :, k] = rounded(left[:, k] / s[g], LOW, HIGH, margin and 1e-3)
                    left[:, k:] -= ((left[:, k] - chosen[g, :, k] * s[g]) / upper[k, k])[:, None] * upper[k, k:]
            codes[name] = chosen.view(outputs, -1, inputs).transpose(1, 2).reshape(outputs, depth)
        return codes, self.run(codes, rounds_biases, margin)


def differ(a: dict[str, Tensor], b: dict[str, Tensor]) -> int:
    return sum(int((a[name] != b[name]).sum()) for name in LAYERS)


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(10_000):
        network = Network(seed)
        try:
            codes, values = network.gptq()
            nearest = network.nearest()
            before = network.run(nearest, True, 2e-5)
        except TooNear:
            continue
        others = network.gptq(rounds_biases=False, margin=0)[0], network.gptq(sees_floats=True, margin=0)[0], nearest
        if min(differ(codes, other) for other in others) >= 3:
            break
    print(f"seed {seed}: {[differ(codes, other) for other in others]} codes are others without rounded biases, by float inputs, nearest")
    file = GoldenFile("gptq_network", "gptq_network.py", torch_versions("none"))
    for name in LAYERS:
        file.add("model", [], {f"{name}.weight": network.weights[name].numpy(), f"{name}.bias": network.biases[name].numpy()})
        inner = codes[name].view(SHAPES[name]).flatten(2).transpose(1, 2)
        file.add("network", [], {f"{name}.scales": network.scales[name].numpy(), f"{name}.codes": inner.numpy().astype(np.int32)})

    def output_codes(values: Tensor) -> np.ndarray:
        scale, zero_point = network.grids[3]
        return (values[:8] / scale + zero_point).round().permute(0, 2, 3, 1).numpy().astype(np.int32)

    scales, zero_points = zip(*network.grids)
    file.add("network", [], {"images": network.images.permute(0, 2, 3, 1).numpy(), "scale": np.float32(scales), "zero_point": np.int32(zero_points),
                             "nearest.outputs": output_codes(before[-1]), "outputs": output_codes(values[-1])})
    file.save()


if __name__ == "__main__":
    main()
