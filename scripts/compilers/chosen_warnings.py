# SPDX-License-Identifier: BSD-3-Clause
"""Warnings under which every header compiles, with every compiler of debian_compilers.py, as errors.

A user's own warnings look into headers that are found by -I. What is left out has its reason beside it.
"""
import debian_compilers

OURS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow")

# GCC's, beyond these. -Wsign-conversion is Clang's alone: GCC's warns of every array of a template argument's length. -Wctad-maybe-unsupported
# warns of batches, -Wduplicated-branches of branches that some template arguments make the same.
GCC = ("-Wextra-semi", "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Wredundant-decls", "-Wduplicated-cond", "-Wlogical-op",
       "-Wundef", "-Wunused-macros", "-Wold-style-cast", "-Wformat=2", "-Wcast-qual", "-Wdeprecated-copy-dtor", "-Wsuggest-override",
       "-Wvla", "-Wcomma-subscript", "-Wvolatile", "-Wmismatched-tags", "-Wredundant-tags", "-Wzero-as-null-pointer-constant",
       "-Wconditionally-supported", "-Wmissing-declarations", "-Wnull-dereference",
       "-Wunused-const-variable=2", "-Wdate-time", "-Walloca", "-Wplacement-new=2", "-Wcatch-value=3", "-Wtrampolines",
       "-Warith-conversion", "-Wredundant-move", "-Wpessimizing-move")
# By the version from which on they are there.
GCC_FROM = {12: ("-Wbidi-chars=any", "-Wuse-after-free=3"), 13: ("-Winvalid-constexpr", "-Wdangling-reference", "-Wself-move",
                                                                "-Wxor-used-as-pow")}

# Of Clang's -Weverything all but these.
CLANG_WITHOUT = {
    "c++98-compat": "the library is C++20",
    "c++98-compat-pedantic": "the same",
    "pre-c++14-compat": "the same",
    "pre-c++17-compat": "the same",
    "pre-c++20-compat": "the same",
    "c++20-compat": "the same",
    "padded": "tells where a struct has padding: no mistake",
    "comma": "of folds over a pack: ((void)..., ...) says no more",
    "float-equal": "exact comparisons are meant: with 0, with a bound, with the value that was there",
    "double-promotion": "a float in a sum of doubles is meant",
    "switch-enum": "asks for every name though there is a default; -Wswitch and -Wcovered-switch-default stay on",
    "switch-default": "asks for a default though every name is there, which -Wcovered-switch-default forbids",
    "nrvo": "tells of a copy that is not elided: of small structs",
    "unsafe-buffer-usage": "asks for span in place of every pointer: kernels walk over memory",
    "unsafe-buffer-usage-in-libc-call": "the same",
    "unsafe-buffer-usage-in-container": "the same",
    "weak-vtables": "asks for a source file beside a class with a virtual function",
    "undefined-reinterpret-cast": "__m128i may alias: vectors are read where integers lie",
    "ctad-maybe-unsupported": "xsimd's batches are deduced from their values",
}


def of(compiler: debian_compilers.Compiler) -> list[str]:
    if compiler.family == "gcc":
        # GCC bug 105651: "literal" + std::string() is said to overlap itself, from -O2 on
        broken = ("-Wno-restrict",) if compiler.version == 12 else ()
        return [*OURS, *GCC, *broken, *(flag for version, flags in GCC_FROM.items() if compiler.version >= version for flag in flags)]
    # an unknown name after -Wno- is itself a warning, of older versions
    return [*OURS, "-Weverything", "-Wno-unknown-warning-option", *(f"-Wno-{name}" for name in CLANG_WITHOUT)]
