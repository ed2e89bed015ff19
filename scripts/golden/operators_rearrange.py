# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/operators_rearrange.safetensors: PyTorch's operators that move values, and its interpolation.

    python scripts/golden/operators_rearrange.py

Groups `<operator>/<case>`; x U8 [1, C, H, W] and what PyTorch makes of it, y, in the same layout; `options` I32:

    slice               axis (of 1, C, H, W), begin, end, step
    permute             the axes of the output's C, H, W
    flip                axes
    roll                shifts of C, H, W
    expand, reshape     C, H, W of the output
    pixel_shuffle, pixel_unshuffle, channel_shuffle     factor or groups
    gather              axis, then the indices
    cat                 axis; x0, x1, x2 in place of x
    pad_constant        (value 7), pad_reflect, pad_replicate, pad_circular: before and after W, H, C
    nearest, nearest_exact                              size of the output
    nearest_factor, nearest_exact_factor                numerator and denominator of scale_factor
    argmax              y I32: the first index of the largest channel
    where               x0, x1, x2: x0 != 0 ? x1 : x2, x0 with one or all channels

bilinear and bilinear_factor have floats, computed in double and rounded to F32: options as for nearest, then align_corners.
`sources` holds the inputs that PyTorch's nearest takes: for every size `in`, `out` of options I32 [n, 2] the indices, one
behind the other.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402


def main() -> None:
    generator = np.random.default_rng(31)
    file = GoldenFile("operators_rearrange", "operators_rearrange.py", torch_versions("none"))

    def codes(*extents: int) -> torch.Tensor:
        return torch.from_numpy(generator.integers(0, 256, (1, *extents)).astype(np.uint8))

    def add(group: str, options, y: torch.Tensor, **inputs: torch.Tensor) -> None:
        tensors = {name: tensor.contiguous().numpy() for name, tensor in inputs.items()}
        file.add(group, [], {**tensors, "options": np.int32(options), "y": y.contiguous().numpy()})

    x = codes(6, 4, 5)
    for number, (axis, begin, end, step) in enumerate([(1, 1, 5, 1), (2, 0, 3, 2), (3, 2, 5, 1), (1, -4, -1, 2)]):
        index = [slice(None)] * 4
        index[axis] = slice(begin, end, step)
        add(f"slice/{number}", [axis, begin, end, step], x[tuple(index)], x=x)
    for number, order in enumerate([(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)]):
        add(f"permute/{number}", order, x.permute(0, *order), x=x)
    for number, axes in enumerate([(1,), (2,), (3,), (2, 3), (1, 2, 3)]):
        add(f"flip/{number}", axes, x.flip(axes), x=x)
    for number, shifts in enumerate([(0, 1, 0), (2, -1, 3), (-7, 9, 2)]):
        add(f"roll/{number}", shifts, x.roll(shifts, (1, 2, 3)), x=x)
    for number, (extents, out) in enumerate([((6, 1, 1), (6, 3, 4)), ((1, 3, 4), (5, 3, 4)), ((1, 1, 4), (2, 3, 4))]):
        part = codes(*extents)
        add(f"expand/{number}", out, part.expand(1, *out), x=part)
    for number, (extents, out) in enumerate(
        [
            ((6, 4, 5), (12, 2, 5)),
            ((6, 4, 5), (120, 1, 1)),
            ((6, 4, 5), (4, 5, 6)),
            ((6, 4, 5), (6, 5, 4)),
            ((6, 4, 5), (15, 2, 4)),
            ((60, 1, 1), (5, 4, 3)),
            ((1, 6, 4), (1, 8, 3)),
            ((8, 2, 3), (12, 4, 1)),
        ]
    ):
        image = codes(*extents)
        add(f"reshape/{number}", out, image.reshape(1, *out), x=image)
    for factor in (2, 3):
        image = codes(2 * factor * factor, 3, 2)
        add(f"pixel_shuffle/{factor}", [factor], F.pixel_shuffle(image, factor), x=image)
        image = codes(3, 2 * factor, factor)
        add(f"pixel_unshuffle/{factor}", [factor], F.pixel_unshuffle(image, factor), x=image)
        image = codes(12, 3, 2)
        add(f"channel_shuffle/{factor}", [factor], F.channel_shuffle(image.float(), factor).byte(), x=image)
    for axis, indices in ((1, [5, 0, 0, 3]), (2, [3, 1]), (3, [4, 4, 2, 0, 1, 3])):
        add(f"gather/{axis}", [axis, *indices], x.index_select(axis, torch.tensor(indices)), x=x)
    for axis in (1, 2, 3):
        parts = []
        for extent in (2, 1, 3):
            extents = [3, 4, 2]
            extents[axis - 1] = extent
            parts.append(codes(*extents))
        add(f"cat/{axis}", [axis], torch.cat(parts, axis), x0=parts[0], x1=parts[1], x2=parts[2])
    for number, sides in enumerate([(1, 2, 3, 0, 0, 0), (0, 4, 1, 1, 2, 3)]):
        add(f"pad_constant/{number}", sides, F.pad(x, sides, value=7), x=x)
        for mode in ("reflect", "replicate", "circular"):
            y = F.pad(x.double()[None], (*sides[:4], *sides[4:]), mode=mode)[0].byte()
            add(f"pad_{mode}/{number}", sides, y, x=x)

    for mode in ("nearest", "nearest-exact"):
        name = mode.replace("-", "_")
        for number, size in enumerate([(8, 10), (7, 3), (4, 13), (1, 1)]):
            add(f"{name}/{number}", size, F.interpolate(x, size=size, mode=mode), x=x)
        for number, (p, q) in enumerate([(2, 1), (3, 1), (3, 2), (7, 10)]):
            add(f"{name}_factor/{number}", [p, q], F.interpolate(x, scale_factor=p / q, mode=mode), x=x)
    # Many sizes, one row each.
    pairs = [(i, o) for i in range(1, 40, 4) for o in range(2, 60, 9)]
    sources = []
    for extent, out in pairs:
        row = torch.arange(extent, dtype=torch.float32).reshape(1, 1, extent)
        sources.append(F.interpolate(row, size=out, mode="nearest").reshape(-1))
    file.add("sources/0", [], {"options": np.int32(pairs), "y": torch.cat(sources).byte().numpy()})

    real = torch.from_numpy(generator.normal(0, 1, (1, 3, 4, 5)).astype(np.float32))
    for align in (False, True):
        for number, size in enumerate([(8, 10), (7, 3), (1, 1), (12, 15)]):
            y = F.interpolate(real.double(), size=size, mode="bilinear", align_corners=align).float()
            add(f"bilinear/{number}_{int(align)}", [*size, align], y, x=real)
    for number, (p, q) in enumerate([(2, 1), (3, 2), (7, 10)]):
        y = F.interpolate(real.double(), scale_factor=p / q, mode="bilinear", align_corners=False).float()
        add(f"bilinear_factor/{number}", [p, q, 0], y, x=real)

    image = codes(21, 3, 4)
    largest = torch.from_numpy(image.numpy().argmax(1).astype(np.int32))[:, None]
    assert torch.equal(largest, image.float().argmax(1, keepdim=True).int())
    add("argmax/0", [0], largest, x=image)
    for channels in (1, 6):
        condition = codes(channels, 4, 5) * (codes(channels, 4, 5) > 127)
        other = codes(6, 4, 5)
        add(f"where/{channels}", [0], torch.where(condition != 0, x, other), x0=condition, x1=x, x2=other)
    file.save()


if __name__ == "__main__":
    main()
