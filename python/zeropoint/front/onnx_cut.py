# SPDX-License-Identifier: BSD-3-Clause
"""A part of an ONNX model: from values that become inputs to values that become outputs."""

from __future__ import annotations

from typing import Any

from zeropoint.errors import ZeropointError, need
from zeropoint.given import Given, check_names, not_reached


def cut(model: Any, given: Given) -> Any:
    """The part between given.begin and given.end; the model itself where there are none. Raises ZeropointError for unknown names, and where the
    extents of a beginning are neither known nor given."""
    if not given.begin and not given.end:
        return model
    onnx = need("onnx", "onnx")
    if model.functions:
        model = need("onnx.inliner", "onnx").inline_local_functions(model)
    graph = model.graph
    maker = {name: node for node in graph.node for name in node.output if name}
    known = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in known}
    outputs = {value.name: value for value in graph.output}
    check_names("--from", given.begin, [*inputs, *maker])
    check_names("--to", given.end, maker)
    ends = list(given.end or outputs)
    nodes, reached = needed(maker, ends, set(given.begin) | inputs.keys() | known)
    for name in given.begin:
        if name not in reached:
            raise not_reached("--from", name)
    infos = inferred(onnx, model)
    del graph.node[:], graph.input[:], graph.output[:], graph.value_info[:]
    graph.node.extend(nodes)
    for name in [*given.begin, *(name for name in inputs if name in reached and name not in given.begin)]:
        graph.input.append(inputs[name] if name in inputs else info_of(onnx, name, infos.get(name), given))
    graph.output.extend(outputs.get(name) or infos.get(name) or onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ends)
    for number in reversed([i for i, tensor in enumerate(graph.initializer) if tensor.name not in reached and tensor.name not in ends]):
        del graph.initializer[number]
    return model


def inferred(onnx: Any, model: Any) -> dict[str, Any]:
    """What is known of values in between."""
    try:
        found = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except Exception:  # a domain that ONNX does not know
        found = model
    return {value.name: value for value in found.graph.value_info}


def needed(maker: dict[str, Any], ends: list[str], starts: set[str]) -> tuple[list[Any], set[str]]:
    """The nodes that outputs need, in an order in which they can run, and all values that these read."""
    reached: set[str] = set(name for name in ends if name in starts)
    found: dict[int, Any] = {}
    pending = [(name, False) for name in reversed(ends)]
    while pending:
        name, is_done = pending.pop()
        node = maker.get(name)
        if name in starts or node is None or id(node) in found:
            continue
        if is_done:
            found[id(node)] = node
            continue
        read = names_read(node)
        reached |= read
        pending += [(name, True), *((other, False) for other in sorted(read))]
    return list(found.values()), reached


def names_read(node: Any) -> set[str]:
    """By a node and the graphs within it."""
    found = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            made = {name for inner in graph.node for name in inner.output} | {value.name for value in graph.input} | \
                {tensor.name for tensor in graph.initializer}
            found |= {name for inner in graph.node for name in names_read(inner)} - made
            found |= {value.name for value in graph.output} - made
    return found


def info_of(onnx: Any, name: str, info: Any, given: Given) -> Any:
    """What an input is: as inferred, or of the extents that are given."""
    if info is not None and info.type.tensor_type.HasField("shape"):
        return info
    if name not in given.shapes:
        raise ZeropointError(f"--from {name}: its extents are not known; give them with --input {name}=1x...")
    kind = info.type.tensor_type.elem_type if info is not None else onnx.TensorProto.FLOAT
    return onnx.helper.make_tensor_value_info(name, kind, given.shapes[name])
