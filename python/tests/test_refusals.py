# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: one clear report, exit code 2, nothing written."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
import safetensors.numpy
import torch
from networks import network
from onnx import TensorProto, helper
from torch import nn

import zeropoint
from zeropoint import verify
from zeropoint.cli import main
from zeropoint.errors import Refused
from zeropoint.layers import ratio
from zeropoint.ports import ports_of


class Unusual(nn.Module):
    """Three operators without a layer, one of them twice."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.cumsum(torch.relu(x), 1)
        z = torch.erfinv(torch.tanh(y)) + torch.cumsum(x, 2)
        return torch.special.i0(z)


def test_all_problems_at_once(tmp_path: Path) -> None:
    """With their names and source lines."""
    with pytest.raises(zeropoint.ImportRefused) as refused:
        zeropoint.from_torch(Unusual(), torch.randn(1, 3, 4, 5), tmp_path / "out")
    assert sorted(problem.op for problem in refused.value.problems) == [
        "aten.cumsum.default", "aten.cumsum.default", "aten.erfinv.default", "aten.special_i0.default"]
    assert all("test_refusals.py:" in problem.source for problem in refused.value.problems)
    assert "4 nodes of 3 kinds cannot become layers" in str(refused.value)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def save(path: Path, nodes: list, shape: list, inits: tuple = (), rank: int = 4) -> Path:
    """An ONNX file from x to y."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank)], list(inits))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize("factor, text", [(7.7777e-11, ""), (1.2345678e-16, ""), (-4.5e15, ""), (1e38, "of 1e"), (1e-42, "of 1e"),
                                          (1.7e-18, "")])
def test_factors_of_any_size(factor: float, text: str) -> None:
    """Are as near as float32 is, or refused."""
    if text:
        with pytest.raises(Refused, match=text):
            ratio(factor)
        return
    numbers = [int(n) for n in ratio(factor).text.removeprefix("std::ratio<").removesuffix(">").split(", ")]
    assert np.float32(numbers[0] / (numbers + [1])[1]) == np.float32(factor)
    assert max(map(abs, numbers)) < 2**63


class Shuffled(nn.Module):
    """A node that has no inputs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)[:, torch.randperm(6)]


def test_nodes_without_inputs(tmp_path: Path) -> None:
    """Are named like all others."""
    with pytest.raises(zeropoint.ImportRefused, match="aten.randperm.default"):
        zeropoint.from_torch(Shuffled(), torch.randn(1, 6), tmp_path, verify=False)


def test_command_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the same in JSON."""
    nodes = [helper.make_node("Det", ["x"], ["a"], name="determinant"), helper.make_node("Relu", ["a"], ["y"])]
    path = save(tmp_path / "net.onnx", nodes, [1, 3, 4, 4], rank=2)
    code = main(["import", str(path), "-o", str(tmp_path / "out"), "--report", str(tmp_path / "r.json")])
    assert code == 2
    assert "determinant" in capsys.readouterr().err
    problems = json.loads((tmp_path / "r.json").read_text())["problems"]
    assert [(p["op"], p["node"], p["reason"]) for p in problems] == [("Det", "determinant", "op")]


