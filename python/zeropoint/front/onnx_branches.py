# SPDX-License-Identifier: BSD-3-Clause
"""ONNX's If: the nodes of the branch that is taken in its place, or of both where the condition is computed, and a choice between them."""

from __future__ import annotations

from typing import Any, Callable

Rename = Callable[[str], str]


def renamed(graph: Any, rename: Rename) -> None:
    """Values of all nodes of a graph, and of the graphs within, under other names."""
    for node in graph.node:
        node.input[:] = [rename(name) for name in node.input]
        node.output[:] = [rename(name) for name in node.output]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():  # GRAPH, GRAPHS
                renamed(inner, rename)
                for value in (*inner.input, *inner.output, *inner.initializer):
                    value.name = rename(value.name)


def taken_branch(onnx: Any, node: Any, condition: bool) -> tuple[list[Any], list[Any]]:
    """Nodes and constants that stand for an If: those of a branch, whose own names follow the If's, so that a name of both branches, or of
    two Ifs, is one of each. What a branch gives is under the names of the If's outputs."""
    return inlined(onnx, node, condition, f"{node.name or node.output[0]}.", list(node.output))


def both_branches(onnx: Any, node: Any) -> tuple[list[Any], list[Any]]:
    """The same of an If whose condition is computed: both branches, whose results are `NAME.then` and `NAME.else`, and for each output a
    choice by the condition. No operator that is imported does more than give a value, so that the branch that is not taken changes nothing."""
    nodes, constants = [], []
    shape = f"{node.name or node.output[0]}.condition.shape"
    constants.append(onnx.helper.make_tensor(shape, onnx.TensorProto.INT64, [1], [1]))
    condition = shape.removesuffix(".shape")
    nodes.append(onnx.helper.make_node("Reshape", [node.input[0], shape], [condition]))
    for name, is_then in (("then", True), ("else", False)):
        made = inlined(onnx, node, is_then, f"{node.name or node.output[0]}.{name}.", [out and f"{out}.{name}" for out in node.output])
        nodes += made[0]
        constants += made[1]
    nodes += [onnx.helper.make_node("Where", [condition, f"{out}.then", f"{out}.else"], [out], out) for out in node.output if out]
    return nodes, constants


def inlined(onnx: Any, node: Any, condition: bool, prefix: str, outputs: list[str]) -> tuple[list[Any], list[Any]]:
    """Nodes and constants of one branch, its own names behind a prefix, what it gives under these names."""
    branch = next(a.g for a in node.attribute if a.name == ("then_branch" if condition else "else_branch"))
    chosen = onnx.GraphProto()
    chosen.CopyFrom(branch)
    own = {name for inner in chosen.node for name in inner.output} | {tensor.name for tensor in chosen.initializer}

    def rename(name: str) -> str:
        return prefix + name if name in own else name

    renamed(chosen, rename)
    for tensor in chosen.initializer:
        tensor.name = rename(tensor.name)
    copies = [onnx.helper.make_node("Identity", [rename(given.name)], [name]) for given, name in zip(branch.output, outputs) if name]
    return [*chosen.node, *copies], list(chosen.initializer)
