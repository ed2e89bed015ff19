# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/decoder_layers.safetensors: PyTorch's attention of a sequence to another one, and its decoders, in float.

    python scripts/golden/decoder_layers.py

x F32 [rows, model] and memory F32 [columns, model] go into all. cross/y: torch.nn.MultiheadAttention of x to memory; padded/y: with a
key_padding_mask of it, `keys` I32 [columns], 1 where a key is seen. decoder/y: torch.nn.TransformerDecoder of two layers, relu,
with that mask and tgt_mask, a matrix below the diagonal; norm_first/y: one TransformerDecoderLayer, gelu, normalizations first, without
masks. Parameters follow from their names as those of networks.py: none is committed.

Checked: all is within 1e-5 of float64. Versions: scripts/requirements.txt.
"""

import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/golden")]
import stable_safetensors  # noqa: E402
from masked_attention import compute  # noqa: E402
from networks import hashed  # noqa: E402

ROWS, COLUMNS, MODEL, HEADS, FEED_FORWARD, SEEN = 7, 18, 12, 3, 20, (0, 1, 2, 3, 5, 6, 8, 9, 10)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = torch.nn.MultiheadAttention(MODEL, HEADS)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, **masks: torch.Tensor) -> torch.Tensor:
        return self.attn(x, memory, memory, need_weights=False, **masks)[0]


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    keys = torch.tensor([int(i in SEEN) for i in range(COLUMNS)])
    x = torch.from_numpy(hashed("x", ROWS * MODEL)).reshape(ROWS, MODEL) * 2
    memory = torch.from_numpy(hashed("memory", COLUMNS * MODEL)).reshape(COLUMNS, MODEL) * 2
    causal = torch.triu(torch.ones(ROWS, ROWS, dtype=torch.bool), 1)

    def layer(activation: str, norm_first: bool) -> torch.nn.Module:
        return torch.nn.TransformerDecoderLayer(MODEL, HEADS, FEED_FORWARD, 0.0, activation, norm_first=norm_first)

    def result(module: torch.nn.Module, **masks: torch.Tensor) -> torch.Tensor:
        return compute(module, x, memory, **masks)

    tensors = {
        "keys": keys.int(),
        "x": x,
        "memory": memory,
        "cross/y": result(Attention()),
        "padded/y": result(Attention(), key_padding_mask=keys == 0),
        "decoder/y": result(torch.nn.TransformerDecoder(layer("relu", False), 2), tgt_mask=causal,
                            memory_key_padding_mask=keys == 0),
        "norm_first/y": result(layer("gelu", True)),
    }
    stable_safetensors.save(ROOT / "tests/golden/decoder_layers.safetensors", tensors,
                            {"torch": torch.__version__, "made_by": "scripts/golden/decoder_layers.py"})


if __name__ == "__main__":
    with torch.no_grad():
        main()
