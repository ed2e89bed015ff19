# SPDX-License-Identifier: BSD-3-Clause
"""Imported classic networks are row for row those of zeropoint/models."""

from __future__ import annotations

import contextlib
import io
import logging
import subprocess
from pathlib import Path

import pytest
import torch
from networks import MobileNetV2, ResNet18
from torch import nn

from zeropoint import __version__
from zeropoint.compiler import compiled, without_comments
from zeropoint.emit.header import write_header
from zeropoint.emit.structure import Structure
from zeropoint.front.onnx_reader import read_onnx
from zeropoint.front.torch_reader import read_module
from zeropoint.importer import lowered_of
from zeropoint.ir import Graph

PROGRAM = r"""
#include <cstdio>
#include <string_view>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>
@INCLUDES@
template <class Net> void print() {
    for (const zp::node& n : zp::fused<Net>::rows()) {
        std::printf("%s %s %s %d", n.op->name, n.name, zp::to_string(n.out.extents).c_str(), n.weights.count);
        for (int k = 0; k != n.input_count; ++k) std::printf(" <%d", n.inputs[k]);
        for (const int option : n.options) std::printf(" %d", option);
        std::printf("\n");
    }
    std::printf("--\n");
}
@OURS@
int main() { @PRINTS@ }
"""

Imported = dict[str, tuple[Graph, str, str]]  # by name: what was read, the header of zeropoint/models, the type there


def compare(networks: Imported) -> None:
    """Compiles all of them into one program, which prints their tables once fused."""
    headers, includes, ours, prints = {}, set(), [], []
    for name, (graph, file, type_) in networks.items():
        lowered = lowered_of(graph)
        text = write_header(lowered, Structure(lowered), name, graph.source, __version__, []).text
        headers[f"{name}.hpp"] = without_comments(text)
        includes |= {f"#include <zeropoint/models/{file}>", f'#include "{name}.hpp"'}
        ours.append(f"struct ours_{name} : zp::models::{type_} {{}};")
        prints.append(f"print<{name}>(); print<ours_{name}>();")
    source = PROGRAM.replace("@INCLUDES@", "\n".join(sorted(includes))).replace("@OURS@", "\n".join(ours)) \
        .replace("@PRINTS@", "\n".join(prints))
    done = subprocess.run([compiled(source, headers)], capture_output=True, text=True, check=True)
    tables = done.stdout.split("--\n")[:-1]
    assert len(tables) == 2 * len(networks)
    for number, name in enumerate(networks):
        imported, own = map(canonical, tables[2 * number:2 * number + 2])
        assert len(own) > 10
        assert imported == own, name


def canonical(table: str) -> list[str]:
    """Rows with what they read in place of its number, sorted: branches may stand in any order, and so may the operands of
    sums and products."""
    names: list[str] = []
    for row in table.splitlines():
        words = row.split(" ")
        if words[0] == "mean":  # importers give means of images a range of their own: docs/decisions/0066
            words[0] = "adaptive_avg_pool2d"
        inputs = [names[int(word[1:])] for word in words if word.startswith("<")]
        if words[0] in ("add", "mul"):
            inputs.sort()
        own = " ".join(word for word in words if not word.startswith("<"))
        names.append(f"{own} of {[str(hash(text)) for text in inputs]}")
    return sorted(names)


def by_torch(module: nn.Module, shape: tuple[int, ...]) -> Graph:
    """Through torch.export."""
    return read_module(module.eval(), torch.randn(1, *shape))[0]


def test_rows_are_those_of_the_models() -> None:
    """Operators, names, extents, options and what reads what, once fused: ours have dropouts, which exports leave out."""
    compare({"resnet18": (by_torch(ResNet18(), (3, 64, 32)), "resnet.hpp", "resnet18<zp::input<64, 32, 3>>"),
             "mobilenet_v2": (by_torch(MobileNetV2(), (3, 64, 32)), "mobilenet_v2.hpp", "mobilenet_v2<zp::input<64, 32, 3>>")})


def torchvision(name: str) -> nn.Module:
    """A network of torchvision, where that is installed; VGG's fully connected layers are narrow here."""
    pytest.importorskip("acceptance.families.torchvision")
    from acceptance.families.torchvision import load

    try:
        models = load()
    except ImportError as error:
        pytest.skip(str(error))
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    made = getattr(models, name)(weights=None, **options)
    if name.startswith("vgg"):
        made.classifier[0], made.classifier[3] = nn.Linear(512 * 49, 16), nn.Linear(16, 16)
        made.classifier[6] = nn.Linear(16, 1000)
    return made


FAMILIES = {"resnet.hpp": ["resnet18", "resnet34", "resnet50", "resnet101", "resnext50_32x4d", "resnext101_32x8d"],
            "vgg.hpp": ["vgg11", "vgg13", "vgg16", "vgg19", "vgg11_bn", "vgg13_bn", "vgg16_bn", "vgg19_bn"],
            "googlenet.hpp": ["googlenet"], "inception_v3.hpp": ["inception_v3"], "mobilenet_v2.hpp": ["mobilenet_v2"],
            "mobilenet_v3.hpp": ["mobilenet_v3_large", "mobilenet_v3_small"],
            "shufflenet_v2.hpp": ["shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0"]}


def type_of(name: str) -> str:
    """In zp::models."""
    extents = "107, 107" if name == "inception_v3" else "64, 32"
    return f"{name}<zp::input<{extents}, 3>{', 1000, 16' if name.startswith('vgg') else ''}>"


def shape_of(name: str) -> tuple[int, ...]:
    """Of its input."""
    return (3, 107, 107) if name == "inception_v3" else (3, 64, 32)


@pytest.mark.parametrize("file", FAMILIES)
def test_torchvision(file: str) -> None:
    """All networks of torchvision that zeropoint/models has."""
    compare({name: (by_torch(torchvision(name), shape_of(name)), file, type_of(name)) for name in FAMILIES[file]})


@pytest.mark.parametrize("name", ["resnet18", "googlenet", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_5"])
def test_torchvision_from_onnx(name: str, tmp_path: Path) -> None:
    """PyTorch's exporter folds batch norms and keeps the names of what is left."""
    path = tmp_path / f"{name}.onnx"
    logging.disable(logging.ERROR)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(torchvision(name).eval(), (torch.randn(1, *shape_of(name)),), str(path), dynamo=True)
    file = next(file for file, names in FAMILIES.items() if name in names)
    compare({name: (read_onnx(path), file, type_of(name))})
