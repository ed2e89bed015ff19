# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/training_pieces.safetensors: what PyTorch trains with, where no graph is needed.

    python scripts/golden/training_pieces.py

fake_quant/<case>          torch.ops.aten.fake_quantize_per_{tensor,channel}_affine_cachemask and autograd:
    x, dy, y, dx F32; mask U8; scale F32 [channels], zero_point I32 [channels]; bounds I32 [2]; inner I32 [1]
    (value i has the scale of channel i / inner % channels). Inputs: both ends and half a step around them, ties, random
    values; dy is never 0.
fake_quant_edges/<case>    the same for NaN, infinities and values beyond 2^63 steps (x, y, mask alone)
learned/<case>             torch._fake_quantize_learnable_per_{tensor,channel}_affine: also ds, dz F32 [channels], real zero points
    `zero` F32 [channels], factor F32 [1]. No ties: PyTorch's backward pass rounds them otherwise than its forward pass.
lsq_module/<case>          _LearnableFakeQuantize, use_grad_scaling, 3 steps of SGD at rate `rate` on the loss
    mean((y - target)^2): x, target F32 [3, n]; first F32 [2] and scale, zero_point F32 [3] after each step; factor F32 [1]
pact                       y = min(max(x, 0), alpha) by autograd: x, dy, dx, alpha, dalpha
fused/<case>               torch.fused_moving_avg_obs_fake_quant over 5 batches: x F32 [5, ...], switches I32 [5, 2] (observer on,
    fake quantization on); after each batch min, max, scale F32 [5, channels], zero_point I32, y F32
convert/<case>             FusedMovingAvgObsFakeQuantize.calculate_qparams after those batches: scale, zero_point
optimizer/<case>           torch.optim.{SGD,Adam,AdamW}(foreach=False), 10 steps: gradients F32 [10, n], start F32 [n],
    parameters F32 [10, n] after each
schedule/<case>            torch.optim.lr_scheduler: F64, the rate of each step, divided by the optimizer's
loss/<case>                torch.nn.functional in float64: logits (F32 inputs), targets, loss F64 [1], gradient F64
clip                       torch.nn.utils.clip_grad_norm_: a, b, norm, clipped_a, clipped_b
average/<case>             torch.optim.swa_utils.AveragedModel: values F32 [5, n], average F32 [5, n] after each
batch_norm                 batches F32 [3, rows, channels]; mean, variance F64 [channels] of all rows, unbiased (float64)
initial/<case>             LSQ's and LSQ+'s formulas in float64: x F32, scale F64 [1]
random                     Philox4x32-10 in Python integers: shuffle I32 [20] of seed 7, epoch 3; words I64 [9] and uniform F32 [9]
                           of seed 2^40 + 5, purpose 1, epoch 2, sample 3
