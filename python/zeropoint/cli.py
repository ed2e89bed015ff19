# SPDX-License-Identifier: BSD-3-Clause
"""The command `zeropoint`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from zeropoint import __version__
from zeropoint.errors import CheckFailed, ExportRefused, ImportRefused, ZeropointError
from zeropoint.files import sentence_of
from zeropoint.presets import quantized_file

HELP = """Brings models of PyTorch, ONNX and TensorFlow Lite to zeropoint.

  zeropoint import net.onnx -o out/         writes out/net.hpp and out/net.safetensors, compiles them, runs both sides
  zeropoint import net.pt2 -o out/          the same of a file of torch.export.save
  zeropoint import net.tflite -o out/       of TensorFlow Lite; of int8 models, and of ONNX with QDQ, the int8 file at once
  zeropoint verify out/net.hpp net.onnx     checks such files again
  zeropoint quantize out/net.hpp --calibration images.npy   calibrates, converts to int8, says how near it is
  zeropoint quantize out/bert.hpp --calibration texts.npz   the same of a network of several inputs: arrays by their names
  zeropoint quantize out/bert.hpp --qconfig int4_dynamic_qconfig   weights of 4 bits; nothing is calibrated
  zeropoint report out/net.hpp --calibration images.npy -o net.html   a page of where int8 loses accuracy, and what to try
  zeropoint export out/net.hpp out/net.int8.safetensors --onnx integer -o net.onnx   to ONNX, with the same codes
  zeropoint encodings out/net.hpp out/net.int8.safetensors -o net.onnx   to AIMET's encodings beside a float ONNX
  zeropoint pack out/net.hpp -o net.image   what a program without files or a heap runs from
  zeropoint embed net.image -o net_image.hpp   the bytes of a file in C++, or in a .S for the assembler

