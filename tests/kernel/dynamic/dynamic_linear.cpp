// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/reference/dynamic.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

template <class DType, bool IsSymmetric> struct rule_of {
    using dtype = DType;
    zp::qparams operator()(float low, float high) const {
        return zp::pytorch_rule::choose<DType, IsSymmetric>(low, high);
    }
};
using unsigned_affine = rule_of<zp::quint8, false>;
using signed_affine = rule_of<zp::qint8, false>;
using signed_symmetric = rule_of<zp::qint8_narrow, true>;
using seven_bits = rule_of<zp::quint8_reduced, false>;

struct problem {
    int rows, depth, channels;
    std::vector<float> x, scales, bias;
    std::vector<std::int8_t> weights;
    std::vector<std::int32_t> zero_points;  ///< empty: none

    problem(int height, int inputs, int outputs, std::uint64_t seed, int largest_weight, bool affine)
        : rows(height),
          depth(inputs),
          channels(outputs),
          x(arrays::reals(size(height, inputs), seed, -2, 3)),
          scales(arrays::reals(size(1, outputs), seed + 1, 0.001f, 0.1f)),
          bias(arrays::reals(size(1, outputs), seed + 2, -5, 5)),
          weights(arrays::codes<std::int8_t>(size(outputs, inputs), seed + 3)) {
        for (auto& w : weights) w = static_cast<std::int8_t>(std::clamp<int>(w, -largest_weight - 1, largest_weight));
        arrays::generator next(seed);
        if (affine)
            for (int c = 0; c != channels; ++c) zero_points.push_back(next.integer(-128, 127));
        for (int row = 0; row != rows; ++row) {  // rows of very different sizes: none may see another's range
            const float factor = row % 3 == 0 ? 1.0f : row % 3 == 1 ? 1e-3f : 400.0f;
            for (int k = 0; k != depth; ++k) x[size(row, depth) + static_cast<std::size_t>(k)] *= factor;
        }
    }
    static std::size_t size(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }
};

/// The outputs by the definition, `rows_at_once` rows sharing a range.
template <class Rule> std::vector<float> expected_of(const problem& p, int rows_at_once) {
    using dtype = typename Rule::dtype;
    std::vector<typename dtype::storage> q(p.x.size());
    std::vector<float> y;
    for (int row = 0; row != p.rows; row += rows_at_once) {
        const std::size_t from = problem::size(row, p.depth), count = problem::size(rows_at_once, p.depth);
        float scale = 0;
        std::int32_t zero_point = 0;
        kernel::reference::dynamic_quantize(p.x.data() + from, count, dtype::quant_min, dtype::quant_max, Rule(), scale,
                                            zero_point, q.data() + from);
        for (int r = row; r != row + rows_at_once; ++r)
            for (int c = 0; c != p.channels; ++c) {
                const auto channel = static_cast<std::size_t>(c);
                y.push_back(kernel::reference::dynamic_linear(
                    q.data() + problem::size(r, p.depth), scale, zero_point,
                    p.weights.data() + problem::size(c, p.depth), p.zero_points.empty() ? 0 : p.zero_points[channel],
                    static_cast<std::size_t>(p.depth), p.scales[channel], p.bias[channel]));
            }
    }
    return y;
}

template <class Arch, class Rule, bool PerRow, class After = kernel::as_it_is>
std::vector<float> outputs_of(const problem& p, const After& after = {}) {
    using dtype = typename Rule::dtype;
    constexpr kernel::code_limits limits{dtype::quant_min, dtype::quant_max};
    const kernel::dynamic_linear_layout<Arch> layout(p.depth, p.channels, !p.zero_points.empty());
    zp::aligned_buffer packed(layout.bytes);
    const kernel::conv2d_weights<std::int8_t> weights{p.weights.data(),
                                                      p.zero_points.empty() ? nullptr : p.zero_points.data(), nullptr};
    kernel::pack_dynamic_linear<Arch>(layout, weights, p.scales.data(), p.bias.data(), limits, packed.data());
    zp::aligned_buffer scratch(kernel::dynamic_linear_scratch<Arch>(layout.geometry(p.rows), p.rows).bytes);
    std::vector<float> y(problem::size(p.rows, p.channels), -1);
    kernel::dynamic_linear<Arch, typename dtype::storage, PerRow>(layout, p.x.data(), p.rows, limits, Rule(),
                                                                  packed.data(), y.data(), scratch.data(), after);
    return y;
}

template <class Rule> void compare(const problem& p) {
    CAPTURE(p.rows);
    CAPTURE(p.depth);
    CAPTURE(p.channels);
    const auto per_row = expected_of<Rule>(p, 1), per_tensor = expected_of<Rule>(p, p.rows);
    arrays::for_each_architecture([&]<class Arch>() {
        CHECK(arrays::same_bits(outputs_of<Arch, Rule, true>(p), per_row));
        CHECK(arrays::same_bits(outputs_of<Arch, Rule, false>(p), per_tensor));
    });
}

}  // namespace

