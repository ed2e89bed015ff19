# SPDX-License-Identifier: BSD-3-Clause
"""zeropoint as a shared library: built here or by CMake, called through the C interface of zeropoint_c.hpp."""
import argparse
import ctypes
import hashlib
import pathlib
import subprocess

import numpy as np

from instruction_set import FLAGS, HERE, path_of_cache

ROOT = HERE.parents[1]


def include_flags(file: pathlib.Path | None) -> list[str]:
    """As CMake's configure step has written them: the dependencies of any build folder will do."""
    files = [file] if file else sorted(ROOT.glob("build/*/include_flags.txt"), key=lambda one: one.stat().st_mtime)
    if not files:
        raise SystemExit("no build/*/include_flags.txt: configure first, with cmake --preset dev")
    return files[-1].read_text().split()


def built_by_cmake(options: argparse.Namespace, name: str) -> pathlib.Path:
    library = options.libraries.resolve() / f"lib{name}.so"
    if not library.exists():
        raise SystemExit(f"no {library}: cmake --build {options.libraries.parent} --target peers")
    return library


def build(options: argparse.Namespace) -> pathlib.Path:
    """Compiles what has changed since the last time."""
    if options.libraries:
        return built_by_cmake(options, "zeropoint_peer")
    compiler, isa = options.compiler, options.peers_isa
    bench = HERE.parent
    sources = [HERE / "zeropoint_layers.cpp", bench / "support" / "peak.cpp", HERE / "zeropoint_models.cpp",
               *sorted((bench / "models").glob("*.cpp"))]
    headers = [*(ROOT / "include").rglob("*.hpp"), *bench.glob("*/*.hpp")]
    command = [compiler, "-std=c++20", "-O3", *FLAGS[isa].split(), "-fPIC", "-fvisibility=default", *include_flags(options.include_flags)]
    state = hashlib.sha256(" ".join(command).encode())
    for header in sorted(headers):
        state.update(header.read_bytes())
    objects = []
    for source in sources:
        digest = state.copy()
        digest.update(source.read_bytes())
        objects.append(path_of_cache() / f"{source.stem}-{isa}-{digest.hexdigest()[:16]}.o")
        if not objects[-1].exists():
            for old in path_of_cache().glob(f"{source.stem}-{isa}-*.o"):
                old.unlink()
            print(f"compiling {source.relative_to(ROOT)}", flush=True)
            subprocess.run([*command, "-c", str(source), "-o", str(objects[-1])], check=True)
    library = path_of_cache() / f"libzeropoint-{isa}.so"
    subprocess.run([compiler, "-shared", "-pthread", *map(str, objects), "-o", str(library)], check=True)
    return library


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a cache line, as zp::tensor's do and those of runtimes that own their tensors."""
    room = np.empty(array.nbytes + 64, np.uint8)
    begin = -room.ctypes.data % 64
    copy = room[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Library:
    def __init__(self, path: pathlib.Path):
        self.c = ctypes.CDLL(str(path))
        for name in ("zp_case_name", "zp_layer_algorithm", "zp_model_name", "zp_stream_name"):
            getattr(self.c, name).restype = ctypes.c_char_p
        for name in ("zp_layer_new", "zp_model_new", "zp_stream_new"):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.c.zp_layer_packed_bytes.restype = ctypes.c_long
        self.c.zp_peak.restype = ctypes.c_double

    def case_names(self) -> list[str]:
        return [self.c.zp_case_name(i).decode() for i in range(self.c.zp_case_count())]

    def case_extents(self, index: int) -> list[int]:
        extents = (ctypes.c_int * 11)()
        self.c.zp_case_extents(index, extents)
        return list(extents)

    def model_names(self) -> list[str]:
        return [self.c.zp_model_name(i).decode() for i in range(self.c.zp_model_count())]

    def stream_names(self) -> list[str]:
        return [self.c.zp_stream_name(i).decode() for i in range(self.c.zp_stream_count())]


class Layer:
    """One layer with its operands, see cases.Operands."""
    def __init__(self, library: Library, case, operands, name: str = "zeropoint"):
        self.name, self.library = name, library.c
        self.x = aligned(operands.x)
        self.y = aligned(np.zeros(case.output_shape, np.uint8))
        weights = np.ascontiguousarray(operands.real_weights.transpose(0, 3, 1, 2))  # as PyTorch has them
        self.handle = ctypes.c_void_p(self.library.zp_layer_new(
            case.index, operands.range, pointer(weights), pointer(operands.real_bias), ctypes.c_float(operands.x_scale),
            operands.x_zero_point, ctypes.c_float(operands.y_scale), operands.y_zero_point))
        self.arguments = (self.handle, pointer(self.x), pointer(self.y))

    def run(self, repeats: int) -> None:
        self.library.zp_layer_run(*self.arguments, repeats)

    def output(self) -> np.ndarray:
        return self.y

    def algorithm(self) -> str:
        return self.library.zp_layer_algorithm(self.handle).decode()

    def packed_bytes(self) -> int:
        return self.library.zp_layer_packed_bytes(self.handle)

    def __del__(self):
        self.library.zp_layer_delete(self.handle)


class Model:
    """A network of bench/models: int8, and float32 with the same weights."""
    def __init__(self, library: Library, index: int):
        self.library = library.c
        self.handle = ctypes.c_void_p(self.library.zp_model_new(index))
        figures = (ctypes.c_int * 9)()
        self.library.zp_model_figures(self.handle, figures)
        self.input_shape, self.output_shape = tuple(figures[0:3]), tuple(figures[3:6])
        self.arena_bytes, self.parameter_bytes, self.multiplications = figures[6:9]

    def save_float(self, path: pathlib.Path) -> None:
        self.library.zp_model_save_float(self.handle, str(path).encode())

    def __del__(self):
        self.library.zp_model_delete(self.handle)


class RunningModel:
    """kind: int8 or float; int8_by with a number of workers."""
    def __init__(self, model: Model, x: np.ndarray, kind: str, name: str, *workers: int):
        self.name, self.model = name, model
        self.x = np.ascontiguousarray(x)
        self.y = np.empty(model.output_shape, np.float32)
        self.function = getattr(model.library, f"zp_model_run_{kind}")
        self.arguments = (model.handle, *workers, pointer(self.x), pointer(self.y))

    def run(self, repeats: int) -> None:
        self.function(*self.arguments, repeats)

    def output(self) -> np.ndarray:
        return self.y


class Stream:
    """A network of bench/models that runs a step at a time: int8, and float32 with the same weights."""
    def __init__(self, library: Library, index: int):
        self.library = library.c
        self.handle = ctypes.c_void_p(self.library.zp_stream_new(index))
        figures = (ctypes.c_int * 3)()
        self.library.zp_stream_figures(self.handle, figures)
        self.inputs, self.outputs, self.multiplications = figures

    def save_float(self, path: pathlib.Path) -> None:
        self.library.zp_stream_save_float(self.handle, str(path).encode())

    def __del__(self):
        self.library.zp_stream_delete(self.handle)


class RunningStream:
    """kind: int8 or float. Steps with what x holds."""
    def __init__(self, stream: Stream, x: np.ndarray, kind: str, name: str):
        self.name, self.stream, self.x = name, stream, x.copy()
        self.y = np.empty(stream.outputs, np.float32)
        self.function = getattr(stream.library, f"zp_stream_run_{kind}")
        self.arguments = (stream.handle, pointer(self.x), pointer(self.y))

    def reset(self) -> None:
        self.stream.library.zp_stream_reset(self.stream.handle)

    def run(self, steps: int) -> None:
        self.function(*self.arguments, steps)

    def output(self) -> np.ndarray:
        return self.y
