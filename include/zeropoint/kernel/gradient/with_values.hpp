// SPDX-License-Identifier: BSD-3-Clause
// What int32 sums mean as floats, beside the codes that they become: what training sees in front of rounding.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// Where values go, and their bounds.
struct value_sink {
    float* values = nullptr;
    float low = 0, high = 0;
};

/// An epilogue: codes as `codes` makes them at y, and at the same place of the sink's values clamp(x_scale * scales[c] * sum + biases[c]).
template <class Epilogue, class Out> struct with_values {
    const Epilogue& codes;
    float x_scale;
    const float* scales;  ///< of the weights, one a channel
    const float* biases;  ///< in real units; null where sums have theirs
    value_sink sink;
    const Out* first;  ///< the place of the sink's first value

    template <class Arch>
    void finish_tile(const std::int32_t* sums, int rows, int first_channel, int channels, Out* y,
                     std::ptrdiff_t y_pitch) const noexcept {
        finish_rows<Arch>(codes, sums, rows, first_channel, channels, y, y_pitch);
        float* const to = sink.values + (y - first);
        for_each_vector<Arch>(
            static_cast<std::size_t>(channels), [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                const auto at = static_cast<std::ptrdiff_t>(c);
                const Number scale = Number(x_scale) * load_number<Number>(scales + first_channel + at);
                Number bias(0.0f);
                if (biases != nullptr) bias = load_number<Number>(biases + first_channel + at);
                for (int row = 0; row != rows; ++row) {
                    const Number sum = float_of_sums<Number>(sums + row * panel_width<Arch> + at);
                    store_number(Number(clamp_number(multiply_add(scale, sum, bias), sink.low, sink.high)),
                                 to + row * y_pitch + at);
                }
            });
    }

private:
    template <class Number> [[gnu::always_inline]] static Number float_of_sums(const std::int32_t* sums) noexcept {
        if constexpr (std::is_arithmetic_v<Number>) return static_cast<float>(*sums);
        else
            return xsimd::batch_cast<float>(
                xsimd::batch<std::int32_t, typename Number::arch_type>::load_unaligned(sums));
    }
};

}  // namespace zp::inline v0::kernel
