// SPDX-License-Identifier: BSD-3-Clause
// The oracle of attention in integers: its definition as loops, sharing nothing with the kernel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace zp {
inline namespace v0 {
namespace kernel {
namespace reference {

/// Symmetric codes of `count` values that lie `pitch` apart: scale = max(max |x| / 127, 2^-100), code = rne(x * (1 / scale)).
/// With a value that is NaN or infinite: codes 0, scale NaN.
inline float symmetric_codes(const float* x, std::size_t count, std::size_t pitch, std::vector<int>& codes) {
    codes.assign(count, 0);
    float largest = 0;
    for (std::size_t i = 0; i != count; ++i) {
        if (!std::isfinite(x[i * pitch])) return std::numeric_limits<float>::quiet_NaN();
        largest = std::fabs(x[i * pitch]) > largest ? std::fabs(x[i * pitch]) : largest;
    }
    const float quotient = largest / 127.0f;
    const float scale = quotient > 0x1p-100f ? quotient : 0x1p-100f;
    const float inverse = 1.0f / scale;
    for (std::size_t i = 0; i != count; ++i) {
        const float steps = x[i * pitch] * inverse;
        codes[i] = static_cast<int>(std::nearbyint(static_cast<double>(steps)));
    }
    return scale;
}

/// rne(255 * 2^t), the power as 2^n * P(t - n), each operation rounded to float.
inline int softmax_code(float t) {
    const float n = static_cast<float>(std::nearbyint(static_cast<double>(t)));
    const float rest = t - n;
    volatile float value = 14.0272303f;
    for (const float coefficient : {61.7637444f, 176.787140f, 255.0f}) {
        volatile float product = value * rest;
        value = product + coefficient;
    }
    return static_cast<int>(std::nearbyint(std::ldexp(static_cast<double>(value), static_cast<int>(n))));
}

/// y[rows][heads * depth] of x[rows][3 * heads * depth], queries, keys and values:
///     q, k: codes with a scale a row, over all heads; v: codes with a scale a column
///     s[i][j] = float(sum q[i][d] * k[j][d]) * k_scale[j], of a head's d
///     t[i][j] = max((s[i][j] - max s[i][j]) * (q_scale[i] * (log2(e) / sqrt(depth))), -20)
///     p[i][j] = rne(255 * 2^t[i][j])
///     y[i][c] = float(sum p[i][j] * v[j][c]) * ((1 / float(sum p[i][j])) * v_scale[c])
/// NaN where q_scale[i], any k_scale or v_scale[c] is NaN, or a k_scale above 2^90.
///
/// With a mask of heads x rows x rows values the largest score is of the j that it keeps, where it is not 0, and p of others is 0;
/// of a row that keeps none all p are 255. Of a mask of `rows` values, for all, rows of k and v that it does not keep are 0,
/// unless it keeps none.
inline void integer_attention(const float* x, std::size_t rows, std::size_t heads, std::size_t depth, float* y,
                              const std::vector<float>& mask = {}) {
    const bool is_row = mask.size() == rows && heads * rows != 1;
    const auto keeps = [&](std::size_t head, std::size_t i, std::size_t j) {
        return mask.empty() || mask[is_row ? j : (head * rows + i) * rows + j] != 0;
    };
    std::vector<float> of_kept(x, x + rows * 3 * heads * depth);
    for (std::size_t j = 0; j != rows; ++j)
        if (is_row && !keeps(0, 0, j) && std::any_of(mask.begin(), mask.end(), [](float value) { return value != 0; }))
            std::fill_n(of_kept.begin() + static_cast<std::ptrdiff_t>((3 * j + 1) * heads * depth), 2 * heads * depth,
                        0.0f);
    x = of_kept.data();
    const std::size_t model = heads * depth, pitch = 3 * model;
    std::vector<std::vector<int>> q(rows), k(rows), v(model);
    std::vector<float> q_scale(rows), k_scale(rows), v_scale(model);
    bool keys_are_defined = true;
    for (std::size_t i = 0; i != rows; ++i) {
        q_scale[i] = symmetric_codes(x + i * pitch, model, 1, q[i]);
        k_scale[i] = symmetric_codes(x + i * pitch + model, model, 1, k[i]);
        keys_are_defined = keys_are_defined && k_scale[i] <= 0x1p90f;
    }
    for (std::size_t c = 0; c != model; ++c) v_scale[c] = symmetric_codes(x + 2 * model + c, rows, pitch, v[c]);
    volatile float root = std::sqrt(static_cast<float>(depth)), to_exponents = 1.44269504f / root;
    for (std::size_t head = 0; head != heads; ++head)
        for (std::size_t i = 0; i != rows; ++i) {
            std::vector<float> scores(rows);
            float largest = -std::numeric_limits<float>::infinity();
            for (std::size_t j = 0; j != rows; ++j) {
                std::int64_t sum = 0;
                for (std::size_t d = head * depth; d != (head + 1) * depth; ++d) sum += q[i][d] * k[j][d];
                scores[j] = static_cast<float>(sum) * k_scale[j];
                if (keeps(head, i, j) && scores[j] > largest) largest = scores[j];
            }
            volatile float factor = q_scale[i] * to_exponents;
            const bool is_defined = keys_are_defined && factor >= 0;
            std::vector<int> p(rows);
            std::int64_t total = 0;
            for (std::size_t j = 0; j != rows && is_defined; ++j) {
                volatile float difference = scores[j] - largest, exponent = difference * factor;
                if (largest == -std::numeric_limits<float>::infinity()) p[j] = 255;
                else if (keeps(head, i, j)) p[j] = softmax_code(exponent > -20 ? exponent : -20.0f);
                total += p[j];
            }
            for (std::size_t c = head * depth; c != (head + 1) * depth; ++c) {
                std::int64_t sum = 0;
                for (std::size_t j = 0; j != rows; ++j) sum += std::int64_t{p[j]} * v[c][j];
                volatile float inverse = 1.0f / static_cast<float>(total), scale = inverse * v_scale[c];
                y[i * model + c] =
                    is_defined ? static_cast<float>(sum) * scale : std::numeric_limits<float>::quiet_NaN();
            }
        }
}

}  // namespace reference
}  // namespace kernel
}  // namespace v0
}  // namespace zp