"""

import math
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.ao.quantization import FusedMovingAvgObsFakeQuantize, MovingAverageMinMaxObserver
from torch.ao.quantization import MovingAveragePerChannelMinMaxObserver
from torch.ao.quantization._learnable_fake_quantize import _LearnableFakeQuantize

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402

OUTPUT = ROOT / "tests/golden/training_pieces.safetensors"
generator = np.random.default_rng(20)


def normal(*shape: int) -> torch.Tensor:
    """NumPy's, because PyTorch's depend on the processor."""
    return torch.from_numpy(generator.normal(0, 1, shape).astype(np.float32))


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def floats(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


# ---- fake quantization ----

# name: scales, zero points, quant_min, quant_max, and for channels the axis of [3, 4, 36]
FAKE_QUANT = {
    "tensor_quint8": ([0.1], [3], 0, 255, None),
    "tensor_odd": ([0.25], [127], 0, 255, None),
    "tensor_qint8": ([0.037], [-5], -128, 127, None),
    "tensor_int4": ([1.7], [0], -8, 7, None),
    "tensor_2_bits": ([0.5], [0], -2, 1, None),
    "tensor_tiny": ([2.0**-23], [7], 0, 15, None),
    "channel_0": ([0.1, 0.02, 3.0], [0, 0, 0], -127, 127, 0),
    "channel_1": ([0.1, 0.02, 3.0, 0.5], [0, 15, 7, 3], 0, 15, 1),
    "channel_2": ([0.01 * (c + 1) for c in range(36)], [c - 8 for c in range(36)], -128, 127, 2),
}


def values_around(scale: float, zero_point: int, low: int, high: int, count: int) -> torch.Tensor:
    """Both ends and half a step around them, some ties, and random values up to twice the range."""
    places = [low, high, low - 0.5, high + 0.5, low - 0.51, high + 0.51, low - 0.49, high + 0.49, low - 1, high + 1]
    places += [zero_point + k + 0.5 for k in range(-4, 5)]
    special = torch.tensor([(place - zero_point) * scale for place in places], dtype=torch.float32)
    wide = 2 * scale * (high - low)
    return torch.cat([special, normal(count) * wide / 3])[:count] if count > len(places) else normal(count) * wide / 3


def fake_quantized(x, scale, zero_point, low, high, axis):
    if axis is None:
        return torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, float(scale[0]), int(zero_point[0]), low, high)
    return torch.ops.aten.fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis, low, high)


def fake_quant() -> dict[str, torch.Tensor]:
    tensors = {}
    for name, (scales, zero_points, low, high, axis) in FAKE_QUANT.items():
        if axis is None:
            x = values_around(scales[0], zero_points[0], low, high, 133)
        else:
            shape = [3, 4, 36]
            rest = 432 // shape[axis]
            channels = [values_around(s, z, low, high, rest) for s, z in zip(scales, zero_points)]
            x = torch.stack(channels).reshape(shape[axis], *[n for a, n in enumerate(shape) if a != axis])
            x = x.movedim(0, axis).contiguous()
        scale, zero_point = floats(*scales), ints(*zero_points)
        x.requires_grad_()
        y, mask = fake_quantized(x, scale, zero_point, low, high, axis)
        dy = normal(*x.shape)
        y.backward(dy)
        inner = 1 if axis is None else math.prod(x.shape[axis + 1 :])
        group = dict(x=x.detach(), y=y.detach(), mask=mask.to(torch.uint8), dy=dy, dx=x.grad, scale=scale)
        group.update(zero_point=zero_point, bounds=ints(low, high), inner=ints(inner))
        tensors.update({f"fake_quant/{name}/{key}": value for key, value in group.items()})
    edges = floats(math.nan, math.inf, -math.inf, 3e38, -3e38, 1e20, -1e20, 0.0, -0.0, 1e-45, 1e9, -1e9)
    for name, axis in (("tensor", None), ("channel", 0)):
        x = edges if axis is None else edges.reshape(1, -1)
        y, mask = fake_quantized(x, floats(0.1), ints(3), 0, 255, axis)
        group = dict(x=x, y=y, mask=mask.to(torch.uint8))
        tensors.update({f"fake_quant_edges/{name}/{key}": value for key, value in group.items()})
    return tensors


# ---- learned step sizes ----

LEARNED = {
    "tensor_unsigned": ([0.1], [3.0], 0, 255, None, 1.0),
    "tensor_signed": ([0.3], [0.0], -8, 7, None, 0.25),
    "tensor_fraction": ([0.07], [5.4], -128, 127, None, 1.0),
    "tensor_beyond": ([0.5], [300.0], 0, 255, None, 1.0),
    "tensor_negative": ([0.3], [-3.0], -8, 7, None, 1.0),  # PyTorch's backward pass takes -2 for it
    "channel_0": ([0.1, 0.02, 1.0], [0.0, -3.0, 4.6], -8, 7, 0, 0.125),
    "channel_1": ([0.1, 0.02, 1.0, 0.3], [0.0, 2.0, 15.0, 7.0], 0, 15, 1, 1.0),
}


def off_ties(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Moves values whose steps are near a half."""
    steps = x / scale
    return torch.where(((steps - steps.floor()) - 0.5).abs() < 0.02, x + 0.1 * scale, x)


def learned() -> dict[str, torch.Tensor]:
    tensors = {}
    for name, (scales, zeros, low, high, axis, factor) in LEARNED.items():
        scale, zero = floats(*scales).requires_grad_(), floats(*zeros).requires_grad_()
        shape = [3, 4, 20]
        along = [1] * 3
        if axis is not None:
            along[axis] = shape[axis]
        s = scale.detach().reshape(along) if axis is not None else scale.detach()
        x = off_ties(normal(*shape) * s * (high - low) * 0.6, s).requires_grad_()
        dy = normal(*shape)
        if axis is None:
            y = torch._fake_quantize_learnable_per_tensor_affine(x, scale, zero, low, high, factor)
        else:
            y = torch._fake_quantize_learnable_per_channel_affine(x, scale, zero, axis, low, high, factor)
        y.backward(dy)
        inner = 1 if axis is None else math.prod(shape[axis + 1 :])
        group = dict(x=x.detach(), y=y.detach(), dy=dy, dx=x.grad, scale=scale.detach(), zero=zero.detach())
        group.update(ds=scale.grad, dz=zero.grad, bounds=ints(low, high), inner=ints(inner), factor=floats(factor))
        tensors.update({f"learned/{name}/{key}": value for key, value in group.items()})
    return tensors


