# SPDX-License-Identifier: BSD-3-Clause
"""ONNX models that others have quantized, as models of floats: weights are the real numbers of their codes, and nothing else is rounded."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from zeropoint.errors import ImportRefused, NotSupported, Problem

MOVES = ("Gather", "Transpose", "Reshape", "Slice", "Squeeze", "Unsqueeze", "Flatten", "Identity", "MaxPool")  # what keeps the codes of its first operand
Form = Callable[["Dequantizer", Any], list[Any]]


def real_of(codes: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, axis: int) -> np.ndarray:
    """float32 of codes with a scale each, or one a channel of an axis."""
    def spread(values: np.ndarray) -> np.ndarray:
        return values.reshape([-1 if i == axis % codes.ndim else 1 for i in range(codes.ndim)]) if values.size > 1 else values.reshape(())

    steps = codes.astype(np.int64) - (0 if zero is None else spread(zero).astype(np.int64))
    return steps.astype(np.float32) * spread(scale.astype(np.float32))


class Dequantizer:
    """A copy of a model, while its nodes are rewritten."""

    def __init__(self, onnx: Any, model: Any) -> None:
        self.onnx, self.model = onnx, onnx.ModelProto()
        self.model.CopyFrom(model)
        self.graph = self.model.graph
        self.known = {t.name: onnx.numpy_helper.to_array(t) for t in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self.known[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
        self.made = {out: node for node in self.graph.node for out in node.output}
        self.readers: dict[str, list[Any]] = {}
        for node in self.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.copies: dict[str, str] = {}  # outputs of nodes that are copies of another value
        self.real: dict[str, str] = {}  # names of constants of codes: of those of real numbers
        self.renamed: dict[str, str] = {}

    def constant(self, name: str, node: Any, what: str) -> np.ndarray:
        """A value that must be known."""
        if name not in self.known:
            raise NotSupported(f"{what} is computed; it must be a constant", "computed_operand")
        return self.known[name]

    def add(self, name: str, data: np.ndarray) -> str:
        """A constant under a name of its own."""
        while name in self.known or name in self.made:
            name += "_real"
        self.known[name] = data
        self.graph.initializer.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(data), name))
        return name

    def weight(self, node: Any, codes: int, scale: int | None, zero: int, axis: int) -> str:
        """The name of a constant of real numbers, from operands of a node; without a scale, of codes less their zero point. A computed operand
        is real already."""
        name = node.input[codes]
        if name not in self.known or name in self.real.values():
            return name
        key = f"{name} {'' if scale is None else node.input[scale]} {axis}"
        if key not in self.real:
            factor = np.float32(1).reshape(()) if scale is None else self.constant(node.input[scale], node, "a scale")
            offset = self.constant(node.input[zero], node, "a zero point") if len(node.input) > zero and node.input[zero] else None
            stem = name.removesuffix("_QuantizeLinear_Output").removesuffix("_quantized")
            self.real[key] = self.add(stem if stem != name else f"{name}_real", real_of(self.known[name], factor, offset, axis))
        return self.real[key]

    def node(self, op: str, inputs: list[str], node: Any, **attributes: Any) -> Any:
        """What stands for a node, with its name and first output."""
        return self.onnx.helper.make_node(op, inputs, [node.output[0]], node.name or node.output[0], **attributes)

    def attributes(self, node: Any) -> dict[str, Any]:
        """As Python values."""
        return {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}

    def run(self) -> Any:
        """The model of floats. Raises ImportRefused with what has no form of floats."""
        problems, nodes = [], []
        for node in self.graph.node:
            form = FORMS.get(node.op_type)
            try:
                nodes += [node] if form is None else form(self, node)
                self.drop_rounded_bias(node)
            except NotSupported as error:
                problems.append(Problem(node.op_type, node.name or node.output[0], error.reason, error.text))
        quantized = {self.onnx.TensorProto.INT8, self.onnx.TensorProto.UINT8}
        for port in (*self.graph.input, *self.graph.output):
            if port.type.tensor_type.elem_type in quantized and port.name not in self.known:
                problems.append(Problem("port", port.name, "value", "it takes or gives codes; expected floats where others have quantized a model"))
        if problems:
            raise ImportRefused(problems)
        nodes = [self.node("Identity", [self.copies[n.output[0]]], n) if n.output[0] in self.copies else n for n in nodes]
        for node in nodes:
            node.input[:] = [self.renamed.get(name, name) for name in node.input]
        del self.graph.node[:]
        self.graph.node.extend(nodes)
        used = {name for node in nodes for name in node.input} | {out.name for out in self.graph.output}
        tensors = [tensor for tensor in self.graph.initializer if tensor.name in used]
        del self.graph.initializer[:]
        self.graph.initializer.extend(tensors)
        del self.graph.value_info[:]
        return self.model


    def only_reader(self, name: str, op: str) -> Any:
        """The node that alone reads a value, where it is of this kind; else None."""
        found = self.readers.get(name, [])
        return found[0] if len(found) == 1 and found[0].op_type == op else None

    def scale_behind(self, node: Any) -> str:
        """The constant scale of the weights that is multiplied behind a product of integers, whose multiplication is left out; empty where it
        stands otherwise."""
        cast = self.only_reader(node.output[0], "Cast")
        scaled = None if cast is None else self.only_reader(cast.output[0], "Mul")
        if scaled is None:
            return ""
        other = self.made.get(next((name for name in scaled.input if name != cast.output[0]), ""))
        if other is None or other.op_type != "Mul":
            return ""
        for x, weight in (other.input, list(other.input)[::-1]):
            if weight in self.known and x in self.made and self.made[x].op_type == "DynamicQuantizeLinear" and self.made[x].output[1] == x:
                self.copies[scaled.output[0]] = cast.output[0]
                return str(weight)
        return ""

    def drop_rounded_bias(self, node: Any) -> None:
        """A bias that a product of integers adds is rounded to whole steps: here it is not."""
        if node.op_type not in ("MatMulInteger", "ConvInteger"):
            return
        added = self.only_reader(node.output[0], "Add")
        for name in () if added is None else added.input:
            while name in self.made and self.made[name].op_type in (*MOVES, "Cast", "Floor", "Round"):
                if self.made[name].op_type in ("Cast", "Floor", "Round"):
                    self.copies[name] = self.made[name].input[0]
                name = self.made[name].input[0]


def quantize_linear(d: Dequantizer, node: Any) -> list[Any]:
    """Nothing is rounded; of a constant, which is rounded once and for all, the codes."""
    if node.input[0] in d.known:
        raise NotSupported("a constant that the model itself quantizes: let ONNX Runtime fold it (its optimized model)")
    return [d.node("Identity", [node.input[0]], node)]


def dequantize_linear(d: Dequantizer, node: Any) -> list[Any]:
    """A constant of real numbers; of what is computed nothing is left, but that a table of codes behind moves is one of real numbers."""
    axis = d.attributes(node).get("axis", 1)
    if node.input[0] in d.known:
        d.renamed[node.output[0]] = d.weight(node, 0, 1, 2, axis)
        return [d.node("Identity", [d.renamed[node.output[0]]], node)] if node.output[0] in {o.name for o in d.graph.output} else []
    start = node.input[0]
    behind = None
    while start in d.made and d.made[start].op_type in MOVES:
        behind, start = d.made[start], d.made[start].input[0]
    if start in d.known and behind is not None:
        scale = d.constant(node.input[1], node, "a scale")
        if scale.size != 1:
            raise NotSupported("a table of several scales behind what moves its values")
        operands = d.onnx.helper.make_node("DequantizeLinear", [start, *node.input[1:]], ["table"])
        behind.input[0] = d.weight(operands, 0, 1, 2, 0)
    return [d.node("Identity", [node.input[0]], node)]


def dynamic_quantize_linear(d: Dequantizer, node: Any) -> list[Any]:
    """The values themselves, with a scale of 1 and a zero point of 0."""
    scale, zero = d.add(f"{node.output[1]}_of_1", np.float32(1).reshape(())), d.add(f"{node.output[2]}_of_0", np.float32(0).reshape(()))
    d.renamed.update({node.output[1]: scale, node.output[2]: zero})
    return [d.node("Identity", [node.input[0]], node)]


def check_dynamic(d: Dequantizer, node: Any, name: str) -> None:
    """A product of integers takes codes whose scale is applied behind it, so that they have to be those of scale 1."""
    while name in d.made and d.made[name].op_type in MOVES:
        name = d.made[name].input[0]
    if name not in d.known and (name not in d.made or d.made[name].op_type != "DynamicQuantizeLinear"):
        raise NotSupported("codes that no DynamicQuantizeLinear makes")


def integer_product(d: Dequantizer, node: Any) -> list[Any]:
    """MatMulInteger, ConvInteger: products of codes less their zero points, whose scales are multiplied behind them."""
    is_conv = node.op_type == "ConvInteger"
    check_dynamic(d, node, node.input[0])
    check_dynamic(d, node, node.input[1])
    if node.input[0] in d.known:
        raise NotSupported("a product whose first operand is constant")
    scale = d.scale_behind(node)
    operands = d.onnx.helper.make_node("Operands", [node.input[1], scale, node.input[3] if len(node.input) > 3 else ""], ["real"])
    weight = d.weight(operands, 0, 1 if scale else None, 2, 0 if is_conv else -1)
    return [d.node("Conv" if is_conv else "MatMul", [node.input[0], weight], node, **d.attributes(node))]


def product_with_scales(d: Dequantizer, node: Any) -> list[Any]:
    """ONNX Runtime's DynamicQuantizeMatMul and MatMulIntegerToFloat: the scales within."""
    scale, zero, bias = (2, 3, 4) if node.op_type == "DynamicQuantizeMatMul" else (3, 5, 6)
    if node.op_type == "MatMulIntegerToFloat":
        check_dynamic(d, node, node.input[0])
    product = d.node("MatMul", [node.input[0], d.weight(node, 1, scale, zero, -1)], node)
    if len(node.input) <= bias or not node.input[bias]:
        return [product]
    product.output[0] = f"{node.output[0]}_product"
    return [product, d.node("Add", [product.output[0], node.input[bias]], node)]


