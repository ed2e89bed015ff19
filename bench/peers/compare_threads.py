#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Int8 networks on one thread and on several beside peers with as many: one process, interleaved rounds, wall time.

    python bench/peers/compare_threads.py --add --out docs/performance    # 1, 2, 4, 8, 16 as far as the machine has processors

zeropoint runs by zp::executors::thread_pool; bench_threads compares executors. Peers have pools of their own, whose threads spin for a
while after a call as they do by default; between batches all sleep until they do.
"""
import argparse
import dataclasses
import os
import pathlib
import tempfile
import time

import compare
import timing

NETWORKS = "resnet18,mobilenet_v2"
SLEEP = 0.02  # seconds, until the threads of others have stopped spinning
LEFT_OUT = ("PyTorch onednn",)  # of PyTorch's two one suffices


def interleaved(by_threads: dict[int, list], seconds: float, calls: int, set_threads) -> dict[str, dict[int, timing.Timing]]:
    samples = {one.name: {n: [] for n in by_threads} for ones in by_threads.values() for one in ones}
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 2 or time.perf_counter() < end:
        for k in range(max(map(len, by_threads.values()))):  # one contender with every number of threads, then the next
            for n, ones in by_threads.items():
                one = ones[k]
                set_threads(n)
                one.run(1)  # threads that slept are awake
                begin = time.perf_counter()
                one.run(calls)
                if rounds > 0:
                    samples[one.name][n].append(((time.perf_counter() - begin) / calls, False))
                time.sleep(SLEEP)
        rounds += 1
    return {who: {n: timing.Timing.of(taken, calls) for n, taken in each.items()} for who, each in samples.items()}


def compare_network(library, runtimes, index: int, name: str, counts: list[int], seconds: float, folder: pathlib.Path) -> dict:
    import compare_networks
    import numpy as np
    import torch
    import zeropoint_peer
    subject = compare_networks.Subject(library, index, name, folder)
    by_threads = {}
    for n in counts:
        torch.set_num_threads(n)
        peers = [one for one in subject.peers(runtimes, n) if one.name not in LEFT_OUT]
        by_threads[n] = [zeropoint_peer.RunningModel(subject.model, subject.image, "int8_by", "zeropoint int8", n), *peers]
    times = interleaved(by_threads, seconds, 2, torch.set_num_threads)
    for n in counts:
        by_threads[n][0].run(1)
        if not np.array_equal(by_threads[n][0].output(), by_threads[counts[0]][0].output()):
            raise SystemExit(f"{name}: zeropoint gives another result on {n} threads")
    return {"name": name, "index": index, "operations": 2 * subject.model.multiplications, "counts": counts,
            "times": {who: {str(n): dataclasses.asdict(one) for n, one in each.items()} for who, each in times.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    processors = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", default=",".join(str(n) for n in (1, 2, 4, 8, 16) if n <= processors),
                        help="numbers of threads with commas between, 1 among them")
    compare.add_report_options(parser)
    compare.add_common_options(parser)
    parser.set_defaults(only=NETWORKS, seconds=20.0)
    options = compare.read_options(parser)
    compare.begin(options, one_processor=False)
    import report
    library, runtimes, run = compare.prepared(options)
    counts, results = sorted(map(int, options.threads.split(","))), []
    run["threads"] = "several, not bound"
    with tempfile.TemporaryDirectory() as folder:
        for index, name in enumerate(library.model_names()):
            if options.asks_for(name):
                print(name, flush=True)
                results.append(compare_network(library, runtimes, index, name, counts, options.seconds, pathlib.Path(folder)))
    report.finish({"run": run, "threads": results}, options)


if __name__ == "__main__":
    main()