A module of PyTorch needs no file between: zeropoint.from_torch(module, example, "out/")."""

CALIBRATION = ("a .npy of N inputs as the source has them, such as N x 3 x 224 x 224; for a network of several inputs an .npz of such arrays, "
               "each by the name of its input, or name=file.npy, once for each")
SMOOTH = ("even out channels of activations by the calibration's inputs first, which helps where one scale holds channels of very different "
          "sizes: SmoothQuant's alpha, from 0 to 1; 0.7 where no number is given")


def shape_of(text: str) -> tuple[str, tuple[int, ...]]:
    """`1x3x224x224`, or `name=1x3x224x224`."""
    name, _, extents = text.rpartition("=")
    try:
        return name, tuple(int(n) for n in extents.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give extents such as 1x3x224x224, or name=1x3x224x224") from None


def value_of(text: str) -> tuple[str, Any]:
    """`name=16000`, or `name=1,0,0`."""
    import numpy as np

    name, _, numbers = text.rpartition("=")
    try:
        found = [float(n) for n in numbers.split(",")]
        if not name:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give an input and its number, such as rate=16000, or name=1,0,0") from None
    return name, np.array(found if len(found) > 1 else found[0])


def stateful_of(text: str) -> int | str:
    """A number from 1 on, or `frames`."""
    if text == "frames":
        return text
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of calls, from 1 on, or frames")
    return count


class PrintIncludes(argparse.Action):
    """--includes"""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from zeropoint.compiler import include_flags

        try:
            print(shlex.join(include_flags()))
        except ZeropointError as error:
            parser.exit(2, f"zeropoint: {error}\n")
        parser.exit()


def add_cuts(command: argparse.ArgumentParser) -> None:
    """Options that name a part of a model."""
    command.add_argument("--from", dest="begin", action="append", default=[], metavar="VALUE",
                         help="a value of ONNX or TensorFlow Lite that is an input, in place of what it is computed of; once for each")
    command.add_argument("--to", dest="end", action="append", default=[], metavar="VALUE",
                         help="a value that is an output, in place of those of the file; once for each")


def parser_of() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser("zeropoint", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--includes", action=PrintIncludes, nargs=0,
                        help="print a compiler's options for the headers: c++ -std=c++20 $(zeropoint --includes) program.cpp")
    parser.set_defaults(report=None)  # of commands that have none
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    imports = commands.add_parser("import", help="a model to a header and a safetensors file")
    imports.add_argument("model", type=Path, help="an .onnx or .tflite file, or a .pt2 of torch.export.save; of other names by its first bytes")
    imports.add_argument("-o", "--out", type=Path, default=Path("."), help="the folder to write to")
    imports.add_argument("--name", default="", help="of the network in C++; by default that of the file")
    imports.add_argument("--input", type=shape_of, action="append", default=[],
                         help="extents of an input that has none, 1x3x224x224 or name=1x3x224x224")
    imports.add_argument("--value", type=value_of, action="append", default=[], metavar="NAME=NUMBER",
                         help="an input that is always this number, such as a rate that chooses a branch; the network has no such input")
    add_cuts(imports)
    imports.add_argument("--stateful", type=stateful_of, default=0, metavar="CALLS|frames",
                         help="states of recurrent layers that go in and come out are left to zp::streaming; a sequence to calibrate with "
                              "has so many calls of the model. frames: to zp::stateful, where a call sees a frame through windows")
    imports.add_argument("--dequantize", action="store_true",
                         help="a model that others have quantized as a float network, of the real numbers of its weights' codes")
    imports.add_argument("--no-verify", action="store_true", help="do not compile and compare")
    imports.add_argument("--force", action="store_true", help="write the files even where the check fails")
    imports.add_argument("--report", type=Path, help="a JSON file for the result or the problems")

    verify = commands.add_parser("verify", help="a header beside the model that it was imported from")
    verify.add_argument("header", type=Path)
    verify.add_argument("model", type=Path)
    verify.add_argument("--input", type=shape_of, action="append", default=[], help="as the model was imported with")
    add_cuts(verify)
    verify.add_argument("--value", type=value_of, action="append", default=[], metavar="NAME=NUMBER", help="likewise")
    verify.add_argument("--dequantize", action="store_true", help="likewise")

    quantize = commands.add_parser("quantize", help="an imported network to int8, with a report")
    quantize.add_argument("header", type=Path)
    quantize.add_argument("--calibration", action="append",
                          help=f"{CALIBRATION}. Dynamic presets need none; what is given is compared over")
    quantize.add_argument("--qconfig", default="default_qconfig",
                          help="a preset of zeropoint, such as int4_dynamic_qconfig for weights of 4 bits; default: %(default)s")
    quantize.add_argument("--weights", type=Path, help="by default the .safetensors beside the header")
    quantize.add_argument("-o", "--out", type=Path,
                          help="by default NAME.int8.safetensors beside the header, of dynamic presets NAME.int4_dynamic.safetensors and alike")
    quantize.add_argument("--smooth", type=float, nargs="?", const=0.7, metavar="ALPHA", help=SMOOTH)
    add_report(commands)
    add_export(commands)
    add_small_machines(commands)
    return parser


def add_report(commands: Any) -> None:
    """Where accuracy goes."""
    report = commands.add_parser("report", help="int8 beside float, row by row: a page, and text")
    report.add_argument("header", type=Path, help="an imported header, or a .json that zp::to_json(inspection) made")
    report.add_argument("--calibration", action="append", help=CALIBRATION)
    report.add_argument("--images", action="append", help="those that are compared, given alike; by default every fourth of calibration's")
    report.add_argument("--qconfig", default="default_qconfig", help="a preset of zeropoint; default: %(default)s")
    report.add_argument("--weights", type=Path, help="by default the .safetensors beside the header")
    report.add_argument("--smooth", type=float, nargs="?", const=0.7, metavar="ALPHA", help=SMOOTH)
    report.add_argument("--sweep", type=int, default=32, help="inputs that sensitivity is measured with, 0 for none; default: %(default)s")
    report.add_argument("-o", "--out", type=Path, help="the page, by default NAME.report.html beside the header")
    report.add_argument("--json", type=Path, help="a file for the data")
    report.add_argument("--text", action="store_true", help="print the text alone, and write no page")


def add_export(commands: Any) -> None:
    """Those that write files of other systems."""
    export = commands.add_parser("export", help="an int8 network to ONNX, run beside it")
    export.add_argument("--onnx", choices=("integer", "qdq"), required=True,
                        help="integer: the same codes by construction; qdq: QuantizeLinear and DequantizeLinear")
    export.add_argument("--signed", action="store_true", help="qdq: signed codes, as TensorRT takes them")
    export.add_argument("--no-verify", action="store_true", help="do not run it in ONNX Runtime")
    export.add_argument("--force", action="store_true", help="write it even where codes differ that must not")
    encodings = commands.add_parser("encodings", help="AIMET's encodings beside a float ONNX")
    encodings.add_argument("--format", action="append", choices=("0.6.1", "2.0.0"), help="by default both")
    for command in (export, encodings):
        command.add_argument("header", type=Path, help="an imported header, or any with a zp::model")
        command.add_argument("int8", type=Path, help="the file that `zeropoint quantize` or zp::save wrote")
        command.add_argument("--qconfig", default="default_qconfig",
                             help="which it was converted under: a preset, or a type of C++; default: %(default)s")
        command.add_argument("--net", default="", help="the network in a header of several")
        command.add_argument("-o", "--out", type=Path, required=True, help="the .onnx file to write")
        command.add_argument("--report", type=Path, help="a JSON file for the result or the problems")


def add_small_machines(commands: Any) -> None:
    """What brings a network into flash."""
    pack = commands.add_parser("pack", help="an int8 file to a packed image, for zp::in_place")
    pack.add_argument("header", type=Path)
    pack.add_argument("--qconfig", default="default_qconfig", help="a preset of zeropoint; default: %(default)s")
    pack.add_argument("--int8", type=Path, help="by default what `zeropoint quantize` writes under the preset")
    pack.add_argument("--architecture", default="zp::portable", help="that of the program; default: %(default)s")
    pack.add_argument("-o", "--out", type=Path, help="by default NAME.image beside the header")

    embed = commands.add_parser("embed", help="a file in a program: as a header, or as a .S with a header beside it")
    embed.add_argument("file", type=Path)
    embed.add_argument("-o", "--out", type=Path, required=True, help="what ends in .hpp, or in .S")
    embed.add_argument("--symbol", default="", help="the name in C++; by default the file's")
    embed.add_argument("--section", default="", help="of the linker, by default one of read-only data")


def say(text: str) -> None:
    """Progress, on the terminal."""
    print(text, flush=True)


def run_import(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint import"""
    from zeropoint.importer import import_file

    made = import_file(options.model, options.out, name=options.name, verify=not options.no_verify,
                       force=options.force, input_shapes=dict(options.input), input_values=dict(options.value), stateful=options.stateful,
                       begin=options.begin, end=options.end, dequantize=options.dequantize, progress=say)
    checked = None if made.result is None else made.result.to_json()
    return {"header": str(made.header), "weights": str(made.weights), "rows": made.layers, "check": checked}