def test_dynamic_extents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Are asked for, and taken."""
    path = save(tmp_path / "net.onnx", [helper.make_node("Relu", ["x"], ["y"])], ["batch", 3, "h", "w"])
    assert main(["import", str(path), "-o", str(tmp_path), "--no-verify"]) == 2
    assert "--input" in capsys.readouterr().err
    assert main(["import", str(path), "-o", str(tmp_path), "--no-verify", "--input", "1x3x8x9"]) == 0
    assert "zp::input<8, 9, 3>" in (tmp_path / "net.hpp").read_text()


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    """Are named."""
    module, example = network("resnet18")
    with torch.no_grad():
        module.layer1[0].conv1.weight[0, 0, 0, 0] = float("nan")
    with pytest.raises(zeropoint.ImportRefused, match="layer1.0.conv1.weight is not finite"):
        zeropoint.from_torch(module, example, tmp_path)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    """A file that would run code says so instead."""
    class Trap:
        def __reduce__(self) -> tuple:
            return (Path(tmp_path / "opened").touch, ())

    torch.save(Trap(), tmp_path / "net.pt2")
    with pytest.raises(zeropoint.ZeropointError, match="pickled"):
        zeropoint.from_onnx(tmp_path / "net.pt2", tmp_path)
    (tmp_path / "text.pt2").write_text("hello")
    with pytest.raises(zeropoint.ZeropointError, match="no file of torch.export.save"):
        zeropoint.from_onnx(tmp_path / "text.pt2", tmp_path)
    assert not (tmp_path / "opened").exists()


def test_models_of_any_name(tmp_path: Path) -> None:
    """Are what their first bytes say; suffixes may be of capitals."""
    onnx_file = save(tmp_path / "net.onnx", [helper.make_node("Relu", ["x"], ["y"])], [1, 3, 8, 9]).read_bytes()
    tflite = (Path(__file__).parent / "models" / "tiny_float.tflite").read_bytes()
    program = torch.export.export(nn.Linear(3, 2), (torch.randn(1, 3),), strict=False)
    torch.export.save(program, tmp_path / "net.pt2")
    for name, content in (("a.bin", onnx_file), ("b", tflite), ("c.bin", (tmp_path / "net.pt2").read_bytes()), ("d.ONNX", onnx_file)):
        (tmp_path / name).write_bytes(content)
        assert main(["import", str(tmp_path / name), "-o", str(tmp_path / "out"), "--no-verify"]) == 0
    assert main(["import", str(tmp_path / "a.bin"), "-o", str(tmp_path), "--input", "1x3x8x9", "--no-verify"]) == 0
    with pytest.raises(zeropoint.ZeropointError, match="--input is for ONNX; this file has extents of its own"):
        zeropoint.from_onnx(tmp_path / "b", tmp_path, input_shapes={"": (1, 3)})


def archive(name: str) -> bytes:
    """A zip file of one member."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(name, "{}")
    return made.getvalue()


