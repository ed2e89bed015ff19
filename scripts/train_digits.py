# SPDX-License-Identifier: BSD-3-Clause
"""Trains the network of examples/01_digits and writes its state dict as safetensors.

    python scripts/train_digits.py              # trains on all training images, writes digits_cnn.safetensors
    python scripts/train_digits.py --validate   # 3-fold cross-validation inside the training images, writes nothing

The test third is looked at once, at the end, to report; the recipe was chosen with --validate. Everything is seeded
and runs on one thread, so the same versions (scripts/requirements.txt) on the same processor give the same file; the
weights that are committed are the ones that count. Takes half a minute, a minute with --validate.
"""

import argparse
import copy
import math

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from digits_cnn import WEIGHTS, DigitsCnn, accuracy, load_digits

EPOCHS = 120
BATCH_SIZE = 64
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 2e-2
LABEL_SMOOTHING = 0.1
AVERAGE_DECAY = 0.995  # of the weight average, a step


def augment(images: Tensor, generator: torch.Generator) -> Tensor:
    """Rotates by up to 12 degrees, scales by up to 10 %, shifts by up to 0.8 pixels; outside is paper (0)."""
    uniform = 2 * torch.rand(5, len(images), generator=generator) - 1
    angle = uniform[0] * math.radians(12)
    scale_x, scale_y = 1 + 0.1 * uniform[1], 1 + 0.1 * uniform[2]
    shift_x, shift_y = uniform[3] * 0.8 / 4, uniform[4] * 0.8 / 4  # the grid is 2 wide for 8 pixels
    row_x = [angle.cos() * scale_x, -angle.sin() * scale_y, shift_x]
    row_y = [angle.sin() * scale_x, angle.cos() * scale_y, shift_y]
    transforms = torch.stack(row_x + row_y, 1).view(-1, 2, 3)
    grid = F.affine_grid(transforms, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


@torch.no_grad()
def update_average(average: nn.Module, model: nn.Module, decay: float) -> None:
    """Exponential moving average of parameters and running statistics; counters are copied."""
    for mean, value in zip(average.state_dict().values(), model.state_dict().values()):
        if mean.is_floating_point():
            mean.lerp_(value, 1 - decay)
        else:
            mean.copy_(value)


def train(images: Tensor, labels: Tensor, seed: int) -> nn.Module:
    """Returns the averaged model in eval mode."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = DigitsCnn()
    average = copy.deepcopy(model)
    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() == 1]
    groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE)
    steps = EPOCHS * (len(images) // BATCH_SIZE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps, pct_start=0.1)
    step = 0
    for epoch in range(EPOCHS):
        model.train()
        loss_sum = 0.0
        order = torch.randperm(len(images), generator=generator)
        for batch in order[: len(images) // BATCH_SIZE * BATCH_SIZE].split(BATCH_SIZE):
            logits = model(augment(images[batch], generator))
            loss = F.cross_entropy(logits, labels[batch], label_smoothing=LABEL_SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            update_average(average, model, min(AVERAGE_DECAY, step / (step + 10)))
            loss_sum += loss.item()
        if (epoch + 1) % 20 == 0:
            print(f"  epoch {epoch + 1}: loss {loss_sum / (len(images) // BATCH_SIZE):.4f}", flush=True)
    return average.eval()


def validate(images: Tensor, labels: Tensor, folds: int = 3) -> None:
    """Prints the accuracy on each fold of a model trained on the other folds, and the mean."""
    fold_of = torch.randperm(len(images), generator=torch.Generator().manual_seed(1)) % folds
    scores = []
    for fold in range(folds):
        model = train(images[fold_of != fold], labels[fold_of != fold], seed=fold)
        scores.append(accuracy(model, images[fold_of == fold], labels[fold_of == fold]))
        print(f"fold {fold}: {scores[-1]:.2f} %", flush=True)
    print(f"mean validation accuracy: {sum(scores) / folds:.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the network of examples/01_digits.")
    parser.add_argument("--validate", action="store_true", help="cross-validate inside the training images")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    images, labels = load_digits(test=False)
    if arguments.validate:
        validate(images, labels)
        return
    model = train(images, labels, seed=0)
    save_file(model.state_dict(), WEIGHTS, metadata={"format": "pt"})
    print(f"{WEIGHTS}: {WEIGHTS.stat().st_size} bytes")
    print(
        f"accuracy: training images {accuracy(model, images, labels):.2f} %, "
        f"test images {accuracy(model, *load_digits(test=True)):.2f} %"
    )


if __name__ == "__main__":
    main()
