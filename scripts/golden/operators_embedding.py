# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_embedding.safetensors: PyTorch's embedding and embedding_bag with 8- and 4-bit weights.

    python scripts/golden/operators_embedding.py

Groups embedding_byte/<n>, embedding_4bit/<n>, embedding_bag_byte/<n>, embedding_bag_4bit/<n>:

    table U8 [rows, columns + 8] (byte) or [rows, columns / 2 + 4] (4bit): the packed rows, as PyTorch stores them
    weight F32 [rows, columns]: the float weights that were packed
    indices I32 [count]; bags: offsets I32 [bags], the first index of each, and weights F32 [count] where it is weighted
    y F32 [count or bags, columns]

    byte   a row is its codes U8, then scale F32 = (max - min) / 255, then bias F32 = min
           code = rint((w - min) * (255 / (max - min + 1e-8)))
    4bit   a row is its codes, the first of a pair in the low bits, then scale F16 = (max - min) / 15, bias F16 = min
           code = clamp(rint((w - min) * (1 / scale)), 0, 15), min and scale as rounded to F16
    value  = code * scale + bias; a bag is the sum, in order

Checked: the packed bytes against those formulas for equality; y against float64 within 2e-6 relative to the sum of
magnitudes (fbgemm fuses multiply and add, or does not, depending on the processor). Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402

warnings.filterwarnings("ignore")


def pack_byte(weight: np.ndarray) -> np.ndarray:
    low, high = weight.min(axis=1, keepdims=True), weight.max(axis=1, keepdims=True)
    span = high - low
    inverse = np.float32(255) / (span + np.float32(1e-8))
    codes = np.rint((weight - low) * inverse).astype(np.uint8)
    return np.concatenate([codes, (span / np.float32(255)).view(np.uint8), low.view(np.uint8)], axis=1)


def pack_4bit(weight: np.ndarray) -> np.ndarray:
    low = weight.min(axis=1, keepdims=True).astype(np.float16)
    span = weight.max(axis=1, keepdims=True) - low.astype(np.float32)
    scale = (span / np.float32(15)).astype(np.float16)
    inverse = np.float32(1) / scale.astype(np.float32)
    codes = np.clip(np.rint((weight - low.astype(np.float32)) * inverse), 0, 15).astype(np.uint8)
    pairs = codes[:, 0::2] | codes[:, 1::2] << 4
    return np.concatenate([pairs, scale.view(np.uint8), low.view(np.uint8)], axis=1)


def unpack(table: np.ndarray, bits: int) -> np.ndarray:
    """The values, in double."""
    kind = np.float32 if bits == 8 else np.float16
    size = np.dtype(kind).itemsize
    codes, tail = table[:, : -2 * size], np.ascontiguousarray(table[:, -2 * size :]).view(kind).astype(np.float64)
    if bits == 4:
        codes = np.stack([codes & 15, codes >> 4], axis=-1).reshape(len(table), -1)
    return codes * tail[:, :1] + tail[:, 1:]


def main() -> None:
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    generator = np.random.default_rng(27)
    file = GoldenFile("operators_embedding", "operators_embedding.py", torch_versions("fbgemm"))
    ops = torch.ops.quantized
    for bits, name, pack, reference in (
        (8, "byte", ops.embedding_bag_byte_prepack, pack_byte),
        (4, "4bit", ops.embedding_bag_4bit_prepack, pack_4bit),
    ):
        for number, (rows, columns) in enumerate(((10, 8), (23, 16), (7, 34))):
            weight = (generator.normal(0, 1, (rows, columns)) * generator.uniform(0.1, 3, (rows, 1))).astype(np.float32)
            table = pack(torch.from_numpy(weight)).numpy()
            assert np.array_equal(table, reference(weight)), f"{name}: another packing"
            values, count = unpack(table, bits), 12
            indices = generator.integers(0, rows, count)
            quantized_weight = torch.quantize_per_channel(
                torch.from_numpy(weight),
                torch.from_numpy((weight.max(1) - weight.min(1)) / (2**bits - 1)),
                torch.from_numpy(-weight.min(1) * (2**bits - 1) / (weight.max(1) - weight.min(1))),
                0,
                torch.quint8 if bits == 8 else torch.quint4x2,
            )
            packed = ops.embedding_bag_prepack(quantized_weight)
            rows_read = getattr(ops, f"embedding_{name}")(packed, torch.from_numpy(indices)).numpy()
            stored = ops.embedding_bag_unpack(packed).dequantize().numpy()
            # The packed 4-bit tensor holds its scales in half precision, the unpacked one does not.
            tolerance = 2e-6 if bits == 8 else 2e-3
            assert np.allclose(rows_read, stored[indices], rtol=0, atol=tolerance * np.abs(weight).max()), name
            offsets = np.array([0, 3, 3, 8])
            weighted = number == 1
            sample_weights = generator.uniform(0.2, 2, count).astype(np.float32) if weighted else None
            y = getattr(ops, f"embedding_bag_{name}_rowwise_offsets")(
                torch.from_numpy(table),
                torch.from_numpy(indices),
                torch.from_numpy(offsets),
                False,
                0,
                False,
                torch.from_numpy(sample_weights) if weighted else None,
                None,
                False,
            ).numpy()
            factors = (sample_weights if weighted else np.ones(count, np.float32)).astype(np.float64)[:, None]
            ends = [*offsets[1:], count]
            terms = [(values[indices[a:b]] * factors[a:b]) for a, b in zip(offsets, ends)]
            expected = np.stack([term.sum(axis=0) for term in terms])
            magnitude = np.stack([np.abs(term).sum(axis=0) for term in terms]) + np.abs(weight).max()
            assert (np.abs(y - expected) <= 2e-6 * magnitude).all(), f"embedding_bag_{name}: another sum"
            shared = {"table": table, "weight": weight, "indices": indices.astype(np.int32)}
            bag = {"offsets": offsets.astype(np.int32), "y": y, **({"weights": sample_weights} if weighted else {})}
            file.add(f"embedding_bag_{name}/{number}", [], {**shared, **bag})
            every = getattr(ops, f"embedding_bag_{name}_rowwise_offsets")(
                torch.from_numpy(table),
                torch.from_numpy(indices),
                torch.arange(count),
                False,
                0,
                False,
                None,
                None,
                False,
            ).numpy()
            assert (np.abs(every - values[indices]) <= 2e-6 * np.abs(weight).max()).all(), name
            file.add(
                f"embedding_{name}/{number}", [], {"table": table, "indices": indices.astype(np.int32), "y": every}
            )
    file.save()


if __name__ == "__main__":
    main()