def lsq_module() -> dict[str, torch.Tensor]:
    tensors = {}
    cases = {
        "symmetric": (-8, 7, torch.qint8, torch.per_tensor_symmetric, 0.25, 0.0, 0.5),
        "affine": (0, 15, torch.quint8, torch.per_tensor_affine, 0.2, 6.0, 0.5),
    }
    for name, (low, high, dtype, qscheme, scale, zero, rate) in cases.items():
        module = _LearnableFakeQuantize(
            MovingAverageMinMaxObserver, low, high, scale, zero, use_grad_scaling=True, dtype=dtype, qscheme=qscheme
        )
        module.enable_param_learning()
        x, target = normal(3, 200), normal(3, 200)
        optimizer = torch.optim.SGD(module.parameters(), lr=rate, foreach=False)
        scales, zeros = [], []
        for batch, wanted in zip(x, target):
            optimizer.zero_grad()
            ((module(batch) - wanted) ** 2).mean().backward()
            optimizer.step()
            scales.append(module.scale.item())
            zeros.append(module.zero_point.item())
        group = dict(x=x, target=target, first=floats(scale, zero), scale=floats(*scales), zero_point=floats(*zeros))
        group.update(bounds=ints(low, high), rate=floats(rate), factor=floats(1.0 / (200 * high) ** 0.5))
        tensors.update({f"lsq_module/{name}/{key}": value for key, value in group.items()})
    return tensors


def pact() -> dict[str, torch.Tensor]:
    x, alpha, dy = (normal(100) * 2).requires_grad_(), floats(1.5).requires_grad_(), normal(100)
    torch.where(x >= alpha, alpha, torch.clamp(x, min=0)).backward(dy)
    group = dict(x=x.detach(), dy=dy, dx=x.grad, alpha=alpha.detach(), dalpha=alpha.grad)
    return {f"pact/{key}": value for key, value in group.items()}


# ---- the fused observer ----


def fused() -> dict[str, torch.Tensor]:
    tensors = {}
    switches = ints(1, 1, 1, 1, 1, 0, 0, 1, 1, 1).reshape(5, 2)
    # name: dtype, qscheme, quant_min, quant_max, offset of the values
    cases = {
        "tensor_affine": (torch.quint8, torch.per_tensor_affine, 0, 255, 0.5),
        "tensor_affine_reduced": (torch.quint8, torch.per_tensor_affine, 0, 127, 0.0),
        "tensor_positive": (torch.quint8, torch.per_tensor_affine, 0, 255, 9.0),
        "tensor_symmetric": (torch.qint8, torch.per_tensor_symmetric, -128, 127, 0.3),
        "channel_symmetric": (torch.qint8, torch.per_channel_symmetric, -128, 127, 0.2),
        "channel_affine": (torch.qint8, torch.per_channel_affine, -128, 127, 0.2),
        "channel_one_sided": (torch.qint8, torch.per_channel_symmetric, -128, 127, 9.0),
    }
    for name, (dtype, qscheme, low, high, offset) in cases.items():
        per_channel = name.startswith("channel")
        observer = MovingAveragePerChannelMinMaxObserver if per_channel else MovingAverageMinMaxObserver
        arguments = dict(ch_axis=0) if per_channel else {}
        module = FusedMovingAvgObsFakeQuantize(observer, low, high, dtype=dtype, qscheme=qscheme, **arguments)
        x = (normal(5, 4, 30) + offset) * floats(1, 2, 0.5, 3, 1).reshape(5, 1, 1)
        rows = {key: [] for key in ("min", "max", "scale", "zero_point", "y")}
        for batch, (observe, quantize) in zip(x, switches):
            module.observer_enabled[0], module.fake_quant_enabled[0] = observe, quantize
            rows["y"].append(module(batch))
            rows["min"].append(module.activation_post_process.min_val.reshape(-1).clone())
            rows["max"].append(module.activation_post_process.max_val.reshape(-1).clone())
            rows["scale"].append(module.scale.reshape(-1).clone())
            rows["zero_point"].append(module.zero_point.reshape(-1).to(torch.int32).clone())
        group = {key: torch.stack(values) for key, values in rows.items()}
        group.update(x=x, switches=switches)
        tensors.update({f"fused/{name}/{key}": value for key, value in group.items()})
        scale, zero_point = module.calculate_qparams()
        tensors[f"convert/{name}/scale"] = scale.reshape(-1)
        tensors[f"convert/{name}/zero_point"] = zero_point.reshape(-1).to(torch.int32)
    return tensors


