# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_onnxruntime_layers.safetensors: ONNX Runtime's layers where rounding shows, QDQ graphs, its
recurrent layer and its weights of 4 bits.

    python scripts/golden/operators_onnxruntime_layers.py

Groups, tensors and what is checked as in operators_onnxruntime.py; layouts NCHW. No graph optimization: a QDQ graph is
DequantizeLinear, the operator in float, QuantizeLinear.

    QLinearConv/<case>_<dtype>    x, weight I8, weight_scale F32 [O], bias I32, codes; options I32: stride, padding in front,
                                  dilation, each height and width, then groups. Ties, zero points at both ends
    QGemm/<dtype>, Gemm/<dtype>   x [rows, n], weight I8 [O, n], weight_scale F32 [O], bias I32, codes; Gemm in QDQ
    ConvTranspose/<dtype>         in QDQ: x, weight I8 [C, O, kh, kw], weight_scale F32 [O], bias I32, codes; options: stride
    instance_norm, layer_norm/<dtype>  in QDQ: x, weight, bias F32, codes; epsilon 1e-5, layer_norm over the last axis
    MatMulIntegerToFloat/0        a U8 [3, 17], b I8 [17, 5], a_scale F32 [1], b_scale F32 [5], zero_point I32 [1] of a, y
    DynamicQuantizeLSTM/0         x F32 [time, 1, in], weight_ih, weight_hh I8 [4 * hidden, in or hidden], weight_scale F32
                                  [2], weight_zero_point I32 [2] (zero), bias_ih, bias_hh F32, gates i, f, g, o; y F32 [time,
                                  1, hidden]
    MatMulNBits/<case>            x F32 [rows, n], weight I8 [O, n] in [-8, 7] or [-128, 127], weight_scale F32 [O, n / block]
                                  (the last block perhaps shorter), y F32; options: bits, block
    GatherBlockQuantized/0        table U8 [rows, 16] of two 4-bit codes a byte, 8 meaning zero, scale F32 [rows], indices
                                  I32, y F32

