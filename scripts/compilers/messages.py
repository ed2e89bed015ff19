# SPDX-License-Identifier: BSD-3-Clause
"""What each mistake of tests/compile_fail is to one compiler: how many errors, in how many lines, and whether its sentence is among them.

What cases include is precompiled once, templates that the headers themselves use instantiated too where the compiler can (Clang). Outcomes are kept in a
file beside the folder, under a digest of the compiler, all headers and the case: an interrupted run goes on where it stopped, and a second one costs nothing.
"""
import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
from collections.abc import Callable, Iterable

from debian_compilers import Compiler
from processes import Finished

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CASES = ROOT / "tests" / "compile_fail"
MOST_LINES = 75  # as check.cmake
FAMILIES = {"gcc": "GNU", "clang": "Clang"}


@dataclasses.dataclass(frozen=True)
class Case:
    """A mistake, and what check.cmake expects of it."""

    file: pathlib.Path
    text: str
    sentence: str

    @property
    def name(self) -> str:
        return self.file.stem

    def most_errors(self, compiler: Compiler) -> int:
        allowed = re.search(rf"^// errors: .*\b{FAMILIES[compiler.family]} (\d+)", self.text, re.MULTILINE)
        return int(allowed[1]) if allowed else 1


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Of one case and one compiler."""

    errors: int
    lines: int
    says_sentence: bool
    said: tuple[str, ...]  # the lines with errors

    def problem(self, case: Case, compiler: Compiler) -> str:
        """What is wrong with it, or nothing."""
        if self.errors == 0:
            return "compiles"
        if not self.says_sentence:
            return "does not say its sentence, but " + " / ".join(self.said)
        if self.errors > case.most_errors(compiler) or self.lines > MOST_LINES:
            return f"{self.errors} errors in {self.lines} lines, {case.most_errors(compiler)} in {MOST_LINES} are enough: " + " / ".join(self.said)
        return ""


def all_cases() -> list[Case]:
    return [Case(file, text := file.read_text(encoding="utf-8"), re.match(r"// expect: (.+)", text)[1]) for file in sorted(CASES.glob("*.cpp"))]


def outcome(case: Case, done: Finished) -> Outcome:
    lines = done.errors.splitlines()
    errors = [line for line in lines if "error: " in line]
    says = any(re.search(case.sentence, re.sub(r"[][;]", " ", line)) for line in lines if re.search("error|static assertion|static_assert", line))
    return Outcome(len(errors) if done.status else 0, len(lines), says, tuple(re.sub(r"^.*?error: ", "", line) for line in errors))


def count(compiler: Compiler, title: str, start: Callable[..., Finished], folder: pathlib.Path, cases: Iterable[Case]) -> dict[str, Outcome] | Finished:
    """By case. The compiler's own output where it does not even compile the headers."""
    kept_in = folder.parent / f"messages-{compiler.name}.json"
    kept = json.loads(kept_in.read_text(encoding="utf-8")) if kept_in.exists() else {}
    library = hashlib.sha256(title.encode())
    for file in [CASES / "headers.hpp", *sorted((ROOT / "include").rglob("*.hpp"))]:
        library.update(file.read_bytes())
    headers = folder / "headers.hpp"
    found: dict[str, Outcome] = {}
    for case in cases:
        digest = hashlib.sha256(library.digest() + case.text.encode()).hexdigest()
        if kept.get(case.name, {}).get("digest") != digest:
            if not headers.exists():
                shutil.copy(CASES / "headers.hpp", headers)
                instantiated = ["-fpch-instantiate-templates"] if compiler.family == "clang" else []
                done = start("-std=c++20", *instantiated, "-x", "c++-header", str(headers), "-o", f"{headers}.gch")
                if done.status != 0:
                    return done
            done = start("-std=c++20", "-fsyntax-only", "-include", str(headers), "-DZEROPOINT_MUST_FAIL", str(case.file))
            kept[case.name] = {"digest": digest, **dataclasses.asdict(outcome(case, done))}
            kept_in.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        found[case.name] = Outcome(**{name: kept[case.name][name] for name in ("errors", "lines", "says_sentence", "said")})
    return found


def table(found: dict[str, dict[str, Outcome]]) -> list[str]:
    """Of the cases that are more than one error to some compiler: errors, lines by compiler (its title)."""
    rows = [["mistake", *(f"{title}: errors, lines" for title in found)], ["---", *(["--:"] * len(found))]]
    for name in sorted({name for outcomes in found.values() for name, o in outcomes.items() if o.errors > 1}):
        rows.append([f"`{name}`", *(f"{o.errors}, {o.lines}" if (o := outcomes.get(name)) else "-" for outcomes in found.values())])
    return ["| " + " | ".join(row) + " |" for row in rows]