def run_verify(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint verify"""
    from zeropoint.importer import verify_file

    result = verify_file(options.header, options.model, dict(options.input), say, dict(options.value), options.dequantize,
                         options.begin, options.end)
    if not result.passed:
        raise CheckFailed(f"{options.header} is not what {options.model} computes")
    return result.to_json()


def run_quantize(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint quantize"""
    from zeropoint.quantize import quantize

    made = quantize(options.header, options.calibration, qconfig=options.qconfig, weights=options.weights,
                    out=options.out, smooth=options.smooth, progress=say)
    say(made.report())
    return {"file": str(made.file), "snr": made.snr, "cosine": made.cosine}


def run_report(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint report"""
    from zeropoint.inspection.report import read, report, write_whole
    from zeropoint.presets import check_static
    from zeropoint.replacing import check_writable

    target = options.out if options.out is not None else options.header.with_suffix(".report.html")
    check_writable(*([] if options.text else [target]), *([] if options.json is None else [options.json]))
    if options.header.suffix == ".json":
        made = read(options.header)
    elif options.calibration is None:
        check_static(options.qconfig, "a report compares the codes of every layer")
        raise ZeropointError(f"{options.header}: give inputs with --calibration images.npy; ranges come from data")
    else:
        made = report(options.header, options.calibration, images=options.images, qconfig=options.qconfig, weights=options.weights,
                      swept=options.sweep, smooth=options.smooth, progress=say)
    say(made.text(coloured=sys.stdout.isatty()).rstrip())
    if options.json is not None:
        write_whole(options.json, json.dumps(made.data) + "\n")
        say(f"wrote {options.json}")
    if not options.text:
        made.write(target)
        say(f"wrote {target}")
    return {"page": None if options.text else str(target), "sqnr": made.data["whole"]["rows"][-1]["sqnr"]}


def run_export(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint export"""
    from zeropoint.export.export import export_onnx

    made = export_onnx(options.header, options.int8, options.out, mode=options.onnx, qconfig=options.qconfig,
                       net=options.net, signed=options.signed, verify=not options.no_verify, force=options.force,
                       progress=say)
    say(made.report())
    return {"file": str(made.file), "nodes": made.nodes, "inputs": made.inputs,
            "differing": {name: sum(d.differing for d in found) for name, found in
                          (("outputs", made.outputs), ("optimized", made.optimized), ("rows", made.rows))}}


def run_encodings(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint encodings"""
    from zeropoint.export.export import VERSIONS, export_encodings

    made = export_encodings(options.header, options.int8, options.out, versions=tuple(options.format or VERSIONS),
                            qconfig=options.qconfig, net=options.net, progress=say)
    for path in made:
        say(f"wrote {path}")
    return {"files": [str(path) for path in made]}


def run_pack(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint pack"""
    from zeropoint.embed import pack

    made = pack(options.header, qconfig=options.qconfig, int8=options.int8, architecture=options.architecture, out=options.out)
    say(f"wrote {made}, {made.stat().st_size:,} bytes")
    return {"file": str(made)}


def run_embed(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint embed"""
    from zeropoint.embed import embed

    made = embed(options.file, options.out, symbol=options.symbol, section=options.section)
    say("wrote " + " and ".join(map(str, made)))
    return {"files": [str(path) for path in made]}


COMMANDS = {"import": run_import, "verify": run_verify, "quantize": run_quantize, "report": run_report, "export": run_export,
            "encodings": run_encodings, "pack": run_pack, "embed": run_embed}


def check_outputs(options: argparse.Namespace) -> None:
    """Raises ZeropointError where a command would write over a file that it reads; takes --report away where that is the one."""
    given: dict[str, Any] = vars(options)
    read = [given[name] for name in ("model", "header", "int8", "weights", "file") if given.get(name) is not None]
    # Those that lie beside the header.
    if "weights" in given and given["weights"] is None:
        read.append(options.header.with_suffix(".safetensors"))
    if "int8" in given and given["int8"] is None:
        read.append(quantized_file(options.header, options.qconfig))
    for text in [*(given.get("calibration") or []), *(given.get("images") or [])]:
        read += [Path(text), Path(text.partition("=")[2] or text)]
    for name, option in (("report", "--report"), ("out", "-o"), ("json", "--json")):
        path = given.get(name)
        if path is not None and any(path.resolve() == other.resolve() for other in read):
            options.report = options.report if name != "report" else None
            raise ZeropointError(f"{option} {path}: that is a file that is read; give what is written a name of its own")


def write_report(path: Path | None, content: dict[str, Any], code: int) -> int:
    """The JSON of --report, where there is one, and the exit code: the one given, or 2 where it cannot be written."""
    if path is None:
        return code
    try:
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        print(f"zeropoint: {sentence_of(error, path)}", file=sys.stderr)
        return 2
    return code


def main(arguments: list[str] | None = None) -> int:
    """0 where all went well, 1 where a check failed, 2 where a model or file was refused, 130 after Ctrl-C."""
    options = parser_of().parse_args(arguments)
    try:
        check_outputs(options)
        result = COMMANDS[options.command](options)
    except CheckFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    except ZeropointError as error:
        print(f"zeropoint: {error}", file=sys.stderr)
        problems = error.to_json() if isinstance(error, (ExportRefused, ImportRefused)) else [{"text": str(error)}]
        return write_report(options.report, {"problems": problems}, 2)
    except OSError as error:  # a disk that is full, a folder that is read-only
        print(f"zeropoint: {sentence_of(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nzeropoint: stopped; no file is half-written", file=sys.stderr)
        return 130
    return write_report(options.report, result, 0)


if __name__ == "__main__":
    sys.exit(main())
