# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/training_batch_norms.safetensors: six steps of a network with batch norms by PyTorch, in float and as its ConvBn QAT.

    python scripts/golden/training_batch_norms.py

The network: conv1 (2 to 4 channels, 3x3, padding 1, no bias), bn1, relu, max_pool 2, conv2 (4 to 4, 3x3, padding 1), bn2, relu, flatten, fc (36
to 3). Sixteen images of 6 x 6 x 2, batches of eight in order, cross entropy, SGD with rate 0.01 and momentum 0.9.

`float` is nn.BatchNorm2d in training mode. `coded` are torch.ao.nn.intrinsic.qat.ConvBn2d, whose weights times running factor are quantized
per channel by the largest magnitude of each step, codes -127 to 127, and whose output is divided by that factor; four steps with batch
statistics, then two with frozen ones (freeze_bn_stats). Activations are fake-quantized where the int8 network rounds, by the ranges of all images
in float with running statistics; fc's weights likewise, its bias in units of both scales.

In training mode ConvBn2d hands a gradient to gamma through the running factor as well: the error of rounding over gamma, which would be 0 if
rounding were. Here that factor is detached there; all other gradients of a first step are those of the module as it is, which is checked.

    data/images, labels                          NHWC, I32
    start/<layer>.weight, .bias, .running_mean, .running_var     as zeropoint has them inside: out x taps x in, columns of fc pixel by pixel
    float, coded /losses                         F32, one a step
    float, coded /<layer>.weight ...             after six steps
    coded/live.<layer>.running_mean, running_var after four
"""

import copy
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.ao.nn.intrinsic.qat import ConvBn2d
from torch.ao.quantization import QConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402

generator = np.random.default_rng(33)


def values(*extents: int, low: float, high: float) -> torch.Tensor:
    return torch.from_numpy(generator.uniform(low, high, extents).astype(np.float32))


images, labels = values(16, 2, 6, 6, low=-1, high=1), torch.from_numpy(generator.integers(0, 3, 16))


class RoundedWeights(nn.Module):
    """Per channel by the largest magnitude, codes -127 to 127."""

    def forward(self, w: torch.Tensor) -> torch.Tensor:
        scales = w.detach().flatten(1).abs().amax(1) / 127
        return torch.fake_quantize_per_channel_affine(w, scales, torch.zeros(len(w), dtype=torch.int32), 0, -127, 127)


class DetachedConvBn2d(ConvBn2d):
    """ConvBn2d._forward_approximate, whose factor gets no gradient while statistics are those of the batch."""

    def _forward(self, x: torch.Tensor) -> torch.Tensor:
        factor = self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
        if self.bn.training:
            factor = factor.detach()
        scaled = self.weight_fake_quant(self.weight * factor.reshape(-1, 1, 1, 1))
        y = self._conv_forward(x, scaled, None) / factor.reshape(1, -1, 1, 1)
        return self.bn(y if self.bias is None else y + self.bias.reshape(1, -1, 1, 1))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.fc = nn.Linear(36, 3)

    def forward(self, x: torch.Tensor, see=lambda name, x: x) -> torch.Tensor:
        x = see("input", x)
        x = F.max_pool2d(see("conv1", F.relu(self.bn1(self.conv1(x)))), 2)
        x = see("conv2", F.relu(self.bn2(self.conv2(x))))
        return see("fc", self.fc(x.flatten(1)))


def start() -> Net:
    net = Net()
    sizes = {"conv1.weight": 0.5, "conv2.weight": 0.3, "conv2.bias": 0.3, "fc.weight": 0.3, "fc.bias": 0.3}
    with torch.no_grad():
        for name, value in {**dict(net.named_parameters()), **dict(net.named_buffers())}.items():
            if name in sizes:
                value.copy_(values(*value.shape, low=-sizes[name], high=sizes[name]))
            elif name.endswith(("running_var", "weight")):
                value.copy_(values(*value.shape, low=0.5, high=1.5))
            elif value.ndim == 1:
                value.copy_(values(*value.shape, low=-0.3, high=0.3))
    with torch.no_grad():
        net.bn1.weight[1] *= -1
    return net.train()


def inside(state: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """In zeropoint's order."""
    ordered = {}
    for name, value in state.items():
        value = value.detach()
        if value.ndim == 4:
            value = value.permute(0, 2, 3, 1)
        elif name == "fc.weight":
            value = value.reshape(3, 4, 9).permute(0, 2, 1)
        if value.ndim != 0:
            ordered[name] = value.contiguous().numpy().copy()
    return ordered


