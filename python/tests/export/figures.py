# SPDX-License-Identifier: BSD-3-Clause
"""Prints the table of docs/export.md: how many codes ONNX Runtime has otherwise, of QDQ graphs of the tests' networks.

Usage: figures.py [NETWORK ...]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (1, 2)]

from exported import Case, digits, imported  # noqa: E402

from zeropoint.export.compare import Difference  # noqa: E402
from zeropoint.export.export import export_onnx  # noqa: E402

TITLES = {"digits": "digits, 8 x 8", "resnet18": "ResNet-18, a quarter as wide, 48 x 40", "mobilenet_v2": "MobileNetV2, 48 x 40",
          "unet": "U-Net, 24 x 32", "mixed": "squeeze-and-excite, dense block, norms", "lstm": "LSTM classifier, 11 words"}


def counted(found: list[Difference]) -> str:
    """12 of 345, by 2."""
    differing, largest = sum(d.differing for d in found), max(d.largest for d in found)
    return f"{differing} of {sum(d.count for d in found)}" + (f", by {largest:.0f}" if differing else "")


def row(title: str, case: Case, folder: Path) -> str:
    """One network, unsigned codes."""
    made = export_onnx(case.header, case.file, folder / "x.onnx", mode="qdq", qconfig=case.qconfig, net=case.net)
    return (f"| {title} | {counted(made.rows)} | {counted(made.outputs)} | {counted(made.optimized)} | "
            "{} of {} |".format(*made.exact_channels))


def main() -> None:
    """All of them, or those that are named."""
    print("| network | codes of all rows | of the outputs, no optimizations | with all | equal multipliers |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or TITLES:
        with tempfile.TemporaryDirectory() as folder:
            case = digits("per_channel_histogram") if name == "digits" else imported(name, Path(folder))
            print(row(TITLES.get(name, name), case, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
