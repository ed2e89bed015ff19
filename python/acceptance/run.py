# SPDX-License-Identifier: BSD-3-Clause
"""Runs the acceptance suite of the importer, and writes docs/importing.md from its results.

    python python/acceptance/run.py                        what has changed since it was kept
    python python/acceptance/run.py --static               all but compiling and running: seconds for a network
    python python/acceptance/run.py --only resnet18 swin_t --no-int8
    python python/acceptance/run.py --write                the page, from what is kept
    python python/acceptance/run.py --check --in-turn 25   every 25th network, the next ones in the next run, must give what is kept
    python python/acceptance/run.py --check --small --static --in-turn 4
                                                           the half with few rows must be imported as it is kept: four seconds a network

What is made lies in build/acceptance: headers, weights, ONNX files. Programs are compiled with -O1 and kept by their content,
so that networks that both front ends write alike are compiled once. The exit code is 1 where a network is not what it is
expected to be.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
os.environ.setdefault("ZEROPOINT_COMPILED", "1")
warnings.filterwarnings("ignore")

sys.path.append(str(HERE.parents[1] / "scripts"))
import changes  # noqa: E402
from acceptance import page  # noqa: E402
from acceptance.families import NAMES  # noqa: E402
from acceptance.networks import Network, families, made  # noqa: E402

BUILD = HERE.parents[1] / "build" / "acceptance"
SMALL = 60  # rows: half of the networks have as many at most
SAME_SNR = 1.5  # dB: calibration is of floats, which machines add up in different orders


def digest_of(*folders: Path) -> str:
    """Of all Python files in folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run_one(family: str, network: Network, before: dict[str, Any], static: bool, with_int8: bool) -> dict[str, Any]:
    """The record of one network; figures of the compiled one stay where the files are the same."""
    from acceptance.fronts import from_onnx, from_torch
    from acceptance.measure import measured

    module, example = made(network)
    sources = digest_of(HERE / "networks.py", HERE / "families" / f"{family}.py")
    folder = BUILD / family / network.name
    record: dict[str, Any] = {"name": network.name, "expect": network.expect}
    if network.why:
        record["why"] = network.why
    for front in ("torch", "onnx"):
        try:
            found = from_torch(network.name, module, example, folder / front) if front == "torch" else \
                from_onnx(network.name, module, example, folder / front, sources)
            record[front] = found.record
            old = before.get(front, {})
            wants_int8 = with_int8 and network.int8 and front == "torch"
            is_kept = old.get("files") == found.record.get("files") and "difference" in old and \
                (not wants_int8 or "int8" in before)
            if not found.record["imported"]:
                continue
            if is_kept:
                found.record.update({key: old[key] for key in ("difference", "cosine", "first", "warnings", "compile")})
                if front == "torch" and "int8" in before:
                    record["int8"] = before["int8"]
            elif not static:
                result = measured(found, example, wants_int8)
                if "int8" in result:
                    record["int8"] = result.pop("int8")
                found.record.update(result)
        except Exception as error:  # anything that is not a refusal is a mistake of ours, and told as such
            lines = str(error).splitlines()
            record[front] = {**record.get(front, {"imported": False}),
                             "crash": f"{type(error).__name__}: {lines[0][:300] if lines else ''}"}
            (folder / front).mkdir(parents=True, exist_ok=True)
            (folder / front / "crash.txt").write_text(traceback.format_exc())
    return record


def deviations(kept: dict[str, Any], record: dict[str, Any]) -> list[str]:
    """What of a record is not as it was kept, but for seconds and the digits of differences."""
    found = []
    for front in ("torch", "onnx"):
        old, new = kept.get(front, {}), record.get(front, {})
        for key in ("imported", "nodes", "rows", "moves", "lines", "table", "reasons"):
            if old.get(key) != new.get(key):
                found.append(f"{front}: {key} was {old.get(key)}, and is {new.get(key)}")
    if "int8" in record and "int8" in kept and abs(record["int8"]["snr"] - kept["int8"]["snr"]) > SAME_SNR:
        found.append(f"int8: snr was {kept['int8']['snr']} dB, and is {record['int8']['snr']} dB")
    return found


def checked(chosen: list[tuple[str, Network]], options: argparse.Namespace) -> int:
    """The exit code of --check: networks as they are expected to be and as they were kept, and the page made of what is kept."""
    if options.in_turn:
        now = changes.find(options)
        if not (options.static and any(file.startswith("python/") for file in now.files)):  # then all, which takes minutes
            chosen = chosen[now.turn % options.in_turn::options.in_turn]
        print(f"{len(chosen)} networks: {now.basis}")
    wrong = []
    for family, network in chosen:
        start = time.perf_counter()
        record = run_one(family, network, {}, options.static, not options.no_int8)
        say(network, record, time.perf_counter() - start)
        found = deviations(page.read(family).get(network.name, {}), record)
        if page.verdict(record) not in ("passes", "refused"):
            found.insert(0, page.verdict(record))
        wrong += [f"{network.name}: {text}" for text in found]
    if page.PAGE.read_text() != page.page(orders()):
        wrong.append(f"{page.PAGE.name} is not what --write makes of the kept results")
    print(*wrong, sep="\n")
    print(f"{len(chosen)} networks, {len(wrong)} deviations"
          + (": where they are right, run.py --only <networks>, then --write" if wrong else ""))
    return 1 if wrong else 0


