#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails when a public name has no docstring. Usage: check_docstrings.py [--list]

Public names are those of docs/reference.toml and their public members. A docstring is a comment directly above a declaration, or behind
it on its line; it says what the name is, and where that applies shapes, units, ranges and errors. The script can see that there is
one, not that it is good. Of an overloaded name one declaration has it. These need none, because one place says it for all:

  - members that a concept asks for, or that a class has in common with zp::network: PROTOCOLS below says who explains them;
  - constants of an enumeration that has a docstring, members of a class that stands on one line with its name;
  - comparisons, copies and moves, what is defaulted or deleted, the only other constructor, and aliases that repeat a template argument (`using net = Net`).

It fails as well where README.md, docs/, the examples or tests/docs use a name of namespace zp that is not among the public ones, and where
the list lacks a header that zeropoint.hpp or operators.hpp includes, a known network or an executor.

--list prints every public name. Needs libclang 14 and its binding: scripts/site/requirements.txt.
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "site"))
from declarations import ROOT, Declaration  # noqa: E402
from public import read_pages  # noqa: E402

# Who explains which members: a concept by its docstring, a class by those of its own members. It is for classes that have a member, or
# that have a name, as the pattern says.
PROTOCOLS = {
    "layer": (r"\blower\b", "lower nodes"),
    "dtype": (r"\bquant_min quant_max\b|^(q?u?int\d+\w*|float32|custom_range) ", "quantized storage name is_signed quant_min quant_max"),
    "observer": (r"\bcalculate_qparams\b|\beach_state\b", "calculate_qparams observe merge order samples count range each_state per_channel_form"),
    "qparams_rule": (r"\bchoose\b", "choose"),
    "qscheme": (r"^per_\w+ ", "name"),
    "executor": (r"\bworkers\b", "run workers least_work"),
    "gradient_exchange": (r"\bsum_parts\b|^ranks ", "rank size sum_parts gather widen broadcast any require_same"),
    "any_schedule": (r"^(constant_rate|step_rate|cosine|one_cycle|warm_up) ", "factor"),
    "network": (r"^(streaming|simulated|static_layer|alone|quantized_matmul|in_place|counted) ",
                "stage net inputs outputs rows input_shape output_shape input_value output_value parameter_bytes workspace"),
}


def members_explained(owner: Declaration) -> set[str]:
    names = " ".join([owner.name, *(member.name for member in owner.members)])
    return {name for pattern, members in PROTOCOLS.values() if re.search(pattern, names) for name in members.split()}


def is_copy(member: Declaration) -> bool:
    """Or a move, or an assignment of one."""
    return bool(re.search(r"\boperator=\(|\b(\w+)\((const \1&|\1&&)\s*\w*\)", member.text))


def needs_none(member: Declaration) -> bool:
    text = member.text
    if is_copy(member) or member.name.startswith(("operator==", "operator<=>", "operator!=")) or re.search(r"=\s*(default|delete)$", text):
        return True
    alias = re.match(r"using (\w+) = (?:typename )?(?:\w+::)*(\w+)$", text)
    return bool(alias) and alias[1].replace("_", "").lower().removesuffix("type") == alias[2].replace("_", "").lower().removesuffix("type")


def missing_in(declarations: list[Declaration], owner: Declaration | None = None) -> list[str]:
    """The names without a docstring, with the place of each."""
    explained = members_explained(owner) if owner else set()
    said = {d.name for d in declarations if d.doc or owner and owner.doc and (d.kind == "constant" or d.line == owner.line)}
    missing = []
    for d in declarations:
        path = f"{owner.name}::{d.name}" if owner else d.name
        if not (d.name in said or d.name in explained or needs_none(d) or d.kind == "constructor" and owner and not d.doc and alone(d, owner)):
            missing.append(f"include/zeropoint/{d.header}:{d.line}: {path}")
            said.add(d.name)
        missing += missing_in(d.members, d)
    return missing


def alone(constructor: Declaration, owner: Declaration) -> bool:
    """Whether it is the one way to make its class, which the class's docstring then tells."""
    return sum(d.kind == "constructor" and not is_copy(d) for d in owner.members) == 1


SHOWN = ("README.md", "docs/*.md", "docs/guides/*.md", "examples/**/*.[hc]pp", "tests/docs*/*.[hc]pp")
NOT_FOR_USERS = {"version.hpp", "models/parts.hpp", "executors/fork_and_join.hpp", "compiled/sequences.hpp"}
NOT_NAMES = {"detail", "op", "kernel", "models", "executors", "other", "stage"}  # namespaces; an example; what design.md tells of the insides


def used_but_not_public(public: set[str]) -> list[str]:
    """Names that pages and examples show, and that the list lacks."""
    errors = []
    for file in sorted(path for pattern in SHOWN for path in ROOT.glob(pattern)):
        names = {names[-1 if names[0] in ("kernel", "models", "executors") else 0] for names in
                 (found.split("::") for found in re.findall(r"\bzp::(\w+(?:::\w+)?)", file.read_text(encoding="utf-8"))) if names[0] != "op"}
        errors += [f"{file.relative_to(ROOT)} uses zp::{name}, which docs/reference.toml does not list" for name in sorted(names - public - NOT_NAMES)]
    return errors


def headers_left_out(listed: set[str]) -> list[str]:
    """Of headers that exist for users those that the list lacks."""
    library = ROOT / "include" / "zeropoint"
    included = {name for umbrella in ("zeropoint.hpp", "operators.hpp")
                for name in re.findall(r"#include <zeropoint/(.*)>", (library / umbrella).read_text(encoding="utf-8"))}
    shown = {path.relative_to(library).as_posix() for folder in ("models", "executors") for path in (library / folder).glob("*.hpp")}
    return [f"docs/reference.toml does not list {header}" for header in sorted((included | shown) - listed - NOT_FOR_USERS)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every public name")
    options = parser.parse_args()
    pages, kinds, errors = read_pages()
    names = 0

    def count(declarations: list[Declaration], path: str) -> int:
        total = 0
        for d in declarations:
            if options.list:
                print(f"{d.header}: {path}{d.name}")
            total += 1 + count(d.members, f"{path}{d.name}::")
        return total

    by_name: dict[str, Declaration] = {}
    for page in pages:
        every = [d for declarations in page.headers.values() for d in declarations]
        by_name |= {d.name: d for d in every if d.name in PROTOCOLS}
        names += count(every, "")
        for declarations in page.headers.values():
            errors += [f"{where} has no docstring" for where in missing_in(declarations)]
    for name, (_, members) in PROTOCOLS.items():
        told = by_name[name].doc + " " + " ".join(m.name for m in by_name[name].members if m.doc) if name in by_name else ""
        errors += [f"neither the docstring of {name} nor one of its members explains {m}" for m in members.split()
                   if not re.search(rf"\b{m}\b", told)]
    errors += headers_left_out({header for page in pages for header in page.headers})
    errors += used_but_not_public({d.name for page in pages for declarations in page.headers.values() for d in declarations})
    for error in errors:
        print(error)
    print(f"{names} public names and {len(kinds)} kinds of layers checked, {len(errors)} errors")
    return 1 if errors or names == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
