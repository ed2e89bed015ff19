# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/training_loop.safetensors: six steps of a small network by PyTorch, in float, as int8, and with learned scales.

    python scripts/golden/training_loop.py

The network: conv1 (2 to 4 channels, 3x3, padding 1), relu, max_pool 2, conv2 (4 to 4, 3x3, padding 1) + its input, relu, flatten, fc (36 to 3).
Sixteen images of 6 x 6 x 2, batches of eight in order, cross entropy, SGD with rate 0.01, of scales and
zero points 1e-4, and momentum 0.9. As int8 values are fake-quantized
where the int8 network rounds: the input, conv1's relu, the relu behind the sum, fc; weights per channel by the largest magnitude at each step, biases in
units of both scales. Ranges are those of all images in float before training.

    images, labels                              NHWC, I32
    start/<layer>.weight, .bias                 as zeropoint has them inside: out x taps x in, columns of fc pixel by pixel
    float, coded, learned /losses               F32, one a step
    float, coded, learned /<layer>.weight ...   after six steps
    learned/scales                              of the four ranges, after six steps
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402

generator = np.random.default_rng(21)
NAMES = ("input", "conv1", "sum", "fc")


def values(*extents: int, size: float) -> torch.Tensor:
    return torch.from_numpy(generator.uniform(-size, size, extents).astype(np.float32))


images, labels = values(16, 2, 6, 6, size=1), torch.from_numpy(generator.integers(0, 3, 16))
start = {
    "conv1.weight": values(4, 2, 3, 3, size=0.5), "conv1.bias": values(4, size=0.3),
    "conv2.weight": values(4, 4, 3, 3, size=0.3), "conv2.bias": values(4, size=0.3),
    "fc.weight": values(3, 36, size=0.3), "fc.bias": values(3, size=0.3),
}  # fmt: skip


def inside(parameters: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """In zeropoint's order."""
    ordered = {}
    for name, value in parameters.items():
        value = value.detach()
        if value.ndim == 4:
            value = value.permute(0, 2, 3, 1)
        elif name == "fc.weight":
            value = value.reshape(3, 4, 9).permute(0, 2, 1)
        ordered[name] = value.contiguous().numpy()
    return ordered


def forward(p: dict[str, torch.Tensor], x: torch.Tensor, activation, layer) -> torch.Tensor:
    x = activation("input", x)
    x = activation("conv1", F.relu(layer("conv1", "input", x, lambda x, w, b: F.conv2d(x, w, b, padding=1))))
    x = F.max_pool2d(x, 2)
    x = activation("sum", F.relu(layer("conv2", "conv1", x, lambda x, w, b: F.conv2d(x, w, b, padding=1)) + x))
    return activation("fc", layer("fc", "sum", x.flatten(1), F.linear))


def train(kind: str) -> dict[str, np.ndarray]:
    p = {name: value.clone().requires_grad_() for name, value in start.items()}
    seen: dict[str, tuple[float, float]] = {}

    def plain(name: str, x: torch.Tensor) -> torch.Tensor:
        seen[name] = (min(x.min().item(), 0), max(x.max().item(), 0))
        return x

    def plain_layer(name, _, x, function):
        return function(x, p[f"{name}.weight"], p[f"{name}.bias"])

    forward(p, images, plain, plain_layer)
    scales, zero_points = {}, {}
    for name, (low, high) in seen.items():
        scale = np.float32((np.float32(high) - np.float32(low)) / np.float32(255))
        scales[name] = torch.tensor([scale], requires_grad=kind == "learned")
        zero_points[name] = torch.tensor([float(-np.rint(np.float32(low) / scale))], requires_grad=kind == "learned")

    sizes = {"input": 72, "conv1": 144, "sum": 36, "fc": 3}

    def coded(name: str, x: torch.Tensor) -> torch.Tensor:
        if kind == "learned":
            factor = 1 / np.sqrt(sizes[name] * 255)
            return torch._fake_quantize_learnable_per_tensor_affine(x, scales[name], zero_points[name], 0, 255, factor)
        return torch.fake_quantize_per_tensor_affine(x, scales[name].item(), int(zero_points[name].item()), 0, 255)

    def coded_layer(name, read, x, function):
        w, b = p[f"{name}.weight"], p[f"{name}.bias"]
        weight_scales = w.detach().flatten(1).abs().amax(1) / 127
        steps = scales[read].detach().double() * weight_scales.double()
        bias = b + ((torch.round(b.detach().double() / steps) * steps).float() - b).detach()
        w = torch.fake_quantize_per_channel_affine(w, weight_scales, torch.zeros(len(b), dtype=torch.int32), 0, -127, 127)
        return function(x, w, bias)

    groups = [{"params": list(p.values())}]
    if kind == "learned":
        groups.append({"params": [*scales.values(), *zero_points.values()], "lr": 1e-4})
    optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9, foreach=False)
    losses = []
    for step in range(6):
        batch = slice(8 * (step % 2), 8 * (step % 2) + 8)
        optimizer.zero_grad()
        how = (plain, plain_layer) if kind == "float" else (coded, coded_layer)
        loss = F.cross_entropy(forward(p, images[batch], *how), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    result = {"losses": np.float32(losses), **inside(p)}
    if kind == "learned":
        result["scales"] = np.float32([scales[name].item() for name in NAMES])
    return result


def main() -> None:
    torch.set_num_threads(1)
    file = GoldenFile("training_loop", "training_loop.py", torch_versions("none"))
    file.add("data", [], {"images": images.permute(0, 2, 3, 1).numpy(), "labels": labels.numpy().astype(np.int32)})
    file.add("start", [], inside(start))
    for kind in ("float", "coded", "learned"):
        result = train(kind)
        print(kind, result["losses"], result.get("scales", ""))
        file.add(kind, [], result)
    file.save()


if __name__ == "__main__":
    main()
