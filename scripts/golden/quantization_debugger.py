# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/quantization_debugger.safetensors: the tables of TensorFlow Lite's QuantizationDebugger over a small network.

    pip install tensorflow-cpu==2.21.0 safetensors==0.8.0
    python scripts/golden/quantization_debugger.py

stem: 3x3, 3 -> 8 channels, relu6; a residual of depthwise (3x3, relu6) and project (1x1), summed with its input, relu; down: 3x3, stride 2,
8 -> 12 channels, relu; average pool 3x3, stride 2; max pool 2x2, stride 1; mean over the image; fc1: 16, relu; fc2: 6. All 3x3 padded. Weights and
inputs are random, weights of a size that keeps values near 1; nothing is trained.

    model/stem.weight, stem.bias, ...  F32, as PyTorch's state dicts: OIHW, [outputs, inputs]
    inputs                             I8 [16, 13, 13, 3], 32nds: inputs of calibration and of the debugger, height, width, channels
    input_scale, input_zero_point      F32 [1], I32 [1]: what TensorFlow makes of the input's range
    <case>/csv                         U8: the bytes that layer_statistics_dump writes

    delegate        QuantizationDebugger as it comes: XNNPACK runs what it can, and multiplies sums with one float factor
    reference       TensorFlow Lite's reference kernels, of fixed point
    keeps_float     the same with fully_quantize, so that codes go in, and denylisted_ops DEPTHWISE_CONV_2D, which stays in float

project is an output too: where it is not, TensorFlow 2.21 calibrates it behind a sum that is computed in its place, and its range is that of
both. The second output changes no row else.
"""

import io
import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import safetensors  # noqa: E402
import tensorflow as tf  # noqa: E402
from safetensors.numpy import save  # noqa: E402
from tensorflow.lite.tools.optimize.debugging.python import debugger as debugging  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
INTERPRETER = debugging._interpreter.Interpreter  # noqa: SLF001: the debugger has no option for the kernels that it runs
SHAPES = {"stem": (3, 3, 3, 8), "depthwise": (3, 3, 8, 1), "project": (1, 1, 8, 8), "down": (3, 3, 8, 12), "fc1": (12, 16), "fc2": (16, 6)}


class ReferenceKernels(INTERPRETER):
    """The interpreter with TensorFlow Lite's reference kernels."""

    def __init__(self, *arguments, **named):
        kernels = tf.lite.experimental.OpResolverType.BUILTIN_REF
        super().__init__(*arguments, experimental_op_resolver_type=kernels, **named)


def parameters() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Weights in TensorFlow's layouts, and biases."""
    draw = np.random.default_rng(7)
    made = {}
    for name, shape in SHAPES.items():
        outputs = shape[2] if name == "depthwise" else shape[-1]
        spread = (2 * outputs / np.prod(shape)) ** 0.5
        made[name] = (np.float32(draw.normal(0, spread, shape)), np.float32(draw.normal(0, 0.2, outputs)))
    return made


def network(layers: dict[str, tuple[np.ndarray, np.ndarray]]):
    """The function that the converter takes."""

    def convolution(x, name, stride=1):
        return tf.nn.bias_add(tf.nn.conv2d(x, layers[name][0], stride, "SAME"), layers[name][1])

    @tf.function(input_signature=[tf.TensorSpec((1, 13, 13, 3), tf.float32)])
    def run(x):
        x = tf.nn.relu6(convolution(x, "stem"))
        y = tf.nn.depthwise_conv2d(x, layers["depthwise"][0], [1, 1, 1, 1], "SAME")
        projected = convolution(tf.nn.relu6(tf.nn.bias_add(y, layers["depthwise"][1])), "project")
        x = tf.nn.relu(x + projected)
        x = tf.nn.relu(convolution(x, "down", 2))
        x = tf.reduce_mean(tf.nn.max_pool2d(tf.nn.avg_pool2d(x, 3, 2, "VALID"), 2, 1, "VALID"), [1, 2])
        x = tf.nn.relu(x @ layers["fc1"][0] + layers["fc1"][1])
        return x @ layers["fc2"][0] + layers["fc2"][1], projected

    return run.get_concrete_function()


def main() -> None:
    """Runs the debugger three times, writes the file."""
    layers = parameters()
    codes = np.clip(np.random.default_rng(8).normal(3, 34, (16, 13, 13, 3)), -111, 97).astype(np.int8)
    tensors = {"inputs": codes}
    for name, (weight, bias) in layers.items():
        axes = {"depthwise": (2, 3, 0, 1)}.get(name, (3, 2, 0, 1) if weight.ndim == 4 else (1, 0))
        tensors[f"model/{name}.weight"], tensors[f"model/{name}.bias"] = np.ascontiguousarray(weight.transpose(axes)), bias

    def data():
        for one in codes.astype(np.float32) / 32:
            yield [one[None]]

    cases = {"delegate": (INTERPRETER, {}), "reference": (ReferenceKernels, {}),
             "keeps_float": (ReferenceKernels, {"fully_quantize": True, "denylisted_ops": ["DEPTHWISE_CONV_2D"]})}
    for name, (interpreter, options) in cases.items():
        converter = tf.lite.TFLiteConverter.from_concrete_functions([network(layers)])
        converter.optimizations, converter.representative_dataset = [tf.lite.Optimize.DEFAULT], data
        debugging._interpreter.Interpreter = interpreter  # noqa: SLF001
        debugger = tf.lite.experimental.QuantizationDebugger(
            converter=converter, debug_dataset=data, debug_options=tf.lite.experimental.QuantizationDebugOptions(**options))
        debugger.run()
        table = io.StringIO()
        debugger.layer_statistics_dump(table)
        print(name, table.getvalue(), sep="\n")
        tensors[f"{name}/csv"] = np.frombuffer(table.getvalue().replace("\r\n", "\n").encode(), np.uint8)
        if name == "keeps_float":
            given = INTERPRETER(model_content=debugger.quant_model).get_input_details()[0]["quantization"]
            tensors["input_scale"], tensors["input_zero_point"] = np.float32(given[:1]), np.int32(given[1:])

    metadata = {"made_by": "scripts/golden/quantization_debugger.py", "numpy": np.__version__, "safetensors": safetensors.__version__,
                "tensorflow": tf.__version__}
    content = save(tensors, metadata)
    end = 8 + int.from_bytes(content[:8], "little")  # the library orders metadata at random: see stable_safetensors.py
    header = json.loads(content[8:end])
    header = {"__metadata__": dict(sorted(header.pop("__metadata__").items())), **header}
    text = json.dumps(header, separators=(",", ":")).encode().ljust(end - 8)
    path = ROOT / "tests/golden/quantization_debugger.safetensors"
    path.write_bytes(content[:8] + text + content[end:])
    print(f"{path}: {len(tensors)} tensors, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
