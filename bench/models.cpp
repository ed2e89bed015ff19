// SPDX-License-Identifier: BSD-3-Clause
// Whole networks, int8 and float32, from float input to float output, with the memory that they need.
#include <memory>
#include <string>
#include <vector>

#include "models/timed_model.hpp"
#include "support/measure.hpp"

namespace {

/// Makes a network when it is first run, and keeps it: one has several seconds of work before it is ready.
models::timed_model& model_named(const models::named_model& one) {
    static std::vector<std::pair<std::string, std::unique_ptr<models::timed_model>>> made;
    for (const auto& [name, model] : made)
        if (name == one.name) return *model;
    made.emplace_back(one.name, one.make());
    return *made.back().second;
}

void run(benchmark::State& state, const models::named_model& one, bool int8) {
    models::timed_model& model = model_named(one);
    std::vector<float> x(static_cast<std::size_t>(model.input_shape().size())),
        y(static_cast<std::size_t>(model.output_shape().size()));
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) * 0.1f - 1.5f;
    const bench::work work{2.0 * static_cast<double>(model.multiplications()),
                           int8 ? bench::peak::dot4 : bench::peak::float_fma};
    if (int8) {
        bench::measure(state, work, [&] { model.run_int8(x.data(), y.data()); });
        state.SetLabel("arena " + std::to_string(model.arena_bytes()) + " B, parameters " +
                       std::to_string(model.parameter_bytes()) + " B");
    } else {
        bench::measure(state, work, [&] { model.run_float(x.data(), y.data()); });
    }
}

[[maybe_unused]] const bool registered = [] {
    for (const models::named_model& one : models::timed_models())
        for (const bool int8 : {true, false})
            benchmark::RegisterBenchmark((std::string(one.name) + (int8 ? "/int8" : "/float32")).c_str(), run, one,
                                         int8)
                ->UseManualTime()
                ->Unit(benchmark::kMicrosecond);
    return true;
}();

}  // namespace