@pytest.mark.parametrize(("content", "found"), [
    (safetensors.numpy.save({"w": np.ones(3, np.float32)}), "safetensors, which are weights without a network; import the module"),
    (b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5, as Keras writes it; convert it"), (b"GGUF" + bytes(40), "GGUF; import the module"),
    (archive("word/document.xml"), "a zip archive that is not PyTorch's; unpack it"), (b"#pragma once\n", "none of them; export the model"),
    (bytes(64), "none of them"), (b"", "an empty file"), (archive("net/data.pkl"), "pickled"), (b"\x80\x02}q\x00.", "pickled")])
def test_files_that_are_no_model(content: bytes, found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Are told as what they are, by import and by verify."""
    zeropoint.from_torch(nn.ReLU(), torch.randn(1, 3), tmp_path, name="net", verify=False)
    path = tmp_path / "given.bin"
    path.write_bytes(content)
    for command in (["import", str(path), "-o", str(tmp_path / "out")], ["verify", str(tmp_path / "net.hpp"), str(path)]):
        assert main(command) == 2
        assert found in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_folders_are_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A SavedModel among them."""
    assert main(["import", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert "found a folder" in capsys.readouterr().err
    (tmp_path / "saved_model.pb").touch()
    assert main(["import", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert "found a SavedModel of TensorFlow; convert it" in capsys.readouterr().err


def test_outputs_have_names_of_their_own(tmp_path: Path) -> None:
    """Also where an output is an input, or goes out twice: no two ports share a name."""

    class Same(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = torch.relu(x)
            return x, y, y

    zeropoint.from_torch(Same(), torch.randn(1, 7), tmp_path, verify=False)
    ports = ports_of(tmp_path / "same.hpp")
    assert [port.name for port in ports[1] + ports[2]] == ["x", "x_0", "relu", "relu_2"]


def hostile(name: str, path: Path) -> Path:
    """A linear layer whose tensors begin with that name."""
    node = helper.make_node("Gemm", ["x", f"{name}.weight", f"{name}.bias"], ["y"], transB=1)
    weights = [helper.make_tensor(f"{name}.weight", TensorProto.FLOAT, [2, 3], np.ones(6, np.float32)),
               helper.make_tensor(f"{name}.bias", TensorProto.FLOAT, [2], np.ones(2, np.float32))]
    ports = [[helper.make_tensor_value_info(port, TensorProto.FLOAT, [1, size])] for port, size in (("x", 3), ("y", 2))]
    onnx.save(helper.make_model(helper.make_graph([node], "g", *ports, weights), opset_imports=[helper.make_opsetid("", 20)]), path)
    return path


def test_names_are_no_code(tmp_path: Path) -> None:
    """What a stranger calls a layer stays within its quotes, or is refused."""
    with pytest.raises(zeropoint.ZeropointError, match="cannot be printed"):
        zeropoint.from_onnx(hostile("a\nint code = system(0);//", tmp_path / "lines.onnx"), tmp_path / "lines", verify=False)
    zeropoint.from_onnx(hostile('a">, evil<"', tmp_path / "quotes.onnx"), tmp_path / "quotes", verify=False)
    assert r'zp::linear<"a\">, evil<\"", 2>' in (tmp_path / "quotes" / "quotes.hpp").read_text()


def test_batches_are_refused(tmp_path: Path) -> None:
    """A call takes one input."""
    with pytest.raises(zeropoint.ImportRefused, match="batch must be 1"):
        zeropoint.from_torch(nn.Conv2d(3, 4, 1), torch.randn(2, 3, 4, 5), tmp_path)


def test_failed_check_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And names the first value that differs."""
    module, example = network("keywords")
    run = verify.run_program

    def wrong(*args: object) -> tuple:
        results, rows = run(*args)  # type: ignore[arg-type]
        rows[3] = rows[3] + 1
        return [[y * 1.01 + 0.1 for y in ys] for ys in results], rows

    monkeypatch.setattr(verify, "run_program", wrong)
    with pytest.raises(zeropoint.CheckFailed, match="the first value that differs: .*batch_norm1d"):
        zeropoint.from_torch(module, example, tmp_path)
    assert not list(tmp_path.iterdir())
    made = zeropoint.from_torch(module, example, tmp_path, force=True)
    assert "FAILED its check" in made.header.read_text()


def test_interruption_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while it compiles."""
    def interrupted(*args: object, **kwargs: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "compiled", interrupted)
    path = save(tmp_path / "net.onnx", [helper.make_node("Relu", ["x"], ["y"])], [1, 3, 4, 5])
    out = tmp_path / "out"
    assert main(["import", str(path), "-o", str(out)]) == 130
    assert not list(out.iterdir())


def test_verify_command_notices_changed_weights(tmp_path: Path) -> None:
    """The files beside the model again, as they are and with one number changed."""
    from safetensors.numpy import load_file, save_file

    weight = helper.make_tensor("w", TensorProto.FLOAT, [2, 3, 1, 1], np.arange(6, dtype=np.float32))
    path = save(tmp_path / "net.onnx", [helper.make_node("Conv", ["x", "w"], ["y"], name="c")], [1, 3, 4, 5], (weight,))
    assert main(["import", str(path), "-o", str(tmp_path)]) == 0
    assert main(["verify", str(tmp_path / "net.hpp"), str(path)]) == 0
    tensors = load_file(tmp_path / "net.safetensors")
    next(iter(tensors.values()))[0] += 1
    save_file(tensors, tmp_path / "net.safetensors", metadata={"format": "pt"})
    assert main(["verify", str(tmp_path / "net.hpp"), str(path)]) == 1


def test_strings_are_refused(tmp_path: Path) -> None:
    """ONNX has operators on text; a constant of it once ended the import with a ValueError."""
    words = onnx.numpy_helper.from_array(np.array(["one", "two"], dtype=object), "words")
    graph = helper.make_graph([helper.make_node("Equal", ["x", "words"], ["y"])], "text",
                              [helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.BOOL, [2])], [words])
    onnx.save(helper.make_model(graph), tmp_path / "text.onnx")
    with pytest.raises(zeropoint.ImportRefused, match=r"an input of string; layers compute with real numbers"):
        zeropoint.from_onnx(tmp_path / "text.onnx", tmp_path)
    assert not list(tmp_path.glob("*.hpp"))


def test_circular_paddings_wider_than_values_are_refused(tmp_path: Path) -> None:
    """ONNX repeats the values as often as it takes."""
    pads = onnx.numpy_helper.from_array(np.array([0, 0, 0, 0, 0, 0, 0, 5]), "pads")
    path = save(tmp_path / "pad.onnx", [helper.make_node("Pad", ["x", "pads"], ["y"], mode="wrap")], [1, 3, 4, 4], (pads,))
    model = onnx.load(path)
    model.opset_import[0].version = 19
    onnx.save(model, path)
    with pytest.raises(zeropoint.ImportRefused, match="a circular padding of more than there is to repeat"):
        zeropoint.from_onnx(path, tmp_path / "out")


SMALL = nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).eval()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an imported network, its int8 file, and files of every kind that somebody takes for another."""
    folder = tmp_path_factory.mktemp("small")
    zeropoint.from_torch(SMALL, torch.randn(1, 3, 2, 2), folder, name="small", verify=False)
    images = np.random.default_rng(0).normal(size=(40, 3, 2, 2)).astype(np.float32)
    np.save(folder / "images.npy", images)
    images[3, 1, 0, 1] = np.nan  # the fourth input is compared, not calibrated with
    np.save(folder / "nan.npy", images)
    large = images.astype(np.float64)
    large[3, 1, 0, 1] = 1e300
    np.save(folder / "large.npy", large)
    np.savez(folder / "several.npz", a=images)
    np.save(folder / "complex.npy", images * 1j)
    np.save(folder / "text.npy", np.full((40, 3, 2, 2), "a"))
    (folder / "empty.npy").write_bytes(b"")
    (folder / "bytes.npy").write_bytes(bytes(range(256)))
    (folder / "bytes.hpp").write_bytes(bytes(range(256)))
    (folder / "folder.onnx").mkdir()
    (folder / "a_file").write_text("x")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, None, None])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "open.onnx")
    assert main(["quantize", str(folder / "small.hpp"), "--calibration", str(folder / "images.npy")]) == 0
    return folder


@pytest.mark.parametrize("command, sentence", [
    ("import open.onnx --input 1x3x4x4 --no-verify -o a_file", "a_file/open.safetensors cannot be written: a_file: File exists"),
    ("import open.onnx --input 1x3x4x4 --no-verify -o a_file/in", "a_file/in/open.safetensors cannot be written: a_file/in: Not a directory"),
    ("import open.onnx --input 1x3x4x4 --no-verify --report none/r.json", "none/r.json: No such file or directory"),
    ("import open.onnx --input 1x3x4x4 --no-verify --report ./open.onnx", "--report open.onnx: that is a file that is read"),
    ("report small.hpp --calibration images.npy -o small.hpp", "-o small.hpp: that is a file that is read"),
    ("report small.hpp --calibration images.npy --text --json small.hpp", "--json small.hpp: that is a file that is read"),
    ("quantize small.hpp --calibration images.npy -o images.npy", "-o images.npy: that is a file that is read"),
    ("quantize small.hpp --calibration x=images.npy -o ./images.npy", "-o images.npy: that is a file that is read"),
    ("quantize small.hpp --calibration images.npy -o small.safetensors", "-o small.safetensors: that is a file that is read"),
    ("pack small.hpp -o small.int8.safetensors", "-o small.int8.safetensors: that is a file that is read"),
    ("embed images.npy -o ./images.npy", "-o images.npy: that is a file that is read"),
    ("import open.onnx --input other=1x3x4x4", "--input other=1x3x4x4: this model has no such input; it has x"),
    ("import open.onnx --input 1x3x4", "--input 1x3x4: expected 4 extents, found 3"),
    ("import open.onnx --input 1x4x4x4", "--input 1x4x4x4: x has extents of its own, 1x3x?x?; make the model with those that you want"),
    ("import open.onnx --input x=2x3x4x4", "--input 2x3x4x4: x has extents of its own, 1x3x?x?"),
    ("import open.onnx --input 1x3x0x4", "--input 1x3x0x4: expected extents of at least 1"),
    ("import images.npy --input 1x3x4x4", "found an array of numpy; name the model first"),
    ("import folder.onnx", "folder.onnx: Is a directory"),
    ("verify none.hpp open.onnx", "none.hpp: there is no such file"),
    ("verify bytes.hpp open.onnx", "bytes.hpp: expected a header of C++, found bytes that are no text"),
    ("quantize small.hpp --calibration none.npy", "none.npy: No such file or directory"),
    ("quantize small.hpp --calibration folder.onnx", "folder.onnx: Is a directory; join its arrays in one file: np.save("),
    ("quantize small.hpp --calibration empty.npy", "empty.npy: expected an array of numbers as numpy.save writes it"),
    ("quantize small.hpp --calibration bytes.npy", "bytes.npy: expected an array of numbers as numpy.save writes it"),
    ("quantize small.hpp --calibration several.npz", "several.npz: this network has no input a; it has input"),
    ("quantize small.hpp --calibration complex.npy", "complex.npy: expected real numbers, found complex64"),
    ("quantize small.hpp --calibration text.npy", "text.npy: expected real numbers, found <U1"),
    ("quantize small.hpp --calibration nan.npy", "input 3: expected finite values, but value 5 is nan"),
    ("quantize small.hpp --calibration large.npy", "input 3: expected values that float32 holds, but value 5 is 1e+300"),
    ("quantize small.hpp --calibration images.npy -o folder.onnx", "folder.onnx: expected the name of a file to write, found a folder"),
    ("quantize small.hpp --calibration images.npy --qconfig tflight_qconfig", "int4_weight_only_qconfig; did you mean tflite_qconfig?"),
    ("quantize bytes.hpp --calibration images.npy", "bytes.hpp: expected a header of C++"),
    ("report small.hpp --calibration none.npy", "none.npy: No such file or directory"),
    ("export small.hpp small.int8.safetensors --onnx qdq -o x.onnx --net other", "small.hpp: it has no network other"),
    ("export small.hpp small.int8.safetensors --onnx qdq -o x.onnx --qconfig other", "other: a qconfig is the name of one"),
    ("export small.hpp small.int8.safetensors --onnx qdq -o a_file/x.onnx", "a_file/x.onnx cannot be written: a_file: File exists"),
    ("pack folder.onnx", "folder.onnx: Is a directory"),
    ("pack small.hpp --qconfig other", "other: a qconfig is the name of one"),
    ("pack small.hpp --architecture zp::portble", "zp::portble: expected the tag of an architecture that the compiler is asked for"),
    ("pack small.hpp --architecture xsimd::vsx", "xsimd::vsx: expected the tag of an architecture"),
    ("pack small.hpp --architecture x;", "x;: expected the tag of an architecture"),
    ("pack small.hpp -o a_file/x.image", "a_file/x.image cannot be written: a_file: File exists"),
    ("pack small.hpp --int8 images.npy", "images.npy"),
    ("embed images.npy -o a_file/x.hpp", "a_file/x.hpp cannot be written: a_file: File exists"),
])
def test_one_sentence(small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str,
                      sentence: str) -> None:
    """No traceback, whatever a file is or is not, exit code 2, and nothing that is left behind."""
    monkeypatch.chdir(small)
    before = {path for path in small.rglob("*") if path.name not in ("open.hpp", "open.safetensors")}
    assert main(command.split()) == 2
    message = capsys.readouterr().err
    assert sentence in message
    assert message.count("\n") == 1
    assert {path for path in small.rglob("*") if path.name not in ("open.hpp", "open.safetensors")} == before


@pytest.mark.parametrize("command", [
    "quantize small.hpp --calibration images.npy -o a_file/x", "report small.hpp --calibration images.npy -o a_file/x.html",
    "report small.hpp --calibration images.npy --text --json a_file/x.json", "pack small.hpp -o a_file/x",
    "export small.hpp small.int8.safetensors --onnx integer -o a_file/x", "encodings small.hpp small.int8.safetensors -o a_file/x"])
def test_targets_are_looked_at_first(small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                     command: str) -> None:
    """What cannot be written is refused before anything is compiled for it."""
    monkeypatch.chdir(small)
    monkeypatch.setattr("zeropoint.compiler.run", lambda *_: pytest.fail("compiled"))
    monkeypatch.setenv("ZEROPOINT_CACHE", str(small / "none"))
    assert main(command.split()) == 2
    assert "cannot be written: a_file: File exists" in capsys.readouterr().err


@pytest.mark.parametrize("title, name", [("class", "net_class"), ("And", "net_and"), ("zp", "net_zp"), ("3d", "net_3d")])
def test_names_are_no_keywords(tmp_path: Path, title: str, name: str) -> None:
    """Nor namespaces that the header speaks of."""
    made = zeropoint.from_torch(SMALL, torch.randn(1, 3, 2, 2), tmp_path, name=title, verify=False)
    assert made.header.name == f"{name}.hpp"
    assert f"struct {name} " in made.header.read_text().replace("\n", " ")
