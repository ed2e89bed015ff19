# SPDX-License-Identifier: BSD-3-Clause
"""Programs of torch.export into the graph. Files are .pt2; pickled modules are never opened."""

from __future__ import annotations

import copy
import hashlib
import keyword
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from zeropoint.errors import ZeropointError, need
from zeropoint.front.modules import inside
from zeropoint.front.torch_modules import exportable, name_of, names_by_memory, refuse_other_outputs
from zeropoint.ir import Graph, Origin, Value, constant


# Operators that make a tensor of one number; None where an argument says which.
FILLS: dict[str, float | None] = {"new_zeros": 0, "new_ones": 1, "new_full": None, "new_empty": 0, "zeros_like": 0,
                                  "ones_like": 1, "full_like": None, "empty_like": 0}


class TorchReader:
    """State of reading one exported program."""

    def __init__(self, program: Any, title: str, memory: dict[int, str]) -> None:
        self.torch = need("torch", "torch")
        self.program, self.memory = program, memory
        self.graph = Graph(title=title)
        self.values: dict[Any, Any] = {}  # a node of fx to a Value, or to a list of Values
        self.tensors: dict[Any, Any] = {}  # of nodes that are known
        self.examples: list[Any] = []      # of all inputs
        self.read_inputs = 0

    def read(self) -> Graph:
        """The graph."""
        signature = self.program.graph_signature
        names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
                 **getattr(signature, "inputs_to_lifted_tensor_constants", {})}
        state = {**self.program.state_dict, **self.program.constants}
        for node in self.program.graph.nodes:
            if node.op == "placeholder" and node.name in names:
                tensor = state[names[node.name]]
                is_tensor = isinstance(tensor, self.torch.Tensor)
                self.know(node, tensor, self.memory.get(tensor.data_ptr() if is_tensor else 0, names[node.name]))
            elif node.op == "placeholder":
                self.input(node)
            elif node.op == "get_attr":
                self.know(node, getattr(self.program.graph_module, node.target), node.target)
            elif node.op == "call_function":
                self.call(node)
            elif node.op == "output":
                self.outputs(node)
        self.graph.drop_dead_nodes()
        return self.graph

    def know(self, node: Any, tensor: Any, name: str) -> None:
        """A node whose value is known."""
        if not isinstance(tensor, self.torch.Tensor):
            return
        tensor = tensor.detach()
        self.tensors[node] = tensor
        plain = tensor.to(self.torch.float32) if tensor.is_floating_point() else tensor
        self.values[node] = constant(name, plain.cpu().numpy())

    def input(self, node: Any) -> None:
        """An argument of the module."""
        given = self.examples[self.read_inputs] if self.read_inputs < len(self.examples) else None
        self.read_inputs += 1
        if isinstance(given, self.torch.Tensor):
            self.graph.examples[node.name] = as_numpy(given)
        example = node.meta.get("val")
        if not isinstance(example, self.torch.Tensor):
            return
        if not all(isinstance(n, int) for n in example.shape):
            raise ZeropointError(f"the input {node.name} has a dynamic extent: {tuple(example.shape)}; export it without "
                                 "dynamic_shapes, as every network here has its extents in its type")
        is_integer = not example.is_floating_point()
        value = Value(node.name, tuple(example.shape), is_integer,
                      dtype=str(example.dtype).removeprefix("torch.") if is_integer else "")
        self.values[node] = value
        self.graph.inputs.append(value)

    def outputs(self, node: Any) -> None:
        """What the module returns."""
        kinds = self.program.graph_signature.output_specs
        results = [result for result, spec in zip(node.args[0], kinds) if spec.kind.name == "USER_OUTPUT"]
        names = names_of_leaves(self.program.call_spec.out_spec)
        for result, name in zip(results, names if len(names) == len(results) else [""] * len(results)):
            if result is None:
                continue
            value = self.values.get(result)
            if not isinstance(value, Value):
                raise ZeropointError(f"the output {result} is no tensor")
            self.graph.outputs.append(value)
            self.graph.output_names.append(name)
        if not self.graph.outputs:
            raise ZeropointError("this module returns no tensor")

    def call(self, node: Any) -> None:
        """Folds what is known, picks parts, converts the rest."""
        from zeropoint.front.torch_operators import convert

        if getattr(node.target, "__name__", "") == "getitem":
            parts = self.values.get(node.args[0])
            if isinstance(parts, list):
                self.values[node] = parts[node.args[1]]
            if isinstance(self.tensors.get(node.args[0]), (list, tuple)):
                self.know(node, self.tensors[node.args[0]][node.args[1]], node.name)
            return
        if self.fold(node):
            return
        origin = origin_of(node)
        example = node.meta.get("val")
        examples = list(example) if isinstance(example, (list, tuple)) else [example]
        if not all(e is None or isinstance(e, self.torch.Tensor) for e in examples):
            return  # symbolic numbers, assertions
        outputs = [None if e is None else Value(node.name, tuple(int(n) for n in e.shape), not e.is_floating_point(), part=number)
                   for number, e in enumerate(examples)]
        if not outputs or outputs == [None]:
            return
        convert(self, node, outputs, origin)
        if node not in self.values:
            self.values[node] = outputs if isinstance(example, (list, tuple)) else outputs[0]

    def fill(self, node: Any) -> bool:
        """new_zeros, ones_like and their kind: an operand says no more than an extent."""
        name = str(node.target).removeprefix("aten.").split(".")[0]
        example = node.meta.get("val")
        if name not in FILLS or not isinstance(example, self.torch.Tensor):
            return False
        value = FILLS[name]
        if value is None:
            value = node.args[2 if name == "new_full" else 1]
        if not isinstance(value, (int, float, bool)):
            return False
        self.know(node, self.torch.full(tuple(int(n) for n in example.shape), value, dtype=example.dtype), node.name)
        return True

    def fold(self, node: Any) -> bool:
        """Computes a node of known tensors."""
        if self.fill(node):
            return True
        tensors = [n for n in node.all_input_nodes]
        if any(n not in self.tensors for n in tensors) or "rand" in str(node.target):
            return False
        from torch.fx import map_arg  # type: ignore[attr-defined]

        args = map_arg(node.args, lambda n: self.tensors[n])
        kwargs = map_arg(node.kwargs, lambda n: self.tensors[n])
        try:
            result = node.target(*args, **kwargs)
        except Exception:
            return False
        if isinstance(result, self.torch.Tensor):
            named = [self.values[n].name for n in tensors if self.tensors[n].numel() > 1]
            self.know(node, result, without_norm(named[0]) if named else node.name)
        else:
            self.tensors[node] = result
        return True


