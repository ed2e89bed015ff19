# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/quantized_ops.safetensors: PyTorch's int8 convolution and linear layers.

    python scripts/golden/quantized_ops.py

One group of tensors a case, `<group>/<tensor>`, where <group> is conv2d/<name>, linear/<name> or near_tie/<name>:

    x                      U8  [N, C, H, W] or [N, in]   codes of the input
    weight                 I8  [O, C / groups, KH, KW] or [out, in]   codes of the weights (OIHW)
    bias                   F32 [O]
    weight_scale           F32 [1] per tensor, [O] per channel
    weight_zero_point      I32 the shape of weight_scale
    activation_scale       F32 [2]   of the input, of the output
    activation_zero_point  I32 [2]   of the input, of the output
    geometry               I32 [8]   stride h, w; padding h, w; dilation h, w; groups; 1 with a fused ReLU. Linear:
                                     1, 1, 0, 0, 1, 1, 1, ReLU
    fbgemm                 U8  [N, O, OH, OW] or [N, out]   output codes of torch.ops.quantized.conv2d, conv2d_relu,
                                     linear or linear_relu
    qnnpack                U8  the same with the engine qnnpack; not in near_tie/*

The arithmetic, checked here bit for bit against every vector (float32 throughout, rint rounds half to even):

    acc = sum (x - x_zero_point) * (w - w_zero_point), an exact integer; padding contributes 0
    s = x_scale * weight_scale[c];  multiplier = s / out_scale          two float32 operations, not float(double)
    fbgemm, per channel   f = float(acc) + bias[c] / s                  quotient rounded, then sum rounded
    fbgemm, per tensor    f = fma(bias[c], 1 / s, float(acc))           one rounding after the reciprocal's
    qnnpack               f = float(acc + int32(rint(bias[c] / s)))
    out = clamp(rint(f * multiplier) + out_zero_point, relu ? out_zero_point : 0, 255)

In conv2d/* and linear/* every variant of the float bias gives the same codes: the sum with two roundings and with one,
multiplier as above or float(double(x_scale) * weight_scale / out_scale), so that one formula for float_bias passes all
of them. Each row in near_tie/* has an output on which two variants differ by one code; it holds only under the exact
order above.

fbgemm's kernels for AVX2 add two products in saturating int16. So that the vectors do not depend on the processor, no
pair of products can leave int16: codes of the input and its zero point up to 127 with any weight ("narrow_x"), or any
input with weights in [-64, 63] ("narrow_w"). The depthwise kernel reads the zero point as padding, so it counts too.
Versions: scripts/requirements.txt.
"""

import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402

warnings.filterwarnings("ignore", message=".*quantized tensor creation functions.*")
OUTPUT = ROOT / "tests/golden/quantized_ops.safetensors"

# name: (input [C, H, W], out channels, kernel, stride, padding, dilation, groups)
CONVOLUTIONS = {
    "3x3": ((3, 7, 6), 8, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "3x3_no_padding": ((5, 6, 7), 9, (3, 3), (1, 1), (0, 0), (1, 1), 1),
    "3x3_stride_2": ((4, 9, 8), 17, (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "3x3_dilation_2": ((6, 8, 9), 5, (3, 3), (1, 1), (2, 2), (2, 2), 1),
    "1x1": ((19, 5, 5), 33, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "1x1_one_channel": ((1, 4, 4), 1, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "1x1_stride_2": ((16, 6, 5), 16, (1, 1), (2, 2), (0, 0), (1, 1), 1),
    "5x3_uneven": ((3, 9, 8), 7, (5, 3), (2, 1), (2, 0), (1, 2), 1),
    "1x5_row": ((8, 3, 11), 10, (1, 5), (1, 2), (0, 2), (1, 1), 1),
    "groups_2": ((8, 6, 6), 12, (3, 3), (1, 1), (1, 1), (1, 1), 2),
    "groups_4_stride_2": ((16, 7, 7), 16, (3, 3), (2, 2), (1, 1), (1, 1), 4),
    "groups_3_odd": ((15, 5, 6), 9, (3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise_3x3": ((16, 7, 6), 16, (3, 3), (1, 1), (1, 1), (1, 1), 16),
    "depthwise_3x3_stride_2": ((24, 8, 9), 24, (3, 3), (2, 2), (1, 1), (1, 1), 24),
    "depthwise_5x5": ((8, 8, 7), 8, (5, 5), (1, 1), (2, 2), (1, 1), 8),
    "depthwise_odd_channels": ((7, 6, 5), 7, (3, 3), (1, 1), (1, 1), (1, 1), 7),
    "depthwise_dilation_2": ((8, 9, 9), 8, (3, 3), (1, 1), (2, 2), (2, 2), 8),
    "depthwise_multiplier_2": ((6, 6, 6), 12, (3, 3), (1, 1), (1, 1), (1, 1), 6),
}
# name: (rows, in features, out features)
LINEARS = {
    "1_to_1": (3, 1, 1),
    "7_to_5": (4, 7, 5),
    "32_to_16": (5, 32, 16),
    "33_to_17": (1, 33, 17),
    "130_to_10": (6, 130, 10),
}
LINEAR_GEOMETRY = [1, 1, 0, 0, 1, 1, 1]


class Case:
    """Operands of one layer; a linear layer is a 1x1 convolution over a 1x1 image here, reshaped when it is stored."""

    def __init__(self, x_shape, weight_shape, geometry, variant, generator):
        self.per_channel, self.relu, narrow_x, affine_weight, x_zero_point, self.out_zero_point = variant
        self.geometry = geometry
        channels = weight_shape[0] if self.per_channel else 1
        x_high, weight_low, weight_high = (127, -128, 127) if narrow_x else (255, -64, 63)
        self.x_zero_point = min(x_zero_point, x_high)
        self.x = generator.integers(0, x_high + 1, x_shape).astype(np.uint8)
        self.weight = generator.integers(weight_low, weight_high + 1, weight_shape).astype(np.int8)
        self.x.flat[:2], self.weight.flat[:2] = (0, x_high), (weight_low, weight_high)
        self.weight_zero_point = generator.integers(-20, 21, channels) * int(affine_weight)
        self.x_scale = np.float32(generator.uniform(0.005, 0.1))
        self.weight_scale = generator.uniform(0.001, 0.02, channels).astype(np.float32)
        self.acc = self.accumulate()
        typical = max(float(np.abs(self.acc).mean()), 100.0) * float(self.x_scale) * float(self.weight_scale.mean())
        self.out_scale = np.float32(typical / 60)  # most outputs inside the code range, some clamped
        self.bias = (generator.normal(0, 0.5, weight_shape[0]) * typical).astype(np.float32)

    def accumulate(self) -> np.ndarray:
        """The exact sums, by a float64 convolution of integers far below 2^53."""
        stride, padding, dilation, groups = self.torch_geometry()
        x = torch.from_numpy(self.x.astype(np.float64) - self.x_zero_point)
        weight = torch.from_numpy(self.weight.astype(np.float64) - self.weight_zero_point.reshape(-1, 1, 1, 1))
        acc = F.conv2d(x, weight, None, stride, padding, dilation, groups).numpy()
        assert np.array_equal(acc, np.rint(acc)) and np.abs(acc).max() < 2**31
        return acc.astype(np.int64)

    def torch_geometry(self):
        stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w, groups = self.geometry
        return [stride_h, stride_w], [padding_h, padding_w], [dilation_h, dilation_w], groups

    def run(self, engine: str, linear: bool) -> np.ndarray:
        """Output codes of PyTorch's own kernel."""
        torch.backends.quantized.engine = engine
        x, weight = torch.from_numpy(self.x), torch.from_numpy(self.weight)
        if linear:
            x, weight = x.flatten(1), weight.flatten(1)
        x = torch._make_per_tensor_quantized_tensor(x, float(self.x_scale), self.x_zero_point)
        if self.per_channel:
            scales = torch.from_numpy(self.weight_scale.astype(np.float64))
            zero_points = torch.from_numpy(self.weight_zero_point)
            weight = torch._make_per_channel_quantized_tensor(weight, scales, zero_points, 0)
        else:
            weight = torch._make_per_tensor_quantized_tensor(
                weight, float(self.weight_scale[0]), int(self.weight_zero_point[0])
            )
        layer = "linear" if linear else "conv2d"
        prepack = getattr(torch.ops.quantized, f"{layer}_prepack")
        packed = prepack(weight, torch.from_numpy(self.bias), *([] if linear else self.torch_geometry()))
        operator = getattr(torch.ops.quantized, f"{layer}_relu" if self.relu else layer)
        output = operator(x, packed, float(self.out_scale), self.out_zero_point)
        return output.int_repr().numpy().reshape(self.acc.shape)

    def formula(self, bias: str, multiplier: str = "float32") -> np.ndarray:
        """Output codes under one of the variants that the module's docstring names."""

        def per_output(values):
            return np.broadcast_to(values, self.bias.shape).reshape(1, -1, 1, 1)

        s = self.x_scale * self.weight_scale
        if bias == "divided":
            f = self.acc.astype(np.float32) + per_output(self.bias / s)
        elif bias == "fused":
            fraction = self.bias.astype(np.float64) * (np.float32(1) / s).astype(np.float64)
            f = (self.acc.astype(np.float64) + per_output(fraction)).astype(np.float32)
        else:
            f = (self.acc + per_output(np.rint(self.bias / s).astype(np.int64))).astype(np.float32)
        if multiplier == "float32":
            factor = s / self.out_scale
        else:
            double_s = float(self.x_scale) * self.weight_scale.astype(np.float64)
            factor = (double_s / float(self.out_scale)).astype(np.float32)
        codes = np.rint(f * per_output(factor)).astype(np.int64) + self.out_zero_point
        return np.clip(codes, self.out_zero_point if self.relu else 0, 255)

    def fbgemm(self) -> np.ndarray:
        return self.formula("divided" if self.per_channel else "fused")

    def every_variant_agrees(self) -> bool:
        expected = self.fbgemm()
        variants = product(("divided", "fused"), ("float32", "float64"))
        same = all(np.array_equal(self.formula(*variant), expected) for variant in variants)
        return same and np.array_equal(self.formula("integer"), self.formula("integer", "float64"))

    def tensors(self, linear: bool, engines) -> dict[str, np.ndarray]:
        results = {engine: self.run(engine, linear) for engine in engines}
        assert np.array_equal(results["fbgemm"], self.fbgemm()), "fbgemm saturated, or its order is another"
        if "qnnpack" in engines:
            assert np.array_equal(results["qnnpack"], self.formula("integer")), "qnnpack's order is another"
        shaped = {"x": self.x, "weight": self.weight, **results}
        return {
            **{name: array.reshape(array.shape[:2]) if linear else array for name, array in shaped.items()},
            "bias": self.bias,
            "weight_scale": self.weight_scale,
            "weight_zero_point": self.weight_zero_point.astype(np.int32),
            "activation_scale": np.float32([self.x_scale, self.out_scale]),
            "activation_zero_point": np.int32([self.x_zero_point, self.out_zero_point]),
            "geometry": np.int32([*self.geometry, int(self.relu)]),
        }


# per channel, ReLU, narrow_x, affine weight, zero point of the input, zero point of the output
VARIANTS = {
    "per_channel_narrow_w": (True, False, False, False, 0, 128),
    "per_tensor_relu_narrow_x": (False, True, True, False, 64, 0),
    "per_channel_relu_narrow_w": (True, True, False, False, 255, 13),
    "per_tensor_narrow_w": (False, False, False, False, 131, 255),
    "per_channel_narrow_x": (True, False, True, False, 127, 100),
    "per_tensor_affine_weight": (False, False, True, True, 5, 120),
    "per_channel_affine_weight": (True, True, True, True, 127, 0),
}


def ordinary_cases(generator):
    """Every shape under some of the variants, taken in turn."""
    variants = list(VARIANTS.items())
    shapes = []
    for name, (image, out, kernel, stride, padding, dilation, groups) in CONVOLUTIONS.items():
        weight_shape = (out, image[0] // groups, *kernel)
        shapes.append(("conv2d", name, ((1, *image), weight_shape, (*stride, *padding, *dilation, groups))))
    for name, (rows, inputs, outputs) in LINEARS.items():
        shapes.append(("linear", name, ((rows, inputs, 1, 1), (outputs, inputs, 1, 1), LINEAR_GEOMETRY)))
    for index, (layer, name, shape) in enumerate(shapes):
        for turn in range(4 if layer == "linear" else 2):
            variant_name, variant = variants[(2 * index + turn) % len(variants)]
            case = Case(*shape, variant, generator)
            while not case.every_variant_agrees():
                case = Case(*shape, variant, generator)
            yield f"{layer}/{name}_{variant_name}", layer == "linear", case


def near_tie_cases(generator, wanted: int = 4):
    """Linear layers, a few rows each, on which the order of the float operations shows."""
    contrasts = {
        "per_tensor_bias": (False, ("divided", "float32")),
        "per_channel_bias": (True, ("fused", "float32")),
        "per_tensor_multiplier": (False, ("fused", "float64")),
        "per_channel_multiplier": (True, ("divided", "float64")),
    }
    for name, (per_channel, other) in contrasts.items():
        found = 0
        while found < wanted:
            variant = (per_channel, False, False, False, int(generator.integers(256)), 128)
            case = Case((1024, 3, 1, 1), (24, 3, 1, 1), LINEAR_GEOMETRY, variant, generator)
            differs = (case.formula(*other) != case.fbgemm()).any(axis=(1, 2, 3))
            if differs.any():
                case.x, case.acc = case.x[differs], case.acc[differs]
                yield f"near_tie/{name}_{found}", True, case
                found += 1


def main() -> None:
    torch.set_num_threads(1)
    generator = np.random.default_rng(11)
    tensors = {}
    groups = [(*case, ("fbgemm", "qnnpack")) for case in ordinary_cases(generator)]
    groups += [(*case, ("fbgemm",)) for case in near_tie_cases(generator)]
    for name, linear, case, engines in groups:
        for key, array in case.tensors(linear, engines).items():
            tensors[f"{name}/{key}"] = torch.from_numpy(np.ascontiguousarray(array))
    outputs = sum(tensor.numel() for name, tensor in tensors.items() if name.endswith("/fbgemm"))
    print(f"{len(groups)} layers, {outputs} outputs equal to the formulas")
    metadata = {"torch": torch.__version__, "engines": "fbgemm, qnnpack", "made_by": "scripts/golden/quantized_ops.py"}
    stable_safetensors.save(OUTPUT, tensors, metadata)


if __name__ == "__main__":
    main()
