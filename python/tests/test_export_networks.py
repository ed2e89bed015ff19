# SPDX-License-Identifier: BSD-3-Clause
"""Whole networks, every layer, every policy: the integer graph has the codes of the C++ network."""

from __future__ import annotations

from pathlib import Path

import pytest
from exported import check_integer, digits, imported, of_layers

from zeropoint.export.compare import compare_rows, made_up_inputs
from zeropoint.export.qdq import emit_qdq


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "unet", "lstm", "gru", "mixed", "siamese", "keywords", "convnext",
                                  "vit", "encoder", "masked"])
def test_network(name: str, tmp_path: Path) -> None:
    """Integers are equal, and QDQ has no row that is far off."""
    case = imported(name, tmp_path)
    check_integer(case, reference=name not in ("resnet18", "mobilenet_v2"))
    library, model = case.opened()
    emitter = emit_qdq(model, library.ports)
    for row in compare_rows(emitter, library, made_up_inputs(library, model, 0)):
        assert row.largest <= 16, row


@pytest.mark.parametrize("qconfig", ["per_tensor_min_max", "per_channel_min_max", "fully_symmetric", "reduced_range",
                                     "int8_activations", "tflite_like"])
def test_policies(qconfig: str) -> None:
    """The other committed models of the digits network: float biases, fixed point, signed codes, seven bits."""
    check_integer(digits(qconfig))


@pytest.mark.parametrize("net, qconfig", [("images", "layers::signed_codes"), ("images", "default_qconfig"),
                                          ("values", "default_qconfig"), ("values", "layers::signed_codes"),
                                          ("steps", "default_qconfig"), ("volumes", "layers::affine_weights"),
                                          ("litert", "layers::as_litert")])
def test_layers(net: str, qconfig: str, tmp_path: Path) -> None:
    """Those that the networks above do not have."""
    check_integer(of_layers(net, tmp_path, qconfig))
