# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/training_{convolutions,layers,sequences}.safetensors: gradients by PyTorch's autograd in float64.

    python scripts/golden/training_layers.py

The first file has conv2d, conv_transpose2d and the pools, the last one recurrent layers, attention, softmax, matmul, embedding. Groups `<operator>/<case>`. Images are [samples, height, width, channels], filters [out, height, width, in / groups], those of
transposed convolutions too; operands are F32, computed with in float64, and results rounded to F32. `dy` is the gradient of the
output, `dx`, `dweight`, ... are those of operands by sum(y * dy). `options` I32, in the order of CASES below.

    conv2d, conv_transpose2d    x, weight, bias -> dx, ...; options: stride, padding, dilation of rows and columns, groups
    batch_norm                  x, weight, bias, running_mean, running_variance -> dx, ..., after_mean, after_variance; options: trains
    layer_norm, rms_norm        x [rows, channels], weight, bias -> dx, ...
    group_norm                  x, weight, bias; options: groups
    max_pool2d, avg_pool2d      x; options: kernel, stride, padding, dilation, count_include_pad
    adaptive_avg_pool2d         x; the output's extents are dy's
    activation                  activation/x, or activation/positive for log and roots, activation/dy -> <function>/dx; corners are among them
    softmax, log_softmax        x [rows, channels] -> y, dx
    attention                   q [heads, rows, depth], k, v, mask I32 [rows, keys] or none -> y, dq, dk, dv
    matmul                      a, b -> da, db; options: transposed
    embedding                   indices I32, weight -> dweight; options: padding_idx
    binary                      a, b [h, w, c] of which b spreads -> da, db; named like the function
    prelu                       x, weight -> dx, dweight
    interpolate                 x -> dx; options: 0 nearest, 1 nearest-exact, 2 bilinear, 3 bilinear with align_corners
    pad                         x -> dx; options: 0 constant, 1 reflect, 2 replicate, 3 circular; left, right, top, bottom
    reduce                      x [h, w, c] -> dx; options: 0 amax, 1 amin, 2 var, 3 std, 4 prod, 5 mean; the extents are dy's
    lstm, gru, rnn              x [samples, steps, inputs], weight_ih, weight_hh, bias_ih, bias_hh (weight_hr), each with _reverse;
                                options: hidden, projection, relu -> y [samples, steps, 2 * outputs], d of each

Versions: scripts/requirements.txt.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from operator_vectors import GoldenFile, torch_versions  # noqa: E402

generator = np.random.default_rng(16)
FILES = {
    name: GoldenFile(f"training_{name}", "training_layers.py", torch_versions("none"))
    for name in ("convolutions", "layers", "sequences")
}
CONVOLUTION_GROUPS = ("conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d")
SEQUENCE_GROUPS = ("lstm", "gru", "rnn", "attention", "matmul", "embedding", "softmax", "log_softmax")
WITH_OUTPUTS = ("softmax", "log_softmax", "attention", "lstm", "gru", "rnn")


def add(group: str, tensors: dict[str, np.ndarray]) -> None:
    operator = group.split("/")[0]
    name = "convolutions" if operator in CONVOLUTION_GROUPS else "sequences" if operator in SEQUENCE_GROUPS else "layers"
    FILES[name].add(group, [], tensors)


