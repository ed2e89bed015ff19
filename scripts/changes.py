# SPDX-License-Identifier: BSD-3-Clause
"""What has changed, and whose turn it is: how .ci/run chooses what it does not do every time.

Changes count from the commit at which this branch left origin's default branch; on that branch itself, from the commit
before (of a merge, its first parent). What is not committed counts as well. Where a clone lacks that commit, nothing counts
as changed. The turn is the number of commits, so that the next commit has the next turn; in a shallow clone, which knows no
number, the day of its commit.

A source that differs in nothing but comments has not changed: it compiles to what it did.
"""
import argparse
import dataclasses
import datetime
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*arguments: str) -> str | None:
    """What git prints, or nothing where it fails: no repository, no such commit."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@dataclasses.dataclass(frozen=True)
class Changes:
    files: frozenset[str]  # paths from the root
    turn: int
    basis: str  # what both were made from, for people


def turn_now() -> tuple[int, str]:
    if git("rev-parse", "--is-shallow-repository") == "false" and (count := git("rev-list", "--count", "HEAD")):
        return int(count), "commits"
    seconds = git("log", "-1", "--format=%ct")
    today = int(seconds) if seconds else datetime.datetime.now().timestamp()
    return int(today) // 86400, "days since 1970"


def base_now() -> tuple[str, str] | None:
    head = git("rev-parse", "HEAD")
    for branch in ("origin/HEAD", "origin/main", "origin/master"):
        if (left := git("merge-base", "HEAD", branch)) and left != head:
            return left, f"where this branch left {branch}"
    if before := git("rev-parse", "--verify", "--quiet", "HEAD~1"):
        return before, "the commit before"
    return None


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turn", type=int, help="instead of the number of commits")
    parser.add_argument("--base", metavar="COMMIT", help="what differs from it has changed")


# Numbers (which have quotes between digits), raw strings, strings, characters; and what stands alone in the second group: comments.
C_TOKENS = re.compile(r"""(\b\d[\w.']*|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)
C_SUFFIXES, HASH_SUFFIXES = (".hpp", ".cpp", ".c", ".h"), (".py", ".cmake", "CMakeLists.txt")


def without_comments(path: str, text: str) -> str:
    """A source without its comments and the white space around them; other files as they are."""
    if path.endswith(C_SUFFIXES):
        text = C_TOKENS.sub(lambda found: found[1] or " ", text)
        return "\n".join(words for line in text.splitlines() if (words := " ".join(line.split())))
    if path.endswith(HASH_SUFFIXES):
        return "\n".join(line for line in text.splitlines() if not re.match(r"\s*#(?!!)", line))
    return text


def in_comments_alone(base: str, paths: list[str]) -> set[str]:
    """Of paths those that differ from a commit in nothing but comments."""
    asked = [path for path in paths if path.endswith((*C_SUFFIXES, *HASH_SUFFIXES)) and (ROOT / path).is_file()]
    found = subprocess.run(["git", "cat-file", "--batch"], cwd=ROOT, input="".join(f"{base}:{path}\n" for path in asked).encode(),
                           capture_output=True).stdout
    same, at = set(), 0
    for path in asked:
        head = found[at:found.index(b"\n", at)]
        at += len(head) + 1
        if head.endswith(b" missing"):
            continue
        size = int(head.split()[-1])
        old, at = found[at:at + size].decode("utf-8", "replace"), at + size + 1
        if without_comments(path, old) == without_comments(path, (ROOT / path).read_text(encoding="utf-8", errors="replace")):
            same.add(path)
    return same


def find(options: argparse.Namespace) -> Changes:
    turn, unit = (options.turn, "as given") if options.turn is not None else turn_now()
    base, which = (options.base, "as given") if options.base else base_now() or ("", "")
    if not base:
        return Changes(frozenset(), turn, f"turn {turn} ({unit}), and no earlier commit in this clone to find changes by")
    differing = git("diff", "--name-only", base)
    if differing is None:
        raise SystemExit(f"git knows no commit {base}")
    differed = differing.splitlines()
    files = {*differed, *(git("ls-files", "--others", "--exclude-standard") or "").splitlines()}
    return Changes(frozenset(files), turn, f"turn {turn} ({unit}), {len(files)} files changed since {base[:12]}, {which}")
