# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/vision.safetensors: a vision transformer and a block of shifted windows, in float.

    python scripts/golden/vision.py

vit: an image of 12 x 12 x 3 in patches of 4, a class token, positions, two layers with a norm first; parameters are named as in
torchvision's VisionTransformer. x F32 [12, 12, 3] (height, width, channels), y F32 [classes].
windows: a block of Swin: windows of 4 x 4, shifted by 2, of an image of 8 x 8 x 12; three heads; what is added to the scores of each window
and head, relative positions and the mask of windows that span the image's border, is the parameter "attn.bias" [windows * heads, 16, 16].
x and y F32 [8, 8, 12]. Parameters follow from their names as those of networks.py: none is committed.

Checked: all is within 1e-5 of float64. Versions: scripts/requirements.txt.
"""

import copy
import sys
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/golden")]
import stable_safetensors  # noqa: E402
from networks import hashed, set_parameters  # noqa: E402

IMAGE, PATCH, CHANNELS, HEADS, INNER, LAYERS, CLASSES = 12, 4, 16, 4, 32, 2, 5
SIDE, WINDOW, SHIFT, WINDOW_CHANNELS, WINDOW_HEADS = 8, 4, 2, 12, 3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(CHANNELS, eps=1e-6), nn.LayerNorm(CHANNELS, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(CHANNELS, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(CHANNELS, INNER), nn.GELU(), nn.Dropout(0), nn.Linear(INNER, CHANNELS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.ln_1(x)
        x = x + self.self_attention(z, z, z, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, (IMAGE // PATCH) ** 2 + 1, CHANNELS))
        self.layers = nn.ModuleDict({f"encoder_layer_{i}": Layer() for i in range(LAYERS)})
        self.ln = nn.LayerNorm(CHANNELS, eps=1e-6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.pos_embedding
        for layer in self.layers.values():
            x = layer(x)
        return self.ln(x)


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, CHANNELS, PATCH, PATCH)
        self.class_token = nn.Parameter(torch.empty(1, 1, CHANNELS))
        self.encoder = Encoder()
        self.heads = nn.ModuleDict({"head": nn.Linear(CHANNELS, CLASSES)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv_proj(x.permute(2, 0, 1)[None]).flatten(2).transpose(1, 2)
        x = self.encoder(torch.cat([self.class_token, x], 1))
        return self.heads["head"](x[:, 0])[0]


class ShiftedWindows(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WINDOW_CHANNELS), nn.LayerNorm(WINDOW_CHANNELS)
        windows = (SIDE // WINDOW) ** 2
        self.attn = nn.Module()
        self.attn.bias = nn.Parameter(torch.empty(windows * WINDOW_HEADS, WINDOW**2, WINDOW**2))
        self.attn.q, self.attn.k, self.attn.v, self.attn.proj = (nn.Linear(WINDOW_CHANNELS, WINDOW_CHANNELS) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(WINDOW_CHANNELS, 24), nn.GELU(), nn.Linear(24, WINDOW_CHANNELS))

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        """x [windows, tokens, channels]."""
        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.reshape(*x.shape[:2], WINDOW_HEADS, -1).transpose(1, 2)

        q, k, v = (heads(part(x)) for part in (self.attn.q, self.attn.k, self.attn.v))
        bias = self.attn.bias.reshape(-1, WINDOW_HEADS, *self.attn.bias.shape[1:])
        scores = q @ k.transpose(2, 3) * (WINDOW_CHANNELS // WINDOW_HEADS) ** -0.5 + bias
        return self.attn.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.norm1(x).roll((-SHIFT, -SHIFT), (0, 1))
        count = SIDE // WINDOW
        z = z.reshape(count, WINDOW, count, WINDOW, -1).transpose(1, 2).reshape(count**2, WINDOW**2, -1)
        z = self.attention(z).reshape(count, count, WINDOW, WINDOW, -1).transpose(1, 2).reshape(x.shape)
        x = x + z.roll((SHIFT, SHIFT), (0, 1))
        return x + self.mlp(self.norm2(x))


def compute(name: str, module: nn.Module, *extents: int) -> dict[str, torch.Tensor]:
    module.eval()
    set_parameters(module)
    count = torch.Size(extents).numel()
    x = torch.from_numpy(hashed(f"{name} x", count)).reshape(extents) * 2
    y = module(x)
    difference = (y - copy.deepcopy(module).double()(x.double())).abs().max() / y.abs().max()
    assert difference < 1e-5, difference
    return {f"{name}/x": x, f"{name}/y": y}


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    tensors = compute("vit", VisionTransformer(), IMAGE, IMAGE, 3)
    tensors |= compute("windows", ShiftedWindows(), SIDE, SIDE, WINDOW_CHANNELS)
    stable_safetensors.save(ROOT / "tests/golden/vision.safetensors", tensors,
                            {"torch": torch.__version__, "made_by": "scripts/golden/vision.py"})


if __name__ == "__main__":
    main()
