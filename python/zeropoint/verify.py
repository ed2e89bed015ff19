# SPDX-License-Identifier: BSD-3-Clause
"""The check: a small program with the headers, and the source framework, over the same inputs."""

from __future__ import annotations

import subprocess
import tempfile
import warnings
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Callable

import numpy as np

from zeropoint.compiler import compiled, without_comments
from zeropoint.emit.structure import Structure, rows_of
from zeropoint.errors import ZeropointError, need
from zeropoint.files import text_of_header
from zeropoint.front.torch_reader import as_numpy
from zeropoint.harness import program_of, stream_program_of
from zeropoint.ir import Graph, Value
from zeropoint.layers import Row
from zeropoint.layout import Layout
from zeropoint.lower.context import Lowered, Port
from zeropoint.mask_values import Conditions, draw, draw_until_seen
from zeropoint.ports import from_memory, to_memory
from zeropoint.states import stateful_runner

PASSES, WARNS = 1e-4, 1e-3
NUDGE, OWN, MOST = 1e-6, 4.0, 1e-2  # a change of the inputs; times what it does to the source, up to a hundredth, passes too
CALLS = 8  # one behind the other, of a network whose states are kept
Arrays = dict[str, np.ndarray]


@dataclass
class Comparison:
    """How far a program and its source are apart, over all inputs and outputs."""

    inputs: int
    difference: float = 0.0  # the largest, as a share of the largest value of its output
    cosine: float = 1.0      # the least
    first: str = ""          # the first value that differs
    own: float = 0.0         # how far the source is from itself where its inputs change by a millionth, of what did not pass within a thousandth
    warnings: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Within a thousandth, or what float32 leaves of the source's own digits; what is beyond a ten-thousandth is warned of."""
        return bool(np.isfinite(self.difference)) and self.difference <= max(WARNS, min(OWN * self.own, MOST))

    def to_json(self) -> dict[str, Any]:
        """For reports."""
        return {"difference": self.difference, "cosine": self.cosine, "passed": self.passed}

    def comment(self) -> str:
        """For the head of a header."""
        verdict = "Checked" if self.difference <= PASSES else "Checked, with a warning," if self.passed else "FAILED its check"
        return (f"{verdict} with {self.inputs} inputs: largest difference {self.difference:.0e} of the largest value, "
                f"cosine {self.cosine:.6f}.")

    def report(self) -> str:
        """For the terminal."""
        is_close = self.difference <= PASSES
        verdict = "passed" if is_close else "passed, with a warning" if self.passed else "FAILED"
        allowed = f"at most {PASSES:.0e}" if is_close or not self.passed else f"{PASSES:.0e} passes without, {WARNS:.0e} with one"
        lines = [f"{verdict}: {self.inputs} inputs, largest difference {self.difference:.2e} of the largest value ({allowed}), "
                 f"cosine {self.cosine:.8f}"]
        if self.own:
            lines.append(f"where its inputs change by a millionth, the source itself changes by {self.own:.1e} of the largest value")
        if self.first:
            lines.append(self.first)
        return "\n".join(lines + [f"warning: {text}" for text in self.warnings])


def dtype_of(value: Value) -> np.dtype | None:
    """Of an input of integers as the source has it; else that of the array at hand."""
    return np.dtype(value.dtype) if value.dtype else None


def part_name(name: str, part: int) -> str:
    """Of an output of a node that has several, all of which have its name in the graph."""
    return f"{name}:{part}" if part else name


