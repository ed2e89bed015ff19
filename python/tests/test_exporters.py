# SPDX-License-Identifier: BSD-3-Clause
"""What trained models of ONNX have that exporters wrote, and networks made for tests have not: branches by an input, extents that are
not those of the model, infinities, indices compared with all numbers, names that a program has too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from zeropoint.cli import main
from zeropoint.errors import ImportRefused, ZeropointError
from zeropoint.front.onnx_reader import OnnxReader
from zeropoint.importer import import_file, verify_file
from zeropoint.ports import ports_of

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
random = np.random.default_rng(5)


def tensor(name: str, value: object, dtype: type = np.float32) -> onnx.TensorProto:
    """A constant."""
    return numpy_helper.from_array(np.asarray(value, dtype), name)


def weights(name: str, *extents: int) -> onnx.TensorProto:
    """Random ones."""
    return tensor(name, random.standard_normal(extents))


def written(path: Path, nodes: list, inputs: list, outputs: list, constants: list, checked: bool = True) -> Path:
    """A model as a file."""
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if checked:
        onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path


def info(name: str, extents: list, kind: int = FLOAT) -> onnx.ValueInfoProto:
    """An input or output."""
    return helper.make_tensor_value_info(name, kind, extents)


def rates(path: Path) -> Path:
    """Of a voice detector: one of two networks by the rate, within which another branch depends on an extent. Names within are the same."""
    def network(width: int) -> onnx.GraphProto:
        longer = helper.make_graph([helper.make_node("Relu", ["inner"], ["chosen"])], "longer", [], [info("chosen", None)])
        shorter = helper.make_graph([helper.make_node("Neg", ["inner"], ["chosen"])], "shorter", [], [info("chosen", None)])
        nodes = [helper.make_node("MatMul", ["x", "w"], ["inner"]), helper.make_node("Shape", ["inner"], ["extents"]),
                 helper.make_node("Gather", ["extents", "one"], ["columns"]),
                 helper.make_node("Greater", ["columns", "four"], ["is_long"]),
                 helper.make_node("If", ["is_long"], ["y"], then_branch=longer, else_branch=shorter)]
        return helper.make_graph(nodes, f"by_{width}", [], [info("y", None)], [weights("w", 6, width), tensor("four", 4, np.int64)])

    nodes = [helper.make_node("Equal", ["rate", "high"], ["is_high"]),
             helper.make_node("If", ["is_high"], ["all"], name="branch", then_branch=network(7), else_branch=network(3))]
    return written(path, nodes, [info("x", [1, 6]), info("rate", [], INT)], [info("all", [1, None])],
                   [tensor("high", 16000, np.int64), tensor("one", 1, np.int64)])


def test_branches_by_an_input(tmp_path: Path) -> None:
    """The one that is taken, and the one within; the input is none of the network's, and a later check is told the same."""
    path = rates(tmp_path / "vad.onnx")
    for rate, width in ((16000, 7), (8000, 3)):
        made = import_file(path, tmp_path / str(rate), input_values={"rate": np.array(rate)})
        assert made.result.difference <= 1e-5
        _, inputs, outputs = ports_of(made.header)
        assert [port.name for port in inputs] == ["x"] and outputs[0].shape == (1, 1, width)
    assert verify_file(made.header, path, input_values={"rate": np.array(8000)}).passed
    assert main(["import", str(path), "-o", str(tmp_path / "cli"), "--value", "rate=8000", "--no-verify"]) == 0


@pytest.mark.parametrize("arguments, text", [
    ([], "--value rate=NUMBER"), (["--value", "speed=1"], "this model has no such input; it has x, rate"),
    (["--value", "rate=0.5"], "0.5 is no number of int64"), (["--value", "x=1,2"], "--value x: expected 1x6, found 2")])
