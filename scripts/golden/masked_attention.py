# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/masked_attention.safetensors: BERT over padded sentences and PyTorch's attention with masks, in float.

    python scripts/golden/masked_attention.py

bert: transformers' BertModel without its pooler, of EXTENTS; ids, types, mask I32 [sentences, length], a padded batch;
vectors F32 [sentences, length, channels], its last_hidden_state, at padding too. attention: torch.nn.MultiheadAttention of a
sequence to itself, x F32 [rows, model]; with key_padding_mask (padded/y), attn_mask of booleans below the diagonal
(causal/y). encoder: torch.nn.TransformerEncoder of two layers with src_key_padding_mask. `keys` I32 [rows] is 1 where a key is
seen. Parameters follow from their names as those of networks.py: none is committed, and nothing is downloaded.

Checked: the implementations "eager" and "sdpa" of transformers agree within 1e-5, and all is within 1e-5 of float64.
Versions: scripts/requirements.txt.
"""

import copy
import sys
from pathlib import Path

import torch
import transformers

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/golden")]
import stable_safetensors  # noqa: E402
from networks import hashed, set_parameters  # noqa: E402

EXTENTS = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
           "vocab_size": 100, "max_position_embeddings": 40, "type_vocab_size": 2}
LENGTH, LENGTHS = 32, (32, 19, 7, 1)
ROWS, MODEL, HEADS, FEED_FORWARD, SEEN = 9, 12, 3, 20, (0, 1, 2, 4, 5, 7)


def near(y: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    assert (y - other).abs().max() < 1e-5 * other.abs().max(), (y - other).abs().max()
    return y


def bert() -> dict[str, torch.Tensor]:
    """Sentences of several lengths, each with a second part of type 1; ids at padding are 0."""
    mask = torch.tensor([[int(i < length) for i in range(LENGTH)] for length in LENGTHS])
    types = torch.tensor([[int(length // 2 < i < length) for i in range(LENGTH)] for length in LENGTHS])
    ids = torch.from_numpy(hashed("ids", mask.numel())).reshape(mask.shape)
    ids = ((ids + 1) * 50).long().clamp(1, 99) * mask
    results = []
    for implementation in ("eager", "sdpa"):
        config = transformers.BertConfig(**EXTENTS, attn_implementation=implementation)
        model = transformers.BertModel(config, add_pooling_layer=False).eval()
        set_parameters(model)
        for one in (model, copy.deepcopy(model).double()):
            results.append(one(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state)
    for result in results[1:]:
        near(results[0], result)
    return {"ids": ids.int(), "types": types.int(), "mask": mask.int(), "vectors": results[0]}


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = torch.nn.MultiheadAttention(MODEL, HEADS)

    def forward(self, x: torch.Tensor, **masks: torch.Tensor) -> torch.Tensor:
        return self.attn(x, x, x, need_weights=False, **masks)[0]


def compute(module: torch.nn.Module, *xs: torch.Tensor, **masks: torch.Tensor) -> torch.Tensor:
    module.eval()
    set_parameters(module)
    return near(module(*xs, **masks), copy.deepcopy(module).double()(*(x.double() for x in xs), **masks))


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    tensors = {f"bert/{name}": values for name, values in bert().items()}
    keys = torch.tensor([int(i in SEEN) for i in range(ROWS)])
    x = torch.from_numpy(hashed("x", ROWS * MODEL)).reshape(ROWS, MODEL) * 2
    causal = torch.triu(torch.ones(ROWS, ROWS, dtype=torch.bool), 1)
    layer = torch.nn.TransformerEncoderLayer(MODEL, HEADS, FEED_FORWARD, 0.0, "relu")
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    tensors |= {
        "keys": keys.int(),
        "x": x,
        "padded/y": compute(Attention(), x, key_padding_mask=keys == 0),
        "causal/y": compute(Attention(), x, attn_mask=causal),
        "encoder/y": compute(encoder, x, src_key_padding_mask=keys == 0),
    }
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    stable_safetensors.save(ROOT / "tests/golden/masked_attention.safetensors", tensors,
                            versions | {"made_by": "scripts/golden/masked_attention.py"})


if __name__ == "__main__":
    main()
