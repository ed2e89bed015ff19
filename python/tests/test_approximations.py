# SPDX-License-Identifier: BSD-3-Clause
"""Where a runtime does not give the real result, rounded once: the rule that it follows, which explains every code of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

random = np.random.default_rng(11)


def litert(kind: str, operands: list[tuple[np.ndarray, float, int]], shape: tuple[int, ...], grid: tuple[float, int],
           options: Any = None, numbers: Any = None) -> np.ndarray:
    """One operator by LiteRT's reference kernels, over int8 operands, and perhaps constant integers."""
    flatbuffers = pytest.importorskip("flatbuffers")
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    model, graph, code, operator = schema.ModelT(), schema.SubGraphT(), schema.OperatorCodeT(), schema.OperatorT()
    model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], [schema.BufferT()], [code]
    graph.tensors, graph.operators = [], [operator]

    def tensor(extents: tuple[int, ...], scale: float | None, zero_point: int = 0, data: np.ndarray | None = None) -> int:
        made = schema.TensorT()
        made.shape, made.name = np.array(extents, np.int32), f"t{len(graph.tensors)}"
        made.type = schema.TensorType.INT32 if scale is None else schema.TensorType.INT8
        if scale is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = np.array([scale], np.float32)
            made.quantization.zeroPoint = np.array([zero_point], np.int64)
        if data is not None:
            made.buffer = len(model.buffers)
            model.buffers.append(schema.BufferT())
            model.buffers[-1].data = np.frombuffer(data.tobytes(), np.uint8)
        graph.tensors.append(made)
        return len(graph.tensors) - 1

    given = [tensor(codes.shape, scale, zero) for codes, scale, zero in operands]
    constants = [] if numbers is None else [tensor(np.shape(numbers), None, data=np.array(numbers, np.int32))]
    y = tensor(shape, *grid)
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, kind)
    code.version = 3 if kind.startswith("RESIZE") else 2
    if options is not None:
        operator.builtinOptions = options
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__.removesuffix("T"))
    operator.inputs, operator.outputs = np.array(given + constants, np.int32), np.array([y], np.int32)
    graph.inputs, graph.outputs = np.array(given, np.int32), np.array([y], np.int32)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    made = Interpreter(model_content=bytes(builder.Output()), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    made.allocate_tensors()
    for index, (codes, _, _) in zip(given, operands):
        made.set_tensor(index, codes)
    made.invoke()
    return made.get_tensor(y)


def twice(x: np.ndarray, factor: float) -> np.ndarray:
    """TensorFlow Lite's MultiplyByQuantizedMultiplier: a factor of 31 bits, two roundings."""
    mantissa, shift = np.frexp(factor)
    product = (x.astype(np.int64) << max(shift, 0)) * int(np.floor(mantissa * 2.0**31 + 0.5))
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.sign(nudged) * (np.abs(nudged) >> 31)
    right = max(-int(shift), 0)
    mask = (1 << right) - 1
    return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))