TEST_CASE_TEMPLATE("dynamic_linear: equals the definition, bit by bit", Rule, unsigned_affine, signed_affine,
                   signed_symmetric, seven_bits) {
    arrays::generator next(11);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const int rows = i % 3 == 0 ? 1 : next.integer(2, 15), depth = next.integer(1, 90);
        compare<Rule>(
            problem(rows, depth, next.integer(1, 40), static_cast<std::uint64_t>(i), i % 2 ? 127 : 12, i % 5 == 4));
    }
    compare<Rule>(problem(33, 256, 48, 5, 127, false));
}

TEST_CASE("dynamic_linear: what comes after has the bits of a sweep of its own") {
    arrays::generator next(31);
    for (int i = 0; i != zp_test::fewer(12); ++i) {
        const problem p(next.integer(1, 9), next.integer(1, 40), next.integer(1, 70), static_cast<std::uint64_t>(i),
                        127, i % 5 == 4);
        const auto others = arrays::reals(problem::size(p.rows, p.channels), 77);
        const auto compare_after = [&](const auto& after) {
            auto per_row = expected_of<unsigned_affine>(p, 1), per_tensor = expected_of<unsigned_affine>(p, p.rows);
            kernel::apply_after<zp::portable>(after, per_row.data(), per_row.size());
            kernel::apply_after<zp::portable>(after, per_tensor.data(), per_tensor.size());
            arrays::for_each_architecture([&]<class Arch>() {
                CHECK(arrays::same_bits(outputs_of<Arch, unsigned_affine, true>(p, after), per_row));
                CHECK(arrays::same_bits(outputs_of<Arch, unsigned_affine, false>(p, after), per_tensor));
            });
        };
        compare_after(kernel::gelu_of_it());
        compare_after(kernel::added_to{others.data()});
    }
}

TEST_CASE("dynamic_linear: the largest sums") {
    for (const int weight : {127, -128})
        for (const float other : {0.0f, -1.0f}) {
            problem p(2, 5000, 17, 3, 127, false);
            std::fill(p.weights.begin(), p.weights.end(), static_cast<std::int8_t>(weight));
            std::fill(p.x.begin(), p.x.end(), 1.0f);
            p.x[0] = other;
            compare<unsigned_affine>(p);
            compare<signed_affine>(p);
        }
}

TEST_CASE("dynamic_linear: a row that is not finite becomes NaN, and no other") {
    problem p(5, 40, 19, 7, 127, false);
    p.x[2 * 40 + 39] = std::numeric_limits<float>::quiet_NaN();
    p.x[4 * 40] = zp::infinity;
    const auto expected = expected_of<unsigned_affine>(p, 1);
    arrays::for_each_architecture([&]<class Arch>() {
        const auto y = outputs_of<Arch, unsigned_affine, true>(p);
        for (std::size_t i = 0; i != y.size(); ++i) {
            const bool is_nan = i / 19 == 2 || i / 19 == 4;
            CHECK(std::isnan(y[i]) == is_nan);
            if (!is_nan) CHECK(y[i] == expected[i]);
        }
    });
}

TEST_CASE("dynamic_linear: a row of zeros gives the bias, exactly") {
    problem p(3, 24, 9, 8, 127, false);
    std::fill(p.x.begin() + 24, p.x.begin() + 48, 0.0f);
    const auto y = outputs_of<zp::default_architecture, unsigned_affine, true>(p);
    for (std::size_t c = 0; c != 9; ++c) CHECK(y[9 + c] == p.bias[c]);
}

template <class Arch, bool Words> void compare_small() {
    using rule = unsigned_affine;
    constexpr int depth = 37, channels = 21;
    constexpr kernel::code_limits limits{0, 255};
    const problem p(1, depth, channels, 21, 127, false);
    constexpr kernel::dynamic_linear_layout<Arch> layout(depth, channels, Words);
    zp::aligned_buffer packed(layout.bytes), scratch(kernel::dynamic_linear_scratch<Arch>(layout.geometry(1), 1).bytes);
    const std::vector<std::int32_t> zeros(channels);
    kernel::pack_dynamic_linear<Arch>(
        layout, kernel::conv2d_weights<std::int8_t>{p.weights.data(), Words ? zeros.data() : nullptr, nullptr},
        p.scales.data(), p.bias.data(), limits, packed.data());
    std::vector<float> y(channels);
    kernel::small_dynamic_linear<Arch, std::uint8_t, depth, channels, Words>(p.x.data(), limits, rule(), packed.data(),
                                                                             y.data(), scratch.data());
    CHECK(arrays::same_bits(y, expected_of<rule>(p, 1)));
}

TEST_CASE("small_dynamic_linear: equals the definition too") {
    arrays::for_each_architecture([]<class Arch>() {
        compare_small<Arch, false>();
        compare_small<Arch, true>();
    });
}
