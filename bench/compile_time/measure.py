#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What including and using the library costs: CPU seconds, memory, symbol lengths, program size, beside their aims.

    bench/compile_time/measure.py [--before another/checkout] [--repeats 5] [--flags "-mavx2 -mfma"]

CPU seconds count, the least of all repeats: they say nearly the same on a busy machine. With --before, each program is also
compiled with the headers (and the examples) of another checkout, in turns with this one's. Last come both programs with
zeropoint::compiled, and with that and a precompiled header, in turns with the headers alone: `before` is that.
The file of include flags is written by CMake's configure step, for instance by `cmake --preset dev`.
"""
import argparse
import dataclasses
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from programs import program_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = "examples/03_deploy/main.cpp"


@dataclasses.dataclass
class Subject:
    """Something to compile, in one checkout, and what that has cost."""
    seconds: float = math.inf
    mebibytes: float = math.inf
    object_file: pathlib.Path = pathlib.Path()


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


def row(what: str, value: str, before: str = "", ratio: str = "", aim: str = "", met: bool = True) -> None:
    verdict = "" if not aim else "ok" if met else "MISSED"
    print(f"{what:<40} {value:>16} {before:>16} {ratio:>6}  {aim:<24} {verdict}", flush=True)


def longest_symbol(object_file: pathlib.Path) -> str:
    lines = subprocess.run(["nm", "--no-demangle", str(object_file)], capture_output=True, text=True, check=True).stdout
    return max((line.split()[-1] for line in lines.splitlines() if line.strip()), key=len)


def stripped_size(compiler: str, object_file: pathlib.Path, library: tuple[pathlib.Path, ...] = ()) -> int:
    program = object_file.with_suffix("")
    measured([compiler, str(object_file), *map(str, library), "-Wl,--gc-sections", "-o", str(program)])
    if shutil.which("strip"):
        subprocess.run(["strip", str(program)], check=True)
    return program.stat().st_size


class Comparison:
    """Compiles with this checkout's headers, and in turns with another's."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options, self.folder, self.sources = options, folder, 0

    def compiled(self, text: str, flags: list[str]) -> list[Subject]:
        """One subject a checkout. `text` is C++, or the path of a source within each checkout."""
        return self.in_turns(text, [(root, flags) for root in [ROOT, *self.options.before]])

    def in_turns(self, text: str, ways: list[tuple[pathlib.Path, list[str]]], repeats: int = 0) -> list[Subject]:
        """One subject a way to compile it: a checkout and flags."""
        self.sources += 1
        subjects = [Subject(object_file=self.folder / f"{self.sources}_{i}.o") for i in range(len(ways))]
        for _ in range(repeats or self.options.repeats):
            for (root, flags), subject in zip(ways, subjects):
                source = root / text
                if "\n" in text:
                    source = self.folder / f"{self.sources}.cpp"
                    source.write_text(text, encoding="utf-8")
                command = [self.options.compiler, "-std=c++20", "-O2", "-DNDEBUG", f"-I{root / 'include'}",
                           "@" + self.options.include_flags, f'-DZEROPOINT_SOURCE_DIR="{ROOT}"', *flags, "-c", str(source), "-o",
                           str(subject.object_file)]
                _, seconds, mebibytes = measured(command)
                subject.seconds = min(subject.seconds, seconds)
                subject.mebibytes = min(subject.mebibytes, mebibytes)
        return subjects


def seconds_row(what: str, subjects: list[Subject], most_ratio: float | None = None) -> None:
    before = subjects[1:]
    ratio = subjects[0].seconds / before[0].seconds if before else 0
    aim = f"{most_ratio:g} of before" if before and most_ratio else ""
    row(what, f"{subjects[0].seconds:.2f} s", f"{before[0].seconds:.2f} s" if before else "",
        f"{ratio:.2f}" if before else "", aim, ratio <= (most_ratio or 0))


def mebibytes_row(subjects: list[Subject], most: float | None = None) -> None:
    now, before = subjects[0].mebibytes, [subject.mebibytes for subject in subjects[1:]]
    row("", f"{now:.0f} MiB", f"{before[0]:.0f} MiB" if before else "", f"{now / before[0]:.2f}" if before else "",
        f"{most:g} MiB" if most else "", now <= (most or 0))


