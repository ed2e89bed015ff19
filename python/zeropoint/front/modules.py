# SPDX-License-Identifier: BSD-3-Clause
"""Which modules of PyTorch are layers, and which have layers inside."""

from __future__ import annotations

HOLD_OTHERS = {"Sequential", "ModuleList", "ModuleDict", "MultiheadAttention", "Transformer", "TransformerEncoder",
               "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer"}


def inside(modules: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Paths and short class names of the modules that hold a node, without the layer that it is itself."""
    kept = []
    for path, cls in modules:
        short = cls.split(".")[-1].rstrip("'>")
        is_layer = cls.startswith(("torch.nn.modules.", "torch.ao.nn.")) and short not in HOLD_OTHERS
        if path and not is_layer:
            kept.append((path, short))
    return tuple(kept)
