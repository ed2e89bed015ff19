# SPDX-License-Identifier: BSD-3-Clause
"""The import itself: a graph in, a header and a safetensors file out, checked before they are put in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import numpy as np

from zeropoint import __version__
from zeropoint.cells import write_cells_out
from zeropoint.compiler import LIMITS
from zeropoint.emit.header import identifier, write_header
from zeropoint.emit.structure import Structure
from zeropoint.errors import FOLLOWS, CheckFailed, ImportRefused, Problem, ZeropointError
from zeropoint.front.kinds import kind_of
from zeropoint.given import Given
from zeropoint.ir import Graph
from zeropoint.lower import Lowered, lower
from zeropoint.passes import simplify
from zeropoint.quantized_source import QuantizedSource
from zeropoint.replacing import replacing, write_tensors
from zeropoint.states import FRAMES, Stateful, keep_states, notes_of, of_sequences

# What the head comment says of patterns that became one layer.
PATTERNS = {"attention": "attention", "masked": "masked softmax", "rms_norm": "RMS norm", "layer_norm": "layer norm", "gelu": "GELU",
            "gelu_tanh": "GELU (tanh)", "gates": "gated activation", "hard_gate": "hard sigmoid", "hard_swish": "hard swish",
            "magnitude": "magnitude", "softmax": "softmax"}


MANY_ROWS = 800  # of which a plan may be more work at compile time than compilers do by default: 729 compiled, 818 did not


@dataclass
class Imported:
    """What an import made."""

    header: Path
    weights: Path
    name: str
    layers: int
    result: Any = None  # zeropoint.verify.Comparison
    notes: list[str] = field(default_factory=list)


def import_torch(module: Any, example: Any, out: str | Path = ".", *, name: str = "", verify: bool = True,
                 force: bool = False, stateful: Stateful = 0, progress: Callable[[str], None] | None = None) -> Imported:
    """A module of PyTorch, by torch.export.

    example: its arguments, a tensor, a tuple, or by their names a dict, with a batch of 1. A module of other floats than float32 is
    imported as its copy in float32. stateful: where it takes the states of its recurrent layers and gives them back, how many calls a
    sequence of the network has, which has no such ports: zp::streaming keeps states. Or "frames", where a call sees a frame through
    windows: zp::stateful keeps them then. Raises ImportRefused with every node that has no layer, CheckFailed where the program differs
    from the module.
    """
    from zeropoint.front.torch_reader import in_float32, read_module
    from zeropoint.verify import torch_runner

    module, example = in_float32(module, example)
    graph, _ = read_module(module, example)
    return finish(graph, torch_runner(module), out, name, verify, force, progress, examples_of(graph), stateful)


def examples_of(graph: Graph) -> list[np.ndarray] | None:
    """The arguments that a program of PyTorch was exported with; None where it does not have them all."""
    found = [graph.examples.get(value.name) for value in graph.given]
    return None if any(example is None for example in found) else found  # type: ignore[return-value]


def import_file(path: str | Path, out: str | Path = ".", *, name: str = "", verify: bool = True, force: bool = False,
                input_shapes: dict[str, tuple[int, ...]] | None = None, input_values: dict[str, np.ndarray] | None = None,
                begin: Sequence[str] = (), end: Sequence[str] = (), stateful: Stateful = 0, dequantize: bool = False,
                progress: Callable[[str], None] | None = None) -> Imported:
    """An ONNX file, a .tflite, or a .pt2 of torch.export.save; without such a suffix its first bytes say which. input_shapes: extents
    of inputs of ONNX that have none, or others than they have. input_values: inputs of ONNX that are always these, such as a rate that chooses a
    branch; the network has no such input. begin, end: names of values of ONNX or TensorFlow Lite between which the network is cut out, as inputs in
    place of what they are computed of, and as outputs in place of those of the file. dequantize: a model of ONNX or TensorFlow Lite that others have quantized comes in as a float network, of the
    real numbers that its weights' codes mean; nothing else is rounded. stateful, and what it raises, as in import_torch."""
    path = Path(path)
    if not path.exists():
        raise ZeropointError(f"{path}: there is no such file")
    kind = kind_of(path)
    given = Given(input_shapes or {}, input_values or {}, tuple(begin), tuple(end))
    if input_shapes and kind != "onnx":
        raise ZeropointError(f"{path}: --input is for ONNX; this file has extents of its own, so make it with those that you want")
    if input_values and (kind != "onnx" or is_coded(path) and not dequantize):
        raise ZeropointError(f"{path}: --value is for ONNX of floats")
    if given.note() and (kind == "pt2" or kind == "onnx" and is_coded(path) and not dequantize):
        raise ZeropointError(f"{path}: --from and --to are for ONNX of floats and TensorFlow Lite")
    try:
        return import_kind(path, kind, out, name, verify, force, given, stateful, dequantize, progress)
    except ImportRefused as refused:
        raise ImportRefused(refused.problems, hint_for(path, kind, refused, dequantize)) from None


