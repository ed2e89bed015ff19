# SPDX-License-Identifier: BSD-3-Clause
"""Layers as they are written: template names with arguments, and the rows of a network that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Union

from zeropoint.errors import Refused
from zeropoint.ir import Origin

Extent = Union[int, tuple[int, int]]


@dataclass(frozen=True)
class Name:
    """The name of a layer's parameters, a template argument."""

    text: str


@dataclass(frozen=True)
class Code:
    """C++ as it stands."""

    text: str


@dataclass(frozen=True)
class Options:
    """`zp::conv{.out_channels = 8, ...}`: all fields in their order, of which those with their defaults are left out.

    roles are the names that template parameters get where blocks differ in a field.
    """

    type: str
    fields: tuple[tuple[str, Extent | bool | Code], ...]
    defaults: tuple[tuple[str, Extent | bool | Code | None], ...]


@dataclass(frozen=True)
class Number:
    """An integer argument; role is the name that it has as a template parameter. It is left out where it has its default."""

    value: int
    role: str = "Number"
    default: int | None = None


Argument = Union[Name, Code, Options, Number, "Layer"]


@dataclass(frozen=True)
class Layer:
    """`zp::conv2d<"conv1", zp::conv{...}>`. Operators of several inputs have their branches behind these arguments."""

    template: str
    args: tuple[Argument, ...] = ()
    header: str = ""  # in zeropoint/operators/, where zeropoint.hpp does not have it


@dataclass(eq=False)
class Row:
    """A layer in the graph: what it reads, and where it comes from. Inputs are rows; an input of the model has no layer."""

    layer: Layer | None
    inputs: list["Row"]
    shape: tuple[int, int, int]
    origin: Origin
    name: str = ""           # its own, by which zp::from finds it: that of its parameters, or of an input or output
    value: object = None     # the value of the source that it computes, for checks
    kind: str = "layer"      # layer, input, output, constant
    layout: object = None    # of that value
    coding: object = None    # of a constant, where the source has it in integers

    path: tuple[tuple[str, str], ...] = field(default=())
    sides: list["Row"] = field(default_factory=list)  # read by name, as last arguments: masks
    title: str = ""          # what others that read it by name call it; such a row stands in front of those
    count: int = 1           # rows of the compiled network, of which the last one is this


def ratio(value: float) -> Code:
    """std::ratio of a float32, exactly as near as float32 is."""
    import numpy as np

    exact = Fraction(str(np.float32(value)))
    if exact.denominator > 10**15 or abs(exact.numerator) > 9 * 10**18:
        exact = Fraction(float(np.float32(value))).limit_denominator(9 * 10**18)
    if abs(exact.numerator) > 9 * 10**18 or abs(float(exact) - np.float32(value)) > 1e-9 * abs(value):
        raise Refused("value", f"a factor or an addend of {value:g}: expected 1e-18 to 9e18 in size; scale the values around it")
    if exact.denominator == 1:
        return Code(f"std::ratio<{exact.numerator}>")
    return Code(f"std::ratio<{exact.numerator}, {exact.denominator}>")


def conv_options(out_channels: int, kernel: Extent, stride: Extent, padding: Extent, dilation: Extent, groups: int | Code,
                 bias: bool, output_padding: Extent | None = None) -> Options:
    """zp::conv, or zp::conv_transpose where there is an output_padding."""
    fields: list[tuple[str, Extent | bool | Code]] = [
        ("out_channels", out_channels), ("kernel", kernel), ("stride", stride), ("padding", padding)]
    defaults: list[tuple[str, Extent | bool | Code | None]] = [
        ("out_channels", None), ("kernel", 1), ("stride", 1), ("padding", 0)]
    if output_padding is not None:
        fields.append(("output_padding", output_padding))
        defaults.append(("output_padding", 0))
    fields += [("dilation", dilation), ("groups", groups), ("bias", bias)]
    defaults += [("dilation", 1), ("groups", 1), ("bias", True)]
    if isinstance(groups, Code):  # depthwise: as many outputs as inputs
        fields = [item for item in fields if item[0] != "out_channels" or item[1] != -1]
        defaults = [item for item in defaults if item[0] in dict(fields)]
    return Options("zp::conv" if output_padding is None else "zp::conv_transpose", tuple(fields), tuple(defaults))


def square(extent: tuple[int, int]) -> Extent:
    """An int where height and width agree."""
    return extent[0] if extent[0] == extent[1] else extent
