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
from zeropoint.embed import pack
from zeropoint.errors import CheckFailed, ImportRefused, ZeropointError
from zeropoint.export.export import export_onnx
from zeropoint.lower.context import Port
from zeropoint.ports import ports_of, to_memory
from zeropoint.quantize import quantize
from zeropoint.states import sequence_port

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


@pytest.mark.parametrize("extents, order, calls, longer, its_order", [
    ((1, 1, 20), (2,), 5, (1, 5, 20), (1, 2)), ((1, 20, 1), (1,), 5, (5, 20, 1), (0, 1)), ((20,), (0,), 5, (5, 20), (0, 1)),
    ((20,), (0,), 1, (1, 20), (1,)), ((1, 1), (), 5, (1, 5), (1,)), ((1, 4, 5), (1, 2), 3, (1, 12, 5), (1, 2)), ((1, 5, 4), (2, 1), 3, (1, 5, 12), (2, 1))])
def test_ports_of_sequences(extents: tuple, order: tuple, calls: int, longer: tuple, its_order: tuple) -> None:
    width = 4 if len(order) == 2 else 1
    features = int(np.prod(extents)) // width
    made = sequence_port(Port("x", extents, (1, width, features), order), calls)
    assert (made.extents, made.shape, made.order) == (longer, (1, width * calls, features), its_order)
    # What a call has lies in one piece, one call behind the other.
    parts = [np.random.default_rng(call).random(extents, np.float32) for call in range(calls)]
    time = its_order[0] if width * calls != 1 else 0
    whole = np.concatenate([part.reshape(extents if len(longer) == len(extents) else (1, *extents)) for part in parts], time)
    one = Port("x", extents, (1, width, features), order)
    np.testing.assert_array_equal(to_memory(whole, made), np.concatenate([to_memory(part, one) for part in parts]))


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
        zeropoint.from_torch(Last(nn.GRU, False, batch_first=True), (torch.rand(1, 1, 10), torch.rand(1, 4, 12)), tmp_path)


