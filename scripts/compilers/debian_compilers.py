# SPDX-License-Identifier: BSD-3-Clause
"""Compilers of several Debian suites, each with its own C and C++ libraries, unpacked into the cache: no root, nothing installed.

A compiler of a later Debian needs that Debian's C library. Each program that a compiler starts is behind a few lines of shell that
name this library's loader, and programs that are compiled get their headers and libraries from beside the compiler (--sysroot).
"""
import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "architectures"))
import debian  # noqa: E402

MACHINE = "x86_64-linux-gnu"
LIBRARIES = (f"usr/lib/{MACHINE}", f"lib/{MACHINE}")
LOADER = "lib64/ld-linux-x86-64.so.2"
LEFT_OUT = ("./usr/share/doc*", "./usr/share/man*", "./usr/share/locale*", "./usr/share/info*", "./usr/lib32*", "./usr/libx32*",
            f"*/{MACHINE}/gconv*", "*/lto-dump*", f"*/{MACHINE}/*/lto1", f"*/{MACHINE}/*/cc1", f"*/{MACHINE}/*/cc1obj*",
            f"*/bin/{MACHINE}-lto-dump*", "*/clang_rt*hwasan*", "*/libclang_rt.*-i386*", "*/libclang_rt.scudo*", "*/libclang_rt.dfsan*",
            "*/libclang_rt.xray*", "*/libclang_rt.memprof*", "*/libLTO.so*", "*/libclang-[0-9]*.so*", "*/libclang.so*")


@dataclasses.dataclass(frozen=True)
class Compiler:
    """One that users have."""

    family: str  # gcc or clang
    version: int
    suites: tuple[str, ...]  # of Debian, the first that has it

    @property
    def name(self) -> str:
        return f"{self.family}-{self.version}"

    @property
    def folder(self) -> pathlib.Path:
        return debian.cache_folder() / f"compilers-{self.name}"

    @property
    def has_libcxx(self) -> bool:
        """Whether its libc++ does: that of Clang 14 lacks algorithms over ranges, and xsimd 14.3 compiles with none before 19's."""
        return self.family == "clang" and self.version >= 19

    @property
    def libcxx_assertions(self) -> str:
        """The flag for libc++'s assertions."""
        return "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_EXTENSIVE" if self.version >= 18 else "-D_LIBCPP_ENABLE_ASSERTIONS=1"

    def packages(self) -> tuple[tuple[str, ...], ...]:
        """Groups that may not be installed together, and are unpacked together all the same."""
        if self.family == "gcc":
            return ((f"g++-{self.version}",),)
        number = self.version  # the compiler comes with the newest libstdc++ of its suite
        return ((f"clang-{number}", f"libclang-rt-{number}-dev", f"libc++-{number}-dev", f"libc++abi-{number}-dev"),)

    def command(self) -> list[str]:
        """The compiler, whose programs run where they are linked -static."""
        return [str(self.folder / "bin" / ("g++" if self.family == "gcc" else "clang++"))]

    def dynamic(self) -> list[str]:
        """Flags of programs that are not linked -static."""
        root = self.folder / "root"
        return [f"-Wl,--dynamic-linker={root / LOADER}", *(f"-Wl,-rpath={root / path}" for path in LIBRARIES)]

    def ready(self) -> bool:
        return self.folder.is_dir()


COMPILERS = (
    Compiler("gcc", 12, ("bookworm", "trixie")),
    Compiler("gcc", 13, ("trixie", "forky")),
    Compiler("gcc", 14, ("trixie", "forky")),
    Compiler("gcc", 15, ("forky", "sid")),
    Compiler("gcc", 16, ("forky", "sid")),
    Compiler("clang", 14, ("bookworm",)),
    Compiler("clang", 16, ("bookworm",)),
    Compiler("clang", 19, ("trixie", "sid")),
    Compiler("clang", 21, ("forky", "sid")),
    Compiler("clang", 22, ("forky", "sid")),
)


