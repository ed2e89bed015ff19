#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which architectures have whole tests in one run of CI, and why: the others compute the checksum alone.

    scripts/architectures/turn.py          prints what run.py --tests in-turn would take

Of each family one row, in turn: as many runs as the largest family has rows test all of them. And each row of whose own
headers in kernel/arch one has changed. scripts/changes.py says since when, and whose turn it is.
"""
import argparse
import dataclasses
import pathlib
import sys

from targets import TARGETS, Target

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import changes  # noqa: E402

HEADERS = pathlib.PurePath("include/zeropoint/kernel/arch")
SHARED = ("contract.hpp", "operations.hpp", "vector_operations.hpp")  # of all architectures: a change there is no row's own
MOST_RUNS = 11  # that may be needed to test everything


def families() -> dict[str, list[Target]]:
    found: dict[str, list[Target]] = {}
    for target in TARGETS:
        found.setdefault(target.family, []).append(target)
    return found


def problems() -> list[str]:
    """What would make the promises above untrue."""
    there = {file.name for file in (ROOT / HEADERS).glob("*.hpp")} - set(SHARED)
    named = {name for target in TARGETS for name in target.headers}
    return [f"{HEADERS}/{name} belongs to no architecture of targets.py" for name in sorted(there - named)] + \
           [f"targets.py names {HEADERS}/{name}, which is not there" for name in sorted(named - there)] + \
           [f"the family {name} has {len(rows)} architectures: more than {MOST_RUNS} runs would be needed for all"
            for name, rows in families().items() if len(rows) > MOST_RUNS]


@dataclasses.dataclass(frozen=True)
class Choice:
    reasons: dict[str, str]  # by name of the rows
    basis: str

    def __str__(self) -> str:
        return "\n".join([f"whole tests on {len(self.reasons)} of {len(TARGETS)} architectures: {self.basis}",
                          *(f"    {name:<24} {reason}" for name, reason in self.reasons.items())])


def choose(options: argparse.Namespace) -> Choice:
    found = changes.find(options)
    changed = {pathlib.PurePath(file).name for file in found.files if pathlib.PurePath(file).parent == HEADERS}
    reasons = {}
    for name, rows in families().items():
        row = rows[found.turn % len(rows)]
        reasons[row.name] = f"{name}, in turn: {found.turn % len(rows) + 1} of {len(rows)}"
    for target in TARGETS:
        if own := sorted(changed & set(target.headers)):
            reasons[target.name] = ", ".join(own) + " changed"
    order = [target.name for target in TARGETS]
    return Choice({name: reasons[name] for name in sorted(reasons, key=order.index)}, found.basis)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    changes.add_options(parser)
    for problem in (found := problems()):
        print(problem, file=sys.stderr)
    print(choose(parser.parse_args()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