Checked for equality: QLinearConv and QGemm as clamp(rint(float(acc + bias) * float(x_scale * weight_scale[c] / y_scale)) +
z), the operations on scales in float; GatherBlockQuantized. Checked within 2e-6 of the sum's magnitude: MatMulIntegerToFloat,
MatMulNBits; within 2e-5 of numpy's, all codes being equal, the LSTM, whose input has one range for the sequence and whose
gates are approximations. The others against the real operator in float64, rounded once. Versions: scripts/requirements.txt.
"""

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from operators_onnxruntime import NUMBER, microsoft, qparams, run
from operator_vectors import RANGE, GoldenFile, Grid


def quantized_real(sums: np.ndarray, factors: np.ndarray, out: Grid) -> np.ndarray:
    """What ONNX Runtime does with sums: one float product, rounded once."""
    steps = np.rint(sums.astype(np.float32) * factors.astype(np.float32))
    return np.clip(steps + out.zero_point, out.low, out.high).astype(NUMBER[out.dtype])


def add_convolutions(file: GoldenFile, generator, dtype: str) -> None:
    low, high = RANGE[dtype]
    # channels and extents, out channels, kernel, stride, padding, dilation, groups, zero points, powers of two
    cases = {
        "ties": ((5, 6, 7), 6, (3, 3), (1, 1), (1, 1), (1, 1), 1, (low, high), True),
        "strided": ((4, 9, 6), 7, (3, 2), (2, 2), (0, 1), (1, 1), 1, (high, low), False),
        "depthwise_ties": ((17, 5, 6), 17, (3, 3), (1, 1), (1, 1), (1, 1), 17, (high, 3), True),
        "groups_dilated": ((4, 8, 7), 6, (2, 3), (1, 1), (1, 2), (2, 1), 2, (7, 11), False),
    }
    for name, (extents, outputs, kernel, stride, padding, dilation, groups, zeros, ties) in cases.items():
        grid = Grid(0.25 if ties else 0.04, zeros[0], dtype)
        x = grid.codes(generator, (1, *extents))
        weight = generator.integers(-64, 64, (outputs, extents[0] // groups, *kernel)).astype(np.int8)
        scale = generator.uniform(0.002, 0.02, outputs).astype(np.float32)
        if ties:
            x = np.clip(zeros[0] + generator.integers(-5, 6, x.shape), low, high).astype(x.dtype)
            weight = (weight % 9 - 4).astype(np.int8)
            scale = np.float32(2.0) ** generator.integers(-3, 0, outputs).astype(np.float32)
        shifted = np.pad(x.astype(np.int64) - zeros[0], ((0, 0), (0, 0), *((p, p) for p in padding)))
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        cells = np.lib.stride_tricks.sliding_window_view(shifted, spans, axis=(2, 3))
        cells = cells[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
        parts = [
            np.einsum("nchwij,ocij->nohw", c, w.astype(np.int64))
            for c, w in zip(np.split(cells, groups, axis=1), np.split(weight, groups))
        ]
        sums = np.concatenate(parts, axis=1)
        typical = int(np.abs(sums).mean()) + 1
        bias = generator.integers(-typical, typical + 1, outputs).astype(np.int32)
        sums += bias.reshape(1, -1, 1, 1)
        factors = (np.float64(grid.scale) * scale.astype(np.float64)).reshape(1, -1, 1, 1)
        out = Grid(0.5 if ties else np.abs(sums * factors).mean() / 40, zeros[1], dtype)
        attributes = {"kernel_shape": kernel, "strides": stride, "dilations": dilation, "group": groups}
        attributes["pads"] = [*padding, *padding]
        operands = [x, *qparams(grid), weight, scale, np.zeros(outputs, np.int8), *qparams(out), bias]
        codes = run("QLinearConv", operands, **attributes)[0]
        expected = quantized_real(sums, (grid.scale * scale / out.scale).reshape(1, -1, 1, 1), out)
        assert np.array_equal(codes, expected), f"QLinearConv {name}: another arithmetic"
        tensors = {"x": x, "weight": weight, "weight_scale": scale, "bias": bias}
        tensors["options"] = np.int32([*stride, *padding, *dilation, groups])
        file.add_codes(f"QLinearConv/{name}_{dtype}", [grid, out], tensors, codes, out.exact(sums * factors))


def quantize_between(operator: str, x: np.ndarray, grid: Grid, out: Grid, parameters: list, **attributes) -> np.ndarray:
    """A graph of DequantizeLinear, the operator and QuantizeLinear; parameters: float arrays, or (codes, scale, axis)."""
    nodes, constants, names = [], [], ["x_float"]

    def constant(name: str, array: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def of(grid: Grid, name: str) -> list[str]:
        return [constant(f"{name}_{kind}", array) for kind, array in zip(("scale", "zero_point"), qparams(grid))]

    nodes.append(helper.make_node("DequantizeLinear", ["x", *of(grid, "x")], ["x_float"]))
    for number, parameter in enumerate(parameters):
        name = f"p{number}"
        if isinstance(parameter, tuple):
            codes, scale, axis = parameter
            inputs = [constant(f"{name}_codes", codes), constant(f"{name}_scale", scale)]
            nodes.append(helper.make_node("DequantizeLinear", inputs, [name], axis=axis))
        else:
            constant(name, parameter)
        names.append(name)
    nodes.append(helper.make_node(operator, names, ["y_float"], **attributes))
    nodes.append(helper.make_node("QuantizeLinear", ["y_float", *of(out, "y")], ["y"]))
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_empty_tensor_value_info("y")],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def covering(real: np.ndarray, zero_point: int, dtype: str) -> Grid:
    return Grid(np.abs(real).mean() / 40, zero_point, dtype)


def add_linear(file: GoldenFile, generator, dtype: str) -> None:
    low, high = RANGE[dtype]
    for name, zeros in (("QGemm", (low, high)), ("Gemm", (high, low))):
        grid = Grid(0.03, zeros[0], dtype)
        x, weight = grid.codes(generator, (3, 33)), generator.integers(-64, 64, (7, 33)).astype(np.int8)
        scale = generator.uniform(0.002, 0.02, 7).astype(np.float32)
        sums = (x.astype(np.int64) - grid.zero_point) @ weight.astype(np.int64).T
        bias = generator.integers(-3000, 3001, 7).astype(np.int32)
        factors = np.float64(grid.scale) * scale.astype(np.float64)
        real = (sums + bias) * factors
        out = covering(real, zeros[1], dtype)
        if name == "QGemm":
            constants = [np.ascontiguousarray(weight), scale, np.zeros(7, np.int8), bias]
            codes = microsoft("QGemm", x, *qparams(grid), *constants, *qparams(out), transB=1)
            assert np.array_equal(codes, quantized_real(sums + bias, grid.scale * scale / out.scale, out)), "QGemm"
        else:
            parameters = [(weight, scale, 0), (bias, grid.scale * scale, 0)]
            codes = quantize_between("Gemm", x, grid, out, parameters, transB=1)
        tensors = {"x": x, "weight": weight, "weight_scale": scale, "bias": bias}
        file.add_codes(f"{name}/{dtype}", [grid, out], tensors, codes, out.exact(real))


def add_graphs(file: GoldenFile, generator, dtype: str) -> None:
    low, high = RANGE[dtype]
    grid = Grid(0.03, high, dtype)
    x, weight = grid.codes(generator, (1, 5, 3, 4)), generator.integers(-64, 64, (5, 6, 3, 2)).astype(np.int8)
    scale, stride = generator.uniform(0.002, 0.02, 6).astype(np.float32), (2, 1)
    bias = generator.integers(-2000, 2001, 6).astype(np.int32)
    sums = np.zeros((1, 6, 7, 5), np.int64)
    shifted = x.astype(np.int64) - grid.zero_point
    for row in range(3):
        for column in range(4):
            patch = np.einsum("nc,coij->noij", shifted[:, :, row, column], weight.astype(np.int64))
            sums[:, :, 2 * row : 2 * row + 3, column : column + 2] += patch
    real = (sums + bias.reshape(1, -1, 1, 1)) * (np.float64(grid.scale) * scale).reshape(1, -1, 1, 1)
    out = covering(real, low, dtype)
    parameters = [(weight, scale, 1), (bias, grid.scale * scale, 0)]
    codes = quantize_between("ConvTranspose", x, grid, out, parameters, strides=stride, kernel_shape=(3, 2))
    tensors = {"x": x, "weight": weight, "weight_scale": scale, "bias": bias, "options": np.int32(stride)}
    file.add_codes(f"ConvTranspose/{dtype}", [grid, out], tensors, codes, out.exact(real))
    for name, operator, shape, axes in (
        ("instance_norm", "InstanceNormalization", (2, 5, 4, 3), (2, 3)),
        ("layer_norm", "LayerNormalization", (3, 37), (1,)),
    ):
        grid = Grid.random(generator, dtype)
        x = grid.codes(generator, shape)
        channels = shape[1]
        gain, offset = (generator.normal(m, 0.5, channels).astype(np.float32) for m in (1, 0))
        values = grid.real(x)
        mean, variance = values.mean(axis=axes, keepdims=True), values.var(axis=axes, keepdims=True)
        across = (1, -1, *[1] * (len(shape) - 2))
        real = (values - mean) / np.sqrt(variance + 1e-5) * gain.reshape(across) + offset.reshape(across)
        out = covering(real, generator.integers(low, high + 1), dtype)
        attributes = {"epsilon": 1e-5} | ({"axis": -1} if name == "layer_norm" else {})
        codes = quantize_between(operator, x, grid, out, [gain, offset], **attributes)
        file.add_codes(f"{name}/{dtype}", [grid, out], {"x": x, "weight": gain, "bias": offset}, codes, out.exact(real))


def near(y: np.ndarray, products: np.ndarray, magnitude: np.ndarray, what: str) -> None:
    assert (np.abs(y - products) <= 2e-6 * magnitude).all(), what


def dynamic_codes(x: np.ndarray) -> tuple[np.float32, int, np.ndarray]:
    codes, scale, zero_point = run("DynamicQuantizeLinear", [x], 3)
    return scale, int(zero_point), codes.astype(np.int64) - int(zero_point)


def add_floats(file: GoldenFile, generator) -> None:
    grid = Grid(0.03, 255, "quint8")
    a, b = grid.codes(generator, (3, 17)), generator.integers(-64, 64, (17, 5)).astype(np.int8)
    b_scale = generator.uniform(0.002, 0.02, 5).astype(np.float32)
    y = microsoft("MatMulIntegerToFloat", a, b, *[np.array(grid.scale), b_scale], qparams(grid)[1], np.zeros(5, np.int8))
    sums = (a.astype(np.int64) - grid.zero_point) @ b.astype(np.int64)
    products = sums * (np.float64(grid.scale) * b_scale)
    near(y, products, np.abs(products), "MatMulIntegerToFloat")
    tensors = {"a": a, "b": b, "a_scale": np.float32([grid.scale]), "b_scale": b_scale, "y": y}
    file.add("MatMulIntegerToFloat/0", [], {**tensors, "zero_point": np.int32([grid.zero_point])})

    time, inputs, hidden = 4, 6, 7
    for _ in range(1000):
        x = generator.normal(0, 1, (time, 1, inputs)).astype(np.float32)
        weights = [generator.integers(-64, 64, (4 * hidden, n)).astype(np.int8) for n in (inputs, hidden)]
        scales = [np.float32(s) for s in generator.uniform(0.003, 0.008, 2)]
        biases = [generator.normal(0, 0.3, 4 * hidden).astype(np.float32) for _ in range(2)]

        def to_iofc(rows: np.ndarray) -> np.ndarray:  # from i, f, g, o
            i, f, g, o = np.split(rows, 4)
            return np.concatenate([i, o, f, g])

        packed = [np.ascontiguousarray(to_iofc(w).T)[None] for w in weights]
        bias = np.concatenate([to_iofc(b) for b in biases])[None]
        zero = np.zeros(1, np.int8)
        operands = [x, *packed, bias, None, None, None, None]
        operands += [np.array([scales[0]]), zero, np.array([scales[1]]), zero]
        y = run("DynamicQuantizeLSTM", operands, domain="com.microsoft", hidden_size=hidden)[0][:, 0]

        def product(values: np.ndarray, which: int) -> np.ndarray:
            scale, _, codes = dynamic_codes(values)
            return codes @ weights[which].astype(np.int64).T * (np.float64(scale) * np.float64(scales[which]))

        from_input, h, c, ours = product(x.reshape(time, inputs), 0), np.zeros((1, hidden), np.float32), 0.0, []
        for row in from_input:
            i, f, g, o = np.split(row + product(h, 1)[0] + biases[0] + biases[1], 4)
            c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
            h = (np.tanh(c) / (1 + np.exp(-o))).astype(np.float32)[None]
            ours.append(h)
        if np.abs(np.stack(ours) - y).max() < 2e-5:
            break
    else:
        raise AssertionError("DynamicQuantizeLSTM: another arithmetic")
    tensors = {"x": x, "weight_ih": weights[0], "weight_hh": weights[1], "bias_ih": biases[0], "bias_hh": biases[1], "y": y}
    tensors |= {"weight_scale": np.float32(scales), "weight_zero_point": np.zeros(2, np.int32)}
    file.add("DynamicQuantizeLSTM/0", [], tensors)

    for name, bits, rows, depth, outputs, block in (("4_bits", 4, 3, 72, 5, 32), ("8_bits", 8, 2, 64, 17, 32)):
        half, blocks = 2 ** (bits - 1), -(-depth // block)
        weight = generator.integers(-half, half, (outputs, depth)).astype(np.int8)
        scale = generator.uniform(0.002, 0.02, (outputs, blocks)).astype(np.float32)
        x = generator.normal(0, 1, (rows, depth)).astype(np.float32)
        codes = np.full((outputs, blocks * block), half, np.uint8)
        codes[:, :depth] = (weight.astype(np.int64) + half).astype(np.uint8)
        packed = codes.reshape(outputs, blocks, block)
        if bits == 4:
            packed = packed[..., ::2] | packed[..., 1::2] << 4
        attributes = {"K": depth, "N": outputs, "bits": bits, "block_size": block}
        y = microsoft("MatMulNBits", x, np.ascontiguousarray(packed), scale.reshape(-1), **attributes)
        meant = weight * np.repeat(scale, block, axis=1)[:, :depth].astype(np.float64)
        near(y, x @ meant.T, np.abs(x) @ np.abs(meant).T, f"MatMulNBits {name}")
        tensors = {"x": x, "weight": weight, "weight_scale": scale, "y": y, "options": np.int32([bits, block])}
        file.add(f"MatMulNBits/{name}", [], tensors)

    table, indices = generator.integers(0, 256, (9, 16)).astype(np.uint8), np.int32([8, 0, 3, 3, 5])
    scale = generator.uniform(0.002, 0.02, (9, 1)).astype(np.float32)
    attributes = {"bits": 4, "block_size": 32, "gather_axis": 0, "quantize_axis": 1}
    y = microsoft("GatherBlockQuantized", table, indices, scale, **attributes)
    codes = np.stack([table & 15, table >> 4], axis=2).reshape(9, 32).astype(np.int64) - 8
    assert np.array_equal(y, (codes.astype(np.float32) * scale)[indices]), "GatherBlockQuantized"
    file.add("GatherBlockQuantized/0", [], {"table": table, "scale": scale.ravel(), "indices": indices, "y": y})


def main() -> None:
    generator = np.random.default_rng(34)
    versions = {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__, "numpy": np.__version__}
    file = GoldenFile("operators_onnxruntime_layers", "operators_onnxruntime_layers.py", versions)
    for dtype in RANGE:
        add_convolutions(file, generator, dtype)
        add_linear(file, generator, dtype)
        add_graphs(file, generator, dtype)
    add_floats(file, generator)
    file.save()


if __name__ == "__main__":
    main()
