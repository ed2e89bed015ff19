# SPDX-License-Identifier: BSD-3-Clause
"""ONNX files into the graph: shapes inferred, nodes of constants folded, names of modules kept."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from zeropoint.errors import FOLLOWS, Problem, ImportRefused, ZeropointError, need
from zeropoint.front.modules import inside
from zeropoint.front.onnx_branches import both_branches, taken_branch
from zeropoint.front.onnx_extents import check_shapes, fits, inputs_of, opened, text_of
from zeropoint.given import Given
from zeropoint.ir import Graph, Node, Origin, Value, constant

MOST_FOLDED = 64 << 20  # values: no constant larger than this is made
MOST_TOLD = 4096  # values: of larger constants the inference of shapes, which copies the model each time, is told the extents alone


class OnnxReader:
    """State of reading one model."""

    def __init__(self, model: Any, title: str, input_shapes: dict[str, tuple[int, ...]],
                 input_values: dict[str, np.ndarray] | None = None) -> None:
        self.onnx = need("onnx", "onnx")
        self.graph = Graph(title=title)
        self.values: dict[str, Value] = {"": None}  # type: ignore[dict-item]
        self.shapes: dict[str, tuple[tuple[int, ...] | None, bool]] = {}
        self.choices: set[str] = set()  # what an If of a computed condition gives
        self.unknown: set[str] = set()  # values behind a node that has no layer, whose extents nobody knows
        self.model = self.prepared(with_values(self.onnx, model, input_values or {}), input_shapes)
        self.opset = max((o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx")), default=1)

    def prepared(self, model: Any, input_shapes: dict[str, tuple[int, ...]]) -> Any:
        """With functions inlined, extents of the inputs fixed (a batch to 1), shapes inferred."""
        onnx = self.onnx
        if not model.graph.output:
            raise ZeropointError("this ONNX graph has no outputs")
        if model.functions:
            model = need("onnx.inliner", "onnx").inline_local_functions(model)
        inputs = inputs_of(model)
        check_shapes(inputs, input_shapes)
        problems = []
        for given in inputs:
            dims = given.type.tensor_type.shape.dim
            wanted = input_shapes.get(given.name, input_shapes.get("", ()))
            is_given = bool(wanted) and fits(given, wanted)
            is_open = [(i, dim.dim_param or "?") for i, dim in enumerate(dims) if not dim.HasField("dim_value") or dim.dim_value <= 0]
            if dims and not is_given and is_open and is_open[0][0] == 0:
                dims[0].dim_value = 1
                del is_open[0]
            if is_open and not is_given:
                name, is_one = f"{given.name}=" if len(inputs) > 1 else "", len(is_open) == 1
                axes = " and ".join(f"{i} ({name_of_axis})" for i, name_of_axis in is_open)
                problems.append(Problem("input", given.name, "dynamic_shape", f"{'axis' if is_one else 'axes'} {axes} "
                                        f"{'has' if is_one else 'have'} no extent; give {'it' if is_one else 'them'} with --input {name}{text_of(dims)}"))
            for dim, extent in zip(dims, wanted if is_given else ()):
                dim.dim_value = extent
        if problems:
            raise ImportRefused(problems)
        try:
            onnx.checker.check_model(model)
            for out in model.graph.output:  # what is written there may be of another model: exporters copy it, and no runtime needs it
                out.type.tensor_type.ClearField("shape")
            return self.folded(model)
        except ZeropointError:
            raise
        except Exception as error:
            raise ZeropointError(f"ONNX finds this model invalid: {error}") from error

    def folded(self, model: Any) -> Any:
        """With nodes of constants computed and shapes inferred, in turns, as each may depend on the other."""
        for tensor in model.graph.initializer:
            self.add_constant(tensor.name, self.onnx.numpy_helper.to_array(tensor))
            if np.prod(tensor.dims, dtype=np.int64) > MOST_TOLD:
                tensor.CopyFrom(self.onnx.TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type))
        told: list[Any] = []
        while True:
            del model.graph.value_info[:]
            model.graph.value_info.extend(told)
            inferred = self.onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
            self.shapes = shapes_of(inferred)
            news = self.extents_of_norms(model)
            told += news
            are_named = self.name_types_of_casts(model, inferred) or self.take_branches(model)
            left = [node for node in model.graph.node if not self.fold(node, model)]
            is_done = not news and not are_named and len(left) == len(model.graph.node)
            del model.graph.node[:]
            model.graph.node.extend(left)
            if is_done and not self.take_branches(model, computed=True):
                return inferred

    def take_branches(self, model: Any, computed: bool = False) -> bool:
        """Puts branches in the place of each If whose condition is known, or of one whose condition is computed both and a choice. Whether
        there was one."""
        found = []
        for node in model.graph.node:
            condition = self.values.get(node.input[0]) if node.op_type == "If" else None
            is_known = condition is not None and condition.data is not None
            if node.op_type != "If" or is_known == computed:
                found.append(node)
                continue
            if is_known:
                nodes, constants = taken_branch(self.onnx, node, bool(np.asarray(condition.data).reshape(-1)[0]))  # type: ignore[union-attr]
            else:
                nodes, constants = both_branches(self.onnx, node)
                self.choices.update(name for name in node.output if name)
            for tensor in constants:
                self.keep(model, tensor.name, self.onnx.numpy_helper.to_array(tensor))
            found += nodes
        if len(found) == len(model.graph.node) and all(a is b for a, b in zip(found, model.graph.node)):
            return False
        del model.graph.node[:]
        model.graph.node.extend(found)
        return True

    def name_types_of_casts(self, model: Any, inferred: Any) -> bool:
        """Turns each CastLike whose second operand is of a known type into the Cast that says it. Whether there was one."""
        types = {info.name: info.type.tensor_type.elem_type for info in (*inferred.graph.value_info, *inferred.graph.input)}
        types |= {tensor.name: tensor.data_type for tensor in model.graph.initializer}
        found = [node for node in model.graph.node if node.op_type == "CastLike" and types.get(node.input[1])]
        for node in found:
            node.CopyFrom(self.onnx.helper.make_node("Cast", node.input[:1], node.output, node.name, to=types[node.input[1]]))
        return bool(found)

    def extents_of_norms(self, model: Any) -> list[Any]:
        """Of the outputs of group norms, which ONNX's own inference does not know."""
        found = []
        for node in model.graph.node:
            if node.op_type != "GroupNormalization":
                continue
            before, after = (self.shapes.get(name, (None, False))[0] for name in (node.input[0], node.output[0]))
            if before is not None and after is None:
                found.append(self.onnx.helper.make_tensor_value_info(node.output[0], 1, before))
        return found

    def read(self) -> Graph:
        """The graph."""
        graph = self.model.graph
        for given in graph.input:
            if given.name not in self.values and given.name not in {i.name for i in graph.initializer}:
                shape, integer = self.shapes[given.name]
                value = Value(given.name, shape or (), integer, dtype=self.dtype_of(given) if integer else "")
                self.values[given.name] = value
                self.graph.inputs.append(value)
        for number, node in enumerate(graph.node):
            self.read_node(node, number)
        self.graph.outputs = [self.output(out.name) for out in graph.output]
        self.graph.drop_dead_nodes()
        return self.graph

    def dtype_of(self, given: Any) -> str:
        """Of an input, by numpy's name; empty of what is no tensor."""
        kind = given.type.tensor_type.elem_type
        if kind in (self.onnx.TensorProto.STRING, self.onnx.TensorProto.COMPLEX64, self.onnx.TensorProto.COMPLEX128):
            name = self.onnx.TensorProto.DataType.Name(kind).lower()
            raise ImportRefused([Problem("input", given.name, "value", f"an input of {name}; layers compute with real numbers")])
        return self.onnx.helper.tensor_dtype_to_np_dtype(kind).name if kind else ""

    def output(self, name: str) -> Value:
        """Under its own name, where it is the same as another value."""
        value = self.values[name]
        if value.name == name or value.data is not None:
            return value
        return self.graph.add("identity", [value], value.shape, Origin(name), is_integer=value.is_integer, name=name)

    def add_constant(self, name: str, data: np.ndarray) -> None:
        """A value that is known."""
        if data.dtype.kind == "V" or data.dtype == np.float16:
            data = data.astype(np.float32)
        self.values[name] = constant(name, data)

    def read_node(self, node: Any, number: int) -> None:
        """Folds a node of constants, or converts it."""
        from zeropoint.front.onnx_operators import convert

        origin = origin_of(node, number)
        inputs = [self.values[name] for name in node.input]
        outputs = []
        for name in node.output:
            shape, integer = self.shapes.get(name, (None, False))
            outputs.append(Value(name, shape or (), integer))
        missing = [name for name in node.output if name and self.shapes.get(name, (None, False))[0] is None]
        before = len(self.graph.nodes)
        if any(value is not None and value.data is not None and value.data.dtype.kind in "OSU" for value in inputs):
            self.unsupported(node, inputs, outputs, origin, ("value", "it reads strings; layers compute with numbers"))
        elif not self.unknown.isdisjoint(node.input):
            self.unsupported(node, inputs, outputs, origin, FOLLOWS)
        elif not self.choices.isdisjoint(node.output) and len({self.shapes.get(name, (None, False))[0] for name in node.input[1:]}) != 1:
            self.unsupported(node, inputs, outputs, origin, ("dynamic_shape", "the branches of an If whose condition is computed give unlike extents"))
        elif node.op_type in ("Loop", "Scan"):
            self.unsupported(node, inputs, outputs, origin, ("op", "a loop, and layers are run once; export recurrent layers as such (LSTM, GRU), or unrolled"))
        elif missing:
            self.unsupported(node, inputs, outputs, origin, ("dynamic_shape", "the extents of its output are not known"))
        elif not convert(self, node, inputs, outputs, origin):
            self.unsupported(node, inputs, outputs, origin, None)
        self.unknown.update(missing)
        made = self.graph.nodes[before:]
        for name, value in zip(node.output, outputs):
            if name and not any(value is out for n in made for out in n.outputs) and name not in self.values:
                self.unsupported(node, inputs, outputs, origin, ("attribute", f"its output {name} has no layer"))
                break
        for name, value in zip(node.output, outputs):
            if name:
                self.values.setdefault(name, value)

    def unsupported(self, node: Any, inputs: list[Value | None], outputs: list[Value], origin: Origin,
                    why: tuple[str, str] | None) -> None:
        """A node that is kept to be reported."""
        self.graph.nodes.append(Node(node.op_type, inputs, outputs, {}, origin, why))

    def attributes(self, node: Any) -> dict[str, Any]:
        """As Python values."""
        found = {}
        for attribute in node.attribute:
            value = self.onnx.helper.get_attribute_value(attribute)
            found[attribute.name] = value.decode() if isinstance(value, bytes) else value
        return found

    def constant_of(self, node: Any) -> np.ndarray:
        """Of a Constant node."""
        name, value = next(iter(self.attributes(node).items()))
        if name == "value":
            return self.onnx.numpy_helper.to_array(value)
        kind = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32}
        if name not in kind:
            raise ZeropointError(f"a Constant node with {name}")
        return np.array(value, kind[name])

    def fold(self, node: Any, model: Any) -> bool:
        """Computes a node whose inputs are all known, or that asks for extents which are."""
        if node.op_type == "Constant":
            self.keep(model, node.output[0], self.constant_of(node))
            return True
        if node.op_type in ("Shape", "Size"):
            extents = self.values[node.input[0]].shape if node.input[0] in self.values else \
                self.shapes.get(node.input[0], (None, False))[0]
            if extents is not None:
                attrs, known = self.attributes(node), np.array(extents, np.int64)
                self.keep(model, node.output[0], np.array(known.prod()) if node.op_type == "Size" else
                          known[attrs.get("start", 0):attrs.get("end", None)])
            return extents is not None
        if any(name not in self.values for name in node.input) or node.op_type in ("If", "Loop", "Scan") \
                or node.op_type.startswith("Random"):
            return False
        inputs = [self.values[name] for name in node.input]
        shape = self.shapes.get(node.output[0], (None, False))[0]
        if shape is not None and np.prod(shape, dtype=np.int64) > MOST_FOLDED:
            return False
        if node.op_type == "Identity":  # of the weights of shared modules: no copies
            self.keep_results(node, inputs, [inputs[0].data], model)  # type: ignore[union-attr]
            return True
        evaluator = need("onnx.reference", "onnx").ReferenceEvaluator
        feeds = {name: value.data for name, value in zip(node.input, inputs) if value is not None}
        helper = self.onnx.helper
        try:
            infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                     for n, a in feeds.items()]
            outs = [helper.make_value_info(name, self.onnx.TypeProto()) for name in node.output]
            small = helper.make_model(helper.make_graph([node], "constant", infos, outs),
                                      opset_imports=model.opset_import)
            results = evaluator(small).run(None, feeds)
        except Exception as error:
            self.graph.notes.append(f"{node.op_type} {node.name} of constants was not computed: {error}")
            return False
        self.keep_results(node, inputs, results, model)
        return True

    def keep_results(self, node: Any, inputs: list[Value | None], results: list[Any], model: Any) -> None:
        """What a node of constants gives, under the name of its largest."""
        for name, data in zip(node.output, results):
            stem = next((v.name for v in inputs if v is not None and v.data.size > 1 and v.data.dtype.kind == "f"), name)
            self.keep(model, name, np.asarray(data))
            is_copy = node.op_type == "Identity" and not name.startswith(("onnx::", "/"))
            self.values[name].name = stem if np.asarray(data).dtype.kind == "f" and not is_copy else name

    def keep(self, model: Any, name: str, data: np.ndarray) -> None:
        """A value that has become known, for the inference of shapes too."""
        self.add_constant(name, data)
        made = model.graph.initializer.add(name=name, dims=data.shape, data_type=self.onnx.helper.np_dtype_to_tensor_dtype(data.dtype))
        if data.size <= MOST_TOLD:
            made.CopyFrom(self.onnx.numpy_helper.from_array(np.asarray(data), name))


