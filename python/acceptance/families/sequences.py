# SPDX-License-Identifier: BSD-3-Clause
"""Networks over sequences: PyTorch's recurrent and attention layers, and networks of sound as their papers have them.

torchaudio is built for CUDA, and its wheel does not load beside the CPU's torch: its networks are written here after their
papers, under its names.
"""

from __future__ import annotations

from typing import Callable

import torch
from torch import nn
from torch.nn import functional as f
from torch.nn.utils.parametrizations import weight_norm

from acceptance.networks import Example, Network


def sequence(length: int = 13, channels: int = 20) -> Callable[[], Example]:
    """1 x length x channels."""
    return lambda: (torch.randn(1, length, channels),)


def signal(channels: int, length: int) -> Callable[[], Example]:
    """1 x channels x length."""
    return lambda: (torch.randn(1, channels, length),)


class LastStep(nn.Module):
    """A classifier of the last step."""

    def __init__(self, kind: type[nn.RNNBase], both: bool = False, layers: int = 1, **options: int) -> None:
        super().__init__()
        self.rnn = kind(20, 24, layers, batch_first=True, bidirectional=both, **options)
        self.fc = nn.Linear((options.get("proj_size") or 24) * (1 + both), 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.rnn(x)[0][:, -1])


class LastState(nn.Module):
    """A classifier of the last layer's last state."""

    def __init__(self, kind: type[nn.RNNBase], both: bool = False) -> None:
        super().__init__()
        self.rnn = kind(20, 24, 2, batch_first=True, bidirectional=both)
        self.fc = nn.Linear(24 * (1 + both), 5)
        self.both = both

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = self.rnn(x)[1]
        state = state[0] if isinstance(state, tuple) else state
        return self.fc(torch.cat([state[-2], state[-1]], 1) if self.both else state[-1])


class AllAndLast(nn.Module):
    """All steps and the last state: attention of the last one over all."""

    def __init__(self, both: bool = False) -> None:
        super().__init__()
        self.rnn = nn.LSTM(20, 24, batch_first=True, bidirectional=both)
        self.fc = nn.Linear(24 * (1 + both), 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, (state, _) = self.rnn(x)
        last = state.transpose(0, 1).reshape(1, 1, -1)
        shares = (y * last).sum(-1, keepdim=True).softmax(1)
        return self.fc((y * shares).sum(1))


class WithState(nn.Module):
    """The first state comes in, the last one goes out."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.rnn = kind(20, 24, batch_first=True)
        self.fc = nn.Linear(24, 5)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, state = self.rnn(x, h)
        return self.fc(y), state


class Encoder(nn.Module):
    """PyTorch's encoder of features."""

    def __init__(self, **options: object) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 96, batch_first=True, **options)  # type: ignore[arg-type]
        self.encoder = nn.TransformerEncoder(layer, 3, nn.LayerNorm(64), enable_nested_tensor=False)
        self.fc = nn.Linear(64, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.encoder(x).mean(1))


class PaddedEncoder(nn.Module):
    """Words, of which 0 is padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(53, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.fc = nn.Linear(64, 7)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.fc(self.encoder(self.words(ids), src_key_padding_mask=ids == 0).mean(1))


class CausalEncoder(nn.Module):
    """Steps that see what is before them."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 96, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]), is_causal=True)


class Attention(nn.Module):
    """A sequence to itself, and what it looks at."""

    def __init__(self, weights: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
        self.norm = nn.LayerNorm(64)
        self.weights = weights

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        y, shares = self.attention(x, x, x, need_weights=self.weights)
        return [self.norm(x + y)] + ([shares] if self.weights else [])


class CrossAttention(nn.Module):
    """A sequence to another one."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True, kdim=48, vdim=48)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.attention(x, y, y, need_weights=False)[0]


class Causal(nn.Module):
    """Bai 2018: convolutions of which what comes later is cut off, with weight norms."""

    def __init__(self, before: int, channels: int, dilation: int) -> None:
        super().__init__()
        self.chomp = 2 * dilation
        self.conv1 = weight_norm(nn.Conv1d(before, channels, 3, padding=self.chomp, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(channels, channels, 3, padding=self.chomp, dilation=dilation))
        self.downsample = nn.Conv1d(before, channels, 1) if before != channels else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.conv1(x)[:, :, :-self.chomp].contiguous())
        y = torch.relu(self.conv2(y)[:, :, :-self.chomp].contiguous())
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class TCN(nn.Module):
    """Three of them, and a classifier of the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(Causal(10, 24, 1), Causal(24, 24, 2), Causal(24, 32, 4))
        self.linear = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.network(x)[:, :, -1])


