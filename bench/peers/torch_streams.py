# SPDX-License-Identifier: BSD-3-Clause
"""Small networks that run a step at a time in TorchScript: the loop over steps is part of the script, no Python is in the time of one."""
from typing import List, Tuple

import numpy as np
import torch

from onnx_streams import DILATIONS


class Dense(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 16)

    def forward(self, x: torch.Tensor, states: List[torch.Tensor]) -> torch.Tensor:
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


class Recurrent(torch.nn.Module):
    """A cell is faster than a layer with a sequence of one."""
    def __init__(self, kind: str, hidden: int):
        super().__init__()
        self.is_lstm = kind == "LSTM"
        self.rnn = (torch.nn.LSTM if self.is_lstm else torch.nn.GRU)(1, hidden)
        self.mix = torch.nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor, states: List[torch.Tensor]) -> torch.Tensor:
        rnn = self.rnn
        if self.is_lstm:
            h, c = torch.lstm_cell(x, [states[0], states[1]], rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, rnn.bias_hh_l0)
            states[1] = c
        else:
            h = torch.gru_cell(x, states[0], rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, rnn.bias_hh_l0)
        states[0] = h
        return self.mix(h)


class TCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for i, dilation in enumerate(DILATIONS):
            setattr(self, f"conv{i + 1}", torch.nn.Conv1d(16 if i else 1, 16, 3, dilation=dilation))
        self.mix = torch.nn.Linear(16, 1)

    def forward(self, x: torch.Tensor, states: List[torch.Tensor]) -> torch.Tensor:
        window = torch.cat([states[0], x.unsqueeze(2)], 2)
        states[0] = window[:, :, 1:]
        window = torch.cat([states[1], torch.tanh(self.conv1(window))], 2)
        states[1] = window[:, :, 1:]
        window = torch.cat([states[2], torch.tanh(self.conv2(window))], 2)
        states[2] = window[:, :, 1:]
        window = torch.cat([states[3], torch.tanh(self.conv3(window))], 2)
        states[3] = window[:, :, 1:]
        return self.mix(torch.tanh(self.conv4(window)).squeeze(2))


class Looped(torch.nn.Module):
    def __init__(self, net: torch.nn.Module):
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor, states: List[torch.Tensor], steps: int) -> Tuple[torch.Tensor, List[torch.Tensor]]:
        y = x
        for _ in range(steps):
            y = self.net(x, states)
        return y, states


class Script:
    def __init__(self, name: str, weights: dict[str, np.ndarray], x: np.ndarray):
        kind, shape = name.split()[0], {key: value.shape for key, value in weights.items()}
        hidden = shape["rnn.weight_hh_l0"][1] if kind in ("LSTM", "GRU") else 0
        net = Dense() if kind == "dense" else TCN() if kind == "TCN" else Recurrent(kind, hidden)
        net.load_state_dict({key: torch.from_numpy(np.ascontiguousarray(weights[key])).reshape(value.shape)
                             for key, value in net.state_dict().items()})
        self.shapes = {"dense": [], "LSTM": [(1, hidden)] * 2, "GRU": [(1, hidden)],
                       "TCN": [(1, 16 if i else 1, 2 * dilation) for i, dilation in enumerate(DILATIONS)]}[kind]
        self.name, self.x, self.result = "torch.jit f32", x.copy(), None
        self.script = torch.jit.freeze(torch.jit.script(Looped(net).eval()))
        self.reset()

    def reset(self) -> None:
        self.states = [torch.zeros(shape) for shape in self.shapes]

    def run(self, steps: int) -> None:
        with torch.inference_mode():
            self.result, self.states = self.script(torch.from_numpy(self.x), self.states, steps)

    def output(self) -> np.ndarray:
        return self.result.numpy()
