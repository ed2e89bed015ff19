# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/networks.safetensors: what PyTorch computes with the networks of include/zeropoint/models.

    python scripts/golden/networks.py [--save FOLDER] [--torchvision] [names...]

The networks are built here from torch.nn, their parameters named as in torchvision. No weights are committed: every
parameter follows from its name, and every image from the network's name, by the rule of `hashed` below, which
tests/models/state_dict.hpp repeats number by number. The statistics of the batch norms are those of their inputs over
four images, one layer after the other.

Tensors: `<network>/logits` F32 [2, classes] of two more images (an image as height x width x channels, flat, where that
comes out); `<network>/statistics` F32 [batch norms, 2], the averages
over the channels of running_mean and running_var. Metadata: `<network>.parameters`, how many numbers are trained;
`<network>.state_dict`, a hash of the names and shapes. Versions: scripts/requirements.txt.

--save writes the state dicts too (up to 350 MB each), as a user would. --torchvision compares names, shapes and logits
with torchvision's own networks (0.28.0); nothing is written then.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402
from network_types import (BertEncoder, DsCnn, GoogLeNet, InceptionV3, MobileNetV2, MobileNetV3, ResNet, ShuffleNetV2, UNet,
                           VGG)  # noqa: E402

OUTPUT = ROOT / "tests/golden/networks.safetensors"
STATISTICS_IMAGES, IMAGES = 4, 2


# ---- numbers that follow from names


def fnv1a(text: str) -> int:
    seed = 0xCBF29CE484222325
    for byte in text.encode():
        seed = ((seed ^ byte) * 0x100000001B3) % 2**64
    return seed


def hashed(name: str, size: int) -> np.ndarray:
    """Uniform in [-1, 1), multiples of 2^-23: splitmix64, seeded by the name."""
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a(name)) + np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = (z ^ (z >> np.uint64(31))) >> np.uint64(40)
    return (z.astype(np.int64) - 2**23).astype(np.float32) * np.float32(2**-23)


def parameter(name: str, shape: torch.Size, of_batch_norm: bool) -> torch.Tensor:
    size = math.prod(shape)
    values = hashed(name, size)
    if len(shape) == 1:
        is_bias = name.endswith(".bias")
        values = np.float32(not is_bias) + values * np.float32(1 if is_bias and of_batch_norm else 0.25)
    else:
        values = values * np.float32(math.sqrt(6.0 * shape[0] / size))
    return torch.from_numpy(values.reshape(tuple(shape)))


def images(name: str, count: int, shape) -> torch.Tensor:
    every = [hashed(f"{name} {n}", math.prod(shape)).reshape(tuple(shape)) for n in range(count)]
    return torch.from_numpy(np.stack(every))


@torch.no_grad()
def set_parameters(model: nn.Module) -> None:
    tensors = model.state_dict()
    for name, values in tensors.items():
        if ".running_" not in name and not name.endswith("num_batches_tracked"):
            values.copy_(parameter(name, values.shape, name.rpartition(".")[0] + ".running_mean" in tensors))


