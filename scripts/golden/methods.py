# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/methods.safetensors: methods that repair accuracy without training.

    python scripts/golden/methods.py

Made by numpy in float64 and by PyTorch's autograd, linalg and torch.ao.quantization._equalize; nothing here shares code or
formulas in code with the library. Versions: scripts/requirements.txt.

equalize: three linear layers 5 -> 6 -> 4 -> 3 with relus between; layers "first", "second", "third".
    equalize/<layer>.weight, .bias             as they are at first
    equalize/<group>/<layer>.weight, .bias     after three passes over both pairs. <group>: largest (numpy, max |w|), spread
                                               (cross_layer_equalization of PyTorch, max - min)

adaround: one layer of 6 outputs and 12 inputs, int4 symmetric a channel (-8..7), 64 samples, relu behind it; 100 steps of
torch.optim.Adam(lr=1e-2) over all samples, loss = mean over samples of sum over outputs of squared differences + 0.01 *
sum(1 - |2h - 1|^beta), beta from 20 to 2 by a cosine over the last 80 steps, no regularization in the first 20.
    adaround/weight [6, 12], scale [6], x [64, 12] (what the quantized network gives), target [64, 6] (behind the relu), bias [6]
    adaround/alpha_0, alpha_100, soft_100 [6, 12] (the soft weights), gradient_0 (of the loss without regularization),
    regularization_50 (its gradient at alpha_0 for beta = 5), codes (I32: floor + (alpha >= 0), clamped)
    adaround/losses [100]