def with_values(onnx: Any, model: Any, values: dict[str, np.ndarray]) -> Any:
    """A model that is given some of its inputs once and for all."""
    known = {tensor.name for tensor in model.graph.initializer}
    inputs = {given.name: given for given in model.graph.input if given.name not in known}
    for name, value in values.items():
        if name not in inputs:
            raise ZeropointError(f"--value {name}: this model has no such input; it has {', '.join(inputs)}")
        kind = inputs[name].type.tensor_type
        extents = [dim.dim_value for dim in kind.shape.dim]
        if value.ndim not in (0, len(extents)) or any(extent > 0 and extent != n for extent, n in zip(extents, value.shape)):
            raise ZeropointError(f"--value {name}: expected {text_of(kind.shape.dim) or 'one number'}, found {'x'.join(map(str, value.shape))}")
        full = value.astype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        if full.ndim != len(extents):
            full = np.broadcast_to(full, [max(extent, 1) for extent in extents])
        if not np.array_equal(full, np.broadcast_to(value, full.shape)):
            raise ZeropointError(f"--value {name}: {value} is no number of {full.dtype}")
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(full), name))
        model.graph.input.remove(inputs[name])
    return model


def shapes_of(model: Any) -> dict[str, tuple[tuple[int, ...] | None, bool]]:
    """Extents of all values and whether they are integers."""
    found = {}
    graph = model.graph
    for info in list(graph.value_info) + list(graph.input) + list(graph.output):
        kind = info.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
        shape = None if -1 in dims or not kind.HasField("shape") else tuple(dims)
        if shape is not None or info.name not in found:
            found[info.name] = (shape, kind.elem_type not in (1, 10, 11, 16))
    return found


