#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds examples/05_keyword_spotting for Cortex-M microcontrollers, runs it on boards that qemu emulates, compares its checksum
with that of the same program on this machine, and prints flash, RAM and instructions as a table.

    scripts/architectures/microcontrollers.py [--install] [--only m4-Os,m55-O2] [--update docs/embedded.md] [--symbols 20]

Before that it compiles <zeropoint/deploy.hpp> and <zeropoint/embedded.hpp> for every board with all warnings as errors. Needs
Debian's gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and qemu-system-arm, which --install installs,
a C++ compiler ($CXX, else g++) and CMake. xsimd's headers are the system's, or those that CMake has put into build/_dependencies.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import install

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/05_keyword_spotting"
BUILD = ROOT / "build/microcontrollers"
CHECKSUM = "1623052248"  # that of examples/CMakeLists.txt
MOST_CODE = 40_000  # bytes of code and constants, weights apart
MACS = 2_656_768
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-psabi")
BARE = ("-std=c++20", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections")
BEGIN, END = "<!-- microcontrollers -->", "<!-- /microcontrollers -->"


@dataclasses.dataclass(frozen=True)
class Board:
    """A processor, and the machine of qemu that has one, whose SysTick counts at so many MHz."""
    processor: str
    flags: tuple[str, ...]
    machine: str
    megahertz: float


M4 = Board("Cortex-M4", ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"), "mps2-an386", 25)
M55 = Board("Cortex-M55", ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"), "mps3-an547", 32)
PROGRAMS = {f"{name}{level}": (board, level) for name, board in (("m4", M4), ("m55", M55)) for level in ("-Os", "-O2")}


class BuildError(RuntimeError):
    pass


def run(command: list[object], limit: float = 600) -> str:
    """What it writes; a BuildError with that where it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    except FileNotFoundError:
        raise BuildError(f"{words[0]} is not installed: run this with --install") from None
    except subprocess.TimeoutExpired:
        raise BuildError(f"{' '.join(words)}: not done after {limit:.0f} s") from None
    if done.returncode != 0:
        raise BuildError(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr  # where qemu's semihosting writes


def xsimd_flags() -> list[str]:
    for folder in sorted((ROOT / "build/_dependencies").glob("*/xsimd/**/xsimd/xsimd.hpp")):
        return ["-isystem", str(folder.parents[1])]
    return []  # the compiler's own folders


def check_headers(board: Board, include: list[str]) -> None:
    """Warnings of the library's headers show only in a file of theirs, not in a -isystem folder."""
    for header in ("deploy", "embedded"):
        source = BUILD / f"{header}.cpp"
        source.write_text(f"#include <zeropoint/{header}.hpp>\n", encoding="utf-8")
        run(["arm-none-eabi-g++", *board.flags, *BARE, *WARNINGS, *include, "-fsyntax-only", source])


def embed(image: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """By the script of zeropoint_embed(), which a project for CMake calls by itself."""
    source = folder / "keyword_image.cpp"
    run(["cmake", "-D", f"FILE={image}", "-D", "SYMBOL=keyword_image", "-D", "METHOD=incbin", "-D", "SECTION=.weights", "-D",
         f"HEADER={folder / 'keyword_image.hpp'}", "-D", f"SOURCE={source}", "-P", ROOT / "cmake/zeropoint_embed.cmake"])
    return source


def printed_numbers(output: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"^(\w+) (\d+)$", output, re.MULTILINE)}


@dataclasses.dataclass(frozen=True)
class Result:
    board: Board
    level: str
    code: int
    constants: int
    weights: int
    workspace: int
    static: int  # all of RAM but the stack: the workspace, and input and output
    stack: int
    instructions: float


def build_and_run(name: str, include: list[str], weights: pathlib.Path) -> Result:
    board, level = PROGRAMS[name]
    program = BUILD / f"{name}.elf"
    run(["arm-none-eabi-g++", *board.flags, level, *BARE, *WARNINGS, "-DKEYWORDS_ON_BOARD", *include, "-nostartfiles",
         "-Wl,--gc-sections", f"-Wl,-T,{EXAMPLE / 'board/board.ld'}", EXAMPLE / "main.cpp", EXAMPLE / "board/startup.cpp",
         weights, "-o", program])
    run(["cmake", "-D", "NM=arm-none-eabi-nm", "-D", f"PROGRAM={program}", "-P", EXAMPLE / "check_symbols.cmake"])
    sizes = {section: int(size) for section, size in
             re.findall(r"^(\.\S+)\s+(\d+)", run(["arm-none-eabi-size", "-A", program]), re.MULTILINE)}
    # A nanosecond of the machine's clock for each instruction: SysTick then counts instructions, some 30 or 40 a tick.
    output = run(["qemu-system-arm", "-M", board.machine, "-nographic", "-monitor", "none", "-serial", "none", "-icount",
                  "shift=0", "-semihosting-config", "enable=on,target=native", "-kernel", program])
    numbers = printed_numbers(output)
    if numbers.get("checksum") != int(CHECKSUM):
        raise BuildError(f"{name}: expected checksum {CHECKSUM}, which this machine has, got\n{output}")
    return Result(board, level, sizes[".text"], sizes[".rodata"], sizes[".weights"], numbers["workspace"],
                  sizes.get(".data", 0) + sizes[".bss"], numbers["stack"], numbers["ticks"] * 1000 / board.megahertz)


def table_of(results: list[Result]) -> str:
    lines = ["| processor | | code | constants | weights | RAM: workspace | all static | stack | instructions | a product |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for r in results:
        lines.append(f"| {r.board.processor} | {r.level} | {r.code:,} | {r.constants:,} | {r.weights:,} | {r.workspace:,} | "
                     f"{r.static:,} | {r.stack:,} | {r.instructions / 1e6:.1f} M | {r.instructions / MACS:.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--install", action="store_true", help="install what is missing, by apt-get")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="of %(default)s")
    parser.add_argument("--update", type=pathlib.Path, help="write the table into this page")
    parser.add_argument("--symbols", type=int, default=0, help="print so many of the largest symbols of each program")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := [name for name in names if name not in PROGRAMS]:
        parser.error(f"--only: expected names of {', '.join(PROGRAMS)}, got {', '.join(unknown)}")
    try:
        if options.install:
            install.install_packages(install.MICROCONTROLLERS)
        BUILD.mkdir(parents=True, exist_ok=True)
        include = [f"-I{ROOT / 'include'}", f"-I{BUILD}", *xsimd_flags()]
        for board in {PROGRAMS[name][0] for name in names}:
            check_headers(board, include)
            print(f"{board.processor}: deploy.hpp and embedded.hpp compile without a warning", flush=True)
        host = os.environ.get("CXX", "g++")
        run([host, "-std=c++20", "-O1", *include, EXAMPLE / "pack/pack.cpp", "-o", BUILD / "pack"])
        run([BUILD / "pack", EXAMPLE / "data/keyword_net.int8.safetensors", BUILD / "keyword_image.image"])
        weights = embed(BUILD / "keyword_image.image", BUILD)
        run([host, "-std=c++20", "-O1", *include, EXAMPLE / "main.cpp", weights, "-o", BUILD / "host"])
        found = printed_numbers(run([BUILD / "host"]))
        print(f"this machine: {found['right']} of {found['words']} words right, checksum {found['checksum']}", flush=True)
        if found["checksum"] != int(CHECKSUM):
            raise BuildError(f"expected checksum {CHECKSUM} on this machine")
        results = []
        for name in names:
            results.append(build_and_run(name, include, weights))
            print(f"{name}: the same checksum; no heap, no exceptions, no streams", flush=True)
            if options.symbols:
                print("\n".join(run(["arm-none-eabi-nm", "-S", "-C", "--size-sort", "-r", BUILD / f"{name}.elf"])
                                .splitlines()[:options.symbols]))
        table = table_of(results)
        print(table)
        if large := [r for r in results if r.level == "-Os" and r.code + r.constants > MOST_CODE]:
            raise BuildError(f"expected at most {MOST_CODE} bytes beside the weights at -Os, got {large}")
        if options.update:
            page = options.update.read_text(encoding="utf-8")
            head, tail = page.split(BEGIN)[0], page.split(END)[1]
            options.update.write_text(f"{head}{BEGIN}\n{table}\n{END}{tail}", encoding="utf-8")
    except (BuildError, OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
