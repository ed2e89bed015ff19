// SPDX-License-Identifier: BSD-3-Clause
// Small networks, one step a call through zp::streaming: float and int8 between floats, as programs call them. The peak that shares
// are of is float multiply-add for both, so that figures of other machines and libraries can be compared as ratios.
#include <memory>
#include <string>
#include <vector>

#include "models/timed_stream.hpp"
#include "support/measure.hpp"

namespace {

void run(benchmark::State& state, const models::named_stream& one, bool int8) {
    const auto stream = one.make();
    std::vector<float> x(static_cast<std::size_t>(stream->inputs())), y(static_cast<std::size_t>(stream->outputs()));
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = 0.1f * static_cast<float>(i * 7 % 31) - 1.5f;
    const bench::work work{2.0 * static_cast<double>(stream->multiplications()), bench::peak::float_fma};
    if (int8) bench::measure(state, work, [&] { stream->run_int8(x.data(), y.data(), 1); });
    else bench::measure(state, work, [&] { stream->run_float(x.data(), y.data(), 1); });
}

[[maybe_unused]] const bool registered = [] {
    for (const auto all : {models::timed_streams(), models::streams_without_peers()})
        for (const models::named_stream& one : all)
            for (const bool int8 : {false, true})
                benchmark::RegisterBenchmark((std::string(one.name) + (int8 ? "/int8" : "/float")).c_str(), run, one,
                                             int8)
                    ->UseManualTime();
    return true;
}();

}  // namespace
