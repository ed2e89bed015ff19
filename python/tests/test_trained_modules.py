# SPDX-License-Identifier: BSD-3-Clause
"""What trained modules of PyTorch in wheels have and networks made for tests have not: TorchScript, states kept from call to call, cells,
complex spectra, logarithms of what has to be positive, several tables behind one input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from zeropoint.data import checked_one
from zeropoint.errors import CheckFailed, ImportRefused, ZeropointError
from zeropoint.importer import import_file, import_torch
from zeropoint.ports import ports_of


class Branched(nn.Module):
    """A branch by an extent, as scripts keep and exports do not."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, image: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        if image.size(2) > 4:
            image = image * gain
        else:
            image = image - gain
        return self.head(torch.relu(self.norm(self.conv(image))).mean((2, 3)))


def test_torchscript(tmp_path: Path) -> None:
    """With the branch of the example, the names of the weights and those of the arguments."""
    net = Branched().eval()
    example = torch.randn(1, 3, 8, 6), torch.rand(1, 3, 1, 1)
    for number, script in enumerate((torch.jit.script(net), torch.jit.trace(net, example))):
        path = tmp_path / f"{number}.jit"
        torch.jit.save(script, str(path))
        made = import_torch(torch.jit.load(str(path)), example, tmp_path, name=f"net{number}")
        text = made.header.read_text()
        assert made.result.difference <= 1e-5 and "zp::mul" in text and 'zp::conv2d<"conv"' in text and 'zp::linear<"head", 5>' in text
        assert "of Branched, torch" in text and 'input "image"' in text
    with pytest.raises(ZeropointError, match=r"(?s)this is TorchScript; .*zeropoint.from_torch\(torch.jit.load\("):
        import_file(path.rename(tmp_path / "net.pt2"), tmp_path)


class Keeps(nn.Module):
    """An LSTM that goes on where the call before has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, batch_first=True)
        self.hidden = torch.zeros(1, 1, 6)
        self.cell = torch.zeros(1, 1, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, (self.hidden, self.cell) = self.lstm(x, (self.hidden, self.cell))
        return y


class Counts(nn.Module):
    """A buffer that is written in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


class Drops(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5)  # training is its default


