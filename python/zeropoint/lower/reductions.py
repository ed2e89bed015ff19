# SPDX-License-Identifier: BSD-3-Clause
"""Sums, means, extrema along axes."""

from __future__ import annotations

from zeropoint.errors import Refused
from zeropoint.ir import Node
from zeropoint.layers import Code, Layer, Number
from zeropoint.lower.align import whole_groups
from zeropoint.lower.context import Context, Val, lowers

TEMPLATES = {"mean": ("zp::mean", "sum.hpp"), "sum": ("zp::sum", "sum.hpp"), "max": ("zp::reduce_max", "reduce.hpp"),
             "min": ("zp::reduce_min", "reduce.hpp"), "prod": ("zp::reduce_prod", "reduce.hpp"),
             "var": ("zp::variance", "variance.hpp"), "std": ("zp::standard_deviation", "variance.hpp")}


def lower_image_mean(context: Context, node: Node, val: Val) -> None:
    """The mean of an image, N x C x H x W, of which exporters write a vector where the axes go."""
    channels = val.layout.axes[1]
    keepdim = node.attrs["keepdim"]
    layout = val.layout.without(set(val.layout.memory) - set(channels), ((), channels, (), ()) if keepdim else ((), channels))
    row = context.row(Layer("zp::mean", (), "sum.hpp"), [val.row], layout.shape)
    context.set(node.outputs[0], Val(row, layout, not keepdim))


@lowers("reduce")
def lower_reduce(context: Context, node: Node) -> None:
    """One row over whole axes of the value; those that stay are moved out of their way where they share one."""
    val = context.get(node.inputs[0])
    over, keepdim = set(node.attrs["axes"]), node.attrs["keepdim"]
    layout = val.layout
    if not context.graph.is_coded and node.attrs["kind"] == "mean" and over == {2, 3} and len(layout.axes) == 4 and \
            layout.groups == (layout.axes[2], layout.axes[3], layout.axes[1]) and layout.axes[2]:
        lower_image_mean(context, node, val)
        return
    gone = {a for axis in over for a in layout.axes[axis]}
    axes = tuple(() if i in over else axis for i, axis in enumerate(layout.axes) if keepdim or i not in over)
    if not gone:
        if node.attrs["kind"] in ("var", "std"):
            raise Refused("axis", "a variance along axes of extent 1")
        context.set(node.outputs[0], Val(val.row, layout.without(gone, axes)))
        return
    groups = whole_groups(layout, gone)
    if groups is None:
        kept = tuple(a for a in layout.memory if a not in gone)
        groups = ((), tuple(a for a in layout.memory if a in gone), kept)
    val = context.arrange(val, *groups)
    reduced = [bool(group) and set(group) <= gone for group in val.layout.groups]
    template, header = TEMPLATES[node.attrs["kind"]]
    names = [name for name, is_reduced in zip(("height", "width", "channels"), reduced) if is_reduced]
    args: list = []
    if names != ["height", "width"]:
        args.append(Code("zp::axes::all" if len(names) == 3 else " | ".join(f"zp::axes::{name}" for name in names)))
    correction = node.attrs.get("correction", 1)
    if node.attrs["kind"] in ("var", "std") and correction != 1:
        args = [args[0] if args else Code("zp::axes::image"), Number(correction, "Correction")]
    context.put(node, Layer(template, tuple(args), header), [val.row], val.layout.without(gone, axes))
