# SPDX-License-Identifier: BSD-3-Clause
"""Networks of Hugging Face's transformers, from small configurations: two layers of 64 channels, extents that differ."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import nn

from acceptance.families.torchvision import load as load_torchvision
from acceptance.networks import Example, Network

SMALL: dict[str, Any] = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)
WORDS: dict[str, Any] = dict(vocab_size=53, max_position_embeddings=32)
WAVES: dict[str, Any] = dict(conv_dim=(32, 32, 48), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16,
                             num_conv_pos_embedding_groups=4, vocab_size=29)
LENGTH = 11


def load() -> Any:
    """transformers, some of whose modules import torchvision."""
    load_torchvision()
    import transformers

    return transformers


class Of(nn.Module):
    """The first output of a model; its arguments have their names."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model


class Words(Of):
    """Of token ids alone."""

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids)[0]


class MaskedWords(Of):
    """With a mask of padding."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask)[0]


class Sentences(Of):
    """With the numbers of sentences too."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]


class Values(Of):
    """Of an image, a spectrogram or a wave."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.model(values)[0]


def ids() -> torch.Tensor:
    """Of words."""
    return torch.randint(0, WORDS["vocab_size"], (1, LENGTH))


def mask() -> torch.Tensor:
    """The last three words are padding."""
    return (torch.arange(LENGTH)[None] < LENGTH - 3).long()


EXAMPLES: dict[type[Of], Callable[[], Example]] = {
    Words: lambda: (ids(),), MaskedWords: lambda: (ids(), mask()),
    Sentences: lambda: (ids(), mask(), torch.randint(0, 2, (1, LENGTH)))}


def of(name: str, wrap: type[Of], model: str, config: str, expect: str = "imports", why: str = "",
       example: Callable[[], Example] | None = None, **options: Any) -> Network:
    """A model of a configuration. Attention is eager where PyTorch's ONNX exporter fails at the other one."""

    def make() -> nn.Module:
        library = load()
        made = getattr(library, config)(**options)
        if config == "T5Config":
            made._attn_implementation = "eager"
        if model == "WhisperEncoder":
            from transformers.models.whisper.modeling_whisper import WhisperEncoder
            return wrap(WhisperEncoder(made))
        return wrap(getattr(library, model)(made))

    return Network(name, make, example or EXAMPLES[wrap], expect, expect == "imports", why)


def values(*extents: int) -> Callable[[], Example]:
    """Normal numbers."""
    return lambda: (torch.randn(1, *extents),)


NETWORKS = [
    of("bert", Sentences, "BertModel", "BertConfig", **SMALL, **WORDS),
    of("bert_classifier", Words, "BertForSequenceClassification", "BertConfig", **SMALL, **WORDS),
    of("bert_eager", MaskedWords, "BertModel", "BertConfig", attn_implementation="eager", **SMALL, **WORDS),
    of("distilbert", MaskedWords, "DistilBertModel", "DistilBertConfig", dim=64, n_layers=2, n_heads=4, hidden_dim=96, **WORDS),
    of("albert", MaskedWords, "AlbertModel", "AlbertConfig", embedding_size=24, **SMALL, **WORDS),
    of("electra", MaskedWords, "ElectraModel", "ElectraConfig", embedding_size=24, **SMALL, **WORDS),
    of("t5_encoder", MaskedWords, "T5EncoderModel", "T5Config", vocab_size=53, d_model=64, d_kv=16, d_ff=96, num_layers=2,
       num_heads=4),
    of("t5_v1_1_encoder", Words, "T5EncoderModel", "T5Config", vocab_size=53, d_model=64, d_kv=16, d_ff=96, num_layers=2,
       num_heads=4, feed_forward_proj="gated-gelu"),
    of("gpt2", Words, "GPT2LMHeadModel", "GPT2Config", vocab_size=53, n_positions=32, n_embd=64, n_layer=2, n_head=4,
       use_cache=False),
    of("gpt2_masked", MaskedWords, "GPT2Model", "GPT2Config", vocab_size=53, n_positions=32, n_embd=64, n_layer=2, n_head=4,
       use_cache=False),
    of("llama", Words, "LlamaModel", "LlamaConfig", expect="either", num_key_value_heads=4, use_cache=False, **SMALL, **WORDS),
    of("roberta", MaskedWords, "RobertaModel", "RobertaConfig", "refused", "positions that are sums of the mask so far",
       **SMALL, **WORDS),
    of("convbert", Words, "ConvBertModel", "ConvBertConfig", "either",
       "torch.export keeps an im2col, for which there is no layer; ONNX has it as a gather", embedding_size=24, **SMALL, **WORDS),
    of("vit", Values, "ViTForImageClassification", "ViTConfig", example=values(3, 32, 48), image_size=(32, 48), patch_size=8,
       **SMALL),
    of("ast", Values, "ASTForAudioClassification", "ASTConfig", example=values(40, 24), num_mel_bins=24, max_length=40,
       patch_size=8, frequency_stride=4, time_stride=5, **SMALL),
    of("segformer", Values, "SegformerForSemanticSegmentation", "SegformerConfig", example=values(3, 64, 96),
       depths=[1, 1, 1, 1], hidden_sizes=[16, 24, 32, 40], num_attention_heads=[1, 2, 4, 5], decoder_hidden_size=48),
    of("wav2vec2", Values, "Wav2Vec2ForCTC", "Wav2Vec2Config", example=values(800), num_feat_extract_layers=3, **SMALL, **WAVES),
    of("wav2vec2_layer_norm", Values, "Wav2Vec2ForCTC", "Wav2Vec2Config", example=values(800), num_feat_extract_layers=3,
       feat_extract_norm="layer", do_stable_layer_norm=True, **SMALL, **WAVES),
    of("hubert", Values, "HubertModel", "HubertConfig", example=values(800), num_feat_extract_layers=3, **SMALL, **WAVES),
    of("whisper_encoder", Values, "WhisperEncoder", "WhisperConfig", example=values(20, 60), d_model=64, encoder_layers=2,
       encoder_attention_heads=4, encoder_ffn_dim=96, num_mel_bins=20, max_source_positions=30),
]
