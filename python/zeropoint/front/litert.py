# SPDX-License-Identifier: BSD-3-Clause
"""TensorFlow Lite models in LiteRT's interpreter: with its reference kernels, and one operator at a time."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from zeropoint.errors import need
from zeropoint.front.tflite_custom import content_of
from zeropoint.front.tflite_reader import TO_NCHW, TfliteReader
from zeropoint.ir import Coding, Graph, Value


class LitertSource:
    """The model in the interpreter: runs it, and makes the tables of its functions."""

    policy = "zp::fixed_point_litert"
    dtypes = ("int8",)

    def __init__(self, reader: TfliteReader, graph: Graph, content: bytes | None = None) -> None:
        """content: of a file with the same inputs and outputs, in place of the reader's."""
        self.reader, self.schema, self.content = reader, reader.schema, content or reader.content
        kinds = {v.name: reader.dtype(int(i)) for v, i in
                 [*zip(graph.given or graph.inputs, reader.subgraph.inputs), *zip(graph.outputs, reader.subgraph.outputs)]}
        self.input_kinds = {v.name: kinds[v.name] for v in graph.given or graph.inputs}
        self.takes_codes = {name for name, kind in self.input_kinds.items() if kind in ("int8", "uint8", "int16")}
        self.gives_codes = {v.name for v in graph.outputs if kinds[v.name] in ("int8", "uint8", "int16")}

    @property
    def title(self) -> str:
        """For people."""
        from importlib.metadata import version
        return f"LiteRT {version('ai-edge-litert')}, reference kernels"

    def interpreter(self, content: bytes, keeps_all: bool) -> Any:
        """With the reference kernels, whose arithmetic TensorFlow Lite's specification of int8 describes."""
        module = need("ai_edge_litert.interpreter", "tflite")
        made = module.Interpreter(model_content=content, num_threads=1, experimental_preserve_all_tensors=keeps_all,
                                  experimental_op_resolver_type=module.OpResolverType.BUILTIN_REF)
        made.allocate_tensors()
        return made

    def run(self, inputs: dict[str, np.ndarray], graph: Graph) -> dict[Any, np.ndarray]:
        """Codes of every tensor that has such, by number; inputs are codes."""
        made = self.interpreter(self.content, True)
        for value, index in zip(graph.given, self.reader.subgraph.inputs):
            codes, kind = inputs[value.name], self.input_kinds[value.name]
            if kind == "uint8" and value.coding is not None and value.coding.dtype == "int8":
                codes = (codes.astype(np.int16) + 128).astype(np.uint8)
            elif kind == "float32" and value.coding is not None:
                codes = value.coding.real(codes)
            made.set_tensor(int(index), codes)
        made.invoke()
        found = {index: made.get_tensor(index) for index in range(len(self.reader.subgraph.tensors))
                 if self.reader.dtype(index) in ("int8", "uint8", "int16") and self.reader.raw(index) is None}
        for value in graph.given:
            if value.coding is not None:
                found[value.coding.source] = inputs[value.name]
        return found

    def invoked(self, graph: Graph, arrays: dict[str, np.ndarray]) -> Any:
        """The interpreter of a model of floats, after a run."""
        made = self.interpreter(self.content, True)
        for value, index in zip(graph.given, self.reader.subgraph.inputs):
            made.set_tensor(int(index), arrays[value.name].astype(np.dtype(self.reader.dtype(int(index)))))
        made.invoke()
        return made

    def __call__(self, graph: Graph, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Outputs of a model of floats."""
        made = self.invoked(graph, arrays)
        return [np.array(made.get_tensor(int(index))) for index in self.reader.subgraph.outputs]

    def trace(self, graph: Graph, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All values in between, by their names here."""
        made = self.invoked(graph, arrays)
        found = {self.reader.name(i): made.get_tensor(i) for i in range(len(self.reader.subgraph.tensors))
                 if self.reader.raw(i) is None}
        for name, index in self.reader.images.items():
            found[name] = made.get_tensor(index).transpose(TO_NCHW)
        return found

    def kind_of(self, value: Value | None) -> str:
        """The operator that makes a value."""
        operator = self.reader.operator_of.get(id(value))
        if operator is None:
            return "input"
        code = self.reader.model.operatorCodes[operator.opcodeIndex]
        return self.reader.operators[max(int(code.builtinCode), int(code.deprecatedBuiltinCode))]

    def table(self, value: Value | None, x: Coding, y: Coding) -> np.ndarray:
        """Output codes of all codes of x, from the lowest: of the operator that makes a value, or of QUANTIZE."""
        s = self.schema
        model, graph = s.ModelT(), s.SubGraphT()
        model.version, model.subgraphs, model.buffers = 3, [graph], [s.BufferT()]
        code, operator = s.OperatorCodeT(), s.OperatorT()
        original = None if value is None else self.reader.operator_of[id(value)]
        if original is None:
            code.builtinCode = code.deprecatedBuiltinCode = s.BuiltinOperator.QUANTIZE
            code.version = 2
            operator.builtinOptionsType, operator.builtinOptions = s.BuiltinOptions.QuantizeOptions, s.QuantizeOptionsT()
        else:
            code = copy.copy(self.reader.model.operatorCodes[original.opcodeIndex])
            operator.builtinOptionsType, operator.builtinOptions = original.builtinOptionsType, original.builtinOptions
        graph.tensors = []
        for number, coding in enumerate((x, y)):
            tensor, about = s.TensorT(), s.QuantizationParametersT()
            about.scale, about.zeroPoint = coding.scale, coding.zero_point
            tensor.shape, tensor.name = np.array([1, 256], np.int32), f"t{number}"
            tensor.type, tensor.quantization = getattr(s.TensorType, coding.dtype.upper()), about
            graph.tensors.append(tensor)
        operator.opcodeIndex, operator.inputs, operator.outputs = 0, np.array([0], np.int32), np.array([1], np.int32)
        model.operatorCodes, graph.operators = [code], [operator]
        graph.inputs, graph.outputs = np.array([0], np.int32), np.array([1], np.int32)
        made = self.interpreter(content_of(model), False)
        low, high = x.limits
        made.set_tensor(0, np.arange(low, high + 1).astype(x.dtype).reshape(1, 256))
        made.invoke()
        return made.get_tensor(1).reshape(-1)