class Coded(nn.Module):
    def __init__(self, net: Net, kind: type) -> None:
        super().__init__()
        qconfig = QConfig(activation=RoundedWeights, weight=RoundedWeights)
        self.net = copy.deepcopy(net)
        for number in ("1", "2"):
            conv, bn = getattr(net, f"conv{number}"), getattr(net, f"bn{number}")
            fused = kind(
                conv.in_channels, 4, 3, padding=1, bias=conv.bias is not None, qconfig=qconfig
            )  # its own parameters
            with torch.no_grad():
                fused.weight.copy_(conv.weight)
                if conv.bias is not None:
                    fused.bias.copy_(conv.bias)
            fused.bn.load_state_dict(bn.state_dict())
            setattr(self, f"conv{number}", fused.train())
        seen = {}

        def see(name: str, x: torch.Tensor) -> torch.Tensor:
            seen[name] = (min(x.min().item(), 0), max(x.max().item(), 0))
            return x

        with torch.no_grad():
            self.net.eval()(images, see)
        self.grids = {}
        for name, (low, high) in seen.items():
            scale = np.float32((np.float32(high) - np.float32(low)) / np.float32(255))
            self.grids[name] = (float(scale), int(-np.rint(np.float32(low) / scale)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def rounded(name: str, x: torch.Tensor) -> torch.Tensor:
            return torch.fake_quantize_per_tensor_affine(x, *self.grids[name], 0, 255)

        x = F.max_pool2d(rounded("conv1", F.relu(self.conv1(rounded("input", x)))), 2)
        x = rounded("conv2", F.relu(self.conv2(x)))
        w, b = self.net.fc.weight, self.net.fc.bias
        steps = self.grids["conv2"][0] * (w.detach().abs().amax(1) / 127).double()
        bias = b + ((torch.round(b.detach().double() / steps) * steps).float() - b).detach()
        return rounded("fc", F.linear(x.flatten(1), RoundedWeights()(w), bias))

    def named(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers by the float network's names."""
        all_of = {"fc.weight": self.net.fc.weight, "fc.bias": self.net.fc.bias}
        for number in ("1", "2"):
            conv = getattr(self, f"conv{number}")
            all_of[f"conv{number}.weight"] = conv.weight
            if conv.bias is not None:
                all_of[f"conv{number}.bias"] = conv.bias
            for name in ("weight", "bias", "running_mean", "running_var"):
                all_of[f"bn{number}.{name}"] = getattr(conv.bn, name)
        return all_of


def named(model: nn.Module) -> dict[str, torch.Tensor]:
    return model.named() if isinstance(model, Coded) else model.state_dict(keep_vars=True)


def check_first_gradients(net: Net) -> None:
    gradients = []
    for kind in (ConvBn2d, DetachedConvBn2d):
        model = Coded(net, kind)
        F.cross_entropy(model(images[:8]), labels[:8]).backward()
        gradients.append({name: value.grad for name, value in model.named().items() if value.requires_grad})
    for name, expected in gradients[0].items():
        distance = (expected - gradients[1][name]).abs().max() / expected.abs().max()
        is_gamma = name in ("bn1.weight", "bn2.weight")
        if name != "conv2.bias":  # which is 0 but for rounding
            print(f"{name}: {distance:.1e}")
            assert distance < (0.05 if is_gamma else 1e-5)


def train(model: nn.Module) -> dict[str, np.ndarray]:
    parameters = [value for value in named(model).values() if value.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=False)
    losses, live = [], {}
    for step in range(6):
        if step == 4 and isinstance(model, Coded):
            live = {
                f"live.{name}": value for name, value in inside(named(model)).items() if ".running" in name
            }
            model.conv1.freeze_bn_stats()
            model.conv2.freeze_bn_stats()
        batch = slice(8 * (step % 2), 8 * (step % 2) + 8)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": np.float32(losses), **inside(named(model)), **live}


def main() -> None:
    torch.set_num_threads(1)
    file = GoldenFile("training_batch_norms", "training_batch_norms.py", torch_versions("none"))
    net = start()
    check_first_gradients(net)
    file.add("data", [], {"images": images.permute(0, 2, 3, 1).numpy(), "labels": labels.numpy().astype(np.int32)})
    file.add("start", [], inside(named(net)))
    for kind, model in (("float", copy.deepcopy(net)), ("coded", Coded(net, DetachedConvBn2d))):
        result = train(model)
        print(kind, result["losses"])
        file.add(kind, [], result)
    file.save()


if __name__ == "__main__":
    main()
