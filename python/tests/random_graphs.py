# SPDX-License-Identifier: BSD-3-Clause
"""Random valid ONNX graphs, of all operators that the importer knows: random_operators.py says which, this file joins them.

    python python/tests/random_graphs.py 17        # prints the graph of a seed

A graph grows node by node. Each candidate runs in ONNX Runtime as it is added, and is kept if its values are finite and of a
size that tells something; so no graph is invalid, and none dies out or overflows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSETS = (11, 13, 17, 18, 20, 21)
MOST_VALUES, MOST_AXES = 2500, 5
LARGEST, SMALLEST = 60.0, 1e-2
STEADY = 2e-5  # how far outputs may move, as a share of their largest value, where inputs do by 1e-6 of theirs

Operator = Callable[["Builder"], bool]
OPERATORS: dict[str, Operator] = {}


def generates(*names: str) -> Callable[[Operator], Operator]:
    """Registers what appends a node of these kinds; it gives False where no value fits."""

    def register(function: Operator) -> Operator:
        OPERATORS.update({name: function for name in names})
        return function

    return register


@dataclass
class RandomGraph:
    """A model, inputs for it, and its outputs in ONNX Runtime."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    outputs: list[np.ndarray]

    @property
    def operators(self) -> list[str]:
        """Of its nodes."""
        return [node.op_type for node in self.model.graph.node]


