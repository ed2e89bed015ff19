# SPDX-License-Identifier: BSD-3-Clause
"""Networks with concats, as graphs: written as C++ types over zp::builder, and run by PyTorch from the same lists of nodes."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

SIDE, CHANNELS, CLASSES = 16, 3, 10

# What programs that compare them begin with, behind their includes: a qconfig, and all outputs over images, one behind the other.
COMMON = """
struct min_max : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                             zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

template <class Network> std::vector<float> outputs(const Network& network, const std::vector<float>& images) {
    static typename Network::workspace memory;
    const std::size_t size = Network::input_shape.size(), classes = Network::output_shape.size();
    std::vector<float> all(images.size() / size * classes);
    for (std::size_t i = 0; i != images.size() / size; ++i)
        network(std::span(images).subspan(i * size, size), std::span(all).subspan(i * classes, classes), memory);
    return all;
}

"""


@dataclass
class Node:
    kind: str  # input, conv, max_pool, avg_pool, global_avg_pool, upsample, add, concat, flatten, linear
    inputs: list[int] = field(default_factory=list)
    channels: int = 0
    kernel: int = 1
    stride: int = 1
    relu: bool = False
    gain: float = 1.0  # how large the outputs of a conv or linear are, beside others'
    depthwise: bool = False
    relu6: bool = False  # in place of a relu


class Graph:
    """Nodes in the order in which they run; each method appends one and returns its number."""

    def __init__(self, name: str, channels: int = CHANNELS) -> None:
        self.name = name
        self.nodes = [Node("input", [], channels)]

    def append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def conv(self, x: int, channels: int, kernel: int = 3, stride: int = 1, relu: bool = True, gain: float = 1) -> int:
        return self.append(Node("conv", [x], channels, kernel, stride, relu, gain))

    def depthwise(self, x: int, stride: int = 1, relu: bool = True) -> int:
        return self.append(Node("conv", [x], self.nodes[x].channels, 3, stride, relu, depthwise=True))

    def unary(self, kind: str, x: int, kernel: int = 3, stride: int = 1) -> int:
        return self.append(Node(kind, [x], self.nodes[x].channels, kernel, stride))

    def add(self, a: int, b: int) -> int:
        return self.append(Node("add", [a, b], self.nodes[a].channels))

    def concat(self, *xs: int) -> int:
        return self.append(Node("concat", list(xs), sum(self.nodes[x].channels for x in xs)))

    def classify(self, x: int) -> "Graph":
        if self.nodes[x].kind != "pooled":
            x = self.unary("flatten", x)
        self.append(Node("linear", [x], CLASSES))
        return self


def h_dense() -> Graph:
    """A narrow value that a concat reads with a wide one, and a convolution by itself."""
    g = Graph("h_dense")
    a = g.conv(0, 8, relu=False, gain=16)
    b = g.conv(0, 8, relu=False, gain=1)
    c = g.conv(g.concat(a, b), 8, relu=False)
    return g.classify(g.add(c, g.conv(b, 8, relu=False)))


def h_concat() -> Graph:
    """Averages over images of two values, one 16 times wider than the other."""
    g = Graph("h_concat")
    a = g.unary("global_avg_pool", g.conv(0, 8, relu=False, gain=16))
    b = g.unary("global_avg_pool", g.conv(0, 8, relu=False, gain=1))
    return g.classify(g.concat(a, b))


def dense_block() -> Graph:
    """DenseNet's: every convolution reads all outputs before it."""
    g = Graph("dense_block")
    values = [g.conv(0, 16)]
    for _ in range(5):
        joined = g.concat(*values) if len(values) > 1 else values[0]
        values.append(g.conv(g.conv(joined, 16, 1), 8))
    return g.classify(g.unary("global_avg_pool", g.conv(g.concat(*values), 32, 1)))


