# SPDX-License-Identifier: BSD-3-Clause
"""Every architecture that the tests are compiled for: compiler, flags, and the machines that run the result."""
import dataclasses
import os
import shutil

import emscripten

# GCC collects its garbage from 128 MB on, however much memory there is: an eighth of the time of a large unit. Two are compiled at once.
COLLECTS_LATE = f"--param=ggc-min-heapsize={os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 1024 // 8}"


@dataclasses.dataclass(frozen=True)
class Compiler:
    """A compiler for one instruction set: the first of `commands` that is installed."""

    commands: tuple[str, ...]
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ("-static",)
    machine: str = ""  # what platform.machine() says where its programs run without an emulator
    suffix: str = ""  # of programs
    optimization: tuple[str, ...] = ("-Og", COLLECTS_LATE)  # for kernels: vectors in registers, inlined what asks for it, and no more

    def find(self) -> list[str] | None:
        for name in self.commands:
            if path := shutil.which(name):
                return [path]
            if name == "em++" and (command := emscripten.command()):
                return list(command)
        return None


@dataclasses.dataclass(frozen=True)
class Target:
    """One row of the table."""

    name: str
    family: str  # of processors: in every run of CI one row of each is tested
    headers: tuple[str, ...]  # its own, in kernel/arch: those of its primitives and of the primitives that they build on
    compiler: str
    flags: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()  # a program of qemu's and its CPU model, ("bochs", model), or ("node",)
    cpu: tuple[str, ...] = ()  # flags of /proc/cpuinfo without which the program does not run natively


CLANG_OPTIMIZATION = ("-O1", "-mllvm", "-inline-threshold=0")
CLANGS = ("clang++-19", "clang++-20", "clang++-21", "clang++")


def clang(target: str, machine: str, *flags: str) -> Compiler:
    """Clang with the headers and libraries of Debian's GCC for the same target: compiles in half of GCC's time."""
    return Compiler(CLANGS, (f"--target={target}", *flags), ("-static", "-fuse-ld=lld"), machine, optimization=CLANG_OPTIMIZATION)


COMPILERS = {
    "gcc x86-64": Compiler(("g++-12", "g++"), machine="x86_64"),
    "clang x86-64": Compiler(CLANGS, machine="x86_64", optimization=CLANG_OPTIMIZATION),
    # 8 MiB of stack, as elsewhere. GCC aligns no vector of 32 bytes on that system's stack, so that none may be moved as if.
    "gcc windows": Compiler(("x86_64-w64-mingw32-g++-posix",), ("-Wa,-mbig-obj,-muse-unaligned-vector-move",),
                            ("-static", "-Wl,--stack,8388608"), suffix=".exe"),
    "gcc x86": Compiler(("i686-linux-gnu-g++-12", "i686-linux-gnu-g++"), ("-mfpmath=sse",), machine="x86_64"),
    "gcc aarch64": Compiler(("aarch64-linux-gnu-g++-12", "aarch64-linux-gnu-g++"), ("-Wno-psabi",), machine="aarch64"),
    "clang aarch64": clang("aarch64-linux-gnu", "aarch64"),
    "gcc arm": Compiler(("arm-linux-gnueabihf-g++-12", "arm-linux-gnueabihf-g++"), ("-mfloat-abi=hard", "-Wno-psabi"),
                        machine="armv7l"),
    # No vectors where no kernel asks for them: exceptions abort in frames that spill some, before libgcc 14.
    "clang riscv64": clang("riscv64-linux-gnu", "riscv64", "-mabi=lp64d", "-mno-implicit-float"),
    "gcc powerpc64le": Compiler(("powerpc64le-linux-gnu-g++-12", "powerpc64le-linux-gnu-g++"), ("-Wno-psabi",),
                                machine="ppc64le"),
    "clang powerpc64le": clang("powerpc64le-linux-gnu", "ppc64le"),
    "gcc s390x": Compiler(("s390x-linux-gnu-g++-12", "s390x-linux-gnu-g++"), machine="s390x"),
    "emscripten": Compiler(("em++",), ("-fwasm-exceptions",), ("-sNODERAWFS=1", "-sEXIT_RUNTIME=1", "-sALLOW_MEMORY_GROWTH=1",
                                                         "-sSTACK_SIZE=8MB"), suffix=".js",
                           optimization=("-O1",)),
}


def default_arch(tag: str) -> str:
    return f"-DXSIMD_DEFAULT_ARCH={tag}"


AVX2 = ("-mavx2", "-mfma")
AVX512BW = ("-mavx512f", "-mavx512cd", "-mavx512dq", "-mavx512bw")
SVE = "-march=armv8.2-a+sve+dotprod"
RVV = ("-mrvv-vector-bits=zvl",)


def sve(bits: int, name: str, extension: str) -> Target:
    headers = ("sve.hpp", "matrix_products.hpp", "sve_i8mm.hpp") if extension else ("sve.hpp",)
    return Target(f"sve{bits}-{name}", "Arm", headers, "clang aarch64", (SVE + extension, f"-msve-vector-bits={bits}"),
                  ("qemu-aarch64", "-cpu", f"max,sve{bits}=on"))


def rvv(bits: int) -> Target:
    return Target(f"rvv{bits}", "RISC-V", ("rvv.hpp",), "clang riscv64", (f"-march=rv64gcv_zvl{bits}b", *RVV),
                  ("qemu-riscv64", "-cpu", f"rv64,v=true,vlen={bits},vext_spec=v1.0"))


