# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/safetensors_fixture.safetensors: what the reference implementation makes of every dtype and odd name.

    python scripts/golden/safetensors_fixture.py

The values are spelled out in tests/io/safetensors_golden.cpp, which also writes the same file itself and compares the
bytes. Versions: scripts/requirements.txt.
"""

import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402

OUTPUT = ROOT / "tests/golden/safetensors_fixture.safetensors"
REALS = [0.0, -0.0, 1.0, -2.5, 0.333251953125, 65504.0, 5.9604644775390625e-08, -6.103515625e-05]
INTEGERS = {torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
            torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"}

tensors = {
    "conv1.weight": torch.arange(18, dtype=torch.float32).reshape(2, 1, 3, 3) / 4 - 2,  # OIHW
    "bn1.num_batches_tracked": torch.tensor(1437),  # a scalar
    "f16": torch.tensor(REALS).half(),
    "bf16": torch.tensor(REALS).bfloat16(),
    "f64": torch.tensor(REALS, dtype=torch.float64),
    "bool": torch.tensor([[True, False, True]]),
    "empty": torch.empty(0, 3),
    "unread.f8_e4m3": torch.tensor([1.0, -0.5]).to(torch.float8_e4m3fn),
    "unread.f8_e5m2": torch.tensor([1.0, -0.5, 2.0]).to(torch.float8_e5m2),
    "unread.c64": torch.tensor([1 + 2j], dtype=torch.complex64),
    "größe.重み.🔢": torch.tensor([1.5]),
    'quote " backslash \\ solidus / newline \n bell \a delete \x7f': torch.tensor([2.5]),
    "": torch.tensor([3.5]),
}
for dtype, name in INTEGERS.items():
    limits = torch.iinfo(dtype)
    tensors[name] = torch.tensor([limits.min, 0, 1, limits.max], dtype=dtype)

stable_safetensors.save(OUTPUT, tensors, {"format": "pt", "Größe": 'tab \t, "quotes" and \x1f', "empty": ""})