def lstm(d: Dequantizer, node: Any) -> list[Any]:
    """ONNX Runtime's DynamicQuantizeLSTM: its matrices are inputs x gates, with scales a direction, or a gate of each."""
    inputs = list(node.input)
    for number, at in ((1, 8), (2, 10)):
        codes, scale, zero = (d.constant(node.input[i], node, "the weight of an LSTM") for i in (number, at, at + 1))
        wide = [values.reshape(codes.shape[0], 1, -1) for values in (scale, zero)]
        real = (codes.astype(np.int64) - wide[1].astype(np.int64)).astype(np.float32) * wide[0].astype(np.float32)
        inputs[number] = d.add(node.input[number].removesuffix("_quantized"), real.transpose(0, 2, 1))
    made = d.node("LSTM", inputs[:8], node, **d.attributes(node))
    made.output[:] = node.output
    return [made]


def with_codes(op: str, operands: tuple[tuple[int, int, int], ...]) -> Form:
    """Operators of codes, each with a scale and a zero point: the float operator of the operands that are codes."""
    def form(d: Dequantizer, node: Any) -> list[Any]:
        is_conv = op == "Conv"
        inputs = [d.weight(node, x, scale, zero, 0 if is_conv else -1) for x, scale, zero in operands]
        if is_conv and len(node.input) > 8 and node.input[8]:
            scale = d.constant(node.input[1], node, "a scale") * d.constant(node.input[4], node, "a scale").reshape(-1)
            inputs.append(d.add(f"{node.input[8]}_real", d.constant(node.input[8], node, "a bias").astype(np.float32) * scale.astype(np.float32)))
        return [d.node(op, inputs, node, **{k: v for k, v in d.attributes(node).items() if k != "channels_last"})]
    return form


