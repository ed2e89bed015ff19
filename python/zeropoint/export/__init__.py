# SPDX-License-Identifier: BSD-3-Clause
"""Int8 networks to other systems: ONNX of integer operators, ONNX of QuantizeLinear and DequantizeLinear, AIMET encodings."""
