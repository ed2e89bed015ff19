# SPDX-License-Identifier: BSD-3-Clause
"""A compiled network as an object of Python, by ctypes and numpy."""

from __future__ import annotations

import ctypes
import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from zeropoint.abi import library_of
from zeropoint.compiler import compiled, without_comments
from zeropoint.data import checked
from zeropoint.errors import ZeropointError
from zeropoint.files import text_of_header
from zeropoint.inspection.library import inspection_of
from zeropoint.ports import from_memory, keeper_of, ports_of, to_memory
from zeropoint.presets import check_preset, check_static, is_dynamic


def build(header: str | Path, *, qconfig: str = "default_qconfig", weights: str | Path | None = None,
          int8: str | Path | None = None, inspects: bool = False, smooths: bool = False) -> Network:
    """Compiles the network of an imported header, unless one like it is kept, and loads its weights.

    qconfig: one of zeropoint's presets, such as accurate_qconfig, or int4_dynamic_qconfig, which calibrates nothing. weights: the float file, by default the one beside the
    header. int8: a file that `save` wrote, in place of the float one. inspects, smooths: it can be inspected, or smoothed before it is calibrated, which takes longer to compile.
    Raises ZeropointError.
    """
    header = Path(header)
    name, inputs, outputs = ports_of(header)
    check_preset(qconfig)
    if inspects:
        check_static(qconfig, "an inspection compares the codes of every layer")
    if smooths:
        check_static(qconfig, "smoothing evens out channels whose codes share a scale")
    if any(port.codes for port in [*inputs, *outputs]):
        raise ZeropointError(f"{header}: this network takes or gives codes, as the model that it was imported from does; "
                             "arrays of floats go through those whose ports are floats")
    sizes, are_integers = [prod(p.shape) for p in inputs], [p.is_integer for p in inputs]
    goes_on = keeper_of(header) == "zp::stateful"
    if smooths and goes_on:
        raise ZeropointError(f"{header}: smoothing looks at inputs one by one, but states of this network go on from frame to frame; "
                             "build it without smooths")
    source = library_of(header.name, name, qconfig, sizes, are_integers, goes_on, smooths)
    if inspects:
        source += inspection_of(sizes, are_integers)
    path = compiled(source, {header.name: without_comments(text_of_header(header))}, library=True)
    return Network(path, header, weights or header.with_suffix(".safetensors"), int8, is_dynamic(qconfig))


