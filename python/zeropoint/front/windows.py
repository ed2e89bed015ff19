# SPDX-License-Identifier: BSD-3-Clause
"""Windows whose sides are padded differently, by layers that pad both sides alike."""

from __future__ import annotations

from typing import Any


def extents_of(extent: int, pad: int, kernel: int, stride: int, dilation: int, ceil: bool) -> int:
    """How many windows an axis has; rounded up, a last one begins in the image or in front of it."""
    free = extent + 2 * pad - (kernel - 1) * dilation - 1
    count = (-(-free // stride) if ceil else free // stride) + 1
    return count - 1 if ceil and (count - 1) * stride >= extent + pad else count


def alike_on_both_sides(extents: list[int], out: list[int], pads: tuple[list[int], list[int]], attrs: dict[str, Any]) -> \
        tuple[list[int], bool, list[int]] | None:
    """A padding of both sides, whether extents are rounded up, and which window of each axis is the first one wanted, so that a pool
    whose padding has no values gives what one of these pads gives; None where there is none."""
    kernel, stride, dilation = attrs["kernel"], attrs["stride"], attrs["dilation"]
    for ceil in (False, True):
        chosen, firsts = [], []
        for n, count, begin, end, k, s, d in zip(extents, out, *pads, kernel, stride, dilation):
            # windows begin at -pad, -pad + stride, ...: those of the source are among them where the difference is whole strides
            fits = (pad for pad in sorted({begin, max(begin, end)}) if (pad - begin) % s == 0 and 2 * pad <= k
                    and extents_of(n, pad, k, s, d, ceil) >= (pad - begin) // s + count
                    and not (ceil and pad and attrs["kind"] == "avg"))
            pad = next(fits, None)
            if pad is None:
                break
            chosen.append(pad)
            firsts.append((pad - begin) // s)
        else:
            return chosen, ceil, firsts
    return None


def pool(call: Any, x: Any, extents: tuple[int, ...], attrs: dict[str, Any], **given: Any) -> None:
    """The output of a call that is the pool of x, N x C and these extents; given: to its `give`."""
    begin, end = (list(side) for side in attrs["pads"])
    out = list(extents[2:])
    found = None
    if begin != end and not attrs["count_include_pad"]:
        found = alike_on_both_sides(list(x.shape[2:]), out, (begin, end), attrs)
    if found is None:
        call.give("pool", [x], **given, **attrs)
        return
    pads, ceil, firsts = found
    counts = [extents_of(n, p, k, s, d, ceil) for n, p, k, s, d in
              zip(x.shape[2:], pads, attrs["kernel"], attrs["stride"], attrs["dilation"])]
    attrs = {**attrs, "pads": (pads, pads), "ceil": ceil}
    if counts == out:
        call.give("pool", [x], **given, **attrs)
        return
    shape = [*extents[:2], *counts]
    current = call.make("pool", [x], tuple(shape), **attrs)
    current.coding = x.coding
    for axis, (first, count) in enumerate(zip(firsts, out), 2):
        if shape[axis] != count:
            shape[axis] = count
            current = call.make("slice", [current], tuple(shape), axis=axis, begin=first, end=first + count, step=1)
            current.coding = x.coding
    call.give("identity", [current], **given)
