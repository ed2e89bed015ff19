# SPDX-License-Identifier: BSD-3-Clause
"""Commands that take data, over networks of several inputs: what BERT takes, and two images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import zeropoint
from zeropoint.cli import main
from zeropoint.data import checked_one
from zeropoint.lower.context import Port
from zeropoint.quantize import quantize

WORDS, LENGTH, COUNT = 50, 7, 24


class Bert(nn.Module):
    """Words, their segments, and a mask of padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.segments = nn.Embedding(WORDS, 16), nn.Embedding(2, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, input_ids: torch.Tensor, token_type_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        x = self.layer(self.words(input_ids) + self.segments(token_type_ids), src_key_padding_mask=attention_mask == 0)
        return self.head(x[:, 0])


class Pair(nn.Module):
    """Two images of unlike extents."""

    def __init__(self) -> None:
        super().__init__()
        self.near, self.far = nn.Conv2d(3, 4, 3), nn.Conv2d(1, 4, 3)

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.near(left)).mean((2, 3)) - torch.relu(self.far(right)).mean((2, 3))


def texts() -> dict[str, np.ndarray]:
    """Of a data set: padded texts of two segments."""
    random = np.random.default_rng(5)
    ends = random.integers(2, LENGTH + 1, (COUNT, 1))
    return {"input_ids": random.integers(0, WORDS, (COUNT, LENGTH)), "token_type_ids": random.integers(0, 2, (COUNT, LENGTH)),
            "attention_mask": (np.arange(LENGTH) < ends).astype(np.int64)}


@pytest.fixture(scope="module", name="bert")
def imported_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bert.hpp and texts.npz, and an .npy for each input."""
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    data = texts()
    zeropoint.from_torch(Bert().eval(), {name: torch.from_numpy(array[:1]) for name, array in data.items()}, folder, name="bert", verify=False)
    np.savez(folder / "texts.npz", **data)
    for name, array in data.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def test_quantize(bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures are those of the network as an object of Python that is calibrated with the same."""
    monkeypatch.chdir(bert)
    assert main(["quantize", "bert.hpp", "--calibration", "texts.npz"]) == 0
    text = capsys.readouterr().out
    assert "calibrate with 18 inputs" in text and "int8 beside float, 6 inputs: SNR" in text
    data = [texts()[port.name] for port in zeropoint.build("bert.hpp").inputs]
    net = zeropoint.build("bert.hpp")
    kept = np.arange(COUNT) % 4 != 3
    for one in zip(*(array[kept] for array in data)):
        net.calibrate(*one)
    net.convert()
    net.save("own.safetensors")
    assert Path("own.safetensors").read_bytes() == Path("bert.int8.safetensors").read_bytes()
    apart = [array[~kept] for array in data]
    real = net(*apart)
    snr = 10 * np.log10(np.square(real).sum() / np.square(net.run_int8(*apart) - real).sum())
    assert f"SNR {snr:.1f} dB" in text and snr > 20


