#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dynamic quantization beside PyTorch's: a linear layer, one step of an LSTM and of a GRU.

    python3 bench/peers/compare_dynamic.py --out docs/performance

One thread, the same floats, interleaved rounds in one process, as compare.py does it (README.md here). PyTorch's numbers
are those of its operators, weights packed ahead: what torch.ao.nn.quantized.dynamic's modules call. It has a scale for all
weights of a layer where zeropoint has one an output, and activations of 7 bits, so outputs are compared with float32.
"""
import argparse
import ctypes
import hashlib
import pathlib
import subprocess

import compare
import instruction_set
import timing
import zeropoint_peer

CASES = ("linear 1x1024x1024", "LSTM step, hidden 256", "GRU step, hidden 64")
TARGETS = (2.0, 4.0, 5.0)  # times as fast as PyTorch
LOWEST_SQNR = 30  # dB to float32; 35 to 43 are usual


class Zeropoint:
    def __init__(self, library: ctypes.CDLL, index: int, bits: int, parameters: list, x, outputs: int):
        import numpy as np
        self.name, self.c = f"zeropoint, {bits}-bit activations", library
        self.arrays = [np.ascontiguousarray(one, np.float32) for one in parameters]
        pointers = (ctypes.c_void_p * len(self.arrays))(*(one.ctypes.data for one in self.arrays))
        self.x, self.y = np.ascontiguousarray(x, np.float32), np.empty(outputs, np.float32)
        self.handle = ctypes.c_void_p(library.zp_dynamic_new(index, bits, pointers))
        self.arguments = (self.handle, zeropoint_peer.pointer(self.x), zeropoint_peer.pointer(self.y))

    def run(self, repeats: int) -> None:
        self.c.zp_dynamic_run(*self.arguments, repeats)

    def output(self):
        return self.y

    def __del__(self):
        self.c.zp_dynamic_delete(self.handle)


class Torch:
    def __init__(self, name: str, function, engine: str | None):
        import torch
        self.torch, self.name, self.function, self.engine, self.result = torch, name, function, engine, None

    def run(self, repeats: int) -> None:
        if self.engine is not None and self.torch.backends.quantized.engine != self.engine:
            self.torch.backends.quantized.engine = self.engine
        function = self.function
        with self.torch.inference_mode():
            for _ in range(repeats):
                self.result = function()

    def output(self):
        return self.result.reshape(-1).numpy()


def torch_peers(index: int, parameters: list, x, engines: list[str]) -> list[Torch]:
    import torch
    p = [torch.from_numpy(one) for one in parameters]
    x = torch.from_numpy(x)[None]

    def packed(weight, bias):
        scale = float(weight.abs().max()) / 127.5
        return torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(weight, scale, 0, torch.qint8), bias)

    peers = []
    for engine in engines:
        torch.backends.quantized.engine = engine
        if index == 0:
            weight, linear = packed(p[0], p[1]), torch.ops.quantized.linear_dynamic.default
            peers.append(Torch(f"PyTorch {engine}", lambda weight=weight: linear(x, weight, True), engine))
            continue
        ih, hh = packed(p[0], p[2]), packed(p[1], p[3])
        if index == 1:
            cell, states = torch.ops.quantized.quantized_lstm_cell_dynamic.default, [p[4][None], p[5][None]]
            peers.append(Torch(f"PyTorch {engine}, cell", lambda ih=ih, hh=hh: cell(x, states, ih, hh, p[2], p[3])[0],
                               engine))
        else:
            cell, state = torch.ops.quantized.quantized_gru_cell_dynamic.default, p[4][None]
            peers.append(Torch(f"PyTorch {engine}, cell", lambda ih=ih, hh=hh: cell(x, state, ih, hh, p[2], p[3]),
                               engine))
        layer = [torch.ops.quantized.make_quantized_cell_params_dynamic(ih, hh, p[2], p[3], True)]
        first = [one[None, None] for one in p[4:]]
        options = (layer, True, 1, 0.0, False, False, False)
        if index == 1:
            peers.append(Torch(f"PyTorch {engine}, layer", lambda layer=layer, options=options: torch.quantized_lstm(
                x[None], first, *options, dtype=torch.qint8, use_dynamic=True)[0], engine))
        else:
            peers.append(Torch(f"PyTorch {engine}, layer",
                               lambda options=options: torch.quantized_gru(x[None], first[0], *options)[0], engine))
    if index == 0:
        peers.append(Torch("PyTorch f32", lambda: torch.nn.functional.linear(x, p[0], p[1]), None))
    elif index == 1:
        peers.append(Torch("PyTorch f32", lambda: torch.lstm_cell(x, [p[4][None], p[5][None]], *p[:4])[0], None))
    else:
        peers.append(Torch("PyTorch f32", lambda: torch.gru_cell(x, p[4][None], *p[:4]), None))
    return peers


def operands(index: int):
    import numpy as np
    generator = np.random.default_rng(7)

    def draw(*shape, size=1.0):
        return (generator.normal(0, 1, shape) * size).astype(np.float32)

    if index == 0:
        return [draw(1024, 1024, size=1 / 32), draw(1024)], draw(1024), 1024
    hidden, gates = ((256, 4), (64, 3))[index - 1]
    size = 1 / np.sqrt(hidden)
    weights = [draw(gates * hidden, hidden, size=size) for _ in range(2)]
    biases = [draw(gates * hidden, size=size) for _ in range(2)]
    states = [np.tanh(draw(hidden)) for _ in range(2 if gates == 4 else 1)]
    return [*weights, *biases, *states], draw(hidden), hidden


def build(options: argparse.Namespace, name: str) -> pathlib.Path:
    """Compiles what has changed since the last time."""
    if options.libraries:
        return zeropoint_peer.built_by_cmake(options, name)
    source = instruction_set.HERE / f"{name}.cpp"
    command = [options.compiler, "-std=c++20", "-O3", *instruction_set.FLAGS[options.peers_isa].split(), "-fPIC", "-shared",
               *zeropoint_peer.include_flags(options.include_flags), str(source)]
    state = hashlib.sha256(" ".join(command).encode())
    for file in [source, *sorted((zeropoint_peer.ROOT / "include").rglob("*.hpp"))]:
        state.update(file.read_bytes())
    library = instruction_set.path_of_cache() / f"lib{name}-{state.hexdigest()[:16]}.so"
    if not library.exists():
        subprocess.run([*command, "-o", str(library)], check=True)
    return library


def arguments(description: str) -> argparse.Namespace:
    """Those of the command line, in a process as compare.begin makes it."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the report")
    compare.add_common_options(parser)
    options = parser.parse_args()
    compare.begin(options)
    return options


