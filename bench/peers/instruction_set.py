# SPDX-License-Identifier: BSD-3-Clause
"""Shows the peers a processor without AVX-512, VNNI and AMX, or without AMX alone: the `cpuid` instructions of their shared
objects are found here and answered by mask_cpuid.c."""
import bisect
import json
import os
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CPUID = b"\x0f\xa2"
NOPS = b"\x90" * 16  # behind which a disassembler is in step again
OF_THE_MASK = ("LD_AUDIT", "MASK_CPUID", "MASK_CPUID_TILES", "LD_BIND_NOW")  # bound early, calls need no auditing trampoline
# Those that have a switch of their own get it as well.
SWITCHES = {"avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
            "vnni": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI", "MASK_CPUID_TILES": "1"}}
SAID = {"avx2": "peers and zeropoint restricted to AVX2", "vnni": "peers and zeropoint without AMX", "native": "native"}
FLAGS = {"avx2": "-march=x86-64-v3", "vnni": "-march=native -mno-amx-tile -mno-amx-int8", "native": "-march=native"}


def sections(elf: bytes) -> dict[str, tuple[int, int, int, int]]:
    """name: (flags, address, file offset, size)"""
    table, = struct.unpack_from("<Q", elf, 40)
    entry_size, count, names_index = struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQ", elf, table + i * entry_size) for i in range(count)]
    names = rows[names_index][4]
    return {elf[names + row[0]:elf.index(b"\0", names + row[0])].decode(): row[2:6] for row in rows if row[1] != 8}


def function_starts(elf: bytes, found: dict[str, tuple[int, int, int, int]]) -> list[int]:
    """Addresses from the sorted table of .eh_frame_hdr, the unwinder's index of functions."""
    _, address, offset, _ = found[".eh_frame_hdr"]
    version, frame_encoding, count_encoding, table_encoding = elf[offset:offset + 4]
    if (version, frame_encoding, count_encoding, table_encoding) != (1, 0x1b, 0x03, 0x3b):
        raise ValueError("an .eh_frame_hdr of an unusual encoding")
    count, = struct.unpack_from("<I", elf, offset + 8)
    pairs = struct.unpack_from(f"<{2 * count}i", elf, offset + 12)
    return [address + start for start in pairs[::2]]


def cpuid_addresses(path: pathlib.Path) -> list[int]:
    """The addresses of the cpuid instructions of a shared object. The two bytes also occur inside other instructions
    and in data, so each function that holds them is disassembled from its start."""
    elf = path.read_bytes()
    found = sections(elf)
    starts = function_starts(elf, found)
    candidates = {}
    for flags, address, offset, size in found.values():
        if not flags & 4:  # SHF_EXECINSTR
            continue
        at = elf.find(CPUID, offset, offset + size)
        while at != -1:
            where = address + at - offset
            start = max(starts[max(bisect.bisect_right(starts, where) - 1, 0)], address)
            last = candidates.get(start, (0, 0))[0]
            candidates[start] = (max(last, where), start - address + offset)
            at = elf.find(CPUID, at + 1, offset + size)
    if not candidates:
        return []
    image, origins = bytearray(), []
    for start, (last, offset) in sorted(candidates.items()):
        origins.append((len(image), start))
        image += elf[offset:offset + last - start + len(CPUID)] + NOPS
    scratch = path_of_cache() / f"functions.{os.getpid()}.bin"
    scratch.write_bytes(image)
    listing = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", str(scratch)],
                             capture_output=True, text=True, check=True).stdout
    scratch.unlink()
    addresses = []
    for line in listing.splitlines():
        fields = line.split("\t")
        if len(fields) == 3 and fields[2].strip() == "cpuid":
            at = int(fields[0].strip(" :"), 16)
            begin, start = origins[bisect.bisect_right(origins, (at, sys.maxsize)) - 1]
            addresses.append(start + at - begin)
    return addresses


def path_of_cache() -> pathlib.Path:
    folder = HERE.parents[1] / "build" / "peers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_whole(path: pathlib.Path, text: str) -> None:
    """So that a run beside this one reads all of it."""
    own = path.with_suffix(f".{os.getpid()}")
    own.write_text(text)
    own.replace(path)


def shared_library(source: str, compiler: str) -> pathlib.Path:
    library = path_of_cache() / (pathlib.Path(source).stem + ".so")
    own = library.with_suffix(f".{os.getpid()}")
    subprocess.run([compiler, "-x", "c", "-O2", "-fPIC", "-shared", str(HERE / source), "-o", str(own)], check=True)
    own.replace(library)
    return library


def masked_environment(objects: list[pathlib.Path], compiler: str, isa: str) -> dict[str, str]:
    """The environment of a process in which `objects` see AVX2 at most, or no AMX."""
    cache_file = path_of_cache() / "cpuid.json"
    cache = json.loads(cache_file.read_text()) if cache_file.exists() else {}
    lines = []
    for path in objects:
        key = f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}"
        if key not in cache:
            cache[key] = cpuid_addresses(path)
        lines += [f"{path.name} {address:x}" for address in cache[key]]
    write_whole(cache_file, json.dumps(cache))
    site_file = path_of_cache() / "cpuid.txt"
    write_whole(site_file, "".join(line + "\n" for line in lines))
    library = shared_library("mask_cpuid.c", compiler)
    return {**os.environ, **SWITCHES[isa], "LD_AUDIT": str(library), "MASK_CPUID": str(site_file), "LD_BIND_NOW": "1"}
