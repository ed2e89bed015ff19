# SPDX-License-Identifier: BSD-3-Clause
"""Interleaved timing: every round runs a batch of calls of each contender in turn, so all meet the same machine.

Time is the processor time of this process, all its threads: what other programs take of the processor does not count.
"""
import dataclasses
import resource
import statistics
import time


@dataclasses.dataclass
class Timing:
    """Batches during which the scheduler gave the processor to someone else do not count, unless all were such."""
    best: float       # seconds a call
    median: float
    calls: int        # of one batch
    batches: int      # that count
    interrupted: int  # that were left out

    @staticmethod
    def of(samples: list[tuple[float, bool]], calls: int) -> "Timing":
        """samples: seconds a call, and whether the batch was interrupted."""
        kept = [seconds for seconds, interrupted in samples if not interrupted]
        if not kept:
            kept = [seconds for seconds, _ in samples]
        return Timing(min(kept), statistics.median(kept), calls, len(kept), len(samples) - len(kept))


def interruptions() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def calls_in(contender, seconds: float) -> int:
    """How many calls take about so long."""
    calls = 1
    while True:
        begin = time.process_time()
        contender.run(calls)
        taken = time.process_time() - begin
        if taken >= seconds:
            return max(1, round(calls * seconds / taken))
        calls = max(calls + 1, min(calls * 10, round(calls * seconds / max(taken, 1e-7))))


def interleaved(contenders: list, seconds: float, batch_seconds: float = 1e-3,
                after_round=lambda: None) -> dict[str, Timing]:
    """`seconds` in all. A batch has at least one call; the first round warms up and does not count."""
    calls_of = {one.name: calls_in(one, batch_seconds) for one in contenders}
    samples = {one.name: [] for one in contenders}
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 4 or time.perf_counter() < end:
        for one in contenders:
            calls = calls_of[one.name]
            one.run(1)  # its operands are back in the caches
            before, begin = interruptions(), time.process_time()
            one.run(calls)
            taken = time.process_time() - begin
            if rounds > 0:
                samples[one.name].append((taken / calls, interruptions() != before))
        after_round()
        rounds += 1
    return {name: Timing.of(taken, calls_of[name]) for name, taken in samples.items()}


def fastest(contenders: list):
    """Of several ways to do the same, the one to compare with."""
    calls = calls_in(contenders[0], 5e-3)

    def seconds(contender) -> float:
        begin = time.process_time()
        contender.run(calls)
        return time.process_time() - begin
    return min(contenders, key=lambda one: min(seconds(one) for _ in range(4)))