def test_values_that_are_none(arguments: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence each."""
    assert main(["import", str(rates(tmp_path / "vad.onnx")), "-o", str(tmp_path / "out"), *arguments]) == 2
    assert text in capsys.readouterr().err


def test_one_problem_is_told_once(tmp_path: Path) -> None:
    """What stands behind a node without a layer is no problem of its own, and stops nothing: its extents are not known."""
    nodes = [helper.make_node("NonZero", ["x"], ["places"]), helper.make_node("Shape", ["places"], ["extents"]),
             helper.make_node("Gather", ["extents", "one"], ["count"]), helper.make_node("Gather", ["places", "one"], ["first"]),
             helper.make_node("Cast", ["first"], ["y"], to=FLOAT)]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 4])], [info("y", [None])], [tensor("one", 1, np.int64)])
    with pytest.raises(ImportRefused) as refused:
        import_file(path, tmp_path, verify=False)
    assert [problem.op for problem in refused.value.problems] == ["NonZero"]


def test_extents_that_exporters_write(tmp_path: Path) -> None:
    """-1 where an input has no extent, and an output of another rank than it is said to have; a name that programs have too."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3]),
             helper.make_node("HardSigmoid", ["a"], ["gate"], alpha=0.2, beta=0.5), helper.make_node("Max", ["gate", "low"], ["b"]),
             helper.make_node("Mul", ["a", "b"], ["y"])]
    path = written(tmp_path / "model.onnx", nodes, [info("x", [-1, 3, -1, -1])], [info("y", [1, None])],
                   [weights("w", 4, 3, 3, 3), tensor("low", -np.inf)])
    with pytest.raises(ImportRefused, match=r"1 node of 1 kind .*\n.*: axes 2 \(\?\) and 3 \(\?\) have no extent; give them with --input 1x3x\?x\?"):
        import_file(path, tmp_path)
    made = import_file(path, tmp_path, input_shapes={"": (1, 3, 8, 9)})
    assert made.result.difference <= 1e-5 and "struct model" in made.header.read_text()


