# SPDX-License-Identifier: BSD-3-Clause
"""Rounding of few bits in PyTorch, written from the papers: what compare_repairs.py --torch runs beside the library.

PyTorch itself has none of these methods. Recipes are those of zeropoint's defaults: iterations, batches, rates, samples, data. A network is a list of
units, each a layer, or a residual block; batch norms are folded. Weights have a scale a channel, activations a scale and a zero point, both of
the least squared error.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class Layer:
    weight: Tensor  # as a convolution's
    bias: Tensor
    bits: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    end: Callable[[Tensor], Tensor] = F.relu  # what a target is compared behind


@dataclass
class Unit:
    layers: list[str]
    run: Callable[["Context", Tensor], Tensor]


class RoundStraight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: object, dy: Tensor) -> Tensor:
        return dy


def grid_of(values: Tensor, bits: int) -> tuple[float, int]:
    """Scale and zero point of the least squared error, one end after the other."""
    values = values.flatten()[:: max(1, values.numel() // 100_000)]
    low, high, top = min(float(values.min()), 0.0), max(float(values.max()), 0.0), 2**bits - 1
    parts = [1.0, 1.0]

    def grid() -> tuple[float, int]:
        scale = max((parts[1] * high - parts[0] * low) / top, 1e-8)
        return scale, round(-parts[0] * low / scale)

    def error() -> float:
        return float((torch.fake_quantize_per_tensor_affine(values, *grid(), 0, top) - values).square().sum())

    for end in (1, 0) if low < 0 else (1,):
        tried = []
        for k in range(20, 101, 2):
            parts[end] = k / 100
            tried.append((error(), -k))
        parts[end] = -min(tried)[1] / 100
    return grid()


class Context:
    """Runs a network: which weights layers have, whether and how values are rounded, what each layer got."""

    def __init__(self, network: "Few", rounds: bool, weights: dict[str, Tensor]) -> None:
        self.network, self.rounds, self.weights = network, rounds, weights
        self.inputs: dict[str, Tensor] = {}
        self.values: dict[str, Tensor] = {}

    def layer(self, name: str, x: Tensor) -> Tensor:
        self.inputs[name] = x
        one = self.network.layers[name]
        return F.conv2d(x, self.weights.get(name, one.weight), one.bias, one.stride, one.padding, 1, one.groups)

    def value(self, name: str, y: Tensor) -> Tensor:
        self.values[name] = y
        return self.on_grid(name, y) if self.rounds else y

    def averaged(self, name: str, y: Tensor, size: int) -> Tensor:
        """A mean keeps the grid of the value that it is of, and is one of codes, whose ties go to even, as in PyTorch's quantized pools: those of values
        go where scale * (1 / scale) happens to be rounded."""
        if not self.rounds:
            return F.avg_pool2d(y, size)
        scale, _ = self.network.grids[name]
        return torch.round(F.avg_pool2d(torch.round(y / scale), size)) * scale

    def on_grid(self, name: str, y: Tensor) -> Tensor:
        scale, zero_point = self.network.grids[name]
        return torch.fake_quantize_per_tensor_affine(y, scale, zero_point, 0, 2 ** self.network.bits_of(name) - 1)

    def run(self, x: Tensor) -> Tensor:
        x = self.value("input", x)
        for unit in self.network.units:
            x = unit.run(self, x)
        return x


class Few:
    """A network whose inner layers have few bits; the first and the last have 8."""

    def __init__(self, layers: dict[str, Layer], units: list[Unit], activation_bits: int, images: Tensor) -> None:
        self.layers, self.units, self.activation_bits, self.images = layers, units, activation_bits, images
        self.grids: dict[str, tuple[float, int]] = {}
        with torch.no_grad():
            self.floats = Context(self, False, {})
            self.outputs = self.floats.run(images)
            for name, values in self.floats.values.items():
                self.grids[name] = grid_of(values, self.bits_of(name))

    def bits_of(self, name: str) -> int:
        return 8 if name in (next(iter(self.layers)), "logits") else self.activation_bits  # the input is no layer

    def scales(self, name: str) -> Tensor:
        """[channels][1] of the least squared error."""
        layer = self.layers[name]
        flat, high = layer.weight.flatten(1), 2 ** (layer.bits - 1) - 1
        largest = flat.abs().amax(1, keepdim=True).clamp(min=1e-8)
        best, scales = torch.full_like(largest, torch.inf), largest
        for k in range(20, 101):
            scale = largest * k / 100 / (high + 0.5)
            error = (self.rounded(flat, scale, layer.bits) - flat).square().sum(1, keepdim=True)
            scales, best = torch.where(error < best, scale, scales), torch.minimum(error, best)
        return scales

    @staticmethod
    def rounded(values: Tensor, scale: Tensor, bits: int) -> Tensor:
        return torch.clamp(torch.round(values / scale), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) * scale

    @torch.no_grad()
    def inputs_of(self, name: str, weights: dict[str, Tensor]) -> Tensor:
        """What a layer gets in the network as it is quantized so far."""
        context = Context(self, True, weights)
        context.run(self.images)
        return context.inputs[name]

    def windows(self, name: str, x: Tensor) -> Tensor:
        """[outputs][groups][depth]."""
        layer = self.layers[name]
        depth = layer.weight[0].numel()
        return F.unfold(x, layer.weight.shape[2:], 1, layer.padding, layer.stride).transpose(1, 2).reshape(-1, layer.groups, depth)


def folded(model: nn.Module, convolution: str, norm: str, bits: int, end: Callable[[Tensor], Tensor] = F.relu) -> Layer:
    one = nn.utils.fusion.fuse_conv_bn_eval(model.get_submodule(convolution), model.get_submodule(norm))
    return Layer(one.weight.detach(), one.bias.detach(), bits, one.stride[0], one.padding[0], one.groups, end)


def linear(model: nn.Module, name: str, bits: int, end: Callable[[Tensor], Tensor]) -> Layer:
    one = model.get_submodule(name)
    return Layer(one.weight.detach()[:, :, None, None], one.bias.detach(), bits, end=end)


def same(x: Tensor) -> Tensor:
    return x


def single(name: str, end: Callable[[Tensor], Tensor], before: Callable[[Tensor], Tensor] = same, behind: Callable[[Tensor], Tensor] = same) -> Unit:
    return Unit([name], lambda c, x: behind(c.value(name, end(c.layer(name, before(x))))))


def pooled(name: str, size: int) -> Unit:
    return Unit([name], lambda c, x: c.averaged(name, c.value(name, F.relu(c.layer(name, x))), size))


def digits_cnn(model: nn.Module, weight_bits: int, activation_bits: int, images: Tensor) -> Few:
    layers = {"conv1": folded(model, "conv1", "bn1", 8),
              "block.conv1": folded(model, "block.conv1", "block.bn1", weight_bits),
              "block.conv2": folded(model, "block.conv2", "block.bn2", weight_bits, same),
              "depthwise": folded(model, "separable.depthwise", "separable.bn1", weight_bits, F.relu6),
              "pointwise": folded(model, "separable.pointwise", "separable.bn2", weight_bits),
              "fc1": linear(model, "fc1", weight_bits, F.relu), "logits": linear(model, "fc2", 8, same)}

    def block(c: Context, x: Tensor) -> Tensor:
        y = c.value("block.conv1", F.relu(c.layer("block.conv1", x)))
        return c.value("block", F.relu(x + c.layer("block.conv2", y)))

    units = [single("conv1", F.relu), Unit(["block.conv1", "block.conv2"], block),
             single("depthwise", F.relu6, lambda x: F.max_pool2d(x, 2)), pooled("pointwise", 2),
             single("fc1", F.relu, lambda x: x.flatten(1)[:, :, None, None]), single("logits", same, behind=lambda x: x[:, :, 0, 0])]
    return Few(layers, units, activation_bits, images)


def mobile(model: nn.Module, weight_bits: int, activation_bits: int, images: Tensor) -> Few:
    layers = {"stem": folded(model, "stem", "stem_norm", 8)}
    units = [single("stem", F.relu)]
    for block in ("b1", "b2", "b3"):
        names = [f"{block}.{part}" for part in ("expand", "depthwise", "project")]
        for i, name in enumerate(names):
            layers[name] = folded(model, name, f"{block}.n{i + 1}", weight_bits, F.relu if i < 2 else same)
        if model.get_submodule(block).adds:
            def residual(c: Context, x: Tensor, names: list[str] = names, block: str = block) -> Tensor:
                y = c.value(names[0], F.relu(c.layer(names[0], x)))
                y = c.value(names[1], F.relu(c.layer(names[1], y)))
                return c.value(block, x + c.layer(names[2], y))

            units.append(Unit(names, residual))
        else:
            units += [single(name, layers[name].end) for name in names]
    layers |= {"head": folded(model, "head", "head_norm", weight_bits), "logits": linear(model, "classifier", 8, same)}
    units += [pooled("head", 4), single("logits", same, behind=lambda x: x[:, :, 0, 0])]
    return Few(layers, units, activation_bits, images)


@torch.no_grad()
def accuracy(model: Context, images: Tensor, labels: Tensor) -> float:
    return 100 * (model.run(images).argmax(1) == labels).double().mean().item()


def nearest(network: Few) -> dict[str, Tensor]:
    return {name: network.rounded(layer.weight.flatten(1), network.scales(name), layer.bits).view_as(layer.weight)
            for name, layer in network.layers.items()}


class Rounding:
    """AdaRound's soft choice between the two codes beside a weight (Nagel et al. 2020)."""

    def __init__(self, network: Few, name: str) -> None:
        layer = network.layers[name]
        flat, self.bits, self.shape = layer.weight.flatten(1), layer.bits, layer.weight.shape
        self.scale = network.scales(name)
        self.floor = torch.floor(flat / self.scale)
        self.alpha = (-torch.log(1.2 / (flat / self.scale - self.floor + 0.1) - 1)).requires_grad_(True)

    def codes(self, up: Tensor) -> Tensor:
        return self.scale * torch.clamp(self.floor + up, -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1)

    def share(self) -> Tensor:
        return torch.clamp(torch.sigmoid(self.alpha) * 1.2 - 0.1, 0, 1)

    def penalty(self, h: Tensor, step: int, iterations: int) -> Tensor | float:
        if step < 0.2 * iterations:
            return 0.0
        beta = 2 + 9 * (1 + math.cos(math.pi * (step - 0.2 * iterations) / (0.8 * iterations)))
        return 0.01 * (1 - (2 * h - 1).abs().pow(beta)).sum()

    def hard(self) -> Tensor:
        return self.codes((self.alpha >= 0).float()).detach().view(self.shape)