def emulated(bits: int) -> Target:
    return Target(f"emulated<{bits}>", "portable", ("emulated.hpp",), "clang x86-64",
                  ("-DXSIMD_WITH_EMULATED=1", default_arch(f"xsimd::emulated<{bits}>")))


TARGETS = (
    Target("portable", "portable", ("portable.hpp",), "gcc x86-64", (default_arch("xsimd::unavailable"),)),
    Target("portable-riscv64", "portable", ("portable.hpp",),
           "clang riscv64", ("-march=rv64gc",), ("qemu-riscv64", "-cpu", "rv64,v=false")),
    emulated(128), emulated(256), emulated(512),
    Target("sse2", "x86", ("sse.hpp",), "gcc x86-64", (), ("qemu-x86_64", "-cpu", "qemu64")),
    Target("ssse3", "x86", ("sse.hpp",),
           "clang x86-64", ("-mssse3",), ("qemu-x86_64", "-cpu", "core2duo"), ("ssse3",)),
    Target("sse4.1", "x86", ("sse.hpp",),
           "clang x86-64", ("-msse4.1",), ("qemu-x86_64", "-cpu", "Penryn"), ("sse4_1",)),
    Target("avx2+fma", "x86", ("avx2.hpp",), "clang x86-64", AVX2, ("qemu-x86_64", "-cpu", "max"), ("avx2", "fma")),
    Target("avx-vnni", "x86", ("avx2.hpp", "avx_vnni.hpp"),
           "clang x86-64", (*AVX2, "-mavxvnni"), ("bochs", "arrow_lake"), ("avx2", "fma", "avx_vnni")),
    Target("avx512bw", "x86", ("avx512bw.hpp",), "clang x86-64", (*AVX2, *AVX512BW), ("bochs", "corei7_skylake_x"),
           ("avx512f", "avx512cd", "avx512dq", "avx512bw")),
    Target("avx512vnni<avx512bw>", "x86", ("avx512bw.hpp", "avx512_vnni.hpp"),
           "clang x86-64", (*AVX2, *AVX512BW, "-mavx512vl", "-mavx512vnni"),
           ("bochs", "corei7_icelake_u"), ("avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni")),
    Target("avx512vnni<avx512vbmi2>", "x86", ("avx512bw.hpp", "avx512_vnni.hpp"),
           "clang x86-64", ("-march=icelake-client",), ("bochs", "tigerlake"),
           ("avx512_vnni", "avx512_vbmi2", "avx512_vpopcntdq", "vaes", "gfni")),
    Target("amx", "x86", ("avx512bw.hpp", "tile_products.hpp", "avx512_amx.hpp"),
           "clang x86-64", ("-march=icelake-client", "-mamx-tile", "-mamx-int8"), ("bochs", "sapphire_rapids"),
           ("avx512_vnni", "avx512_vbmi2", "avx512_vpopcntdq", "vaes", "gfni", "amx_tile", "amx_int8")),
    Target("x86-sse2", "x86", ("sse.hpp",), "gcc x86", ("-msse2",)),
    Target("windows-avx2", "x86", ("avx2.hpp",), "gcc windows", AVX2, ("wine",), ("avx2", "fma")),
    Target("neon32", "Arm", ("neon.hpp", "neon_bytes.hpp"),
           "gcc arm", ("-march=armv7-a", "-mfpu=neon-vfpv4"), ("qemu-arm", "-cpu", "cortex-a15")),
    Target("neon64", "Arm", ("neon.hpp", "neon_bytes.hpp"),
           "gcc aarch64", ("-march=armv8-a",), ("qemu-aarch64", "-cpu", "cortex-a53")),
    Target("dotprod", "Arm", ("neon.hpp", "neon64_dotprod.hpp"),
           "clang aarch64", ("-march=armv8.2-a+dotprod",), ("qemu-aarch64", "-cpu", "cortex-a76")),
    Target("i8mm", "Arm", ("neon.hpp", "neon64_dotprod.hpp", "matrix_products.hpp", "neon64_i8mm.hpp"),
           "clang aarch64", ("-march=armv8.2-a+dotprod+i8mm",), ("qemu-aarch64", "-cpu", "max,sve=off")),
    sve(128, "dot", ""), sve(256, "dot", ""), sve(512, "dot", ""),
    sve(128, "i8mm", "+i8mm"), sve(256, "i8mm", "+i8mm"), sve(512, "i8mm", "+i8mm"),
    rvv(128), rvv(256), rvv(512),
    Target("vsx", "POWER, z", ("vsx.hpp",), "clang powerpc64le", ("-mcpu=power8", "-mvsx"), ("qemu-ppc64le", "-cpu", "power9")),
    # Not Clang: it asks for infinities by xststdcsp, for which qemu 7.2 takes denormal floats.
    Target("vsx-power9", "POWER, z", ("vsx.hpp",), "gcc powerpc64le", ("-mcpu=power9",), ("qemu-ppc64le", "-cpu", "power9")),
    Target("vxe", "POWER, z", ("vxe.hpp",), "gcc s390x", ("-march=z14", "-mzvector"), ("qemu-s390x", "-cpu", "max")),
    Target("wasm-simd128", "WebAssembly", ("wasm.hpp",), "emscripten", ("-msimd128",), ("node",)),
    Target("wasm-relaxed", "WebAssembly", ("wasm.hpp",), "emscripten", ("-msimd128", "-mrelaxed-simd"), ("node",)),
)
