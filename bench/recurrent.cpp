// SPDX-License-Identifier: BSD-3-Clause
// One step a call of recurrent layers: int8, integers throughout, beside float. "1-32" is 1 input, 32 hidden values.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/operators/lstm.hpp>

#include "support/measure.hpp"
#include "support/operands.hpp"

namespace {

/// Weights of the size that PyTorch begins with.
std::vector<float> weights(int rows, int columns, int hidden) {
    std::vector<float> values;
    for (const std::int8_t code : bench::make_weights(bench::weights::gaussian, rows, columns))
        values.push_back(static_cast<float>(code) / 127 / std::sqrt(static_cast<float>(hidden)));
    return values;
}

template <bool IsLstm, int Inputs, int Hidden> struct parameters {
    static constexpr int sums = (IsLstm ? 4 : 3) * Hidden;
    std::vector<float> weight_ih = weights(sums, Inputs, Hidden), weight_hh = weights(sums, Hidden, Hidden),
                       bias = std::vector<float>(sums, 0.1f);
    static constexpr double operations = 2.0 * sums * (Inputs + Hidden);
};

template <bool IsLstm, int Inputs, int Hidden> void int8_step(benchmark::State& state) {
    using row = std::conditional_t<IsLstm, zp::lstm<"row", Hidden>, zp::gru<"row", Hidden>>;
    using layer_type = zp::static_layer<row, zp::shape{1, 1, Inputs}, zp::op::none, zp::fused_policy<>>;
    const parameters<IsLstm, Inputs, Hidden> p;
    const layer_type layer({p.weight_ih, p.weight_hh, p.bias, p.bias}, {0.02f, 128}, {0x1p-7f, 128});
    const auto memory = std::make_unique<typename layer_type::workspace>();
    typename layer_type::state carried;
    const auto x = bench::make_activations(Inputs, bench::eight_bits);
    std::vector<std::uint8_t> y(Hidden);
    bench::measure(state, {p.operations}, [&] { layer.run(x.data(), carried, y.data(), *memory); });
}
template <bool IsLstm, int Inputs, int Hidden> void float_step(benchmark::State& state) {
    using layer_type = std::conditional_t<IsLstm, zp::float_lstm<Inputs, Hidden>, zp::float_gru<Inputs, Hidden>>;
    const parameters<IsLstm, Inputs, Hidden> p;
    const layer_type layer(p.weight_ih, p.weight_hh, p.bias, p.bias);
    const auto memory = std::make_unique<typename layer_type::workspace>();
    typename layer_type::state carried;
    const std::vector<float> x(Inputs, 0.5f);
    std::vector<float> y(Hidden);
    bench::measure(state, {p.operations}, [&] { layer.run(x.data(), 1, carried, y.data(), *memory); });
}

BENCHMARK_TEMPLATE(int8_step, true, 1, 32)->Name("lstm/1-32/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, true, 1, 32)->Name("lstm/1-32/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, false, 1, 24)->Name("gru/1-24/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, false, 1, 24)->Name("gru/1-24/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, true, 1, 64)->Name("lstm/1-64/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, true, 1, 64)->Name("lstm/1-64/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, false, 1, 64)->Name("gru/1-64/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, false, 1, 64)->Name("gru/1-64/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, true, 40, 64)->Name("lstm/40-64/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, true, 40, 64)->Name("lstm/40-64/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, true, 1, 128)->Name("lstm/1-128/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, true, 1, 128)->Name("lstm/1-128/float")->UseManualTime();
BENCHMARK_TEMPLATE(int8_step, false, 1, 128)->Name("gru/1-128/int8")->UseManualTime();
BENCHMARK_TEMPLATE(float_step, false, 1, 128)->Name("gru/1-128/float")->UseManualTime();

}  // namespace
