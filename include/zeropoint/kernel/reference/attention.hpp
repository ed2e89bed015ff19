// SPDX-License-Identifier: BSD-3-Clause
// The oracle of attention in integers: its definition as loops, sharing nothing with the kernel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <zeropoint/core/float_values.hpp>

namespace zp::inline v0::kernel::reference {

/// Symmetric codes of `count` values that lie `pitch` apart: scale = max(max |x| / 127, 2^-100), code = rne(x * (1 / scale)).
/// With a value that is NaN or infinite: codes 0, scale NaN.
inline float symmetric_codes(const float* x, std::size_t count, std::size_t pitch, std::vector<int>& codes) {
    codes.assign(count, 0);
    float largest = 0;
    for (std::size_t i = 0; i != count; ++i) {
        if (!is_finite(x[i * pitch])) return not_a_number;
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

/// An attention of `rows` queries of rows x heads * depth values to `columns` keys of as many and to values of heads *
/// value_depth, each row `pitch` behind the one before.
struct attention_problem {
    std::size_t rows, columns, heads, depth, value_depth;
    const float *queries, *keys, *values;
    std::size_t query_pitch, key_pitch, value_pitch;
    float factor = 0;  ///< of scores; 0: 1 / sqrt(depth)
};

/// y[rows][heads * value_depth]:
///     q, k: codes with a scale a row, over all heads; v: codes with a scale a column
///     s[i][j] = float(sum q[i][d] * k[j][d]) * k_scale[j]                       of a head's d
///     t[i][j] = max((s[i][j] - max s[i][j]) * (q_scale[i] * (log2(e) / sqrt(depth))), -20), or log2(e) * factor
///     p[i][j] = rne(255 * 2^t[i][j])
///     y[i][c] = float(sum p[i][j] * v[j][c]) * ((1 / float(sum p[i][j])) * v_scale[c])
/// NaN where q_scale[i], any k_scale or v_scale[c] is NaN, or a k_scale above 2^90.
///
/// With a mask of heads x rows x columns values the largest score is of the j that it keeps, where it is not 0, and p of others is
/// 0; of a row that keeps none all p are 255. Of a mask of `columns` values, for all, k and v that it does not keep are 0, unless
/// it keeps none.
inline void integer_attention(const attention_problem& e, float* y, const std::vector<float>& mask = {}) {
    const bool is_row = mask.size() == e.columns && e.heads * e.rows != 1;
    const auto keeps = [&](std::size_t head, std::size_t i, std::size_t j) {
        return mask.empty() || mask[is_row ? j : (head * e.rows + i) * e.columns + j] != 0;
    };
    const bool keeps_any = std::any_of(mask.begin(), mask.end(), [](float value) { return value != 0; });
    const auto copy = [&](const float* x, std::size_t pitch, std::size_t model) {
        std::vector<float> of_kept(e.columns * model);
        for (std::size_t j = 0; j != e.columns; ++j)
            for (std::size_t c = 0; c != model && !(is_row && keeps_any && !keeps(0, 0, j)); ++c)
                of_kept[j * model + c] = x[j * pitch + c];
        return of_kept;
    };
    const std::size_t model = e.heads * e.depth, value_model = e.heads * e.value_depth;
    const auto keys = copy(e.keys, e.key_pitch, model), values = copy(e.values, e.value_pitch, value_model);
    std::vector<std::vector<int>> q(e.rows), k(e.columns), v(value_model);
    std::vector<float> q_scale(e.rows), k_scale(e.columns), v_scale(value_model);
    bool keys_are_defined = true;
    for (std::size_t i = 0; i != e.rows; ++i)
        q_scale[i] = symmetric_codes(e.queries + i * e.query_pitch, model, 1, q[i]);
    for (std::size_t j = 0; j != e.columns; ++j) {
        k_scale[j] = symmetric_codes(keys.data() + j * model, model, 1, k[j]);
        keys_are_defined = keys_are_defined && k_scale[j] <= 0x1p90f;
    }
    for (std::size_t c = 0; c != value_model; ++c)
        v_scale[c] = symmetric_codes(values.data() + c, e.columns, value_model, v[c]);
    volatile float root = std::sqrt(static_cast<float>(e.depth)), of_root = 1.44269504f / root,
                   of_factor = 1.44269504f * e.factor;
    for (std::size_t head = 0; head != e.heads; ++head)
        for (std::size_t i = 0; i != e.rows; ++i) {
            std::vector<float> scores(e.columns);
            float largest = -infinity;
            for (std::size_t j = 0; j != e.columns; ++j) {
                std::int64_t sum = 0;
                for (std::size_t d = head * e.depth; d != (head + 1) * e.depth; ++d) sum += q[i][d] * k[j][d];
                scores[j] = static_cast<float>(sum) * k_scale[j];
                if (keeps(head, i, j) && scores[j] > largest) largest = scores[j];
            }
            volatile float factor = q_scale[i] * (e.factor == 0 ? of_root : of_factor);
            const bool is_defined = keys_are_defined && factor >= 0;
            std::vector<int> p(e.columns);
            std::int64_t total = 0;
            for (std::size_t j = 0; j != e.columns && is_defined; ++j) {
                volatile float difference = scores[j] - largest, exponent = difference * factor;
                if (largest == -infinity) p[j] = 255;
                else if (keeps(head, i, j)) p[j] = softmax_code(exponent > -20 ? exponent : -20.0f);
                total += p[j];
            }
            for (std::size_t c = head * e.value_depth; c != (head + 1) * e.value_depth; ++c) {
                std::int64_t sum = 0;
                for (std::size_t j = 0; j != e.columns; ++j) sum += std::int64_t{p[j]} * v[c][j];
                volatile float inverse = 1.0f / static_cast<float>(total), scale = inverse * v_scale[c];
                y[i * value_model + c] = is_defined ? static_cast<float>(sum) * scale : not_a_number;
            }
        }
}
/// Of a sequence to itself: y[rows][heads * depth] of x[rows][3 * heads * depth], queries, keys and values.
inline void integer_attention(const float* x, std::size_t rows, std::size_t heads, std::size_t depth, float* y,
                              const std::vector<float>& mask = {}) {
    const std::size_t model = heads * depth, pitch = 3 * model;
    integer_attention({rows, rows, heads, depth, depth, x, x + model, x + 2 * model, pitch, pitch, pitch}, y, mask);
}

}  // namespace zp::inline v0::kernel::reference
