# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong, and how it is told: one report for all problems of a model."""

from __future__ import annotations

import importlib
from collections import defaultdict
from dataclasses import asdict, dataclass
from types import ModuleType

FOLLOWS = ("value", "depends on a node without a layer")  # of what stands behind a problem, and is none of its own


class ZeropointError(Exception):
    """Anything that ends a command with exit code 2 and a message."""


class CheckFailed(ZeropointError):
    """The C++ program and the source framework differ by more than is allowed."""


@dataclass(frozen=True)
class Problem:
    """One node that has no layer.

    reason is one of `op`, `attribute`, `axis`, `batch`, `dynamic_shape`, `computed_operand`, `broadcast`, `value`.
    """

    op: str
    node: str
    reason: str
    text: str
    source: str = ""


class Refused(Exception):
    """Raised while one operator is converted: it cannot be, for this reason (see Problem) and as this text says."""

    def __init__(self, reason: str, text: str) -> None:
        self.reason, self.text = reason, text
        super().__init__(text)


class NotSupported(Refused):
    """The same in a reader: mostly an attribute without a form here."""

    def __init__(self, text: str, reason: str = "attribute") -> None:
        super().__init__(reason, text)


class ImportRefused(ZeropointError):
    """A model that cannot become layers, with every reason at once. hint: what to try, as a line behind them."""

    def __init__(self, problems: list[Problem], hint: str = "") -> None:
        self.problems = problems
        super().__init__(report_of(problems) + (f"\n  {hint}" if hint else ""))

    def to_json(self) -> list[dict[str, str]]:
        """The problems as plain data."""
        return [asdict(problem) for problem in self.problems]


class ExportRefused(ZeropointError):
    """A network that another system's operators cannot compute, with every reason at once."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(report_of(problems, "be exported"))

    to_json = ImportRefused.to_json


def report_of(problems: list[Problem], what: str = "become layers") -> str:
    """Problems grouped by operator, with the names and source lines of their nodes."""
    groups: dict[tuple[str, str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        groups[(problem.op, problem.reason, problem.text)].append(problem)
    nodes, kinds = len(problems), len({problem.op for problem in problems})
    lines = [f"{nodes} node{'s' * (nodes != 1)} of {kinds} kind{'s' * (kinds != 1)} cannot {what}:"]
    for (op, reason, text), members in groups.items():
        lines.append(f"  {op} x{len(members)} ({reason}): {text}")
        for member in members[:5]:
            where = f" ({member.source})" if member.source else ""
            lines.append(f"    {member.node}{where}")
        if len(members) > 5:
            lines.append(f"    and {len(members) - 5} more")
    return "\n".join(lines)


def need(module: str, extra: str) -> ModuleType:
    """Imports an optional package, or says which line installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ZeropointError(
            f"this needs the Python package {module.split('.')[0]} ({error}): pip install 'zeropoint[{extra}]'"
        ) from error
