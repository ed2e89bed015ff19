// SPDX-License-Identifier: BSD-3-Clause
// Products of floats with weights that alone are integers, by their definition: each product and sum rounded to float.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace zp_test {

/// y[row][c] = bias[c] + the sums of groups times their scales; codes[c][depth], scales[c][groups of `group` inputs]. Volatile
/// keeps compilers from contracting.
template <class Code>
std::vector<float> weight_only_product(const std::vector<float>& x, std::size_t depth, const std::vector<Code>& codes,
                                       const std::vector<float>& scales, const std::vector<float>& bias,
                                       std::size_t group) {
    std::vector<float> y;
    const std::size_t groups = (depth + group - 1) / group;
    for (std::size_t row = 0; row != x.size() / depth; ++row)
        for (std::size_t c = 0; c != bias.size(); ++c) {
            volatile float total = bias[c];
            for (std::size_t g = 0; g != groups; ++g) {
                volatile float sum = 0;
                for (std::size_t k = g * group; k != std::min(depth, (g + 1) * group); ++k) {
                    volatile float product = x[row * depth + k] * static_cast<float>(codes[c * depth + k]);
                    sum = sum + product;
                }
                volatile float scaled = sum * scales[c * groups + g];
                total = total + scaled;
            }
            y.push_back(float{total});
        }
    return y;
}

}  // namespace zp_test
