#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""zp::to_csv beside the definitions of TFLite's QuantizationDebugger, in numpy, over every value that it was made of.

    build/venv/bin/python bench/accuracy/compare_csv.py

The digits network under a TFLite-like qconfig, 40 inputs. TFLite's figures of a layer are means over inputs of np.std, np.average,
np.max(np.abs) and np.average of squares of the differences, dequantized less float; its guide adds range = 255 * scale and
rmse/scale. Fails above 1e-5 of a figure.
"""
from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
METRICS = {"num_elements": lambda d: d.size, "stddev": np.std, "mean_error": np.average,
           "max_abs_error": lambda d: np.max(np.abs(d)), "mean_squared_error": lambda d: np.average(d**2)}


def main() -> int:
    """Compiles, runs, compares."""
    from zeropoint.compiler import compiled

    here = Path(__file__).resolve().parent
    source = (here / "inspect_csv.cpp").read_text().replace("../../examples", str(ROOT / "examples"))
    program = compiled(source, {})
    worst, rows = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, ROOT / "examples/01_digits/data", folder], check=True)
        with open(Path(folder) / "table.csv", newline="") as file:
            table = list(csv.DictReader(file))
        for row in table:
            real, rounded = (np.fromfile(Path(folder) / f"{row['tensor_name']}.{kind}", np.float32)
                             .reshape(-1, int(row["num_elements"])) for kind in ("real", "rounded"))
            differences = rounded - real
            expected = {name: np.nanmean([metric(one) for one in differences.astype(np.float64)])
                        for name, metric in METRICS.items()}
            expected["range"] = 255.0 * float(row["scale"])
            expected["rmse/scale"] = np.sqrt(expected["mean_squared_error"]) / float(row["scale"])
            size = max(abs(expected["stddev"]), 1e-30)
            for name, value in expected.items():
                worst = max(worst, abs(float(row[name]) - value) / max(abs(value), size if name == "mean_error" else 0))
            rows += 1
    print(f"{rows} rows of {len(differences)} inputs: largest difference {worst:.1e} of a figure")
    return int(worst > 1e-5)


if __name__ == "__main__":
    sys.exit(main())