FORMS: dict[str, Form] = {
    "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear, "DynamicQuantizeLinear": dynamic_quantize_linear,
    "MatMulInteger": integer_product, "ConvInteger": integer_product, "DynamicQuantizeMatMul": product_with_scales,
    "MatMulIntegerToFloat": product_with_scales, "DynamicQuantizeLSTM": lstm, "QLinearConv": with_codes("Conv", ((0, 1, 2), (3, 4, 5))),
    "QLinearMatMul": with_codes("MatMul", ((0, 1, 2), (3, 4, 5))), "QLinearAdd": with_codes("Add", ((0, 1, 2), (3, 4, 5))),
    "QLinearMul": with_codes("Mul", ((0, 1, 2), (3, 4, 5))), "QLinearSigmoid": with_codes("Sigmoid", ((0, 1, 2),)),
    "QLinearLeakyRelu": with_codes("LeakyRelu", ((0, 1, 2),)), "QLinearGlobalAveragePool": with_codes("GlobalAveragePool", ((0, 1, 2),)),
}


def is_quantized(model: Any) -> bool:
    """Whether a model has an operator of codes."""
    return any(node.op_type in FORMS for node in model.graph.node)


def dequantized(onnx: Any, model: Any) -> Any:
    """A copy of a model as one of floats. Raises ImportRefused with every node that has no form of floats."""
    return Dequantizer(onnx, model).run()
