// SPDX-License-Identifier: BSD-3-Clause
// Attention between projections of any kind: of a sequence to another one, with a mask, beside loops in double; and beside
// self_attention, whose rows it has.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/arrays.hpp"

namespace {

constexpr std::size_t rows = 6, columns = 5, channels = 8, heads = 2, depth = channels / heads;

struct across
    : zp::model<
          zp::named<"x", zp::input<1, 6, 8>>, zp::named<"y", zp::input<1, 5, 8>>, zp::named<"mask", zp::input<1, 6, 5>>,
          zp::attention<2, zp::from<"x">, zp::from<"y">, zp::sequential<zp::from<"y">, zp::relu>, zp::from<"mask">>> {};

struct projected
    : zp::model<zp::input<1, 6, 8>, zp::linear<"in", 24>,
                zp::attention<2, zp::chunk<0, 3>, zp::chunk<1, 3>, zp::chunk<2, 3>>, zp::linear<"out", 8>> {};
struct whole : zp::model<zp::input<1, 6, 8>, zp::self_attention<"", 2>> {};

}  // namespace

TEST_CASE("attention: of a sequence to another one, by a mask of each query") {
    const auto x = arrays::reals(rows * channels, 1, -2, 2), y = arrays::reals(columns * channels, 2, -2, 2);
    std::vector<float> mask(rows * columns);
    for (std::size_t i = 0; i != mask.size(); ++i) mask[i] = i % 3 != 1;
    const zp::float_model<across> model;
    std::vector<float> found(rows * channels);
    model(zp::in(x, y, mask), found);
    for (std::size_t head = 0; head != heads; ++head)
        for (std::size_t row = 0; row != rows; ++row) {
            std::vector<double> shares(columns);
            double sum = 0;
            for (std::size_t column = 0; column != columns; ++column) {
                double score = 0;
                for (std::size_t d = 0; d != depth; ++d)
                    score +=
                        double{x[row * channels + head * depth + d]} * double{y[column * channels + head * depth + d]};
                shares[column] = mask[row * columns + column] == 0 ? 0 : std::exp(score / std::sqrt(double{depth}));
                sum += shares[column];
            }
            for (std::size_t d = 0; d != depth; ++d) {
                double value = 0;
                for (std::size_t column = 0; column != columns; ++column)
                    value += shares[column] / sum * std::fmax(double{y[column * channels + head * depth + d]}, 0.0);
                CHECK(std::abs(double{found[row * channels + head * depth + d]} - value) < 1e-5);
            }
        }
}

TEST_CASE("attention: behind a projection of all three it is self_attention") {
    const auto weights = arrays::reals(24 * 8, 3, -1, 1), more = arrays::reals(8 * 8, 4, -1, 1);
    const auto biases = arrays::reals(24, 5), last = arrays::reals(8, 6);
    const auto file = [&](const char* in_weight, const char* in_bias, const char* out_weight, const char* out_bias) {
        zp::safetensors_writer writer;
        writer.add(in_weight, {24, 8}, weights);
        writer.add(in_bias, {24}, biases);
        writer.add(out_weight, {8, 8}, more);
        writer.add(out_bias, {8}, last);
        return writer.bytes();
    };
    const auto a = zp::load<projected>(file("in.weight", "in.bias", "out.weight", "out.bias"));
    const auto b = zp::load<whole>(file("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"));
    const auto x = arrays::reals(rows * channels, 7, -2, 2);
    std::vector<float> one(x.size()), other(x.size());
    a(x, one);
    b(x, other);
    CHECK(one == other);
}