def without_norm(name: str) -> str:
    """The name of a weight that a weight norm or another parametrization makes of two."""
    for ending in (".weight_g", ".weight_v", ".weight_orig"):
        if name.endswith(ending):
            return name.removesuffix(ending) + ".weight"
    stem, found, last = name.partition(".parametrizations.")
    return f"{stem}.{last.split('.')[0]}" if found else name


def origin_of(node: Any) -> Origin:
    """The modules that a node is inside of, and the last line of the user's code."""
    stack = node.meta.get("nn_module_stack") or {}
    modules = inside([(path, cls if isinstance(cls, str) else f"{cls.__module__}.{cls.__qualname__}")
                      for path, cls in stack.values()])
    source = ""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    own = [line for line in lines if line.startswith("File") and "/torch/" not in line]
    if own:
        parts = own[-1].replace('"', "").replace("File ", "").split(", ")
        source = f"{Path(parts[0]).name}:{parts[1].replace('line ', '')}" if len(parts) > 1 else ""
    paths = [path for path, _ in stack.values() if path]
    path = paths[-1] + "." if paths else ""
    return Origin(path + node.name, modules, source)


def names_of_leaves(spec: Any) -> list[str]:
    """What a structure of a module's result calls its tensors: keys of dicts and fields of tuples with names, joined by points; ""
    where there are none on the way to it."""
    if spec is None:
        return []

    def keys_of(part: Any, count: int) -> list[str] | None:
        fields = getattr(part.context, "_fields", part.context)
        if isinstance(fields, list) and len(fields) == 2 and isinstance(fields[1], list):
            fields = fields[1]  # of a defaultdict, behind what makes values
        if not isinstance(fields, (list, tuple)) or len(fields) != count or not all(isinstance(k, (str, int)) for k in fields):
            return None
        return list(map(str, fields))

    def walk(part: Any, path: list[str], is_named: bool) -> list[str]:
        if part.is_leaf():
            return [".".join(path) if is_named else ""]
        parts = part.children() if hasattr(part, "children") else part.children_specs  # of older PyTorch
        keys = keys_of(part, len(parts))
        steps = keys if keys is not None else [str(i) for i in range(len(parts))]
        named = is_named or keys is not None
        return [name for key, child in zip(steps, parts) for name in walk(child, [*path, key], named)]

    return [re.sub(r"[^A-Za-z0-9_.-]", "_", name) for name in walk(spec, [], False)]


def unusual_names(module: Any) -> str:
    """Those of modules that PyTorch writes into code of Python, which takes no such names; nothing where there are none."""
    parts = {part for name, _ in module.named_modules() for part in name.split(".")}
    found = sorted(part for part in parts if keyword.iskeyword(part) or set(part) & set("\"\\\n"))
    return f"; rename the modules called {', '.join(found)}" if found else ""


def read_program(program: Any, title: str, names: dict[int, str] | None = None) -> Graph:
    """A graph of an exported program whose operators are decomposed. names: of tensors that the program has as constants without one, by
    where they lie in memory."""
    reader = TorchReader(program, title, names or {})
    reader.examples = [e for e in leaves_of(getattr(program, "example_inputs", None))]
    graph = reader.read()
    graph.program = program
    return graph


def leaves_of(examples: Any) -> list[Any]:
    """The arguments that a program was exported with, in the order of its inputs."""
    torch = need("torch", "torch")
    return list(torch.utils._pytree.tree_leaves(examples)) if examples is not None else []


