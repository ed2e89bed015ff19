// SPDX-License-Identifier: BSD-3-Clause
// Softmax of codes of which a mask of codes leaves columns out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/normalize/softmax.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// Codes of a mask: a column whose code is `zero_point` is left out. Row r begins at codes + r * pitch: 0 is one row for all.
template <code8 M> struct code_mask {
    const M* codes;
    M zero_point;
    std::size_t pitch;
};

/// y[i] = mask[i] != zero_point ? x[i] : left_out; y may be x.
template <class Arch, code8 T, code8 M>
void mask_codes(const T* x, const M* mask, M zero_point, std::size_t count, T left_out, T* y) noexcept {
    if constexpr (has_vectors<Arch>) {
        using codes = xsimd::batch<T, Arch>;
        if (count >= codes::size) {
            const auto* bits = reinterpret_cast<const T*>(mask);
            const codes zero(static_cast<T>(zero_point)), other(left_out);
            for_each_overlapping(count, codes::size, [&](std::size_t i) {  // what is masked twice is as masked once
                const codes kept = codes::load_unaligned(bits + i);
                xsimd::select(kept == zero, other, codes::load_unaligned(x + i)).store_unaligned(y + i);
            });
            return;
        }
    }
    for (std::size_t i = 0; i != count; ++i) y[i] = mask[i] == zero_point ? left_out : x[i];
}
/// How many of `count` codes are `code`.
template <class Arch, code8 T> std::size_t count_codes(const T* x, std::size_t count, T code) noexcept {
    std::size_t found = 0, i = 0;
    if constexpr (has_vectors<Arch>) {
        using codes = xsimd::batch<T, Arch>;
        while (count - i >= codes::size) {
            codes totals(T{0});
            for (int k = 0; k != 127 && count - i >= codes::size; ++k, i += codes::size)
                totals = xsimd::incr_if(totals, codes::load_unaligned(x + i) == codes(code));
            std::array<T, codes::size> lanes;
            totals.store_unaligned(lanes.data());
            for (const T lane : lanes) found += static_cast<std::size_t>(lane);
        }
    }
    for (; i != count; ++i) found += x[i] == code;
    return found;
}

/// The exponentials of a row of few codes, 0 of those that its mask leaves out, unless it leaves all out; gives their sum.
template <code8 X, code8 M>
std::int64_t masked_exponentials(const X* x, const M* mask, M zero_point, std::size_t count, const std::int32_t* table,
                                 std::int32_t* exponentials) noexcept {
    int largest = 0;  // distance_from_lowest() of the codes that count
    bool keeps_any = false;
    for (std::size_t i = 0; i != count; ++i) {
        const bool counts = mask[i] != zero_point;
        largest = std::max<int>(largest, counts ? distance_from_lowest(x[i]) : 0);
        keeps_any |= counts;
    }
    const std::int32_t* run = table + (softmax_table_size - 1 - largest);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const std::int32_t entry = run[std::min<int>(largest, distance_from_lowest(x[i]))];
        exponentials[i] = !keeps_any || mask[i] != zero_point ? entry : 0;
        sum += exponentials[i];
    }
    return sum;
}

/// softmax() over the columns of each row that its mask keeps; the exponentials of the others are 0. A row whose columns are all
/// left out has equal exponentials, as a row of one code. With a mask that keeps all these are softmax()'s codes. y may be x.
template <class Arch, code8 X, code8 M, code8 Y>
void masked_softmax(const X* x, std::size_t rows, std::size_t channels, const code_mask<M>& mask,
                    const std::int32_t* table, float y_scale, const output_codes& codes, Y* y) noexcept {
    const code_range range(codes.min, codes.max, codes.zero_point);
    constexpr std::size_t step = softmax_table_size, vector = vector_size<Y, Arch>;
    static_assert(step % vector == 0);
    const auto whole_vectors = [](std::size_t count) { return (count + vector - 1) / vector * vector; };
    constexpr X lowest = std::numeric_limits<X>::min();
    const auto factor_of = [=](std::int64_t sum) {
        return static_cast<float>(1 / (static_cast<double>(sum) * double{y_scale}));
    };
    const bool is_short = channels < vector;
    const auto code_of_zero = static_cast<Y>(range.nearest(0.0f));
    std::array<std::int32_t, step> exponentials{};
    std::array<X, step> staged{};
    std::array<Y, step> scaled{};
    const M* kept = mask.codes;
    std::size_t left_out = 0;
    const auto each_step = [&](const auto& body) {
        for (std::size_t first = 0; first < channels; first += step) body(first, std::min(step, channels - first));
    };
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels, kept += mask.pitch) {
        if (is_short) {
            const std::int64_t sum =
                masked_exponentials(x, kept, mask.zero_point, channels, table, exponentials.data());
            scale_exponentials<Arch>(exponentials.data(), vector, factor_of(sum), range, scaled.data());
            std::copy_n(scaled.data(), channels, y);
            continue;
        }
        if (row == 0 || mask.pitch != 0) left_out = count_codes<Arch>(kept, channels, mask.zero_point);
        // Columns that are left out get the lowest code: no larger than others, and their exponentials, all one, come off the sum.
        const auto stage = [&](std::size_t first, std::size_t count) {
            mask_codes<Arch>(x + first, kept + first, mask.zero_point, count, lowest, staged.data());
        };
        X largest = lowest;
        each_step([&](std::size_t first, std::size_t count) {
            stage(first, count);
            largest = std::max(largest, largest_code<Arch>(staged.data(), count));
        });
        const std::int32_t* run = table + (softmax_table_size - 1 - distance_from_lowest(largest));
        std::int64_t sum = 0;
        each_step([&](std::size_t first, std::size_t count) {
            if (channels > step) stage(first, count);
            for (std::size_t i = 0; i != count; ++i) {
                exponentials[i] = run[distance_from_lowest(staged[i])];
                sum += exponentials[i];
            }
        });
        const bool keeps_any = left_out != channels;
        if (keeps_any) sum -= static_cast<std::int64_t>(left_out) * run[0];
        const float factor = factor_of(sum);
        if (channels <= step) {
            scale_exponentials<Arch>(exponentials.data(), whole_vectors(channels), factor, range, scaled.data());
            std::copy_n(scaled.data(), channels, y);
        } else {  // fewer exponentials than codes: scaled once each, and then looked up
            const std::size_t entries = std::size_t{distance_from_lowest(largest)} + 1;
            std::copy_n(run, entries, exponentials.data());
            scale_exponentials<Arch>(exponentials.data(), whole_vectors(entries), factor, range, scaled.data());
            each_step([&](std::size_t first, std::size_t count) {
                stage(first, count);
                lookup_table<Arch>(staged.data(), count, scaled.data(), y + first);
            });
        }
        if (left_out != 0 && keeps_any) mask_codes<Arch>(y, kept, mask.zero_point, channels, code_of_zero, y);
    }
}

}  // namespace zp::inline v0::kernel