def test_one_way_is_as_the_other(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files by name in any order, arrays with an axis of the batch, and a dict in Python give the same file."""
    monkeypatch.chdir(bert)
    by_name = [part for name in ("attention_mask", "input_ids", "token_type_ids") for part in ("--calibration", f"{name}={name}.npy")]
    assert main(["quantize", "bert.hpp", *by_name, "-o", "by_name.safetensors"]) == 0
    data: dict[str, str | np.ndarray] = {**texts()}
    data.update(input_ids="input_ids.npy", token_type_ids=texts()["token_type_ids"][:, None].astype(np.uint8))
    made = quantize("bert.hpp", data, out="by_dict.safetensors")
    assert made.compared == 6
    assert Path("by_name.safetensors").read_bytes() == Path("by_dict.safetensors").read_bytes()


def test_report(bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The same samples are left out, and others may be named."""
    monkeypatch.chdir(bert)
    assert main("report bert.hpp --calibration texts.npz --json data.json -o page.html --sweep 2".split()) == 0
    assert "int8 beside float over 6 inputs" in capsys.readouterr().out
    whole = json.loads(Path("data.json").read_text())["whole"]["rows"][-1]["sqnr"]
    assert whole == pytest.approx(quantize("bert.hpp", "texts.npz", out="again.safetensors").snr, abs=0.01)
    assert main("report bert.hpp --calibration texts.npz --images texts.npz --text --sweep 0".split()) == 0
    assert f"int8 beside float over {COUNT} inputs" in capsys.readouterr().out


def test_two_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Less than 16 are all used for both; a file may have = in its name; what takes the int8 file takes it."""
    monkeypatch.chdir(tmp_path)
    zeropoint.from_torch(Pair().eval(), (torch.randn(1, 3, 8, 8), torch.randn(1, 1, 6, 9)), tmp_path, name="pair", verify=False)
    random = np.random.default_rng(1)
    np.save(tmp_path / "left.npy", random.normal(size=(9, 3, 8, 8)))
    np.save(tmp_path / "a=b.npy", random.normal(size=(9, 1, 6, 9)))
    made = quantize("pair.hpp", ["left=left.npy", "right=a=b.npy"])
    assert made.snr > 20 and made.compared == 9
    assert main("export pair.hpp pair.int8.safetensors --onnx integer -o integer.onnx".split()) == 0
    assert "compared with ONNX Runtime" in capsys.readouterr().out
    assert main("encodings pair.hpp pair.int8.safetensors -o encodings.onnx".split()) == 0
    assert main("pack pair.hpp".split()) == 0


def changed(name: str, array: np.ndarray | None) -> dict[str, np.ndarray]:
    """All texts, with another array for an input, or none."""
    data = {**texts()}
    if array is None:
        del data[name]
    else:
        data[name] = array
    return data


def with_value(name: str, at: tuple[int, int], value: int) -> dict[str, np.ndarray]:
    """All texts, with one number that is another."""
    array = texts()[name].copy()
    array[at] = value
    return changed(name, array)


IDS = texts()["input_ids"]
WRONG = {
    "missing": (changed("attention_mask", None), "there is no array for the input attention_mask: this network has input_ids, "),
    "unknown": (changed("labels", IDS), "this network has no input labels; it has input_ids, token_type_ids, attention_mask"),
    "fewer": (changed("token_type_ids", IDS[:20] * 0), "expected as many samples of each input, found 24 of input_ids, 20 of token_type_ids, 24"),
    "extents": (changed("input_ids", IDS[:, :6]), "\"input_ids\" takes N x 7, but an array of 24 x 6 came"),
    "stacked": (changed("input_ids", np.stack([IDS, IDS])), "\"input_ids\" takes N x 7, but an array of 2 x 24 x 7 came"),
    "none": (changed("input_ids", IDS[:0]), "\"input_ids\" takes N x 7, but an array of 0 x 7 came"),
    "floats": (changed("input_ids", IDS.astype(np.float32)), "\"input_ids\" takes integers, but an array of float32 came"),
    "text": (changed("input_ids", IDS.astype(str)), ".npz, input_ids: expected real numbers, found <U21"),
    "beyond": (with_value("input_ids", (3, 2), WORDS), "\"input_ids\", input 3: expected integers from 0 to 49, found 50"),
    "negative": (with_value("token_type_ids", (4, 2), -1), "\"token_type_ids\", input 4: expected integers from 0 to 1, found -1"),
    "wrapping": (with_value("input_ids", (0, 2), 2**32), "input 0: expected integers from 0 to 49, found 4294967296"),
    "mask": (with_value("attention_mask", (5, 2), -1), "\"attention_mask\", input 5: expected integers from 0 to 1, found -1"),
}


@pytest.mark.parametrize("command", ["quantize", "report"])
@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_one_sentence(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str], kind: str, command: str) -> None:
    """With exit code 2, before anything is compiled."""
    monkeypatch.setattr("zeropoint.compiler.run", lambda *_: pytest.fail("compiled"))
    monkeypatch.setenv("ZEROPOINT_CACHE", str(tmp_path / "none"))
    data, sentence = WRONG[kind]
    np.savez(tmp_path / "wrong.npz", **data)
    assert main([command, str(bert / "bert.hpp"), "--calibration", str(tmp_path / "wrong.npz"), "-o", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.npz"]


@pytest.mark.parametrize("given, sentence", [
    ("input_ids.npy", "input_ids.npy: one array for a network of 3 inputs (input_ids, token_type_ids, attention_mask): give an .npz"),
    ("texts.npz input_ids=input_ids.npy", "input_ids=input_ids.npy: the input input_ids is given twice"),
    ("input_ids=input_ids.npy ids=input_ids.npy", "ids=input_ids.npy: this network has no input ids; it has input_ids"),
    ("input_ids=texts.npz", "texts.npz: expected one array, as numpy.save writes it"), ("input_ids=none.npy", "none.npy: No such file"),
    ("cut.npz", "cut.npz: expected an array of numbers as numpy.save writes it, or several of numpy.savez")])
def test_files_that_do_not_fit(bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str,
                               sentence: str) -> None:
    """One sentence too."""
    monkeypatch.chdir(bert)
    Path("cut.npz").write_bytes(Path("texts.npz").read_bytes()[:-100])
    assert main(["quantize", "bert.hpp", *(part for one in given.split() for part in ("--calibration", one))]) == 2
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1


def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    """Also of those that are compared alone, and of any input."""
    made = zeropoint.from_torch(Pair().eval(), (torch.randn(1, 3, 8, 8), torch.randn(1, 1, 6, 9)), tmp_path, verify=False)
    data = {"left": np.zeros((20, 3, 8, 8)), "right": np.zeros((20, 1, 6, 9))}
    data["right"][3, 0, 1, 2] = np.nan
    with pytest.raises(zeropoint.ZeropointError, match="right, input 3: expected finite values, but value 11 is nan"):
        quantize(made.header, data)


def test_a_single_number() -> None:
    """N of them, with an axis of their own or without."""
    port = Port("x", (1,), (1,), (), False)
    assert [checked_one(np.zeros(shape), port).shape for shape in ((), (4,), (4, 1))] == [(1, 1), (4, 1), (4, 1)]
    with pytest.raises(zeropoint.ZeropointError, match="takes N, but an array of 4 x 2 came"):
        checked_one(np.zeros((4, 2)), port)