def signal_to_noise(y, exact) -> float:
    """In dB, at most 999."""
    import numpy as np
    error = np.square(y - exact).sum()
    return 10 * np.log10(np.square(exact).sum() / error) if error > 0 else 999.0


def check(ours: list, exact) -> None:
    """Ends the program where zeropoint computes something else."""
    for one in ours:
        if not (sqnr := signal_to_noise(one.output().reshape(exact.shape).astype("float64"), exact)) >= LOWEST_SQNR:
            raise SystemExit(f"{one.name}: {sqnr:.1f} dB beside float32, expected at least {LOWEST_SQNR}")


def heading(title: str, options: argparse.Namespace) -> list[str]:
    import torch
    machine, _ = compare.processor()
    return [f"# {title}", "",
            f"{machine}; {instruction_set.SAID[options.peers_isa]}, one thread; "
            f"PyTorch {torch.__version__} sees {torch.backends.cpu.get_cpu_capability()}.", "",
            "| | best, us | median, us | SQNR to float32, dB |", "|---|---|---|---|"]


def main() -> None:
    options = arguments(__doc__)
    library = ctypes.CDLL(str(build(options, "zeropoint_dynamic")))
    import numpy as np
    import torch  # only now: the mask must be in place before

    torch.set_num_threads(1)
    library.zp_dynamic_new.restype = ctypes.c_void_p
    engines = [one for one in ("fbgemm", "onednn") if one in torch.backends.quantized.supported_engines]
    lines = heading("Dynamic quantization beside PyTorch's", options)
    for index, case in enumerate(CASES):
        parameters, x, outputs = operands(index)
        ours = [Zeropoint(library, index, bits, parameters, x, outputs) for bits in (8, 7)]
        peers = torch_peers(index, parameters, x, engines)
        times = timing.interleaved([*ours, *peers], options.seconds)
        exact = peers[-1].output().astype(np.float64)
        check(ours, exact)
        for one in [*ours, *peers]:
            sqnr, taken = signal_to_noise(one.output().astype(np.float64), exact), times[one.name]
            lines.append(f"| {case}, {one.name} | {taken.best * 1e6:.2f} | {taken.median * 1e6:.2f} | "
                         f"{'' if one is peers[-1] else f'{sqnr:.1f}'} |")
        peer = min(times[one.name].median for one in peers if one.engine is not None)
        ratio = peer / min(times[one.name].median for one in ours)
        lines.append(f"| {case}: times as fast as PyTorch's fastest int8 (aim {TARGETS[index]:g}) | | {ratio:.2f} | |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        (options.out / "dynamic.md").write_text(text)


if __name__ == "__main__":
    main()