@torch.no_grad()
def estimate_statistics(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    averages = []

    def before(norm, inputs):
        values = inputs[0].double()
        norm.running_mean = values.mean((0, 2, 3)).float()
        norm.running_var = (values.var((0, 2, 3), unbiased=False) + 0.01).float()
        averages.append([norm.running_mean.double().mean(), norm.running_var.double().mean()])

    hooks = [m.register_forward_pre_hook(before) for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    model(x)
    for hook in hooks:
        hook.remove()
    return torch.tensor(averages, dtype=torch.float32).reshape(-1, 2)


# A network's name: how it is made, the shape of an image, and what torchvision's function of that name is given.
NETWORKS = {
    "resnet18": (lambda: ResNet((2, 2, 2, 2)), (3, 64, 64), {}),
    "resnet50": (lambda: ResNet((3, 4, 6, 3), True), (3, 64, 64), {}),
    "resnext101_32x8d": (lambda: ResNet((3, 4, 23, 3), True, 32, 8), (3, 64, 64), {}),
    "vgg16": (lambda: VGG((2, 2, 3, 3, 3), hidden=256), (3, 32, 32), None),
    "vgg11_bn": (lambda: VGG((1, 1, 2, 2, 2), True, 32, 10), (3, 32, 32), None),
    "mobilenet_v2": (lambda: MobileNetV2(), (3, 64, 64), {}),
    "mobilenet_v2_035": (lambda: MobileNetV2(0.35, 10), (3, 32, 48), {"width_mult": 0.35, "num_classes": 10}),
    "googlenet": (lambda: GoogLeNet(), (3, 64, 64), {"aux_logits": False, "init_weights": False}),
    "inception_v3": (lambda: InceptionV3(), (3, 107, 107), {"aux_logits": False, "init_weights": False}),
    "mobilenet_v3_large": (lambda: MobileNetV3(MobileNetV3.LARGE, 1280), (3, 64, 64), {}),
    "mobilenet_v3_small": (lambda: MobileNetV3(MobileNetV3.SMALL, 1024), (3, 64, 64), {}),
    "shufflenet_v2_x1_0": (lambda: ShuffleNetV2(116, 1024), (3, 64, 64), {}),
    "unet": (lambda: UNet(3, 2, 16), (3, 32, 48), None),
    "unet_transposed": (lambda: UNet(3, 2, 8, True), (3, 32, 48), None),
    "bert_encoder": (lambda: BertEncoder(), (384, 1, 8), None),
    "ds_cnn": (lambda: DsCnn(), (1, 49, 10), None),
}


def channels_last(y: torch.Tensor) -> torch.Tensor:
    """One row an image, in the library's order."""
    return (y.permute(0, 2, 3, 1) if y.dim() == 4 else y).flatten(1)


def state_dict_hash(model: nn.Module) -> int:
    lines = []
    for name, values in model.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            lines.append(" ".join([name, *map(str, values.shape)]) + "\n")
    return fnv1a("".join(sorted(lines)))


def same_as_torchvision(name: str, model: nn.Module, x: torch.Tensor, options) -> str:
    # Its compiled operators, which these networks do not need, may be of another build: then nothing is registered for them.
    register, torch.library.register_fake = torch.library.register_fake, lambda name: lambda function: function
    import torchvision

    torch.library.register_fake = register

    if options is None:  # as large as in torchvision, to compare the names at least
        if not hasattr(torchvision.models, name):
            return "not in torchvision"
        model = VGG({"vgg16": (2, 2, 3, 3, 3), "vgg11_bn": (1, 1, 2, 2, 2)}[name], name.endswith("bn")).eval()
        set_parameters(model)
        estimate_statistics(model, x)
    other = getattr(torchvision.models, name.split("_0")[0])(**options or {}).eval()
    mine, theirs = model.state_dict(), other.state_dict()
    for key in sorted(mine.keys() | theirs.keys()):
        if key not in mine or key not in theirs or mine[key].shape != theirs[key].shape:
            return f"DIFFERS at {key}"
    other.load_state_dict(mine)
    difference = (other(x) - model(x)).abs().max() / model(x).abs().max()
    return f"{len(theirs)} tensors, logits within {difference:.1e}"


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, metavar="FOLDER")
    parser.add_argument("--torchvision", action="store_true")
    parser.add_argument("names", nargs="*", help="with --save or --torchvision: only these")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tensors, metadata = {}, {"torch": torch.__version__, "made_by": "scripts/golden/networks.py"}
    for name, (make, shape, torchvision_options) in NETWORKS.items():
        if options.names and name not in options.names:
            continue
        model = make().eval()
        set_parameters(model)
        statistics = estimate_statistics(model, images(name + " statistics", STATISTICS_IMAGES, shape))
        x = images(name, IMAGES, shape)
        if options.torchvision:
            print(name, same_as_torchvision(name, model, x, torchvision_options))
            continue
        logits = channels_last(model(x))
        tensors[f"{name}/logits"], tensors[f"{name}/statistics"] = logits, statistics
        parameters = sum(p.numel() for p in model.parameters())
        metadata[f"{name}.parameters"] = str(parameters)
        metadata[f"{name}.state_dict"] = str(state_dict_hash(model))
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            save_file(model.state_dict(), options.save / f"{name}.safetensors")
        exact = channels_last(model.double()(x.double()))
        difference = ((logits - exact).abs().max() / exact.abs().max()).item()
        cosine = nn.functional.cosine_similarity(logits[0], logits[1], dim=0)
        print(
            f"{name}: {parameters} parameters, largest logit {logits.abs().max():.2f}, within {difference:.1e} of float64, "
            f"cosine of the two images {cosine:.3f}"
        )
    if not options.names and not options.torchvision:
        stable_safetensors.save(OUTPUT, tensors, metadata)


if __name__ == "__main__":
    main()