def adaround_layer(network: Few, name: str, chosen: dict[str, Tensor], iterations: int, batch: int) -> Tensor:
    layer = network.layers[name]
    with torch.no_grad():
        inputs = network.windows(name, network.inputs_of(name, chosen))
        target = F.conv2d(network.floats.inputs[name], layer.weight, layer.bias, layer.stride, layer.padding, 1, layer.groups)
        target = layer.end(target).permute(0, 2, 3, 1).reshape(-1, len(layer.bias))
        kept = torch.randperm(len(inputs))[:16384]
        inputs, target = inputs[kept], target[kept]
    rounding = Rounding(network, name)
    optimizer = torch.optim.Adam([rounding.alpha], 1e-2)
    grouped = (layer.groups, len(layer.bias) // layer.groups, inputs.shape[2])
    for step in range(iterations):
        picked = torch.randint(len(inputs), (batch,))
        h = rounding.share()
        y = torch.einsum("ngk,gok->ngo", inputs[picked], rounding.codes(h).view(grouped)).reshape(batch, -1)
        loss = (layer.end(y + layer.bias) - target[picked]).square().sum(1).mean() + rounding.penalty(h, step, iterations)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return rounding.hard()


def adaround(network: Few) -> dict[str, Tensor]:
    chosen: dict[str, Tensor] = {}
    for name in network.layers:
        chosen[name] = adaround_layer(network, name, chosen, 2000, 256)
    return chosen


def reconstruct_blocks(network: Few) -> dict[str, Tensor]:
    """BRECQ (Li et al. 2021) for residual blocks, AdaRound for layers outside."""
    chosen: dict[str, Tensor] = {}
    iterations, batch = 1000, 32
    for unit in network.units:
        if len(unit.layers) == 1:
            chosen[unit.layers[0]] = adaround_layer(network, unit.layers[0], chosen, 2000, 256)
            continue
        inputs = network.inputs_of(unit.layers[0], chosen)
        with torch.no_grad():
            target = unit.run(Context(network, False, {}), network.floats.inputs[unit.layers[0]])
        roundings = {name: Rounding(network, name) for name in unit.layers}
        optimizer = torch.optim.Adam([r.alpha for r in roundings.values()], 1e-2)
        for step in range(iterations):
            picked = torch.randint(len(inputs), (batch,))
            shares = {name: r.share() for name, r in roundings.items()}
            context = Context(network, True, {name: r.codes(shares[name]).view(r.shape) for name, r in roundings.items()})
            y = unit.run(context, inputs[picked])
            loss = (y - target[picked]).square().sum(1).mean()
            for name, r in roundings.items():
                loss = loss + r.penalty(shares[name], step, iterations)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        chosen |= {name: r.hard() for name, r in roundings.items()}
    return chosen


@torch.no_grad()
def gptq(network: Few) -> dict[str, Tensor]:
    """Frantar et al. 2022, with 1 % damping, in the order of inputs; layers of groups have a Hessian each."""
    chosen: dict[str, Tensor] = {}
    for name, layer in network.layers.items():
        windows = network.windows(name, network.inputs_of(name, chosen))
        flat, scales = layer.weight.flatten(1), network.scales(name)
        depth, group_out = flat.shape[1], len(flat) // layer.groups
        parts = []
        for g in range(layer.groups):
            x = windows[:, g].double()
            hessian = 2 * x.T @ x
            dead = hessian.diagonal() == 0
            hessian[dead, dead] = 1
            hessian += 0.01 * hessian.diagonal().mean() * torch.eye(depth, dtype=torch.double)
            upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(hessian)), upper=True)
            w = flat[g * group_out:(g + 1) * group_out].double().clone()
            scale = scales[g * group_out:(g + 1) * group_out].double()
            w[:, dead] = 0
            codes = torch.empty_like(w)
            for begin in range(0, depth, 128):
                end = min(begin + 128, depth)
                errors = torch.zeros(group_out, end - begin, dtype=torch.double)
                for k in range(begin, end):
                    codes[:, k:k + 1] = network.rounded(w[:, k:k + 1], scale, layer.bits)
                    errors[:, k - begin] = (w[:, k] - codes[:, k]) / upper[k, k]
                    w[:, k + 1:end] -= errors[:, k - begin:k - begin + 1] * upper[k, k + 1:end]
                w[:, end:] -= errors @ upper[begin:end, end:]
            parts.append(codes)
        chosen[name] = torch.cat(parts).float().view_as(layer.weight)
    return chosen


