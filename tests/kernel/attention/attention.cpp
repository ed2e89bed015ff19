// SPDX-License-Identifier: BSD-3-Clause
// Attention of one head: the bits of its definition on every architecture, near softmax in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/attention/attention.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

std::size_t at(int row, std::ptrdiff_t pitch, int column) {
    return static_cast<std::size_t>(row * pitch) + static_cast<std::size_t>(column);
}

}  // namespace

TEST_CASE("attention_head: the bits of the definition, near softmax in double") {
    arrays::generator next(12);
    for (int problem = 0; problem != zp_test::fewer(60); ++problem) {
        const int rows = next.integer(1, 40), depth = next.integer(1, 37);
        const std::ptrdiff_t pitch = 3 * depth + next.integer(0, 3), y_pitch = depth + next.integer(0, 3);
        const auto x = arrays::reals(at(rows, pitch, 0), static_cast<std::uint64_t>(problem), -3, 3);
        const float *q = x.data(), *k = q + depth, *v = k + depth, scale = 1.0f / std::sqrt(static_cast<float>(depth));
        std::vector<float> expected(at(rows, y_pitch, 0), -7.0f);
        std::vector<double> exact(expected.size(), -7.0);
        for (int i = 0; i != rows; ++i) {
            std::vector<float> scores;
            std::vector<double> exact_scores;
            for (int j = 0; j != rows; ++j) {
                volatile float sum = 0;
                double exact_sum = 0;
                for (int d = 0; d != depth; ++d) {
                    volatile float key = scale * k[at(j, pitch, d)], product = q[at(i, pitch, d)] * key;
                    sum = sum + product;
                    exact_sum += double{q[at(i, pitch, d)]} * double{k[at(j, pitch, d)]};
                }
                const float score = sum;
                scores.push_back(score);
                exact_scores.push_back(std::exp(exact_sum / std::sqrt(static_cast<double>(depth))));
            }
            const float largest = *std::max_element(scores.begin(), scores.end());
            float partial[16] = {};
            double exact_sum = 0;
            for (std::size_t j = 0; j != scores.size(); ++j) {
                scores[j] = kernel::exp_of_nonpositive(scores[j] - largest);
                partial[j % 16] += scores[j];
                exact_sum += exact_scores[j];
            }
            for (int half = 8; half != 0; half /= 2)
                for (int j = 0; j != half; ++j) partial[j] += partial[j + half];
            volatile float inverse = 1.0f / partial[0];
            for (int d = 0; d != depth; ++d) {
                volatile float sum = 0;
                exact[at(i, y_pitch, d)] = 0;
                for (int j = 0; j != rows; ++j) {
                    const auto of_row = static_cast<std::size_t>(j);
                    volatile float product = scores[of_row] * v[at(j, pitch, d)];
                    sum = sum + product;
                    exact[at(i, y_pitch, d)] += exact_scores[of_row] / exact_sum * double{v[at(j, pitch, d)]};
                }
                expected[at(i, y_pitch, d)] = sum * inverse;
            }
        }
        CAPTURE(problem);
        for (std::size_t i = 0; i != exact.size(); ++i) CHECK(std::abs(double{expected[i]} - exact[i]) <= 2e-5);
        arrays::for_each_architecture([&]<class Arch>() {
            const auto padded = static_cast<std::size_t>(kernel::padded_rows(rows));
            std::vector<float> keys(padded * static_cast<std::size_t>(depth)),
                scores(padded * std::size_t{kernel::attention_block}), y(expected.size(), -7.0f);
            kernel::attention_head<Arch>({q, k, v, pitch, pitch, pitch},
                                         kernel::attention_extents::of_itself(rows, 1, depth), scale, keys.data(),
                                         scores.data(), y.data(), y_pitch);
            CHECK(y == expected);
        });
    }
}
