#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a network costs to compile by its number of rows: CPU seconds, memory, and steps of constant evaluation.

    bench/compile_time/growth.py [--rows 100 300 1000] [--compilers g++ clang++-14] [--steps]

Each program is the plan of an int8 network of residual blocks and nothing else, compiled with the limits that compilers have by
default, and fails where one of them is reached. With --steps the least limit is found that suffices (GCC's
-fconstexpr-ops-limit, Clang's -fconstexpr-steps), to a tenth.
"""
import argparse
import pathlib
import shlex
import subprocess
import sys
import tempfile

from measure import measured, newest_include_flags

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program(rows: int) -> str:
    """Blocks of conv2d, relu, conv2d, add and relu: five rows as they are written, two in int8."""
    blocks = rows // 5
    names = ", ".join(f'"c{i}"' for i in range(2 * blocks))
    return f"""#include <zeropoint/deploy.hpp>
struct deep {{
    static constexpr int nodes = {5 * blocks + 2};
    static constexpr char names[{2 * blocks}][8] = {{{names}}};
    static constexpr void lower(zp::builder& b) {{
        int x = b.input({{8, 8, 8}});
        for (int i = 0; i != {blocks}; ++i) {{
            int y = zp::relu::lower(b, b.conv2d(x, names[2 * i], {{.out_channels = 8, .kernel = 3, .padding = 1}}));
            y = b.conv2d(y, names[2 * i + 1], {{.out_channels = 8, .kernel = 3, .padding = 1}});
            x = zp::relu::lower(b, b.add(x, y));
        }}
    }}
}};
int main() {{ return zp::quantized<deep, zp::default_qconfig>::arena_bytes & 1; }}
"""


def limit_flag(compiler: str, limit: int) -> str:
    return f"-fconstexpr-steps={limit}" if "clang" in compiler else f"-fconstexpr-ops-limit={limit}"


def least_limit(compiler: str, command: list[str]) -> int:
    """By halving, to a tenth."""
    def suffices(limit: int) -> bool:
        return subprocess.run([*command, limit_flag(compiler, limit)], capture_output=True).returncode == 0
    high = 1024
    while not suffices(high):
        high *= 2
    low = high // 2
    while high - low > high // 10:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--compilers", nargs="+", default=["g++", "clang++-14"])
    parser.add_argument("--flags", default="-mavx2 -mfma")
    parser.add_argument("--include-flags", default=newest_include_flags(), help="a file that CMake has written")
    parser.add_argument("--steps", action="store_true", help="find the least limit of constant evaluation")
    options = parser.parse_args()
    if options.include_flags is None:
        print("no include flags: run cmake --preset dev first", file=sys.stderr)
        return 2
    includes = shlex.split(pathlib.Path(options.include_flags).read_text())
    failed = False
    print("| compiler | rows | seconds | MiB | steps |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "deep.cpp"
        for compiler in options.compilers:
            for rows in options.rows:
                source.write_text(program(rows))
                command = [compiler, "-std=c++20", "-O0", *shlex.split(options.flags), *includes, "-c", str(source), "-o",
                           f"{folder}/deep.o"]
                if subprocess.run(command, capture_output=True).returncode != 0:
                    print(f"| {compiler} | {rows} | does not compile with the default limits | | |")
                    failed = True
                    continue
                _, seconds, mebibytes = measured(command)
                steps = f"{least_limit(compiler, command):,}" if options.steps else ""
                print(f"| {compiler} | {rows} | {seconds:.2f} | {mebibytes:.0f} | {steps} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