def is_small(family: str, network: Network) -> bool:
    """By what is kept of it."""
    kept = page.read(family).get(network.name, {})
    return kept.get("torch", {}).get("rows", 0) <= SMALL


def orders() -> list[tuple[str, list[str]]]:
    """The names of each family."""
    return [(name, [n.name for f, n in families() if f == name]) for name in NAMES]


def say(network: Network, record: dict[str, Any], seconds: float) -> None:
    """One network on the terminal."""
    parts = []
    for front in ("torch", "onnx"):
        found = record.get(front, {})
        if found.get("imported"):
            parts.append(f"{front} {found['rows']} rows {found['moves']} moves {found['lines']} lines"
                         + (f" {found['difference']:.0e}" if "difference" in found else "")
                         + (f" compile {found['compile']} s" if "compile" in found else ""))
        else:
            parts.append(f"{front} refused")
    one = record["torch"].get("table") == record["onnx"].get("table") and record["torch"].get("imported")
    int8 = f", int8 {record['int8']['snr']} dB {record['int8']['cosine']}" if "int8" in record else ""
    print(f"{network.name}: {page.verdict(record)} | {' | '.join(parts)} | {'one table' if one else 'two tables'}{int8} "
          f"| {seconds:.0f} s", flush=True)
    for front in ("torch", "onnx"):
        for reason in record[front].get("reasons", []):
            print(f"    {front}: {reason}", flush=True)
        for key in ("first", "crash"):
            if record[front].get(key):
                print(f"    {front}: {record[front][key]}", flush=True)
        for text in record[front].get("warnings", []):
            print(f"    {front} warns: {text}", flush=True)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--family", choices=NAMES, default="")
    parser.add_argument("--small", action="store_true", help=f"networks of at most {SMALL} rows, and those that are refused")
    parser.add_argument("--static", action="store_true", help="neither compile nor run")
    parser.add_argument("--no-int8", action="store_true", help="float alone, which compiles faster")
    parser.add_argument("--again", action="store_true", help="also what has not changed")
    parser.add_argument("--list", action="store_true", help="names, and what is kept of them")
    parser.add_argument("--write", action="store_true", help="write docs/importing.md from what is kept, and run nothing")
    parser.add_argument("--check", action="store_true", help="keep nothing: fail where a result is not as it was kept")
    parser.add_argument("--in-turn", type=int, default=0, metavar="RUNS", help="of --check: as many networks as take so many runs for all; with --static all, where python/ has changed")
    changes.add_options(parser)
    options = parser.parse_args()
    chosen = [(family, network) for family, network in families(options.family)
              if (not options.only or network.name in options.only) and (not options.small or is_small(family, network))]
    if not chosen:
        parser.error("there is no such network; see --list")
    if not 0 <= options.in_turn <= len(chosen):
        parser.error(f"--in-turn: expected 1 to {len(chosen)}, the number of networks, found {options.in_turn}")
    if options.write:
        page.PAGE.write_text(page.page(orders()))
        return 0
    if not options.static and not options.list:
        from acceptance.once import prepare

        prepare(BUILD)
    if options.check:
        return checked(chosen, options)
    names = dict(orders())
    wrong = 0
    for family, network in chosen:
        before = page.read(family).get(network.name, {})
        if options.list:
            print(f"{family:12} {network.name:32} {page.verdict(before) if before else 'never run'}")
            continue
        sources = digest_of(HERE.parent / "zeropoint", HERE / "families" / f"{family}.py", HERE / "networks.py")
        wants = ["torch", "onnx"] if not options.static else []
        has_all = all(not before.get(f, {}).get("imported") or "difference" in before[f] for f in wants) and \
            (options.static or options.no_int8 or not network.int8 or "int8" in before
             or not before.get("torch", {}).get("imported"))
        if before.get("sources") == sources and has_all and not options.again and not options.only:
            wrong += page.verdict(before) not in ("passes", "refused")
            continue
        start = time.perf_counter()
        try:
            record = run_one(family, network, {} if options.again else before, options.static, not options.no_int8)
        except Exception as error:  # the constructor's
            print(f"{network.name}: {type(error).__name__}: {error}")
            wrong += 1
            continue
        record["sources"] = sources
        page.keep(family, record, names[family])
        say(network, record, time.perf_counter() - start)
        wrong += page.verdict(record) not in ("passes", "refused")
    if not options.list:
        print(f"{len(chosen)} networks, {wrong} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
