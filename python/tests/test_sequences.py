# SPDX-License-Identifier: BSD-3-Clause
"""Attention, masks, conditions, norms and recurrent layers: branches of a few networks, each an output, beside their source."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as f
from torch.nn.utils.parametrizations import weight_norm

import zeropoint
from zeropoint.front.torch_reader import read_module
from zeropoint.importer import lowered_of
from zeropoint.ports import ports_of


class Masks(nn.Module):
    """Attention by all the ways in which people write a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 24)
        self.q, self.k, self.v = nn.Linear(24, 24), nn.Linear(24, 24), nn.Linear(24, 24)
        self.whole = nn.MultiheadAttention(24, 3, batch_first=True)
        self.bias = nn.Parameter(torch.randn(3, 7, 7))

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(1, 7, 3, 8).transpose(1, 2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
        x = self.words(ids)
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        scores = q @ k.transpose(-1, -2) / 8 ** 0.5
        keys = mask[:, None, None, :]
        padding = ids == 3
        rows = torch.arange(7)
        causal = rows[:, None] >= rows[None]

        def given(scores: torch.Tensor) -> torch.Tensor:
            return (scores.softmax(-1) @ v).transpose(1, 2).reshape(1, 7, 24)

        return [
            given(scores + (1.0 - keys.float()) * -1e9), given(scores.masked_fill(keys == 0, float("-inf"))),
            given(torch.where(keys.bool(), scores, torch.finfo(torch.float32).min)),
            given(scores + self.bias + (1 - keys) * -1e9), given(scores.masked_fill(~causal, -1e9)),
            given(scores + torch.where(causal & (keys.bool() | (rows == 0)), 0.0, float("-inf"))),
            given(scores.masked_fill(padding[:, None, None], -1e9)),
            f.scaled_dot_product_attention(q, k, v, (keys.bool() & causal) | torch.eye(7).bool()), f.scaled_dot_product_attention(q, k, v),
            f.scaled_dot_product_attention(q, k, v, scale=0.4), given((q * 8 ** -0.25) @ (k * 8 ** -0.25).transpose(-1, -2)),
            self.whole(x, x, x, key_padding_mask=padding, need_weights=False)[0],
            *self.whole(x, x, x, key_padding_mask=mask == 0),
            (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True).float()]


class Conditions(nn.Module):
    """Comparisons and choices, places and norms."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(6) + 0.5)
        self.norm = nn.RMSNorm(6)
        self.group = nn.GroupNorm(2, 4, eps=1e-8)
        self.limits = nn.Parameter(torch.randn(5, 1))
        self.conv, self.back = nn.Conv1d(5, 3, 3, stride=2, padding=1), nn.ConvTranspose1d(3, 5, 3, stride=2)
        self.old = nn.utils.weight_norm(nn.Conv1d(4, 3, 1))
        self.new = weight_norm(nn.Conv1d(4, 3, 1))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        y = x.flip(1)  # 1 x 4 x 5 x 6
        flat = x.reshape(1, 4, 30)
        return [
            (x > 0.1).float(), (x <= y).float(), (x == x).float() + (x != y), (x > self.limits).float(),
            torch.where(x > y, x, y * 2), torch.where(x > 0, x, 0.25), x.masked_fill(x < -0.5, 0.5),
            torch.where((x > 0) & (y > 0), 1.0, -0.5), torch.where(~(x > 0) | (y < 0.3), x, self.limits.expand(1, 4, 5, 6)),
            x.argmax(1).float(), x.argmin(-1, keepdim=True).float() * 2, x.argmax().float() + x.mean(),
            x[:, [2, 0]], x[:, :, torch.tensor([4, 1]), torch.tensor([0, 5])],
            x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight, self.norm(x),
            x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5), self.group(x * 1e-3),
            0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x ** 3))),
            self.back(self.conv(x[0])).sum(0, keepdim=True), f.max_pool1d(x[0], 2).mean(0, keepdim=True),
            self.old(flat), self.new(flat)]


class Recurrent(nn.Module):
    """States and steps."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 5, 2, batch_first=True)
        self.gru = nn.GRU(6, 4, 2, bidirectional=True, batch_first=True)
        self.projected = nn.LSTM(6, 8, proj_size=3, batch_first=True, bidirectional=True)
        self.relu = nn.RNN(6, 3, nonlinearity="relu", batch_first=True)
        self.both = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        self.plain = nn.LSTM(6, 5, bias=False, batch_first=True)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        all_steps, (last, _) = self.both(x)
        state = self.gru(x)[1]
        return [self.lstm(x)[1][0][-1], torch.cat([state[-2], state[-1]], 1), self.projected(x)[0], self.relu(x)[0],
                self.relu(x)[1][0], all_steps, last, self.plain(x)[1][0][0]]


def sentence() -> tuple[torch.Tensor, torch.Tensor]:
    """Seven words, of which some are padding."""
    return torch.tensor([[5, 7, 3, 19, 0, 3, 3]]), torch.tensor([[1, 1, 0, 1, 1, 0, 0]])


CASES = {"masks": (Masks, sentence), "conditions": (Conditions, lambda: (torch.randn(1, 4, 5, 6),)),
         "recurrent": (Recurrent, lambda: (torch.randn(1, 7, 6),))}


@pytest.mark.parametrize("name", CASES)
def test_module(name: str, tmp_path: Path) -> None:
    """Every output is PyTorch's."""
    torch.manual_seed(3)
    make, example = CASES[name]
    made = zeropoint.from_torch(make().eval(), example(), tmp_path)
    assert made.result.difference <= 2e-5, made.result.report()


def header(module: nn.Module, example: object, folder: Path) -> str:
    """What is written, unchecked."""
    torch.manual_seed(3)
    return zeropoint.from_torch(module.eval(), example, folder, verify=False).header.read_text()


def body(text: str) -> str:
    """What is behind the head comment, without spaces and lines."""
    return "".join(text.split("#pragma once")[-1].split())


class Encoder(nn.Module):
    """PyTorch's, with a mask."""

    def __init__(self, **options: object) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(24, 3, 40, batch_first=True, **options)  # type: ignore[arg-type]
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.words = nn.Embedding(20, 24)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.enc(self.words(input_ids), src_key_padding_mask=attention_mask == 0)


def test_encoders_are_written_as_encoders(tmp_path: Path) -> None:
    """One layer, behind a mask that stands in front of all."""
    text = header(Encoder(), sentence(), tmp_path)
    assert "Patterns: 2 attention, 2 masked softmax." in text
    assert body('zp::model<zp::named<"input_ids", zp::indices<7>>, zp::named<"attention_mask", zp::indices<7>>, '
                'zp::named<"mask", zp::attention_mask>, zp::from<"input_ids">, zp::embedding<"words", 20, 24>, '
                'zp::encoder<"enc", 2, 3, 40, zp::relu, zp::encoder_options{}, zp::from<"mask">>>') in body(text)
    text = header(Encoder(norm_first=True, activation="gelu", layer_norm_eps=1e-6), sentence(), tmp_path)
    assert body('zp::encoder<"enc", 2, 3, 40, zp::gelu, zp::encoder_options{.norm_first = true, .norm = '
                'zp::layer_norm_options{.epsilon_millionths = 1}}, zp::from<"mask">>') in body(text)


def test_arguments_by_name(tmp_path: Path) -> None:
    """As tokenizers give them; the check runs them so."""
    ids, mask = sentence()
    made = zeropoint.from_torch(Encoder().eval(), {"input_ids": ids, "attention_mask": mask}, tmp_path)
    assert made.result.difference <= 1e-5


class Scores(nn.Module):
    """What is almost attention."""

    def __init__(self, scale: float, reads_twice: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(24, 72)
        self.scale, self.reads_twice = scale, reads_twice

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        q, k, v = (p.view(1, 7, 3, 8).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        shares = (q @ k.transpose(-1, -2) * self.scale).softmax(-1)
        y = (shares @ v).transpose(1, 2).reshape(1, 7, 24)
        return [y, shares] if self.reads_twice else [y]


def test_what_is_almost_attention(tmp_path: Path) -> None:
    """Stays what it is: another scale, shares that something else reads."""
    x = torch.randn(1, 7, 24)
    right = body("zp::attention<3, zp::chunk<0, 3>, zp::chunk<1, 3>, zp::chunk<2, 3>>")
    assert right in body(header(Scores(8 ** -0.5, False), x, tmp_path))
    for module in (Scores(8 ** -0.5 * 1.00001, False), Scores(8 ** -0.5, True)):
        text = body(header(module, x, tmp_path))
        assert "zp::attention" not in text and "zp::softmax" in text


def test_weight_norms_leave_no_trace(tmp_path: Path) -> None:
    """Both forms, by the names of their modules."""
    text = body(header(Conditions(), torch.randn(1, 4, 5, 6), tmp_path))
    assert '"old"' in text and '"new"' in text and "original" not in text


class Lengths(nn.Module):
    """How many steps there are."""

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return x * (torch.arange(7)[None] < lengths[:, None])[:, :, None]


class Positions(nn.Module):
    """Integers as numbers."""

    def forward(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return x + places


@pytest.mark.parametrize("module, number", [(Lengths(), torch.tensor([5])), (Positions(), torch.tensor([[0, 1, 2, 3, 4, 5]]))])
def test_integers_that_are_no_masks(module: nn.Module, number: torch.Tensor, tmp_path: Path) -> None:
    """Lengths, and numbers beyond 1, are numbers: the port is one of floats."""
    made = zeropoint.from_torch(module, (torch.randn(1, 7, 6), number), tmp_path)
    assert made.result.difference <= 2e-5, made.result.report()
    assert not any(port.is_integer for port in ports_of(made.header)[1])


def test_first_states_are_refused() -> None:
    """With what to do instead."""
    class State(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(6, 4, batch_first=True)

        def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
            return self.gru(x, h)[0]

    with pytest.raises(zeropoint.ImportRefused, match="zp::streaming"):
        lowered_of(read_module(State(), (torch.randn(1, 7, 6), torch.randn(1, 1, 4)))[0])


def test_shared_weights_are_counted(tmp_path: Path) -> None:
    """A table that is the last layer's weight too."""
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.head = nn.Embedding(20, 24), nn.Linear(24, 20, bias=False)
            self.head.weight = self.words.weight

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.words(ids))

    assert "480 numbers are copies" in header(Tied(), torch.randint(0, 20, (1, 7)), tmp_path)
