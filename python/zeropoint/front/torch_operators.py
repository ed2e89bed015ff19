# SPDX-License-Identifier: BSD-3-Clause
"""aten operators as those of the graph."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from zeropoint.errors import NotSupported
from zeropoint.front.places import repeat, take
from zeropoint.ir import Node, Origin, Value, constant
from zeropoint.registry import registers


class Call:
    """One node of fx, its arguments by their names in the schema."""

    def __init__(self, reader: Any, node: Any, outputs: list[Value], origin: Origin) -> None:
        self.reader, self.node, self.outputs, self.origin = reader, node, outputs, origin
        self.graph = reader.graph
        schema = node.target._schema.arguments
        self.args: dict[str, Any] = {a.name: a.default_value for a in schema if a.has_default_value()}
        self.args.update({a.name: self.value(given) for a, given in zip(schema, node.args)})
        self.args.update({name: self.value(given) for name, given in node.kwargs.items()})

    def value(self, given: Any) -> Any:
        """Nodes of fx as values, all else as it is."""
        if isinstance(given, (list, tuple)):
            return [self.value(item) for item in given]
        if not (hasattr(given, "op") and hasattr(given, "meta")):
            return given
        if given in self.reader.values:
            return self.reader.values[given]
        if given in self.reader.tensors:
            return self.reader.tensors[given]  # a number
        raise NotSupported("a number that is computed from an input", "computed_operand")

    def __getitem__(self, name: str) -> Any:
        return self.args.get(name)

    @property
    def x(self) -> Value:
        """The first argument."""
        return next(iter(self.args.values())) if "self" not in self.args and "input" not in self.args \
            else self.args.get("self", self.args.get("input"))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the first output."""
        return self.outputs[0].shape

    def make(self, op: str, inputs: list[Value | None], shape: tuple[int, ...], **attrs: Any) -> Value:
        """A node in between."""
        return self.graph.add(op, inputs, shape, self.origin, name=f"{self.origin.name} {op}", **attrs)

    def give(self, op: str, inputs: list[Value | None], number: int = 0, **attrs: Any) -> None:
        """The node that gives an output."""
        self.graph.nodes.append(Node(op, inputs, [self.outputs[number]], attrs, self.origin))

    def refused(self, text: str) -> Exception:
        """An argument without a form here."""
        return NotSupported(text)

    def same(self, value: Value | None = None) -> None:
        """The output is an input."""
        self.reader.values[self.node] = self.x if value is None else value


CONVERTERS: dict[str, Callable[[Call], None]] = {}
# By names without `aten.`, and without overloads where all are alike.
converts = registers(CONVERTERS)


def convert(reader: Any, node: Any, outputs: list[Value], origin: Origin) -> None:
    """Adds what a node becomes, or keeps it to be reported."""
    import zeropoint.front.torch_conditions  # noqa: F401  (these register their converters)
    import zeropoint.front.torch_layers  # noqa: F401

    name = str(node.target)
    plain = name.removeprefix("aten.").split(".")[0]
    why = None
    before = len(reader.graph.nodes)
    converter = CONVERTERS.get(name.removeprefix("aten.")) or (CONVERTERS.get(plain) if name.startswith("aten.") else None)
    if converter is not None:
        try:
            converter(Call(reader, node, outputs, origin))
            return
        except NotSupported as error:
            del reader.graph.nodes[before:]
            why = (error.reason, error.text)
    inputs = [reader.values[n] for n in node.all_input_nodes if isinstance(reader.values.get(n), Value)]
    reader.graph.nodes.append(Node(name, inputs, [out for out in outputs if out is not None], {}, origin, why))


SAME = {"relu", "relu6", "sigmoid", "tanh", "hardswish", "silu", "mish", "exp", "log", "sqrt", "rsqrt", "abs", "neg",
        "square", "reciprocal", "selu"}


@converts(*SAME, "hardsigmoid", "leaky_relu", "elu", "celu", "softplus", "threshold", "gelu", "hardtanh", "clamp",
          "clamp_min", "clamp_max")