# ---- optimizers, schedules, losses ----

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, dict(lr=0.05)),
    "sgd_momentum": (torch.optim.SGD, dict(lr=0.05, momentum=0.9)),
    "sgd_decay": (torch.optim.SGD, dict(lr=0.1, weight_decay=0.01)),
    "sgd_nesterov": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)),
    "sgd_dampening": (torch.optim.SGD, dict(lr=0.05, momentum=0.8, dampening=0.3, weight_decay=1e-2)),
    "adam": (torch.optim.Adam, dict(lr=0.01)),
    "adam_decay": (torch.optim.Adam, dict(lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)),
    "adamw": (torch.optim.AdamW, dict(lr=0.01)),
    "adamw_decay": (torch.optim.AdamW, dict(lr=0.02, weight_decay=0.3)),
}


def optimizers() -> dict[str, torch.Tensor]:
    gradients, start = normal(10, 37), normal(37)
    tensors = {"optimizer/gradients": gradients, "optimizer/start": start}
    for name, (optimizer_type, arguments) in OPTIMIZERS.items():
        parameter = torch.nn.Parameter(start.clone())
        optimizer = optimizer_type([parameter], foreach=False, **arguments)
        rows = []
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
            rows.append(parameter.detach().clone())
        tensors[f"optimizer/{name}/parameters"] = torch.stack(rows)
    return tensors


def schedules() -> dict[str, torch.Tensor]:
    def rates(make, steps: int) -> torch.Tensor:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
        scheduler = make(optimizer)
        values = []
        for _ in range(steps):
            values.append(optimizer.param_groups[0]["lr"] / 0.3)
            optimizer.step()
            scheduler.step()
        return torch.tensor(values, dtype=torch.float64)

    s = torch.optim.lr_scheduler
    cases = {
        "step": rates(lambda o: s.StepLR(o, 3, gamma=0.5), 10),
        "cosine": rates(lambda o: s.CosineAnnealingLR(o, 10), 10),
        "cosine_last": rates(lambda o: s.CosineAnnealingLR(o, 10, eta_min=0.1 * 0.3), 10),
        "one_cycle": rates(lambda o: s.OneCycleLR(o, 0.3, total_steps=20, cycle_momentum=False), 20),
        "one_cycle_linear": rates(
            lambda o: s.OneCycleLR(
                o, 0.3, total_steps=20, cycle_momentum=False, anneal_strategy="linear", pct_start=0.4, div_factor=10,
                final_div_factor=100,
            ),
            20,
        ),
        "warm_up": rates(lambda o: s.LinearLR(o, start_factor=0.2, total_iters=5), 10),
        "warm_up_cosine": rates(
            lambda o: s.ChainedScheduler([s.LinearLR(o, start_factor=0.2, total_iters=5), s.CosineAnnealingLR(o, 10)]), 10
        ),
    }  # fmt: skip
    return {f"schedule/{name}": value for name, value in cases.items()}


def losses() -> dict[str, torch.Tensor]:
    logits, labels = normal(6, 10) * 3, torch.tensor([0, 9, 3, 3, 7, 1])
    some = torch.tensor([0, -100, 3, -100, 7, 1])
    probabilities, teacher, targets = torch.softmax(normal(6, 10).double() * 2, 1).float(), normal(6, 10) * 3, normal(6, 10)
    probabilities[2] = 0
    probabilities[2, 4] = 1

    def distilled(temperature, weight):
        def loss(x):
            soft = F.kl_div(
                F.log_softmax(x / temperature, 1), F.softmax(teacher.double() / temperature, 1), reduction="batchmean"
            )
            return (1 - weight) * F.cross_entropy(x, labels) + weight * temperature**2 * soft

        return loss

    cases = {
        "cross_entropy": lambda x: F.cross_entropy(x, labels),
        "cross_entropy_smoothing": lambda x: F.cross_entropy(x, labels, label_smoothing=0.1),
        "cross_entropy_ignored": lambda x: F.cross_entropy(x, some),
        "mse": lambda x: F.mse_loss(x, targets.double()),
        "kl": lambda x: F.kl_div(F.log_softmax(x, 1), probabilities.double(), reduction="batchmean"),
        "distillation": distilled(4, 0.7),
        "distillation_cold": distilled(1, 1.0),
    }
    tensors = dict(logits=logits, labels=labels.to(torch.int32), some_labels=some.to(torch.int32), teacher=teacher)
    tensors.update(probabilities=probabilities, targets=targets)
    for name, function in cases.items():
        x = logits.double().requires_grad_()
        loss = function(x)
        loss.backward()
        tensors[f"{name}/loss"] = loss.detach().reshape(1)
        tensors[f"{name}/gradient"] = x.grad
    return {f"loss/{name}": value for name, value in tensors.items()}


