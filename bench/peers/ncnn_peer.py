# SPDX-License-Identifier: BSD-3-Clause
"""ncnn, through its Python module, which exports nothing else: graphs are written here in its two files, a text of layers and
their weights. Its int8 codes are symmetric, -127 to 127, so activations behind a ReLU use half of them.

Sums are of 16-bit products and exact; outputs are rounded half away from zero. With 3x3 filters it takes Winograd's transforms in 16
bits, for which its tools quantize weights to 6 bits: with 8, the largest ones of one sign wrap around there. Without (its option
use_winograd_convolution) it is always exact. Both are contenders."""
import pathlib
import tempfile

import ncnn
import numpy as np

INT8_WEIGHTS = 0x000D4B38  # the tag in front of such weights
REQUANTIZED = 101          # int8_scale_term: outputs are codes; 1: floats
ACTIVATIONS = {"": "9=0", "relu": "9=1", "relu6": "9=3 -23310=2,0.0,6.0"}


class GraphBuilder:
    """Layers with their blobs, each of which has one reader: others get a copy by Split, which copies nothing."""
    def __init__(self):
        self.layers, self.blobs, self.weights = [], 0, bytearray()

    def layer(self, kind: str, inputs: list[str], outputs: int, parameters: str = "") -> list[str]:
        names = [f"b{self.blobs + i}" for i in range(outputs)]
        self.blobs += outputs
        self.layers.append(f"{kind} l{len(self.layers)} {len(inputs)} {outputs} {' '.join([*inputs, *names])} {parameters}")
        return names

    def constants(self, codes: np.ndarray, bias: np.ndarray, w_scale: np.ndarray, *scales: float) -> None:
        """Scales of activations; as factors to codes, as everywhere in ncnn."""
        content = codes.astype(np.int8).tobytes()
        self.weights += np.uint32(INT8_WEIGHTS).tobytes() + content + bytes(-len(content) % 4)
        for values in (bias, 1 / w_scale, *(np.array([1 / scale]) for scale in scales)):
            self.weights += values.astype(np.float32).tobytes()

    def text(self) -> str:
        return "\n".join(["7767517", f"{len(self.layers)} {self.blobs}", *self.layers, ""])


def window_parameters(out_channels: int, weights: int, kernel: tuple[int, int], stride: int, padding: int, groups: int,
                      scale_term: int, activation: str) -> str:
    kernel_height, kernel_width = kernel
    return (f"0={out_channels} 1={kernel_width} 11={kernel_height} 3={stride} 4={padding} 5=1 6={weights} "
            f"{f'7={groups} ' if groups > 1 else ''}8={scale_term} {ACTIVATIONS[activation]}")


class Net:
    """A graph of one input and one output. Calls come from a loop in Python."""
    def __init__(self, name: str, graph: GraphBuilder, x: np.ndarray, winograd: bool,
                 gives_codes: bool = False, threads: int = 1):
        self.name, self.net = name, ncnn.Net()
        self.x = ncnn.Mat(*x.shape[::-1], elemsize=x.itemsize)  # whose channels begin at multiples of 16 bytes
        np.asarray(self.x)[...] = x
        self.net.opt.num_threads = threads
        self.net.opt.use_winograd_convolution = winograd
        with tempfile.TemporaryDirectory() as folder:
            files = pathlib.Path(folder) / "net.param", pathlib.Path(folder) / "net.bin"
            files[0].write_text(graph.text())
            files[1].write_bytes(graph.weights)
            if self.net.load_param(str(files[0])) != 0 or self.net.load_model(str(files[1])) != 0:
                raise RuntimeError(f"ncnn does not load\n{graph.text()}")
        self.input, self.result = self.net.input_names()[0], self.net.output_names()[0]
        self.gives_codes, self.y = gives_codes, None

    def run(self, repeats: int, as_computed: int = 1) -> None:
        """as_computed: 1 leaves codes as they are and eight channels side by side, 0 makes floats of them."""
        for _ in range(repeats):
            extractor = self.net.create_extractor()
            extractor.input(self.input, self.x)
            _, self.y = extractor.extract(self.result, as_computed)

    def output(self) -> np.ndarray:
        """NHWC; codes as the others have them, with 128 as zero point."""
        self.run(1, 0)
        y = self.y.numpy()
        y = y.transpose(1, 2, 0) if y.ndim == 3 else y
        return (y + 128).astype(np.uint8) if self.gives_codes else y


def layers(case, operands) -> list[Net]:
    """Products are 1x1 convolutions: its InnerProduct has float outputs."""
    x = (operands.x.astype(np.int16) - operands.x_zero_point).astype(np.int8).transpose(2, 0, 1)
    graph = GraphBuilder()
    blob, = graph.layer("Input", [], 1)
    groups, channels = case.groups, case.out_channels
    graph.layer("ConvolutionDepthWise" if groups > 1 else "Convolution", [blob], 1,
                window_parameters(channels, operands.weights.size, (case.kernel_height, case.kernel_width), case.stride, case.padding,
                                  groups, REQUANTIZED, ""))
    bias = operands.bias * operands.w_scale * np.float32(operands.x_scale)
    graph.constants(operands.weights.transpose(0, 3, 1, 2), bias, operands.w_scale, operands.x_scale, operands.y_scale)
    by_winograd = [True] if (case.kernel_height, case.stride, groups) == (3, 1, 1) else []
    return [Net("ncnn winograd" if winograd else "ncnn", graph, x, winograd, True) for winograd in [*by_winograd, False]]