class Builder:
    """A graph that grows."""

    def __init__(self, seed: tuple[int, ...]) -> None:
        self.random = np.random.default_rng(seed)
        self.opset = self.choice(OPSETS)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: dict[str, np.ndarray] = {}
        self.values: dict[str, np.ndarray] = {}  # all that is computed, for these inputs
        self.wanted = ""  # the kind of node that an operator was asked for

    # Random choices

    def choice(self, items: Any) -> Any:
        """One of them."""
        return items[int(self.random.integers(len(items)))]

    def chance(self, share: float) -> bool:
        """True so often."""
        return bool(self.random.random() < share)

    def number(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.random.integers(low, high + 1))

    def numbers(self, count: int, low: int, high: int) -> list[int]:
        """Several."""
        return [self.number(low, high) for _ in range(count)]

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Normal numbers."""
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    # Values

    def input(self, shape: tuple[int, ...]) -> str:
        """A new input of floats."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.values[name] = self.normal(*shape)
        return name

    def pick(self, *ranks: int, where: Callable[[np.ndarray], bool] = lambda value: True) -> str | None:
        """A computed value of one of these ranks, the newer the likelier; None where there is none."""
        fit = [name for name, value in self.values.items() if value.dtype == np.float32 and value.size > 1
               and (not ranks or value.ndim in ranks) and where(value)]
        if not fit:
            return None
        return fit[-1] if self.chance(0.6) else self.choice(fit)

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a value."""
        return self.values[name].shape

    def constant(self, array: Any) -> str:
        """An initializer or, now and then, a Constant node or one that two nodes share."""
        array = np.asarray(array)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        same = [n for n, v in self.constants.items() if v.shape == array.shape and v.dtype == array.dtype == np.float32]
        if same and array.size > 1 and self.chance(0.15):
            return self.choice(same)
        name = self.choice(("w{}", "block.{}.weight", "onnx::Const_{}", "_{}_bias")).format(len(self.constants))
        self.constants[name] = array
        return name

    def node(self, op: str, inputs: list[str], count: int = 1, **attributes: Any) -> list[str]:
        """Appends a node if it is valid and its values are of use; gives its outputs, or nothing."""
        outputs = [f"v{len(self.nodes)}_{k}" for k in range(count)]
        made = helper.make_node(op, inputs, outputs, name=f"{op}_{len(self.nodes)}", **attributes)
        try:
            results = self.run(made)
        except Exception:  # ONNX Runtime refuses it: another one is tried
            return []
        for value in results:
            if value.size == 0 or value.size > MOST_VALUES or value.ndim > MOST_AXES or value.dtype != np.float32:
                return []
            largest = np.abs(value).max()
            if not SMALLEST <= largest <= LARGEST or not np.isfinite(value).all():
                return []
        self.nodes.append(made)
        self.values.update(zip(outputs, results))
        return outputs

    def run(self, node: onnx.NodeProto) -> list[np.ndarray]:
        """Its outputs for the values at hand."""
        known = {n: self.constants[n] for n in node.input if n in self.constants}
        feeds = {n: self.values[n] for n in node.input if n in self.values}
        infos = infos_of(feeds)
        outs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in node.output]
        graph = helper.make_graph([node], "one", infos, outs, [numpy_helper.from_array(v, n) for n, v in known.items()])
        return session_of(self.finished(graph)).run(None, feeds)

    def finished(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        """A model of it."""
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    # The whole

    def grow(self) -> None:
        """Inputs, then nodes."""
        odd = (1, 3, 5, 7, 9, 11)
        shapes = {
            "image": lambda: (1, self.number(1, 8), self.choice(odd[1:]), self.number(2, 11)),
            "sequence": lambda: (1, self.number(2, 9), self.number(2, 12)),
            "vector": lambda: (1, self.number(3, 20)),
        }
        kind = self.choice(("image", "image", "image", "sequence", "vector"))
        shape = shapes[kind]()
        for number in range(self.choice((1, 1, 1, 2, 2, 3))):  # branches that can meet again, or inputs of their own
            self.input(shape if number == 0 or self.chance(0.7) else shapes[self.choice(list(shapes))]())
        wanted = self.number(3, 11)
        names = sorted(OPERATORS)
        for _ in range(120):
            if len(self.nodes) >= wanted:
                break
            self.wanted = self.choice(names)
            OPERATORS[self.wanted](self)

    def build(self) -> RandomGraph | None:
        """The model, or None where too little came together or it is too sensitive to compare."""
        self.grow()
        read = {name for node in self.nodes for name in node.input}
        ends = [name for name in self.values if name not in read and name not in self.inputs]
        if not ends:
            return None
        while len(ends) > 4:
            ends.pop(self.number(0, len(ends) - 1))
        if self.chance(0.15):  # a value that is read and goes out too
            ends += [name for name in [self.choice(list(self.values))] if name not in ends and name not in self.inputs]
        infos = infos_of(self.inputs)
        outs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, self.shape(n)) for n in ends]
        as_nodes = {name for name, value in self.constants.items() if value.size < 20 and self.chance(0.2)}
        extra = [helper.make_node("Constant", [], [n], value=numpy_helper.from_array(self.constants[n]))
                 for n in sorted(as_nodes)]
        graph = helper.make_graph(extra + self.nodes, "random", infos, outs,
                                  [numpy_helper.from_array(v, n) for n, v in self.constants.items() if n not in as_nodes])
        model = self.finished(graph)
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            return None  # of pools with ceil_mode ONNX and ONNX Runtime have two opinions
        session = session_of(model)
        expected = session.run(None, self.inputs)
        near = {n: v * (1 + 1e-6 * self.random.standard_normal(v.shape)).astype(np.float32) if v.dtype == np.float32 else v
                for n, v in self.inputs.items()}
        for y, z in zip(expected, session.run(None, near)):
            if not np.abs(y - z).max() <= STEADY * np.abs(y).max():
                return None
        return RandomGraph(model, self.inputs, expected)


def infos_of(values: dict[str, np.ndarray]) -> list[onnx.ValueInfoProto]:
    """Names, types and extents."""
    return [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in values.items()]


def session_of(model: onnx.ModelProto) -> Any:
    """In ONNX Runtime, as it is written."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def random_graph(seed: int) -> RandomGraph:
    """The graph of a seed, the same on every machine with the same numpy and ONNX Runtime."""
    import random_operators  # noqa: F401  (registers them)

    for attempt in range(100):
        made = Builder((seed, attempt)).build()
        if made is not None:
            return made
    raise AssertionError(f"no graph came together from seed {seed}")


if __name__ == "__main__":
    import random_graphs  # not __main__, whose OPERATORS would be another

    print(onnx.printer.to_text(random_graphs.random_graph(int(sys.argv[1])).model))
