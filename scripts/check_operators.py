# SPDX-License-Identifier: BSD-3-Clause
"""Checks that docs/operators.md names every operator of PyTorch's quantized packages.

    python scripts/check_operators.py

The names come from the installed PyTorch, by introspection; a name counts where it stands in backticks under its
package's heading. Versions: scripts/requirements.txt.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs/operators.md"
PACKAGE = "torch.ao.nn."


def public(name: str) -> set[str]:
    return set(importlib.import_module(PACKAGE + name).__all__)


def names_by_heading() -> dict[str, set[str]]:
    functional = importlib.import_module(PACKAGE + "quantized.functional")
    functions = {
        name
        for name, value in vars(functional).items()
        if inspect.isfunction(value) and value.__module__ == functional.__name__
    }
    shared = importlib.import_module(PACKAGE + "quantized").FloatFunctional
    methods = {name for name in vars(shared) if not name.startswith("_")} - {"forward"}
    intrinsic = (
        public("intrinsic") | public("intrinsic.quantized.modules") | public("intrinsic.quantized.dynamic.modules")
    )
    return {
        "PyTorch: torch.ao.nn.quantized, modules": public("quantized"),
        "PyTorch: methods of FloatFunctional and QFunctional": methods,
        "PyTorch: torch.ao.nn.quantized.functional": functions,
        "PyTorch: torch.ao.nn.quantized.dynamic": public("quantized.dynamic.modules"),
        "PyTorch: intrinsic fusions": intrinsic,
    }


def main() -> int:
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))
    missing, count = [], 0
    for heading, names in names_by_heading().items():
        rows = [line.split("|")[1] for line in sections.get(heading, "").splitlines() if line.startswith("| `")]
        named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
        missing += [f"{PAGE.name}: {heading!r} lacks {name}" for name in sorted(names - named)]
        missing += [f"{PAGE.name}: {heading!r} names {name}, which PyTorch lacks" for name in sorted(named - names)]
        count += len(names)
    print("\n".join(missing) or f"{count} operators of PyTorch are named")
    return 1 if missing or not count else 0


if __name__ == "__main__":
    sys.exit(main())