class Voice(nn.Module):
    """Whether somebody speaks in a frame of 64 samples: windows inside of the frame, then a recurrent layer of one step."""

    def __init__(self, kind: type, **options: object) -> None:
        super().__init__()
        self.windows, self.rnn = nn.Conv1d(1, 16, 8, 4), kind(16, 24, **options)
        self.score = nn.Linear(int(options.get("proj_size", 24)), 1)  # type: ignore[call-overload]

    def forward(self, frame: torch.Tensor, h: torch.Tensor, c: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        x = torch.relu(self.windows(frame[:, None])).mean(-1)
        y, states = self.rnn(x[None], h if c is None else (h, c))
        return torch.sigmoid(self.score(y)).squeeze(), *(states if isinstance(states, tuple) else (states,))


@pytest.mark.parametrize("kind, options", [
    (nn.LSTM, {}), (nn.LSTM, {"num_layers": 2, "proj_size": 10}), (nn.GRU, {"num_layers": 3, "bias": False}), (nn.RNN, {"nonlinearity": "relu"}),
    (nn.GRU, {})])
def test_cells_are_written_out(tmp_path: Path, kind: type, options: dict) -> None:
    """Their states stay inputs and outputs."""
    torch.manual_seed(4)
    layers = options.get("num_layers", 1)
    states = [torch.randn(layers, 1, options.get("proj_size", 24)), *([torch.randn(layers, 1, 24)] if kind is nn.LSTM else [])]
    voice = Voice(kind, **options).eval()
    made = zeropoint.from_torch(voice, (torch.randn(1, 64), *states), tmp_path, name="voice")
    assert made.result.difference < 1e-5
    assert [port.extents for port in ports_of(made.header)[1]] == [(1, 64), *(tuple(state.shape) for state in states)]
    model = tmp_path / "voice.onnx"
    if "proj_size" not in options:  # which no runtime of ONNX takes
        torch.onnx.export(voice, (torch.randn(1, 64), *states), str(model), dynamo=False)
        assert zeropoint.from_onnx(model, tmp_path / "onnx").result.difference < 1e-5


def test_windows_inside_of_a_frame_are_no_stream(tmp_path: Path) -> None:
    with pytest.raises(ZeropointError, match="does not run this network step by step; .* --stateful frames"):
        zeropoint.from_torch(Voice(nn.GRU), (torch.randn(1, 64), torch.randn(1, 1, 24)), tmp_path, stateful=CALLS)


def test_frames(tmp_path: Path) -> None:
    """Windows inside of a frame, and states that go on from frame to frame, as zp::stateful keeps them."""
    torch.manual_seed(4)
    voice, states = Voice(nn.LSTM).eval(), [torch.zeros(1, 1, 24), torch.zeros(1, 1, 24)]
    model = tmp_path / "voice.onnx"
    torch.onnx.export(voice, (torch.randn(1, 64), *states), str(model), input_names=["frame", "h", "c"],
                      output_names=["score", "hn", "cn"], dynamo=False)
    out = tmp_path / "out"
    assert main(["import", str(model), "-o", str(out), "--stateful", "frames"]) == 0
    text = (out / "voice.hpp").read_text()
    assert "zp::lstm<" in text and '// The state "h", which comes out as "hn", is kept by zp::stateful.' in text
    assert "8 inputs: largest difference" in text
    _, inputs, outputs = ports_of(out / "voice.hpp")
    assert [(p.name, p.extents) for p in inputs + outputs] == [("frame", (1, 64)), ("score", outputs[0].extents)] and np.prod(outputs[0].extents) == 1
    assert main(["verify", str(out / "voice.hpp"), str(model)]) == 0
    # What the source gives with the states that came out of the call before, and again behind a reset.
    sound, expected = np.random.default_rng(1).standard_normal((12, 1, 64), np.float32), []
    with torch.no_grad():
        for frame in torch.from_numpy(sound):
            score, *states = voice(frame, *states)
            expected.append(score.item())
    mine = zeropoint.build(out / "voice.hpp")
    np.testing.assert_allclose(np.concatenate([mine(sound[:5]), mine(sound[5:])]).reshape(-1), expected, atol=1e-5)
    mine.reset()
    np.testing.assert_allclose(mine(sound).reshape(-1), expected, atol=1e-5)
    # Five recordings of 12 frames, of which one is compared, then one recording, and the last quarter of it.
    recordings = np.random.default_rng(2).standard_normal((5, 12, 64), np.float32)
    made = quantize(out / "voice.hpp", recordings)
    assert made.compared == 12 and made.cosine is not None and made.cosine > 0.99 and made.snr is not None and made.snr > 20
    assert quantize(out / "voice.hpp", recordings.reshape(60, 1, 64)).compared == 15
    assert quantize(out / "voice.hpp", [recordings[0], sound, recordings[1], recordings[2]]).compared == 12
    with pytest.raises(ZeropointError, match="states of this network go on from call to call"):
        export_onnx(out / "voice.hpp", made.file, tmp_path / "out.onnx")
    assert pack(out / "voice.hpp").stat().st_size > 2000


def test_frames_of_several_inputs(tmp_path: Path) -> None:
    class Two(nn.Module):
        """Scores of a frame and of what goes with it."""

        def __init__(self) -> None:
            super().__init__()
            self.windows, self.rnn = nn.Conv1d(1, 8, 8, 8), nn.GRU(12, 10)
            self.register_buffer("zero", torch.zeros(1))
            self.register_buffer("one", torch.ones(1))

        def forward(self, frame: torch.Tensor, more: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x = torch.cat([torch.relu(self.windows(frame[:, None])).amax(-1), more], -1)
            y, h = self.rnn(x[None], h)
            return y[0], h * self.one + self.zero  # the same state

    torch.manual_seed(5)
    made = zeropoint.from_torch(Two(), (torch.randn(1, 64), torch.randn(1, 4), torch.zeros(1, 1, 10)), tmp_path, name="two", stateful="frames")
    assert made.result.inputs == 8 and made.result.difference < 1e-5
    rng = np.random.default_rng(3)
    pairs = {"frame": rng.standard_normal((4, 6, 64), np.float32), "more": rng.standard_normal((4, 6, 4), np.float32)}
    assert quantize(made.header, pairs).compared == 6
    with pytest.raises(ZeropointError, match="expected as many recordings of each input, found 4 of frame, 3 of more"):
        quantize(made.header, pairs | {"more": pairs["more"][:3]})


def test_models_without_states_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(ZeropointError, match="no recurrent layer of this model takes its first state from an input"):
        zeropoint.from_torch(nn.Linear(4, 4), torch.rand(1, 4), tmp_path, stateful=CALLS)
    for text in ("0", "many"):
        with pytest.raises(SystemExit):
            main(["import", "speech.onnx", "--stateful", text])
        assert f"{text}: expected a number of calls, from 1 on, or frames" in capsys.readouterr().err
