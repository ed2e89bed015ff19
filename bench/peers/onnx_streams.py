# SPDX-License-Identifier: BSD-3-Clause
"""Small networks that run a step at a time, as ONNX graphs of one step: what a step leaves for the next are inputs and outputs."""
import ctypes
import logging
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

import onnx_networks
from onnx_peer import MICROSOFT, Runtime, Session

DILATIONS = (1, 2, 4, 8)  # of the TCN, whose filters have three taps


def step_graph(nodes: list, x_shape, y_shape, states: list[tuple[int, ...]], constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Inputs x, state0, state1, ..; outputs y, next0, next1, .."""
    def info(name: str, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "step", [info("x", x_shape), *(info(f"state{i}", s) for i, s in enumerate(states))],
                              [info("y", y_shape), *(info(f"next{i}", s) for i, s in enumerate(states))],
                              [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])


def dense(weights: dict[str, np.ndarray]):
    nodes, constants, x = [], {}, "x"
    for i in (1, 2, 3):
        constants |= {f"w{i}": weights[f"fc{i}.weight"], f"b{i}": weights[f"fc{i}.bias"]}
        y = "y" if i == 3 else f"sums{i}"
        nodes.append(helper.make_node("Gemm", [x, f"w{i}", f"b{i}"], [y], name=f"fc{i}", transB=1))
        if i < 3:
            nodes.append(helper.make_node("Tanh", [y], [f"h{i}"], name=f"tanh{i}"))
            x = f"h{i}"
    return step_graph(nodes, (1, 64), (1, 16), [], constants), []


def gates(weight: np.ndarray, order: list[int]) -> np.ndarray:
    """PyTorch's gates in ONNX's order, with its axis of directions."""
    parts = np.split(weight, len(order))
    return np.concatenate([parts[i] for i in order])[None]


def recurrent(weights: dict[str, np.ndarray], kind: str):
    order = [0, 3, 1, 2] if kind == "LSTM" else [1, 0, 2]  # i f g o to i o f g; r z n to z r n
    hidden = weights["rnn.weight_hh_l0"].shape[1]
    constants = {"w": gates(weights["rnn.weight_ih_l0"], order), "r": gates(weights["rnn.weight_hh_l0"], order),
                 "b": np.concatenate([gates(weights["rnn.bias_ih_l0"], order), gates(weights["rnn.bias_hh_l0"], order)], 1),
                 "mix": np.ascontiguousarray(weights["mix.weight"].T), "mix_b": weights["mix.bias"], "steps": np.array([0])}
    count = 2 if kind == "LSTM" else 1
    attributes = {} if kind == "LSTM" else {"linear_before_reset": 1}
    nodes = [helper.make_node("Unsqueeze", ["x", "steps"], ["sequence"]),
             helper.make_node(kind, ["sequence", "w", "r", "b", "", *(f"state{i}" for i in range(count))],
                              ["", *(f"next{i}" for i in range(count))], hidden_size=hidden, name="rnn", **attributes),
             helper.make_node("Squeeze", ["next0", "steps"], ["row"]),
             helper.make_node("MatMul", ["row", "mix"], ["sums"], name="mixed"), helper.make_node("Add", ["sums", "mix_b"], ["y"])]
    states = [(1, 1, hidden)] * count
    return step_graph(nodes, (1, 1), (1, 1), states, constants), states


def tcn(weights: dict[str, np.ndarray]):
    """A state is what a convolution still sees of the steps before: twice its dilation."""
    nodes, states = [helper.make_node("Unsqueeze", ["x", "last"], ["h0"])], []
    constants = {"last": np.array([2]), "one": np.array([1]), "end": np.array([1 << 30])}
    for i, dilation in enumerate(DILATIONS):
        weight = weights[f"conv{i + 1}.weight"]
        constants |= {f"w{i}": weight.reshape(*weight.shape[:2], 3), f"b{i}": weights[f"conv{i + 1}.bias"]}
        states.append((1, weight.shape[1], 2 * dilation))
        nodes += [helper.make_node("Concat", [f"state{i}", f"h{i}"], [f"window{i}"], axis=2),
                  helper.make_node("Slice", [f"window{i}", "one", "end", "last"], [f"next{i}"]),
                  helper.make_node("Conv", [f"window{i}", f"w{i}", f"b{i}"], [f"sums{i}"], dilations=[dilation], kernel_shape=[3]),
                  helper.make_node("Tanh", [f"sums{i}"], [f"h{i + 1}"])]
    constants |= {"mix": weights["mix.weight"], "mix_b": weights["mix.bias"]}
    nodes += [helper.make_node("Squeeze", [f"h{len(DILATIONS)}", "last"], ["row"]),
              helper.make_node("Gemm", ["row", "mix", "mix_b"], ["y"], transB=1)]
    return step_graph(nodes, (1, 1), (1, 1), states, constants), states


def graph_of(name: str, weights: dict[str, np.ndarray]):
    kind = name.split()[0]
    return dense(weights) if kind == "dense" else tcn(weights) if kind == "TCN" else recurrent(weights, kind)


def dynamically_quantized(model: onnx.ModelProto, folder: pathlib.Path) -> onnx.ModelProto:
    onnx.save(model, folder / "float.onnx")
    logging.disable(logging.WARNING)  # it recommends preprocessing, of which there is nothing to do
    quantize_dynamic(folder / "float.onnx", folder / "int8.onnx", weight_type=QuantType.QInt8)
    logging.disable(logging.NOTSET)
    return onnx.load(folder / "int8.onnx")


class StepSession(Session):
    """A graph of one step, with two buffers for each state that take turns."""
    def __init__(self, runtime: Runtime, name: str, model: onnx.ModelProto, states: list[tuple[int, ...]], x: np.ndarray, outputs: int):
        super().__init__(runtime, name, model, x, (1, outputs), np.float32)
        self.buffers = [[np.zeros(shape, np.float32) for shape in states] for _ in range(2)]
        tensors = [[runtime.tensor(array, array.shape) for array in each] for each in self.buffers]
        self.turns = [(ctypes.c_void_p * max(1, len(states)))(*each) for each in tensors]
        self.count = len(states)

    def run(self, repeats: int) -> None:
        self.runtime.check(self.runtime.caller.call_onnx_steps(self.run_function, self.session, self.x_tensor, self.y_tensor,
                                                               self.count, *self.turns, repeats))
        if repeats % 2:
            self.turns.reverse()

    def reset(self) -> None:
        for each in self.buffers:
            for array in each:
                array[...] = 0


def sessions(runtime: Runtime, name: str, weights: dict[str, np.ndarray], inputs: np.ndarray, outputs: int,
             folder: pathlib.Path) -> list[StepSession]:
    """Float32, and int8 where its quantizer makes one: static of the dense network, dynamic of the LSTM, nothing of a GRU."""
    plain, states = graph_of(name, weights)
    models = {"ONNX Runtime f32": plain}
    if name.startswith("dense"):
        models["ONNX Runtime u8s8"] = onnx_networks.quantized_graph(plain, [row[None] for row in inputs], QuantType.QInt8, folder)
    if name.startswith("LSTM"):
        models["ONNX Runtime dynamic int8"] = dynamically_quantized(plain, folder)
    return [StepSession(runtime, who, model, states, inputs[:1].copy(), outputs) for who, model in models.items()]
