#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""zeropoint beside ONNX Runtime, PyTorch and XNNPACK: one thread, the same operands, interleaved rounds, one process.

See README.md here for what is compared and what each number includes.
"""
import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import subprocess
import sys

import instruction_set
from instruction_set import HERE, path_of_cache

PACKAGES = ["numpy", "onnx", "onnxruntime", "torch", "ai-edge-litert", "matplotlib", "safetensors"]
MASKED = "ZEROPOINT_PEERS_MASKED"


def package_folder(module: str) -> pathlib.Path:
    return pathlib.Path(importlib.util.find_spec(module).origin).parent


def peer_objects() -> list[pathlib.Path]:
    """The shared objects of the peers that may ask the processor what it is."""
    onnx_runtime, torch = package_folder("onnxruntime") / "capi", package_folder("torch") / "lib"
    return [*onnx_runtime.glob("*onnxruntime*.so*"), *package_folder("ai_edge_litert").glob("lib*.so"),
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
    parser.add_argument("--peers-isa", choices=["avx2", "native"], default="avx2",
                        help="what instruction set the peers see and zeropoint is compiled for")
    parser.add_argument("--seconds", type=float, default=4.0, help="timing of one layer; networks take longer")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--include-flags", type=pathlib.Path, help="response file with -I flags, written by CMake's "
                        "configure step; default: the newest build/*/include_flags.txt")
    parser.add_argument("--libraries", type=pathlib.Path, help="where CMake's target peers is built, such as "
                        "build/release/bench; default: they are compiled here")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the processor to run on")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, help="folder for peers.md, peers.json, peers.svg and peers.png")
    parser.add_argument("--only", default="", help="layers and networks whose name has this in it")
    add_common_options(parser)
    return parser.parse_args()


def lacking() -> str:
    """What a comparison needs and this machine has not."""
    if missing := missing_packages():
        return f"{', '.join(missing)}: run bench/peers/install.py and build/venv/bin/python"
    return "" if "avx2" in processor()[1] else "AVX2"


def begin(options: argparse.Namespace) -> None:
    """Goes on as a process that runs on one processor, whose peers see AVX2 where that is asked for. Ends the program where
    something is missing."""
    if what := lacking():
        print(f"skipped: this machine lacks {what}")
        sys.exit(0 if options.quick and not options.require else 1)
    if options.quick:
        options.seconds = min(options.seconds, 0.2)
    if options.peers_isa == "avx2" and MASKED not in os.environ:
        restart_masked()
    for name in instruction_set.OF_THE_MASK:  # it is in place; the compiler needs none
        os.environ.pop(name, None)
    os.sched_setaffinity(0, {options.cpu})


def restart_masked() -> None:
    """The mask is in place before the peers are loaded: in a new process."""
    environment = instruction_set.masked_environment(peer_objects(), os.environ.get("CC", "cc"))
    os.execve(sys.executable, [sys.executable, *sys.argv], environment | {MASKED: "1"})


def shared_library(source: str) -> pathlib.Path:
    library = path_of_cache() / (pathlib.Path(source).stem + ".so")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", str(HERE / source), "-o", str(library)],
                   check=True)
    return library


def main() -> None:
    options = parse_options()
    begin(options)

    # Only now: the mask must be in place before the peers are loaded.
    import compare_layers
    import compare_networks
    import onnx_peer
    import report
    import targets
    import torch
    import zeropoint_peer

    torch.set_num_threads(1)
    library = zeropoint_peer.Library(zeropoint_peer.build(options))
    runtime = onnx_peer.Runtime(next((package_folder("onnxruntime") / "capi").glob("libonnxruntime.so.*")),
                                shared_library("call_onnx.c"))
    compiler = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    seen = torch.backends.cpu.get_cpu_capability()
    results = {
        "run": {
            "machine": processor()[0],
            "instruction set": "peers and zeropoint restricted to AVX2" if options.peers_isa == "avx2" else "native",
            "PyTorch sees": seen,
            "date": datetime.date.today().isoformat(),
            "command": "python3 bench/peers/compare.py " + " ".join(sys.argv[1:]),
            "versions": ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES),
            "compiler of zeropoint": f"{compiler.splitlines()[0]}, -O3 {zeropoint_peer.FLAGS[options.peers_isa]}",
            "threads": f"1, on processor {options.cpu}",
            "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        }
    }
    if options.peers_isa == "avx2" and seen != "AVX2":
        sys.exit(f"the mask does not work: PyTorch sees {seen}")
    results |= compare_layers.compare(library, runtime, options)
    results |= compare_networks.compare(library, runtime, options)
    is_avx2 = options.peers_isa == "avx2"  # what the aims are for
    results["targets"] = targets.verdicts(results["layers"] + results["models"]) if is_avx2 else []
    print("\n" + report.markdown(results))
    if options.out:
        report.write(results, options.out)
        print(f"written to {options.out}")


if __name__ == "__main__":
    main()
