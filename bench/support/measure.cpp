// SPDX-License-Identifier: BSD-3-Clause
// What the rounds of a measurement amount to.
#include "measure.hpp"

#include <algorithm>

namespace bench {

void rounds::add(double seconds, benchmark::IterationCount calls) {
    call_seconds_.push_back(seconds / static_cast<double>(calls));
    spent_ += seconds;
    peak_ = std::max(peak_, measure_peak(done_.limit));
}

void rounds::report(benchmark::State& state) const {
    std::vector<double> sorted = call_seconds_;
    std::sort(sorted.begin(), sorted.end());
    const double best = done_.operations / sorted.front() * 1e-9,
                 median = done_.operations / sorted[sorted.size() / 2] * 1e-9;
    state.counters["best_ns"] = sorted.front() * 1e9;
    state.counters[done_.limit == peak::copy ? "GB/s" : "GOPS"] = best;
    state.counters["median"] = median;
    state.counters["peak"] = peak_;
    state.counters["peak_%"] = 100 * best / peak_;
}

}  // namespace bench
