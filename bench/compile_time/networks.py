#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What compiling a program with one of the classic networks costs: seconds and memory, kernels included, as a table.

    bench/compile_time/networks.py [--compiler g++-12] [--flags "-O2 -mavx2 -mfma"] [networks...]

Two programs a network. `deployment` loads an int8 file and runs it. `pipeline` loads a float state dict too, calibrates,
converts and runs both. The file of include flags is written by CMake's configure step.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from measure import longest_symbol, measured, newest_include_flags
from programs import NETWORKS, PROGRAMS, program_text

AIM_NETWORK, AIM_SECONDS, AIM_MEBIBYTES = "resnet50", 10, 480


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--flags", default="-O2 -mavx2 -mfma")
    parser.add_argument("--include-flags", default=newest_include_flags(), help="response file with -I flags")
    parser.add_argument("--repeats", type=int, default=1, help="the fastest of so many compilations counts")
    parser.add_argument("networks", nargs="*", help="all without")
    options = parser.parse_args()
    if options.include_flags is None:
        parser.error("no build/*/include_flags.txt: configure first, with cmake --preset dev")
    if unknown := set(options.networks) - NETWORKS.keys():
        parser.error(f"unknown networks: {', '.join(sorted(unknown))}")

    command = [options.compiler, "-std=c++20", "-DNDEBUG", *options.flags.split(), "@" + options.include_flags, "-c"]
    version = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    print(f"{version.splitlines()[0]}, {options.flags}; CPU seconds, peak MiB, longest symbol\n")
    print("| network | " + " | ".join(f"{program}: s | MiB | symbol" for program in PROGRAMS) + " |")
    print("|---|" + "---|---|---|" * len(PROGRAMS))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        source, object_file = pathlib.Path(folder) / "program.cpp", pathlib.Path(folder) / "program.o"
        for network in options.networks or NETWORKS:
            cells = [network]
            for program in PROGRAMS:
                source.write_text(program_text(program, network), encoding="utf-8")
                runs = [measured([*command, str(source), "-o", str(object_file)]) for _ in range(options.repeats)]
                _, seconds, memory = min(runs, key=lambda run: run[1])
                cells += [f"{seconds:.1f}", f"{memory:.0f}", str(len(longest_symbol(object_file)))]
                if network == AIM_NETWORK and (seconds >= AIM_SECONDS or memory >= AIM_MEBIBYTES):
                    missed.append(program)
            print("| " + " | ".join(cells) + " |", flush=True)
    for program in missed:
        print(f"aim MISSED: the {program} of {AIM_NETWORK} within {AIM_SECONDS} s and {AIM_MEBIBYTES} MiB")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
