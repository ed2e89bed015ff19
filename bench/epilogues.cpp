// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the sums of a matrix product, by epilogue: at depth 64 that is a good part of the time, at 1152 little.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/convolution/conv2d.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>

#include "support/convolution.hpp"

namespace {

using architecture = zp::default_architecture;
namespace kernel = zp::kernel;

constexpr auto algorithm = kernel::conv2d_algorithm::implicit_gemm;
using kernels = kernel::conv2d_kernels<architecture, algorithm>;

constexpr int most_channels = 128;
constexpr kernel::conv2d_geometry shapes[] = {bench::matrix_product(3136, 64, 64),
                                              bench::matrix_product(784, 128, 1152)};

/// The parameters of all epilogues, one a channel where they have one a channel.
struct parameters {
    std::array<float, most_channels> multiplier{}, fine_multiplier{}, bias{}, ratio{};
    std::array<std::int32_t, most_channels> fixed_multiplier{}, shift{};
    std::array<std::uint8_t, 256> table{};
    std::array<std::uint8_t, 1024> fine_table{};
    kernel::output_codes codes{.zero_point = 128, .min = 0, .max = 255};

    parameters() {
        multiplier.fill(0.001f);
        fine_multiplier.fill(0.004f);
        bias.fill(3.0f);
        ratio.fill(0.5f);
        fixed_multiplier.fill(1'100'000'000);
        shift.fill(-9);
        for (std::size_t i = 0; i != table.size(); ++i) table[i] = static_cast<std::uint8_t>(255 - i);
        for (std::size_t i = 0; i != fine_table.size(); ++i) fine_table[i] = static_cast<std::uint8_t>(255 - i / 4);
    }
};

/// One product of 7-bit activations, so that the fast kernel takes all panels and the epilogue shows.
class product {
public:
    explicit product(const kernel::conv2d_geometry& geometry)
        : g_(geometry),
          x_(bench::make_activations(static_cast<std::size_t>(g_.in.size()), bench::seven_bits)),
          packed_(kernel::conv2d_packed_bytes<architecture>(g_, algorithm, false)),
          scratch_(kernel::conv2d_scratch_bytes<architecture>(g_, algorithm)) {
        const auto weights = bench::make_weights(bench::weights::uniform, g_.out.channels, g_.depth());
        kernels::pack(g_, kernel::conv2d_weights<std::int8_t>{weights.data()}, bench::seven_bits, packed_.data());
    }
    template <class Epilogue, class Out> void operator()(const Epilogue& epilogue, Out* y) noexcept {
        kernels::run(g_, x_.data(), bench::seven_bits, packed_.data(), epilogue, y, scratch_.data());
    }

private:
    kernel::conv2d_geometry g_;
    std::vector<std::uint8_t> x_;
    zp::aligned_buffer packed_, scratch_;
};

/// `make(parameters, outputs)` gives the epilogue.
template <class Out, class Make> void add(const char* name, Make make) {
    for (const kernel::conv2d_geometry& g : shapes) {
        const std::string shape =
            std::to_string(g.out.height) + "x" + std::to_string(g.out.channels) + "x" + std::to_string(g.depth());
        benchmark::RegisterBenchmark((std::string(name) + "/" + shape).c_str(),
                                     [=](benchmark::State& state) {
                                         const parameters p;
                                         product multiply(g);
                                         std::vector<Out> y(static_cast<std::size_t>(g.out.size()));
                                         const auto epilogue = make(p, y.data());
                                         bench::measure(state, {2.0 * g.out.size() * g.depth()},
                                                        [&] { multiply(epilogue, y.data()); });
                                     })
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }
}

[[maybe_unused]] const bool registered = [] {
    using code = std::uint8_t;
    add<code>("nearest_even", [](const parameters& p, code*) {
        return kernel::nearest_even{p.multiplier.data(), p.codes};
    });
    add<code>("nearest_even_and_table", [](const parameters& p, code*) {
        kernel::output_codes codes = p.codes;
        codes.table = p.table.data();
        return kernel::nearest_even{p.multiplier.data(), codes};
    });
    add<code>("nearest_even_and_fine_table", [](const parameters& p, code*) {
        return kernel::nearest_even{p.fine_multiplier.data(), {512, 0, 1023, p.fine_table.data(), true}};
    });
    add<code>("float_bias", [](const parameters& p, code*) {
        return kernel::float_bias{p.multiplier.data(), p.bias.data(), p.codes};
    });
    add<code>("fixed_point_double_rounding", [](const parameters& p, code*) {
        return kernel::fixed_point_double_rounding{p.fixed_multiplier.data(), p.shift.data(), p.codes};
    });
    add<code>("fixed_point_single_rounding", [](const parameters& p, code*) {
        return kernel::fixed_point_single_rounding{p.fixed_multiplier.data(), p.shift.data(), p.codes};
    });
    add<code>("nearest_even_add", [](const parameters& p, code* y) {
        return kernel::nearest_even_add<code>{p.multiplier.data(), p.ratio.data(), p.codes, y, 128, y};
    });
    add<float>("dequantize_to_float",
               [](const parameters& p, float*) { return kernel::dequantize_to_float{p.multiplier.data()}; });
    add<std::int32_t>("accumulators", [](const parameters&, std::int32_t*) { return kernel::accumulators{}; });
    return true;
}();

}  // namespace