def convert_unary(call: Call) -> None:
    """Functions of one value."""
    op = str(call.node.target).removeprefix("aten.").split(".")[0]
    if op in SAME:
        call.give("unary", [call.x], kind=op)
    elif op == "hardsigmoid":
        call.give("unary", [call.x], kind="hard_sigmoid")
    elif op == "leaky_relu":
        call.give("unary", [call.x], kind=op, slope=call["negative_slope"])
    elif op == "elu":
        if call["scale"] != 1 or call["input_scale"] != 1:
            raise NotSupported("an elu of its own scales")
        call.give("unary", [call.x], kind=op, alpha=float(call["alpha"]))
    elif op == "celu":
        call.give("unary", [call.x], kind=op, alpha=float(call["alpha"]))
    elif op == "softplus":
        call.give("unary", [call.x], kind=op, beta=float(call["beta"]), threshold=float(call["threshold"]))
    elif op == "threshold":
        call.give("unary", [call.x], kind=op, limit=call["threshold"], value=call["value"])
    elif op == "gelu":
        call.give("unary", [call.x], kind="gelu_tanh" if call["approximate"] == "tanh" else "gelu")
    else:
        low, high = (call["min_val"], call["max_val"]) if op == "hardtanh" else (call["min"], call["max"])
        if any(isinstance(b, Value) for b in (low, high)):
            raise NotSupported("a bound that is a tensor", "computed_operand")
        call.give("unary", [call.x], kind="clamp", min=low, max=high)