def u_net() -> Graph:
    """Two levels down and up, with what each level began with beside what comes up again."""
    g = Graph("u_net")
    first = g.conv(g.conv(0, 8), 8)
    second = g.conv(g.conv(g.unary("max_pool", first, 2, 2), 16), 16)
    bottom = g.conv(g.conv(g.unary("max_pool", second, 2, 2), 32), 32)
    up = g.conv(g.concat(second, g.conv(g.unary("upsample", bottom), 16, 1)), 16)
    up = g.conv(g.concat(first, g.conv(g.unary("upsample", up), 8, 1)), 8)
    return g.classify(g.unary("max_pool", up, 2, 2))


def random_graph(number: int) -> Graph:
    """Convolutions, pools, adds and concats of values that were there before, of sizes from an eighth to eight times."""
    g = Graph(f"random_{number}")
    draw = torch.Generator().manual_seed(1000 + number)

    def below(n: int) -> int:
        return int(torch.randint(n, (1,), generator=draw))

    def gain() -> float:
        return float(2 ** (6 * torch.rand(1, generator=draw) - 3))

    def conv(x: int, channels: int) -> int:
        return g.conv(x, channels, (1, 3)[below(2)], relu=below(3) != 0, gain=gain())

    values = [conv(0, 8), conv(0, 8)]
    for stage in range(2):
        for _ in range(5 + below(4)):
            def any_value() -> int:
                return values[below(len(values))]

            match below(6):
                case 0 | 1:
                    values.append(conv(any_value(), 8))
                case 2:
                    values.append(conv(g.concat(any_value(), conv(any_value(), 8)), 8))
                case 3:
                    values.append(conv(g.concat(*(any_value() for _ in range(2 + below(3)))), 8))
                case 4:
                    values.append(g.unary(("max_pool", "avg_pool")[below(2)], any_value()))
                case 5:
                    values.append(g.add(any_value(), conv(any_value(), 8)))
        if stage == 0:
            values = [g.unary("max_pool", value, 2, 2) for value in values[-3:]]
    ends = [g.unary("global_avg_pool", value) for value in values[-3:]] if below(2) else [
        g.unary("global_avg_pool", g.concat(*values[-3:]))]
    return unused_removed(g, g.concat(*ends) if len(ends) > 1 else ends[0])


def unused_removed(g: Graph, last: int) -> Graph:
    """The part of a graph that `last` needs, with a classifier behind it: a model may have no value that nothing reads."""
    needed = {last}
    for i in range(last, 0, -1):
        if i in needed:
            needed.update(g.nodes[i].inputs)
    number = {old: new for new, old in enumerate(sorted(needed | {0}))}
    kept = Graph(g.name)
    for old in sorted(needed - {0}):
        node = g.nodes[old]
        kept.append(Node(node.kind, [number[x] for x in node.inputs], node.channels, node.kernel, node.stride, node.relu,
                         node.gain))
    return kept.classify(number[last])


def all_graphs(random: int) -> list[Graph]:
    return [h_dense(), h_concat(), dense_block(), u_net()] + [random_graph(i) for i in range(random)]