def compare(comparison: Comparison) -> None:
    options = comparison.options
    flags = options.flags.split()

    xsimd = comparison.compiled("#include <xsimd/xsimd.hpp>\nint main() {}\n", flags)
    seconds_row("xsimd alone", xsimd)
    mebibytes_row(xsimd)
    least = min(subject.seconds for subject in xsimd)  # the same header: the one whose run was disturbed less
    for header in "zeropoint", "deploy":
        subjects = comparison.compiled(f"#include <zeropoint/{header}.hpp>\nint main() {{}}\n", flags)
        seconds_row(f"<zeropoint/{header}.hpp> alone", subjects)
        mebibytes_row(subjects)
        ratios = [subject.seconds / least for subject in subjects]
        row("  divided by xsimd alone", f"{ratios[0]:.2f}", f"{ratios[1]:.2f}" if ratios[1:] else "", "", "1.5",
            ratios[0] <= 1.5)

    subjects = comparison.compiled(program_text("deployment", "resnet50"), flags)
    seconds_row("ResNet-50's deployment program", subjects, 0.9)
    mebibytes_row(subjects, 480)

    subjects = comparison.compiled(EXAMPLE, [])  # for the compiler's baseline, as it is built
    seconds_row(EXAMPLE, subjects, 0.85)
    mebibytes_row(subjects)
    symbol = len(longest_symbol(subjects[0].object_file))
    row("  its longest symbol", f"{symbol} characters", aim="300 characters", met=symbol < 300)
    sizes = [stripped_size(options.compiler, subject.object_file) for subject in subjects]
    texts = [f"{size / 1000:.1f} kB" for size in sizes] + [""]
    row("  the program, stripped, without weights", texts[0], texts[1], f"{sizes[0] / sizes[1]:.2f}" if sizes[1:] else "",
        "200 kB", sizes[0] <= 200_000)


def compare_compiled(comparison: Comparison, what: str, program: str, flags: list[str], most: tuple[float, float]) -> None:
    """A program by headers alone, with zeropoint::compiled, and with a precompiled header as well."""
    sections = ["-ffunction-sections", "-fdata-sections"]
    library = [comparison.in_turns(str(source.relative_to(ROOT)), [(ROOT, [*flags, *sections])], repeats=1)[0]
               for source in sorted((ROOT / "src").glob("*.cpp"))]
    row(f"{what}: the library, once", f"{sum(part.seconds for part in library):.2f} s")

    headers = pathlib.Path(tempfile.mkdtemp(dir=comparison.folder)) / "headers.hpp"
    headers.write_text("#include <zeropoint/deploy.hpp>\n", encoding="utf-8")
    flags_of_user = [*flags, "-DZEROPOINT_COMPILED"]
    _, seconds, _ = measured([comparison.options.compiler, "-std=c++20", "-O2", "-DNDEBUG", f"-I{ROOT / 'include'}",
                              "@" + comparison.options.include_flags, f'-DZEROPOINT_SOURCE_DIR="{ROOT}"', *flags_of_user,
                              "-x", "c++-header", str(headers), "-o", f"{headers}.gch"])
    row("  the precompiled header, once", f"{seconds:.2f} s")
    alone, linked, precompiled = comparison.in_turns(
        program, [(ROOT, flags), (ROOT, flags_of_user), (ROOT, [*flags_of_user, "-include", str(headers)])])
    for name, subject, aim in (("zeropoint::compiled", linked, most[0]), ("and a precompiled header", precompiled, most[1])):
        seconds_row(f"  {name}", [subject, alone], aim)
        mebibytes_row([subject, alone])
    objects = tuple(part.object_file for part in library)
    sizes = [stripped_size(comparison.options.compiler, subject.object_file, objects) for subject in (alone, linked)]
    row("  the program, stripped", f"{sizes[1] / 1000:.1f} kB", f"{sizes[0] / 1000:.1f} kB", f"{sizes[1] / sizes[0]:.2f}",
        "1.05 of before", sizes[1] <= 1.05 * sizes[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--flags", default="-mavx2 -mfma", help="of all but the example, which is built without")
    parser.add_argument("--include-flags", default=newest_include_flags(), help="response file with -I flags")
    parser.add_argument("--before", type=lambda path: [pathlib.Path(path).resolve()], default=[], metavar="CHECKOUT",
                        help="another checkout of zeropoint, to compare with")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many compilations counts")
    parser.add_argument("--headers-alone", action="store_true", help="nothing with zeropoint::compiled")
    options = parser.parse_args()
    if options.include_flags is None:
        parser.error("no build/*/include_flags.txt: configure first, with cmake --preset dev")

    version = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    print(f"{version.splitlines()[0]}, -O2 {options.flags}; CPU seconds, peak memory")
    print(f"{'':<40} {'now':>16} {'before' if options.before else '':>16} {'ratio' if options.before else '':>6}  aim")
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, pathlib.Path(folder))
        compare(comparison)
        if "clang" not in version and not options.headers_alone:  # whose precompiled headers are used in another way
            compare_compiled(comparison, "ResNet-50", program_text("deployment", "resnet50"), options.flags.split(), (0.55, 0.38))
            compare_compiled(comparison, "03_deploy", EXAMPLE, [], (0.5, 0.35))


if __name__ == "__main__":
    main()
