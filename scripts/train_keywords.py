# SPDX-License-Identifier: BSD-3-Clause
"""Trains the network of examples/05_keyword_spotting on spectrograms that it makes, and writes its state dict as float16.

    python scripts/train_keywords.py

The spectrograms are those of spoken_words.hpp, value for value. Seeded, on one thread; the weights that are committed are the
ones that count. Takes two minutes.
"""

import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

FILE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "keyword_net.safetensors")
FRAMES, COEFFICIENTS, POINTS, WORDS = 49, 10, 6, 12
TRAINING, EPOCHS, BATCH_SIZE = 6144, 8, 64
FIRST_TRAINING = 100_000  # numbers below are for calibration and for tests


class RandomNumbers:
    """random_numbers of spoken_words.hpp, one generator a row."""

    def __init__(self, seeds: np.ndarray) -> None:
        self.state = seeds.astype(np.uint32)

    def below(self, limit: int) -> np.ndarray:
        self.state = self.state * np.uint32(1664525) + np.uint32(1013904223)
        return ((self.state >> np.uint32(16)) * np.uint32(limit) >> np.uint32(16)).astype(np.int32)


def say(numbers: np.ndarray) -> np.ndarray:
    """Spectrograms N x 49 x 10 of these numbers; the word of each is its number % 12."""
    numbers = numbers.astype(np.uint32)
    word = numbers % WORDS
    speaker = RandomNumbers(numbers * np.uint32(2654435769) + np.uint32(1))
    delay, loudness = speaker.below(9) - 4, 160 + speaker.below(192)
    spelling = RandomNumbers(np.where(word == 1, numbers * np.uint32(40503) + np.uint32(7), word * np.uint32(977)))
    curve = np.stack([spelling.below(256) - 128 for _ in range(POINTS * COEFFICIENTS)], 1).reshape(-1, POINTS, COEFFICIENTS)
    curve[word == 0] = 0
    made = np.zeros((len(numbers), FRAMES, COEFFICIENTS), np.float32)
    rows = np.arange(len(numbers))
    for frame in range(FRAMES):
        at = np.clip((frame + delay) * ((POINTS - 1) * 256 // FRAMES), 0, (POINTS - 1) * 256 - 1)
        first, second = curve[rows, at >> 8], curve[rows, (at >> 8) + 1]
        value = first + ((second - first) * (at & 255)[:, None] >> 8)
        for c in range(COEFFICIENTS):
            made[:, frame, c] = ((value[:, c] * loudness >> 8) + speaker.below(161) - 80).astype(np.float32) / 32
    return made


class Separable(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(channels)
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
        self.pointwise_norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.pointwise_norm(self.pointwise(self.depthwise_norm(self.depthwise(x)).relu())).relu()


class DsCnn(nn.Module):
    """zp::models::ds_cnn."""

    def __init__(self, channels: int = 64, blocks: int = 4) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, channels, (10, 4), stride=2, padding=(5, 1), bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.blocks = nn.ModuleList(Separable(channels) for _ in range(blocks))
        self.fc = nn.Linear(channels, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv(x)).relu()
        for block in self.blocks:
            x = block(x)
        return self.fc(F.dropout(x.mean((2, 3)), 0.2, self.training))


def main() -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    numbers = np.arange(FIRST_TRAINING, FIRST_TRAINING + TRAINING)
    inputs, labels = torch.from_numpy(say(numbers))[:, None], torch.from_numpy(numbers % WORDS)
    model = DsCnn()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=EPOCHS * (TRAINING // BATCH_SIZE))
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for batch in torch.randperm(TRAINING).split(BATCH_SIZE):
            loss = F.cross_entropy(model(inputs[batch]), labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (TRAINING // BATCH_SIZE):.3f}", flush=True)
    model.eval()
    tested = np.arange(WORDS * 100)
    with torch.no_grad():
        found = model(torch.from_numpy(say(tested))[:, None]).argmax(1).numpy()
    print(f"{100 * (found == tested % WORDS).mean():.2f} % of {len(tested)} words right")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    state = {name: value.half().contiguous() for name, value in model.state_dict().items() if value.is_floating_point()}
    save_file(state, FILE)


if __name__ == "__main__":
    main()
