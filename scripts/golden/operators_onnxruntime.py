# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_onnxruntime.safetensors: what ONNX Runtime's integer operators compute on a CPU.

    python scripts/golden/operators_onnxruntime.py

One group a node, `<operator>/<n>`, of models that have that one node and no graph optimization. scale F32 and
zero_point I32 of the inputs, then of the output; x, a, b, codes U8 or I8 as the group's name ends in quint8 or qint8:

    QLinearAdd, QLinearMul                        a, b, codes [count]
    QLinearSigmoid, QLinearLeakyRelu (slope 0.1)  codes [256] for the inputs low, low + 1, ...
    QLinearSoftmax                                x, codes [rows, n], over the last axis
    QLinearAveragePool, QLinearGlobalAveragePool  x [1, C, H, W]; average: 3x3, stride 2, padding 1 not counted
    QLinearConcat                                 x0, x1 [2, ...], codes, along axis 1
    QLinearConv                                   x [1, 4, 6, 5], weight I8 [8, 4, 3, 3], padding 1, weight_scale F32
                                                  [8], bias I32 [8] in steps of x_scale * weight_scale
    QLinearMatMul                                 a [3, 17], b I8 [17, 5] with scale and zero point as b says
    ConvInteger, MatMulInteger                    the same operands, zero_point I32 [2]; y I32, exact integers
    QuantizeLinear, DequantizeLinear              x F32, codes U8, I8 or I16; codes, y F32
    DynamicQuantizeLinear                         x F32, codes U8, scale F32 [1], zero_point I32 [1]
    DynamicQuantizeMatMul                         x F32 [3, 16], weight I8 [16, 7], weight_scale, bias F32 [7], y F32

Checked here: integers for equality; QuantizeLinear as clamp(rint(x / scale) + zero_point), DequantizeLinear, and
DynamicQuantizeLinear, with low = min(x, 0), high = max(x, 0), scale = (high - low) / 255, zero_point = rint(clamp(-low
/ scale)), all in float, for equality; DynamicQuantizeMatMul within 2e-6 of the sum's magnitude; the others against the
real operator in float64, rounded once: at most one code apart, `exact` where it is another
(scripts/operator_vectors.py). The weights of integer products lie in [-64, 63], so that no processor saturates.
Versions: in the metadata; scripts/requirements.txt.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import RANGE, GoldenFile, Grid  # noqa: E402

NUMBER = {"quint8": np.uint8, "qint8": np.int8}