MOVES = {"view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "slice", "select", "clone", "contiguous", "alias", "expand"}


def is_read_as_abs(node: Any) -> bool:
    """Whether all that reads complex numbers, however they are moved, is their absolute value."""
    names = [(user, str(user.target).removeprefix("aten.").split(".")[0]) for user in node.users]
    return all(name == "abs" or name in MOVES and is_read_as_abs(user) for user, name in names)


@converts("view_as_complex")
def convert_complex(call: Call) -> None:
    """The root of the sum of squares at once, which is what is moved and read then."""
    if not is_read_as_abs(call.node):
        raise NotSupported("complex numbers of which more than the absolute value is read; compute with real and imaginary parts")
    call.give("reduce", [call.x], kind="l2", axes=[len(call.x.shape) - 1], keepdim=False)


LOGARITHMS = {"log2": 1 / np.log(2.0), "log10": 1 / np.log(10.0)}  # a factor of the natural one


@converts(*LOGARITHMS, "log1p", "exp2", "expm1")
def convert_logarithm(call: Call) -> None:
    """By the natural logarithm and exponential."""
    op, x = str(call.node.target).removeprefix("aten.").split(".")[0], call.x
    if op == "exp2":
        call.give("unary", [call.make("binary", [x, constant("", np.float32(np.log(2.0)))], x.shape, kind="mul")], kind="exp")
    elif op == "expm1":
        call.give("binary", [call.make("unary", [x], x.shape, kind="exp"), constant("", np.float32(1))], kind="sub")
    elif op == "log1p":
        call.give("unary", [call.make("binary", [x, constant("", np.float32(1))], x.shape, kind="add")], kind="log")
    else:
        call.give("binary", [call.make("unary", [x], x.shape, kind="log"), constant("", np.float32(LOGARITHMS[op]))], kind="mul")


@converts("pow")
def convert_pow(call: Call) -> None:
    """By a constant, or of a positive one."""
    kinds = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    exponent = call["exponent"]
    if isinstance(exponent, Value) and isinstance(call["self"], (int, float)) and call["self"] > 0:
        scaled = call.make("binary", [exponent, constant("", np.float32(np.log(call["self"])))], exponent.shape, kind="mul")
        call.give("unary", [scaled], kind="exp")
        return
    if isinstance(exponent, (int, float)) and float(exponent) in kinds:
        call.give("unary", [call.x], kind=kinds[float(exponent)])
    elif exponent == 3:
        square = call.make("unary", [call.x], call.shape, kind="square")
        call.give("binary", [square, call.x], kind="mul")
    else:
        raise NotSupported(f"a power of {exponent if isinstance(exponent, (int, float)) else 'a tensor'}")


BINARY = {"add": "add", "sub": "sub", "mul": "mul", "multiply": "mul", "div": "div", "maximum": "maximum", "minimum": "minimum",
          "hypot": "hypot", "rsub": "sub"}


@converts(*BINARY)
def convert_binary(call: Call) -> None:
    """Of two values, the second perhaps a number."""
    op = str(call.node.target).removeprefix("aten.").split(".")[0]
    a, b = call.x, call["other"]
    alpha = call["alpha"]
    if call["rounding_mode"]:
        raise NotSupported("a division that rounds")
    if not isinstance(b, Value):
        b = constant("", np.float32(b * (alpha if alpha not in (None, 1) else 1)))
    elif alpha not in (None, 1):
        b = constant(b.name, b.data * alpha) if b.data is not None else call.make(
            "binary", [b, constant("", np.float32(alpha))], b.shape, kind="mul")
    call.give("binary", [b, a] if op == "rsub" else [a, b], kind=BINARY[op])


@converts("mean", "sum", "amax", "amin", "var", "std", "prod")
def convert_reduce(call: Call) -> None:
    """Along axes."""
    op = str(call.node.target).removeprefix("aten.").split(".")[0]
    rank = len(call.x.shape)
    dims = call["dim"]
    dims = [dims] if isinstance(dims, int) else dims
    axes = [d % rank for d in dims] if dims else list(range(rank))
    kind = {"amax": "max", "amin": "min"}.get(op, op)
    attrs: dict[str, Any] = dict(kind=kind, axes=axes, keepdim=bool(call["keepdim"]))
    if op in ("var", "std"):
        correction = call["correction"]
        attrs["correction"] = int(call["unbiased"]) if "unbiased" in call.args else 1 if correction is None else \
            int(correction)
    call.give("reduce", [call.x], **attrs)


@converts("linalg_vector_norm", "norm")
def convert_vector_norm(call: Call) -> None:
    """The root of a sum of squares: a part of normalize()."""
    order = call["ord"] if "ord" in call.args else call["p"]
    if order not in (2, 2.0, None):
        raise NotSupported(f"a norm of order {order}")
    rank = len(call.x.shape)
    dims = [call["dim"]] if isinstance(call["dim"], int) else call["dim"]
    axes = [d % rank for d in dims] if dims else list(range(rank))
    call.give("reduce", [call.x], kind="l2", axes=axes, keepdim=bool(call["keepdim"]))


@converts("max.dim", "min.dim")
def convert_extremum(call: Call) -> None:
    """Its values; its indices have no layer."""
    kind = str(call.node.target).removeprefix("aten.").split(".")[0]
    call.give("reduce", [call.x], kind=kind, axes=[call["dim"] % len(call.x.shape)], keepdim=bool(call["keepdim"]))
    call.graph.nodes.append(Node(f"aten.{kind}.dim indices", [call.x], [call.outputs[1]], {}, call.origin))


@converts("dropout", "contiguous", "clone", "alias", "detach", "detach_", "lift_fresh_copy", "feature_dropout",
          "native_dropout", "alpha_dropout")
def convert_nothing(call: Call) -> None:
    """What inference does not have."""
    if (call["train"] or call["training"]) and call["p"]:
        raise NotSupported("a dropout that eval() leaves on; pass training=self.training to F.dropout")
    call.same()


@converts("to", "_to_copy", "type_as", "float")
def convert_cast(call: Call) -> None:
    """Another type of numbers: nothing, between floats."""
    before, after = (call.reader.torch.bool is getattr(n.meta.get("val"), "dtype", None)
                     for n in (call.node.all_input_nodes[0], call.node))
    if call.outputs[0].is_integer and not call.x.is_integer and not after:
        raise NotSupported("a cast of computed values to integers")
    if after and not before:
        call.give("compare", [call.x, constant("", np.float32(0))], kind="ne")
    elif call.outputs[0].is_integer != call.x.is_integer:
        call.give("identity", [call.x])
    else:
        call.same()


@converts("view", "reshape", "flatten", "squeeze", "unsqueeze", "unflatten", "_unsafe_view", "view_as")
def convert_reshape(call: Call) -> None:
    """Other axes of the same values."""
    call.give("reshape", [call.x])


@converts("as_strided")
def convert_as_strided(call: Call) -> None:
    """Another view; exports have it behind a pool, whose memory it says."""
    x, shape = call.x, call.shape
    wanted = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
    strides = [s for s, n in zip(call["stride"], shape) if n != 1]
    if int(np.prod(shape)) != int(np.prod(x.shape)) or call["storage_offset"] or \
            strides != [s for s, n in zip(wanted, shape) if n != 1] or sum(n != 1 for n in x.shape) > 1:
        raise NotSupported("strides of its own")
    call.give("reshape", [x])


@converts("permute", "transpose", "t", "movedim", "swapaxes", "numpy_T", "mT")
def convert_permute(call: Call) -> None:
    """Axes in another order."""
    rank = len(call.x.shape)
    name = str(call.node.target).removeprefix("aten.").split(".")[0]
    if name == "permute":
        order = [d % rank for d in call["dims"]]
    elif name == "movedim":
        source, target = call["source"], call["destination"]
        source, target = ([v] if isinstance(v, int) else v for v in (source, target))
        order = [i for i in range(rank) if i not in [s % rank for s in source]]
        for to, frm in sorted(zip((t % rank for t in target), (s % rank for s in source))):
            order.insert(to, frm)
    else:
        a, b = {"t": (0, 1), "numpy_T": (0, 1), "mT": (-2, -1)}.get(
            name, (call["dim0"] if "dim0" in call.args else call["axis0"], call["dim1"] if "dim1" in call.args
                   else call["axis1"]))
        order = list(range(rank))
        if rank > 1:
            order[a % rank], order[b % rank] = order[b % rank], order[a % rank]
    call.give("permute", [call.x], order=order)


@converts("expand", "expand_as", "broadcast_to")
def convert_expand(call: Call) -> None:
    """Axes of extent 1 repeated."""
    call.give("expand", [call.x])


@converts("repeat", "tile")
def convert_repeat(call: Call) -> None:
    """Copies side by side."""
    times = tuple(call["repeats"] or call["dims"] or ())
    repeat(call, call.x, (1,) * (len(call.x.shape) - len(times)) + times)


@converts("repeat_interleave.self_int")
def convert_repeat_interleave(call: Call) -> None:
    """Each place of an axis several times, as keys are that several heads share."""
    if call["dim"] is None:
        raise NotSupported("a repetition of a flattened value")
    shape, axis, times = call.x.shape, call["dim"] % len(call.x.shape), call["repeats"]
    if len(shape) != 4 or axis != 1:  # else heads, which attention knows as they are written elsewhere
        take(call, call.x, np.repeat(np.arange(int(np.prod(shape))).reshape(shape), times, axis), call.shape)
        return
    apart = call.make("reshape", [call.x], shape[:axis + 1] + (1,) + shape[axis + 1:])
    call.give("reshape", [call.make("expand", [apart], shape[:axis + 1] + (times,) + shape[axis + 1:])])


@converts("cat", "concat", "concatenate")
def convert_cat(call: Call) -> None:
    """Side by side along an axis."""
    parts = [v for v in call["tensors"] if v.shape != (0,)]
    call.give("concat", parts, axis=call["dim"] % len(call.shape))


@converts("stack")
def convert_stack(call: Call) -> None:
    """Along a new axis."""
    axis = call["dim"] % len(call.shape)
    shape = call.shape[:axis] + (1,) + call.shape[axis + 1:]
    parts = [constant(v.name, v.data.reshape(shape)) if v.data is not None else call.make("reshape", [v], shape)
             for v in call["tensors"]]
    call.give("concat", parts, axis=axis)


@converts("slice")
def convert_slice(call: Call) -> None:
    """A range of an axis."""
    axis = (call["dim"] or 0) % len(call.x.shape)
    begin, end, step = slice(call["start"], call["end"], call["step"]).indices(call.x.shape[axis])
    call.give("slice", [call.x], axis=axis, begin=begin, end=end, step=step)


@converts("select")
def convert_select(call: Call) -> None:
    """One place of an axis, which goes."""
    shape, axis = call.x.shape, call["dim"] % len(call.x.shape)
    index = call["index"] % shape[axis]
    part = call.make("slice", [call.x], shape[:axis] + (1,) + shape[axis + 1:], axis=axis, begin=index, end=index + 1,
                     step=1)
    call.give("reshape", [part], picks=True)


@converts("split", "chunk", "split_with_sizes", "unbind", "unsafe_split", "unsafe_chunk", "tensor_split")
def convert_split(call: Call) -> None:
    """A slice for each part."""
    axis = (call["dim"] or 0) % len(call.x.shape)
    at, is_unbind = 0, "unbind" in str(call.node.target)
    for number, out in enumerate(call.outputs):
        count = 1 if is_unbind else out.shape[axis]
        if is_unbind:
            shape = call.x.shape[:axis] + (1,) + call.x.shape[axis + 1:]
            part = call.make("slice", [call.x], shape, axis=axis, begin=at, end=at + 1, step=1)
            call.give("reshape", [part], number)
        else:
            call.give("slice", [call.x], number, axis=axis, begin=at, end=at + count, step=1)
        at += count


@converts("flip")
def convert_flip(call: Call) -> None:
    """Axes backwards."""
    call.give("flip", [call.x], axes=[d % len(call.x.shape) for d in call["dims"]])


@converts("roll")
def convert_roll(call: Call) -> None:
    """Places that come in at the other end."""
    if not call["dims"]:
        raise NotSupported("a roll of a flattened value")
    call.give("roll", [call.x], axes=[d % len(call.x.shape) for d in call["dims"]], shifts=call["shifts"])


@converts("index_select")
def convert_index_select(call: Call) -> None:
    """Constant places of an axis."""
    index = call["index"]
    if index.data is None:
        raise NotSupported("computed indices", "computed_operand")
    call.give("gather", [call.x], axis=call["dim"] % len(call.x.shape), indices=[int(i) for i in index.data.reshape(-1)])
