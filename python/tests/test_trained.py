# SPDX-License-Identifier: BSD-3-Clause
"""What trained networks of wheels have and networks made for tests have not: indices that are computed, branches that a value chooses, windows
padded on one side, bounds that are computed, constants without their zeros."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from test_exporters import FLOAT, INT, info, tensor, weights, written

import zeropoint.verify as verify
from zeropoint.errors import ImportRefused
from zeropoint.front.windows import alike_on_both_sides, extents_of
from zeropoint.importer import import_file


def test_branches_by_a_value(tmp_path: Path) -> None:
    """Of a detector that asks a second network where the first is sure. What both branches give is chosen between."""
    sure = helper.make_graph([helper.make_node("Gemm", ["x", "w"], ["inner"]), helper.make_node("Tanh", ["inner"], ["z"])], "sure", [],
                             [info("z", None)], [weights("w", 6, 3)])
    unsure = helper.make_graph([helper.make_node("Neg", ["first"], ["inner"]), helper.make_node("Identity", ["inner"], ["z"])], "unsure", [],
                               [info("z", None)])
    nodes = [helper.make_node("Gemm", ["x", "v"], ["first"]), helper.make_node("ReduceMax", ["first"], ["best"], keepdims=1),
             helper.make_node("Greater", ["best", "half"], ["is_sure"]),
             helper.make_node("If", ["is_sure"], ["z"], name="second", then_branch=sure, else_branch=unsure), helper.make_node("Relu", ["z"], ["y"])]
    constants = [weights("v", 6, 3), tensor("half", 1.5)]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 6])], [info("y", [1, 3])], constants)
    made = import_file(path, tmp_path)
    assert made.result.difference <= 1e-5 and "zp::where<" in made.header.read_text()

    unlike = helper.make_graph([helper.make_node("ReduceMax", ["first"], ["z"], keepdims=1)], "unsure", [], [info("z", None)])
    nodes[3] = helper.make_node("If", ["is_sure"], ["z"], name="second", then_branch=sure, else_branch=unlike)
    path = written(tmp_path / "unlike.onnx", nodes, [info("x", [1, 6])], [info("y", ["a", "b"])], constants)
    with pytest.raises(ImportRefused, match="the branches of an If whose condition is computed give unlike extents"):
        import_file(path, tmp_path)


def test_bounds_that_are_computed(tmp_path: Path) -> None:
    """Of spectra in decibels: at most 80 below the largest."""
    nodes = [helper.make_node("ReduceMax", ["x"], ["largest"], keepdims=0), helper.make_node("Sub", ["largest", "range"], ["low"]),
             helper.make_node("Clip", ["x", "low", "high"], ["a"]), helper.make_node("Clip", ["a", "", "low"], ["b"]),
             helper.make_node("Sub", ["a", "b"], ["y"])]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 5, 7])], [info("y", [1, 5, 7])], [tensor("range", 1), tensor("high", np.finfo(np.float32).max)])
    assert import_file(path, tmp_path).result.difference <= 1e-5


PADS = [((3, 3), (2, 2), (0, 0, 1, 1)), ((2, 2), (1, 1), (0, 0, 1, 1)), ((3, 2), (2, 1), (0, 1, 1, 0)), ((3, 3), (1, 1), (1, 0, 1, 1))]


def test_windows_padded_on_one_side(tmp_path: Path) -> None:
    """As TensorFlow's SAME has them, of maxima and means, with strides and without."""
    nodes, outputs = [], []
    for number, (kernel, stride, pads) in enumerate(PADS):
        for op in ("MaxPool", "AveragePool"):
            if op == "AveragePool" and number == 2:
                continue
            outputs.append(info(f"{op}{number}", list("ncyx")))
            nodes.append(helper.make_node(op, ["x"], [outputs[-1].name], kernel_shape=kernel, strides=stride, pads=pads))
    nodes.append(helper.make_node("MaxPool", ["x"], ["same"], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"))
    made = import_file(written(tmp_path / "net.onnx", nodes, [info("x", [1, 3, 8, 10])], [*outputs, info("same", list("ncyx"))], []), tmp_path)
    assert made.result.difference <= 1e-5
    lonely = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[4, 4], strides=[2, 2], pads=[1, 1, 2, 2])
    with pytest.raises(ImportRefused, match="padded differently and not counted"):
        import_file(written(tmp_path / "b.onnx", [lonely], [info("x", [1, 3, 9, 9])], [info("y", list("ncyx"))], []), tmp_path)


def test_pads_alike_give_all_windows() -> None:
    """Beside the places of every window, over all small cases."""
    found = 0
    for extent in range(4, 9):
        for kernel in (2, 3, 4):
            for stride in (1, 2, 3):
                for begin in range(kernel // 2 + 1):
                    for end in range(kernel // 2 + 1):
                        count = (extent + begin + end - kernel) // stride + 1
                        attrs = dict(kernel=[kernel], stride=[stride], dilation=[1], kind="max")
                        made = alike_on_both_sides([extent], [count], ([begin], [end]), attrs)
                        if made is None:
                            continue
                        found += 1
                        (pad,), ceil, (first,) = made
                        assert first + count <= extents_of(extent, pad, kernel, stride, 1, ceil)
                        assert (first * stride - pad) == -begin and 2 * pad <= kernel
    assert found > 150


def test_indices_by_a_function(tmp_path: Path) -> None:
    """As Keras writes them: floats that are cast, where those below zero count from the end; and rows that begin at the second."""
    nodes = [helper.make_node("Cast", ["letters"], ["i"], to=TensorProto.INT32), helper.make_node("Add", ["i", "rows"], ["behind"]),
             helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Less", ["f", "zero"], ["is_below"]),
             helper.make_node("Where", ["is_below", "behind", "i"], ["index"]), helper.make_node("Gather", ["t", "index"], ["a"], axis=0),
             helper.make_node("Add", ["kinds", "one"], ["kind"]), helper.make_node("Gather", ["u", "kind"], ["b"], axis=0),
             helper.make_node("Add", ["a", "b"], ["y"])]
    constants = [weights("t", 9, 4), weights("u", 6, 4), tensor("rows", 9, np.int32), tensor("zero", 0), tensor("one", 1, np.int64)]
    path = written(tmp_path / "net.onnx", nodes, [info("letters", [1, 7]), info("kinds", [1, 7], INT)], [info("y", [1, 7, 4])], constants)
    made = import_file(path, tmp_path)
    text = made.header.read_text()
    assert made.result.difference <= 1e-6 and '", 9, 4>' in text and '<"u", 5, 4>' in text
    assert 'The input "letters" is of integers; the source has them as floats.' in text

    nodes.append(helper.make_node("Mul", ["letters", "half"], ["z"]))
    path = written(tmp_path / "both.onnx", nodes, [info("letters", [1, 7]), info("kinds", [1, 7], INT)], [info("y", [1, 7, 4]), info("z", [1, 7])],
                   [*constants, tensor("half", 0.5)])
    with pytest.raises(ImportRefused, match="a cast of computed values to integers"):
        import_file(path, tmp_path)


def test_parts_of_indices(tmp_path: Path) -> None:
    """Letters and syllables in one tensor, and the last of a sequence, each in a table of its own."""
    nodes = [helper.make_node("Gather", ["ids", "zero"], ["first"], axis=1), helper.make_node("Gather", ["ids", "one"], ["second"], axis=1),
             helper.make_node("Slice", ["second", "minus", "end", "one_axis"], ["last"]),
             helper.make_node("Gather", ["t", "first"], ["a"], axis=0), helper.make_node("Gather", ["u", "second"], ["b"], axis=0),
             helper.make_node("Gather", ["v", "last"], ["c"], axis=0), helper.make_node("Concat", ["a", "b", "c"], ["y"], axis=1)]
    constants = [weights("t", 9, 4), weights("u", 30, 4), weights("v", 30, 4), tensor("zero", 0, np.int64), tensor("one", 1, np.int64),
                 tensor("minus", [-1], np.int64), tensor("end", [99], np.int64), tensor("one_axis", [1], np.int64)]
    made = import_file(written(tmp_path / "net.onnx", nodes, [info("ids", [1, 2, 5], INT)], [info("y", [1, 11, 4])], constants), tmp_path)
    text = made.header.read_text()
    assert made.result.difference <= 1e-6 and ".first = 5, .count = 5" in text and ".first = 9, .count = 1" in text and "int below" in text


def test_inputs_that_come_out_again(tmp_path: Path) -> None:
    """A mask, as 0 and 1; indices are refused with a sentence (both were errors of the compiler)."""
    nodes = [helper.make_node("Gather", ["t", "ids"], ["a"], axis=0), helper.make_node("Not", ["mask"], ["off"]),
             helper.make_node("Cast", ["off"], ["f"], to=FLOAT), helper.make_node("Unsqueeze", ["f", "last"], ["g"]),
             helper.make_node("Mul", ["a", "g"], ["y"]), helper.make_node("Identity", ["mask"], ["mask_out"]),
             helper.make_node("Identity", ["ids"], ["ids_out"])]
    inputs = [info("ids", [1, 5], INT), info("mask", [1, 5], TensorProto.BOOL)]
    outputs = [info("y", [1, 5, 4]), info("mask_out", [1, 5], TensorProto.BOOL), info("ids_out", [1, 5], INT)]
    constants = [weights("t", 9, 4), tensor("last", [2], np.int64)]
    made = import_file(written(tmp_path / "net.onnx", nodes[:-1], inputs, outputs[:2], constants), tmp_path)
    assert made.result.difference <= 1e-6
    with pytest.raises(ImportRefused, match="the integers of the input ids go into something else than an embedding"):
        import_file(written(tmp_path / "ids.onnx", nodes, inputs, outputs, constants), tmp_path)


def test_a_source_that_is_far_from_itself(tmp_path: Path) -> None:
    """Where a millionth more at the input changes the source by as much, the check passes, and says so; where it does not, it fails."""
    nodes = [helper.make_node("Gemm", ["x", "w"], ["a"]), helper.make_node("Gemm", ["x", "close"], ["b"]), helper.make_node("Sub", ["a", "b"], ["y"])]
    w = np.random.default_rng(1).standard_normal((64, 5)).astype(np.float32)
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 64])], [info("y", [1, 5])],
                   [tensor("w", w), tensor("close", w * np.float32(1 + 2 ** -13))])
    result = import_file(path, tmp_path).result
    assert result.passed and result.difference > verify.WARNS
    made = verify.Comparison(3, difference=3e-3)
    assert not made.passed
    made.own = 1e-3
    assert made.passed and "with a warning" in made.comment() and "the source itself changes by 1.0e-03" in made.report()
    made.difference = 2e-2
    assert not made.passed