gptq: 5 outputs, 24 inputs, 40 samples of which inputs 3 is always 0; int4 symmetric a channel.
    gptq/weight [5, 24], scale [5], x [40, 24]
    gptq/codes, gptq/act_order/codes I32 [5, 24]; gptq/trace, gptq/act_order/trace [1]: tr(D H D'), H = 2/n sum of x x', in float64
    gptq/margin: the distance of the nearest rounding from a tie (all codes are far from ties)

smooth: activations [50, 6] with an outlier channel, weights of two layers 6 -> 4 that both read them.
    smooth/x, first, second, smooth/<alpha>/factors for alpha 0.5 and 0.8

analytic: E[clip(z, a, d)] of z ~ N(beta, gamma^2), by 4 million samples.
    analytic/beta, gamma, low, high, mean [R] F32
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch.ao.quantization import _equalize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402


def rounded_to_int4(weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(weight / scale[:, None]), -8, 7)


def add_equalize(file: GoldenFile, generator) -> None:
    names, sizes = ("first", "second", "third"), (5, 6, 4, 3)
    layers = {}
    for name, inputs, outputs in zip(names, sizes, sizes[1:]):
        layer = torch.nn.Linear(inputs, outputs)
        with torch.no_grad():
            factors = torch.from_numpy(np.float32(2.0 ** generator.uniform(-3, 3, outputs)))
            layer.weight *= factors[:, None]
            layer.bias *= factors
        layers[name] = layer

    def save(group: str, values: dict) -> None:
        for name, (weight, bias) in values.items():
            file.add(group, [], {f"{name}.weight": np.float32(weight), f"{name}.bias": np.float32(bias)})

    save("equalize", {n: (m.weight.detach().numpy(), m.bias.detach().numpy()) for n, m in layers.items()})
    own = {n: [m.weight.detach().numpy().astype(np.float64), m.bias.detach().numpy().astype(np.float64)] for n, m in layers.items()}
    for _ in range(3):
        for first, second in zip(names, names[1:]):
            r1, r2 = np.abs(own[first][0]).max(1), np.abs(own[second][0]).max(0)
            s = r1 / np.sqrt(r1 * r2)
            own[first] = [own[first][0] / s[:, None], own[first][1] / s]
            own[second][0] = own[second][0] * s
    save("equalize/largest", own)
    for _ in range(3):
        for first, second in zip(names, names[1:]):
            _equalize.cross_layer_equalization(layers[first], layers[second])
    save("equalize/spread", {n: (m.weight.detach().numpy(), m.bias.detach().numpy()) for n, m in layers.items()})


def add_adaround(file: GoldenFile, generator) -> None:
    weight = np.float32(generator.normal(0, 0.5, (6, 12)))
    scale = np.float32(np.abs(weight).max(1) / 6.5)  # so that some weights are clipped
    x = np.float32(generator.normal(0, 1, (64, 12)) + 0.3)
    bias = np.float32(generator.normal(0, 0.2, 6))
    target = np.maximum(np.float32(x + generator.normal(0, 0.05, x.shape)) @ weight.T + bias, 0).astype(np.float32)
    w, s = torch.from_numpy(weight).double(), torch.from_numpy(scale).double()[:, None]
    floor = torch.floor(w / s)
    rest = w / s - floor
    alpha = -torch.log(1.2 / (rest + 0.1) - 1)
    alpha.requires_grad_(True)
    inputs, wanted, b = (torch.from_numpy(a).double() for a in (x, target, bias))

    def h() -> torch.Tensor:
        return torch.clamp(torch.sigmoid(alpha) * 1.2 - 0.1, 0, 1)

    def soft() -> torch.Tensor:
        return s * torch.clamp(floor + h(), -8, 7)

    def reconstruction() -> torch.Tensor:
        return (torch.relu(inputs @ soft().T + b) - wanted).pow(2).sum(1).mean()

    def regularization(beta: float) -> torch.Tensor:
        return 0.01 * (1 - (2 * h() - 1).abs().pow(beta)).sum()

    file.add("adaround", [], {"weight": weight, "scale": scale, "x": x, "target": target, "bias": bias})
    file.add("adaround", [], {"alpha_0": alpha.detach().numpy().astype(np.float32)})
    file.add("adaround", [], {"gradient_0": torch.autograd.grad(reconstruction(), alpha)[0].numpy().astype(np.float32)})
    file.add("adaround", [], {"regularization_50": torch.autograd.grad(regularization(5.0), alpha)[0].numpy().astype(np.float32)})
    optimizer = torch.optim.Adam([alpha], lr=1e-2, foreach=False)
    losses = []
    for step in range(100):
        loss = reconstruction()
        losses.append(float(loss))
        if step >= 20:
            beta = 2 + 0.5 * (20 - 2) * (1 + np.cos(np.pi * (step - 20) / 80))
            loss = loss + regularization(beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    codes = torch.clamp(floor + (alpha >= 0), -8, 7)
    file.add(
        "adaround",
        [],
        {
            "alpha_100": alpha.detach().numpy().astype(np.float32),
            "soft_100": soft().detach().numpy().astype(np.float32),
            "codes": codes.detach().numpy().astype(np.int32),
            "losses": np.float32(losses),
        },
    )


def add_gptq(file: GoldenFile, generator) -> None:
    while True:
        weight = np.float32(generator.normal(0, 0.5, (5, 24)))
        scale = np.float32(np.abs(weight).max(1) / 7.5)
        mix = generator.normal(0, 1, (24, 24))
        x = np.float32(generator.normal(0, 1, (40, 24)) @ mix * 0.3)
        x[:, 3] = 0
        results = {order: gptq(weight.astype(np.float64), scale.astype(np.float64), x.astype(np.float64), order) for order in (False, True)}
        if min(margin for _, _, margin in results.values()) > 1e-3:
            break
    file.add("gptq", [], {"weight": weight, "scale": scale, "x": x})
    for order, (codes, trace, margin) in results.items():
        group = "gptq/act_order" if order else "gptq"
        file.add(group, [], {"codes": codes.astype(np.int32), "trace": np.float32([trace]), "margin": np.float32([margin])})
    hessian = torch.from_numpy(x.astype(np.float64))
    hessian = 2 / len(x) * hessian.T @ hessian
    difference = torch.from_numpy(rounded_to_int4(weight, scale) * scale[:, None] - weight).double()
    nearest = float(torch.trace(difference @ hessian @ difference.T))
    assert all(trace < 0.7 * nearest for _, trace, _ in results.values()), (nearest, results)
    file.add("gptq", [], {"nearest_trace": np.float32([nearest])})


def gptq(weight, scale, x, act_order: bool):
    """Codes, tr(D H D') and how near the nearest rounding was to a tie: as the paper's reference implementation goes."""
    w = torch.from_numpy(weight.copy())
    s = torch.from_numpy(scale)
    inputs = torch.from_numpy(x)
    hessian = 2 / len(x) * inputs.T @ inputs
    whole = hessian.clone()
    dead = torch.diag(hessian) == 0
    hessian[dead, dead] = 1
    w[:, dead] = 0
    order = torch.argsort(torch.diag(hessian), descending=True, stable=True) if act_order else torch.arange(w.shape[1])
    w, hessian = w[:, order], hessian[order][:, order]
    hessian += 0.01 * torch.diag(hessian).mean() * torch.eye(len(order), dtype=torch.float64)
    upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(hessian)), upper=True)
    codes, margin = torch.zeros_like(w), 1.0
    for i in range(w.shape[1]):
        steps = w[:, i] / s
        codes[:, i] = torch.clamp(torch.round(steps), -8, 7)
        if not dead[order[i]]:
            margin = min(margin, float((steps - torch.floor(steps) - 0.5).abs().min()))
        error = (w[:, i] - codes[:, i] * s) / upper[i, i]
        w[:, i:] -= error[:, None] * upper[i, i:][None, :]
    result = torch.zeros_like(codes)
    result[:, order] = codes
    difference = result * s[:, None] - torch.from_numpy(weight)
    return result.numpy(), float(torch.trace(difference @ whole @ difference.T)), margin


