# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_svdf.safetensors: a streaming SVDF layer, as LiteRT's reference kernel computes it in int8.

    python scripts/golden/operators_svdf.py

One group a layer, run for several steps on one interpreter, whose state is a variable of the model. `SVDF/<n>`:

    x I8 [steps, inputs], feature I8 [filters, inputs], time I16 [filters, memory], bias I32 [units], where filters are
    units * rank; codes I8 [steps, units], state I16 [filters, memory] after the last step, oldest first
    scale F32: of x, feature, state, time, y; zero_point I32: of x and y

Checked bit for bit, `fixed` being TFLite's double rounding (operators_litert.py):

    state   = the columns moved down by one; the last becomes clamp16(fixed(sum (x - zx) * feature, sx * sf / ss))
    y       = clamp8(fixed(bias + sum over rank and memory of state * time, ss * st / sy) + zy), the activation is relu

Versions: in the metadata; scripts/requirements.txt.
"""

import importlib.metadata
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/golden"), str(ROOT / "bench/peers")]
from litert_peer import GraphBuilder, quantization  # noqa: E402
from operators_litert import Interpreter, OpResolverType, fixed, schema  # noqa: E402
from stable_safetensors import save  # noqa: E402

# inputs, units, rank, memory, steps
LAYERS = {"SVDF/rank_1": (13, 5, 1, 8, 20), "SVDF/rank_2": (8, 9, 2, 4, 11)}


def run(x, feature, time, bias, rank: int, scales, zero_points) -> tuple[np.ndarray, np.ndarray]:
    graph, types = GraphBuilder(), schema.TensorType
    sx, sf, ss, st, sy = scales
    filters, memory = time.shape
    tensors = [
        graph.tensor((1, x.shape[1]), types.INT8, quantization(sx, zero_points[0])),
        graph.tensor(feature.shape, types.INT8, quantization(sf, 0), feature),
        graph.tensor(time.shape, types.INT16, quantization(st, 0), time),
        graph.tensor(bias.shape, types.INT32, quantization(ss * st, 0), bias),
        graph.tensor((1, filters * memory), types.INT16, quantization(ss, 0)),
    ]
    graph.graph.tensors[tensors[4]].isVariable = True
    y = graph.tensor((1, bias.size), types.INT8, quantization(sy, zero_points[1]))
    options = schema.SVDFOptionsT()
    options.rank, options.fusedActivationFunction = rank, schema.ActivationFunctionType.RELU
    graph.operator(schema.BuiltinOperator.SVDF, schema.BuiltinOptions.SVDFOptions, options, tensors, y, 3)
    interpreter = Interpreter(
        model_content=graph.finish(tensors[:1], [y]),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        num_threads=1,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    codes = []
    for step in x:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], step[None])
        interpreter.invoke()
        codes.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0])
    return np.stack(codes), interpreter.get_tensor(tensors[4]).reshape(filters, memory)


def expected(x, feature, time, bias, rank: int, scales, zero_points) -> tuple[np.ndarray, np.ndarray]:
    sx, sf, ss, st, sy = (float(scale) for scale in scales)
    state, codes = np.zeros(time.shape, np.int64), []
    for step in x.astype(np.int64):
        sums = feature.astype(np.int64) @ (step - zero_points[0])
        state = np.concatenate(
            [state[:, 1:], np.clip(fixed(sums, sx * sf / ss), -32768, 32767)[:, None]], axis=1
        )
        products = (state * time).sum(axis=1).reshape(-1, rank).sum(axis=1)
        assert np.abs(products).max() < 2**30
        codes.append(np.clip(fixed(products + bias, ss * st / sy) + zero_points[1], -128, 127))
    return np.stack(codes).astype(np.int8), state.astype(np.int16)


def main() -> None:
    generator, tensors = np.random.default_rng(20261122), {}
    for name, (inputs, units, rank, memory, steps) in LAYERS.items():
        filters = units * rank
        scales = np.float32([0.031, 0.007, 0.0004, 0.0005, 0.04])
        zero_points = (int(generator.integers(-40, 40)), -128)
        x = generator.integers(-128, 128, (steps, inputs)).astype(np.int8)
        feature = generator.integers(-127, 128, (filters, inputs)).astype(np.int8)
        time = generator.integers(-2000, 2001, (filters, memory)).astype(np.int16)
        bias = generator.integers(-3000000, 3000001, units).astype(np.int32)
        operands = (x, feature, time, bias, rank, scales, zero_points)
        codes, state = run(*operands)
        for found, wanted in zip((codes, state), expected(*operands)):
            assert np.array_equal(found, wanted), f"{name}: {np.count_nonzero(found != wanted)} of {found.size} differ"
        kinds = len(np.unique(codes))
        assert kinds > 25, f"{name}: {kinds} codes say little"
        values = {"x": x, "feature": feature, "time": time, "bias": bias, "codes": codes, "state": state}
        values |= {"scale": scales, "zero_point": np.int32(zero_points)}
        tensors |= {f"{name}/{key}": value for key, value in values.items()}
    metadata = {"ai_edge_litert": importlib.metadata.version("ai-edge-litert"), "numpy": np.__version__}
    torch_tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in tensors.items()}
    save(ROOT / "tests/golden/operators_svdf.safetensors", torch_tensors, metadata)


if __name__ == "__main__":
    main()
