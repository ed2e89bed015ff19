# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_dynamic_layers.safetensors: PyTorch's dynamic int8 Elman cells and convolutions.

    python scripts/golden/operators_dynamic_layers.py

rnn_tanh_cell/<n>, rnn_relu_cell/<n>: as the cells of operators_dynamic.py, one gate.

conv1d/<name>, conv2d/<name>: x F32 [1, C, ...], weight I8 [O, C / groups, ...], weight_scale F32 [1] or [O], bias F32 [O], y
F32 [1, O, ...]; options I32: for each spatial axis stride, padding, dilation; then groups, reduce_range; x_scale F32 [1]
and x_zero_point I32 [1], x_codes U8, by PyTorch's rule as in operators_dynamic.py: one range for the image, padding being real zero.
`float` F32 is the convolution of x itself with the weights that the codes stand for, from float64.

    y = x_scale * (clamp(rint((sum (x_code - x_zero_point) * w * x_scale * weight_scale[c] + bias[c]) / x_scale)
                         + x_zero_point, 0, 255) - x_zero_point)

PyTorch's dynamic convolution puts its output on the grid of its input and back. No output lies within 1e-3 of a tie. Versions:
scripts/requirements.txt.
"""

import warnings

import numpy as np
import torch
import torch.nn.functional as F
from operators_dynamic import NearTie, Weights, again_on_near_ties, close, parameters, quantize
from operator_vectors import GoldenFile, torch_versions

warnings.filterwarnings("ignore")

# channels and extents, out channels, kernel, stride, padding, dilation, groups, a scale a channel
CONVOLUTIONS = {
    "conv1d/5": ((3, 17), 4, (5,), (2,), (2,), (1,), 1, False),
    "conv2d/3x3": ((5, 6, 7), 8, (3, 3), (1, 1), (1, 1), (1, 1), 1, True),
    "conv2d/2x3_dilated": ((4, 7, 6), 6, (2, 3), (2, 1), (0, 2), (1, 2), 2, False),
}


def add_cells(file: GoldenFile, generator) -> None:
    def add(name: str, number: int, batch: int, inputs: int, hidden: int):
        ih, hh = (Weights(generator, hidden, n) for n in (inputs, hidden))
        x = generator.normal(0, 1, (batch, inputs)).astype(np.float32)
        h = np.tanh(generator.normal(0, 1, (batch, hidden))).astype(np.float32)
        ours = ih.apply(x)[0] + hh.apply(h)[0]
        ours = np.tanh(ours) if name == "rnn_tanh_cell" else np.maximum(ours, 0)
        operator = getattr(torch.ops.quantized, f"quantized_{name}_dynamic")
        packed = (ih.packed, hh.packed, torch.from_numpy(ih.bias), torch.from_numpy(hh.bias))
        y = operator(torch.from_numpy(x), torch.from_numpy(h), *packed).numpy()
        close(ours, y, name)
        file.add(f"{name}/{number}", [], {"x": x, "h": h, "y": y, **parameters(ih, hh)})

    for name in ("rnn_tanh_cell", "rnn_relu_cell"):
        for number, sizes in enumerate(((1, 5, 7), (3, 16, 9))):
            again_on_near_ties(lambda: add(name, number, *sizes))


def add_convolutions(file: GoldenFile, generator) -> None:
    def add(name: str, extents, outputs, kernel, stride, padding, dilation, groups, per_channel):
        flat = len(kernel) == 1
        codes = generator.integers(-127, 128, (outputs, extents[0] // groups, *kernel)).astype(np.int8)
        channels = outputs if per_channel else 1
        scale = generator.uniform(0.001, 0.003, channels).astype(np.float32)
        bias = generator.normal(0, 0.3, outputs).astype(np.float32)
        x = generator.normal(0.2, 1, (1, *extents)).astype(np.float32)
        x_scale, x_zero_point, x_codes = quantize(x, True, 1e-4)
        if per_channel:
            zeros = torch.zeros(outputs, dtype=torch.int64)
            scales = torch.from_numpy(scale.astype(np.float64))
            weight = torch._make_per_channel_quantized_tensor(torch.from_numpy(codes), scales, zeros, 0)
        else:
            weight = torch._make_per_tensor_quantized_tensor(torch.from_numpy(codes), float(scale[0]), 0)
        dimensions = "1d" if flat else "2d"
        geometry = [list(stride), list(padding), list(dilation), groups]
        prepack = getattr(torch.ops.quantized, f"conv{dimensions}_prepack")
        packed = prepack(weight, torch.from_numpy(bias), *geometry)
        operator = getattr(torch.ops.quantized, f"conv{dimensions}_dynamic")
        y = operator(torch.from_numpy(x), packed, True).numpy()
        convolve = F.conv1d if flat else F.conv2d
        ones = [1] * len(kernel)
        shifted = torch.from_numpy(x_codes.astype(np.float64) - x_zero_point)
        acc = convolve(shifted, torch.from_numpy(codes.astype(np.float64)), None, *geometry).numpy().astype(np.float32)
        scales = np.broadcast_to(scale, outputs).astype(np.float64).reshape(1, -1, *ones)
        added = bias.reshape(1, -1, *ones)
        steps = acc * scales + added / np.float64(x_scale)
        if np.abs(steps - np.floor(steps) - 0.5).min() < 1e-3:
            raise NearTie
        expected = (np.clip(np.rint(steps) + x_zero_point, 0, 255) - x_zero_point).astype(np.float32) * x_scale
        assert np.abs(y - expected).max() < 1e-6, f"{name}: another arithmetic"
        meant = codes.astype(np.float64) * scale.astype(np.float64).reshape(-1, 1, *ones)
        real = convolve(torch.from_numpy(x.astype(np.float64)), torch.from_numpy(meant), None, *geometry).numpy() + added
        options = [number for axis in zip(stride, padding, dilation) for number in axis]
        tensors = {"x": x, "weight": codes, "weight_scale": scale, "bias": bias, "y": y}
        tensors |= {"x_codes": x_codes, "x_scale": np.float32([x_scale]), "x_zero_point": np.int32([x_zero_point])}
        tensors |= {"options": np.int32([*options, groups, 1]), "float": real.astype(np.float32)}
        file.add(name, [], tensors)

    for name, case in CONVOLUTIONS.items():
        for _ in range(20000):
            try:
                add(name, *case)
                break
            except NearTie:
                pass
        else:
            raise AssertionError(f"{name}: no operands without near ties")


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(33)
    file = GoldenFile("operators_dynamic_layers", "operators_dynamic_layers.py", torch_versions("fbgemm"))
    add_cells(file, generator)
    add_convolutions(file, generator)
    file.save()


if __name__ == "__main__":
    main()
