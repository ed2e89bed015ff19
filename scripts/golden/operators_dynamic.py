# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_dynamic.safetensors: PyTorch's dynamic int8 layers, recurrent layers.

    python scripts/golden/operators_dynamic.py

linear/<name>: x F32 [rows, in], weight I8 [out, in], weight_scale F32 and weight_zero_point I32 [1] or [out], bias F32
[out], options I32 [2] = reduce_range, relu; what PyTorch chooses: x_scale F32 [1], x_zero_point I32 [1], x_codes U8
[rows, in]; y F32 [rows, out]. One range for the whole of x:

    low = min(x, 0), high = max(x, 0), last = reduce_range ? 127 : 255
    x_scale = double(high - low) / last; 0.1 where that is 0 as a float
    x_zero_point = rint(last - high / x_scale) clamped to [0, last], or from the other end, rint(-low / x_scale), if 0 -
                   |low / x_scale| < last - |high / x_scale|     (fbgemm's rule as ATen has it)
    x_codes = clamp(rint(x * (1 / float(x_scale))) + x_zero_point, 0, 255)     255 with reduce_range too
    y = float(sum (x_code - x_zero_point) * (w - w_zero_point)) * (float(x_scale) * weight_scale[c]) + bias[c]
y is that, bit for bit, with the last two operations as one fused multiply-add or as two: both give it.

lstm_cell/<n>, gru_cell/<n>: weight_ih, weight_hh I8 [gates * hidden, ...], weight_scale F32 [2] and weight_zero_point
I32 [2] (of ih, of hh), bias_ih, bias_hh F32, x F32 [batch, in], h (and c) F32 [batch, hidden]; y (and y_c) F32.
lstm/<n>, gru/<n>: a sequence x F32 [time, batch, in], zero initial states; parameters as above, named <name>_l0,
<name>_l1, with _reverse for the second direction, options I32 [3] = layers, directions, hidden; y F32 [time, batch,
directions * hidden]. The input of a layer is quantized once, with one range for the whole sequence; the state is
quantized in every step. All with reduce_range. Gates i, f, g, o and r, z, n as torch.nn has them. float_lstm/<n>,
float_gru/<n>: the same with F32 weights; options I32 [4] = layers, directions, hidden, projection (0 is none;
weight_hr_l0).

Checked against numpy: cells and sequences within 2e-6 (libm and the order of sums), all of their codes being equal; no
x * (1 / x_scale) lies so close to a tie that this would matter. Float layers within 2e-6 of float64.
Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, fma, torch_versions  # noqa: E402

warnings.filterwarnings("ignore")
TOLERANCE = 2e-6


class NearTie(Exception):
    """A code would depend on the last bits of a float: draw again."""


def choose_qparams(x: np.ndarray, reduce_range: bool) -> tuple[float, int]:
    last = 127 if reduce_range else 255
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    scale = (high - low) / last
    if np.float32(scale) == 0:
        scale = 0.1
    from_low = 0 - abs(low / scale) < last - abs(high / scale)
    zero_point = -low / scale if from_low else last - high / scale
    return scale, int(np.clip(np.rint(zero_point), 0, last))


def quantize(x: np.ndarray, reduce_range: bool, margin: float) -> tuple[np.float32, int, np.ndarray]:
    scale, zero_point = choose_qparams(x, reduce_range)
    scaled = x * (np.float32(1) / np.float32(scale))
    if x.any() and np.abs(scaled - np.floor(scaled) - np.float32(0.5)).min() < margin:
        raise NearTie
    codes = np.clip(np.rint(scaled) + zero_point, 0, 255).astype(np.uint8)
    return np.float32(scale), zero_point, codes


class Weights:
    """Quantized weights of a linear layer with their bias, packed for PyTorch too."""

    def __init__(self, generator, outputs: int, inputs: int, per_channel=False, affine=False, limit=127):
        channels = outputs if per_channel else 1
        self.codes = generator.integers(-limit, limit + 1, (outputs, inputs)).astype(np.int8)
        self.scale = (generator.uniform(0.5, 1.5, channels) * 2 / limit / np.sqrt(inputs)).astype(np.float32)
        self.zero_point = (generator.integers(-9, 10, channels) * int(affine)).astype(np.int32)
        self.bias = generator.normal(0, 0.3, outputs).astype(np.float32)
        codes, zero_point = torch.from_numpy(self.codes), torch.from_numpy(self.zero_point.astype(np.int64))
        if per_channel:
            scale = torch.from_numpy(self.scale.astype(np.float64))
            weight = torch._make_per_channel_quantized_tensor(codes, scale, zero_point, 0)
        else:
            weight = torch._make_per_tensor_quantized_tensor(codes, float(self.scale[0]), int(zero_point[0]))
        self.packed = torch.ops.quantized.linear_prepack(weight, torch.from_numpy(self.bias))

    def apply(self, x: np.ndarray, reduce_range=True, margin=1e-4, parts: dict | None = None):
        """Both orders of the last operations; `parts` receives the codes."""
        scale, zero_point, codes = quantize(x, reduce_range, margin)
        if parts is not None:
            parts.update(x_scale=np.float32([scale]), x_zero_point=np.int32([zero_point]), x_codes=codes)
        shifted = codes.reshape(-1, codes.shape[-1]).astype(np.int64) - zero_point
        acc = shifted @ (self.codes.astype(np.int64) - self.zero_point[:, None]).T
        acc = acc.astype(np.float32).reshape(*codes.shape[:-1], -1)
        factor = scale * self.scale
        return acc * factor + self.bias, fma(acc, factor, self.bias)


LINEARS = {  # rows, in, out, per channel, affine weights, reduce_range, relu
    "7_to_5": (4, 7, 5, False, False, True, False),
    "32_to_16_per_channel": (3, 32, 16, True, False, True, False),
    "33_to_17_relu": (5, 33, 17, False, False, True, True),
    "64_to_8_full_range": (2, 64, 8, True, False, False, False),
    "40_to_9_affine": (1, 40, 9, False, True, True, False),
    "1_to_1": (1, 1, 1, False, False, True, False),
    "16_to_4_positive": (3, 16, 4, True, False, True, False),
}


def add_linears(file: GoldenFile, generator) -> None:
    for name, (rows, inputs, outputs, per_channel, affine, reduce_range, relu) in LINEARS.items():
        while True:
            weights = Weights(generator, outputs, inputs, per_channel, affine, 127 if reduce_range else 63)
            x = generator.normal(0.2, 1, (rows, inputs)).astype(np.float32)
            x, parts = np.abs(x) if name.endswith("positive") else x, {}
            try:
                two, one = weights.apply(x, reduce_range, 1e-4, parts)
            except NearTie:
                continue
            if np.array_equal(two, one):
                break
            x, parts = x[:1], {}  # fewer outputs agree more often
            two, one = weights.apply(x, reduce_range, 0, parts)
            if np.array_equal(two, one):
                break
        operator = torch.ops.quantized.linear_relu_dynamic if relu else torch.ops.quantized.linear_dynamic
        y = operator(torch.from_numpy(x), weights.packed, reduce_range).numpy()
        assert np.array_equal(y, np.maximum(two, 0) if relu else two), f"linear {name}: another arithmetic"
        tensors = {
            "x": x,
            "weight": weights.codes,
            "weight_scale": weights.scale,
            "bias": weights.bias,
            "y": y,
            **parts,
        }
        tensors.update(weight_zero_point=weights.zero_point, options=np.int32([reduce_range, relu]))
        file.add(f"linear/{name}", [], tensors)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_gates(sum_of_both, c):
    i, f, g, o = np.split(sum_of_both, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_gates(from_input, from_state, h):
    (xr, xz, xn), (hr, hz, hn) = np.split(from_input, 3, axis=-1), np.split(from_state, 3, axis=-1)
    n, z = np.tanh(xn + sigmoid(xr + hr) * hn), sigmoid(xz + hz)
    return n + z * (h - n)


def close(ours, theirs, what: str) -> None:
    difference = np.abs(ours - theirs).max()
    assert difference < TOLERANCE, f"{what}: {difference} apart"


def parameters(ih: Weights, hh: Weights, suffix: str = "") -> dict[str, np.ndarray]:
    return {
        f"weight_ih{suffix}": ih.codes,
        f"weight_hh{suffix}": hh.codes,
        f"weight_scale{suffix}": np.concatenate([ih.scale, hh.scale]),
        f"weight_zero_point{suffix}": np.concatenate([ih.zero_point, hh.zero_point]),
        f"bias_ih{suffix}": ih.bias,
        f"bias_hh{suffix}": hh.bias,
    }


def again_on_near_ties(add) -> None:
    for _ in range(200):
        try:
            return add()
        except NearTie:
            pass
    raise AssertionError("no operands without near ties")


def add_cells(file: GoldenFile, generator) -> None:
    def add(gates: int, number: int, batch: int, inputs: int, hidden: int):
        ih, hh = (Weights(generator, gates * hidden, n) for n in (inputs, hidden))
        x = generator.normal(0, 1, (batch, inputs)).astype(np.float32)
        h, c = (np.tanh(generator.normal(0, 1, (batch, hidden))).astype(np.float32) for _ in range(2))
        from_input, from_state = ih.apply(x)[0], hh.apply(h)[0]
        packed = (ih.packed, hh.packed, torch.from_numpy(ih.bias), torch.from_numpy(hh.bias))
        if gates == 4:
            states = [torch.from_numpy(h), torch.from_numpy(c)]
            y, y_c = torch.ops.quantized.quantized_lstm_cell_dynamic(torch.from_numpy(x), states, *packed)
            ours, ours_c = lstm_gates(from_input + from_state, c)
            close(ours_c, y_c.numpy(), "lstm_cell c")
            tensors, name = {"c": c, "y_c": y_c.numpy()}, "lstm_cell"
        else:
            y = torch.ops.quantized.quantized_gru_cell_dynamic(torch.from_numpy(x), torch.from_numpy(h), *packed)
            ours, tensors, name = gru_gates(from_input, from_state, h), {}, "gru_cell"
        close(ours, y.numpy(), name)
        file.add(f"{name}/{number}", [], {"x": x, "h": h, "y": y.numpy(), **tensors, **parameters(ih, hh)})

    for gates in (4, 3):
        for number, sizes in enumerate(((1, 5, 7), (3, 16, 8))):
            again_on_near_ties(lambda: add(gates, number, *sizes))


def run_direction(gates: int, x: np.ndarray, ih, hh, hidden: int, project=None) -> np.ndarray:
    """One layer in one direction; ih and hh map a whole sequence and a state to the sums of the gates."""
    from_input = ih(x)
    h = np.zeros((x.shape[1], hidden), x.dtype)
    c, outputs = np.zeros_like(h), []
    if project is not None:
        h = project(h)
    for step in from_input:
        if gates == 4:
            h, c = lstm_gates(step + hh(h), c)
            h = project(h) if project is not None else h
        else:
            h = gru_gates(step, hh(h), h)
        outputs.append(h)
    return np.stack(outputs)


def add_sequences(file: GoldenFile, generator) -> None:
    def add(gates: int, number: int, shape, hidden: int, layers: int, directions: int):
        x = generator.normal(0, 1, shape).astype(np.float32)
        packed, tensors, y = [], {}, x
        for layer in range(layers):
            outputs = []
            for direction in range(directions):
                ih, hh = (Weights(generator, gates * hidden, n) for n in (y.shape[-1], hidden))
                suffix = f"_l{layer}" + "_reverse" * direction
                tensors.update(parameters(ih, hh, suffix))
                biases = (torch.from_numpy(ih.bias), torch.from_numpy(hh.bias))
                packed.append(
                    torch.ops.quantized.make_quantized_cell_params_dynamic(ih.packed, hh.packed, *biases, True)
                )
                turn = slice(None, None, -1 if direction else 1)
                ran = run_direction(gates, y[turn], lambda v: ih.apply(v)[0], lambda v: hh.apply(v)[0], hidden)
                outputs.append(ran[turn])
            y = np.concatenate(outputs, axis=-1)
        zeros = torch.zeros(layers * directions, shape[1], hidden)
        common = (packed, True, layers, 0.0, False, directions == 2, False)
        if gates == 4:
            name = "lstm"
            theirs = torch.quantized_lstm(
                torch.from_numpy(x), [zeros, zeros], *common, dtype=torch.qint8, use_dynamic=True
            )[0]
        else:
            name = "gru"
            theirs = torch.quantized_gru(torch.from_numpy(x), zeros, *common)[0]
        close(y, theirs.numpy(), f"{name} {number}")
        options = np.int32([layers, directions, hidden])
        file.add(f"{name}/{number}", [], {"x": x, "y": theirs.numpy(), "options": options, **tensors})

    for gates in (4, 3):
        for number, case in enumerate((((4, 1, 5), 6, 1, 1), ((3, 1, 6), 5, 2, 2))):
            again_on_near_ties(lambda: add(gates, number, *case))


def add_float(file: GoldenFile, generator) -> None:
    for name, gates, make in (("float_lstm", 4, torch.nn.LSTM), ("float_gru", 3, torch.nn.GRU)):
        for number, (inputs, hidden, layers, bidirectional, projection) in enumerate(
            ((5, 7, 1, False, 0), (4, 6, 2, True, 0), (6, 8, 1, False, 3))
        ):
            if projection and gates == 3:
                continue
            torch.manual_seed(100 * gates + number)
            module = make(
                inputs, hidden, layers, bidirectional=bidirectional, **({"proj_size": projection} if projection else {})
            )
            x = generator.normal(0, 1, (5, 2, inputs)).astype(np.float32)
            with torch.no_grad():
                theirs = module(torch.from_numpy(x))[0].numpy()
            weights = {key: value.detach().numpy() for key, value in module.state_dict().items()}
            y, exact = x.astype(np.float64), {key: value.astype(np.float64) for key, value in weights.items()}
            for layer in range(layers):
                outputs = []
                for direction in range(1 + bidirectional):
                    s, turn = f"_l{layer}" + "_reverse" * direction, slice(None, None, -1 if direction else 1)
                    project = (lambda v: v @ exact["weight_hr" + s].T) if projection else None
                    ran = run_direction(
                        gates,
                        y[turn],
                        lambda v: v @ exact["weight_ih" + s].T + exact["bias_ih" + s],
                        lambda v: v @ exact["weight_hh" + s].T + exact["bias_hh" + s],
                        hidden,
                        project,
                    )
                    outputs.append(ran[turn])
                y = np.concatenate(outputs, axis=-1)
            close(y, theirs, f"{name} {number}")
            options = np.int32([layers, 1 + bidirectional, hidden, projection])
            file.add(f"{name}/{number}", [], {"x": x, "y": theirs, "options": options, **weights})


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(25)
    file = GoldenFile("operators_dynamic", "operators_dynamic.py", torch_versions("fbgemm"))
    add_linears(file, generator)
    add_cells(file, generator)
    add_sequences(file, generator)
    add_float(file, generator)
    file.save()


if __name__ == "__main__":
    main()