def run(
    operator: str, inputs: list[np.ndarray | None], outputs: int = 1, domain: str = "", **attributes
) -> list[np.ndarray]:
    """One node on its operands, all of them inputs of the graph."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    node = helper.make_node(operator, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    kinds = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in zip(names, inputs)
        if value is not None
    ]
    # Qparams and weights are constants: some kernels ask for that.
    constants = [numpy_helper.from_array(v, n) for n, v in zip(names, inputs) if v is not None]
    first = next(index for index, value in enumerate(inputs) if value is not None and value.ndim > 0)
    constants = [constant for constant in constants if constant.name != names[first]]
    graph = helper.make_graph(
        [node],
        "one",
        [kind for kind in kinds if kind.name == names[first]],
        [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)],
        constants,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {names[first]: inputs[first]})


def qparams(grid: Grid) -> list[np.ndarray]:
    return [np.array(grid.scale, np.float32), np.array(grid.zero_point, NUMBER[grid.dtype])]


def microsoft(operator: str, *inputs, **attributes) -> np.ndarray:
    return run(operator, list(inputs), domain="com.microsoft", **attributes)[0]


def random_output(generator, real: np.ndarray, dtype: str) -> Grid:
    return Grid(np.abs(real).mean() / 40, generator.integers(*RANGE[dtype]), dtype)


def add_elementwise(file: GoldenFile, generator, dtype: str) -> None:
    for name in ("QLinearAdd", "QLinearMul"):
        ga, gb = Grid.random(generator, dtype), Grid.random(generator, dtype)
        a, b = ga.codes(generator, 515), gb.codes(generator, 515)
        real = ga.real(a) + gb.real(b) if name == "QLinearAdd" else ga.real(a) * gb.real(b)
        out = random_output(generator, real, dtype)
        codes = microsoft(name, a, *qparams(ga), b, *qparams(gb), *qparams(out))
        file.add_codes(f"{name}/{dtype}", [ga, gb, out], {"a": a, "b": b}, codes, out.exact(real))
    grid = Grid.random(generator, dtype, 0.02, 0.05)
    x = np.arange(grid.low, grid.high + 1).astype(NUMBER[dtype])
    out = Grid(1 / 256, RANGE[dtype][0], dtype)
    codes = microsoft("QLinearSigmoid", x, *qparams(grid), *qparams(out))
    file.add_codes(f"QLinearSigmoid/{dtype}", [grid, out], {}, codes, out.exact(1 / (1 + np.exp(-grid.real(x)))))
    out = Grid(grid.scale * 0.8, grid.zero_point, dtype)
    codes = microsoft("QLinearLeakyRelu", x, *qparams(grid), *qparams(out), alpha=0.1)
    real = grid.real(x)
    exact = out.exact(np.where(real > 0, real, np.float64(np.float32(0.1)) * real))
    file.add_codes(f"QLinearLeakyRelu/{dtype}", [grid, out], {}, codes, exact)


def add_reductions(file: GoldenFile, generator, dtype: str) -> None:
    grid, out = Grid(0.06, generator.integers(*RANGE[dtype]), dtype), Grid(1 / 256, RANGE[dtype][0], dtype)
    x = grid.codes(generator, (5, 19))
    codes = microsoft("QLinearSoftmax", x, *qparams(grid), *qparams(out), axis=-1, opset=13)
    powers = np.exp(grid.real(x) - grid.real(x).max(axis=1, keepdims=True))
    exact = out.exact(powers / powers.sum(axis=1, keepdims=True))
    file.add_codes(f"QLinearSoftmax/{dtype}", [grid, out], {"x": x}, codes, exact)
    grid, out = (Grid.random(generator, dtype, 0.02, 0.03) for _ in range(2))
    x = grid.codes(generator, (1, 5, 7, 6))
    codes = microsoft("QLinearGlobalAveragePool", x, *qparams(grid), *qparams(out), channels_last=0)
    exact = out.exact(grid.real(x).mean(axis=(2, 3), keepdims=True))
    file.add_codes(f"QLinearGlobalAveragePool/{dtype}", [grid, out], {"x": x}, codes, exact)
    attributes = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 0}
    codes = microsoft("QLinearAveragePool", x, *qparams(grid), *qparams(out), **attributes)
    padded = np.pad(grid.real(x), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    cells = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    file.add_codes(
        f"QLinearAveragePool/{dtype}", [grid, out], {"x": x}, codes, out.exact(np.nanmean(cells, axis=(4, 5)))
    )
    grids = [Grid.random(generator, dtype) for _ in range(2)]
    xs = [g.codes(generator, (2, n, 9)) for g, n in zip(grids, (3, 4))]
    out = Grid(0.06, generator.integers(*RANGE[dtype]), dtype)
    # Its first two inputs are the output's qparams, both constant: x0 is the graph's input.
    codes = microsoft("QLinearConcat", *qparams(out), xs[0], *qparams(grids[0]), xs[1], *qparams(grids[1]), axis=1)
    exact = np.concatenate([out.exact(g.real(x)) for g, x in zip(grids, xs)], axis=1)
    file.add_codes(f"QLinearConcat/{dtype}", [*grids, out], {"x0": xs[0], "x1": xs[1]}, codes, exact)


def add_products(file: GoldenFile, generator, dtype: str) -> None:
    grid = Grid.random(generator, dtype)
    x = grid.codes(generator, (1, 4, 6, 5))
    weight = generator.integers(-64, 64, (8, 4, 3, 3)).astype(np.int8)
    weight_scale = generator.uniform(0.002, 0.02, 8).astype(np.float32)
    bias = generator.integers(-3000, 3000, 8).astype(np.int32)
    padded = np.pad(x.astype(np.int64) - grid.zero_point, ((0, 0), (0, 0), (1, 1), (1, 1)))
    cells = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    sums = np.einsum("nchwij,ocij->nohw", cells, weight.astype(np.int64))
    real = (sums + bias.reshape(1, -1, 1, 1)) * (np.float64(grid.scale) * weight_scale.astype(np.float64)).reshape(
        1, -1, 1, 1
    )
    out = random_output(generator, real, dtype)
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    codes = run(
        "QLinearConv", [x, *qparams(grid), weight, weight_scale, np.zeros(8, np.int8), *qparams(out), bias], **pads
    )[0]
    tensors = {"x": x, "weight": weight, "weight_scale": weight_scale, "bias": bias}
    file.add_codes(f"QLinearConv/{dtype}", [grid, out], tensors, codes, out.exact(real))
    if dtype == "quint8":
        y = run("ConvInteger", [x, weight, qparams(grid)[1], np.array(0, np.int8)], **pads)[0]
        assert np.array_equal(y, sums), "ConvInteger"
        file.add(
            "ConvInteger/quint8", [], {"x": x, "weight": weight, "zero_point": np.int32([grid.zero_point, 0]), "y": y}
        )
    ga, gb = Grid.random(generator, dtype), Grid(0.01, 5 if dtype == "qint8" else 0, "qint8")
    a, b = ga.codes(generator, (3, 17)), generator.integers(-64, 64, (17, 5)).astype(np.int8)
    real = ga.real(a) @ gb.real(b)
    out = random_output(generator, real, dtype)
    codes = run("QLinearMatMul", [a, *qparams(ga), b, *qparams(gb), *qparams(out)])[0]
    file.add_codes(f"QLinearMatMul/{dtype}", [ga, gb, out], {"a": a, "b": b}, codes, out.exact(real))
    y = run("MatMulInteger", [a, b, qparams(ga)[1], qparams(gb)[1]])[0]
    assert np.array_equal(
        y, (a.astype(np.int64) - ga.zero_point) @ (b.astype(np.int64) - gb.zero_point)
    ), "MatMulInteger"
    tensors = {"a": a, "b": b, "zero_point": np.int32([ga.zero_point, gb.zero_point]), "y": y}
    file.add(f"MatMulInteger/{dtype}", [], tensors)


def add_conversions(file: GoldenFile, generator) -> None:
    for kind in (np.uint8, np.int8, np.int16):
        limits = np.iinfo(kind)
        scale = np.float32(generator.uniform(0.01, 0.1))
        zero_point = 0 if kind == np.int16 else int(generator.integers(limits.min, limits.max + 1))
        ties = (generator.integers(-100, 100, 20) + np.float32(0.5)) * scale
        x = np.concatenate([generator.normal(0, 0.3 * (limits.max - limits.min), 60) * scale, ties, [0, 1e9, -1e9]])
        x = x.astype(np.float32)
        operands = [np.array(scale), np.array(zero_point, kind)]
        codes = run("QuantizeLinear", [x, *operands])[0]
        assert np.array_equal(codes, np.clip(np.rint(x / scale) + zero_point, limits.min, limits.max)), kind
        qparam_tensors = {"scale": np.float32([scale]), "zero_point": np.int32([zero_point])}
        name = np.dtype(kind).name
        file.add(f"QuantizeLinear/{name}", [], {"x": x, "codes": codes, **qparam_tensors})
        y = run("DequantizeLinear", [codes, *operands])[0]
        assert np.array_equal(y, (codes.astype(np.int32) - zero_point).astype(np.float32) * scale), kind
        file.add(f"DequantizeLinear/{name}", [], {"codes": codes, "y": y, **qparam_tensors})
    shifts = (0, 5, -5, 0.5)
    for number, shift in enumerate(shifts):
        x = (generator.normal(0, 1, 97) + shift).astype(np.float32)
        codes, scale, zero_point = run("DynamicQuantizeLinear", [x], 3)
        low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
        expected_scale = (high - low) / np.float32(255)
        expected_zero_point = np.rint(np.clip((np.float32(0) - low) / expected_scale, 0, 255))
        assert scale == expected_scale and zero_point == expected_zero_point, number
        assert np.array_equal(codes, np.clip(np.rint(x / scale) + expected_zero_point, 0, 255)), number
        tensors = {"x": x, "codes": codes, "scale": np.float32([scale]), "zero_point": np.int32([zero_point])}
        file.add(f"DynamicQuantizeLinear/{number}", [], tensors)
    x = generator.normal(0, 1, (3, 16)).astype(np.float32)
    weight = generator.integers(-64, 64, (16, 7)).astype(np.int8)
    weight_scale = generator.uniform(0.002, 0.02, 7).astype(np.float32)
    bias = generator.normal(0, 1, 7).astype(np.float32)
    y = microsoft("DynamicQuantizeMatMul", x, weight, weight_scale, np.zeros(7, np.int8), bias)
    codes, scale, zero_point = run("DynamicQuantizeLinear", [x], 3)
    products = (codes.astype(np.int64) - int(zero_point)) @ weight.astype(np.int64) * (np.float64(scale) * weight_scale)
    assert (np.abs(y - products - bias) <= 2e-6 * (np.abs(products) + np.abs(bias))).all(), "DynamicQuantizeMatMul"
    tensors = {"x": x, "weight": weight, "weight_scale": weight_scale, "bias": bias, "y": y}
    file.add("DynamicQuantizeMatMul/0", [], tensors)


def main() -> None:
    generator = np.random.default_rng(28)
    versions = {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__, "numpy": np.__version__}
    file = GoldenFile("operators_onnxruntime", "operators_onnxruntime.py", versions)
    for dtype in RANGE:
        add_elementwise(file, generator, dtype)
        add_reductions(file, generator, dtype)
        add_products(file, generator, dtype)
    add_conversions(file, generator)
    file.save()


if __name__ == "__main__":
    main()