class LearnedStep(Context):
    """LSQ (Esser et al. 2020): scales of weights, a channel each, and of values are trained, with their gradients scaled by 1 / sqrt(n q)."""

    def __init__(self, network: Few) -> None:
        super().__init__(network, True, {})
        self.floats = {name: nn.Parameter(layer.weight.clone()) for name, layer in network.layers.items()}
        self.biases = {name: nn.Parameter(layer.bias.clone()) for name, layer in network.layers.items()}
        self.weight_scales = {name: nn.Parameter(network.scales(name)) for name in network.layers}
        self.value_scales = {name: nn.Parameter(torch.tensor(scale)) for name, (scale, _) in network.grids.items()}

    @staticmethod
    def rounded(x: Tensor, scale: Tensor, zero_point: int, low: int, high: int, count: int) -> Tensor:
        factor = 1 / math.sqrt(count * high)
        scale = (scale - scale * factor).detach() + scale * factor
        return (torch.clamp(RoundStraight.apply(x / scale) + zero_point, low, high) - zero_point) * scale

    def layer(self, name: str, x: Tensor) -> Tensor:
        one, high = self.network.layers[name], 2 ** (self.network.layers[name].bits - 1) - 1
        weight = self.floats[name]
        weight = self.rounded(weight.flatten(1), self.weight_scales[name], 0, -high - 1, high, weight[0].numel()).view_as(weight)
        return F.conv2d(x, weight, self.biases[name], one.stride, one.padding, 1, one.groups)

    def averaged(self, name: str, y: Tensor, size: int) -> Tensor:
        return self.on_grid(name, F.avg_pool2d(y, size))  # with gradients

    def on_grid(self, name: str, y: Tensor) -> Tensor:
        high = 2 ** self.network.bits_of(name) - 1
        return self.rounded(y, self.value_scales[name], self.network.grids[name][1], 0, high, y[0].numel())