def random(*shape, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return generator.uniform(low, high, shape).astype(np.float32)


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def differentiate(group: str, operands: dict[str, np.ndarray], function, options=None, extra=None) -> None:
    """function(tensors in float64, in that order) -> y; adds operands, dy and a gradient of each operand."""
    tensors = {name: torch.from_numpy(value.astype(np.float64)).requires_grad_() for name, value in operands.items()}
    y = function(*tensors.values())
    dy = random(*y.shape)
    (y * torch.from_numpy(dy.astype(np.float64))).sum().backward()
    results = {f"d{name}": tensor.grad for name, tensor in tensors.items()}
    if group.split("/")[0] in WITH_OUTPUTS:
        results["y"] = y.detach()
    saved = {**operands, "dy": dy, **{name: value.numpy().astype(np.float32) for name, value in results.items()}}
    if options is not None:
        saved["options"] = np.int32(options)
    add(group, {**saved, **(extra() if extra else {})})


# name: (samples, height, width, in, out, kernel, stride, padding, dilation, groups)
CONVOLUTIONS = {
    "3x3": (2, 4, 3, 9, 3, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "3x2_stride": (2, 5, 7, 3, 2, (3, 2), (2, 3), (1, 0), (1, 1), 1),
    "dilated_groups": (1, 6, 5, 4, 6, (3, 3), (1, 1), (2, 2), (2, 2), 2),
    "depthwise": (1, 5, 4, 9, 9, (3, 3), (2, 2), (1, 1), (1, 1), 9),
    "1x1": (3, 2, 3, 16, 7, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "linear": (5, 1, 1, 19, 4, (1, 1), (1, 1), (0, 0), (1, 1), 1),
}
# the same with output padding
TRANSPOSED = {
    "2x2": (2, 2, 3, 5, 9, (2, 2), (2, 2), (0, 0), (1, 1), 1, (0, 0)),
    "4x3": (1, 3, 3, 9, 3, (4, 3), (2, 1), (1, 1), (1, 1), 1, (0, 0)),
    "groups": (2, 3, 3, 4, 6, (3, 3), (2, 2), (1, 1), (1, 1), 2, (1, 1)),
}


def add_convolutions() -> None:
    for name, (n, h, w, ci, co, kernel, stride, padding, dilation, groups) in CONVOLUTIONS.items():
        operands = {"x": random(n, h, w, ci), "weight": random(co, *kernel, ci // groups), "bias": random(co)}
        differentiate(
            f"conv2d/{name}",
            operands,
            lambda x, weight, bias: nhwc(F.conv2d(nchw(x), nchw(weight), bias, stride, padding, dilation, groups)),
            [*stride, *padding, *dilation, groups],
        )
    for name, (n, h, w, ci, co, kernel, stride, padding, dilation, groups, more) in TRANSPOSED.items():

        def transposed(x, weight, bias):
            # PyTorch's filters are [in, out / groups, ...], of a group's inputs.
            filters = nchw(weight).reshape(groups, co // groups, ci // groups, *kernel).transpose(1, 2)
            filters = filters.reshape(ci, co // groups, *kernel)
            return nhwc(F.conv_transpose2d(nchw(x), filters, bias, stride, padding, more, groups, dilation))

        operands = {"x": random(n, h, w, ci), "weight": random(co, *kernel, ci // groups), "bias": random(co)}
        differentiate(f"conv_transpose2d/{name}", operands, transposed, [*stride, *padding, *dilation, groups])


def add_norms() -> None:
    for name, shape, trains in (("train", (3, 3, 2, 9), True), ("frozen", (2, 2, 3, 4), False), ("rows", (7, 1, 1, 8), True)):
        mean, variance = random(shape[3]), random(shape[3], low=0.5)
        running = torch.from_numpy(mean.astype(np.float64)), torch.from_numpy(variance.astype(np.float64))

        def after():
            before = {"running_mean": mean, "running_variance": variance}
            return {**before, **{name: value.numpy().astype(np.float32) for name, value in zip(("after_mean", "after_variance"), running)}}

        differentiate(
            f"batch_norm/{name}",
            {"x": random(*shape), "weight": random(shape[3]), "bias": random(shape[3])},
            lambda x, weight, bias: nhwc(F.batch_norm(nchw(x), *running, weight, bias, trains, 0.1, 1e-5)),
            [trains],
            after,
        )
    operands = {"x": random(3, 11), "weight": random(11), "bias": random(11)}
    differentiate("layer_norm/rows", operands, lambda x, weight, bias: F.layer_norm(x, (11,), weight, bias, 1e-5))
    operands = {"x": random(3, 11), "weight": random(11)}
    differentiate("rms_norm/rows", operands, lambda x, weight: F.rms_norm(x, (11,), weight, 1e-5))
    for groups in (2, 6):
        operands = {"x": random(1, 3, 2, 6), "weight": random(6), "bias": random(6)}
        differentiate(
            f"group_norm/{groups}",
            operands,
            lambda x, weight, bias: nhwc(F.group_norm(nchw(x), groups, weight, bias, 1e-5)),
            [groups],
        )
    differentiate("l2_normalize/rows", {"x": random(3, 5)}, lambda x: F.normalize(x, dim=1))


def add_pools() -> None:
    ties = np.rint(random(1, 6, 5, 9))  # many equal values in a window
    for name, x, kernel, stride, padding, dilation in (
        ("2", ties, 2, 2, 0, 1),
        ("3_padded", random(1, 5, 6, 3), 3, 2, 1, 1),
        ("2_dilated", random(1, 5, 6, 3), 2, 1, 1, 2),
    ):
        differentiate(
            f"max_pool2d/{name}",
            {"x": x},
            lambda x: nhwc(F.max_pool2d(nchw(x), kernel, stride, padding, dilation)),
            [kernel, stride, padding, dilation, 0],
        )
    for name, kernel, stride, padding, ceil, include in (
        ("2", 2, 2, 0, False, True),
        ("3_padded", 3, 2, 1, False, True),
        ("3_without", 3, 2, 1, False, False),
        ("3_ceil", 3, 2, 1, True, True),
    ):
        differentiate(
            f"avg_pool2d/{name}",
            {"x": random(1, 6, 7, 5)},
            lambda x: nhwc(F.avg_pool2d(nchw(x), kernel, stride, padding, ceil, include)),
            [kernel, stride, padding, 1, include],
        )
    for name, size in (("global", (1, 1)), ("3x2", (3, 2))):
        operands = {"x": random(1, 7, 5, 9)}
        differentiate(f"adaptive_avg_pool2d/{name}", operands, lambda x: nhwc(F.adaptive_avg_pool2d(nchw(x), size)))


ACTIVATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "clamp": lambda x: torch.clamp(x, -1, 2),
    "hardtanh": lambda x: F.hardtanh(x, -1, 2),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.125),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hard_sigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus": lambda x: F.softplus(x, 2, 3),
    "mish": F.mish,
    "elu": lambda x: F.elu(x, 0.5),
    "celu": lambda x: F.celu(x, 2),
    "selu": F.selu,
    "threshold": lambda x: F.threshold(x, 1, 0.25),
    "softsign": F.softsign,
    "abs": torch.abs,
    "square": torch.square,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
}


def add_functions() -> None:
    values = np.float32([-3, 3, 0, 1, -1, 2, 6, -0.0, *random(13, low=-7, high=7)])
    operands = {"x": values, "positive": np.abs(values) + np.float32(0.25), "dy": random(values.size)}
    add("activation", operands)
    for name, function in ACTIVATIONS.items():
        x = operands["positive" if name in ("log", "sqrt", "rsqrt") else "x"]
        x = torch.from_numpy(x.astype(np.float64)).requires_grad_()
        function(x).backward(torch.from_numpy(operands["dy"].astype(np.float64)))
        add(f"activation/{name}", {"dx": x.grad.numpy().astype(np.float32)})
    differentiate("softmax/rows", {"x": random(3, 9)}, lambda x: F.softmax(x, 1))
    differentiate("log_softmax/rows", {"x": random(3, 9)}, lambda x: F.log_softmax(x, 1))
    differentiate("prelu/one", {"x": random(2, 3, 5), "weight": random(1)}, F.prelu)
    differentiate(
        "prelu/channels", {"x": random(2, 3, 5), "weight": random(5)}, lambda x, weight: F.prelu(x.reshape(-1, 5), weight).reshape(2, 3, 5)
    )
    functions = {
        "mul": torch.mul,
        "div": torch.div,
        "sub": torch.sub,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "squared_difference": lambda a, b: (a - b) ** 2,
    }
    for name, function in functions.items():
        a, b = np.rint(random(2, 3, 5)), np.rint(random(1, 1, 5))
        differentiate(f"binary/{name}", {"a": a, "b": np.where(b == 0, np.float32(3), b)}, function)


def add_products() -> None:
    for name, mask in (("plain", None), ("masked", np.int32(generator.integers(0, 4, (4, 6)) > 0))):
        differentiate(
            f"attention/{name}",
            {"q": random(2, 4, 8), "k": random(2, 6, 8), "v": random(2, 6, 8)},
            lambda q, k, v: F.scaled_dot_product_attention(
                q, k, v, attn_mask=None if mask is None else torch.from_numpy(mask).bool()
            ),
            extra=None if mask is None else lambda: {"mask": mask},
        )
    differentiate("matmul/plain", {"a": random(2, 3, 4), "b": random(2, 4, 9)}, torch.matmul, [0])
    differentiate(
        "matmul/transposed", {"a": random(2, 3, 9), "b": random(2, 4, 9)}, lambda a, b: a @ b.transpose(1, 2), [1]
    )
    indices = np.int32([4, 1, 4, 0, 2, 4, 1])
    for name, padding in (("plain", -1), ("padding_idx", 1)):
        differentiate(
            f"embedding/{name}",
            {"weight": random(5, 6)},
            lambda weight: F.embedding(torch.from_numpy(indices).long(), weight, None if padding < 0 else padding),
            [padding],
            lambda: {"indices": indices},
        )


def add_movements() -> None:
    modes = ({"mode": "nearest"}, {"mode": "nearest-exact"}, {"mode": "bilinear", "align_corners": False}, {"mode": "bilinear", "align_corners": True})
    for kind, mode in enumerate(modes):
        for size in ((7, 9), (2, 3)):
            differentiate(
                f"interpolate/{kind}_{size[0]}",
                {"x": random(1, 3, 4, 3)},
                lambda x: nhwc(F.interpolate(nchw(x), size, **mode)),
                [kind],
            )
    for kind, mode in enumerate(("constant", "reflect", "replicate", "circular")):
        sides = (2, 1, 1, 2)
        differentiate(f"pad/{mode}", {"x": random(1, 3, 4, 3)}, lambda x: nhwc(F.pad(nchw(x), sides, mode)), [kind, *sides])
    axes = ((0, 1), (2,), (0, 1, 2), (1,))
    functions = (torch.amax, torch.amin, torch.var, torch.std, None, torch.mean)
    for kind, function in enumerate(functions):
        for number, over in enumerate(axes):
            x = random(3, 2, 4) if kind > 1 else np.rint(random(3, 2, 4))
            if kind == 4:
                x.flat[5] = 0

            def reduced(x):
                if function is not None:
                    return function(x, over, keepdim=True)
                for axis in over:
                    x = x.prod(axis, keepdim=True)
                return x

            differentiate(f"reduce/{kind}_{number}", {"x": x}, reduced, [kind])


def add_recurrent() -> None:
    for name, kind, hidden, projection, relu in (
        ("plain", "lstm", 5, 0, 0),
        ("projected", "lstm", 6, 3, 0),
        ("plain", "gru", 5, 0, 0),
        ("tanh", "rnn", 5, 0, 0),
        ("relu", "rnn", 5, 0, 1),
    ):
        more = {"proj_size": projection} if kind == "lstm" else {"nonlinearity": "relu" if relu else "tanh"} if kind == "rnn" else {}
        module = getattr(torch.nn, kind.upper())(4, hidden, batch_first=True, bidirectional=True, dtype=torch.float64, **more)
        parameters = {key.replace("_l0", ""): random(*value.shape, low=-0.6, high=0.6) for key, value in module.named_parameters()}

        def run(x, *values):
            named = {name: value for (name, _), value in zip(module.named_parameters(), values)}
            return torch.func.functional_call(module, named, (x,))[0]

        differentiate(f"{kind}/{name}", {"x": random(2, 4, 4), **parameters}, run, [hidden, projection, relu])


def main() -> None:
    add_convolutions()
    add_norms()
    add_pools()
    add_functions()
    add_products()
    add_movements()
    add_recurrent()
    for file in FILES.values():
        file.save()


if __name__ == "__main__":
    main()
