# SPDX-License-Identifier: BSD-3-Clause
"""Networks that are given the states of their recurrent layers and give them back: zp::streaming beside the source, called as often."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import zeropoint
from zeropoint.cli import main
from zeropoint.errors import CheckFailed, ImportRefused, ZeropointError
from zeropoint.ports import ports_of

CALLS = 30


class Speech(nn.Module):
    """A mask for a spectrum, as in DTLN: a frame a call, and the states of two LSTMs in one tensor, h and c innermost."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LSTM(20, 16, batch_first=True), nn.LSTM(16, 16, batch_first=True)
        self.mask = nn.Linear(16, 20)

    def forward(self, spectrum: torch.Tensor, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, (h1, c1) = self.first(spectrum, (states[:, 0:1, :, 0], states[:, 0:1, :, 1]))
        x, (h2, c2) = self.second(x, (states[:, 1:2, :, 0], states[:, 1:2, :, 1]))
        states = torch.cat([torch.stack([h1, c1], 3), torch.stack([h2, c2], 3)], 1)
        return torch.sigmoid(self.mask(x)) * spectrum, states


class Last(nn.Module):
    """Scores of the last state, which goes out too, in front of the scores; several steps a call where the state is not read."""

    def __init__(self, kind: type, reads_state: bool, **options: object) -> None:
        super().__init__()
        self.rnn, self.score, self.reads_state = kind(12, 10, **options), nn.Linear(10, 3), reads_state

    def forward(self, state: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, state = self.rnn(x, state)
        return state, self.score(state[-1] if self.reads_state else y)


class Refusing(nn.Module):
    """What --stateful has a sentence for."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.gru = nn.GRU(6, 6, batch_first=True, bidirectional=what == "both ways")
        self.other = nn.GRU(6, 6, batch_first=True)

    def forward(self, x: torch.Tensor, h: torch.Tensor, more: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, last = self.gru(x, h if self.what != "computed" else h * 0.5)
        if self.what == "another begins anew":
            y, _ = self.other(y)
        if self.what == "two inputs":
            y = y + more
        return (y, last[:, :, :3]) if self.what == "does not come out" else (y, last)


def test_a_spectrum_at_a_time(tmp_path: Path) -> None:
    torch.manual_seed(1)
    speech = Speech().eval()
    spectrum, states = torch.rand(1, 1, 20), torch.rand(1, 2, 16, 2)
    model = tmp_path / "speech.onnx"
    torch.onnx.export(speech, (spectrum, states), str(model), input_names=["spectrum", "states"], output_names=["cleaned", "next"],
                      dynamo=False)
    out = tmp_path / "out"
    assert main(["import", str(model), "-o", str(out), "--stateful", str(CALLS)]) == 0
    name, inputs, outputs = ports_of(out / "speech.hpp")
    assert [(p.name, p.extents) for p in inputs + outputs] == [("spectrum", (1, CALLS, 20)), ("cleaned", (1, CALLS, 20))]
    text = (out / "speech.hpp").read_text()
    assert '// The state "states", which comes out as "next", is kept by zp::streaming.' in text
    assert "8 inputs: largest difference" in text
    assert main(["verify", str(out / "speech.hpp"), str(model)]) == 0
    np.save(tmp_path / "sound.npy", np.random.default_rng(1).random((8, CALLS, 20), np.float32))
    assert main(["quantize", str(out / "speech.hpp"), "--calibration", str(tmp_path / "sound.npy")]) == 0
    # A whole sequence is what the source gives when it is called so often.
    mine = zeropoint.build(out / "speech.hpp")
    sound, h, expected = torch.from_numpy(np.load(tmp_path / "sound.npy")[0]), torch.zeros_like(states), []
    with torch.no_grad():
        for frame in sound:
            y, h = speech(frame[None, None], h)
            expected.append(y[0, 0].numpy())
    np.testing.assert_allclose(mine(sound.numpy()[None]).reshape(CALLS, 20), np.stack(expected), atol=1e-5)


@pytest.mark.parametrize("kind, steps, options", [(nn.GRU, 1, {"num_layers": 2}), (nn.RNN, 1, {"batch_first": True}), (nn.GRU, 4, {"batch_first": True})])
def test_modules(tmp_path: Path, kind: type, steps: int, options: dict) -> None:
    torch.manual_seed(2)
    example = (torch.rand(options.get("num_layers", 1), 1, 10), torch.rand((1, steps, 12) if options.get("batch_first") else (steps, 1, 12)))
    made = zeropoint.from_torch(Last(kind, steps == 1, **options), example, tmp_path, name="last", stateful=CALLS)
    assert made.result.inputs == 8 and made.result.difference < 1e-5
    assert ports_of(made.header)[1][0].shape == (1, CALLS * steps, 12)


def test_a_state_that_is_given_in_another_order_is_seen(tmp_path: Path) -> None:
    class Swapped(nn.Module):
        """Layers whose states change places from call to call."""

        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.GRU(8, 8, batch_first=True), nn.GRU(8, 8, batch_first=True)

        def forward(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x, a = self.a(x, h[0:1])
            x, b = self.b(x, h[1:2])
            return x, torch.cat([b, a])

    torch.manual_seed(3)
    with pytest.raises(CheckFailed, match="Nothing was written"):
        zeropoint.from_torch(Swapped(), (torch.rand(1, 1, 8), torch.rand(2, 1, 8)), tmp_path, stateful=CALLS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what, sentence", [
    ("both ways", "goes both ways"), ("another begins anew", "begins with a state of its own in each call"),
    ("two inputs", "expected one input beside the states, as zp::streaming takes one, found x, more"),
    ("does not come out", 'the state "h" goes in, and no output of 1x1x6 has the last state'),
    ("computed", "takes its first state from an input")])
def test_refusals(tmp_path: Path, what: str, sentence: str) -> None:
    example = (torch.rand(1, 1, 6), torch.rand(2 if what == "both ways" else 1, 1, 6), torch.rand(1, 1, 12 if what == "both ways" else 6))
    with pytest.raises(ZeropointError, match=sentence):
        zeropoint.from_torch(Refusing(what), example, tmp_path, stateful=CALLS)
    assert not list(tmp_path.iterdir())


def test_without_the_option(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="--stateful CALLS leaves it to zp::streaming"):
        zeropoint.from_torch(Last(nn.GRU, False), (torch.rand(1, 1, 10), torch.rand(1, 1, 12)), tmp_path)


def test_models_without_states_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(ZeropointError, match="no recurrent layer of this model takes its first state from an input"):
        zeropoint.from_torch(nn.Linear(4, 4), torch.rand(1, 4), tmp_path, stateful=CALLS)
    for text in ("0", "many"):
        with pytest.raises(SystemExit):
            main(["import", "speech.onnx", "--stateful", text])
        assert f"{text}: expected a number of calls, from 1 on" in capsys.readouterr().err