class torch_runner:
    """A module of PyTorch."""

    def __init__(self, module: Any, is_exported: bool = False) -> None:
        self.module, self.is_exported = module, is_exported

    def arguments(self, graph: Graph, arrays: Arrays) -> tuple[Any, dict[str, Any]]:
        """Those of a call, nested as they were for the export. Numbers and None among them are part of the program."""
        torch = need("torch", "torch")
        tensors = [torch.from_numpy(np.array(arrays[value.name], dtype_of(value))) for value in graph.given]
        if graph.program.example_inputs is None:
            return (), {value.name: tensor for value, tensor in zip(graph.given, tensors)}
        leaves, tree = torch.utils._pytree.tree_flatten(graph.program.example_inputs)
        rest = iter(tensors)
        return torch.utils._pytree.tree_unflatten(  # type: ignore[no-any-return]
            [next(rest).to(leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], tree)

    def __call__(self, graph: Graph, arrays: Arrays) -> list[np.ndarray]:
        """Its outputs, in order."""
        torch = need("torch", "torch")
        args, named = self.arguments(graph, arrays)
        training = self.module.training and not self.is_exported  # what is exported has no other mode
        try:
            if training:
                self.module.eval()
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self.module(*args, **named)
        finally:
            if training:
                self.module.train()
        leaves = torch.utils._pytree.tree_leaves(result)
        return [as_numpy(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def trace(self, graph: Graph, arrays: Arrays) -> Arrays:
        """All values in between, by the names of the exported program's nodes."""
        torch = need("torch", "torch")
        found: Arrays = {}
        program = graph.program
        state = {**program.state_dict, **program.constants}
        signature = program.graph_signature
        names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
                 **getattr(signature, "inputs_to_lifted_tensor_constants", {})}
        given = iter(torch.utils._pytree.tree_leaves(self.arguments(graph, arrays)))
        args = [state[names[node.name]] if node.name in names else next(given)
                for node in program.graph.nodes if node.op == "placeholder"]

        class Recorder(torch.fx.Interpreter):  # type: ignore[name-defined, misc]
            def run_node(self, n: Any) -> Any:
                result = super().run_node(n)
                if isinstance(result, torch.Tensor):
                    found[n.name] = as_numpy(result)
                elif isinstance(result, (tuple, list)) and n.op == "call_function":
                    found.update((part_name(n.name, number), as_numpy(part)) for number, part in enumerate(result)
                                 if isinstance(part, torch.Tensor))
                return result

        with torch.no_grad():
            Recorder(program.graph_module).run(*args)
        return found


class onnx_runner:
    """An ONNX file in ONNX Runtime, without optimizations. values: inputs that are always these. content: a model that stands for the file's."""

    def __init__(self, path: Path, values: Arrays | None = None, content: bytes | None = None) -> None:
        need("onnxruntime", "verify")
        self.path, self.values, self.content = path, values or {}, content

    def session(self, model: str | bytes) -> Any:
        """Of a file or its bytes. Raises ZeropointError for what ONNX Runtime refuses."""
        runtime = need("onnxruntime", "verify")
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        try:
            return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no base of their own
            raise ZeropointError(f"{self.path}: onnxruntime {runtime.__version__} cannot load it, so that nothing can be compared: "
                                 f"{str(error).splitlines()[0]}. Install a newer onnxruntime, or import with --no-verify") from error

    def __call__(self, graph: Graph, arrays: Arrays) -> list[np.ndarray]:
        """Its outputs, in order."""
        session = self.session(self.content or str(self.path))
        return session.run([value.name for value in graph.outputs], self.typed(session, arrays))

    def typed(self, session: Any, arrays: Arrays) -> Arrays:
        """Inputs of the types that the model declares."""
        kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(bool)": np.bool_,
                 **{f"tensor({kind})": np.dtype(kind) for kind in ("int8", "uint8", "int16", "uint16", "int32", "int64")}}
        extents = {given.name: [n if isinstance(n, int) and n > 0 else 1 for n in given.shape] for given in session.get_inputs()}
        fixed = {name: np.broadcast_to(value, extents[name]) for name, value in self.values.items()}
        return {given.name: (arrays | fixed)[given.name].astype(kinds[given.type]) for given in session.get_inputs()}

    def trace(self, graph: Graph, arrays: Arrays) -> Arrays:
        """All values in between, by their names."""
        onnx = need("onnx", "onnx")
        model = onnx.load(str(self.path)) if self.content is None else onnx.load_model_from_string(self.content)
        known = {out.name for out in model.graph.output}
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for node in model.graph.node for name in node.output
                                  if name and name not in known)
        session = self.session(model.SerializeToString())
        names = [out.name for out in session.get_outputs()]
        return dict(zip(names, session.run(names, self.typed(session, arrays))))