def wrapper(folder: pathlib.Path, script: pathlib.Path, program: pathlib.Path, name: pathlib.Path | None = None, options: str = "") -> None:
    """A script that runs a program of the root with the root's own C library. `name` is what the program takes itself for."""
    script.parent.mkdir(parents=True, exist_ok=True)
    root = "$here/" + "../" * len(script.parent.relative_to(folder).parts) + "root"
    inside = folder / "root"
    paths = ":".join(f"{root}/{path}" for path in (*LIBRARIES, *llvm_libraries(inside)))
    script.write_text(f'#!/bin/sh\nhere=$(dirname "$(readlink -f "$0")")\nexec "{root}/{LOADER}" --library-path "{paths}" '
                      f'--argv0 "{root}/{(name or program).relative_to(inside)}" "{root}/{program.relative_to(inside)}" {options}"$@"\n')
    script.chmod(0o755)


def llvm_libraries(root: pathlib.Path) -> list[str]:
    return [str(path.relative_to(root)) for path in sorted(root.glob("usr/lib/llvm-*/lib"))]


def build(compiler: Compiler, suite: debian.Suite, folder: pathlib.Path) -> None:
    root = folder / "root"
    for name in ("lib", "lib64", "bin"):  # as in every system of Debian
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    packages = sorted({package for group in compiler.packages() for package in suite.with_dependencies(*group)})
    suite.unpack(packages, root, "--keep-directory-symlink", "--wildcards", *(f"--exclude={pattern}" for pattern in LEFT_OUT))
    for tool in ("as", "ld"):
        wrapper(folder, folder / "tools" / tool, (root / "usr/bin" / f"{MACHINE}-{tool}").resolve())
    if compiler.family == "gcc":
        for name in ("cc1plus", "collect2"):
            for path in sorted(root.glob(f"usr/lib*/gcc/{MACHINE}/*/{name}")):
                program = path.rename(path.with_name(name + ".program"))
                wrapper(folder, path, program, path)
        wrapper(folder, folder / "bin/g++", root / f"usr/bin/{MACHINE}-g++-{compiler.version}",
                options='"--sysroot=$here/../root" "-B$here/../tools/" ')
    else:
        llvm = root / f"usr/lib/llvm-{compiler.version}"
        resources = next(path.parent for path in sorted(llvm.glob("lib/clang/*/include")))
        program = (llvm / "bin/clang").rename(llvm / "bin/clang.program")
        wrapper(folder, llvm / "bin/clang", program, llvm / "bin/clang++")  # which clang++ is a link to, and which it starts once more
        wrapper(folder, folder / "bin/clang++", program, llvm / "bin/clang++",
                options=f'-no-canonical-prefixes "-resource-dir=$here/../{resources.relative_to(folder)}" "--sysroot=$here/../root" '
                        f'"-B$here/../tools/" ')


def prepare(wanted: list[Compiler]) -> dict[str, str]:
    """Downloads those that are not there. Of each that cannot be had, why."""
    problems: dict[str, str] = {}
    suites: dict[str, debian.Suite] = {}

    def make(compiler: Compiler, folder: pathlib.Path, temporary: pathlib.Path) -> None:
        found = []
        for name in compiler.suites:
            try:
                suites[name] = suite = debian.Suite(name, temporary / name)
                suite.with_dependencies(*compiler.packages()[0])
            except debian.DebianError as error:
                found.append(f"{name}: {error}")
                continue
            return build(compiler, suite, folder)
        raise debian.DebianError("; ".join(found))

    for compiler in wanted:
        if not compiler.ready():
            try:
                debian.whole(compiler.folder.name, lambda folder, temporary, compiler=compiler: make(compiler, folder, temporary))
            except (debian.DebianError, OSError, StopIteration) as error:
                problems[compiler.name] = str(error)
    return problems
