# SPDX-License-Identifier: BSD-3-Clause
"""Networks in PyTorch: float32, int8 under the engines fbgemm and onednn, and the ranges of all activations."""
import numpy as np
import torch

from torch_peer import Function

F = torch.nn.functional


def float_function(net: list, keep: list | None = None):
    """The network as a function of an NCHW image or of a row of features. `keep` receives the output of every node."""
    def parameters(node):
        if node.weight is None:
            return None, None
        weight = torch.from_numpy(np.ascontiguousarray(node.weight))
        layout = torch.channels_last if weight.dim() == 4 else torch.contiguous_format
        return weight.contiguous(memory_format=layout), torch.from_numpy(np.ascontiguousarray(node.bias))

    prepared = [(node, *parameters(node)) for node in net]

    def run(x: torch.Tensor) -> torch.Tensor:
        values = []
        for node, weight, bias in prepared:
            inputs = [values[i] for i in node.inputs]
            match node.kind:
                case "input": y = x
                case "conv": y = torch.conv2d(inputs[0], weight, bias, [node.stride] * 2, [node.padding] * 2, [1, 1],
                                              node.groups)
                case "linear": y = F.linear(inputs[0], weight, bias)
                case "max_pool": y = F.max_pool2d(inputs[0], node.kernel, node.stride, node.padding)
                case "global_avg_pool": y = F.adaptive_avg_pool2d(inputs[0], 1)
                case "flatten": y = inputs[0].flatten(1)
                case "add": y = inputs[0] + inputs[1]
            if node.activation == "relu":
                y = F.relu_(y)
            if node.activation == "relu6":
                y = F.hardtanh_(y, 0.0, 6.0)
            values.append(y)
        if keep is not None:
            keep.append(values)
        return values[-1]
    return run


def tensor_of(x: np.ndarray) -> torch.Tensor:
    x = torch.from_numpy(x)
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x


def activation_ranges(net: list, calibration: list[np.ndarray]) -> list[tuple[float, float]]:
    """Minimum and maximum of each node's output, 0 among them."""
    kept = []
    run = float_function(net, kept)
    with torch.inference_mode():
        for image in calibration:
            run(tensor_of(image))
    return [(min(0.0, *(float(values[i].min()) for values in kept)),
             max(1e-6, *(float(values[i].max()) for values in kept))) for i in range(len(net))]


def codes_of(minimum: float, maximum: float) -> tuple[float, int]:
    """Scale and zero point of uint8 codes."""
    scale = float(np.float32((maximum - minimum) / 255))
    return scale, round(-minimum / scale)


def quantized_function(net: list, ranges: list[tuple[float, float]]):
    """The int8 network from float to float. Its clamps are the ends of the ranges; fbgemm's kernels fuse a ReLU."""
    q, steps = torch.ops.quantized, []
    for node, (minimum, maximum) in zip(net, ranges):
        scale, zero_point = codes_of(minimum, maximum)
        packed = None
        if node.weight is not None:
            weight, bias = torch.from_numpy(np.ascontiguousarray(node.weight)), torch.from_numpy(node.bias.copy())
            scales = weight.abs().flatten(1).amax(1).double() / 127
            quantized = torch.quantize_per_channel(weight, scales, torch.zeros(len(scales), dtype=torch.int64), 0,
                                                   torch.qint8)
            if node.kind == "conv":
                packed = q.conv2d_prepack(quantized, bias, [node.stride] * 2, [node.padding] * 2, [1, 1], node.groups)
            else:
                packed = q.linear_prepack(quantized, bias)
        steps.append((node, packed, scale, zero_point))

    def run(x: torch.Tensor) -> torch.Tensor:
        values = []
        for node, packed, scale, zero_point in steps:
            a = values[node.inputs[0]] if node.inputs else None
            match node.kind, bool(node.activation):
                case "input", _: y = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)
                case "conv", False: y = q.conv2d.new(a, packed, scale, zero_point)
                case "conv", True: y = q.conv2d_relu.new(a, packed, scale, zero_point)
                case "linear", False: y = q.linear(a, packed, scale, zero_point)
                case "linear", True: y = q.linear_relu(a, packed, scale, zero_point)
                case "add", False: y = q.add(a, values[node.inputs[1]], scale, zero_point)
                case "add", True: y = q.add_relu(a, values[node.inputs[1]], scale, zero_point)
                case "max_pool", _: y = F.max_pool2d(a, node.kernel, node.stride, node.padding)
                case "global_avg_pool", _: y = F.adaptive_avg_pool2d(a, 1)
                case "flatten", _: y = a.flatten(1)
            values.append(y)
        return values[-1].dequantize()
    return run


def functions(net: list, x: np.ndarray, ranges: list[tuple[float, float]]) -> list[Function]:
    image, result = tensor_of(x), []
    for engine in ("fbgemm", "onednn"):
        torch.backends.quantized.engine = engine
        run = quantized_function(net, ranges)
        result.append(Function(f"PyTorch {engine}", lambda run=run: run(image), engine))
    plain = float_function(net)
    return [*result, Function("PyTorch f32", lambda: plain(image))]
