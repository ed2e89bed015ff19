# SPDX-License-Identifier: BSD-3-Clause
"""ONNX models with QuantizeLinear and DequantizeLinear: the float graph between them, and how each value is coded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zeropoint.errors import ImportRefused, Problem, need
from zeropoint.front.onnx_reader import OnnxReader, digest_of
from zeropoint.ir import Coding, Graph, Value


def is_qdq(model: Any) -> bool:
    """Whether a model rounds values to codes."""
    return any(node.op_type in ("QuantizeLinear", "DequantizeLinear") and node.domain in ("", "ai.onnx", "com.microsoft")
               for node in model.graph.node)


class Stripped:
    """A model without these nodes. values: codings of what is computed; constants: of what is not; both by name."""

    def __init__(self, model: Any) -> None:
        onnx = need("onnx", "onnx")
        self.onnx, self.model = onnx, onnx.ModelProto()
        self.model.CopyFrom(model)
        graph = self.model.graph
        self.values: dict[str, Coding] = {}
        self.constants: dict[str, Coding] = {}
        self.problems: list[Problem] = []
        self.known = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self.known[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
        self.renamed: dict[str, str] = {}
        self.made = {out: node for node in graph.node for out in node.output}
        self.outputs = {out.name for out in graph.output}
        kept = []
        for node in graph.node:
            if node.op_type == "QuantizeLinear":
                self.quantize(node)
            elif node.op_type == "DequantizeLinear":
                self.dequantize(node)
            else:
                kept.append(node)
        self.finish(kept)

    def problem(self, node: Any, reason: str, text: str) -> None:
        """A node that cannot be taken away."""
        self.problems.append(Problem(node.op_type, node.name or node.output[0], reason, text))

    def coding_of(self, node: Any, source: str) -> Coding | None:
        """Scale and zero point of a node."""
        scale, zero = self.known.get(node.input[1]), np.array(0, np.uint8)
        if len(node.input) > 2 and node.input[2]:
            zero = self.known.get(node.input[2])  # type: ignore[assignment]
        if scale is None or zero is None:
            self.problem(node, "computed_operand", "a scale or zero point is computed; they must be constants")
            return None
        if scale.ndim > 1 or str(zero.dtype) not in ("int8", "uint8", "int16", "int32"):
            self.problem(node, "attribute", f"codes of {zero.dtype} with scales of {scale.ndim} axes; expected int8, uint8, "
                                            "with a scale a tensor or a channel")
            return None
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        scale = np.asarray(scale, np.float32).reshape(-1)
        zeros = np.broadcast_to(np.asarray(zero, np.int64).reshape(-1), scale.shape)
        return Coding(str(zero.dtype), scale, zeros, axis, source)

    def quantize(self, node: Any) -> None:
        """Remembers how its input is coded."""
        x = node.input[0]
        coding = self.coding_of(node, node.output[0])
        if coding is None:
            return
        if x in self.known:  # weights that are quantized when the model runs
            real = self.known[x].astype(np.float32)
            axis = coding.axis if coding.scale.size > 1 else 0
            coding = replace(coding, axis=axis)
            steps = np.rint(real / coding.spread(coding.scale, real.ndim)) + coding.spread(coding.zero_point, real.ndim)
            self.known[node.output[0]] = np.clip(steps, *coding.limits).astype(coding.dtype)
            return
        if coding.scale.size != 1:
            self.problem(node, "attribute", "an activation with several scales; activations have one")
        elif x in self.values and self.values[x].grid != coding.grid:
            self.problem(node, "value", f"{x} is rounded to two different grids")
        else:
            self.values[x] = coding
        self.renamed[node.output[0]] = x

    def dequantize(self, node: Any) -> None:
        """Its output is what was quantized, or a constant."""
        x, out = node.input[0], node.output[0]
        coding = self.coding_of(node, x)
        if coding is None:
            return
        if x in self.known:
            codes = self.known[x]
            coding = replace(coding, dtype=str(codes.dtype), codes=codes, axis=coding.axis % max(1, codes.ndim))
            name = x.removesuffix("_quantized").removesuffix("_QuantizeLinear_Output")
            if name in self.constants and self.constants[name].codes is not codes:
                name = out
            if name not in self.constants:
                self.constants[name] = coding
                self.model.graph.initializer.append(self.onnx.numpy_helper.from_array(coding.real(codes), name))
            if name != out:
                self.renamed[out] = name
        elif x in self.renamed and self.renamed[x] in self.values:
            if self.values[self.renamed[x]].grid != coding.grid:
                self.problem(node, "value", "codes are read with another scale or zero point than they were made with")
            self.renamed[out] = self.renamed[x]
        elif x in {given.name for given in self.model.graph.input}:
            self.values[x] = coding
            self.renamed[out] = x
        else:
            self.problem(node, "value", "codes that no QuantizeLinear makes")

    def root(self, name: str) -> str:
        """What a value is called now."""
        while name in self.renamed:
            name = self.renamed[name]
        return name

    def finish(self, kept: list[Any]) -> None:
        """Reads values under their new names; outputs keep theirs."""
        graph = self.model.graph
        given = {out: self.root(out) for out in self.outputs if self.root(out) != out}
        names = {inner: out for out, inner in given.items() if inner not in {i.name for i in graph.input}}
        for node in kept:
            floats = {x for x in node.input if x in self.values and x in self.made}
            if floats and self.reads_floats(floats):
                self.problem(node, "value", f"reads {sorted(floats)[0]} as floats, which others read as codes")
            for i, name in enumerate(node.input):
                root = self.root(name)
                node.input[i] = names.get(root, root)
            for i, name in enumerate(node.output):
                node.output[i] = names.get(name, name)
        for inner, out in names.items():
            if inner in self.values:
                self.values[out] = self.values.pop(inner)
        del graph.node[:]
        graph.node.extend(kept)
        used = {name for node in kept for name in node.input}
        tensors = [t for t in graph.initializer if t.name in used]
        del graph.initializer[:]
        graph.initializer.extend(tensors)
        for port in [*graph.input, *graph.output]:
            if port.name in self.values or port.name in given:
                port.type.tensor_type.elem_type = self.onnx.TensorProto.FLOAT
        del graph.value_info[:]

    def reads_floats(self, names: set[str]) -> bool:
        """Whether a value is quantized for others."""
        return any(node.op_type == "QuantizeLinear" and node.input[0] in names for node in self.made.values())


class OnnxSource:
    """The model in ONNX Runtime: runs it, and makes the tables of its functions."""

    policy = "zp::nearest_even"
    dtypes = ("int8", "uint8")

    def __init__(self, path: Path, stripped: Stripped, reader: OnnxReader, graph: Graph) -> None:
        self.path, self.stripped, self.opsets = path, stripped, reader.model.opset_import
        self.node_of = {id(reader.values[out]): node for node in reader.model.graph.node for out in node.output
                        if out in reader.values}
        self.constants = {t.name: t for t in reader.model.graph.initializer}
        onnx = need("onnx", "onnx")
        self.model = onnx.load(str(path))
        self.kinds = {given.name: given.type.tensor_type.elem_type for given in self.model.graph.input}
        self.outputs = [out.name for out in self.model.graph.output]
        self.takes_codes = {v.name for v in graph.inputs if self.kinds[v.name] in (2, 3, 4, 5)}
        self.gives_codes = {out.name for out in self.model.graph.output if out.type.tensor_type.elem_type in (2, 3, 4, 5)}

    @property
    def title(self) -> str:
        """For people."""
        return f"ONNX Runtime {need('onnxruntime', 'verify').__version__}"

    def session(self, content: bytes) -> Any:
        """With the optimizations that it has by default, and sums of u8 x s8 that do not saturate."""
        runtime = need("onnxruntime", "verify")
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.x64quantprecision", "1")
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, inputs: dict[str, np.ndarray], graph: Graph) -> dict[Any, np.ndarray]:
        """Codes of every value that has such, by their names here; inputs are codes."""
        onnx = need("onnx", "onnx")
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        wanted = [c.source for c in self.stripped.values.values() if c.source not in self.kinds]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted if name not in self.outputs)
        feeds = {}
        for value in graph.given:
            coding = value.coding
            codes = inputs[value.name]
            feeds[value.name] = codes if coding is None or value.name in self.takes_codes else coding.real(codes)
        session = self.session(model.SerializeToString())
        found = dict(zip(wanted, session.run(wanted, feeds)))
        for value in graph.given:
            if value.coding is not None:
                found[value.coding.source] = inputs[value.name]
        alone = self.session(self.model.SerializeToString()).run(self.outputs, feeds)
        for value, result in zip(graph.outputs, alone):
            assert value.coding is not None
            codes = result if value.name in self.gives_codes else \
                np.rint(result.astype(np.float64) / float(value.coding.scale[0])) + int(value.coding.zero_point[0])
            if not np.array_equal(codes, found[value.coding.source]):  # what is watched is computed as what is not
                found[value.coding.source] = codes.astype(value.coding.dtype)
        return found

    def kind_of(self, value: Value | None) -> str:
        """The operator that makes a value."""
        node = self.node_of.get(id(value))
        return node.op_type if node is not None else "input" if value is not None and value.name in self.kinds else ""

    def table(self, value: Value | None, x: Coding, y: Coding) -> np.ndarray:
        """Output codes of all codes of x, from the lowest: of the node that makes a value, or of another grid alone."""
        onnx = need("onnx", "onnx")
        helper, numpy_helper = onnx.helper, onnx.numpy_helper
        nodes, tensors = [], [numpy_helper.from_array(np.float32(x.scale[0]), "xs"),
                              numpy_helper.from_array(np.array(x.zero_point[0], x.dtype), "xz"),
                              numpy_helper.from_array(np.float32(y.scale[0]), "ys"),
                              numpy_helper.from_array(np.array(y.zero_point[0], y.dtype), "yz")]
        nodes.append(helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["real"]))
        result = "real"
        if value is not None:
            node = onnx.NodeProto()
            node.CopyFrom(self.node_of[id(value)])
            for i, name in enumerate(node.input):
                if name in self.constants:
                    tensors.append(self.constants[name])
                elif name:
                    node.input[i] = "real"
            del node.output[:]
            node.output.append("made")
            nodes.append(node)
            result = "made"
        nodes.append(helper.make_node("QuantizeLinear", [result, "ys", "yz"], ["y"]))
        kinds = {"int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8}
        model = helper.make_model(helper.make_graph(
            nodes, "table", [helper.make_tensor_value_info("x", kinds[x.dtype], [256])],
            [helper.make_tensor_value_info("y", kinds[y.dtype], [256])], tensors), opset_imports=self.opsets,
            ir_version=self.model.ir_version)
        low, high = x.limits
        return self.session(model.SerializeToString()).run(None, {"x": np.arange(low, high + 1).astype(x.dtype)})[0]


def read_qdq(path: Path, input_shapes: dict[str, tuple[int, ...]]) -> tuple[Graph, OnnxSource]:
    """The graph of a model with QDQ pairs, its values coded. Raises ImportRefused with all that cannot be taken away."""
    onnx = need("onnx", "onnx")
    model = onnx.load(str(path))
    stripped = Stripped(model)
    if stripped.problems:
        raise ImportRefused(stripped.problems)
    reader = OnnxReader(stripped.model, path.stem, input_shapes)
    graph = reader.read()
    for name, coding in stripped.values.items():
        if name in reader.values:
            reader.values[name].coding = coding
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None and value.data is not None and value.name in stripped.constants:
                value.coding = stripped.constants[value.name]
    producer = f"{model.producer_name} {model.producer_version}".strip()
    graph.source = f"{path.name}, sha256 {digest_of(path)[:16]}, ONNX opset {reader.opset}, QDQ" + \
        (f" of {producer}" if producer else "")
    return graph, OnnxSource(path, stripped, reader, graph)
