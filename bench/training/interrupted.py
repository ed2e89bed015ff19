#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills a training at random moments, 20 times by default, lets it go on, and compares its values with an uninterrupted run's.

Usage: interrupted.py INTERRUPTED [--kills 20] [--seed 1]
INTERRUPTED is bench/training/interrupted.cpp, compiled.
"""
import argparse
import pathlib
import random
import signal
import subprocess
import tempfile
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "whole.safetensors"
        begin = time.monotonic()
        expected = subprocess.run([options.program, whole], check=True, capture_output=True, text=True).stdout
        seconds = time.monotonic() - begin
        killed, differing, part = 0, 0, pathlib.Path(folder) / "part.safetensors"
        while killed < options.kills:
            program = subprocess.Popen([options.program, part], stdout=subprocess.PIPE, text=True)
            try:
                found, _ = program.communicate(timeout=moments.uniform(0, seconds / 3))
                if program.returncode != 0:
                    raise SystemExit(f"the program ended with {program.returncode}")
                differing += found != expected
                part.unlink()  # to its end: from the beginning again
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGKILL)
                program.communicate()
                killed += 1
        found = subprocess.run([options.program, part], check=True, capture_output=True, text=True).stdout
        differing += found != expected
    print(f"{killed} kills: {differing} results differ from those of the uninterrupted run of {seconds:.1f} s ({expected.strip()})")
    return differing != 0


if __name__ == "__main__":
    raise SystemExit(main())