def inputs_for(graph: Graph, count: int, examples: list[np.ndarray] | None) -> list[Arrays]:
    """Examples, then normal and uniform numbers; of integers those below the tables that they go into."""
    random = np.random.default_rng(20261123)
    bounds = {id(value): min(graph.tables(value), default=2) for value in graph.given}
    conditions = Conditions(graph)
    sets: list[Arrays] = []
    if examples is not None and len(examples) == len(graph.given):
        sets.append({value.name: example for value, example in zip(graph.given, examples)})
    while len(sets) < count:
        arrays: Arrays = {}
        for value in graph.given:
            if value.is_number:
                arrays[value.name] = random.integers(0, 128, value.shape, dtype=np.int64)
            elif value.is_integer:
                arrays[value.name] = draw(value, random) if value.is_mask else \
                    random.integers(0, bounds.get(id(value), 2), value.shape, dtype=np.int64)
            elif len(sets) % 2 == 1:
                arrays[value.name] = random.random(value.shape, dtype=np.float32)
            else:
                arrays[value.name] = random.standard_normal(value.shape, dtype=np.float32)
        draw_until_seen(graph, conditions, arrays, random)
        sets.append(arrays)
    return sets


def run_program(program: Path, weights: Path, sets: list[list[np.ndarray]], outputs: list[Port], want_rows: bool) -> \
        tuple[list[list[np.ndarray]], list[np.ndarray]]:
    """The outputs of all sets of inputs, and the values of all rows for the first."""
    with tempfile.TemporaryDirectory(prefix="zeropoint-") as name:
        folder = Path(name)
        with open(folder / "x", "wb") as file:
            for arrays in sets:
                for array in arrays:
                    array.tofile(file)
        command = [str(program), str(weights), str(folder / "x"), str(folder / "y")]
        done = subprocess.run(command + ([str(folder / "rows")] if want_rows else []), capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise ZeropointError(f"the compiled network stopped ({done.returncode}): {done.stderr.strip()}")
        values = np.fromfile(folder / "y", np.float32)
        rows: list[np.ndarray] = []
        raw = (folder / "rows").read_bytes() if want_rows else b""
    at = 0
    while at < len(raw):
        size = int(np.frombuffer(raw, np.int32, 1, at)[0])
        rows.append(np.frombuffer(raw, np.float32, size, at + 4))
        at += 4 + 4 * size
    results: list[list[np.ndarray]] = []
    at = 0
    for _ in sets:
        results.append([])
        for port in outputs:
            size = int(np.prod(port.shape))
            results[-1].append(from_memory(values[at:at + size], port))
            at += size
    return results, rows


UNIT = {"zp::sigmoid", "zp::hard_sigmoid"}  # whose errors are those of numbers up to 1, however small they are
MOVES = {"zp::identity", "zp::reshape", "zp::rearrange", "zp::transpose", "zp::permute", "zp::flatten"}


def scale_of(row: Row) -> float:
    """What a row's values are small beside although none of them is so large: 1 of a sigmoid, which may be 1e-5 all over, else 0."""
    while row.kind == "output" or row.layer is not None and row.layer.template in MOVES:
        row = row.inputs[0]
    return 1.0 if row.layer is not None and row.layer.template in UNIT else 0.0


def compare(results: list[list[np.ndarray]], expected: list[list[np.ndarray]], names: list[str], scales: list[float] | None = None) -> \
        Comparison:
    """Of all outputs, whose largest value is at least that of `scales`."""
    made = Comparison(len(results))
    for number, name in enumerate(names):
        seen = [e[number].astype(np.float64).reshape(-1) for e in expected]
        for y, reference in zip(results, seen):
            mine = y[number].astype(np.float64).reshape(-1)
            largest = max(np.abs(reference).max() if reference.size else 0.0, scales[number] if scales else 0.0)
            difference = np.abs(mine - reference).max() / (largest or 1.0)
            norms = np.linalg.norm(mine) * np.linalg.norm(reference)
            made.cosine = min(made.cosine, float(mine @ reference / norms) if norms else 1.0)
            made.difference = float(np.maximum(made.difference, difference))  # NaN stays
        spread = max(float(np.abs(a - seen[0]).max()) for a in seen)
        if len(seen) > 1 and spread < 1e-3 * max(float(np.abs(a).max()) for a in seen):
            made.warnings.append(f"the output {name} hardly depends on the input, so that this check says little; random "
                                 "weights die out in deep networks")
    return made


def worst_of(results: list[list[np.ndarray]], expected: list[list[np.ndarray]], scales: list[float]) -> int:
    """The inputs whose outputs differ most; NaN is most of all."""
    differences = [compare([y], [e], [""] * len(y), scales).difference for y, e in zip(results, expected)]
    return int(np.argmax(np.nan_to_num(differences, nan=np.inf)))


def check(header: Path, weights: Path, name: str, graph: Graph, lowered: Lowered, structure: Structure, runner: Any,
          say: Callable[[str], None], examples: list[np.ndarray] | None = None, count: int = 3) -> Comparison:
    """Compiles, runs both sides, compares; where they differ, finds the first value that does."""
    say(f"compile {header.name}")
    input_sizes, output_sizes = ([int(np.prod(port.shape)) for port in ports] for ports in (lowered.inputs, lowered.outputs))
    if graph.states:
        runner, count = stateful_runner(runner, graph), CALLS
    is_stream = graph.keeper == "zp::streaming"
    source = stream_program_of(header.name, name, input_sizes[0], output_sizes) if is_stream else \
        program_of(header.name, name, input_sizes, output_sizes, bool(graph.keeper))
    try:
        program = compiled(source, {header.name: without_comments(text_of_header(header))})
    except ZeropointError as error:
        if not is_stream or "does not compile this network" not in str(error):
            raise
        raise ZeropointError("--stateful: zp::streaming does not run this network step by step; it may have windows inside of a frame. Import it "
                             f"with --stateful frames, and run it by zp::stateful.\n{error}") from error
    sets = inputs_for(graph, count, examples)
    say(f"run {count} inputs here")
    ports = [[to_memory(arrays[port.name], port) for port in lowered.inputs] for arrays in sets]
    results, rows = run_program(program, weights, ports, lowered.outputs, not graph.states)
    say("run them in the source framework")
    expected = [runner(graph, arrays) for arrays in sets]
    scales = [scale_of(row) for row in lowered.rows if row.kind == "output"]
    for is_unfit in (is_not_finite, is_chaotic):
        made = compare(results, expected, [port.name for port in lowered.outputs], scales)
        if not examples or graph.states or is_unfit is is_chaotic and made.passed:
            continue
        unfit = [number for number in range(1, count) if is_unfit(runner, graph, sets[number], expected[number], scales)]
        if unfit and not is_unfit(runner, graph, sets[0], expected[0], scales):
            for number in unfit:
                sets[number] = like(sets[0], number)
                expected[number] = runner(graph, sets[number])
                ports[number] = [to_memory(sets[number][port.name], port) for port in lowered.inputs]
            results, rows = run_program(program, weights, ports, lowered.outputs, True)
            made = compare(results, expected, [port.name for port in lowered.outputs], scales)
    if not graph.states and (made.difference > PASSES or not np.isfinite(made.difference)):
        worst = worst_of(results, expected, scales)
        if worst > 0:
            rows = run_program(program, weights, [ports[worst]], lowered.outputs, True)[1]
        made.first = first_difference(graph, structure, rows, runner.trace(graph, sets[worst]))
        if np.isfinite(made.difference) and made.difference > WARNS:
            changed = [runner(graph, nudged(arrays)) for arrays in sets]
            made.own = compare(changed, expected, [""] * len(scales), scales).difference
        if not are_finite(expected[worst]):
            made.warnings.append(f"the source itself gives infinite values or NaN for input {worst} of these, which says nothing"
                                 + ("" if examples else ": import the module itself, whose example tells what its inputs are like"))
        if Conditions(graph).leave_nothing(sets[worst]):
            made.warnings.append("a mask among the inputs that were given leaves a query no key, where sources have zeros, NaN or equal "
                                 "shares: give inputs whose padding is at the end")
    say(made.report())
    return made


def is_not_finite(runner: Any, graph: Graph, arrays: Arrays, outputs: list[np.ndarray], scales: list[float]) -> bool:
    """Whether the source has no numbers for made-up inputs, as behind a logarithm of what is negative."""
    return not are_finite(outputs)


def is_chaotic(runner: Any, graph: Graph, arrays: Arrays, outputs: list[np.ndarray], scales: list[float]) -> bool:
    """Whether made-up inputs bring the source where float32 says nothing, as recurrent layers far from what they were trained with."""
    return compare([runner(graph, nudged(arrays))], [outputs], [""] * len(scales), scales).difference > MOST / OWN


def are_finite(outputs: list[np.ndarray]) -> bool:
    """Whether there is no infinite value and no NaN."""
    return all(bool(np.isfinite(output).all()) for output in outputs)


def like(arrays: Arrays, seed: int) -> Arrays:
    """Inputs near an example: floats by a half to one and a half of themselves, with their signs and zeros."""
    random = np.random.default_rng(seed)
    return {name: array * random.uniform(0.5, 1.5, array.shape).astype(np.float32) if array.dtype.kind == "f" else array
            for name, array in arrays.items()}


def nudged(arrays: Arrays) -> Arrays:
    """Floats changed by a millionth."""
    return {name: array * np.float32(1 + NUDGE) if array.dtype.kind == "f" else array for name, array in arrays.items()}


def first_difference(graph: Graph, structure: Structure, rows: list[np.ndarray], expected: Arrays) -> str:
    """The first row whose values are not those of the source, as a sentence."""
    order: list[Row] = list(structure.inputs) + [row for item in structure.items for row in rows_of(item)]
    ends = list(accumulate(row.count for row in order))
    if ends[-1] != len(rows):
        return f"(the program has {len(rows)} rows, the import {ends[-1]}: values in between are not compared)"
    for row, end in zip(order, ends):
        value: Any = row.value
        values = rows[end - 1]
        reference = expected.get(part_name(value.name, value.part)) if value is not None else None
        if reference is None or reference.size != values.size or row.kind == "output" or value.is_integer:
            continue
        layout = row.layout
        assert isinstance(layout, Layout)
        atoms = reference.reshape([layout.sizes[a] for a in layout.source])
        mine = atoms.transpose([layout.source.index(a) for a in layout.memory]).reshape(-1)
        largest = max(float(np.abs(mine).max()), scale_of(row)) or 1.0
        difference = float(np.abs(mine - values).max()) / largest
        if not difference <= PASSES:
            kind = row.layer.template if row.layer is not None else "input"
            where = f" at {row.origin.source}" if row.origin.source else ""
            shape = "x".join(map(str, row.shape))
            return (f"the first value that differs: {value.name}, {kind} of {shape}, node {row.origin.name}{where}: "
                    f"{difference:.1e} of its largest value")
    return "no value in between differs by more than is allowed: the difference grows slowly through the network"
