# SPDX-License-Identifier: BSD-3-Clause
"""What kind of model a file is: by its suffix, and where that says nothing by its first bytes."""

from __future__ import annotations

import zipfile
from pathlib import Path

from zeropoint.errors import ZeropointError
from zeropoint.files import sentence_of

SUFFIXES = {".onnx": "onnx", ".tflite": "tflite", ".pt2": "pt2"}
# How files of other kinds begin, what they are, and what to do.
CONVERT = "convert it with tf.lite.TFLiteConverter, and import the .tflite"
OTHERS = ((b"\x89HDF\r\n\x1a\n", "HDF5, as Keras writes it", CONVERT),
          (b"GGUF", "GGUF", "import the module that it was made of, as ONNX or a .pt2"),
          (b"\x93NUMPY", "an array of numpy", "name the model first, arrays behind --calibration of zeropoint quantize"))


def kind_of(path: Path) -> str:
    """onnx, tflite or pt2, as which a pickled file counts too, so that its reader refuses it. Raises ZeropointError where it is none."""
    if path.is_dir() and path.suffix.lower() not in SUFFIXES:
        if (path / "saved_model.pb").exists():
            raise refusal(path, "a SavedModel of TensorFlow", CONVERT)
        raise refusal(path, "a folder", "name a file in it")
    if path.suffix.lower() in SUFFIXES:
        return SUFFIXES[path.suffix.lower()]
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise ZeropointError(sentence_of(error, path)) from None
    if head[4:8] == b"TFL3":
        return "tflite"
    if zipfile.is_zipfile(path):
        return kind_of_archive(path)
    if len(head) > 2 and head[0] == 0x80 and head[1] in range(2, 6):
        return "pt2"
    # An ONNX file is a protobuf, which has no signature: field 1, the version of the format, and then another field of text or a graph.
    if len(head) > 2 and head[0] == 0x08 and 0 < head[1] < 0x80 and head[2] in (0x12, 0x1a, 0x22, 0x3a, 0x42):
        return "onnx"
    for begin, what, do in OTHERS:
        if head.startswith(begin):
            raise refusal(path, what, do)
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < path.stat().st_size:
        raise refusal(path, "safetensors, which are weights without a network", "import the module that they are of, as ONNX or a .pt2")
    raise refusal(path, "none of them" if head else "an empty file", "export the model to one of these")


def kind_of_archive(path: Path) -> str:
    """pt2, of a zip file of PyTorch. Raises ZeropointError."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.endswith(("models/model.json", "serialized_exported_program.json", "data.pkl")) for name in names):
        return "pt2"
    raise refusal(path, "a zip archive that is not PyTorch's", "unpack it, or export the model to one of these")


def refusal(path: Path, found: str, do: str) -> ZeropointError:
    """One sentence."""
    return ZeropointError(f"{path}: expected a model of ONNX (.onnx), TensorFlow Lite (.tflite) or torch.export.save (.pt2), found {found}; {do}")
