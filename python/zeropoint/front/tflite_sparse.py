# SPDX-License-Identifier: BSD-3-Clause
"""Constants of TensorFlow Lite that have their zeros left out."""

from __future__ import annotations

from typing import Any

import numpy as np


def dense_of(sparsity: Any, extents: tuple[int, ...], values: np.ndarray) -> np.ndarray:
    """All values of a tensor, of these extents, from those that are kept. Raises ValueError where the tables do not fit.

    Levels are axes in the order in which they are stored, those of blocks behind those of the tensor: a dense level has all of its
    indices, a sparse one a range of a list of them for each index of the levels in front.
    """
    rank, order = len(extents), [int(axis) for axis in sparsity.traversalOrder]
    places = np.zeros((1, 0), np.int64)  # an index for each level so far
    for level in sparsity.dimMetadata:
        if level.format == 0:
            count = int(level.denseSize)
            indices, repeats = np.tile(np.arange(count), len(places)), np.full(len(places), count)
        else:
            ends = np.asarray(level.arraySegments.values).astype(np.int64)
            indices, repeats = np.asarray(level.arrayIndices.values).astype(np.int64), np.diff(ends)
        if len(repeats) != len(places) or repeats.sum() != len(indices):
            raise ValueError("the segments of a sparse tensor are not those of its axes")
        places = np.concatenate([np.repeat(places, repeats, axis=0), indices[:, None]], axis=1)
    if len(places) != values.size or sorted(order) != list(range(places.shape[1])):
        raise ValueError(f"a sparse tensor has places for {len(places)} values, found {values.size}")
    if places.min(initial=0) < 0:
        raise ValueError("an index of a sparse tensor is negative")
    found = [places[:, order.index(axis)] for axis in range(rank)]
    for number, axis in enumerate(() if sparsity.blockMap is None else sparsity.blockMap):
        level = order.index(rank + number)
        found[axis] = found[axis] * int(sparsity.dimMetadata[level].denseSize) + places[:, level]
    dense = np.zeros(extents, values.dtype)
    dense[tuple(found)] = values.reshape(-1)
    return dense
