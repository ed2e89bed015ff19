# SPDX-License-Identifier: BSD-3-Clause
"""A part of a TensorFlow Lite model, and extents of its values that are known only when it runs."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from zeropoint.errors import ImportRefused, Problem, need
from zeropoint.front.tflite_custom import content_of
from zeropoint.given import Given, check_names, not_reached


def numbers(tensors: Any) -> list[int]:
    """Of tensors; none where a table has left them out."""
    return [] if tensors is None else [int(i) for i in tensors]


def cut(model: Any, given: Given) -> bool:
    """Leaves the part between given.begin and given.end, in place. Whether there are such. Raises ZeropointError for unknown names."""
    if not given.begin and not given.end:
        return False
    graph = model.subgraphs[0]
    maker = {index: operator for operator in graph.operators for index in numbers(operator.outputs)}
    named = {graph.tensors[index].name.decode(): index for index in [*numbers(graph.inputs), *maker]}
    check_names("--from", given.begin, named)
    check_names("--to", given.end, named)
    begin, end = [named[name] for name in given.begin], [named[name] for name in given.end] or numbers(graph.outputs)
    starts, reached, kept = {*begin, *numbers(graph.inputs)}, set(end), set()
    pending = list(end)
    while pending:
        index = pending.pop()
        operator = maker.get(index)
        if index in starts or operator is None or id(operator) in kept:
            continue
        kept.add(id(operator))
        reached.update(numbers(operator.inputs))
        pending += numbers(operator.inputs)
    for name, index in zip(given.begin, begin):
        if index not in reached:
            raise not_reached("--from", name)
    graph.operators = [operator for operator in graph.operators if id(operator) in kept]
    graph.inputs = np.array([*begin, *(i for i in numbers(graph.inputs) if i in reached and i not in begin)], np.int32)
    graph.outputs = np.array(end, np.int32)
    model.signatureDefs = []
    return True


def settle_extents(schema: Any, model: Any, kind_of: Callable[[Any], str]) -> bool:
    """Where a model computes extents, gives its tensors those that they have in a run by LiteRT, and makes what is computed of extents alone
    constants, in place: what a file says of such values is made up. Whether something has changed."""
    graph = model.subgraphs[0]
    if len(model.subgraphs) != 1 or not any(kind_of(operator) == "SHAPE" for operator in graph.operators):
        return False
    module = need("ai_edge_litert.interpreter", "tflite")
    found = module.Interpreter(model_content=content_of(model), num_threads=1, experimental_preserve_all_tensors=True,
                               experimental_op_resolver_type=module.OpResolverType.BUILTIN_REF)
    try:
        found.allocate_tensors()
        found.invoke()
    except (RuntimeError, ValueError) as error:
        raise ImportRefused([Problem("model", graph.name.decode() if graph.name else "main", "dynamic_shape", "extents of this model are computed, and "
                                     f"LiteRT cannot run it to know them: {' '.join(str(error).split())}")]) from None
    known = {index for index, tensor in enumerate(graph.tensors) if model.buffers[tensor.buffer].data is not None}
    left, changed = [], False
    for operator in graph.operators:
        made = numbers(operator.outputs)
        arrays = {index: found.get_tensor(index) for index in made}
        for index, array in arrays.items():
            tensor = graph.tensors[index]
            if tensor.shape is not None and tuple(numbers(tensor.shape)) != array.shape:
                tensor.shape, changed = np.array(array.shape, np.int32), True
            tensor.shapeSignature = None
        if kind_of(operator) == "SHAPE" or known.issuperset(i for i in numbers(operator.inputs) if i >= 0) and \
                all(array.dtype.kind == "i" for array in arrays.values()) and not set(made) & set(numbers(graph.outputs)):
            for index, array in arrays.items():
                buffer = schema.BufferT()
                buffer.data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
                model.buffers.append(buffer)
                graph.tensors[index].buffer = len(model.buffers) - 1
                known.add(index)
            changed = True
        else:
            left.append(operator)
    graph.operators = left
    return changed