def test_add_of_litert() -> None:
    """Operands times 2^20 in units of twice the larger scale, then their sum in the output's: three factors in fixed point."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    a, b = np.arange(-128, 128).repeat(256).astype(np.int8), np.tile(np.arange(-128, 128), 256).astype(np.int8)
    differs = 0
    for _ in range(40):
        sa, sb, s = (float(np.float32(v)) for v in (*random.uniform(0.01, 0.1, 2), random.uniform(0.02, 0.1)))
        za, zb, z = (int(v) for v in random.integers(-128, 128, 3))
        codes = litert("ADD", [(a, sa, za), (b, sb, zb)], a.shape, (s, z), schema.AddOptionsT())
        double = 2 * max(sa, sb)
        x, y = (np.int64(v) - zero << 20 for v, zero in ((a, za), (b, zb)))
        rule = twice(twice(x, sa / double) + twice(y, sb / double), double / (2.0**20 * s)) + z
        assert np.array_equal(np.clip(rule, -128, 127), codes)
        real = ((a.astype(float) - za) * sa + (b.astype(float) - zb) * sb) / s
        exact = np.clip(np.rint(real) + z, -128, 127)
        differs += int(np.count_nonzero(exact != codes))
        assert np.abs(exact - codes).max() <= 1
    assert differs < 40 * 65536 * 1e-4


@pytest.mark.parametrize("size, half", [((8, 10), False), ((13, 19), True), ((2, 13), True)])
def test_resize_bilinear_of_litert(size: tuple[int, int], half: bool) -> None:
    """Places in 1024ths, weights of 10 bits along each axis, the codes' sum of 20 bits rounded away from zero."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    options = schema.ResizeBilinearOptionsT()
    options.alignCorners, options.halfPixelCenters = False, half

    def places(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        step = ((1 << 10) * n + m // 2) // m
        at = np.arange(m) * step + (step // 2 - (1 << 9) if half else 0)
        low = np.maximum(np.trunc(at / 1024).astype(int), 0)
        return at - 1024 * low, low, np.minimum(np.trunc((at + 1023) / 1024).astype(int), n - 1)

    differs = 0
    for _ in range(10):
        zero = int(random.integers(-128, 128))
        x = random.integers(-128, 128, (1, 4, 5, 3)).astype(np.int8)
        codes = litert("RESIZE_BILINEAR", [(x, 0.05, zero)], (1, *size, 3), (0.05, zero), options, size)[0]
        (fy, top, bottom), (fx, left, right) = places(4, size[0]), places(5, size[1])
        v, fy, fx = x[0].astype(np.int64), fy[:, None, None], fx[None, :, None]
        total = (v[top][:, left] * (1024 - fy) * (1024 - fx) + v[bottom][:, left] * fy * (1024 - fx) +
                 v[top][:, right] * (1024 - fy) * fx + v[bottom][:, right] * fy * fx)
        rule = np.sign(total) * (np.abs(total) + (1 << 19) >> 20)
        assert np.array_equal(rule, codes)
        real = (v[top][:, left] * (1 - fy / 1024) + v[bottom][:, left] * fy / 1024) * (1 - fx / 1024) + \
            (v[top][:, right] * (1 - fy / 1024) + v[bottom][:, right] * fy / 1024) * fx / 1024
        differs += int(np.count_nonzero(np.rint(real - zero) + zero != codes))
    assert differs > 0


def test_average_pool_of_onnx_runtime() -> None:
    """Means of floats over the scale, the zero point added before they are rounded: which way a tie goes depends on it."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    differs = 0
    for number in range(20):
        s, z = np.float32(random.uniform(0.01, 0.05)), int(random.integers(0, 256))
        x = random.integers(0, 256, (1, 6, 8, 10)).astype(np.uint8)
        nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["d"]),
                 helper.make_node("AveragePool", ["d"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
                 helper.make_node("QuantizeLinear", ["m", "s", "z"], ["y"])]
        model = helper.make_model(helper.make_graph(
            nodes, "net", [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, x.shape)],
            [helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, None)],
            [numpy_helper.from_array(s, "s"), numpy_helper.from_array(np.array(z, np.uint8), "z")]),
            opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        codes = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        real = ((x.astype(np.int32) - z).astype(np.float32) * s).reshape(1, 6, 4, 2, 5, 2)
        mean = (((real[:, :, :, 0, :, 0] + real[:, :, :, 0, :, 1]) + real[:, :, :, 1, :, 0]) + real[:, :, :, 1, :, 1]) / np.float32(4)
        assert np.array_equal(np.clip(np.rint(mean / s + np.float32(z)), 0, 255), codes)
        exact = np.rint((x.astype(np.int64) - z).reshape(1, 6, 4, 2, 5, 2).sum((3, 5)) / 4) + z
        differs += int(np.count_nonzero(np.clip(exact, 0, 255) != codes))
        assert np.abs(exact - codes).max() <= 1
    assert differs > 0