def learned_steps(network: Few, images: Tensor, labels: Tensor, rate: float) -> LearnedStep:
    """The recipe of bench/accuracy/repairs.cpp: 8 epochs in batches of 32."""
    model = LearnedStep(network)
    decayed = list(model.floats.values())
    others = [*model.biases.values(), *model.weight_scales.values(), *model.value_scales.values()]
    groups = [{"params": decayed, "weight_decay": 1e-4}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.SGD(groups, rate, momentum=0.9)
    epochs, batches = 8, -(-len(images) // 32)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * batches)
    for _ in range(epochs):
        for picked in torch.randperm(len(images)).split(32):
            loss = F.cross_entropy(model.run(images[picked]), labels[picked])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(decayed + others, 5)
            optimizer.step()
            schedule.step()
    return model


def compare(network: Few, training: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor], augmented: Tensor, method: str,
            seed: int) -> tuple[float, float, float]:
    """Accuracy in percent on the test images and on copies of all of them one after another, and processor seconds."""
    torch.manual_seed(seed)
    begin = time.process_time()
    if method == "learned steps":
        model: Context = learned_steps(network, *training, rate=0.01)
    else:
        weights = {"nearest": nearest, "gptq": gptq, "adaround": adaround, "reconstruct_blocks": reconstruct_blocks}[method](network)
        model = Context(network, True, weights)
    seconds = time.process_time() - begin
    copies = augmented.split(len(test[1]))
    return accuracy(model, *test), sum(accuracy(model, images, test[1]) for images in copies) / len(copies), seconds
