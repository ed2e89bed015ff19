# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/decoders.safetensors: transformers' GPT2Model and LlamaModel of random weights over some tokens, in float.

    python scripts/golden/decoders.py

`ids` I32 [length]; gpt2/vectors, llama/vectors F32 [length, channels], last_hidden_state. Llama has grouped queries and, over the
same tokens, a second result whose attention sees the last WINDOW places alone, llama/window. Parameters follow from
their names as those of networks.py: none is committed, and nothing is downloaded.

Checked: the implementations "eager" and "sdpa" agree within 1e-5, and all is within 1e-5 of float64; one token at a time over a
cache too. Versions: scripts/requirements.txt.
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

LENGTH, WINDOW, VOCABULARY = 14, 5, 90
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": 160, "vocab_size": VOCABULARY, "n_positions": 20}
LLAMA = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 160,
         "vocab_size": VOCABULARY, "max_position_embeddings": 20, "rms_norm_eps": 1e-5}


def near(y: torch.Tensor, other: torch.Tensor) -> None:
    assert (y - other).abs().max() < 1e-5 * other.abs().max(), (y - other).abs().max()


@torch.no_grad()
def vectors(config_type, model_type, extents, ids: torch.Tensor, window: int | None = None) -> torch.Tensor:
    results = []
    places = torch.arange(LENGTH)
    distance = places[:, None] - places[None, :]
    seen = (distance >= 0) & (distance < (window or LENGTH))
    for implementation in ("eager", "sdpa"):
        model = model_type(config_type(**extents, attn_implementation=implementation)).eval()
        set_parameters(model)
        for one in (model, copy.deepcopy(model).double()):
            type_ = next(one.parameters()).dtype
            lowest = torch.finfo(type_).min
            mask = torch.zeros(1, 1, LENGTH, LENGTH, dtype=type_).masked_fill(~seen, lowest) if window else None
            results.append(one(input_ids=ids, attention_mask=mask).last_hidden_state[0])
    if window is None:
        cache, steps = None, []
        for i in range(LENGTH):
            out = model(input_ids=ids[:, i : i + 1], past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            steps.append(out.last_hidden_state[0, 0])
        results.append(torch.stack(steps))
    for result in results[1:]:
        near(results[0], result)
    return results[0]


def main() -> None:
    ids = ((torch.from_numpy(hashed("ids", LENGTH)) + 1) * VOCABULARY / 2).long().clamp(0, VOCABULARY - 1)[None]
    gpt2 = vectors(transformers.GPT2Config, transformers.GPT2Model, GPT2, ids)
    llama = [vectors(transformers.LlamaConfig, transformers.LlamaModel, LLAMA, ids, w) for w in (None, WINDOW)]
    tensors = {"ids": ids[0].int(), "gpt2/vectors": gpt2, "llama/vectors": llama[0], "llama/window": llama[1]}
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    stable_safetensors.save(ROOT / "tests/golden/decoders.safetensors", tensors,
                            versions | {"made_by": "scripts/golden/decoders.py"})


if __name__ == "__main__":
    main()
