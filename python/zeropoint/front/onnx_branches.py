# SPDX-License-Identifier: BSD-3-Clause
"""ONNX's If, whose condition is known: the nodes of the branch that is taken, in its place."""

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
    branch = next(a.g for a in node.attribute if a.name == ("then_branch" if condition else "else_branch"))
    chosen = onnx.GraphProto()
    chosen.CopyFrom(branch)
    own = {name for inner in chosen.node for name in inner.output} | {tensor.name for tensor in chosen.initializer}
    prefix = f"{node.name or node.output[0]}."

    def rename(name: str) -> str:
        return prefix + name if name in own else name

    renamed(chosen, rename)
    for tensor in chosen.initializer:
        tensor.name = rename(tensor.name)
    copies = [onnx.helper.make_node("Identity", [rename(given.name)], [name]) for given, name in zip(branch.output, node.output) if name]
    return [*chosen.node, *copies], list(chosen.initializer)