class Network:
    """One network: runs in float, is calibrated and converted, then runs in int8.

    Arrays are as the source has them (N x C x H x W for a convolutional network of PyTorch), any number of inputs along
    the first axis; a network of several inputs takes several arrays, and one of several outputs gives a list. Where `goes_on` is true
    (an import with --stateful frames), inputs are frames one behind the other, and states go on from one to the next and from call to call.
    """

    def __init__(self, library: Path, header: Path, weights: str | Path, int8: str | Path | None, calibrates_nothing: bool = False) -> None:
        self.name, self.inputs, self.outputs = ports_of(header)
        self.goes_on = keeper_of(header) == "zp::stateful"
        self._library = ctypes.CDLL(str(library))
        for function in ("zp_error", "zp_report", "zp_table"):
            getattr(self._library, function).restype = ctypes.c_char_p
        self._library.zp_bytes.restype = ctypes.c_longlong
        self._library.zp_nanoseconds.restype = ctypes.c_double
        load = self._library.zp_load_int8 if int8 is not None else self._library.zp_load
        load.restype = ctypes.c_void_p
        at = load(str(int8 if int8 is not None else weights).encode())
        if not at:
            raise ZeropointError(self._library.zp_error().decode())
        self._at = ctypes.c_void_p(at)
        self.has_float, self.is_calibrated, self.has_int8 = int8 is None, False, int8 is not None
        self.calibrates_nothing = calibrates_nothing

    def __del__(self) -> None:
        if getattr(self, "_at", None):
            self._library.zp_free(self._at)
            self._at = None

    def __call__(self, *arrays: np.ndarray) -> np.ndarray | list[np.ndarray]:
        """Outputs of the float network."""
        if not self.has_float:
            raise ZeropointError("this network was loaded from an int8 file: call run_int8")
        return self._run(self._library.zp_run, arrays)

    def run_int8(self, *arrays: np.ndarray) -> np.ndarray | list[np.ndarray]:
        """Outputs of the int8 network, which takes and gives floats too."""
        if not self.has_int8:
            raise ZeropointError(self._no_integers())
        return self._run(self._library.zp_run_int8, arrays)

    def reset(self) -> None:
        """Begins anew with states of zeros, where they go on from call to call."""
        self._library.zp_reset(self._at)

    def smooth(self, *arrays: np.ndarray, alpha: float = 0.7, floor: float = 1) -> None:
        """Evens out the channels of activations before `calibrate`, by zp::smooth in front of convolutions too: channel j is divided by
        max |x_j|^alpha / max |w_j|^(1 - alpha) where it is made, and what reads it is multiplied. Give it what calibrate is given, all in
        one call, as it begins anew each time. The network must have been built with smooths=True; calling it stays the float network
        as it was loaded.

        alpha: from 0 to 1; with 1 the channels that are larger than the middle one become as large as it. floor: channels below that part
        of the middle one count as so large, and are not enlarged. Raises ZeropointError.
        """
        if not hasattr(self._library, "zp_smooth"):
            raise ZeropointError("this network was built without it: zeropoint.build(..., smooths=True)")
        if not self.has_float or self.is_calibrated:
            raise ZeropointError("call smooth before calibrate: ranges are those of smoothed channels")
        columns = self._columns(arrays)
        joined = [np.ascontiguousarray(np.stack(column)) for column in columns]
        pointers = (ctypes.c_void_p * len(joined))(*(a.ctypes.data for a in joined))
        self._check(self._library.zp_smooth(self._at, pointers, ctypes.c_longlong(len(columns[0])), ctypes.c_float(alpha),
                                             ctypes.c_float(floor)))

    def calibrate(self, *arrays: np.ndarray) -> None:
        """Observes the ranges of all activations; call it again to go on. Where states go on, the frames of a call are one recording."""
        if not self.has_float:
            raise ZeropointError("this network was loaded from an int8 file: it is converted already")
        if self.calibrates_nothing:
            raise ZeropointError("under a dynamic preset nothing is calibrated: call convert")
        columns = self._columns(arrays)
        joined = [np.ascontiguousarray(np.stack(column)) for column in columns]
        pointers = (ctypes.c_void_p * len(joined))(*(a.ctypes.data for a in joined))
        self._check(self._library.zp_calibrate(self._at, pointers, ctypes.c_longlong(len(columns[0]))))
        self.is_calibrated = True

    def convert(self) -> None:
        """To integers, by the ranges that were seen; under a dynamic preset at once."""
        if not self.has_float:
            raise ZeropointError("this network was loaded from an int8 file: it is converted already")
        if not (self.is_calibrated or self.calibrates_nothing):
            raise ZeropointError("call calibrate first: ranges come from data")
        self._check(self._library.zp_convert(self._at))
        self.has_int8 = True

    def save(self, path: str | Path) -> None:
        """The int8 file, which `zp::load<zp::quantized<...>>` reads, or zp::load<zp::dynamically_quantized<...>> of a dynamic preset."""
        if not self.has_int8:
            raise ZeropointError(self._no_integers())
        self._check(self._library.zp_save_int8(self._at, str(path).encode()))

    def report(self) -> str:
        """What calibration has seen, a line for each activation, with warnings; empty where there was none."""
        return self._library.zp_report(self._at).decode() if self.is_calibrated else ""

    def table(self) -> str:
        """The rows of the network, of the int8 one where there is one."""
        return self._library.zp_table(self._at).decode()

    def inspect(self, *arrays: np.ndarray, swept: int = 32) -> dict[str, Any]:
        """Every row of the int8 network beside the float one over these inputs, and the sensitivity of each over the first `swept` of
        them: what zp::to_json(inspection) gives. The network must have been built with inspects=True, and converted here."""
        if not hasattr(self._library, "zp_inspect"):
            raise ZeropointError("this network was built without it: zeropoint.build(..., inspects=True)")
        if not (self.has_float and self.has_int8):
            raise ZeropointError("both networks are needed: call calibrate and convert first")
        columns = self._columns(arrays)
        joined = [np.ascontiguousarray(np.stack(column)) for column in columns]
        pointers = (ctypes.c_void_p * len(joined))(*(a.ctypes.data for a in joined))
        self._library.zp_inspect.restype = ctypes.c_char_p
        text = self._library.zp_inspect(self._at, pointers, ctypes.c_longlong(len(columns[0])), ctypes.c_longlong(swept),
                                        self.name.encode(), b"")
        if not text:
            raise ZeropointError(self._library.zp_error().decode())
        return json.loads(text.decode())

    def microseconds(self, *arrays: np.ndarray, milliseconds: float = 100) -> float:
        """Of one call over one input, the least of those that fit into that time: of the int8 network where there is one.

        Measured inside of the library, on one thread, so that Python has no part in it. States are zeros behind it.
        """
        columns = self._columns(arrays)
        ys = [np.empty(prod(port.shape), np.float32) for port in self.outputs]
        inputs = (ctypes.c_void_p * len(columns))(*(column[0].ctypes.data for column in columns))
        outputs = (ctypes.c_void_p * len(ys))(*(y.ctypes.data for y in ys))
        found = self._library.zp_nanoseconds(self._at, inputs, outputs, int(self.has_int8), ctypes.c_double(milliseconds))
        self._check(int(found < 0))
        self.reset()
        return float(found) / 1000

    @property
    def parameter_bytes(self) -> int:
        """Of the int8 network where there is one, else of the float one."""
        return int(self._library.zp_bytes(self._at))

    def _no_integers(self) -> str:
        return f"there are no integers yet: call {'convert' if self.calibrates_nothing else 'calibrate and convert'} first"

    def _check(self, failed: int) -> None:
        if failed:
            raise ZeropointError(self._library.zp_error().decode())

    def _columns(self, arrays: tuple[np.ndarray, ...]) -> list[list[np.ndarray]]:
        """For each port its values in the order of memory, an array for each input."""
        return [[to_memory(one, port) for one in column] for column, port in zip(checked(arrays, self.inputs), self.inputs)]

    def _run(self, function: ctypes._CFuncPtr, arrays: tuple[np.ndarray, ...]) -> np.ndarray | list[np.ndarray]:
        columns = self._columns(arrays)
        results: list[list[np.ndarray]] = [[] for _ in self.outputs]
        for xs in zip(*columns):
            ys = [np.empty(prod(port.shape), np.float32) for port in self.outputs]
            inputs = (ctypes.c_void_p * len(xs))(*(x.ctypes.data for x in xs))
            outputs = (ctypes.c_void_p * len(ys))(*(y.ctypes.data for y in ys))
            self._check(function(self._at, inputs, outputs))
            for result, y, port in zip(results, ys, self.outputs):
                result.append(from_memory(y, port))
        made = [np.concatenate(r) if p.extents[:1] == (1,) else np.stack(r) for r, p in zip(results, self.outputs)]
        return made[0] if len(made) == 1 else made
