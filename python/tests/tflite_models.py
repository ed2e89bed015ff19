# SPDX-License-Identifier: BSD-3-Clause
"""TensorFlow Lite files of a few operators, written by LiteRT's schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as s
import flatbuffers
import numpy as np


class Model:
    """One that grows by tensors and operators."""

    def __init__(self) -> None:
        self.model, self.graph = s.ModelT(), s.SubGraphT()
        self.model.version, self.model.buffers, self.model.subgraphs, self.model.operatorCodes = 3, [s.BufferT()], [self.graph], []
        self.graph.tensors, self.graph.operators = [], []

    def tensor(self, name: str, shape: tuple[int, ...], data: np.ndarray | None = None, kind: str = "FLOAT32") -> int:
        """The number of a tensor; with data a constant."""
        made = s.TensorT()
        made.name, made.shape, made.type, made.buffer = name, np.array(shape, np.int32), getattr(s.TensorType, kind), 0
        if data is not None:
            buffer = s.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            made.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def constant(self, name: str, data: np.ndarray) -> int:
        """Of numbers."""
        return self.tensor(name, data.shape, data, {"f4": "FLOAT32", "f2": "FLOAT16", "i4": "INT32", "i1": "INT8"}[data.dtype.str[1:]])

    def operator(self, kind: str, inputs: list[int], outputs: list[int], options: Any = None, version: int = 1, custom: bytes = b"") -> None:
        """A built-in one by its name, with the table of its options; a custom one with these bytes of options."""
        code, made = s.OperatorCodeT(), s.OperatorT()
        code.version = version
        number = s.BuiltinOperator.CUSTOM if custom else getattr(s.BuiltinOperator, kind)
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        if custom:
            code.customCode, made.customOptions = kind, np.frombuffer(custom, np.uint8)
        self.model.operatorCodes.append(code)
        made.opcodeIndex = len(self.model.operatorCodes) - 1
        made.inputs, made.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
        if options is not None:
            made.builtinOptionsType = getattr(s.BuiltinOptions, type(options).__name__.removesuffix("T"))
            made.builtinOptions = options
        self.graph.operators.append(made)

    def write(self, path: Path, inputs: list[int], outputs: list[int]) -> Path:
        """The file."""
        self.graph.inputs, self.graph.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path


def options(name: str, **fields: Any) -> Any:
    """Of an operator: conv2d's are options("Conv2D", strideW=1, strideH=1)."""
    made = getattr(s, f"{name}OptionsT")()
    for field, value in fields.items():
        assert hasattr(made, field), field
        setattr(made, field, value)
    return made


def sparse(order: list[int], levels: list[tuple[list[int], list[int]] | int], blocks: list[int] | None = None) -> Any:
    """The parameters of a sparse tensor: a dense level is its extent, a sparse one its segments and indices."""
    made = s.SparsityParametersT()
    made.traversalOrder = np.array(order, np.int32)
    made.blockMap = None if blocks is None else np.array(blocks, np.int32)
    made.dimMetadata = []
    for level in levels:
        about = s.DimensionMetadataT()
        about.format = int(not isinstance(level, int))
        if isinstance(level, int):
            about.denseSize = level
        else:
            segments, indices = s.Int32VectorT(), s.Uint8VectorT()
            segments.values, indices.values = np.array(level[0], np.int32), np.array(level[1], np.uint8)
            about.arraySegmentsType, about.arraySegments = s.SparseIndexVector.Int32Vector, segments
            about.arrayIndicesType, about.arrayIndices = s.SparseIndexVector.Uint8Vector, indices
        made.dimMetadata.append(about)
    return made
