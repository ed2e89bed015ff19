// SPDX-License-Identifier: BSD-3-Clause
// Softmax of codes of which a mask of codes leaves columns out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/kernel/normalize/softmax.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// Codes of a mask: a column whose code is `zero_point` is left out. Row r begins at codes + r * pitch: 0 is one row for all.
template <code8 M> struct code_mask {
    const M* codes;
    M zero_point;
    std::size_t pitch;
};

/// softmax() over the columns of each row that its mask keeps; the exponentials of the others are 0. A row whose columns are all
/// left out has equal exponentials, as a row of one code. With a mask that keeps all these are softmax()'s codes. y may be x.
template <class Arch, code8 X, code8 M, code8 Y>
void masked_softmax(const X* x, std::size_t rows, std::size_t channels, const code_mask<M>& mask,
                    const std::int32_t* table, float y_scale, const output_codes& codes, Y* y) noexcept {
    const code_range range(codes.min, codes.max, codes.zero_point);
    constexpr std::size_t step = softmax_table_size, vector = vector_size<Y, Arch>;
    static_assert(step % vector == 0);
    const auto whole_vectors = [](std::size_t count) { return (count + vector - 1) / vector * vector; };
    std::array<std::int32_t, step> exponentials{};
    std::array<Y, step> scaled{};
    const M* kept = mask.codes;
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels, kept += mask.pitch) {
        std::uint8_t largest = 0;  // distance_from_lowest() of the codes that count
        bool keeps_any = false;
        for (std::size_t i = 0; i != channels; ++i) {
            const bool counts = kept[i] != mask.zero_point;
            largest = std::max<std::uint8_t>(largest, counts ? distance_from_lowest(x[i]) : 0);
            keeps_any |= counts;
        }
        const std::int32_t* run = table + (softmax_table_size - 1 - largest);
        const auto look_up = [&](std::size_t first, std::size_t count) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i != count; ++i) {
                const std::int32_t entry = run[std::min<std::uint8_t>(largest, distance_from_lowest(x[first + i]))];
                exponentials[i] = !keeps_any || kept[first + i] != mask.zero_point ? entry : 0;
                sum += exponentials[i];
            }
            return sum;
        };
        std::int64_t sum = 0;
        for (std::size_t first = 0; first < channels; first += step)
            sum += look_up(first, std::min(step, channels - first));
        const auto factor = static_cast<float>(1 / (static_cast<double>(sum) * double{y_scale}));
        for (std::size_t first = 0; first < channels; first += step) {
            const std::size_t count = std::min(step, channels - first);
            if (channels > step) look_up(first, count);  // a row of one step has them still
            scale_exponentials<Arch>(exponentials.data(), whole_vectors(count), factor, range, scaled.data());
            std::copy_n(scaled.data(), count, y + first);
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
