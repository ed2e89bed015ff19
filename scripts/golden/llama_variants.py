# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/llama_variants.safetensors and llama_pretrained.safetensors: what transformers makes of Llamas with scaled rotary
positions, tied embeddings, biases and norms of queries and keys, of random weights over some tokens, in float.

    python scripts/golden/llama_variants.py

`ids` I32 [length]. F32 [length, channels], last_hidden_state: linear/vectors (LlamaModel, rope_type "linear") and llama3/vectors (rope_type
"llama3", whose original_max_position_embeddings is less than the length, so that frequencies of all three kinds are there). F32 [length,
vocabulary], logits: qwen2/logits (Qwen2ForCausalLM: biases, tied) and qwen3/logits (Qwen3ForCausalLM: norms of queries and keys, heads of
more channels than channels / heads, tied). Parameters follow from their names as those of networks.py: none is committed, and nothing is
downloaded.

llama_pretrained.safetensors is what LlamaForCausalLM.save_pretrained wrote of a smaller one in bfloat16, tied and with "llama3", and
pretrained/logits are those of its weights in float32.

Checked: the implementations "eager" and "sdpa" agree within 1e-5, and all is within 1e-5 of float64; one token at a time over a cache too.
Versions: scripts/requirements.txt.
"""

import copy
import sys
import tempfile
from pathlib import Path

import torch
import transformers

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/golden")]
import stable_safetensors  # noqa: E402
from networks import hashed, parameter  # noqa: E402

LENGTH, VOCABULARY = 40, 90
EXTENTS = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 160,
           "vocab_size": VOCABULARY, "max_position_embeddings": 48}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
LINEAR = {"rope_type": "linear", "rope_theta": 500000.0, "factor": 4.0}
MILLION = {"rope_type": "default", "rope_theta": 1000000.0}
VARIANTS = {
    "linear/vectors": (transformers.LlamaConfig, transformers.LlamaModel, {"rope_parameters": LINEAR, "rms_norm_eps": 1e-5}),
    "llama3/vectors": (transformers.LlamaConfig, transformers.LlamaModel, {"rope_parameters": LLAMA3, "rms_norm_eps": 1e-5}),
    "qwen2/logits": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM,
                     {"rope_parameters": MILLION, "rms_norm_eps": 1e-6, "tie_word_embeddings": True}),
    "qwen3/logits": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM,
                     {"rope_parameters": MILLION, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "head_dim": 24}),
}
SMALL = EXTENTS | {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 64,
                   "rope_parameters": LLAMA3, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}


def near(y: torch.Tensor, other: torch.Tensor) -> None:
    assert (y - other).abs().max() < 1e-5 * other.abs().max(), (y - other).abs().max()


@torch.no_grad()
def set_parameters(model: torch.nn.Module) -> None:
    for name, values in model.named_parameters():  # without lm_head.weight where that is tied
        values.copy_(parameter(name, values.shape, False))


def result(out) -> torch.Tensor:
    return out.logits[0] if "logits" in out else out.last_hidden_state[0]


@torch.no_grad()
def values_of(make, ids: torch.Tensor) -> torch.Tensor:
    """make(implementation) is a model in float32."""
    results = []
    for implementation in ("eager", "sdpa"):
        model = make(implementation).eval()
        for one in (model, copy.deepcopy(model).double()):
            results.append(result(one(input_ids=ids)))
    cache, steps = None, []
    for i in range(ids.shape[1]):
        out = model(input_ids=ids[:, i : i + 1], past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        steps.append(result(out)[0])
    results.append(torch.stack(steps))
    for other in results[1:]:
        near(results[0], other)
    return results[0]


def hashed_model(config_type, model_type, extents):
    def make(implementation: str):
        model = model_type(config_type(**EXTENTS, **extents, attn_implementation=implementation))
        set_parameters(model)
        return model

    return make


def pretrained(ids: torch.Tensor) -> tuple[Path, torch.Tensor]:
    """What save_pretrained wrote, and the logits of what from_pretrained reads of it, in float32."""
    folder = tempfile.mkdtemp()
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL))
    set_parameters(model)
    model.bfloat16().save_pretrained(folder)
    load = transformers.LlamaForCausalLM.from_pretrained
    return Path(folder) / "model.safetensors", values_of(lambda how: load(folder, dtype=torch.float32, attn_implementation=how), ids)


def main() -> None:
    ids = ((torch.from_numpy(hashed("ids", LENGTH)) + 1) * VOCABULARY / 2).long().clamp(0, VOCABULARY - 1)[None]
    tensors = {"ids": ids[0].int()}
    for name, variant in VARIANTS.items():
        tensors[name] = values_of(hashed_model(*variant), ids)
    file, tensors["pretrained/logits"] = pretrained(ids)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    golden = ROOT / "tests/golden"
    stable_safetensors.save(golden / "llama_variants.safetensors", tensors, versions | {"made_by": "scripts/golden/llama_variants.py"})
    (golden / "llama_pretrained.safetensors").write_bytes(file.read_bytes())


if __name__ == "__main__":
    main()
