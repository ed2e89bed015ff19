#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions and linear layers of a training step, forward and both gradients, beside PyTorch's in float32.

    python3 bench/peers/compare_gradients.py --out docs/performance

One thread, the same operands, interleaved rounds in one process, as compare.py does it (README.md here). PyTorch gets images in
both of its memory formats, and the faster one counts.
"""
import ctypes

import compare_dynamic
import timing
import zeropoint_peer

# name: height and width, in and out channels, kernel, stride, groups; samples
LAYERS = {
    "ResNet-20, 3x3, 32x32x16": ((32, 16, 16, 3, 1, 1), 32),
    "3x3 stride 2, 32x32x16 to 32": ((32, 16, 32, 3, 2, 1), 32),
    "3x3, 16x16x32": ((16, 32, 32, 3, 1, 1), 32),
    "3x3, 8x8x64": ((8, 64, 64, 3, 1, 1), 32),
    "3x3, 32x32x3 to 16": ((32, 3, 16, 3, 1, 1), 32),
    "1x1, 16x16x32 to 64": ((16, 32, 64, 1, 1, 1), 32),
    "depthwise 3x3, 16x16x64": ((16, 64, 64, 3, 1, 64), 32),
    "digits, 3x3, 8x8x16": ((8, 16, 16, 3, 1, 1), 64),
    "linear 784 to 512": ((1, 784, 512, 1, 1, 1), 64),
    "linear 512 to 256": ((1, 512, 256, 1, 1, 1), 64),
    "linear 256 to 10": ((1, 256, 10, 1, 1, 1), 64),
}
KINDS = ("forward", "dx", "dw")


class Zeropoint:
    def __init__(self, library: ctypes.CDLL, what: int, numbers, samples: int, x, w, y):
        import numpy as np
        self.name, self.c, self.what, self.samples = "zeropoint", library, what, samples
        self.numbers = np.array(numbers, np.int32)
        self.x, self.w, self.y = x.copy(), w.copy(), y.copy()
        if what == 2:
            self.w[:] = 0
        self.scratch = np.empty(max(library.zp_gradient_scratch(zeropoint_peer.pointer(self.numbers)), 1), np.float32)

    def run(self, repeats: int) -> None:
        arrays = (zeropoint_peer.pointer(one) for one in (self.x, self.w, self.y, self.scratch))
        self.c.zp_gradient_run(self.what, zeropoint_peer.pointer(self.numbers), self.samples, *arrays, repeats)

    def output(self):
        return (self.y, self.x, self.w)[self.what]


class Torch:
    """`x`, `w` and `y` NHWC and OHWI; what comes out is in that order, too."""

    def __init__(self, what: int, numbers, x, w, y, channels_last: bool):
        import torch
        self.name = f"PyTorch, channels {'last' if channels_last else 'first'}"
        _, _, _, kernel, stride, groups = numbers
        self.is_linear = numbers[0] == 1
        memory = torch.channels_last if channels_last else torch.contiguous_format
        x, w, y = (torch.from_numpy(one).permute(0, 3, 1, 2).contiguous(memory_format=memory) for one in (x, w, y))
        pad = kernel // 2
        if self.is_linear:
            x, w, y = (one.reshape(one.shape[:2]) for one in (x, w, y))
            self.call = (lambda: torch.nn.functional.linear(x, w), lambda: y @ w, lambda: y.t() @ x)[what]
        elif what == 0:
            self.call = lambda: torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups)
        else:
            mask = [what == 1, what == 2, False]
            self.call = lambda: torch.ops.aten.convolution_backward(
                y, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, mask)[what - 1]

    def run(self, repeats: int) -> None:
        import torch
        with torch.no_grad():
            for _ in range(repeats):
                self.y = self.call()

    def output(self):
        return self.y.numpy() if self.is_linear else self.y.permute(0, 2, 3, 1).numpy()


def compare_layer(library, name: str, numbers, samples: int, seconds: float) -> str:
    import numpy as np
    random = np.random.default_rng(1)
    extent, channels, out, kernel, stride, groups = numbers
    outputs = (extent + 2 * (kernel // 2) - kernel) // stride + 1
    shapes = ((samples, extent, extent, channels), (out, kernel, kernel, channels // groups), (samples, outputs, outputs, out))
    x, w, y = (random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    cells = []
    for what in range(len(KINDS)):
        ours = Zeropoint(library, what, numbers, samples, x, w, y)
        ours.run(1)
        peers = [Torch(what, numbers, x, w, y, last) for last in ((True,) if extent == 1 else (True, False))]
        for peer in peers:
            peer.run(1)
            expected = peer.output().reshape(ours.output().shape)
            error = np.abs(ours.output() - expected).max() / np.abs(expected).max()
            assert error < 1e-5, f"{name}, {KINDS[what]}: {error} of the largest value from {peer.name}'s"
        times = timing.interleaved([ours, *peers], seconds)
        mine, theirs = times[ours.name].best, min(times[peer.name].best for peer in peers)
        cells.append(f"{mine * 1e6:.0f} / {theirs * 1e6:.0f} | {theirs / mine:.2f}")
    return f"| {name} | {samples} | " + " | ".join(cells) + " |"


def main() -> None:
    options = compare_dynamic.arguments(__doc__)
    library = ctypes.CDLL(str(compare_dynamic.build(options, "zeropoint_gradients")))
    import torch  # only now: the mask must be in place before

    torch.set_num_threads(1)
    library.zp_gradient_scratch.restype = ctypes.c_size_t
    lines = [*compare_dynamic.heading("Layers of a training step", options)[:-2],
             "| layer | samples | forward, us, ours / PyTorch's | times as fast | dx | | dw | |", "|---" * 8 + "|"]
    for name, (numbers, samples) in LAYERS.items():
        lines.append(compare_layer(library, name, numbers, samples, options.seconds / 4))
        print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        (options.out / "gradients.md").write_text(text)


if __name__ == "__main__":
    main()
