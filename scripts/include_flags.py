# SPDX-License-Identifier: BSD-3-Clause
"""Where the headers lie, for scripts that start compilers: from the response files that CMake's configure step writes into build/."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "test_include_flags.txt"  # with what tests include beside what users do


def newest(name: str = NAME) -> pathlib.Path | None:
    """The response file of that name that was written last."""
    return max(ROOT.glob(f"build/*/{name}"), key=lambda file: file.stat().st_mtime, default=None)


def include_flags(given: str | None = None) -> list[str]:
    """The library by -I, so that warnings and coverage look into it, and what it is tested with by -isystem; all paths are absolute.

    `given` is a response file in place of the newest one.
    """
    file = pathlib.Path(given) if given else newest()
    if file is None:
        raise SystemExit(f"no build/*/{NAME}: configure first, with cmake --preset test")
    words = [word for word in file.read_text(encoding="utf-8").split() if word not in ("-I", "-isystem")]
    folders = dict.fromkeys((ROOT / word.removeprefix("-I")).resolve() for word in words if word.startswith("-I") or not word.startswith("-"))
    library = ROOT / "include"
    return ["-I", str(library), *(word for folder in folders if folder != library for word in ("-isystem", str(folder)))]
