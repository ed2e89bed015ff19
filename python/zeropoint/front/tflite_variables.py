# SPDX-License-Identifier: BSD-3-Clause
"""Variables of TensorFlow Lite, which keep values from call to call: here they are inputs and outputs, for the caller to carry."""

from __future__ import annotations

import copy
from typing import Any, Callable, Iterator

import numpy as np

from zeropoint.errors import ImportRefused, Problem

KINDS = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
SUFFIX = ".next"  # behind the name of the output that the next call is given


class Variables:
    """Those of one model, whose first subgraph is rewritten."""

    def __init__(self, schema: Any, model: Any, kind_of: Callable[[Any], str]) -> None:
        self.schema, self.model, self.kind_of = schema, model, kind_of
        self.graph = model.subgraphs[0]
        self.called: set[int] = set()            # subgraphs that give first values
        self.first: dict[bytes, tuple[int, int]] = {}  # of a variable: a subgraph, and its constant
        self.read: dict[bytes, int] = {}         # the input that a variable has become
        self.held: dict[bytes, int] = {}         # the tensor that a variable has now
        self.assigned: set[bytes] = set()
        self.taken = False
        self.inputs: dict[int, str] = {}         # those that variables have become, and what the first call is given

    def handles(self, graph: Any) -> dict[int, bytes]:
        """Of a subgraph: what its tensors of handles are called."""
        return {int(operator.outputs[0]): b"/".join(filter(None, (operator.builtinOptions.container, operator.builtinOptions.sharedName)))
                for operator in graph.operators if self.kind_of(operator) == "VAR_HANDLE"}

    def take_first_values(self) -> None:
        """What subgraphs that are called once assign. Raises ImportRefused where that is computed."""
        self.called = {int(operator.builtinOptions.initSubgraphIndex) for operator in self.graph.operators
                       if self.kind_of(operator) == "CALL_ONCE"}
        for number in self.called:
            graph = self.model.subgraphs[number]
            handles = self.handles(graph)
            for operator in graph.operators:
                kind = self.kind_of(operator)
                if kind == "VAR_HANDLE":
                    continue
                value = int(operator.inputs[1]) if kind == "ASSIGN_VARIABLE" else -1
                if value < 0 or self.data_of(graph, value) is None:
                    raise ImportRefused([Problem(kind, f"subgraph {number}", "computed_operand",
                                                 "the first values of variables are computed; they must be constants")])
                self.first[handles[int(operator.inputs[0])]] = number, value

    def data_of(self, graph: Any, index: int) -> Any:
        """The bytes of a constant."""
        data = self.model.buffers[graph.tensors[index].buffer].data
        return None if data is None or len(data) == 0 else np.asarray(data, np.uint8)

    def take(self) -> None:
        """Rewrites the model, if it has variables."""
        kinds = [self.kind_of(operator) for operator in self.graph.operators]
        if not set(kinds) & {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}:
            return
        handles = self.handles(self.graph)
        used = [int(operator.inputs[0]) for kind, operator in zip(kinds, self.graph.operators) if kind in ("READ_VARIABLE", "ASSIGN_VARIABLE")]
        self.take_first_values()
        if len(self.model.subgraphs) != 1 + len(self.called) or not handles.keys() >= set(used):  # loops, whose bodies have variables
            return
        self.taken = True
        instead: dict[int, int] = {}
        left = []
        for kind, operator in zip(kinds, self.graph.operators):
            if operator.inputs is not None:
                operator.inputs = np.array([instead.get(int(i), int(i)) for i in operator.inputs], np.int32)
            if kind == "READ_VARIABLE":
                name, index = handles[int(operator.inputs[0])], int(operator.outputs[0])
                if name in self.held:
                    instead[index] = self.held[name]
                else:
                    self.read[name] = self.held[name] = index
            elif kind == "ASSIGN_VARIABLE":
                name = handles[int(operator.inputs[0])]
                self.held[name] = int(operator.inputs[1])
                self.assigned.add(name)
            elif kind not in KINDS:
                left.append(operator)
        self.graph.operators = left
        outputs = [instead.get(int(i), int(i)) for i in self.graph.outputs]
        self.graph.outputs = np.array([*outputs, *self.going(outputs)], np.int32)
        self.graph.inputs = np.array([*self.graph.inputs, *self.coming()], np.int32)
        self.model.subgraphs = [self.graph]

    def going(self, outputs: list[int]) -> Iterator[int]:
        """What the next call is given, under names of their own: copies of inputs, outputs and what several variables get."""
        made = {int(i) for operator in self.graph.operators for i in operator.outputs}
        for name, index in self.held.items():
            if name not in self.read or name not in self.assigned:
                continue
            if index not in made or index in outputs or list(self.held.values()).count(index) > 1:
                index = self.copy_of(index)
            self.graph.tensors[index].name = name + SUFFIX.encode()
            yield index

    def copy_of(self, index: int) -> int:
        """The same values as a tensor of their own."""
        s = self.schema
        code, operator = s.OperatorCodeT(), s.OperatorT()
        code.builtinCode = code.deprecatedBuiltinCode = s.BuiltinOperator.RESHAPE
        code.version = 1
        self.model.operatorCodes.append(code)
        tensor = copy.copy(self.graph.tensors[index])
        tensor.buffer = 0
        self.graph.tensors.append(tensor)
        operator.opcodeIndex = len(self.model.operatorCodes) - 1
        operator.inputs, operator.outputs = np.array([index], np.int32), np.array([len(self.graph.tensors) - 1], np.int32)
        operator.builtinOptionsType, operator.builtinOptions = s.BuiltinOptions.ReshapeOptions, s.ReshapeOptionsT()
        operator.builtinOptions.newShape = np.array(tensor.shape, np.int32)
        self.graph.operators.append(operator)
        return len(self.graph.tensors) - 1

    def coming(self) -> Iterator[int]:
        """The inputs; a variable that nothing assigns is a constant."""
        for name, index in self.read.items():
            number, value = self.first.get(name, (0, -1))
            tensor = self.graph.tensors[index]
            if name in self.assigned:
                tensor.name = name
                self.inputs[index] = self.first_of(tensor, None if value < 0 else self.data_of(self.model.subgraphs[number], value))
                yield index
            elif value >= 0:
                tensor.buffer = self.model.subgraphs[number].tensors[value].buffer

    def first_of(self, tensor: Any, data: Any) -> str:
        """What goes into the first call, for people."""
        about = tensor.quantization
        zero = int(about.zeroPoint[0]) if about is not None and about.zeroPoint is not None and len(about.zeroPoint) else 0
        kind = next(name for name, number in vars(self.schema.TensorType).items() if number == tensor.type).lower()
        values = np.zeros(1, kind) if data is None else np.frombuffer(data.tobytes(), kind)
        if (values != values[0]).any():
            return "values of its own, which are in the source"
        return f"{values[0]:g} everywhere" + (", the code of 0" if zero and values[0] == zero else "")


def take_variables(schema: Any, model: Any, kind_of: Callable[[Any], str]) -> Variables:
    """Makes the variables of a model inputs and outputs, in place."""
    variables = Variables(schema, model, kind_of)
    if not any((getattr(buffer, "offset", 0) or 0) > 1 for buffer in model.buffers):  # content behind the flatbuffer, which would move
        variables.take()
    return variables
