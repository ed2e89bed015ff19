# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_attention.safetensors: PyTorch's attention, transformer encoders and Elman cells in float.

    python scripts/golden/operators_attention.py

attention/<n>: torch.nn.MultiheadAttention of a sequence x F32 [rows, model] to itself, y F32 [rows, model]; the
parameters under PyTorch's names. encoder/<n>: torch.nn.TransformerEncoder of two layers, 0: relu, normalization behind; 1:
gelu, normalization first, and once at the end. rnn_tanh/0, rnn_relu/0: torch.nn.RNN in both directions, x F32 [time, in],
y F32 [time, 2 * hidden]. Random parameters, those of normalization too. Checked against the same modules in float64:
within 2e-6.
Versions: scripts/requirements.txt.
"""

import copy
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402

MODEL, HEADS, FEED_FORWARD, HIDDEN = 12, 3, 20, 7


def add(file: GoldenFile, group: str, module: torch.nn.Module, x: torch.Tensor, call) -> None:
    module.eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        y = call(module, x)
        exact = call(copy.deepcopy(module).double(), x.double())
    assert (y - exact).abs().max() < 2e-6, group
    tensors = {name: value.detach().numpy() for name, value in module.state_dict().items()}
    file.add(group, [], {"x": x.numpy(), "y": y.numpy(), **tensors})


def main() -> None:
    torch.manual_seed(26)
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    file = GoldenFile("operators_attention", "operators_attention.py", torch_versions("float32"))
    for number, rows in enumerate((1, 9)):
        add(file, f"attention/{number}", torch.nn.MultiheadAttention(MODEL, HEADS), torch.randn(rows, MODEL),
            lambda module, x: module(x, x, x, need_weights=False)[0])
    for number, (activation, norm_first) in enumerate((("relu", False), ("gelu", True))):
        layer = torch.nn.TransformerEncoderLayer(MODEL, HEADS, FEED_FORWARD, 0.0, activation, norm_first=norm_first)
        norm = torch.nn.LayerNorm(MODEL) if norm_first else None
        encoder = torch.nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
        add(file, f"encoder/{number}", encoder, torch.randn(6, MODEL), lambda module, x: module(x))
    for nonlinearity in ("tanh", "relu"):
        add(file, f"rnn_{nonlinearity}/0",
            torch.nn.RNN(MODEL, HIDDEN, nonlinearity=nonlinearity, bidirectional=True),
            torch.randn(5, MODEL), lambda module, x: module(x)[0])
    file.save()


if __name__ == "__main__":
    main()
