# SPDX-License-Identifier: BSD-3-Clause
"""The C++ compiler: which one, with which folders and flags; programs are kept by their content."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from zeropoint.errors import ZeropointError

FLAGS = ("-std=c++20", "-O2", "-march=native")
# For networks of many hundred rows, whose plans are more work at compile time than compilers do by default.
LIMITS = {"gcc": ("-fconstexpr-ops-limit=2000000000",), "clang": ("-fconstexpr-steps=2000000000",)}
# src/architecture.cpp of the repository.
ARCHITECTURE = """#include <zeropoint/compiled/instance.hpp>
template <class Arch> const char* const zp::detail::compiled_library_for<Arch>::architecture = zp::name_of<Arch>();
template struct zp::detail::compiled_library_for<zp::default_architecture>;
"""


def include_folders() -> list[Path]:
    """That of zeropoint's headers, and of xsimd's.

    In this order: the folders in ZEROPOINT_INCLUDE, the headers in this package, those of the repository around it. What is
    in none of them is the compiler's to find.
    """
    folders = [Path(p) for p in os.environ.get("ZEROPOINT_INCLUDE", "").split(os.pathsep) if p]
    here = Path(__file__).resolve().parent
    for candidate in (here / "include", here.parent.parent / "include"):
        if (candidate / "zeropoint" / "zeropoint.hpp").exists():
            folders.append(candidate)
            break
    if not any((folder / "zeropoint" / "zeropoint.hpp").exists() for folder in folders):
        raise ZeropointError("zeropoint's headers are not found: put their folder into ZEROPOINT_INCLUDE")
    bundled = here / "third_party" / "xsimd" / "include"
    if bundled.exists():
        return [*folders, bundled]
    dependencies = here.parent.parent / "build" / "_dependencies"
    return folders + [p.parent.parent for p in dependencies.glob("**/include/xsimd/xsimd.hpp")][:1]


def include_flags() -> list[str]:
    """Options of a compiler for the folders that have headers, those of others as the system's."""
    return [flag for path in include_folders()
            for flag in ([f"-I{path}"] if (path / "zeropoint").exists() else ["-isystem", str(path)])]


def get_include() -> str:
    """The folder of zeropoint's headers, for compilers."""
    return str(next(f for f in include_folders() if (f / "zeropoint" / "zeropoint.hpp").exists()))


@lru_cache(maxsize=1)
def compiler() -> str:
    """$CXX, or the first of g++ and clang++."""
    for name in (os.environ.get("CXX", ""), "g++", "clang++", "c++"):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise ZeropointError("no C++ compiler is found: install g++ or clang++, or set CXX")


@lru_cache(maxsize=1)
def version() -> str:
    """What the compiler calls itself."""
    return subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]


def limits() -> tuple[str, ...]:
    """Options by which plans of many rows are made at compile time."""
    return LIMITS["clang" if "clang" in version().lower() else "gcc"]


@lru_cache(maxsize=4)
def fingerprint_of(folder: Path) -> str:
    """Of all headers in a folder, by name, size and time."""
    digest = hashlib.sha256()
    for path in sorted((folder / "zeropoint").rglob("*.hpp")):
        about = path.stat()
        digest.update(f"{path.relative_to(folder)} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def cache_folder() -> Path:
    """Where compiled programs are kept."""
    base = os.environ.get("ZEROPOINT_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "zeropoint")
    folder = Path(base)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key_of(*texts: str) -> str:
    """The name of what is made of the compiler, the headers and these texts."""
    return hashlib.sha256("\0".join([version(), *map(fingerprint_of, include_folders()), *texts]).encode()).hexdigest()[:32]


def compiled(source: str, headers: dict[str, str], *, library: bool = False, flags: tuple[str, ...] = ()) -> Path:
    """An executable, or a shared library, of a source and the headers that it includes by these names.

    It is compiled where no one like it is kept, and with kernels that are compiled once where $ZEROPOINT_COMPILED is 1. Raises
    ZeropointError with the compiler's first lines.
    """
    for number, name in enumerate(sorted(headers)):
        if set(name) & set("\"\\\n"):  # which C++ has no way to include
            plain = f"header_{number}.hpp"
            source = source.replace(f'#include "{name}"', f'#include "{plain}"')
            headers = {plain if n == name else n: text for n, text in headers.items()}
    options = [*FLAGS, *limits(), *os.environ.get("ZEROPOINT_CXXFLAGS", "").split(), *flags]
    kernels = [str(kernels_of(options))] if os.environ.get("ZEROPOINT_COMPILED") == "1" else []
    if kernels:
        options += ["-DZEROPOINT_COMPILED", "-Wl,--gc-sections"]
    if library:
        # Hidden, as networks of several headers have the same names: the first one's tables would be those of all that a process loads.
        options += ["-shared", "-fPIC", "-fvisibility=hidden"]
    target = cache_folder() / (key_of(*options, source, *[f"{n}\0{t}" for n, t in sorted(headers.items())])
                               + (".so" if library else ""))
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(prefix=".build-", dir=cache_folder()) as folder:
        for name, text in headers.items():
            (Path(folder) / name).write_text(text)
        (Path(folder) / "main.cpp").write_text(source)
        run(folder, [compiler(), *options, f"-I{folder}", *include_flags(), "main.cpp", *kernels, "-o", "program"])
        os.replace(Path(folder) / "program", target)
    return target


def run(folder: str, command: list[str]) -> None:
    """A compiler. Raises ZeropointError with its first lines."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ZeropointError(message_of(done.stderr))


def sources_of_kernels() -> dict[str, str]:
    """What the files of src/ are, by name: each list of zeropoint/compiled, but for training's, and the architecture."""
    folder = next(path for path in (include / "zeropoint" / "compiled" for include in include_folders()) if path.exists())
    lists = sorted(path.stem for path in folder.glob("*.hpp") if path.stem not in ("instance", "gradients"))
    return {name: f"#define ZEROPOINT_INSTANCE template\n#include <zeropoint/compiled/{name}.hpp>\n" for name in lists} | {
        "architecture": ARCHITECTURE}


def kernels_of(options: list[str]) -> Path:
    """What CMake's zeropoint::compiled is, for these options: compiled where no one like it is kept."""
    options = [*options, "-fPIC", "-ffunction-sections", "-fdata-sections"]
    sources = sources_of_kernels()
    target = cache_folder() / f"{key_of(*options, *sources.values())}.a"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(prefix=".build-", dir=cache_folder()) as folder:
        for name, text in sources.items():
            (Path(folder) / f"{name}.cpp").write_text(text)
            run(folder, [compiler(), *options, *include_flags(), "-c", f"{name}.cpp", "-o", f"{name}.o"])
        run(folder, ["ar", "rcs", "kernels.a", *(f"{name}.o" for name in sources)])
        os.replace(Path(folder) / "kernels.a", target)
    return target


def message_of(errors: str) -> str:
    """The compiler's lines that matter."""
    if "xsimd/xsimd.hpp" in errors and "No such file" in errors:
        return ("the headers of xsimd are not found: put the folder that has xsimd/xsimd.hpp, 14.1 or newer, into "
                "ZEROPOINT_INCLUDE; a wheel made where xsimd is has them")
    lines = [line for line in errors.splitlines() if "error:" in line] or errors.splitlines()
    return f"{compiler()} does not compile this network:\n" + "\n".join(lines[:8])


def without_comments(text: str) -> str:
    """A header without its whole-line comments, so that they do not change what is kept."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("//")) + "\n"
