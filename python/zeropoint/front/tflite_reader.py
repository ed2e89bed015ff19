# SPDX-License-Identifier: BSD-3-Clause
"""TensorFlow Lite files into the graph, with how they have their values in integers."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zeropoint.errors import ImportRefused, Problem, ZeropointError, need
from zeropoint.front.tflite_cut import cut, settle_extents
from zeropoint.front.tflite_custom import content_of, take_built_in
from zeropoint.front.tflite_sparse import dense_of
from zeropoint.front.tflite_variables import SUFFIX, take_variables
from zeropoint.given import Given
from zeropoint.ir import Coding, Graph, Node, Origin, Value

TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
# What exporters and TensorFlow append to the name of a layer.
TAILS = {"conv2d", "matmul", "biasadd", "readvariableop", "kernel", "depthwise_kernel", "weight", "weights", "tensordot",
         "relu", "relu6", "fusedbatchnormv3"}


def schema() -> Any:
    """The classes of the flatbuffers' schema that LiteRT's package has."""
    return need("ai_edge_litert.schema_py_generated", "tflite")


def names_of(enumeration: type) -> dict[int, str]:
    """Of an enumeration of the schema."""
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


def layer_name(tensor: str) -> str:
    """`model/block_1/conv/Conv2D;model/bn/...` is block_1.conv."""
    parts = tensor.split(";")[0].removesuffix(":0").replace(".", "/").split("/")
    while len(parts) > 1 and parts[-1].lower().rstrip("_0123456789") in TAILS:
        parts.pop()
    if len(parts) > 1 and parts[0] in ("model", "sequential", "functional", "net", "StatefulPartitionedCall"):
        parts.pop(0)
    return ".".join(parts)


class TfliteReader:
    """State of reading one model."""

    def __init__(self, content: bytes, title: str, dequantize: bool = False, given: Given | None = None) -> None:
        s = schema()
        if content[4:8] != b"TFL3":
            raise ZeropointError(f"{title}: this is no TensorFlow Lite file (its bytes 4 to 7 are not TFL3)")
        self.schema, self.content = s, content
        try:
            self.model = s.ModelT.InitFromObj(s.Model.GetRootAs(content))
        except Exception as error:
            raise ZeropointError(f"{title}: this TensorFlow Lite file is damaged: {error}") from error
        self.operators, self.types = names_of(s.BuiltinOperator), names_of(s.TensorType)
        self.variables = take_variables(s, self.model, self.kind_of)
        is_inside = not any((getattr(buffer, "offset", 0) or 0) > 1 for buffer in self.model.buffers)  # else content lies behind the flatbuffer
        is_settled = is_inside and settle_extents(s, self.model, self.kind_of)
        is_cut = given is not None and cut(self.model, given)
        if take_built_in(s, self.model) or self.variables.taken or is_settled or is_cut:
            self.content = content_of(self.model)
        self.before = self.content  # without what --dequantize makes of it
        if len(self.model.subgraphs) != 1:
            raise ImportRefused([Problem("subgraph", title, "op", f"{len(self.model.subgraphs)} subgraphs (control flow); "
                                         "only one can be imported")])
        self.subgraph = self.model.subgraphs[0]
        self.dequantize = dequantize
        self.graph = Graph(title=title, notes=[given.note()] if given is not None and is_cut else [])
        self.values: dict[int, Value] = {}
        self.operator_of: dict[int, Any] = {}  # by id of the value that an operator makes
        self.shifted: set[int] = set()         # outputs whose codes are those of the source minus 128
        self.images: dict[str, int] = {}       # by name of a value in N C H W: its tensor
        if dequantize:
            self.take_real_weights()

    # Tensors

    def tensor(self, index: int) -> Any:
        """Of the subgraph."""
        return self.subgraph.tensors[index]

    def name(self, index: int) -> str:
        """Of a tensor."""
        return self.tensor(index).name.decode()

    def extents(self, index: int) -> tuple[int, ...]:
        """Of a tensor."""
        shape = self.tensor(index).shape
        return tuple(int(n) for n in shape) if shape is not None else ()

    def dtype(self, index: int) -> str:
        """int8, float32, ..."""
        return self.types[self.tensor(index).type].lower()

    def coding(self, index: int, codes: np.ndarray | None = None) -> Coding | None:
        """Of a tensor that has scales."""
        about = self.tensor(index).quantization
        if about is None or about.scale is None or len(about.scale) == 0 or self.dtype(index) not in (
                "int8", "uint8", "int16", "int32"):
            return None
        scale = np.asarray(about.scale, np.float32)
        zero_point = np.zeros(scale.size, np.int64) if about.zeroPoint is None else np.asarray(about.zeroPoint, np.int64)
        return Coding(self.dtype(index), scale, np.broadcast_to(zero_point, scale.shape), int(about.quantizedDimension),
                      index, None, codes)

    def raw(self, index: int) -> np.ndarray | None:
        """The numbers of a constant; codes where it has such."""
        data = self.model.buffers[self.tensor(index).buffer].data
        offset = getattr(self.model.buffers[self.tensor(index).buffer], "offset", 0) or 0
        if (data is None or len(data) == 0) and offset <= 1:
            return None
        kind = self.dtype(index)
        if kind in ("int4", "string", "resource", "variant") or kind.startswith("complex"):
            raise ImportRefused([Problem("constant", self.name(index), "value", f"constants of {kind} cannot be read")])
        if offset > 1:
            size = int(self.model.buffers[self.tensor(index).buffer].size)
            data = np.frombuffer(self.content, np.uint8, size, offset)
        values = np.frombuffer(np.asarray(data, np.uint8).tobytes(), np.dtype(kind))
        sparsity = self.tensor(index).sparsity
        try:
            return values.reshape(self.extents(index)) if sparsity is None else dense_of(sparsity, self.extents(index), values)
        except (ValueError, IndexError, AttributeError) as error:
            raise ZeropointError(f"{self.graph.title}: the constant {self.name(index)} of this TensorFlow Lite file is damaged: {error}") from error

    def value(self, index: int) -> Value | None:
        """Of a tensor; None where an optional one is left out."""
        if index < 0:
            return None
        if index not in self.values:
            codes = self.raw(index)
            coding = self.coding(index, codes)
            if codes is None:
                raise ImportRefused([Problem("tensor", self.name(index), "computed_operand",
                                             "nothing computes this tensor: it is a variable")])
            data = coding.real(codes) if coding is not None else codes.astype(np.float32) if codes.dtype.kind == "f" \
                else codes
            self.values[index] = Value(layer_name(self.name(index)), codes.shape, codes.dtype.kind == "i" and coding is None,
                                       data, coding)
        return self.values[index]

    def take_real_weights(self) -> None:
        """Constants of codes that operators of floats read become the real numbers that they mean, in the model that LiteRT runs too."""
        if any(self.coding(int(index)) is not None and self.raw(int(index)) is None for operator in self.subgraph.operators
               for index in operator.outputs):
            raise ZeropointError(f"{self.graph.title}: --dequantize is for models of floats with weights of codes, and this one computes in "
                                 "integers; import it without, with the same codes")
        real: dict[int, int] = {}
        for operator in self.subgraph.operators:
            operator.inputs = np.array(operator.inputs, np.int32)
            for place, index in enumerate(operator.inputs.tolist()):
                coding = self.coding(index) if index >= 0 else None
                codes = None if coding is None else self.raw(index)
                if codes is None or coding is None or self.kind_of(operator) in ("DEQUANTIZE", "DENSIFY"):
                    continue
                if index not in real:
                    tensor, buffer = copy.copy(self.tensor(index)), self.schema.BufferT()
                    buffer.data = np.frombuffer(coding.real(codes).astype("<f4").tobytes(), np.uint8)
                    self.model.buffers.append(buffer)
                    tensor.type, tensor.quantization, tensor.sparsity = self.schema.TensorType.FLOAT32, None, None
                    tensor.buffer = len(self.model.buffers) - 1
                    self.subgraph.tensors.append(tensor)
                    real[index] = len(self.subgraph.tensors) - 1
                operator.inputs[place] = real[index]
        self.content = content_of(self.model)

    def kind_of(self, operator: Any) -> str:
        """The name of an operator, CUSTOM of those that are not built in."""
        code = self.model.operatorCodes[operator.opcodeIndex]
        return self.operators.get(max(int(code.builtinCode), int(code.deprecatedBuiltinCode)), "CUSTOM")

    # The graph

    def read(self) -> Graph:
        """The graph, with codings where the source computes in integers."""
        from zeropoint.front.tflite_operators import convert

        ports = self.port_names()
        for index in self.subgraph.inputs:
            signature = self.tensor(index).shapeSignature
            if signature is not None and any(int(n) < 0 for n in list(signature)[1:]):
                raise ImportRefused([Problem("input", ports[int(index)], "dynamic_shape",
                                             f"extents {list(map(int, signature))} are not all known")])
            kind = self.dtype(index)
            value = Value(ports[int(index)], self.extents(index), kind in ("int32", "int64"), coding=self.coding(index))
            self.values[int(index)] = value
            self.graph.inputs.append(value)
        for number, operator in enumerate(self.subgraph.operators):
            convert(self, operator, number)
        for index in self.subgraph.outputs:
            value = self.values[int(index)]
            value.name = ports[int(index)]
            self.graph.outputs.append(value)
            if int(index) in self.shifted:
                self.graph.notes.append(f"Codes of the output \"{value.name}\" are those of the source minus 128.")
        for index, first in self.variables.inputs.items():
            name = ports[index]
            self.graph.notes.append(f"\"{name}\" is a variable of the source: each call but the first, of {first}, is given what came out as \"{name}{SUFFIX}\".")
        self.graph.drop_dead_nodes()
        return self.graph

    def port_names(self) -> dict[int, str]:
        """Of inputs and outputs: those of the signature, else of the tensors."""
        names = {int(i): layer_name(self.name(int(i)).removeprefix("serving_default_")) for i in
                 [*self.subgraph.inputs, *self.subgraph.outputs]}
        for signature in self.model.signatureDefs or []:
            for entry in [*(signature.inputs or []), *(signature.outputs or [])]:
                names[int(entry.tensorIndex)] = entry.name.decode()
        return names

    def unsupported(self, operator: Any, number: int, kind: str, reason: str, text: str) -> None:
        """An operator that is kept to be reported."""
        outputs = []
        for index in operator.outputs:
            self.values[int(index)] = Value(self.name(int(index)), self.extents(int(index)), coding=self.coding(int(index)))
            outputs.append(self.values[int(index)])
        inputs: list[Value | None] = [self.values.get(int(index)) for index in operator.inputs]
        origin = Origin(outputs[0].name if outputs else kind, (), f"operator {number}")
        self.graph.nodes.append(Node(kind, inputs, outputs, {}, origin, (reason, text)))


def nchw(coding: Coding | None) -> Coding | None:
    """Of the same value with its channels in front."""
    return None if coding is None else replace(coding, order=TO_NCHW)


def read_tflite(path: str | Path, given: Given | None = None, dequantize: bool = False) -> tuple[Graph, TfliteReader]:
    """The graph of a .tflite file, cut as it is given. dequantize: weights of codes as real numbers. Raises ZeropointError where it cannot be read."""
    path = Path(path)
    content = path.read_bytes()
    reader = TfliteReader(content, path.stem, dequantize, given)
    graph = reader.read()
    digest = hashlib.sha256(content).hexdigest()
    graph.source = f"{path.name}, sha256 {digest[:16]}, TensorFlow Lite" + (", dequantized" if dequantize else "")
    return graph, reader