class Network(nn.Module):
    """A graph in PyTorch, as eager mode quantizes it: a module each layer, FloatFunctional for each add and concat."""

    def __init__(self, graph: Graph, images: Tensor) -> None:
        super().__init__()
        self.graph = graph
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.layers = nn.ModuleList()
        values: list[Tensor] = []
        for i, node in enumerate(graph.nodes):
            xs = [values[x] for x in node.inputs]
            self.layers.append(self.layer(node, xs, 100 * len(graph.nodes) + i))
            values.append(images if node.kind == "input" else self.apply_layer(i, xs))

    @staticmethod
    def layer(node: Node, xs: list[Tensor], seed: int) -> nn.Module:
        """With weights of which the outputs' mean square is the square of the gain."""
        if node.kind in ("add", "concat"):
            return torch.ao.nn.quantized.FloatFunctional()
        if node.kind == "max_pool":
            return nn.MaxPool2d(node.kernel, node.stride, node.kernel // 2 if node.stride == 1 else 0)
        if node.kind == "avg_pool":
            return nn.AvgPool2d(node.kernel, node.stride, node.kernel // 2 if node.stride == 1 else 0)
        simple = {"global_avg_pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(),
                  "upsample": nn.Upsample(scale_factor=2, mode="nearest")}
        if node.kind not in ("conv", "linear"):
            return simple.get(node.kind, nn.Identity())
        draw = torch.Generator().manual_seed(seed)
        one = (nn.Linear(xs[0].shape[1], node.channels) if node.kind == "linear" else
               nn.Conv2d(xs[0].shape[1], node.channels, node.kernel, node.stride, node.kernel // 2,
                         groups=node.channels if node.depthwise else 1))
        with torch.no_grad():
            one.weight.copy_(torch.randn(one.weight.shape, generator=draw))
            one.bias.zero_()
            size = node.gain / one(xs[0]).square().mean().sqrt()
            one.weight.mul_(size)
            one.bias.copy_(0.3 * node.gain * torch.randn(one.bias.shape, generator=draw))
        if node.relu6:
            return nn.Sequential(one, nn.ReLU6())
        return torch.ao.nn.intrinsic.ConvReLU2d(one, nn.ReLU()) if node.relu else one

    def apply_layer(self, i: int, xs: list[Tensor]) -> Tensor:
        match self.graph.nodes[i].kind:
            case "add":
                return self.layers[i].add(xs[0], xs[1])
            case "concat":
                return self.layers[i].cat(xs, 1)
            case _:
                return self.layers[i](xs[0])

    def forward(self, x: Tensor) -> Tensor:
        values = [self.quant(x)]
        for i, node in enumerate(self.graph.nodes[1:], 1):
            values.append(self.apply_layer(i, [values[k] for k in node.inputs]))
        return self.dequant(values[-1])

    def layer_of(self, i: int) -> nn.Module:
        """The convolution or linear layer of node i, without what is fused behind it."""
        return self.layers[i][0] if isinstance(self.layers[i], nn.Sequential) else self.layers[i]

    def parameters_by_name(self) -> dict[str, Tensor]:
        """As zeropoint's files name them: node3.weight."""
        found = {}
        for i, node in enumerate(self.graph.nodes):
            if node.kind in ("conv", "linear"):
                layer = self.layer_of(i)
                found[f"node{i}.weight"], found[f"node{i}.bias"] = layer.weight.detach(), layer.bias.detach()
        return found


def cpp_type(graph: Graph) -> str:
    """The graph as a model that is one function over the builder."""
    lines = []
    for i, node in enumerate(graph.nodes):
        x = [f"x{k}" for k in node.inputs]
        padding = node.kernel // 2 if node.stride == 1 else 0
        options = f"{{.kernel = {node.kernel}, .stride = {node.stride}, .padding = {padding}}}"
        match node.kind:
            case "input":
                made = f"b.input({{{SIDE}, {SIDE}, {node.channels}}})"
            case "conv":
                made = (f'b.conv2d({x[0]}, "node{i}", {{.out_channels = {node.channels}, .kernel = {node.kernel}, '
                        f".stride = {node.stride}, .padding = {node.kernel // 2}"
                        f"{', .groups = zp::depthwise' if node.depthwise else ''}}})")
                if node.relu or node.relu6:
                    made = f"zp::{'relu6' if node.relu6 else 'relu'}::lower(b, {made})"
            case "max_pool":
                made = f'b.max_pool2d({x[0]}, "", {options})'
            case "avg_pool":
                made = f'b.avg_pool2d({x[0]}, "", {options})'
            case "global_avg_pool":
                made = f'b.adaptive_avg_pool2d({x[0]}, "", 1)'
            case "upsample":
                made = f"zp::upsample<2>::lower(b, {x[0]})"
            case "add":
                made = f"b.add({x[0]}, {x[1]})"
            case "concat":
                lines.append(f"        const int inputs{i}[] = {{{', '.join(x)}}};")
                made = f"b.concat(inputs{i})"
            case "flatten":
                made = f"b.flatten({x[0]})"
            case "linear":
                made = f'b.linear({x[0]}, "node{i}", {node.channels})'
        lines.append(f"        [[maybe_unused]] const int x{i} = {made};")
    body = "\n".join(lines)
    return (f"struct {graph.name} {{\n    static constexpr int nodes = {2 * len(graph.nodes)};\n"
            f"    static constexpr void lower(zp::builder& b) {{\n{body}\n    }}\n}};\n")