def hint_for(path: Path, kind: str, refused: ImportRefused, dequantize: bool) -> str:
    """What may help."""
    if not dequantize and kind == "onnx" and has_codes(path):
        return "this model was quantized by others; --dequantize imports it as a float network, of the real numbers of its weights"
    if kind != "pt2" and any(problem.reason in ("op", "computed_operand") for problem in refused.problems):
        return "a part of a model is imported with --from VALUE and --to VALUE, by the names of its values"
    return ""


def import_kind(path: Path, kind: str, out: str | Path, name: str, verify: bool, force: bool, given: Given, stateful: Stateful,
                dequantize: bool, progress: Callable[[str], None] | None) -> Imported:
    """import_file of a file of this kind."""
    if dequantize:
        graph, runner = read_dequantized(path, kind, given, verify)
        return finish(graph, runner, out, name, verify, force, progress, stateful=stateful)
    if kind == "tflite" or kind == "onnx" and is_coded(path):
        if stateful:
            raise ZeropointError(f"{path}: --stateful is for ONNX of floats and .pt2")
        graph, source = read_coded(path, kind, given)
        if graph.is_coded:
            from zeropoint.coded.importer import finish_coded

            return finish_coded(graph, source, out, name, verify, force, progress)
        if kind == "onnx":
            source = runner_of_weights(path, graph)
        return finish(graph, source, out, name, verify, force, progress)
    if kind == "onnx":
        from zeropoint.front.onnx_reader import read_given
        from zeropoint.verify import onnx_runner

        graph, content = read_given(path, given)
        runner = onnx_runner(path, given.values, content) if verify else None
        return finish(graph, runner, out, name, verify, force, progress, stateful=stateful)
    from zeropoint.front.torch_reader import read_pt2
    from zeropoint.verify import torch_runner

    graph, program = read_pt2(path)
    return finish(graph, torch_runner(program.module(), True), out, name, verify, force, progress, examples_of(graph), stateful)


def is_coded(path: Path) -> bool:
    """Whether an ONNX file has pairs of QuantizeLinear and DequantizeLinear."""
    from zeropoint.errors import need
    from zeropoint.front.qdq import is_qdq

    try:
        return is_qdq(need("onnx", "onnx").load(str(path), load_external_data=False))
    except ZeropointError:
        raise
    except Exception:  # read_onnx says what is wrong with it
        return False


def runner_of_weights(path: Path, graph: Graph) -> Any:
    """Of an ONNX file whose weights alone are codes, which is one of floats. Raises ImportRefused where inputs are rounded too."""
    from zeropoint.verify import onnx_runner

    coded = [value for value in graph.given if value.coding is not None]
    if coded:
        raise ImportRefused([Problem("input", value.name, "value", "it is rounded to codes, and no value that is computed is") for value in coded])
    return onnx_runner(path)


def has_codes(path: Path) -> bool:
    """Whether an ONNX file has an operator of codes."""
    from zeropoint.front.onnx_dequantized import is_quantized
    from zeropoint.front.onnx_extents import loaded

    return is_quantized(loaded(path))


def read_dequantized(path: Path, kind: str, given: Given, verify: bool) -> tuple[Graph, Any]:
    """A model that others have quantized as a float graph, and its runtime."""
    if kind == "tflite":
        from zeropoint.front.litert import LitertSource
        from zeropoint.front.tflite_reader import read_tflite

        graph, reader = read_tflite(path, given, dequantize=True)
        return graph, QuantizedSource(LitertSource(reader, graph), LitertSource(reader, graph, reader.before))
    if kind != "onnx":
        raise ZeropointError(f"{path}: --dequantize is for ONNX and TensorFlow Lite")
    from zeropoint.errors import need
    from zeropoint.front.onnx_dequantized import dequantized
    from zeropoint.front.onnx_extents import opened
    from zeropoint.front.onnx_reader import read_given
    from zeropoint.verify import onnx_runner

    if not has_codes(path):
        raise ZeropointError(f"{path}: --dequantize is for models with codes, and this one has none; import it without")
    original, notes, before = opened(path, given)
    model = dequantized(need("onnx", "onnx"), original)
    content = model.SerializeToString()
    graph, _ = read_given(path, Given(given.shapes, given.values), instead=model)
    graph.notes[:0] = notes
    return graph, QuantizedSource(onnx_runner(path, given.values, content), onnx_runner(path, given.values, before)) if verify else None


def read_coded(path: Path, kind: str, given: Given) -> tuple[Graph, Any]:
    """A TensorFlow Lite file, of integers or floats, or an ONNX file of integers, with its runtime."""
    if kind == "onnx":
        from zeropoint.front.qdq import read_qdq

        return read_qdq(path, given.shapes)
    from zeropoint.front.litert import LitertSource
    from zeropoint.front.tflite_reader import read_tflite

    graph, reader = read_tflite(path, given)
    return graph, LitertSource(reader, graph)


