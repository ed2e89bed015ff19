#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails when a header includes a room it may not see, or grew too long. Usage: check_layers.py include/zeropoint

The rooms, lowest first, are those of docs/design.md.
"""
import pathlib
import re
import sys

BELOW_GRAPH = {"core", "scheme", "kernel", "observe"}
BELOW_OPERATORS = BELOW_GRAPH | {"graph"}
BELOW_MODEL = BELOW_OPERATORS | {"operators", "pass"}
BELOW_WORKFLOW = BELOW_MODEL | {"model"}
MAY_SEE = {
    "core": set(),
    "scheme": {"core"},
    "kernel": {"core"},
    "observe": {"core", "scheme", "kernel"},
    "graph": BELOW_GRAPH,
    "operators": BELOW_OPERATORS | {"compiled"},
    "pass": BELOW_OPERATORS,
    "model": BELOW_MODEL,
    "executors": {"core"},  # threads of our own, and adapters, which need another library each
    "layer": BELOW_WORKFLOW,
    "workflow": BELOW_WORKFLOW | {"io"},  # io: quantize_dynamic_file
    "training": BELOW_WORKFLOW | {"workflow", "io", "compiled"},  # io: checkpoints
    "distributed": {"core", "observe", "training"},  # adapters of libraries over which processes speak
    "methods": BELOW_WORKFLOW | {"workflow", "training", "analysis"},
    "analysis": BELOW_WORKFLOW | {"workflow", "io"},
    "io": {"core", "kernel", "scheme", "graph", "pass", "model", "compiled"},
    "compiled": BELOW_MODEL | {"io"},  # lists, which headers include at their end
    "models": BELOW_WORKFLOW,
}
# The rooms of the kernels, lowest first: each sees those before it.
KERNEL_ROOMS = ("machine", "vector", "arch", "geometry", "epilogue", "elementwise", "movement", "gemm", "winograd", "depthwise",
                "reduction", "normalize", "float", "convolution", "dynamic", "attention", "recurrent", "gradient", "reference")
ARCHITECTURES = "kernel/arch/operations.hpp"  # the one door to the files of architectures
EXTERNAL = {"xsimd": {"kernel"}, "oneapi": {"executors"}, "omp.h": {"executors"}, "mpi.h": {"distributed"}}  # library: the rooms that may include it
OUTSIDE_ROOMS = {"deploy.hpp", "embedded.hpp", "operators.hpp", "version.hpp", "zeropoint.hpp"}
LONGEST_FILE = 600

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^">]+)[">]')


def errors_in_line(room: str, path: pathlib.PurePath, line: str) -> list[str]:
    """What is wrong with one line of a header; path is relative to include/zeropoint."""
    found = INCLUDE.match(line)
    if not found:
        return []
    quote, name = found.groups()
    parts = name.split("/")
    if quote == '"':
        return [f'write <zeropoint/...> instead of "{name}"']
    if parts[0] in EXTERNAL and room not in EXTERNAL[parts[0]]:
        return [f"'{room}' must not include <{name}>: only {', '.join(sorted(EXTERNAL[parts[0]]))} does"]
    if parts[0] != "zeropoint":
        return []
    if parts[1] in OUTSIDE_ROOMS and parts[1] != "version.hpp":
        return [f"a room must not include the umbrella <{name}>"]
    if parts[1] in MAY_SEE and parts[1] != room and parts[1] not in MAY_SEE[room]:
        return [f"'{room}' must not include '{parts[1]}'"]
    return errors_in_kernels(path, pathlib.PurePath(*parts[1:])) if parts[1] == "kernel" else []


def errors_in_kernels(path: pathlib.PurePath, included: pathlib.PurePath) -> list[str]:
    """The same of the rooms within kernel/."""
    room, other = path.parts[1] if path.parts[0] == "kernel" else None, included.parts[1]
    if other == "arch" and room != "arch" and included.as_posix() != ARCHITECTURES:
        return [f"only {ARCHITECTURES} includes the files of architectures"]
    if room in KERNEL_ROOMS and other in KERNEL_ROOMS and KERNEL_ROOMS.index(other) > KERNEL_ROOMS.index(room):
        return [f"'kernel/{room}' must not include 'kernel/{other}'"]
    return []


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "include/zeropoint")
    errors: list[str] = []
    checked = 0
    for file in sorted(root.rglob("*.hpp")):
        path = file.relative_to(root)
        lines = file.read_text(encoding="utf-8").splitlines()
        if len(lines) > LONGEST_FILE:
            errors.append(f"{file}: {len(lines)} lines, and {LONGEST_FILE} are the most")
        if path.as_posix() in OUTSIDE_ROOMS:
            continue
        room = path.parts[0]
        if room not in MAY_SEE:
            errors.append(f"{file}: '{room}' is no room: the rooms are {', '.join(MAY_SEE)}")
            continue
        if room == "kernel" and path.parts[1] not in KERNEL_ROOMS:
            errors.append(f"{file}: kernel/ has rooms, {', '.join(KERNEL_ROOMS)}, and no headers of its own")
        checked += 1
        for number, line in enumerate(lines, 1):
            errors += [f"{file}:{number}: {error}" for error in errors_in_line(room, path, line)]
    for error in errors:
        print(error)
    print(f"{checked} headers checked, {len(errors)} errors")
    return 1 if errors or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
