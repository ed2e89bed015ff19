#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A transformer encoder of MiniLM's size (6 layers, 384 wide, 12 heads, 1536 hidden) beside ONNX Runtime's and PyTorch's.

    python3 bench/peers/compare_encoder.py --out docs/performance

One thread, the same floats, interleaved rounds in one process, as compare.py does it (README.md here). ONNX Runtime gets
the graph of plain nodes and the one that its own optimizer for transformers makes of it, with the nodes Attention and
SkipLayerNormalization, each in float32 and as onnxruntime.quantization.quantize_dynamic makes them int8.
"""
import ctypes
import logging
import os
import pathlib
import tempfile

import compare
import compare_dynamic
import instruction_set
import timing
import zeropoint_peer

MODEL, HEADS, HIDDEN, LAYERS, ROWS = 384, 12, 1536, 6, 64
TARGETS = {"dynamic int8": 1.5, "float32": 2.5}  # times as fast as ONNX Runtime


class Zeropoint:
    def __init__(self, library: ctypes.CDLL, name: str, bits: int, parameters: list, x):
        import numpy as np
        self.name, self.c, self.parameters = f"zeropoint, {name}", library, parameters
        pointers = (ctypes.c_void_p * (len(parameters) + 1))(*(one.ctypes.data for one in parameters), None)
        self.x, self.y = np.ascontiguousarray(x), np.empty_like(x)
        self.handle = ctypes.c_void_p(library.zp_encoder_new(bits, pointers))

    def run(self, repeats: int) -> None:
        self.c.zp_encoder_run(self.handle, zeropoint_peer.pointer(self.x), ROWS, zeropoint_peer.pointer(self.y), repeats)

    def output(self):
        return self.y

    def __del__(self):
        self.c.zp_encoder_delete(self.handle)


class Torch:
    def __init__(self, name: str, module, x):
        self.name, self.module, self.x = name, module, x

    def run(self, repeats: int) -> None:
        import torch
        torch.backends.mha.set_fastpath_enabled(not self.name.endswith("quantize_dynamic"))  # which it does not know
        with torch.inference_mode():
            for _ in range(repeats):
                self.y = self.module(self.x)

    def output(self):
        return self.y[0].numpy()


def torch_encoder():
    """Trained networks have weights of about this size; a fixed seed."""
    import torch
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(MODEL, HEADS, HIDDEN, dropout=0, activation="gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval()


def parameters_of(module) -> list:
    result = []
    for layer in module.layers:
        for part in (layer.self_attn, layer.self_attn.out_proj, layer.linear1, layer.linear2, layer.norm1, layer.norm2):
            names = ("in_proj_weight", "in_proj_bias") if part is layer.self_attn else ("weight", "bias")
            result += [getattr(part, name).detach().numpy().copy() for name in names]
    return result


def onnx_graph(parameters: list):
    """The nodes that exporters write for BERT: what the optimizer for transformers looks for."""
    import numpy as np
    import onnx_peer
    from onnx import TensorProto, helper
    nodes = []
    constants = {"heads": np.array([0, 0, HEADS, MODEL // HEADS]), "joined": np.array([0, 0, MODEL]),
                 "size": np.array((MODEL / HEADS) ** 0.5, np.float32), "root": np.array(2 ** 0.5, np.float32),
                 "one": np.array(1, np.float32), "half": np.array(0.5, np.float32)}

    def node(kind: str, *inputs: str, **attributes) -> str:
        nodes.append(helper.make_node(kind, list(inputs), [f"n{len(nodes)}"], name=f"n{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def constant(array) -> str:
        constants[f"c{len(constants)}"] = np.ascontiguousarray(array)
        return f"c{len(constants) - 1}"

    def linear(x: str, weight, bias) -> str:
        return node("Add", constant(bias), node("MatMul", x, constant(weight.T)))

    def normalized(x: str, weight, bias) -> str:
        return node("LayerNormalization", x, constant(weight), constant(bias), axis=-1, epsilon=1e-5)

    x = "x"
    for first in range(0, len(parameters), 12):
        in_w, in_b, out_w, out_b, w1, b1, w2, b2, norm1_w, norm1_b, norm2_w, norm2_b = parameters[first:first + 12]
        heads = []
        for i, order in enumerate(([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])):
            rows = slice(i * MODEL, (i + 1) * MODEL)
            heads.append(node("Transpose", node("Reshape", linear(x, in_w[rows], in_b[rows]), "heads"), perm=order))
        scores = node("Softmax", node("Div", node("MatMul", heads[0], heads[1]), "size"), axis=-1)
        context = node("Transpose", node("MatMul", scores, heads[2]), perm=[0, 2, 1, 3])
        attention = linear(node("Reshape", context, "joined"), out_w, out_b)
        x = normalized(node("Add", attention, x), norm1_w, norm1_b)
        hidden = linear(x, w1, b1)
        erf = node("Add", node("Erf", node("Div", hidden, "root")), "one")
        gelu = node("Mul", node("Mul", hidden, erf), "half")
        x = normalized(node("Add", linear(gelu, w2, b2), x), norm2_w, norm2_b)
    nodes[-1].output[0] = "y"
    shape = (1, ROWS, MODEL)
    return onnx_peer.model_of(nodes, TensorProto.FLOAT, shape, TensorProto.FLOAT, shape, constants)


def onnx_sessions(parameters: list, x) -> list:
    import numpy as np
    import onnx
    import onnx_peer
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer
    logging.disable(logging.WARNING)
    runtime = onnx_peer.Runtime(next((compare.package_folder("onnxruntime") / "capi").glob("libonnxruntime.so.*")),
                                instruction_set.shared_library("calls.c", os.environ.get("CC", "cc")))
    sessions = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        onnx.save(onnx_graph(parameters), folder / "plain.onnx")
        fused = optimizer.optimize_model(str(folder / "plain.onnx"), "bert", num_heads=HEADS, hidden_size=MODEL,
                                         opt_level=0)
        fused.save_model_to_file(str(folder / "fused.onnx"))
        kinds = {node.op_type for node in fused.model.graph.node}
        for graph in ("plain", "fused"):
            shown = "" if graph == "plain" else f" fused ({', '.join(sorted(kinds - {'MatMul', 'Add'}))})"
            for weights in (None, QuantType.QInt8, QuantType.QUInt8):
                file = folder / f"{graph}.onnx"
                if weights is not None:
                    quantized = folder / f"{graph}-{weights}.onnx"
                    quantize_dynamic(file, quantized, weight_type=weights, per_channel=weights is QuantType.QInt8,
                                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
                    file = quantized
                kind = "float32" if weights is None else f"dynamic int8, weights {weights}"
                sessions.append(onnx_peer.Session(runtime, f"ONNX Runtime {kind}{shown}", onnx.load(file), x[None],
                                                  (1, ROWS, MODEL), np.float32))
    logging.disable(logging.NOTSET)
    return sessions


def main() -> None:
    options = compare_dynamic.arguments(__doc__)
    library = ctypes.CDLL(str(compare_dynamic.build(options, "zeropoint_encoder")))
    import numpy as np
    import torch  # only now: the mask must be in place before

    torch.set_num_threads(1)
    library.zp_encoder_new.restype = ctypes.c_void_p
    module = torch_encoder()
    parameters = parameters_of(module)
    x = np.random.default_rng(7).normal(0, 1, (ROWS, MODEL)).astype(np.float32)
    ours = [Zeropoint(library, name, bits, parameters, x)
            for name, bits in (("8-bit activations", 8), ("7-bit activations", 7), ("float32", 32))]
    dynamic = torch.ao.quantization.quantize_dynamic(torch_encoder(), {torch.nn.Linear}, dtype=torch.qint8)
    peers = [*onnx_sessions(parameters, x), Torch("PyTorch float32", module, torch.from_numpy(x)[None]),
             Torch("PyTorch quantize_dynamic", dynamic, torch.from_numpy(x)[None])]
    times = timing.interleaved([*ours, *peers], options.seconds * 5)
    with torch.inference_mode():
        exact = module(torch.from_numpy(x)[None])[0].double().numpy()
    lines = compare_dynamic.heading(f"An encoder of MiniLM's size, {ROWS} tokens", options)
    compare_dynamic.check(ours, exact)
    for one in [*ours, *peers]:
        sqnr, taken = compare_dynamic.signal_to_noise(one.output().reshape(exact.shape), exact), times[one.name]
        lines.append(f"| {one.name} | {taken.best * 1e6:.0f} | {taken.median * 1e6:.0f} | {sqnr:.1f} |")
    mine = min(times[one.name].median for one in ours[:2])
    for kind, target in TARGETS.items():
        peer = min(times[one.name].median for one in peers if one.name.startswith(f"ONNX Runtime {kind}"))
        lines.append(f"| times as fast as ONNX Runtime's fastest {kind} (aim {target:g}) | | {peer / mine:.2f} | |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        (options.out / "encoder.md").write_text(text)


if __name__ == "__main__":
    main()
