# SPDX-License-Identifier: BSD-3-Clause
"""Custom operators of TensorFlow Lite that mean what built-in ones do, as these: LiteRT has no kernels of the former."""

from __future__ import annotations

import copy
import struct
from typing import Any, Callable

import numpy as np


def transposed_convolution(schema: Any, model: Any, graph: Any, operator: Any) -> tuple[str, Any, list[int]]:
    """MediaPipe's Convolution2DTransposeBias of x, weight and bias; its options are a C struct: padding (1 SAME, 2 VALID), strides."""
    padding, width, height = struct.unpack_from("<3i", bytes(operator.customOptions))
    options = schema.TransposeConvOptionsT()
    options.padding = schema.Padding.SAME if padding == 1 else schema.Padding.VALID
    options.strideW, options.strideH = width, height
    x, weight, bias = (int(index) for index in operator.inputs)
    extents = schema.TensorT()
    extents.shape, extents.type, extents.name = np.array([4], np.int32), schema.TensorType.INT32, b"extents"
    content = schema.BufferT()
    content.data = np.frombuffer(np.asarray(graph.tensors[int(operator.outputs[0])].shape, "<i4").tobytes(), np.uint8)
    model.buffers.append(content)
    extents.buffer = len(model.buffers) - 1
    graph.tensors.append(extents)
    return "TRANSPOSE_CONV", options, [len(graph.tensors) - 1, weight, x, bias]


FORMS: dict[bytes, Callable[..., tuple[str, Any, list[int]]]] = {b"Convolution2DTransposeBias": transposed_convolution}
VERSIONS = {"TRANSPOSE_CONV": 3}  # the first with such operands


def take_built_in(schema: Any, model: Any) -> bool:
    """Rewrites a model in place. Whether it has changed."""
    changed = False
    if any((getattr(buffer, "offset", 0) or 0) > 1 for buffer in model.buffers):  # content behind the flatbuffer, which would move
        return False
    for graph in model.subgraphs:
        for operator in graph.operators:
            form = FORMS.get(model.operatorCodes[operator.opcodeIndex].customCode)
            if form is None or operator.customOptions is None:
                continue
            name, options, inputs = form(schema, model, graph, operator)
            code = copy.copy(model.operatorCodes[operator.opcodeIndex])
            code.customCode, code.version = None, VERSIONS[name]
            code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, name)
            model.operatorCodes.append(code)
            operator.opcodeIndex, operator.inputs, operator.customOptions = len(model.operatorCodes) - 1, np.array(inputs, np.int32), None
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__.removesuffix("T"))
            operator.builtinOptions = options
            changed = True
    return changed


def content_of(model: Any) -> bytes:
    """The bytes of a file."""
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
