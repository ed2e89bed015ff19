# SPDX-License-Identifier: BSD-3-Clause
"""zeropoint pack and zeropoint embed: what is embedded is the file, and what is packed runs in place as the int8 file does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from zeropoint.cli import main
from zeropoint.compiler import compiler, include_folders
from zeropoint.embed import embed
from zeropoint.errors import ZeropointError

SHOW = """
#include <cstdint>
#include <cstdio>
#include "blob.hpp"
static_assert(decltype(blob())::extent == blob_bytes);
int main() {
    if (reinterpret_cast<std::uintptr_t>(blob().data()) % 64 != 0) return 1;
    std::fwrite(blob().data(), 1, blob().size(), stdout);
}
"""
RUN = """
#include "net.hpp"
#include <cstdio>
#include <zeropoint/deploy.hpp>
#include <zeropoint/io/packed_image.hpp>
#include "image.hpp"
using int8 = zp::quantized<net, zp::default_qconfig, zp::portable>;
int main(int, char** argv) {
    const auto loaded = zp::load<int8>(argv[1]);
    const zp::in_place<int8> placed(image());
    if (!placed || !placed.is_intact()) return std::puts(zp::text_of(placed.problem())), 1;
    float x[4 * 4 * 2], a[3], b[3];
    for (int i = 0; i != 32; ++i) x[i] = static_cast<float>(i % 7) / 3 - 1;
    loaded(x, a);
    placed(x, b);
    for (int i = 0; i != 3; ++i)
        if (a[i] != b[i]) return 2;
    return a[0] == a[1] && a[1] == a[2] ? 3 : 0;
}
"""


def build(folder: Path, source: str, *more: Path) -> Path:
    (folder / "main.cpp").write_text(source)
    folders = [f"-I{path}" for path in include_folders()]
    subprocess.run([compiler(), "-std=c++20", "-O0", *folders, f"-I{folder}", str(folder / "main.cpp"), *map(str, more),
                    "-o", str(folder / "program")], check=True)
    return folder / "program"


@pytest.mark.parametrize("name", ["blob.hpp", "blob.S"])
def test_the_bytes_are_the_files(tmp_path: Path, name: str) -> None:
    content = os.urandom(1000)
    (tmp_path / "blob.bin").write_bytes(content)
    assert main(["embed", str(tmp_path / "blob.bin"), "-o", str(tmp_path / name)]) == 0
    sources = [tmp_path / name] if name.endswith(".S") else []
    assert subprocess.run([build(tmp_path, SHOW, *sources)], capture_output=True, check=True).stdout == content


def test_a_section_and_a_name(tmp_path: Path) -> None:
    (tmp_path / "1.bin").write_bytes(b"abc")
    with pytest.raises(ZeropointError, match="1 is no name of C"):
        embed(tmp_path / "1.bin", tmp_path / "one.hpp")
    made = embed(tmp_path / "1.bin", tmp_path / "one.S", symbol="one", section=".xip")
    assert made == [tmp_path / "one.S", tmp_path / "one.hpp"]
    assert '.section .xip, "a"' in made[0].read_text()


@pytest.mark.parametrize("name", ["blob.hpp", "blob.S"])
def test_names_of_any_signs(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "of \"two\" \\ 模型"
    folder.mkdir()
    (folder / "a\"b\\").write_bytes(b"abc")
    assert main(["embed", str(folder / "a\"b\\"), "-o", str(tmp_path / name), "--symbol", "blob"]) == 0
    sources = [tmp_path / name] if name.endswith(".S") else []
    assert subprocess.run([build(tmp_path, SHOW, *sources)], capture_output=True, check=True).stdout == b"abc"
    (tmp_path / "two\nlines").write_bytes(b"abc")
    assert main(["embed", str(tmp_path / "two\nlines"), "-o", str(tmp_path / "x.hpp"), "--symbol", "blob"]) == 2


def test_refusals_write_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.bin").write_bytes(b"")
    assert main(["embed", str(tmp_path / "empty.bin"), "-o", str(tmp_path / "out.hpp")]) == 2
    assert main(["embed", str(tmp_path / "none.bin"), "-o", str(tmp_path / "out.hpp")]) == 2
    (tmp_path / "full.bin").write_bytes(b"x")
    assert main(["embed", str(tmp_path / "full.bin"), "-o", str(tmp_path / "out.txt")]) == 2
    assert main(["pack", str(tmp_path / "none.hpp")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.bin", "full.bin"]


def test_a_packed_image_runs_in_place(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    import zeropoint
    from zeropoint.quantize import quantize

    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 5, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(20, 3)).eval()
    zeropoint.from_torch(module, torch.randn(1, 2, 4, 4), tmp_path, name="net", verify=False)
    quantize(tmp_path / "net.hpp", torch.randn(20, 2, 4, 4).numpy())
    assert main(["pack", str(tmp_path / "net.hpp")]) == 0
    embed(tmp_path / "net.image", tmp_path / "image.hpp", symbol="image")
    subprocess.run([build(tmp_path, RUN), tmp_path / "net.int8.safetensors"], check=True)