def test_extents_of_an_example(tmp_path: Path) -> None:
    """A file that fixes those of the example it was made with, a batch too, is imported with others where its nodes allow them."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["y"])]
    inside = [info("a", [10, 4, 8, 8])]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [10, 3, 8, 8])], [info("y", [10, 4, 8, 8])], [weights("w", 4, 3, 3, 3)])
    model = onnx.load(str(path))
    model.graph.value_info.extend(inside)
    onnx.save(model, str(path))
    with pytest.raises(ImportRefused, match="10x3x8x8: the batch must be 1.*or of ONNX with --input 1x3x8x8"):
        import_file(path, tmp_path)
    made = import_file(path, tmp_path, input_shapes={"": (1, 3, 12, 10)})
    assert made.result.difference <= 1e-5 and 'The input "x" is of 10x3x8x8 in the file.' in made.header.read_text()
    assert verify_file(made.header, path, {"x": (1, 3, 12, 10)}).passed
    with pytest.raises(ImportRefused, match="a convolution of 3 channels over a value of 5"):
        import_file(path, tmp_path, input_shapes={"": (1, 5, 8, 8)})

    nodes.append(helper.make_node("Add", ["y", "all"], ["z"], name="behind"))
    path = written(tmp_path / "fixed.onnx", nodes, [info("x", [10, 3, 8, 8])], [info("z", [10, 4, 8, 8])], [weights("w", 4, 3, 3, 3), weights("all", 4, 8, 8)])
    with pytest.raises(ZeropointError, match=r"--input 1x3x9x9: x has extents of its own, for which nodes behind it were made \(Add behind\); make"):
        import_file(path, tmp_path, input_shapes={"": (1, 3, 9, 9)})


def test_weights_of_shared_modules(tmp_path: Path) -> None:
    """Exporters copy them by Identity: here all are one array, and the model whose shapes are inferred again and again has none of them."""
    nodes = [helper.make_node("Identity", ["w"], [f"w{i}"]) for i in range(8)]
    nodes += [helper.make_node("MatMul", [f"x{i}" if i else "x", f"w{i}"], [f"x{i + 1}"]) for i in range(8)]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 100])], [info("x8", [1, 100])], [weights("w", 100, 100)])
    reader = OnnxReader(onnx.load(str(path)), "net", {})
    assert all(np.shares_memory(reader.values[f"w{i}"].data, reader.values["w"].data) for i in range(8)) and reader.model.ByteSize() < 4000


def test_loops(tmp_path: Path) -> None:
    """Are told as such, also where only their bodies read the input; what stands behind is no problem of its own."""
    body = helper.make_graph([helper.make_node("Add", ["state", "x"], ["next"]), helper.make_node("Identity", ["going"], ["on"])], "body",
                             [info("i", [], INT), info("going", [], TensorProto.BOOL), info("state", [1, 4])],
                             [info("on", [], TensorProto.BOOL), info("next", [1, 4])])
    nodes = [helper.make_node("Loop", ["count", "", "zeros"], ["last"], body=body), helper.make_node("Tanh", ["last"], ["y"])]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 4])], [info("y", [1, 4])], [tensor("count", 5, np.int64), tensor("zeros", np.zeros((1, 4)))])
    with pytest.raises(ImportRefused, match=r"(?s)1 node of 1 kind.*Loop x1 \(op\): a loop, and layers are run once; export recurrent layers as such"):
        import_file(path, tmp_path)


def test_parts_without_elements(tmp_path: Path) -> None:
    """Of a concat, as padding by nothing."""
    nodes = [helper.make_node("ConstantOfShape", ["extents"], ["none"]), helper.make_node("Gemm", ["x", "w"], ["a"]),
             helper.make_node("Concat", ["a", "none"], ["b"], axis=1), helper.make_node("Concat", ["none", "b", "a"], ["y"], axis=1)]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 5])], [info("y", [1, 6])], [weights("w", 5, 3), tensor("extents", [1, 0], np.int64)])
    assert import_file(path, tmp_path).result.difference <= 1e-6


def test_small_shares_of_a_sigmoid(tmp_path: Path) -> None:
    """1e-6 where all shares are small: float32 has no more of them next to 1."""
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["a"]), helper.make_node("Sigmoid", ["a"], ["s"]),
             helper.make_node("Reshape", ["s", "shape"], ["y"])]
    path = written(tmp_path / "net.onnx", nodes, [info("x", [1, 5])], [info("y", [1, 2, 2])],
                   [weights("w", 5, 4), tensor("b", [-17, -18, -19, -20]), tensor("shape", [1, 2, 2], np.int64)])
    assert import_file(path, tmp_path).result.difference <= 1e-6


@pytest.mark.parametrize("is_operator", [False, True])
def test_indices_compared_with_all_numbers(is_operator: bool, tmp_path: Path) -> None:
    """A table, not products with zeros and ones."""
    if is_operator:
        nodes = [helper.make_node("OneHot", ["bytes", "count", "no_yes"], ["is_it"], axis=-1)]
    else:
        nodes = [helper.make_node("Unsqueeze", ["bytes", "last"], ["column"]), helper.make_node("Equal", ["column", "all"], ["same"]),
                 helper.make_node("Cast", ["same"], ["is_it"], to=FLOAT)]
    nodes += [helper.make_node("MatMul", ["is_it", "w"], ["a"]), helper.make_node("Tanh", ["a"], ["y"])]
    constants = [weights("w", 11, 6), tensor("count", 11, np.int64), tensor("no_yes", [0, 1]), tensor("last", [2], np.int64),
                 tensor("all", np.arange(11), np.int64)]
    made = import_file(written(tmp_path / "net.onnx", nodes, [info("bytes", [1, 9], INT)], [info("y", [1, 9, 6])], constants), tmp_path)
    text = made.header.read_text()
    assert made.result.difference <= 1e-5 and '<"w", 11, 6>' in text and "beyond 10 are refused" in text


def test_states_that_are_taken_apart(tmp_path: Path) -> None:
    """By a cell that is written out: the first axis of its states is no batch."""
    nodes = [helper.make_node("Split", ["state"], ["h", "c"], axis=0),
             *[helper.make_node("Reshape", [name, "row"], [f"{name}1"]) for name in ("h", "c")],
             helper.make_node("Gemm", ["x", "wx"], ["a"]), helper.make_node("Gemm", ["h1", "wh"], ["b"]),
             helper.make_node("Add", ["a", "b"], ["z"]), helper.make_node("Split", ["z"], ["i", "g"], axis=1),
             helper.make_node("Sigmoid", ["i"], ["kept"]), helper.make_node("Mul", ["kept", "c1"], ["k"]),
             helper.make_node("Tanh", ["g"], ["t"]), helper.make_node("Add", ["k", "t"], ["c2"]),
             helper.make_node("Tanh", ["c2"], ["h2"]),
             *[helper.make_node("Reshape", [name, "state_row"], [f"{name}_out"]) for name in ("h2", "c2")],
             helper.make_node("Concat", ["h2_out", "c2_out"], ["next"], axis=0)]
    constants = [weights("wx", 3, 8), weights("wh", 4, 8), tensor("row", [1, 4], np.int64), tensor("state_row", [1, 1, 4], np.int64)]
    path = written(tmp_path / "cell.onnx", nodes, [info("x", [1, 3]), info("state", [2, 1, 4])],
                   [info("h2", [1, 4]), info("next", [2, 1, 4])], constants)
    assert import_file(path, tmp_path).result.difference <= 1e-5


def test_values_of_other_files(tmp_path: Path) -> None:
    """--value is for branches of ONNX."""
    with pytest.raises(ZeropointError, match="--value is for ONNX of floats"):
        import_file(Path(__file__).parent / "models/tiny_float.tflite", tmp_path, input_values={"x": np.array(1)})
