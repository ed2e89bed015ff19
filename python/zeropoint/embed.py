# SPDX-License-Identifier: BSD-3-Clause
"""An int8 network in a program without files: its packed image, and any file as C++ or assembler."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from zeropoint.compiler import compiled, without_comments
from zeropoint.errors import ZeropointError
from zeropoint.files import text_of_header
from zeropoint.ports import keeper_of, ports_of
from zeropoint.presets import check_preset, quantized_file, quantized_type
from zeropoint.replacing import check_writable, replacing

PACKER = """#include "{header}"

#include <cstdio>
#include <memory>

#include <zeropoint/deploy.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
#include <zeropoint/workflow/stateful.hpp>

int main(int, char** argv) try {{
    const auto network = zp::load<{network}>(argv[1]);
    zp::save_packed_image({image}, argv[2]);
}} catch (const zp::error& error) {{
    std::fputs(error.what(), stderr);
    return 2;
}}
"""
# What goes into it: of a network whose states go on from call to call the one that keeps them.
ALONE, GOING_ON = "network", "std::make_unique<zp::stateful<std::remove_const_t<decltype(network)>>>(network)->step_network()"
# Whether a name is that of an architecture, and one that the compiler's flags allow.
ARCHITECTURE = """#include <zeropoint/kernel/machine/architecture.hpp>

template <class Arch> constexpr bool is_allowed() {{
    if constexpr (zp::has_vectors<Arch>) return Arch::supported();
    return zp::name_of<Arch>() != nullptr;
}}
static_assert(is_allowed<{architecture}>());
int main() {{}}
"""


def check_architecture(name: str) -> None:
    """Raises ZeropointError where a name is no architecture's, which a compiler tells in lines of its own."""
    wrong = ZeropointError(f"{name}: expected the tag of an architecture that the compiler is asked for, such as zp::portable, "
                           "zp::default_architecture or xsimd::sse2")
    if not re.fullmatch(r"[\w:<>]+", name):
        raise wrong
    try:
        compiled(ARCHITECTURE.format(architecture=name), {})
    except ZeropointError:
        raise wrong from None


def pack(header: str | Path, *, qconfig: str = "default_qconfig", int8: str | Path | None = None,
         architecture: str = "zp::portable", out: str | Path | None = None) -> Path:
    """The packed image of an int8 file, which `zp::in_place<zp::quantized<NAME, zp::QCONFIG, ARCHITECTURE>>` runs from, of a dynamic
    preset `zp::in_place<zp::dynamically_quantized<...>>`. Of an import with --stateful frames it is for `zp::stateful<zp::in_place<...>>`.

    int8: by default the file beside the header that `zeropoint quantize` wrote under this preset. Raises ZeropointError.
    """
    header = Path(header)
    name = ports_of(header)[0]
    check_preset(qconfig)
    target = Path(out) if out is not None else header.with_suffix(".image")
    check_writable(target)
    if architecture != "zp::portable":
        check_architecture(architecture)
    source = PACKER.format(header=header.name, network=quantized_type(name, qconfig, architecture),
                           image=GOING_ON if keeper_of(header) == "zp::stateful" else ALONE)
    program = compiled(source, {header.name: without_comments(text_of_header(header))})
    with replacing(target) as folder:
        done = subprocess.run([str(program), str(int8 or quantized_file(header, qconfig)), str(folder / target.name)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ZeropointError(done.stderr.strip() or f"packing ended with status {done.returncode}")
    return target


HEADER = """// The bytes of {file}. Made by zeropoint embed.
#pragma once

#include <cstddef>
#include <span>

inline constexpr std::size_t {symbol}_bytes = {size};
{data}

/// At a 64-byte boundary.
inline std::span<const std::byte, {symbol}_bytes> {symbol}() noexcept {{
    return std::as_bytes(std::span({symbol}_data));
}}
"""
ASSEMBLER = """/* The bytes of {file}. Made by zeropoint embed. */
    .section {section}, "a", %progbits
    .balign 64
    .global {symbol}_data
    .type {symbol}_data, %object
{symbol}_data:
    .incbin "{path}"
    .size {symbol}_data, . - {symbol}_data
    .section .note.GNU-stack, "", %progbits
"""


def embed(file: str | Path, out: str | Path, *, symbol: str = "", section: str = "") -> list[Path]:
    """A header that holds the bytes of a file, or, where `out` ends in .S, an assembler file that has them and a header beside it.

    `SYMBOL()` gives them as a std::span at a 64-byte boundary; the name is by default the file's. What was written comes
    back. Raises ZeropointError.
    """
    file, out = Path(file), Path(out)
    if not file.is_file() or file.stat().st_size == 0:
        raise ZeropointError(f"{file}: expected a file that is not empty")
    symbol = symbol or file.stem
    if not re.fullmatch(r"[A-Za-z_]\w*", symbol, re.ASCII):
        raise ZeropointError(f"{symbol} is no name of C++: give another by --symbol")
    if out.suffix not in (".hpp", ".h", ".S"):
        raise ZeropointError(f"{out}: expected a name that ends in .hpp, for a header with all bytes, or in .S, for the assembler")
    path = str(file.resolve())
    if "\n" in path:
        raise ZeropointError(f"{path!r}: no assembler and no comment takes a name of several lines: give the file another")
    facts = {"file": file.name.replace("\\", "/").replace("*/", "* /"), "symbol": symbol, "size": file.stat().st_size,
             "path": path.replace("\\", "\\\\").replace("\"", "\\\""),
             "section": section or f".rodata.{symbol}_data"}
    texts = {}
    if out.suffix == ".S":
        data = "extern \"C\" const unsigned char {symbol}_data[{symbol}_bytes];".format(**facts)
        texts[out] = ASSEMBLER.format(**facts)
    else:
        content = file.read_bytes()
        lines = [", ".join(str(byte) for byte in content[i:i + 24]) for i in range(0, len(content), 24)]
        attribute = f"[[gnu::section(\"{section}\")]] " if section else ""
        data = (f"{attribute}alignas(64) inline constexpr unsigned char {symbol}_data[{symbol}_bytes] = {{\n    "
                + ",\n    ".join(lines) + "};")
    texts[out.with_suffix(".hpp") if out.suffix == ".S" else out] = HEADER.format(data=data, **facts)
    with replacing(*texts) as folder:
        for path, text in texts.items():
            (folder / path.name).write_text(text, encoding="utf-8")
    return list(texts)
