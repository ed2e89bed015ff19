# SPDX-License-Identifier: BSD-3-Clause
"""An ONNX file as it is given: with extents that it leaves open, or others than it has, and cut."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from zeropoint.errors import ZeropointError, need
from zeropoint.files import sentence_of
from zeropoint.front.onnx_cut import cut
from zeropoint.given import Given


def inputs_of(model: Any) -> list[Any]:
    """Without what has a value in the file."""
    known = {tensor.name for tensor in model.graph.initializer}
    return [given for given in model.graph.input if given.name not in known]


def check_shapes(inputs: list[Any], shapes: dict[str, tuple[int, ...]]) -> None:
    """Raises ZeropointError where extents are given that no input can have."""
    ranks = {given.name: len(given.type.tensor_type.shape.dim) for given in inputs}
    for name, extents in shapes.items():
        text = "x".join(map(str, extents))
        if min(extents) < 1:
            raise ZeropointError(f"--input {text}: expected extents of at least 1")
        if name and name not in ranks:
            raise ZeropointError(f"--input {name}={text}: this model has no such input; it has {', '.join(ranks)}")
        if len(extents) not in ([ranks[name]] if name else ranks.values()):
            raise ZeropointError(f"--input {text}: expected {' or '.join(sorted({str(ranks[n]) for n in ([name] if name else ranks)}))} "
                                 f"extents, found {len(extents)}")
        fixed = [given for given in inputs if given.name == name or not name and ranks[given.name] == len(extents)]
        if not any(fits(given, extents) for given in fixed):
            own = text_of(fixed[0].type.tensor_type.shape.dim)
            raise ZeropointError(f"--input {text}: {fixed[0].name} has extents of its own, {own}; make the model with those that you want")


def fits(given: Any, extents: tuple[int, ...]) -> bool:
    """Whether an input can have these extents."""
    dims = given.type.tensor_type.shape.dim
    return len(dims) == len(extents) and all(dim.dim_value <= 0 or dim.dim_value == wanted for dim, wanted in zip(dims, extents))


def text_of(dims: Any) -> str:
    """Extents as --input has them; some exporters write -1 where there is none."""
    return "x".join(str(dim.dim_value) if dim.dim_value > 0 else "?" for dim in dims)


def change_extents(model: Any, shapes: dict[str, tuple[int, ...]]) -> list[str]:
    """Gives inputs of which a file fixes all extents those that are wanted, in place, as exporters often write the extents of an example.
    Notes for the head comment. Raises ZeropointError where the nodes behind were made for the others."""
    onnx = need("onnx", "onnx")
    inputs = inputs_of(model)
    changed = []
    for name, extents in shapes.items():
        found = [given for given in inputs if (given.name == name or not name) and len(given.type.tensor_type.shape.dim) == len(extents)]
        if len(found) == 1 and min(extents) > 0 and "?" not in text_of(found[0].type.tensor_type.shape.dim) and not fits(found[0], extents):
            changed.append((found[0], extents))
    if not changed:
        return []
    was_sound = contradiction(onnx, model) is None
    notes = []
    for given, extents in changed:
        dims = given.type.tensor_type.shape.dim
        notes.append(f"The input \"{given.name}\" is of {text_of(dims)} in the file.")
        for dim, wanted in zip(dims, extents):
            dim.dim_value = wanted
    del model.graph.value_info[:]  # of the extents before
    for out in model.graph.output:
        for dim in out.type.tensor_type.shape.dim:
            dim.Clear()
    problem = contradiction(onnx, model) if was_sound else None
    if problem is not None:
        given, extents = changed[0]
        raise ZeropointError(f"--input {'x'.join(map(str, extents))}: {given.name} has extents of its own, for which nodes behind it were made "
                             f"({problem}); make the model with those that you want")
    return notes


def contradiction(onnx: Any, model: Any) -> str | None:
    """The first node whose extents do not fit, as ONNX's inference of shapes finds them."""
    try:
        onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except Exception as error:
        found = re.search(r"op_type:(\w+), node name: ([^)]*)\)", str(error))
        return " ".join(found.groups()).strip() if found else " ".join(str(error).split())
    return None


def loaded(path: Path) -> Any:
    """The model of a file. Raises ZeropointError where it is none."""
    try:
        return need("onnx", "onnx").load(str(path))
    except OSError as error:
        raise ZeropointError(sentence_of(error, path)) from None
    except ZeropointError:
        raise
    except Exception as error:
        raise ZeropointError(f"{path}: this is no ONNX file: {error}") from error


def opened(path: Path, given: Given, model: Any = None) -> tuple[Any, list[str], bytes | None]:
    """The model of a file, or one that stands for it, as it is given: cut, and with other extents. With notes for the head comment, and the bytes
    of a file for runtimes; none where nothing is changed."""
    model = cut(loaded(path) if model is None else model, given)
    notes = [*filter(None, [given.note()]), *change_extents(model, given.shapes)]
    return model, notes, model.SerializeToString() if notes else None