def finish(graph: Graph, runner: Any, out: str | Path, name: str, verify: bool, force: bool,
           progress: Callable[[str], None] | None, examples: list[np.ndarray] | None = None, stateful: Stateful = 0) -> Imported:
    """Lowers, writes beside the target, checks, and renames."""
    say = progress or (lambda text: None)
    name = identifier(name or graph.title)
    say(f"read {graph.source}: {len(graph.nodes)} nodes")
    if stateful:
        keep_states(graph, "zp::stateful" if stateful == FRAMES else "zp::streaming")
    lowered = lowered_of(graph)
    written = of_sequences(lowered, stateful) if isinstance(stateful, int) and stateful else lowered
    structure = Structure(lowered)
    header_path, weights_path = Path(out) / f"{name}.hpp", Path(out) / f"{name}.safetensors"
    with replacing(weights_path, header_path) as folder:
        weights = folder / f"{name}.safetensors"
        save_tensors(weights, lowered.tensors)
        header = folder / f"{name}.hpp"
        notes = [*graph.notes, *(notes_of(graph, stateful) if stateful else ())]
        if len(lowered.rows) > MANY_ROWS:
            notes.append(f"{len(lowered.rows)} rows: compile with {' '.join(LIMITS['gcc'])} by GCC, {' '.join(LIMITS['clang'])} by Clang.")
        header.write_text(write_header(written, structure, name, graph.source, __version__, notes).text)
        result = None
        if verify:
            from zeropoint.verify import check

            assert runner is not None
            result = check(header, weights, name, graph, lowered, structure, runner, say, examples)
            notes.append(result.comment())
            if isinstance(runner, QuantizedSource):
                notes.append(runner.comment())
                say(runner.comment())
            if not result.passed and not force:
                raise CheckFailed(("" if progress else result.report() + "\n") + "Nothing was written; --force writes it all the same.")
        else:
            notes.append("Not checked beside its source.")
        header.write_text(write_header(written, structure, name, graph.source, __version__, notes).text)
    say(f"wrote {header_path} and {weights_path}")
    return Imported(header_path, weights_path, name, len(lowered.rows), result, notes)


def lowered_of(graph: Graph, batches: bool = False) -> Lowered:
    """The rows of a graph, after what simplifies it. batches: zeropoint.lower.lower says what."""
    write_cells_out(graph)
    simplify(graph)
    counts = [f"{graph.fired[name]} {text}" for name, text in PATTERNS.items() if graph.fired.get(name)]
    if counts:
        graph.notes.append(f"Patterns: {', '.join(counts)}.")
    graph.fired = {}
    if not graph.outputs or not graph.inputs:
        refused = [Problem(node.op, node.origin.name, *node.why, node.origin.source) for node in graph.nodes if node.why not in (None, FOLLOWS)]
        if refused:  # which may read inputs that nothing else does, as the bodies of loops
            raise ImportRefused(refused)
        raise ZeropointError("this model has no " + ("outputs" if not graph.outputs else "inputs that its outputs need"))
    return lower(graph, batches)


def save_tensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """The file that zp::load reads."""
    write_tensors(path, tensors, {"format": "pt"})


def verify_file(header: str | Path, model: str | Path, input_shapes: dict[str, tuple[int, ...]] | None = None,
                progress: Callable[[str], None] | None = None, input_values: dict[str, np.ndarray] | None = None,
                dequantize: bool = False, begin: Sequence[str] = (), end: Sequence[str] = ()) -> Any:
    """Checks a header and the weights beside it, whoever has changed them, against a model, which is given what it was imported with. Gives
    a Comparison."""
    from zeropoint.ports import keeper_of, ports_of
    from zeropoint.verify import check, onnx_runner, torch_runner

    header, model = Path(header), Path(model)
    name, inputs, outputs = ports_of(header)
    if not model.exists():
        raise ZeropointError(f"{model}: there is no such file")
    kind = kind_of(model)
    given = Given(input_shapes or {}, input_values or {}, tuple(begin), tuple(end))
    if dequantize:
        graph, runner = read_dequantized(model, kind, given, True)
    elif kind == "tflite" or kind == "onnx" and is_coded(model):
        graph, source = read_coded(model, kind, given)
        if graph.is_coded:
            from zeropoint.coded.importer import verify_coded

            return verify_coded(graph, source, header, name, progress)
        runner = runner_of_weights(model, graph) if kind == "onnx" else source
    elif kind == "onnx":
        from zeropoint.front.onnx_reader import read_given

        graph, content = read_given(model, given)
        runner = onnx_runner(model, given.values, content)
    else:
        from zeropoint.front.torch_reader import read_pt2

        graph, program = read_pt2(model)
        runner = torch_runner(program.module(), True)  # type: ignore[assignment]
    keeper = keeper_of(header)
    if keeper:
        keep_states(graph, keeper)
    if keeper == "zp::streaming":
        lowered = lowered_of(graph)  # a call of the source is a part of a sequence
    else:
        lowered = lowered_of(graph)
        lowered.inputs, lowered.outputs = inputs, outputs
    return check(header, header.with_suffix(".safetensors"), name, graph, lowered, Structure(lowered), runner,
                 progress or (lambda text: None))
