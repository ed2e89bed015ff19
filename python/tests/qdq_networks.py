# SPDX-License-Identifier: BSD-3-Clause
"""Networks that ONNX Runtime's own quantizer makes integer: static, QDQ, calibrated with normal numbers. Extents are unlike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn


class Classifier(nn.Module):
    """Residual, depthwise, concat, slice, hardswish, mean, perhaps softmax."""

    def __init__(self, has_softmax: bool = False) -> None:
        super().__init__()
        self.stem, self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.depthwise, self.fc = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Linear(9, 10)
        self.has_softmax = has_softmax

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        y = torch.relu(self.depthwise(torch.relu(self.conv(x)) + x))
        y = nn.functional.hardswish(torch.cat([y, x], 1)[:, 4:13]).mean((2, 3))
        return torch.softmax(self.fc(y), -1) if self.has_softmax else self.fc(y)


class Squeeze(nn.Module):
    """Inverted bottleneck with relu6, squeeze-and-excite by sigmoid, max pool, global average pool; signed codes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.expand = nn.Conv2d(2, 6, (3, 5), padding=(1, 2)), nn.Conv2d(6, 14, 1)
        self.depthwise = nn.Conv2d(14, 14, 3, padding=1, groups=14)
        self.reduce, self.restore = nn.Conv2d(14, 5, 1), nn.Conv2d(5, 14, 1)
        self.project, self.grow, self.head = nn.Conv2d(14, 6, 1), nn.ConvTranspose2d(6, 9, 2, stride=2), nn.Conv2d(9, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.stem(x)), 2)
        y = nn.functional.relu6(self.depthwise(nn.functional.relu6(self.expand(x))))
        gate = torch.sigmoid(self.restore(torch.relu(self.reduce(nn.functional.adaptive_avg_pool2d(y, 1)))))
        return self.head(torch.relu(self.grow(x + self.project(y * gate))))


class Sequence(nn.Module):
    """Convolutions over time with gates, leaky relu, a linear layer over all steps."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(5, 12, 5, padding=2), nn.Conv1d(6, 16, 3, padding=2, dilation=2)
        self.steps, self.last = nn.Linear(16, 7), nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.first(x).chunk(2, 1)
        y = nn.functional.leaky_relu(self.second(torch.tanh(a) * torch.sigmoid(b)), 0.1)
        return self.last(torch.relu(self.steps(y.permute(0, 2, 1))))


class Constants(nn.Module):
    """An offset and a factor at the entry, a gain a channel, a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.after = nn.Conv2d(3, 7, 3, stride=2), nn.Conv2d(7, 4, 1)
        self.register_buffer("offset", torch.tensor([0.4, -0.2, 0.1]).reshape(1, 3, 1, 1))
        self.register_buffer("gain", torch.linspace(0.5, 1.5, 7).reshape(1, 7, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv((x + self.offset) * 1.7)
        return self.after(nn.functional.relu6(y * self.gain + y))


NETWORKS: dict[str, tuple[Any, tuple[int, ...], dict[str, Any]]] = {
    "classifier": (Classifier, (1, 3, 20, 28), dict(activations="QUInt8", weights="QInt8", per_channel=True)),
    "squeeze": (Squeeze, (1, 2, 14, 22), dict(activations="QInt8", weights="QInt8", per_channel=True)),
    "sequence": (Sequence, (1, 5, 31), dict(activations="QUInt8", weights="QUInt8", per_channel=False)),
    "constants": (Constants, (1, 3, 13, 18), dict(activations="QUInt8", weights="QInt8", per_channel=True)),
    "with_softmax": (lambda: Classifier(True), (1, 3, 20, 28), dict(activations="QUInt8", weights="QInt8", per_channel=True)),
}


def quantized(name: str, folder: Path) -> Path:
    """The file that the quantizer writes."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    make, shape, how = NETWORKS[name]
    torch.manual_seed(3)
    module = make().eval()
    plain, ready, made = folder / "float.onnx", folder / "ready.onnx", folder / f"{name}.onnx"
    torch.onnx.export(module, (torch.randn(shape),), str(plain), input_names=["x"], output_names=["y"], dynamo=False)

    class Normal(CalibrationDataReader):
        def __init__(self) -> None:
            random = np.random.default_rng(5)
            self.left = [{"x": random.standard_normal(shape).astype(np.float32)} for _ in range(8)]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    quant_pre_process(str(plain), str(ready))
    quantize_static(str(ready), str(made), Normal(), quant_format=QuantFormat.QDQ, per_channel=how["per_channel"],
                    activation_type=QuantType[how["activations"]], weight_type=QuantType[how["weights"]])
    return made
