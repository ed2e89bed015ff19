#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a static x86-64 Linux program on an emulated processor that this machine may lack: AVX-512, AVX-VNNI, AMX.

    scripts/architectures/bochs.py --model tigerlake PROGRAM [ARGUMENT...]

Bochs emulates the machine, a stock kernel of Debian's runs in it, and the program is its only process, in a folder
with the files that --file names. Prints what the program writes and exits with its status: 128 + N where signal N
ended it (132 is an illegal instruction), 124 out of time, 125 where the emulation itself failed. Needs no root.

Models: corei7_haswell_4770 (AVX2), arrow_lake (AVX-VNNI), corei7_skylake_x (AVX-512 F, CD, BW, DQ, VL),
corei7_icelake_u and tigerlake (AVX-512 VNNI), sapphire_rapids (AMX, of whose products Bochs 3.0 knows the unsigned ones
alone). 90 to 130 million instructions a second, after six seconds of boot.
"""
import argparse
import ctypes
import lzma
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tty
import zlib

import debian

SUITE = "trixie"  # its Bochs 3.0 works; 2.x is too old, and 3.1 hangs before the kernel
NAME = "bochs-" + SUITE + "-2"  # counted up where what build() makes changes: caches keep it
GUEST = pathlib.Path(__file__).resolve().parent / "bochs_guest"
LOADER = "ld-linux-x86-64.so.2"
# What is left out costs seconds to emulate, and no program misses it.
KERNEL_ARGUMENTS = ("console=ttyS0 quiet panic=-1 reboot=t nokaslr mitigations=off acpi=off nolapic lsm= cryptomgr.notests"
                    " initcall_blacklist=load_system_certificate_list,jent_mod_init,trace_eval_init,init_kprobe_trace,"
                    "i8042_init,cec_init")
# Linux takes no AMX without XFD, and stops: it is to see none, and tiles.c switches the tiles on behind its back.
MODELS_WITH_TILES = ("sapphire_rapids",)
TILE_ARGUMENTS = " clearcpuid=amx_tile,amx_int8,amx_bf16 ibt=off"
MEMORY = 768 << 20


class EmulationError(RuntimeError):
    pass


# ---- the parts, prepared once

def inflate(packed: bytes) -> bytes | None:
    """A kernel's payload, unpacked."""
    if packed[:4] == b"\x28\xb5\x2f\xfd":  # its size follows the data
        zstd = ctypes.CDLL("libzstd.so.1")
        for function in (zstd.ZSTD_decompress, zstd.ZSTD_findFrameCompressedSize):
            function.restype = ctypes.c_size_t
        size = struct.unpack("<I", packed[-4:])[0]
        out = ctypes.create_string_buffer(size)
        frame = zstd.ZSTD_findFrameCompressedSize(packed, ctypes.c_size_t(len(packed)))
        if frame > len(packed) or zstd.ZSTD_decompress(out, ctypes.c_size_t(size), packed, ctypes.c_size_t(frame)) != size:
            return None
        return out.raw
    if packed[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(packed)
    if packed[:2] == b"\x1f\x8b":
        return zlib.decompressobj(31).decompress(packed)
    return None


def loaded_kernel(image: bytes) -> bytes:
    """Load address, entry, the setup header, and the kernel as it lies in memory."""
    if image[0x202:0x206] != b"HdrS":
        raise EmulationError("the kernel is no bzImage")
    body = image[((image[0x1f1] or 4) + 1) * 512:]
    offset, length = struct.unpack_from("<II", image, 0x248)
    elf = inflate(body[offset:offset + length])
    if elf and elf[:4] == b"\x7fELF":
        entry, headers = struct.unpack_from("<QQ", elf, 0x18)
        segments = [struct.unpack_from("<IIQQQQQQ", elf, headers + 56 * i)
                    for i in range(struct.unpack_from("<H", elf, 0x38)[0])]
        segments = [(s[4], s[2], s[5], s[6]) for s in segments if s[0] == 1]  # address, offset, size, memory
        base = min(s[0] for s in segments)
        memory = bytearray(max(s[0] + s[3] for s in segments) - base)
        for address, start, size, _ in segments:
            memory[address - base:address - base + size] = elf[start:start + size]
    else:  # slower: it unpacks itself
        base, entry, memory = 0x1000000, 0x1000200, body
    header = struct.pack("<QQQ", base, entry, 0) + image[0x1f1:0x202 + image[0x201]]
    return header.ljust(0x1000, b"\0") + bytes(memory)


def needed_libraries(loader: pathlib.Path, folder: pathlib.Path, programs: list[pathlib.Path]) -> set[str]:
    found = set()
    for program in programs:
        listed = subprocess.run([loader, "--library-path", folder, "--list", program], capture_output=True, text=True).stdout
        if "not found" in listed:
            raise EmulationError("libraries of Bochs are missing:\n" + listed)
        found |= {line.split("=>")[1].split()[0] for line in listed.splitlines() if "=>" in line}
    return found


def build_module(root: pathlib.Path, module: pathlib.Path) -> None:
    """tiles.c against the headers of the kernel, whose packages are unpacked in `root`."""
    sources = root / "usr/src"
    common = next(sources.glob("linux-headers-*-common"))
    own = next(path for path in sources.glob("linux-headers-*-cloud-amd64") if path.is_dir())
    layout = re.search(r"^(0x[0-9a-f]+)\tmodule_layout\t", (own / "Module.symvers").read_text(encoding="utf-8"), re.MULTILINE)
    if layout is None:
        raise EmulationError("the headers of the kernel name no version of module_layout")
    includes = [common / "arch/x86/include", own / "arch/x86/include/generated", common / "include", own / "include",
                common / "arch/x86/include/uapi", own / "arch/x86/include/generated/uapi", common / "include/uapi",
                own / "include/generated/uapi"]
    subprocess.run(["gcc", "-nostdinc", *(f"-I{path}" for path in includes),
                    "-include", common / "include/linux/kconfig.h", "-include", common / "include/linux/compiler_types.h",
                    "-D__KERNEL__", "-DMODULE", '-DKBUILD_MODNAME="tiles"', f"-DLAYOUT_VERSION={layout[1]}", "-DCC_USING_FENTRY",
                    "-std=gnu11", "-w", "-O2", "-fshort-wchar", "-funsigned-char", "-fno-PIE",
                    "-fno-strict-aliasing", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
                    "-fcf-protection=branch", "-mcmodel=kernel", "-mno-red-zone", "-mno-sse", "-mno-80387",
                    "-c", GUEST / "tiles.c", "-o", module], check=True)


def build(suite: debian.Suite, folder: pathlib.Path) -> None:
    headers = [p for p in suite.with_dependencies("linux-headers-cloud-amd64") if re.match(r"linux-headers-\d", p)]
    suite.unpack(headers, folder / "headers", "--wildcards", "--exclude=./usr/share/doc*")
    build_module(folder / "headers", folder / "tiles.ko")
    shutil.rmtree(folder / "headers")
    root = folder / "root"
    kernel = next((p for p in suite.with_dependencies("linux-image-cloud-amd64")
                   if p.startswith(("linux-binary-", "linux-image-")) and p != "linux-image-cloud-amd64"), None)
    packages = [p for p in suite.with_dependencies("bochs", "bochs-term", "bochsbios", "vgabios", "ncurses-base")
                if p.startswith(("lib", "zlib1g", "bochs", "vgabios", "ncurses-base"))]
    if kernel is None or "bochs-term" not in packages:
        raise EmulationError(f"Debian {SUITE} has no kernel or no Bochs")
    suite.unpack([*packages, kernel], root, "--wildcards", "--exclude=./usr/share/doc*", "--exclude=./usr/share/man*",
                 "--exclude=./usr/share/locale*", "--exclude=./etc*", "--exclude=./var*", "--exclude=*.ko*")
    libraries = root / "usr/lib/x86_64-linux-gnu"
    plugins = libraries / "bochs/plugins"
    (folder / "lib").mkdir()
    for library in needed_libraries(libraries / LOADER, libraries,
                                    [root / "usr/bin/bochs-bin", plugins / "libbx_term_gui.so"]):
        shutil.copy(library, folder / "lib")  # follows links
    shutil.copy(libraries / LOADER, folder / "lib")
    shutil.move(root / "usr/bin/bochs-bin", folder)
    shutil.move(plugins, folder)
    (folder / "share").mkdir()
    shutil.copy(root / "usr/share/bochs/BIOS-bochs-latest", folder / "share/bios.bin")
    shutil.copy(root / "usr/share/vgabios/vgabios.bin", folder / "share/vgabios.bin")
    terminfo = next(p for p in (root / "usr/share/terminfo", root / "usr/lib/terminfo", root / "lib/terminfo") if p.is_dir())
    shutil.copytree(terminfo, folder / "terminfo", symlinks=False, ignore_dangling_symlinks=True)
    for command in (["gcc", "-c", GUEST / "boot.S", "-o", folder / "boot.o"],
                    ["ld", "-m", "elf_x86_64", "-Ttext=0x7c00", "--oformat=binary", "-o", folder / "boot.bin", folder / "boot.o"],
                    ["gcc", "-O2", "-static", "-s", "-o", folder / "init", GUEST / "init.c"]):
        subprocess.run(command, check=True)
    image = next(path for path in root.rglob("vmlinuz*") if path.is_file() and not path.is_symlink())
    (folder / "kernel").write_bytes(loaded_kernel(image.read_bytes()))
    shutil.rmtree(root)


def prepare() -> pathlib.Path:
    return debian.prepare(NAME, SUITE, build)


def command(model: str, data: tuple[str, ...]) -> tuple[str, ...] | None:
    """The command that a program's path is appended to, where prepare() was called before."""
    if not (debian.cache_folder() / NAME).is_dir():
        return None
    return (sys.executable, __file__, "--model", model, *(f"--file={name}" for name in data))


# ---- one run

def archive(files: list[tuple[str, int, bytes]]) -> bytes:
    """A cpio archive, from which Linux makes its first file system."""
    out = bytearray()
    for inode, (name, mode, data) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        encoded = name.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def file_system(parts: pathlib.Path, model: str, arguments: list[str], files: dict[str, pathlib.Path]) -> bytes:
    folder, plain = 0o40755, 0o100755
    program = pathlib.Path(arguments[0]).read_bytes()
    if program[:4] != b"\x7fELF":
        raise EmulationError(f"no ELF program: {arguments[0]}")
    strings = lambda texts: b"".join(os.fsencode(text) + b"\0" for text in texts)
    entries = [("init", plain, (parts / "init").read_bytes()), ("t", folder, b""), ("t/run", plain, program),
               ("t/args", plain, strings(arguments)), ("t/env", plain, strings(["PATH=/bin", "HOME=/t", "TMPDIR=/tmp"]))]
    if model in MODELS_WITH_TILES:
        entries.append(("tiles.ko", plain, (parts / "tiles.ko").read_bytes()))
    made = {pathlib.PurePosixPath("t")}
    for name, source in files.items():
        path = pathlib.PurePosixPath("t") / name
        for parent in reversed(path.parents[:-1]):
            if parent not in made:
                made.add(parent)
                entries.append((str(parent), folder, b""))
        entries.append((str(path), plain, source.read_bytes()))
    return archive(entries)


def write_disk(parts: pathlib.Path, model: str, disk: pathlib.Path, initial: bytes) -> int:
    """The disk that the boot sector reads; gives its cylinders."""
    kernel = (parts / "kernel").read_bytes()
    base, entry, _ = struct.unpack_from("<QQQ", kernel)
    header, image = kernel[24:0x1000], kernel[0x1000:]
    at = (MEMORY - len(initial) - 0x1000000) & ~0xfffff
    if at < base + len(image) + 0x4000000 + len(initial):
        raise EmulationError("the program and its files do not fit in the guest's memory")
    parameters = bytearray(4096)  # Linux's struct boot_params
    size = 0x11 + header[0x10]
    parameters[0x1f1:0x1f1 + size] = header[:size]
    parameters[0x210] = 0xff  # an unnamed loader
    parameters[0x211] |= 1  # loaded high
    struct.pack_into("<II", parameters, 0x218, at, len(initial))
    struct.pack_into("<I", parameters, 0x228, 0x91000)  # the kernel's arguments
    regions = [(0, 0x60000, 1), (0x60000, 0x40000, 2), (0xe0000, 0x20000, 2), (0x100000, MEMORY - 0x200000, 1)]
    parameters[0x1e8] = len(regions)
    for i, region in enumerate(regions):
        struct.pack_into("<QQI", parameters, 0x2d0 + 20 * i, *region)
    boot = bytearray((parts / "boot.bin").read_bytes().ljust(0x1000, b"\0"))
    struct.pack_into("<Q", boot, 0xf00, entry)
    body = bytearray()
    first = 8
    kernel_arguments = KERNEL_ARGUMENTS + (TILE_ARGUMENTS if model in MODELS_WITH_TILES else "")
    for i, (address, data) in enumerate([(0x90000, bytes(parameters) + kernel_arguments.encode() + b"\0"), (base, image),
                                         (at, initial)]):
        sectors = (len(data) + 511) // 512
        struct.pack_into("<III", boot, 0xf08 + 12 * i, first, address, sectors)
        first += sectors
        body += data + b"\0" * (512 * sectors - len(data))
    cylinder = 16 * 63 * 512
    cylinders = -(-(len(boot) + len(body)) // cylinder)
    with disk.open("wb") as file:
        file.write(boot)
        file.write(body)
        file.truncate(cylinders * cylinder)
    return cylinders


def settings(parts: pathlib.Path, work: pathlib.Path, model: str, cylinders: int) -> str:
    megabytes = MEMORY >> 20
    return f"""config_interface: textconfig
display_library: term
plugin_ctrl: unmapped=1, biosdev=1, parallel=1, serial=1, speaker=0, gameport=0
memory: guest={megabytes}, host={megabytes}
cpu: model={model}, count=1, ips=20000000, reset_on_triple_fault=0, ignore_bad_msrs=1
romimage: file={parts}/share/bios.bin, options=fastboot
vgaromimage: file={parts}/share/vgabios.bin
ata0: enabled=1
ata1: enabled=0
ata0-master: type=disk, path={work}/disk, mode=flat, cylinders={cylinders}, heads=16, spt=63
boot: disk
clock: sync=none, time0=0
log: {work}/log
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
com1: enabled=1, mode=file, dev={work}/console
parport1: enabled=1, file={work}/out
"""


def forward_output(sent: bytes) -> tuple[bool, int | None]:
    """Prints what the guest sent, frame by frame; gives whether the program began, and its status if it ended."""
    at, started, status = 0, False, None
    while at + 4 <= len(sent) and sent[at] == 0xa5:
        kind, size = sent[at + 1], sent[at + 2] | sent[at + 3] << 8
        data = sent[at + 4:at + 4 + size]
        at += 4 + size
        if kind == 0:
            started = True
        elif kind == 3 and data:
            status = data[0]
        elif kind == 4:
            print("in the guest:", data.decode("utf-8", "replace"), file=sys.stderr)
        else:
            stream = sys.stdout if kind == 1 else sys.stderr
            stream.buffer.write(data)
            stream.flush()
    return started, status


def read_screen(process: subprocess.Popen, errors: pathlib.Path) -> None:
    """Reads what Bochs shows until it ends. Its display is a pseudo-terminal on which a cursor blinks, some bytes a second of
    real time: left alone, the terminal is full after minutes, and Bochs waits for a reader for ever."""
    connected = None
    while connected is None and process.poll() is None:
        time.sleep(0.1)
        connected = re.search(rb'connected to screen "([^"]+)"', errors.read_bytes())
    if connected is None:
        return
    try:
        screen = os.open(connected.group(1), os.O_RDWR | os.O_NOCTTY)
        try:
            tty.setraw(screen)
            while process.poll() is None:
                if select.select([screen], [], [], 1)[0] and not os.read(screen, 4096):
                    return
        finally:
            os.close(screen)
    except OSError:  # it ended, and the terminal with it
        pass


def emulate(parts: pathlib.Path, work: pathlib.Path, limit: float) -> bool:
    """Runs Bochs; False if it ran out of time. It ends with this process, however that ends."""
    libc = ctypes.CDLL(None)
    kill_with_parent = lambda: libc.prctl(1, signal.SIGKILL)
    environment = {"LC_ALL": "C", "TERM": "linux", "TERMINFO": str(parts / "terminfo"), "BXSHARE": str(parts / "share"),
                   "LTDL_LIBRARY_PATH": str(parts / "plugins"), "HOME": str(work)}
    with (work / "screen").open("wb") as screen, (work / "errors").open("wb") as errors:
        process = subprocess.Popen([parts / "lib" / LOADER, "--library-path", parts / "lib", parts / "bochs-bin", "-q", "-f",
                                    work / "bochsrc"], stdin=subprocess.DEVNULL, stdout=screen, stderr=errors,
                                   env=environment, cwd=work, preexec_fn=kill_with_parent)
        threading.Thread(target=read_screen, args=(process, work / "errors"), daemon=True).start()
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
    return True


def run(model: str, arguments: list[str], files: dict[str, pathlib.Path], limit: float) -> int:
    parts = prepare()
    with tempfile.TemporaryDirectory(prefix="bochs.") as temporary:
        work = pathlib.Path(temporary)
        cylinders = write_disk(parts, model, work / "disk", file_system(parts, model, arguments, files))
        (work / "bochsrc").write_text(settings(parts, work, model, cylinders))
        in_time = emulate(parts, work, limit)
        sent = (work / "out").read_bytes() if (work / "out").exists() else b""
        started, status = forward_output(sent)
        if status is not None:
            return status
        if not in_time:
            print(f"out of time after {limit} s", file=sys.stderr)
            return 124
        print("the emulation failed; the program had " + ("started" if started else "not started"), file=sys.stderr)
        for name in ("errors", "console", "log"):
            path = work / name
            if path.exists():
                print(f"{name}: ...{path.read_bytes()[-400:].decode('utf-8', 'replace')}", file=sys.stderr)
        return 125


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tigerlake", help="Bochs' name of the processor")
    parser.add_argument("--file", action="append", default=[], help="a file, or a folder with all its files, to put beside "
                        "the program by the same relative path")
    parser.add_argument("--limit", type=float, default=1800, help="seconds; then exit status 124")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.program:
        parser.error("no program named")
    files = {}
    for name in options.file:
        path = pathlib.Path(name)
        for file in [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]:
            files[str(file)] = file
    try:
        return run(options.model, options.program, files, options.limit)
    except (EmulationError, debian.DebianError, OSError) as error:
        print(error, file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main())