def test_other_outputs_for_the_same_inputs(tmp_path: Path) -> None:
    """Said before anything is exported, and the module is as it was."""
    net = Keeps()
    zeros = net.hidden
    with pytest.raises(ZeropointError, match="Keeps gives other outputs .* it keeps hidden, cell from call to call. .* stateful= leaves"):
        import_torch(net, torch.randn(1, 3, 4), tmp_path)
    assert net.hidden is zeros
    counts = Counts()
    with pytest.raises(ZeropointError, match="it keeps calls from call to call"):
        import_torch(counts, torch.ones(1, 3), tmp_path)
    assert counts.calls == 0
    with pytest.raises(ImportRefused, match=r"a dropout that eval\(\) leaves on; pass training=self.training to F.dropout"):
        import_torch(Drops(), torch.randn(1, 30), tmp_path)


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(5, 6), nn.GRUCell(6, 4, bias=False), nn.RNNCell(4, 3, nonlinearity="relu")

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor, g: torch.Tensor) -> Any:
        h, c = self.lstm(x, (h, c))
        g = self.gru(h, g)
        return self.rnn(g), h, c, g  # the last begins with zeros


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTMCell(5, 6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Any:
        h, c = self.cell(x, (h, c))
        return self.head(h), h, c


def test_cells(tmp_path: Path) -> None:
    """With states that go in and come out, and as layers whose states are kept."""
    example = tuple(torch.randn(1, n) for n in (5, 6, 6, 4))
    assert import_torch(Cells(), example, tmp_path).result.difference <= 1e-5
    made = import_torch(Decoder(), example[:3], tmp_path, stateful=7)
    assert made.result.difference <= 1e-5 and 'zp::lstm<"cell", 6>' in made.header.read_text()
    with pytest.raises(ImportRefused, match="the batch must be 1"):
        import_torch(Decoder(), tuple(torch.randn(2, n) for n in (5, 6, 6)), tmp_path)


class Spectrum(nn.Module):
    """Magnitudes in decibels, rolled by a number that a buffer has."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 8, stride=4)
        self.register_buffer("shift", torch.tensor(1.7))

    def forward(self, x: torch.Tensor) -> Any:
        pairs = self.conv(x[:, None]).unflatten(1, (2, 8)).permute(0, 2, 3, 1).contiguous()
        magnitude = torch.view_as_complex(pairs).permute(0, 2, 1).abs().clamp(min=1e-3)
        decibels = magnitude.log10() * 20
        return decibels.roll(-round(self.shift.item() * 2), -1), magnitude.log2(), magnitude.log1p(), 2 ** decibels.div(12), decibels.div(9).exp2(), \
            magnitude.expm1()


class Turned(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.view_as_complex(x) * 2)


def test_spectra(tmp_path: Path) -> None:
    """Complex numbers whose absolute value is read, logarithms and powers."""
    assert import_torch(Spectrum(), torch.randn(1, 64), tmp_path).result.difference <= 1e-5
    with pytest.raises(ImportRefused, match="more than the absolute value is read; compute with real and imaginary parts"):
        import_torch(Turned(), torch.randn(1, 5, 2), tmp_path)


class Flatness(nn.Module):
    """Of energies: NaN where one is negative."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(10, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x / x.log().mean(-1, keepdim=True).exp())


def test_inputs_that_are_made_up_are_like_the_example(tmp_path: Path) -> None:
    """Where normal numbers give NaN in the source; of programs in files too."""
    example = torch.rand(1, 10) + 0.1
    assert import_torch(Flatness(), example, tmp_path).result.difference <= 1e-5
    torch.export.save(torch.export.export(Flatness().eval(), (example,)), str(tmp_path / "flat.pt2"))
    assert import_file(tmp_path / "flat.pt2", tmp_path).result.difference <= 1e-5
    with pytest.raises(CheckFailed, match="the source itself gives infinite values or NaN for input 0"):
        import_torch(Flatness(), example - 1, tmp_path)


class Tables(nn.Module):
    """Characters and syllables in two rows of one input."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.syllables = nn.Embedding(7, 4), nn.Embedding(50, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.letters(x[:, 0]) + self.syllables(x[:, 1])


def test_tables_of_unlike_numbers_of_rows(tmp_path: Path) -> None:
    """Each integer has the bound of the table that it goes into."""
    header = import_torch(Tables(), torch.ones(1, 2, 3, dtype=torch.long), tmp_path).header
    assert "int below 7 from 0, below 50 from 3 1x2x3" in header.read_text()
    port = ports_of(header)[1][0]
    assert port.below == 7 and port.parts == ((0, 7), (3, 50))
    indices = np.array([[[6, 6, 6], [49, 49, 49]]])
    checked_one(indices, port)
    with pytest.raises(ZeropointError, match="input 0: expected integers from 0 to 6 at 0, 0, 1, found 9"):
        checked_one(np.array([[[6, 9, 6], [49, 49, 49]]]), port)
    with pytest.raises(ZeropointError, match="input 0: expected integers from 0 to 49 at 0, 1, 2, found 50"):
        checked_one(np.array([[[6, 6, 6], [49, 49, 50]]]), port)


class Picks(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[torch.arange(1), x.sum(2).argmax(1)]


def test_places_that_are_computed(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="the places that are taken are computed from an input"):
        import_torch(Picks(), torch.randn(1, 5, 3), tmp_path)


class Chaotic(nn.Module):
    """A recurrent layer whose steps depend on all before, in all of their digits, where its inputs are small."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(7)
        self.rnn = nn.RNN(64, 64, batch_first=True)
        for parameter in self.rnn.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator) * 0.75
        self.rnn.weight_ih_l0.data = torch.eye(64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rnn(x)[0]


def test_inputs_that_say_nothing(tmp_path: Path) -> None:
    """Are made up near the example, where the source is not itself chaotic."""
    example = torch.sign(torch.randn(1, 60, 64)) * 40
    made = import_torch(Chaotic(), example, tmp_path, name="net")
    assert made.result.difference <= 1e-5
    with pytest.raises(CheckFailed, match="(?s)where its inputs change by a millionth, the source itself changes by"):
        import_torch(Chaotic(), torch.randn(1, 60, 64), tmp_path, name="net")
