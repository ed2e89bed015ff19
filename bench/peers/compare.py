#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""zeropoint beside ONNX Runtime, PyTorch, XNNPACK, OpenVINO and ncnn: one thread, the same operands, interleaved rounds, one process.

See README.md here for what is compared and what each number includes.
"""
import argparse
import dataclasses
import datetime
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import shlex
import subprocess
import sys

import instruction_set
from instruction_set import HERE

PACKAGES = ["numpy", "onnx", "onnxruntime", "torch", "ai-edge-litert", "openvino", "ncnn", "matplotlib", "safetensors"]
MASKED = "ZEROPOINT_PEERS_MASKED"


def package_folder(module: str) -> pathlib.Path:
    return pathlib.Path(importlib.util.find_spec(module).origin).parent


def peer_objects() -> list[pathlib.Path]:
    """The shared objects of the peers that may ask the processor what it is."""
    onnx_runtime, torch = package_folder("onnxruntime") / "capi", package_folder("torch") / "lib"
    openvino = package_folder("openvino") / "libs"
    return [*onnx_runtime.glob("*onnxruntime*.so*"), *package_folder("ai_edge_litert").glob("lib*.so"),
            *openvino.glob("libopenvino.so*"), openvino / "libopenvino_intel_cpu_plugin.so", *package_folder("ncnn").glob("*.so"),
            *(torch / name for name in ("libtorch_cpu.so", "libc10.so", "libtorch_python.so"))]


def missing_packages() -> list[str]:
    def is_missing(package: str) -> bool:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return True
        return False
    return [package for package in PACKAGES if is_missing(package)]


def processor() -> tuple[str, list[str]]:
    fields = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    return f"{fields['model name']}, family {fields['cpu family']}, model {fields['model']}", fields["flags"].split()


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Those of all three programs here."""
    parser.add_argument("--quick", action="store_true", help="a minute, to see that it works; figures are worth little")
    parser.add_argument("--require", action="store_true", help="fail where a package or AVX2 is missing, --quick too")
    parser.add_argument("--peers-isa", choices=["avx2", "vnni", "native"], default="avx2",
                        help="what instruction set the peers see and zeropoint is compiled for")
    parser.add_argument("--seconds", type=float, default=4.0, help="timing of one layer; networks take longer")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--include-flags", type=pathlib.Path, help="response file with -I flags, written by CMake's "
                        "configure step; default: the newest build/*/include_flags.txt")
    parser.add_argument("--libraries", type=pathlib.Path, help="where CMake's target peers is built, such as "
                        "build/release/bench; default: they are compiled here")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the processor to run on")


def add_report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=pathlib.Path, help="folder for peers.md, peers.json and the charts")
    parser.add_argument("--add", action="store_true", help="to what peers.json there has of the same machine and versions: a run in parts")
    parser.add_argument("--rtneural", type=pathlib.Path, metavar="FOLDER", help="a checkout of RTNeural with its Eigen, to be compiled")
    parser.add_argument("--only", default="", help="layers and networks whose name has this in it, or one of several with commas between")


def read_options(parser: argparse.ArgumentParser) -> argparse.Namespace:
    options = parser.parse_args()
    options.asks_for = lambda name: any(one in name for one in options.only.split(","))
    return options


@dataclasses.dataclass
class Runtimes:
    """What peers that are called through C interfaces have in common."""
    onnx: object
    openvino: object
    rtneural: object | None


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_report_options(parser)
    add_common_options(parser)
    return read_options(parser)


def lacking() -> str:
    """What a comparison needs and this machine has not."""
    if missing := missing_packages():
        return f"{', '.join(missing)}: run bench/peers/install.py and build/venv/bin/python"
    return "" if "avx2" in processor()[1] else "AVX2"


def begin(options: argparse.Namespace, one_processor: bool = True) -> None:
    """Goes on as a process whose peers see AVX2 where that is asked for, and that runs on one processor. Ends the program where
    something is missing."""
    if what := lacking():
        print(f"skipped: this machine lacks {what}")
        sys.exit(0 if options.quick and not options.require else 1)
    if options.quick:
        options.seconds = min(options.seconds, 0.1)
    if options.peers_isa != "native" and MASKED not in os.environ:
        restart_masked(options.peers_isa)
    for name in instruction_set.OF_THE_MASK:  # it is in place; the compiler needs none
        os.environ.pop(name, None)
    if one_processor:
        os.sched_setaffinity(0, {options.cpu})


def restart_masked(isa: str) -> None:
    """The mask is in place before the peers are loaded: in a new process."""
    environment = instruction_set.masked_environment(peer_objects(), os.environ.get("CC", "cc"), isa)
    os.execve(sys.executable, [sys.executable, *sys.argv], environment | {MASKED: "1"})


def commit() -> str:
    described = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty", "--exclude", "*"], capture_output=True, text=True)
    return described.stdout.strip() or "not a checkout"


def prepared(options: argparse.Namespace):
    """The library of zeropoint's, the peers' runtimes, and what is said of a run. Only behind begin: the mask must be in place before
    the peers are loaded."""
    import energy
    import onnx_peer
    import openvino_peer
    import rtneural
    import torch
    import zeropoint_peer
    library = zeropoint_peer.Library(zeropoint_peer.build(options))
    calls = instruction_set.shared_library("calls.c", os.environ.get("CC", "cc"))
    runtimes = Runtimes(onnx_peer.Runtime(next((package_folder("onnxruntime") / "capi").glob("libonnxruntime.so.*")), calls),
                        openvino_peer.Runtime(package_folder("openvino"), calls), rtneural.build(options))
    compiler = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    seen, counter = torch.backends.cpu.get_cpu_capability(), energy.Counter()
    if options.peers_isa == "avx2" and seen != "AVX2":
        sys.exit(f"the mask does not work: PyTorch sees {seen}")
    run = {
        "machine": processor()[0],
        "instruction set": instruction_set.SAID[options.peers_isa],
        "PyTorch sees": seen,
        "date": datetime.date.today().isoformat(),
        "command": f"python3 bench/peers/{pathlib.Path(sys.argv[0]).name} " + shlex.join(sys.argv[1:]),
        "versions": ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES),
        "compiler of zeropoint": f"{compiler.splitlines()[0]}, -O3 {instruction_set.FLAGS[options.peers_isa]}",
        "commit": commit(),
        "threads": f"1, on processor {options.cpu}",
        "energy": "by RAPL, whole packages" if counter.folders else f"not measured: {counter.reason}",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
    }
    return library, runtimes, run


def main() -> None:
    options = parse_options()
    begin(options)
    import compare_layers
    import compare_networks
    import compare_streams
    import report
    import torch
    torch.set_num_threads(1)
    library, runtimes, run = prepared(options)
    results = {"run": run}
    for part in (compare_layers, compare_networks, compare_streams):
        results |= part.compare(library, runtimes, options)
    report.finish(results, options)


if __name__ == "__main__":
    main()
