# SPDX-License-Identifier: BSD-3-Clause
"""Networks as ncnn's graphs, quantized as its tools do it: convolutions and linear layers take codes, a convolution that only
convolutions follow leaves codes, everything else is float."""
import numpy as np

from ncnn_peer import ACTIVATIONS, REQUANTIZED, GraphBuilder, Net, window_parameters


class NetworkBuilder:
    def __init__(self, net: list, ranges: list[tuple[float, float]]):
        self.net, self.graph = net, GraphBuilder()
        self.scales = [max(abs(low), abs(high)) / 127 for low, high in ranges]
        self.readers = [[k for k, other in enumerate(net) for source in other.inputs if source == i] for i in range(len(net))]
        self.copies = []
        for i in range(len(net)):
            output, = self.add(i)
            count = len(self.readers[i])
            self.copies.append(self.graph.layer("Split", [output], count) if count > 1 else [output])

    def constants(self, node, *scales: float) -> None:
        w_scale = np.abs(node.weight).reshape(len(node.weight), -1).max(1) / 127
        codes = np.rint(node.weight.reshape(len(w_scale), -1) / w_scale[:, None])
        self.graph.constants(codes, node.bias, w_scale, *scales)

    def add(self, i: int) -> list[str]:
        node, layer = self.net[i], self.graph.layer
        inputs = [self.copies[k].pop() for k in node.inputs]
        if node.kind == "conv":
            leaves_codes = all(self.net[k].kind == "conv" for k in self.readers[i])
            self.constants(node, self.scales[node.inputs[0]], *([self.scales[i]] if leaves_codes else []))
            return layer("ConvolutionDepthWise" if node.groups > 1 else "Convolution", inputs, 1,
                         window_parameters(len(node.weight), node.weight.size, node.weight.shape[2:], node.stride, node.padding,
                                           node.groups, REQUANTIZED if leaves_codes else 1, node.activation))
        if node.kind == "linear":
            self.constants(node, self.scales[node.inputs[0]])
            return layer("InnerProduct", inputs, 1,
                         f"0={len(node.weight)} 1=1 2={node.weight.size} 8=1 {ACTIVATIONS[node.activation]}")
        if node.kind == "max_pool":
            return layer("Pooling", inputs, 1, f"0=0 1={node.kernel} 2={node.stride} 3={node.padding} 5=1")
        if node.kind == "global_avg_pool":
            return layer("Pooling", inputs, 1, "0=1 4=1")
        if node.kind == "add":
            sums = layer("BinaryOp", inputs, 1, "0=0")
            return layer("ReLU", sums, 1) if node.activation == "relu" else sums
        return layer("Input", [], 1) if node.kind == "input" else layer("Flatten", inputs, 1)


def models(net: list, x: np.ndarray, ranges: list[tuple[float, float]], threads: int = 1) -> list[Net]:
    """x: NCHW or 1 x features."""
    has_3x3 = any(node.kind == "conv" and node.weight.shape[2] == 3 and node.groups == 1 and node.stride == 1 for node in net)
    return [Net("ncnn winograd" if winograd else "ncnn", NetworkBuilder(net, ranges).graph, x[0], winograd, threads=threads)
            for winograd in ([True, False] if has_3x3 else [False])]
