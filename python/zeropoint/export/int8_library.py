# SPDX-License-Identifier: BSD-3-Clause
"""The int8 network of a header alone, compiled: its description, its codes row by row. For any header, by hand too."""

from __future__ import annotations

import ctypes
import json
import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from zeropoint.compiler import compiled, without_comments
from zeropoint.description import network_text
from zeropoint.errors import ZeropointError
from zeropoint.files import text_of_header
from zeropoint.lower.context import Port
from zeropoint.ports import from_memory, keeper_of, ports_of, to_memory
from zeropoint.presets import check_static

LIBRARY = r"""// One int8 network: what it is, and its codes.
#include <exception>
#include <memory>
#include <string>

#include <zeropoint/analysis/model_json.hpp>
#include <zeropoint/deploy.hpp>
#include <zeropoint/operators.hpp>

#include "@HEADER@"

using network = @NETWORK@;

namespace {
std::string text;
struct session {
    network model;
    network::workspace memory;
};
}  // namespace

#pragma GCC visibility push(default)
extern "C" {
const char* zp_text() { return text.c_str(); }
void zp_describe() { text = zp::to_json<typename network::stage>(); }
void* zp_load(const char* path) {
    try {
        return new session{zp::load<network>(path), {}};
    } catch (const std::exception& error) {
        text = error.what();
        return nullptr;
    }
}
void zp_free(void* at) { delete static_cast<session*>(at); }
/// see(row, values) behind every row; checks nothing.
void zp_run(void* at, const void* const* xs, void* const* ys, void (*see)(int row, const void* values)) {
    auto& s = *static_cast<session*>(at);
    if (see == nullptr) s.model.run(xs, ys, s.memory.bytes);
    else s.model.run(xs, ys, s.memory.bytes, [&](int row, const void* values) { see(row, values); });
}
}
#pragma GCC visibility pop
"""
SEE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)
TYPES = {"float32": np.float32, "uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32}


class Int8Library:
    """Compiled once for a header and a qconfig, and kept."""

    def __init__(self, header: str | Path, qconfig: str, net: str = "") -> None:
        header = Path(header)
        check_static(qconfig, "an exported graph has the codes of every layer")
        text = text_of_header(header)
        if keeper_of(header) == "zp::stateful":
            raise ZeropointError(f"{header}: states of this network go on from call to call, for which a graph of ONNX has no place: import "
                                 "it without --stateful, so that they are inputs and outputs")
        self.net = net or name_of(header, text)
        includes_others = re.search(r'^\s*#\s*include\s*"', text, re.MULTILINE) is not None
        if re.fullmatch(r"\w+", net) and not includes_others and not re.search(rf"\b{net}\b", without_comments(text)):
            raise ZeropointError(f"{header}: it has no network {net}")
        source = LIBRARY.replace("@HEADER@", header.name).replace("@NETWORK@", network_text(self.net, "int8", qconfig))
        beside = (f"-I{header.parent.resolve()}",) if includes_others else ()
        path = compiled(source, {header.name: without_comments(text)}, library=True, flags=beside)
        self._library = ctypes.CDLL(str(path))
        self._library.zp_text.restype = ctypes.c_char_p
        self._library.zp_load.restype = ctypes.c_void_p
        self._library.zp_describe()
        self.description: dict[str, Any] = json.loads(self._library.zp_text().decode())
        is_imported = not net and re.search(r"^// \w+, made by zeropoint", text) is not None
        self.ports = ports_of(header)[1:] if is_imported else ports_by_extents(self.description)
        self._at: ctypes.c_void_p | None = None

    def load(self, path: str | Path) -> None:
        """An int8 file. Raises ZeropointError with the reader's sentence."""
        at = self._library.zp_load(str(path).encode())
        if not at:
            raise ZeropointError(self._library.zp_text().decode())
        self._at = ctypes.c_void_p(at)

    def __del__(self) -> None:
        if getattr(self, "_at", None):
            self._library.zp_free(self._at)
            self._at = None

    def run(self, arrays: list[np.ndarray], rows: dict[int, np.ndarray] | None = None) -> list[np.ndarray]:
        """Outputs of one input, arrays as the source has them; `rows` gets every row's values as memory has them."""
        inputs, outputs = self.ports
        kinds = [TYPES[p["storage"]] for p in (*self.description["inputs"], *self.description["outputs"])]
        xs = [np.ascontiguousarray(to_memory(a, p) if kind in (np.float32, np.int32) else memory_of_codes(a, p), kind)
              for a, p, kind in zip(arrays, inputs, kinds)]
        ys = [np.empty(prod(p.extents), kind) for p, kind in zip(outputs, kinds[len(inputs):])]

        def see(row: int, values: int) -> None:
            out = self.description["nodes"][row]["out"]
            kind, size = np.dtype(TYPES[out["storage"]]), prod(out["extents"])
            rows[row] = np.frombuffer(ctypes.string_at(values, size * kind.itemsize), kind)  # type: ignore[index]

        callback = SEE(see) if rows is not None else SEE()
        self._library.zp_run(self._at, (ctypes.c_void_p * len(xs))(*(x.ctypes.data for x in xs)),
                             (ctypes.c_void_p * len(ys))(*(y.ctypes.data for y in ys)), callback)
        return [from_memory(y, p) for y, p in zip(ys, outputs)]


def memory_of_codes(array: np.ndarray, port: Port) -> np.ndarray:
    """Codes in the order of memory."""
    kept = [i for i, n in enumerate(port.extents) if n != 1]
    small = np.asarray(array).reshape([port.extents[i] for i in kept])
    return small.transpose([kept.index(i) for i in port.order]).reshape(-1)


def name_of(header: Path, text: str) -> str:
    """The network in a header: that of `zeropoint import`, else the only struct that is a model."""
    imported = re.search(r"^// (\w+), made by zeropoint", text)
    if imported:
        return imported.group(1)
    found = re.findall(r"^struct (\w+)\s*:\s*(?:public )?zp::model<", text, re.MULTILINE)
    if len(found) != 1:
        raise ZeropointError(f"{header}: {'no network was' if not found else 'several networks were'} found in this header: "
                             "say which with --net NAME")
    return found[0]


def ports_by_extents(description: dict[str, Any]) -> tuple[list[Port], list[Port]]:
    """Ports of a network that was written by hand: as PyTorch has them, N C H W, N L C of a sequence, N C of a vector."""
    both: list[list[Port]] = []
    for side in ("inputs", "outputs"):
        ports = []
        for port in description[side]:
            depth, height, width, channels = port["extents"]
            integer = port["storage"] == "int32"
            if depth != 1:
                extents, axes = (1, channels, depth, height, width), (2, 3, 4, 1)
            elif height != 1:
                extents, axes = (1, channels, height, width), (2, 3, 1)
            elif width != 1:
                extents, axes = (1, width, channels), (1, 2)
            else:
                extents, axes = (1, channels), (1,)
            order = tuple(a for a in axes if extents[a] != 1)
            ports.append(Port(port["name"], extents, (height, width, channels), order, integer))
        both.append(ports)
    return both[0], both[1]
