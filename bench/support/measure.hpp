// SPDX-License-Identifier: BSD-3-Clause
// One measurement: rounds of a kernel, each beside a burst of the loop that it is compared with.
#pragma once

#include <chrono>
#include <vector>

#include <benchmark/benchmark.h>

#include "peak.hpp"

namespace bench {

/// What one call does, and the loop whose rate is the limit: operations, two for a product and its sum; for peak::copy
/// bytes, read and written.
struct work {
    double operations;
    peak limit = peak::dot4;
};

/// The rounds of one measurement and what they amount to.
class rounds {
public:
    explicit rounds(work done) : done_(done) {}
    /// One round of so many calls. Measures the peak as well.
    void add(double seconds, benchmark::IterationCount calls);
    /// Whether there are too few to speak of a best one, while more cost little.
    bool are_few() const { return call_seconds_.size() < 5 && spent_ < 0.1; }
    /// Counters: nanoseconds of the best round's call, its rate (GOPS or GB/s) and that of the median round, the best
    /// peak seen between the rounds, and the best rate in per cent of it.
    void report(benchmark::State& state) const;

private:
    work done_;
    double peak_ = 0, spent_ = 0;
    std::vector<double> call_seconds_;
};

inline constexpr double round_seconds = 500e-6;

/// Runs `call` in rounds of half a millisecond, as many as the state wants. The time reported is that of one call.
template <class Call> void measure(benchmark::State& state, work done, Call&& call) {
    using clock = std::chrono::steady_clock;
    const auto seconds_of = [&](benchmark::IterationCount calls) {
        const auto start = clock::now();
        for (benchmark::IterationCount i = 0; i != calls; ++i) {
            call();
            benchmark::ClobberMemory();
        }
        return std::chrono::duration<double>(clock::now() - start).count();
    };
    benchmark::IterationCount calls = 1;
    for (double seconds = seconds_of(1); seconds < round_seconds / 2; seconds = seconds_of(calls))
        calls *= seconds < round_seconds / 16 ? 8 : 2;
    rounds all(done);
    while (state.KeepRunningBatch(calls)) {
        const double seconds = seconds_of(calls);
        state.SetIterationTime(seconds);
        all.add(seconds, calls);
    }
    while (all.are_few()) all.add(seconds_of(calls), calls);
    all.report(state);
}

}  // namespace bench
