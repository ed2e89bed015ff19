# SPDX-License-Identifier: BSD-3-Clause
"""Writes safetensors files whose bytes depend on their content alone.

The safetensors library orders the metadata of a file at random; here it is sorted, so that running a script twice gives
the same file and a changed file in a commit is a changed content.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def save(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """Writes `tensors` and `metadata` to `path`, makes missing folders, prints the size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, path, metadata=metadata)
    content = path.read_bytes()
    header_end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:header_end])
    sorted_header = {"__metadata__": dict(sorted(header.pop("__metadata__").items())), **header}
    text = json.dumps(sorted_header, separators=(",", ":"), ensure_ascii=False).encode().ljust(header_end - 8)
    assert len(text) == header_end - 8, "sorting the metadata must not change the length of the header"
    path.write_bytes(content[:8] + text + content[header_end:])
    assert load_file(path).keys() == tensors.keys()
    print(f"{path}: {len(tensors)} tensors, {path.stat().st_size} bytes")
