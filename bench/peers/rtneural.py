# SPDX-License-Identifier: BSD-3-Clause
"""RTNeural, a library of small float networks for audio. It has no package: --rtneural names a checkout, against which rtneural.cpp is
compiled. Without one its figures are those that were measured on another machine, as shares of that one's peak."""
import argparse
import ctypes
import hashlib
import json
import subprocess

import numpy as np

from instruction_set import FLAGS, HERE, path_of_cache
from zeropoint_peer import pointer

NAME = "RTNeural f32"
ELSEWHERE = "on an AMD Zen 5 with AVX2, about 125 GFLOPS of float multiply-add"
PEAK_ELSEWHERE = 125e9
SECONDS_ELSEWHERE = {"dense 64-64-64-16": 249e-9, "LSTM 1-32-1": 165e-9, "GRU 1-24-1": 95e-9, "TCN 4 x 16": 175e-9}


def build(options: argparse.Namespace) -> ctypes.CDLL | None:
    if options.rtneural is None:
        return None
    source = HERE / "rtneural.cpp"
    alignment = "-DRTNEURAL_DEFAULT_ALIGNMENT=32"
    command = [options.compiler, "-std=c++17", "-O3", *FLAGS[options.peers_isa].split(), "-fPIC", "-shared", alignment, "-DRTNEURAL_USE_EIGEN=1",
               "-isystem", str(options.rtneural), "-isystem", str(options.rtneural / "modules" / "Eigen"), str(source)]
    digest = hashlib.sha256(" ".join(command).encode() + source.read_bytes()).hexdigest()[:16]
    library = path_of_cache() / f"librtneural-{digest}.so"
    if not library.exists():
        print(f"compiling {source.name}", flush=True)
        subprocess.run([*command, "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.rt_stream_new.restype = ctypes.c_void_p
    return loaded


class Stream:
    def __init__(self, library: ctypes.CDLL, name: str, weights: dict[str, np.ndarray], x: np.ndarray, outputs: int):
        def filter_of(key: str, value: np.ndarray) -> np.ndarray:
            return value.reshape(*value.shape[:2], 3) if key.startswith("conv") and value.ndim > 1 else value
        state = json.dumps({key: filter_of(key, value).tolist() for key, value in weights.items()})
        self.name, self.library = NAME, library
        self.handle = ctypes.c_void_p(library.rt_stream_new(name.split()[0].encode(), state.encode()))
        self.x, self.y = x.copy(), np.empty(outputs, np.float32)
        self.arguments = (self.handle, pointer(self.x), pointer(self.y))

    def reset(self) -> None:
        self.library.rt_stream_reset(self.handle)

    def run(self, steps: int) -> None:
        self.library.rt_stream_run(*self.arguments, steps)

    def output(self) -> np.ndarray:
        return self.y

    def __del__(self):
        self.library.rt_stream_delete(self.handle)


def section(streams: list[dict]) -> str:
    """Shares of float multiply-add peaks, for where RTNeural did not run."""
    lines = [f"Shares of the float multiply-add peak; RTNeural's as measured {ELSEWHERE}, not here:\n",
             "| | zeropoint f32 | zeropoint int8 | RTNeural, elsewhere | here |", "|---|--:|--:|--:|--:|"]
    for stream in streams:
        def share(who: str, stream=stream) -> str:
            time = stream["times"].get(who)
            return f"{100 * stream['operations'] / time['best'] / stream['peak']['best']:.0f} %" if time else ""
        elsewhere = 100 * stream["operations"] / SECONDS_ELSEWHERE[stream["name"]] / PEAK_ELSEWHERE
        lines.append(f"| {stream['name']} | {share('zeropoint f32')} | {share('zeropoint int8')} | {elsewhere:.0f} % | {share(NAME)} |")
    return "\n".join(lines) + "\n"