class WaveNet(nn.Module):
    """van den Oord 2016: gated dilated convolutions, of the older weight norm."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        old = nn.utils.weight_norm
        self.input = nn.Conv1d(6, channels, 1)
        self.dilated = nn.ModuleList([old(nn.Conv1d(channels, 2 * channels, 2, dilation=2 ** i)) for i in range(3)])
        self.residual = nn.ModuleList([nn.Conv1d(channels, channels, 1) for _ in range(3)])
        self.skip = nn.ModuleList([nn.Conv1d(channels, 20, 1) for _ in range(3)])
        self.out1, self.out2 = nn.Conv1d(20, 24, 1), nn.Conv1d(24, 9, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.input(x)
        total = torch.zeros(())
        for i, (dilated, residual, skip) in enumerate(zip(self.dilated, self.residual, self.skip)):
            a, b = dilated(f.pad(x, (2 ** i, 0))).chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(y)
            x = x + residual(y)
        return self.out2(torch.relu(self.out1(torch.relu(total))))


class GatedConvolution(nn.Module):
    """Dauphin 2017."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(6, 32, 3, padding=1), nn.Conv1d(16, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2(f.glu(self.conv1(x), 1))


def wav2letter() -> nn.Module:
    """Collobert 2016, of features."""
    rows = [(13, 32, 48, 2, 23), (32, 32, 7, 1, 3), (32, 32, 7, 1, 3), (32, 40, 32, 1, 16), (40, 40, 1, 1, 0)]
    layers = [layer for row in rows for layer in (nn.Conv1d(*row), nn.ReLU(inplace=True))]
    return nn.Sequential(*layers, nn.Conv1d(40, 29, 1), nn.LogSoftmax(1))