def origin_of(node: Any, number: int) -> Origin:
    """Name, modules and source line, from the metadata of PyTorch's exporter or from the slashes of its older one."""
    meta = {entry.key: entry.value for entry in getattr(node, "metadata_props", [])}
    source = ""
    name = node.name or next(filter(None, node.output), f"{node.op_type}_{number}")
    trace = [line.strip() for line in meta.get("pkg.torch.onnx.stack_trace", "").splitlines()]
    lines = [line for line in trace if line.startswith("File") and "site-packages/torch" not in line]
    if lines:
        parts = lines[-1].replace('"', "").replace("File ", "").split(", ")
        source = f"{Path(parts[0]).name}:{parts[1].replace('line ', '')}" if len(parts) > 1 else ""
    if "pkg.torch.onnx.name_scopes" in meta:
        scopes = ast.literal_eval(meta["pkg.torch.onnx.name_scopes"])
        classes = ast.literal_eval(meta.get("pkg.torch.onnx.class_hierarchy", "[]"))
        pairs = list(zip(scopes[1:-1], classes[1:-1]))
        return Origin(pairs[-1][0] + "." + node.op_type.lower() if pairs else name, inside(pairs), source)
    if name.startswith("/"):
        modules: list[tuple[str, str]] = []
        for part in name.split("/")[1:-1]:
            last = modules[-1][0] if modules else ""
            tail = last.split(".")[-1] if last else ""
            path = last + part[len(tail):] if tail and part.startswith(tail + ".") else (f"{last}.{part}" if last else part)
            modules.append((path, ""))
        last = modules[-1][0] if modules else ""
        leaf = name.split("/")[-1]
        is_module = leaf.split("_")[0] in ("Conv", "Gemm", "MatMul", "LSTM", "GRU", "BatchNormalization", "ConvTranspose")
        held = modules[:-1] if is_module else modules
        return Origin(last if is_module and last else (last + "." if last else "") + leaf, tuple(held), source)
    return Origin(name, (), source)


