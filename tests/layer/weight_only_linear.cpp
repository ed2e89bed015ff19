// SPDX-License-Identifier: BSD-3-Clause
// Weight-only linear layers: equal to the definition, bit for bit, on every architecture and for every count of rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/layer/linear.hpp>

#include "../support/arrays.hpp"
#include "../support/errors.hpp"
#include "../support/made_up.hpp"
#include "../support/weight_only_reference.hpp"

namespace {

namespace kernel = zp::kernel;

template <int Bits> void compare_random(std::uint64_t seed) {
    arrays::generator next(seed);
    for (int problem = 0; problem != zp_test::fewer(500); ++problem) {
        const int rows = next.integer(1, 7), depth = next.integer(1, 70), channels = next.integer(1, 40);
        const int group = next.integer(0, 1) == 0 ? depth : 8 * next.integer(1, 5);
        const kernel::weight_only_layout layout(depth, channels, Bits, group);
        const auto size = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
        const auto x = arrays::reals(size(rows, depth), seed * 10000 + static_cast<std::uint64_t>(problem)),
                   scales = arrays::reals(size(channels, layout.groups), 7, 0.001f, 0.1f),
                   bias = arrays::reals(size(channels, 1), 8);
        std::vector<std::int8_t> codes(size(channels, depth));
        for (std::int8_t& code : codes)
            code = static_cast<std::int8_t>(next.integer(-(1 << (Bits - 1)), (1 << (Bits - 1)) - 1));
        zp::aligned_buffer packed(layout.bytes);
        kernel::pack_weight_only(layout, codes.data(), scales.data(), bias.data(), packed.data());
        const auto expected = zp_test::weight_only_product(x, static_cast<std::size_t>(depth), codes, scales, bias,
                                                           static_cast<std::size_t>(group));
        CAPTURE(problem);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(expected.size());
            kernel::weight_only_product<Arch, Bits>(layout, x.data(), rows, packed.data(), y.data());
            CHECK(y == expected);
        });
    }
}

template <class Layer> double sqnr(const std::vector<float>& weights, const std::vector<float>& bias) {
    const zp::float_linear<Layer::inputs, Layer::outputs, zp::default_architecture, Layer::most_rows> exact(weights,
                                                                                                            bias);
    const Layer layer(weights, bias);
    typename Layer::workspace memory;
    typename zp::float_linear<Layer::inputs, Layer::outputs, zp::default_architecture, Layer::most_rows>::workspace
        none;
    const auto x = made_up::values(std::size_t{Layer::inputs} * Layer::most_rows, 9);
    std::vector<float> y(std::size_t{Layer::outputs} * Layer::most_rows), z = y;
    layer(x, y, memory);
    exact(x, z, none);
    double signal = 0, error = 0;
    for (std::size_t i = 0; i != y.size(); ++i) {
        signal += double{z[i]} * double{z[i]};
        error += (double{y[i]} - double{z[i]}) * (double{y[i]} - double{z[i]});
    }
    return 10 * std::log10(signal / error);
}

using zp_test::error_of;

}  // namespace

TEST_CASE("weight_only_product: the bits of the definition") {
    compare_random<8>(1);
    compare_random<4>(2);
}

TEST_CASE("weight_only_linear: near the float layer") {
    constexpr int inputs = 136, outputs = 37, rows = 6;
    using arch = zp::default_architecture;
    auto weights = made_up::values(inputs * outputs, 1);
    const auto bias = made_up::values(outputs, 2);
    for (std::size_t i = 0; i != weights.size(); ++i)
        if (i % inputs >= 32) weights[i] *= 0.1f;  // what scales a group are for
    using eight = zp::weight_only_linear<inputs, outputs, zp::weight_only_policy<>, arch, rows>;
    using grouped = zp::weight_only_linear<inputs, outputs, zp::weight_only_policy<zp::qint8, 32>, arch, rows>;
    using four = zp::weight_only_linear<inputs, outputs, zp::weight_only_policy<zp::qint4, 32>, arch, rows>;
    const double of_eight = sqnr<eight>(weights, bias), of_groups = sqnr<grouped>(weights, bias),
                 of_four = sqnr<four>(weights, bias);
    CHECK(of_eight > 35);
    CHECK(of_groups > of_eight + 3);
    CHECK(of_four > 18);
    static_assert(four::parameter_bytes < eight::parameter_bytes);
}

TEST_CASE("weight_only_linear: a group that is all zeros, no bias") {
    std::vector<float> weights(2 * 16);
    weights[0] = -1.0f;
    weights[1] = 0.3f;
    const zp::weight_only_linear<16, 2, zp::weight_only_policy<zp::qint4, 8>> layer(weights);
    zp::weight_only_linear<16, 2, zp::weight_only_policy<zp::qint4, 8>>::workspace memory;
    const zp::qparams range{1.0f / 7.5f, 0};
    std::vector<float> x(16), y(2, 9.0f);
    x[0] = 1;
    layer(x, y, memory);
    CHECK(y[0] == static_cast<float>(zp::quantize<zp::qint4>(-1.0f, range)) * range.scale);
    CHECK(y[1] == 0);
}

TEST_CASE("weight_only_linear: what does not fit is refused") {
    using layer_type = zp::weight_only_linear<8, 3>;
    auto weights = made_up::values(24, 1);
    CHECK(error_of([&] { layer_type(made_up::values(23, 1)); }) == "alone: expected 24 values of weight, found 23");
    CHECK(error_of([&] { layer_type(weights, made_up::values(2, 1)); }) == "alone: expected 3 values of bias, found 2");
    weights[5] = std::numeric_limits<float>::quiet_NaN();
    CHECK(error_of([&] { layer_type refused(weights); }) == "alone: expected finite values of weight, found nan");
}