def add_smooth(file: GoldenFile, generator) -> None:
    x = np.float32(generator.normal(0, 1, (50, 6)) * np.array([1, 40, 0.5, 1, 1, 0]))
    first, second = (np.float32(generator.normal(0, 0.3, (4, 6))) for _ in range(2))
    file.add("smooth", [], {"x": x, "first": first, "second": second})
    for alpha in (0.5, 0.8):
        activations = np.maximum(np.abs(x.astype(np.float64)).max(0), 1e-5)
        weights = np.maximum(np.abs(np.concatenate([first, second]).astype(np.float64)).max(0), 1e-5)
        factors = np.maximum(activations**alpha / weights ** (1 - alpha), 1e-5)
        file.add(f"smooth/{alpha}", [], {"factors": factors.astype(np.float32)})


def add_analytic(file: GoldenFile, generator) -> None:
    rows = [(0.3, 1.0, 0.0, np.inf), (-1.2, 0.8, 0.0, np.inf), (2.0, 0.5, 0.0, np.inf), (1.0, 3.0, 0.0, 6.0), (7.0, 1.5, 0.0, 6.0)]
    rows += [(0.2, 0.7, -1.0, 1.0), (0.5, 0.9, -np.inf, np.inf), (-0.4, -1.1, 0.0, np.inf)]
    means = []
    for beta, gamma, low, high in rows:
        z = beta + abs(gamma) * generator.standard_normal(4_000_000)
        means.append(np.clip(z, low, high).mean())
    columns = np.float32(rows).T
    file.add("analytic", [], dict(zip(("beta", "gamma", "low", "high"), columns)) | {"mean": np.float32(means)})


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(5)
    generator = np.random.default_rng(16)
    file = GoldenFile("methods", "methods.py", torch_versions("none"))
    for add in (add_equalize, add_adaround, add_gptq, add_smooth, add_analytic):
        add(file, generator)
    file.save()


if __name__ == "__main__":
    main()