def clip_and_average() -> dict[str, torch.Tensor]:
    a, b = torch.nn.Parameter(torch.zeros(30)), torch.nn.Parameter(torch.zeros(7))
    a.grad, b.grad = normal(30) * 3, normal(7)
    tensors = {"clip/a": a.grad.clone(), "clip/b": b.grad.clone()}
    tensors["clip/norm"] = torch.nn.utils.clip_grad_norm_([a, b], 2.5, foreach=False).reshape(1)
    tensors.update({"clip/clipped_a": a.grad, "clip/clipped_b": b.grad})
    swa = torch.optim.swa_utils
    values = normal(5, 20)
    tensors["average/values"] = values
    for name, average in (("exponential", swa.get_ema_multi_avg_fn(0.9)), ("plain", swa.get_swa_multi_avg_fn())):
        model = torch.nn.Linear(20, 1, bias=False)
        averaged = swa.AveragedModel(model, multi_avg_fn=average)
        rows = []
        for row in values:
            model.weight.data.copy_(row)
            averaged.update_parameters(model)
            rows.append(averaged.module.weight.detach().reshape(-1).clone())
        tensors[f"average/{name}"] = torch.stack(rows)
    batches = normal(3, 40, 5) * floats(1, 2, 0, 0.1, 30) + floats(0, 5, 3, -100, 0)
    rows = batches.double().reshape(-1, 5)
    tensors.update({"batch_norm/batches": batches, "batch_norm/mean": rows.mean(0), "batch_norm/variance": rows.var(0)})
    return tensors


def initial() -> dict[str, torch.Tensor]:
    x = normal(300) * 0.2 + 0.03
    wide = x.double()
    mean, deviation = wide.mean(), wide.std(correction=0)
    low, high = wide.min(), wide.max()
    cases = {
        "lsq": 2 * wide.abs().mean() / 127**0.5,
        "lsq_plus_weights": max((mean - 3 * deviation).abs(), (mean + 3 * deviation).abs()) / 2**7,
        "lsq_plus_activations": (high - low) / 255,
        "lsq_plus_zero_point": 0 - low / ((high - low) / 255),
    }
    return {"initial/x": x, **{f"initial/{name}": value.reshape(1) for name, value in cases.items()}}


# ---- random numbers ----


def philox(counter: list[int], key: list[int]) -> list[int]:
    mask = 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & mask, (a >> 32) ^ counter[3] ^ key[1], a & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter


def random_numbers() -> dict[str, torch.Tensor]:
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # Random123's kat_vectors

    def word(i, seed, purpose, epoch, sample):
        return philox([i // 4, sample, epoch, purpose], [seed & 0xFFFFFFFF, seed >> 32])[i % 4]

    order = list(range(20))
    for i in range(20, 1, -1):
        wide = word(2 * (i - 1), 7, 0xFFFFFFFF, 3, 0) << 32 | word(2 * (i - 1) + 1, 7, 0xFFFFFFFF, 3, 0)
        j = wide * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    words = [word(i, 2**40 + 5, 1, 2, 3) for i in range(9)]
    uniform = floats(*[(w >> 8) / 2**24 for w in words])
    return {"random/shuffle": ints(*order), "random/words": torch.tensor(words), "random/uniform": uniform}


def main() -> None:
    torch.set_num_threads(1)
    parts = (fake_quant, learned, lsq_module, pact, fused, optimizers, schedules, losses, clip_and_average, initial)
    tensors = {}
    for part in (*parts, random_numbers):
        tensors.update({name: value.detach() for name, value in part().items()})
    metadata = {"torch": torch.__version__, "numpy": np.__version__, "made_by": "scripts/golden/training_pieces.py"}
    stable_safetensors.save(OUTPUT, tensors, metadata)


if __name__ == "__main__":
    main()