class DeepSpeech(nn.Module):
    """Hannun 2014."""

    def __init__(self, features: int = 20, hidden: int = 32) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(features, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.bi_rnn = nn.RNN(hidden, hidden, nonlinearity="relu", bidirectional=True)
        self.fc4, self.out = nn.Linear(hidden, hidden), nn.Linear(hidden, 29)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in (self.fc1, self.fc2, self.fc3):
            x = f.hardtanh(torch.relu(layer(x)), 0, 20)
        x, _ = self.bi_rnn(x.squeeze(1).transpose(0, 1))
        x = x[:, :, :32] + x[:, :, 32:]
        x = f.hardtanh(torch.relu(self.fc4(x)), 0, 20)
        return f.log_softmax(self.out(x).permute(1, 0, 2), 2)


class DeepSpeech2(nn.Module):
    """Amodei 2015: convolutions over time and frequency, recurrent layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, (11, 5), (2, 2), (5, 2)), nn.BatchNorm2d(8), nn.Hardtanh(0, 20))
        self.rnn = nn.GRU(8 * 10, 24, 2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(48, 29)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        n, c, features, time = x.shape
        x = x.permute(0, 3, 1, 2).reshape(n, time, c * features)
        return f.log_softmax(self.fc(self.rnn(x)[0]), -1)


class GlobalNorm(nn.Module):
    """Luo 2019's gLN, written out."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(1, channels, 1)), nn.Parameter(torch.zeros(1, channels, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean((1, 2), keepdim=True)
        variance = ((x - mean) ** 2).mean((1, 2), keepdim=True)
        return self.gain * (x - mean) / (variance + 1e-8) ** 0.5 + self.bias


def group_norm(channels: int) -> nn.Module:
    """gLN, as torchaudio has it."""
    return nn.GroupNorm(1, channels, eps=1e-8)


class ConvBlock(nn.Module):
    """Of a ConvTasNet."""

    def __init__(self, dilation: int, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(16, 24, 1), nn.PReLU(), norm(24),
            nn.Conv1d(24, 24, 3, padding=dilation, dilation=dilation, groups=24), nn.PReLU(), norm(24))
        self.residual, self.skip = nn.Conv1d(24, 16, 1), nn.Conv1d(24, 16, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.conv(x)
        return x + self.residual(y), self.skip(y)


class ConvTasNet(nn.Module):
    """Luo 2019: masks of two speakers in a learned basis."""

    def __init__(self, norm: Callable[[int], nn.Module] = group_norm) -> None:
        super().__init__()
        self.encoder = nn.Conv1d(1, 32, 16, 8, bias=False)
        self.norm, self.input = norm(32), nn.Conv1d(32, 16, 1)
        self.blocks = nn.ModuleList([ConvBlock(2 ** i, norm) for i in range(3)])
        self.prelu, self.masks = nn.PReLU(), nn.Conv1d(16, 64, 1)
        self.decoder = nn.ConvTranspose1d(32, 1, 16, 8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        feats = self.encoder(x)
        y = self.input(self.norm(feats))
        total = torch.zeros(())
        for block in self.blocks:
            y, skip = block(y)
            total = total + skip
        masks = torch.sigmoid(self.masks(self.prelu(total))).view(1, 2, 32, -1)
        masked = (masks * feats.unsqueeze(1)).view(2, 32, -1)
        return self.decoder(masked).view(1, 2, -1)


class Conformer(nn.Module):
    """Gulati 2020, a block: feed forward, attention, convolution; with lengths the mask is made of them."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        def feed_forward() -> nn.Module:
            return nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, 64), nn.SiLU(), nn.Linear(64, channels))

        self.first, self.second = feed_forward(), feed_forward()
        self.attention = nn.MultiheadAttention(channels, 4, batch_first=True)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(channels) for _ in range(3))
        self.pointwise1, self.pointwise2 = nn.Conv1d(channels, 2 * channels, 1), nn.Conv1d(channels, channels, 1)
        self.depthwise = nn.Conv1d(channels, channels, 7, padding=3, groups=channels)
        self.batch_norm = nn.BatchNorm1d(channels)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        mask = None if lengths is None else torch.arange(x.shape[1])[None] >= lengths[:, None]
        x = x + 0.5 * self.first(x)
        y = self.norm1(x)
        x = x + self.attention(y, y, y, key_padding_mask=mask, need_weights=False)[0]
        y = f.glu(self.pointwise1(self.norm2(x).transpose(1, 2)), 1)
        x = x + self.pointwise2(f.silu(self.batch_norm(self.depthwise(y)))).transpose(1, 2)
        return self.norm3(x + 0.5 * self.second(x))


class Emformer(nn.Module):
    """Shi 2021's memory: what comes in beside the segment is a state, whose oldest part goes."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(20, 24, batch_first=True)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y, (h, c) = self.rnn(x, (h, c))
        return y, h, c


class Spectrogram(nn.Module):
    """What HDemucs begins with."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.conv = nn.Conv1d(17, 8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(torch.stft(x, 32, 16, window=self.window, return_complex=True).abs())


class Lengths(nn.Module):
    """Sums up to each step, of as many steps as there are."""

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        mask = torch.arange(x.shape[1])[None] < lengths[:, None]
        return (x * mask[:, :, None]).cumsum(1)


class Batch(nn.Module):
    """Several sequences at once."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(20, 24, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rnn(x)[0]


def refused(name: str, make: Callable[[], nn.Module], example: Callable[[], Example], why: str) -> Network:
    """One that no layers compute."""
    return Network(name, make, example, "refused", False, why)


STATE = "a state that comes in; a network of one step keeps it itself: zp::streaming"
NETWORKS = [
    Network("lstm", lambda: LastStep(nn.LSTM), sequence()), Network("bi_lstm", lambda: LastStep(nn.LSTM, True, 2), sequence()),
    Network("gru", lambda: LastStep(nn.GRU, layers=2), sequence()), Network("bi_gru", lambda: LastStep(nn.GRU, True), sequence()),
    Network("lstm_projection", lambda: LastStep(nn.LSTM, proj_size=16), sequence(), "either"),
    Network("lstm_last_state", lambda: LastState(nn.LSTM), sequence()),
    Network("bi_gru_last_state", lambda: LastState(nn.GRU, True), sequence()),
    Network("lstm_all_and_last", AllAndLast, sequence()), Network("bi_lstm_all_and_last", lambda: AllAndLast(True), sequence()),
    refused("gru_with_state", lambda: WithState(nn.GRU), lambda: (torch.randn(1, 13, 20), torch.randn(1, 1, 24)), STATE),
    Network("transformer_encoder", Encoder, sequence(11, 64)),
    Network("transformer_encoder_norm_first", lambda: Encoder(norm_first=True, activation="gelu"), sequence(11, 64)),
    Network("padded_encoder", PaddedEncoder, lambda: (torch.randint(1, 53, (1, 11)) * (torch.arange(11) < 8),)),
    Network("causal_encoder", CausalEncoder, sequence(11, 64)),
    Network("multihead_attention", lambda: Attention(False), sequence(11, 64)),
    Network("multihead_attention_weights", lambda: Attention(True), sequence(11, 64)),
    Network("cross_attention", CrossAttention, lambda: (torch.randn(1, 11, 64), torch.randn(1, 7, 48))),
    Network("tcn", TCN, signal(10, 41)), Network("wavenet", WaveNet, signal(6, 37)),
    Network("gated_convolution", GatedConvolution, signal(6, 37)), Network("wav2letter", wav2letter, signal(13, 120)),
    Network("deepspeech", DeepSpeech, lambda: (torch.randn(1, 1, 17, 20),)),
    Network("deepspeech2", DeepSpeech2, lambda: (torch.randn(1, 1, 20, 34),)),
    Network("convtasnet", ConvTasNet, signal(1, 136), "either"),
    Network("convtasnet_gln", lambda: ConvTasNet(GlobalNorm), signal(1, 136), "either"),
    Network("conformer", Conformer, sequence(13, 32)),
    Network("conformer_lengths", Conformer, lambda: (torch.randn(1, 13, 32), torch.tensor([9])), "imports", False),
    refused("emformer", Emformer, lambda: (torch.randn(1, 13, 20), torch.randn(1, 1, 24), torch.randn(1, 1, 24)), STATE),
    refused("hdemucs", Spectrogram, lambda: (torch.randn(1, 320),), "complex spectra"),
    refused("lengths", Lengths, lambda: (torch.randn(1, 13, 20), torch.tensor([9])), "sums up to each step, and lengths"),
    refused("batch", Batch, lambda: (torch.randn(2, 13, 20),), "a batch of two"),
]
