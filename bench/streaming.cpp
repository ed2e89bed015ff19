// SPDX-License-Identifier: BSD-3-Clause
// Small networks, one step a call through zp::streaming: float and int8 between floats, as programs call them. The peak that shares
// are of is float multiply-add for both, so that figures of other machines and libraries can be compared as ratios.
#include <memory>
#include <vector>

#include <zeropoint/model/budget.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "models/quantize_randomly.hpp"
#include "models/streaming_networks.hpp"
#include "support/measure.hpp"

namespace {

template <class Network> void step(benchmark::State& state, const Network& model) {
    const auto stream = std::make_unique<zp::streaming<Network>>(model);
    using network = typename zp::streaming<Network>::network_type;
    std::vector<float> x(static_cast<std::size_t>(network::input_shape.size())),
        y(static_cast<std::size_t>(network::output_shape.size()));
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = 0.1f * static_cast<float>(i * 7 % 31) - 1.5f;
    const auto products = static_cast<double>(zp::budget_of<network>.macs);
    bench::measure(state, {2 * products, bench::peak::float_fma}, [&] { (*stream)(x, y); });
}
template <class Net> void float_step(benchmark::State& state) {
    step(state, zp::fuse(models::with_random_weights<Net>()));
}
template <class Net> void int8_step(benchmark::State& state) {
    step(state, models::quantize_randomly<Net>(zp::fuse(models::with_random_weights<Net>())));
}

BENCHMARK_TEMPLATE(float_step, models::dense_64)->Name("dense 64-64-64-16/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, models::dense_64)->Name("dense 64-64-64-16/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, models::lstm_1<32>)->Name("LSTM 1-32-1/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, models::lstm_1<32>)->Name("LSTM 1-32-1/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, models::gru_1<24>)->Name("GRU 1-24-1/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, models::gru_1<24>)->Name("GRU 1-24-1/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, models::tcn_16)->Name("TCN 4 x 16/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, models::tcn_16)->Name("TCN 4 x 16/int8")->UseManualTime();

}  // namespace
