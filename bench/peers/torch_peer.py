# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch: its quantized operators under the engines fbgemm and onednn, and float32."""
import warnings

import numpy as np
import torch

warnings.filterwarnings("ignore", message=".*quantize_per_tensor.*")


class Function:
    def __init__(self, name: str, function, engine: str | None = None):
        self.name, self.function, self.engine = name, function, engine
        self.result = None

    def run(self, repeats: int) -> None:
        if self.engine is not None and torch.backends.quantized.engine != self.engine:
            torch.backends.quantized.engine = self.engine
        function = self.function
        with torch.inference_mode():
            for _ in range(repeats):
                self.result = function()

    def output(self) -> np.ndarray:
        result = self.result.int_repr() if self.result.is_quantized else self.result
        return (result.permute(0, 2, 3, 1) if result.dim() == 4 else result).numpy()


def quantized_layer(case, operands, engine: str) -> Function:
    torch.backends.quantized.engine = engine
    weights = torch.from_numpy(operands.weights.transpose(0, 3, 1, 2).copy())
    scales = torch.from_numpy(operands.w_scale.astype(np.float64))
    zero_points = torch.zeros(case.out_channels, dtype=torch.int64)
    codes = torch.from_numpy(operands.x.astype(np.uint8))
    if case.is_gemm:
        weights, codes = weights[:, :, 0, 0].contiguous(), codes[:, 0, :].contiguous()
    else:
        codes = codes.permute(2, 0, 1)[None]  # NCHW extents over NHWC memory: channels_last
    w = torch._make_per_channel_quantized_tensor(weights, scales, zero_points, 0)
    x = torch._make_per_tensor_quantized_tensor(codes, operands.x_scale, operands.x_zero_point)
    name = f"PyTorch {engine}"
    if case.is_gemm:
        packed = torch.ops.quantized.linear_prepack(w, None)
        linear = torch.ops.quantized.linear.default
        return Function(name, lambda: linear(x, packed, operands.y_scale, operands.y_zero_point), engine)
    x = x.contiguous(memory_format=torch.channels_last)
    bias = torch.from_numpy((operands.bias * (operands.w_scale * np.float32(operands.x_scale))).astype(np.float32))
    packed = torch.ops.quantized.conv2d_prepack(w, bias, [case.stride] * 2, [case.padding] * 2, [1, 1], case.groups)
    conv2d = torch.ops.quantized.conv2d.new
    return Function(name, lambda: conv2d(x, packed, operands.y_scale, operands.y_zero_point), engine)


def float_layer(case, operands) -> Function:
    x = torch.from_numpy((operands.x.astype(np.float32) - operands.x_zero_point) * np.float32(operands.x_scale))
    w = torch.from_numpy((operands.weights * operands.w_scale[:, None, None, None]).astype(np.float32))
    w = w.permute(0, 3, 1, 2)
    if case.is_gemm:
        x, w = x[:, 0, :].contiguous(), w[:, :, 0, 0].contiguous()
        return Function("PyTorch f32", lambda: torch.nn.functional.linear(x, w))
    x = x.permute(2, 0, 1)[None].contiguous(memory_format=torch.channels_last)
    w = w.contiguous(memory_format=torch.channels_last)
    bias = torch.from_numpy((operands.bias * operands.w_scale * np.float32(operands.x_scale)).astype(np.float32))
    return Function("PyTorch f32", lambda: torch.conv2d(x, w, bias, [case.stride] * 2, [case.padding] * 2, [1, 1],
                                                        case.groups))


def layers(case, operands) -> list[Function]:
    return [*(quantized_layer(case, operands, engine) for engine in ("fbgemm", "onednn")), float_layer(case, operands)]
