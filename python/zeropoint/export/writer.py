# SPDX-License-Identifier: BSD-3-Clause
"""ONNX files in the bytes of SerializeToString, a tensor at a time: those of the whole model would be all weights in memory once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

BYTES = 2  # protobuf's wire type of what has its length in front


def write_model(path: Path, model: Any) -> None:
    """A ModelProto. Raises OSError."""
    with path.open("wb") as file:
        for part in parts_of(model, ("graph", "initializer")):
            file.write(part)


def parts_of(message: Any, large: tuple[str, ...]) -> Iterator[bytes]:
    """The bytes of a message, those of its field large[0] one element after another, of which large[1] is such a field again."""
    if not large:
        yield message.SerializeToString()
        return
    for field, value in message.ListFields():  # in the order of their numbers, as SerializeToString has them
        if field.name == large[0]:
            for element in value if is_repeated(value) else [value]:
                size = sum(map(len, parts_of(element, large[1:])))  # ByteSize() would make all bytes at once
                yield varint(field.number << 3 | BYTES) + varint(size)
                yield from parts_of(element, large[1:])
        else:
            alone = type(message)()
            if is_repeated(value):
                getattr(alone, field.name).extend(value)
            elif hasattr(value, "CopyFrom"):
                getattr(alone, field.name).CopyFrom(value)
            else:
                setattr(alone, field.name, value)
            yield alone.SerializeToString()


def is_repeated(value: Any) -> bool:
    """Whether a field has several values."""
    return hasattr(value, "extend")


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first, as protobuf writes tags and lengths."""
    made = bytearray()
    while number > 0x7f:
        made.append(number & 0x7f | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