def digest_of(path: Path) -> str:
    """sha256 of a model and the files beside it that have its weights."""
    onnx = need("onnx", "onnx")
    digest = hashlib.sha256(path.read_bytes())
    outside = {entry.value for tensor in onnx.load(str(path), load_external_data=False).graph.initializer
               for entry in tensor.external_data if entry.key == "location"}
    for name in sorted(outside):
        digest.update((path.parent / name).read_bytes())
    return digest.hexdigest()


def read_onnx(path: str | Path) -> Graph:
    """A graph of an ONNX file. Raises ZeropointError where it cannot be read."""
    return read_given(Path(path), Given())[0]


def read_given(path: Path, given: Given, instead: Any = None) -> tuple[Graph, bytes | None]:
    """A graph of an ONNX file as it is given, and the bytes of a file for runtimes where that is not the file itself; instead: of a model that
    stands for the file's. Raises ZeropointError where it cannot be read."""
    model, notes, content = opened(path, given, instead)
    producer = f"{model.producer_name} {model.producer_version}".strip()
    reader = OnnxReader(model, path.stem, given.shapes, given.values)
    graph = reader.read()
    graph.notes[:0] = notes
    digest = digest_of(path)
    graph.source = f"{path.name}, sha256 {digest[:16]}, ONNX opset {reader.opset}" + (", dequantized," if instead is not None else "") + (f" of {producer}" if producer else "")
    return graph, content