def in_float32(module: Any, example: Any) -> tuple[Any, Any]:
    """A module and its arguments in the floats that networks here compute in; a copy where they are others."""
    torch = need("torch", "torch")

    def is_other(value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float32

    if any(map(is_other, [*module.parameters(), *module.buffers()])):
        try:
            module = copy.deepcopy(module).float()
        except Exception as error:
            raise ZeropointError(f"this module does not compute in float32, and has no copy that would: {error}; "
                                 "call its .float() first") from error
    return module, torch.utils._pytree.tree_map(lambda e: e.float() if is_other(e) else e, example)


def in_wider_floats(program: Any) -> bool:
    """Has a program with floats of 16 bits compute in float32, as networks here do: its tensors, arguments, and what its nodes are
    told of types. Whether there were any."""
    torch = need("torch", "torch")
    narrow = (torch.float16, torch.bfloat16)

    def wider(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in narrow:
            return torch.nn.Parameter(value.float(), value.requires_grad) if isinstance(value, torch.nn.Parameter) else value.float()
        return torch.float32 if value in narrow else value

    nodes = list(program.graph.nodes)
    leaves = torch.utils._pytree.tree_leaves([node.meta.get("val") for node in nodes])
    if not any(isinstance(leaf, torch.Tensor) and leaf.dtype in narrow for leaf in leaves):
        return False
    for node in nodes:
        node.args, node.kwargs = (torch.fx.node.map_aggregate(given, wider) for given in (node.args, node.kwargs))
        node.meta["val"] = torch.utils._pytree.tree_map(wider, node.meta.get("val"))
        if node.op == "get_attr":
            setattr(program.graph_module, node.target, wider(getattr(program.graph_module, node.target)))
    for tensors in (program.state_dict, program.constants):
        tensors.update({name: wider(tensor) for name, tensor in tensors.items()})
    program.example_inputs = torch.utils._pytree.tree_map(wider, program.example_inputs)
    program.graph_module.recompile()
    return True


def read_module(module: Any, example: Any) -> tuple[Graph, Any]:
    """A graph of a module, exported in inference, and the exported program, which knows the arguments."""
    torch = need("torch", "torch")
    named = dict(example) if isinstance(example, Mapping) else {}
    args = () if named else tuple(example) if isinstance(example, (tuple, list)) else (example,)
    was_training = module.training
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    module.eval()
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            refuse_other_outputs(module, args, named)
            try:
                whole, args, named = exportable(module, args, named)
                program = torch.export.export(whole, args, named, strict=False)
                program = program.run_decompositions({})
            except Exception as error:
                raise ZeropointError(f"torch.export does not export {name_of(module)}: {error}"
                                     + unusual_names(module)) from error
        graph = read_program(program, name_of(module), names_by_memory(module))
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        module.train(was_training)
    graph.source = f"{name_of(module)}, torch {torch.__version__}"
    return graph, program


def read_pt2(path: str | Path) -> tuple[Graph, Any]:
    """A graph of a file of torch.export.save. Raises ZeropointError for pickled modules."""
    torch = need("torch", "torch")
    path = Path(path)
    refuse_pickles(path)
    try:
        with path.open("rb") as file:  # PyTorch warns of names that do not end in .pt2
            program = torch.export.load(str(path) if path.suffix == ".pt2" else file)
    except Exception as error:
        raise ZeropointError(f"{path}: torch {torch.__version__} does not load this program: {error}") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = program.run_decompositions({})
    is_wider = in_wider_floats(program)
    graph = read_program(program, path.stem)
    if is_wider:
        graph.notes.append("Its floats of 16 bits are float32 here, and were in the source that it was compared with.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    graph.source = f"{path.name}, sha256 {digest[:16]}, torch {torch.__version__}"
    return graph, program


def refuse_pickles(path: Path) -> None:
    """A file that loading would run code of, and the two lines that make a clean one."""
    clean = ("it is not opened, as a pickled file may run any code. Make a clean one:\n"
             "    program = torch.export.export(module.eval(), (example,))\n"
             "    torch.export.save(program, \"net.pt2\")")
    if not zipfile.is_zipfile(path):
        raise ZeropointError(f"{path}: this is no file of torch.export.save; {clean}")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if any("/code/" in name for name in names):
            raise ZeropointError(f"{path}: this is TorchScript; it needs an example of its inputs, and runs when it is loaded. Where you trust it:\n"
                                 f"    zeropoint.from_torch(torch.jit.load(\"{path}\"), example, \"out/\")")
        if any(name.endswith("data.pkl") for name in names):
            raise ZeropointError(f"{path}: this is a pickled module or state dict; {clean}")
        for name in names:
            if name.endswith("_config.json") and b'"use_pickle": true' in archive.read(name):
                raise ZeropointError(f"{path}: its weights are pickled; {clean}")


def as_numpy(value: Any) -> np.ndarray:
    """Of a tensor, of 16 bits too that numpy has no type for."""
    value = value.detach().cpu()
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
