// SPDX-License-Identifier: BSD-3-Clause
// Float layers of one row over packed weights: exact sums exactly, the order of the others, and weights unpacked again.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/float/float_row.hpp>
#include <zeropoint/kernel/float/reproducible_product.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

struct float_row_case {
    int depth, channels;
    std::vector<float> x, weights, bias;

    float_row_case(int of_depth, int of_channels, bool integers) : depth(of_depth), channels(of_channels) {
        arrays::generator next(static_cast<std::uint64_t>(1000 * depth + channels));
        const auto values = [&](int count) {
            std::vector<float> all(static_cast<std::size_t>(count));
            for (float& value : all)
                value = integers ? static_cast<float>(next.integer(-20, 20)) : next.real(-1.0f, 1.0f);
            return all;
        };
        x = values(depth), weights = values(depth * channels), bias = values(channels);
    }
    /// The definition, unit by unit; `Fused` products are rounded with the sum alone.
    template <bool Fused> std::vector<float> expected(float low, float high) const {
        std::vector<float> y;
        for (int o = 0; o != channels; ++o) {
            const int count = kernel::sums_of_float_row(channels);
            float sums[4] = {bias[static_cast<std::size_t>(o)]};
            for (int k = 0; k != depth; ++k) {
                const float a = x[static_cast<std::size_t>(k)], b = weights[static_cast<std::size_t>(o * depth + k)];
                float& sum = sums[k % count];
                const volatile float product = a * b;
                sum = Fused ? std::fma(a, b, sum) : sum + product;
            }
            const float all = count == 4   ? (sums[0] + sums[2]) + (sums[1] + sums[3])
                              : count == 2 ? sums[0] + sums[1]
                                           : sums[0];
            y.push_back(std::min(std::max(all, low), high));
        }
        return y;
    }
    template <class Arch, int Depth, int Channels> std::vector<float> computed(float low, float high) const {
        const kernel::float_row_layout<Arch> layout(depth, channels);
        zp::aligned_buffer packed(sizeof(float) * static_cast<std::size_t>(layout.floats()));
        auto* floats = reinterpret_cast<float*>(packed.data());
        kernel::pack_float_row(layout, weights.data(), bias.data(), floats);
        std::vector<float> weights_back(weights.size()), bias_back(bias.size());
        kernel::unpack_float_row(layout, floats, weights_back.data(), bias_back.data());
        CHECK(weights_back == weights);
        CHECK(bias_back == bias);
        std::vector<float> y(static_cast<std::size_t>(channels) + 1, NAN);  // nothing is written behind the last
        kernel::float_row<Arch, Depth, Channels>(x.data(), floats, low, high, y.data());
        CHECK(std::isnan(y.back()));
        y.pop_back();
        return y;
    }
};

/// visit(depth, channels), constants, for tails of both and for layers with one, two and four sums.
template <class Visit> void for_each_float_row(Visit visit) {
    const auto row = [&]<int Depth, int... Channels>(std::integer_sequence<int, Depth, Channels...>) {
        (visit(std::integral_constant<int, Depth>{}, std::integral_constant<int, Channels>{}), ...);
    };
    row(std::integer_sequence<int, 1, 1, 17>{});
    row(std::integer_sequence<int, 3, 5, 16, 24, 33>{});
    row(std::integer_sequence<int, 48, 8, 32, 64, 100>{});
    row(std::integer_sequence<int, 65, 1, 15, 31, 65, 136, 257>{});
}

}  // namespace

TEST_CASE("float_row: sums of integers are exact on every architecture, clamped or not") {
    for_each_float_row([](auto depth, auto channels) {
        const float_row_case one(depth, channels, true);
        const float infinite = std::numeric_limits<float>::infinity();
        arrays::for_each_architecture([&]<class Arch>() {
            CHECK(one.computed<Arch, depth, channels>(-infinite, infinite) == one.expected<false>(-infinite, infinite));
            CHECK(one.computed<Arch, depth, channels>(-50, 100) == one.expected<false>(-50, 100));
        });
    });
}

TEST_CASE("float_row: sums of any floats run in one order, whatever the width of vectors") {
    for_each_float_row([](auto depth, auto channels) {
        const float_row_case one(depth, channels, false);
        const auto fused = one.expected<true>(-9, 9), rounded = one.expected<false>(-9, 9);
        CHECK((fused != rounded || depth < 48 || channels < 8));
        arrays::for_each_architecture([&]<class Arch>() {
            const auto y = one.computed<Arch, depth, channels>(-9, 9);
            if constexpr (zp::has_vectors<Arch>) CHECK((arrays::same_bits(y, fused) || arrays::same_bits(y, rounded)));
            else  // a compiler may fuse some and others not
                for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(y[i] - rounded[i]) < 1e-5f);
        });
    });
}

TEST_CASE("ordered_row: the bits of ordered_product") {
    const auto compare = [](auto depth, auto columns) {
        const auto x = arrays::reals(depth, 1), w = arrays::reals(std::size_t{depth} * columns, 2),
                   bias = arrays::reals(columns, 3);
        arrays::for_each_architecture([&]<class Arch>() {
            for (const float* from : {bias.data(), static_cast<const float*>(nullptr)}) {
                std::vector<float> expected(columns), y(columns);
                kernel::ordered_product<Arch>({x.data(), depth}, 1, depth, {w.data(), columns}, columns, from,
                                              expected.data(), columns);
                kernel::ordered_row<Arch, depth, columns>(x.data(), w.data(), from, y.data());
                CHECK(arrays::same_bits(y, expected));
            }
        });
    };
    compare(std::integral_constant<int, 1>{}, std::integral_constant<int, 5>{});
    compare(std::integral_constant<int, 24>{}, std::integral_constant<int, 72>{});
    compare(std::integral_constant<int, 7>{}, std::integral_constant<int, 100>{});
    compare(std::integral_constant<int, 33>{}, std::integral_constant<int, 132>{});
}
