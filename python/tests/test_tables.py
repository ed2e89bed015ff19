"""Imported classic networks are row for row those of zeropoint/models."""

from __future__ import annotations

import subprocess
from pathlib import Path

import torch
from networks import MobileNetV2, ResNet18

import zeropoint
from zeropoint.compiler import compiled, without_comments

PROGRAM = r"""
#include <cstdio>
#include <string_view>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>
#include <zeropoint/models/resnet.hpp>
#include <zeropoint/models/mobilenet_v2.hpp>
#include "resnet18.hpp"
#include "mobilenet_v2.hpp"

template <class Net> void print() {
    for (const zp::node& n : zp::fused<Net>::rows()) {
        std::printf("%s %s %s %d", n.op->name, n.name, zp::to_string(n.out.extents).c_str(), n.weights.count);
        for (int k = 0; k != n.input_count; ++k) std::printf(" <%d", n.inputs[k]);
        for (const int option : n.options) std::printf(" %d", option);
        std::printf("\n");
    }
}
struct ours : zp::models::resnet18<zp::input<64, 32, 3>> {};
struct ours_too : zp::models::mobilenet_v2<zp::input<64, 32, 3>> {};
int main() {
    print<resnet18>(); std::printf("--\n"); print<ours>(); std::printf("--\n");
    print<mobilenet_v2>(); std::printf("--\n"); print<ours_too>();
}
"""


def test_rows_are_those_of_the_models(tmp_path: Path) -> None:
    """Operators, names, extents, options and what reads what, once fused: ours have dropouts, which exports leave out."""
    headers = {}
    for module in (ResNet18(), MobileNetV2()):
        made = zeropoint.from_torch(module, torch.randn(1, 3, 64, 32), tmp_path, verify=False)
        headers[made.header.name] = without_comments(made.header.read_text())
    done = subprocess.run([compiled(PROGRAM, headers)], capture_output=True, text=True, check=True)
    imported, ours, imported_too, ours_too = done.stdout.split("--\n")
    assert len(ours.splitlines()) > 20
    assert normal(imported) == normal(ours)
    assert normal(imported_too) == normal(ours_too)


def normal(rows: str) -> list[str]:
    """Without the order of an add's operands, which changes no sum."""
    made = []
    for row in rows.splitlines():
        words = row.split(" ")
        inputs = sorted(w for w in words if w.startswith("<"))
        made.append(" ".join([w for w in words if not w.startswith("<")] + (inputs if words[0] == "add" else
                                                                           [w for w in words if w.startswith("<")])))
    return made
