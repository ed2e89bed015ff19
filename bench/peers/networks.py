# SPDX-License-Identifier: BSD-3-Clause
"""The networks of bench/models once more, for the peers: the same layers, read with zeropoint's own weights."""
import dataclasses

import numpy as np


@dataclasses.dataclass
class Node:
    kind: str                 # input conv linear max_pool global_avg_pool add flatten
    inputs: list[int]         # positions of earlier nodes
    activation: str = ""      # relu or relu6, behind it
    weight: np.ndarray | None = None  # as PyTorch has it, batch norm folded
    bias: np.ndarray | None = None
    kernel: int = 1           # of max_pool
    stride: int = 1
    padding: int = 0
    groups: int = 1


class Network(list):
    """A list of nodes in the order in which they run; each method appends one and returns its position."""
    def __init__(self, weights: dict[str, np.ndarray]):
        super().__init__([Node("input", [])])
        self.weights = weights

    def add_node(self, node: Node) -> int:
        self.append(node)
        return len(self) - 1

    def conv(self, x: int, name: str, norm: str = "", activation: str = "", **attributes) -> int:
        weight = self.weights[name + ".weight"]
        bias = self.weights.get(name + ".bias", np.zeros(weight.shape[0], np.float32))
        if norm:
            mean, variance, gain, shift = (self.weights[f"{norm}.{part}"]
                                           for part in ("running_mean", "running_var", "weight", "bias"))
            factor = gain / np.sqrt(variance + np.float32(1e-5))
            weight, bias = weight * factor[:, None, None, None], (bias - mean) * factor + shift
        return self.add_node(Node("conv", [x], activation, weight, bias, **attributes))

    def linear(self, x: int, name: str, activation: str = "") -> int:
        return self.add_node(Node("linear", [x], activation, self.weights[name + ".weight"],
                                  self.weights[name + ".bias"]))

    def max_pool(self, x: int, kernel: int, stride: int, padding: int = 0) -> int:
        return self.add_node(Node("max_pool", [x], kernel=kernel, stride=stride, padding=padding))

    def global_avg_pool(self, x: int) -> int:
        return self.add_node(Node("global_avg_pool", [x]))

    def flatten(self, x: int) -> int:
        return self.add_node(Node("flatten", [x]))

    def add(self, x: int, y: int, activation: str = "") -> int:
        return self.add_node(Node("add", [x, y], activation))


def mlp(net: Network) -> None:
    net.linear(net.linear(net.linear(0, "fc1", "relu"), "fc2", "relu"), "fc3")


def lenet(net: Network) -> None:
    x = net.max_pool(net.conv(0, "conv1", activation="relu", padding=2), 2, 2)
    x = net.max_pool(net.conv(x, "conv2", activation="relu"), 2, 2)
    net.linear(net.linear(net.linear(net.flatten(x), "fc1", "relu"), "fc2", "relu"), "fc3")


def resnet18(net: Network) -> None:
    x = net.max_pool(net.conv(0, "conv1", "bn1", "relu", stride=2, padding=3), 3, 2, 1)
    for layer in range(1, 5):
        for block in range(2):
            name, stride = f"layer{layer}.{block}", 2 if layer > 1 and block == 0 else 1
            y = net.conv(x, f"{name}.conv1", f"{name}.bn1", "relu", stride=stride, padding=1)
            y = net.conv(y, f"{name}.conv2", f"{name}.bn2", padding=1)
            if stride == 2:
                x = net.conv(x, f"{name}.downsample.0", f"{name}.downsample.1", stride=2)
            x = net.add(y, x, "relu")
    net.linear(net.flatten(net.global_avg_pool(x)), "fc")


def mobilenet_v2(net: Network) -> None:
    x = net.conv(0, "features.0.0", "features.0.1", "relu6", stride=2, padding=1)
    strides = [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]
    for i, stride in enumerate(strides, 1):
        name, y = f"features.{i}.conv", x
        if i > 1:
            y = net.conv(y, f"{name}.0.0", f"{name}.0.1", "relu6")
        depthwise = f"{name}.{1 if i > 1 else 0}"
        groups = net.weights[f"{depthwise}.0.weight"].shape[0]
        y = net.conv(y, f"{depthwise}.0", f"{depthwise}.1", "relu6", stride=stride, padding=1, groups=groups)
        project = 2 if i > 1 else 1
        y = net.conv(y, f"{name}.{project}", f"{name}.{project + 1}")
        has_shortcut = stride == 1 and net[y].weight.shape[0] == (net[x].weight if net[x].kind == "conv" else
                                                                  net[net[x].inputs[0]].weight).shape[0]
        x = net.add(y, x) if has_shortcut else y
    x = net.conv(x, "features.18.0", "features.18.1", "relu6")
    net.linear(net.flatten(net.global_avg_pool(x)), "classifier.1")


BUILDERS = {"mlp_64": mlp, "mlp_784": mlp, "lenet": lenet, "resnet18": resnet18, "mobilenet_v2": mobilenet_v2}


def network(name: str, weights: dict[str, np.ndarray]) -> Network:
    net = Network(weights)
    BUILDERS[name](net)
    return net
