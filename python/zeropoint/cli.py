"""The command `zeropoint`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from zeropoint import __version__
from zeropoint.errors import CheckFailed, ImportRefused, ZeropointError

HELP = """Brings models of PyTorch and ONNX to zeropoint.

  zeropoint import net.onnx -o out/         writes out/net.hpp and out/net.safetensors, compiles them, runs both sides
  zeropoint import net.pt2 -o out/          the same of a file of torch.export.save
  zeropoint verify out/net.hpp net.onnx     checks such files again
  zeropoint quantize out/net.hpp --calibration images.npy   calibrates, converts to int8, says how near it is

A module of PyTorch needs no file between: zeropoint.from_torch(module, example, "out/")."""


def shape_of(text: str) -> tuple[str, tuple[int, ...]]:
    """`1x3x224x224`, or `name=1x3x224x224`."""
    name, _, extents = text.rpartition("=")
    try:
        return name, tuple(int(n) for n in extents.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give extents such as 1x3x224x224, or name=1x3x224x224") from None


class PrintIncludes(argparse.Action):
    """--includes"""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from zeropoint.compiler import include_flags

        try:
            print(shlex.join(include_flags()))
        except ZeropointError as error:
            parser.exit(2, f"zeropoint: {error}\n")
        parser.exit()


def parser_of() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser("zeropoint", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--includes", action=PrintIncludes, nargs=0,
                        help="print a compiler's options for the headers: c++ -std=c++20 $(zeropoint --includes) program.cpp")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    imports = commands.add_parser("import", help="a model to a header and a safetensors file")
    imports.add_argument("model", type=Path, help="an .onnx file, or a .pt2 of torch.export.save")
    imports.add_argument("-o", "--out", type=Path, default=Path("."), help="the folder to write to")
    imports.add_argument("--name", default="", help="of the network in C++; by default that of the file")
    imports.add_argument("--input", type=shape_of, action="append", default=[],
                         help="extents of an input that has none, 1x3x224x224 or name=1x3x224x224")
    imports.add_argument("--no-verify", action="store_true", help="do not compile and compare")
    imports.add_argument("--force", action="store_true", help="write the files even where the check fails")
    imports.add_argument("--report", type=Path, help="a JSON file for the result or the problems")

    verify = commands.add_parser("verify", help="a header beside the model that it was imported from")
    verify.add_argument("header", type=Path)
    verify.add_argument("model", type=Path)
    verify.add_argument("--input", type=shape_of, action="append", default=[])

    quantize = commands.add_parser("quantize", help="an imported network to int8, with a report")
    quantize.add_argument("header", type=Path)
    quantize.add_argument("--calibration", type=Path, required=True,
                          help="a .npy of N inputs as the source has them, such as N x 3 x 224 x 224")
    quantize.add_argument("--qconfig", default="default_qconfig", help="a preset of zeropoint; default: %(default)s")
    quantize.add_argument("--weights", type=Path, help="by default the .safetensors beside the header")
    quantize.add_argument("-o", "--out", type=Path, help="by default NAME.int8.safetensors beside the header")
    return parser


def say(text: str) -> None:
    """Progress, on the terminal."""
    print(text, flush=True)


def run_import(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint import"""
    from zeropoint.importer import import_file

    made = import_file(options.model, options.out, name=options.name, verify=not options.no_verify,
                       force=options.force, input_shapes=dict(options.input), progress=say)
    checked = None if made.result is None else {"difference": made.result.difference, "cosine": made.result.cosine,
                                                "passed": made.result.passed}
    return {"header": str(made.header), "weights": str(made.weights), "rows": made.layers, "check": checked}


def run_verify(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint verify"""
    from zeropoint.importer import verify_file

    result = verify_file(options.header, options.model, dict(options.input), say)
    if not result.passed:
        raise CheckFailed(f"{options.header} is not what {options.model} computes")
    return {"difference": result.difference, "cosine": result.cosine}


def run_quantize(options: argparse.Namespace) -> dict[str, Any]:
    """zeropoint quantize"""
    from zeropoint.quantize import quantize

    made = quantize(options.header, options.calibration, qconfig=options.qconfig, weights=options.weights,
                    out=options.out, progress=say)
    say(made.report())
    return {"file": str(made.file), "snr": made.snr, "cosine": made.cosine}


def main(arguments: list[str] | None = None) -> int:
    """0 where all went well, 1 where a check failed, 2 where a model was refused, 130 after Ctrl-C."""
    options = parser_of().parse_args(arguments)
    report: Path | None = getattr(options, "report", None)
    try:
        result = {"import": run_import, "verify": run_verify, "quantize": run_quantize}[options.command](options)
    except CheckFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    except ZeropointError as error:
        print(f"zeropoint: {error}", file=sys.stderr)
        problems = error.to_json() if isinstance(error, ImportRefused) else [{"text": str(error)}]
        if report is not None:
            report.write_text(json.dumps({"problems": problems}, indent=2) + "\n")
        return 2
    except KeyboardInterrupt:
        print("\nzeropoint: stopped; nothing was written", file=sys.stderr)
        return 130
    if report is not None:
        report.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
