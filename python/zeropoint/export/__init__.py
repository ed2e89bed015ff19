"""Int8 networks to other systems: ONNX of integer operators, ONNX of QuantizeLinear and DequantizeLinear, AIMET encodings."""
