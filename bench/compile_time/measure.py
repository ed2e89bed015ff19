#!/usr/bin/env python3
"""What including the library costs: compile seconds and memory, symbol lengths, program size, beside their aims.

The file of include flags is written by CMake's configure step, for instance by `cmake --preset dev`.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
UMBRELLA = "#include <zeropoint/zeropoint.hpp>\nint main() {}\n"
DEPLOYMENT = ROOT / "examples" / "03_deploy"


def newest_include_flags() -> str | None:
    found = sorted(ROOT.glob("build/*/include_flags.txt"), key=lambda file: file.stat().st_mtime)
    return str(found[-1]) if found else None


def measured(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MiB of one process and its children."""
    start = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # or Popen would wait for it once more
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(what: str, value: str, aim: str, met: bool) -> None:
    print(f"{what:<46} {value:>22}   aim {aim:<10} {'ok' if met else 'MISSED'}")


def compile_row(what: str, command: list[str], repeats: int, aim: float) -> None:
    """CPU seconds count: they say the same on a busy machine."""
    wall, cpu, memory = min((measured(command) for _ in range(repeats)), key=lambda run: run[1])
    row(what, f"{cpu:.2f} s ({wall:.2f} wall)", f"{aim:g} s", cpu < aim)
    print(f"{'':<46} {memory:>18.0f} MiB")


def longest_symbol(object_file: pathlib.Path) -> str:
    lines = subprocess.run(["nm", "--no-demangle", str(object_file)], capture_output=True, text=True, check=True).stdout
    return max((line.split()[-1] for line in lines.splitlines() if line.strip()), key=len)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--include-flags", default=newest_include_flags(), help="response file with -I flags")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many compilations counts")
    options = parser.parse_args()
    if options.include_flags is None:
        parser.error("no build/*/include_flags.txt: configure first, with cmake --preset dev")

    compile_command = [options.compiler, "-std=c++20", "-O2", "-DNDEBUG", "@" + options.include_flags,
                       f'-DZEROPOINT_SOURCE_DIR="{ROOT}"']
    version = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    print(version.splitlines()[0] + ", -O2")
    with tempfile.TemporaryDirectory() as folder:
        umbrella = pathlib.Path(folder) / "umbrella.cpp"
        umbrella.write_text(UMBRELLA, encoding="utf-8")
        object_file = pathlib.Path(folder) / "object.o"
        program = pathlib.Path(folder) / "program"

        compile_row("bare <zeropoint/zeropoint.hpp>", [*compile_command, "-c", str(umbrella), "-o", str(object_file)],
                    options.repeats, 1.5)
        source = DEPLOYMENT / "main.cpp"
        if not source.exists():
            sys.exit(f"{source} is missing")
        compile_row(str(source.relative_to(ROOT)), [*compile_command, "-c", str(source), "-o", str(object_file)],
                    options.repeats, 5)
        symbol = longest_symbol(object_file)
        row("its longest symbol", f"{len(symbol)} characters", "300", len(symbol) < 300)
        measured([options.compiler, str(object_file), "-o", str(program)])
        if shutil.which("strip"):
            subprocess.run(["strip", str(program)], check=True)
        size = program.stat().st_size
        row("its size, stripped, without weights", f"{size / 1000:.1f} kB", "200 kB", size < 200_000)


if __name__ == "__main__":
    main()
