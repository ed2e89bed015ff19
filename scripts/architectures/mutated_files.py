#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mutated files on several architectures: each file is refused with the same sentence, or loads and computes the same integers.

    scripts/architectures/mutated_files.py                               portable code, SSE2 and AVX2, 100,000 files
    scripts/architectures/mutated_files.py --only portable,vxe --files 5000

Files are those of fuzz/networks.hpp, changed once or twice by the mutator of the fuzz targets. fuzz/architectures/outcomes.cpp prints a line
for each; rows of targets.py say how it is compiled and what runs it, so that compilers, word sizes and byte orders differ as well. Of float
networks only the refusals are compared: their sums have the architecture's order. fuzz/README.md says how to look at one file.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys

import machines
from processes import Stopwatch
from targets import COMPILERS, TARGETS, Target

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from include_flags import include_flags  # noqa: E402

PROGRAM = "fuzz/architectures/outcomes.cpp"
DEFAULT = "portable,sse2,avx2+fma"


class Failure(Exception):
    """A program that does not compile or run."""


def build(target: Target, source: str, includes: list[str], folder: pathlib.Path) -> pathlib.Path:
    compiler = COMPILERS[target.compiler]
    command = compiler.find()
    if not command:
        raise Failure(f"{target.name}: none of {', '.join(compiler.commands)} is installed")
    program = folder / (re.sub(r"[^\w.+-]", "_", target.name) + f"-{pathlib.Path(source).stem}{compiler.suffix}")
    done = Stopwatch().run([*command, "-std=c++20", "-O1", "-w", *compiler.flags, *target.flags, *includes, source, *compiler.link, "-o",
                            str(program)], cwd=ROOT)
    if done.status != 0:
        raise Failure(f"{target.name}: {source} does not compile:\n{done.errors[-3000:]}")
    return program


def outcomes(target: Target, includes: list[str], options: argparse.Namespace, files: range) -> list[str]:
    """A line for each file."""
    found, absent = machines.machines_for(target, COMPILERS[target.compiler])
    if not found:
        raise Failure(f"{target.name}: {absent}")
    stopwatch = Stopwatch()
    done = found[0].run(build(target, PROGRAM, includes, options.folder), ROOT, stopwatch, str(options.seeds), str(files.start), str(len(files)))
    lines = done.output.splitlines()
    if done.status != 0 or len(lines) != len(files):
        raise Failure(f"{target.name}, {found[0].name}: exit status {done.status} after {len(lines)} of {len(files)} files\n{done.errors[-3000:]}")
    print(f"{target.name}, {found[0].name}: {len(files) / stopwatch.seconds:,.0f} files a second", flush=True)
    return lines


def counts(lines: list[str]) -> list[str]:
    """A row for each kind of network: files, those that load, different refusals."""
    by_kind = collections.defaultdict(list)
    for line in lines:
        _, kind, what = line.split(" ", 2)
        by_kind[kind].append(what)
    rows = [f"{'network':<18}{'files':>9}{'accepted':>10}{'sentences':>11}"]
    for kind, all_of_kind in sorted(by_kind.items()):
        accepted = sum(what.startswith("accepted") for what in all_of_kind)
        sentences = {re.sub(r'"[^"]*"|\d+', "_", what) for what in all_of_kind if what.startswith("refused")}
        rows.append(f"{kind:<18}{len(all_of_kind):>9,}{accepted:>10,}{len(sentences):>11,}")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=DEFAULT, help="comma-separated names of targets.py, at least two (default: %(default)s)")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first file (default: %(default)s)")
    parser.add_argument("--seeds", type=pathlib.Path, help="what scripts/fuzz.py has in build/fuzz/seed_files; default: made anew")
    parser.add_argument("--include-flags", help="response file; default: the newest in build/")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "mutated_files")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows = {target.name: target for target in TARGETS}
    names = options.only.split(",")
    if unknown := sorted(set(names) - rows.keys()):
        parser.error(f"no architecture is named {', '.join(unknown)}; there are {', '.join(rows)}")
    if len(names) < 2:
        parser.error("one architecture differs from no other")
    includes = include_flags(options.include_flags)
    options.folder.mkdir(parents=True, exist_ok=True)
    files = range(options.first, options.first + options.files)
    try:
        if options.seeds is None:
            options.seeds = options.folder / "seeds"
            subprocess.run([str(build(rows["portable"], "fuzz/seeds.cpp", includes, options.folder)), str(options.seeds)], check=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            first, *others = pool.map(lambda name: outcomes(rows[name], includes, options, files), names)
    except Failure as failure:
        print(failure)
        return 1
    print("\n".join(counts(first)))
    different = 0
    for name, lines in zip(names[1:], others):
        for ours, theirs in zip(first, lines):
            if ours != theirs:
                different += 1
                if different <= 10:
                    print(f"\n{names[0]}: {ours}\n{name}: {theirs}")
    print(f"{len(files):,} files on {', '.join(names)}: {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
