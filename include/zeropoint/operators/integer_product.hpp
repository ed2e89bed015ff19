// Int8 products that leave their int32 sums, and what makes the arguments of gates of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/implicit_gemm.hpp>
#include <zeropoint/kernel/integer_gates.hpp>
#include <zeropoint/kernel/pack.hpp>
#include <zeropoint/kernel/small_linear.hpp>

namespace zp {
inline namespace v0 {

/// sums[row][c] = sum of (x[row] - zero_point) * w[c], w being `channels` x `depth` int8 codes: symmetric, packed once.
template <class Arch> struct integer_product_kernel {
    int depth, channels;

    constexpr kernel::conv2d_geometry geometry(int rows) const { return kernel::geometry_of({rows, depth, channels}); }
    constexpr std::size_t packed_bytes() const { return kernel::panel_layout<Arch>(geometry(1), false).bytes; }
    constexpr std::size_t scratch_bytes(int rows) const {
        return kernel::implicit_gemm_plan<Arch>(geometry(rows)).scratch_bytes;
    }
    void pack(const std::int8_t* weights, kernel::activation_codes codes, std::byte* packed) const {
        kernel::pack_panels<Arch>(geometry(1), kernel::conv2d_weights<std::int8_t>{weights, nullptr, nullptr}, codes,
                                  packed);
    }
    /// The inverse.
    void unpack(const std::byte* packed, kernel::activation_codes codes, std::int8_t* weights) const {
        std::vector<std::int32_t> zeros(static_cast<std::size_t>(channels));
        kernel::unpack_panels<Arch>(geometry(1), nullptr, codes, packed, weights, zeros.data());
    }
    /// x: rows x depth codes, as `codes` says, which are those that weights were packed for.
    template <class Code>
    void run(const Code* x, int rows, kernel::activation_codes codes, const std::byte* packed, std::int32_t* sums,
             std::byte* scratch) const noexcept {
        kernel::implicit_gemm<Arch>(geometry(rows), x, codes, packed, keep_sums(), sums, scratch);
    }

private:
    struct keep_sums {
        template <class OtherArch>
        void finish_tile(const std::int32_t* sums, int rows, int, int count, std::int32_t* y,
                         std::ptrdiff_t pitch) const noexcept {
            for (int row = 0; row != rows; ++row)
                std::memcpy(y + row * pitch, sums + row * kernel::panel_width<OtherArch>,
                            static_cast<std::size_t>(count) * sizeof(std::int32_t));
        }
    };
};

/// The numbers of kernel::gate_arguments for every sum of a recurrent cell: the largest multiplier is in [2^29, 2^30), but
/// for a shift of 15 to 45.
struct gate_factors {
    /// Sums times scales must be below this: multipliers would leave 32 bits.
    static constexpr double most_step = 64;
    std::vector<std::int32_t> x_multiplier, h_multiplier;
    std::vector<std::int64_t> x_bias, h_bias;
    int shift = 15;

    /// What one more in a sum of products is at most, with inputs of this scale and these scales of weights.
    static double largest_step(float x_scale, std::span<const float> x_weights, std::span<const float> h_weights) {
        double largest = 0;
        for (const float scale : x_weights) largest = std::max(largest, double{x_scale} * double{scale});
        for (const float scale : h_weights)
            largest = std::max(largest, double{kernel::integer_state_scale} * double{scale});
        return largest;
    }
    static constexpr bool fits(double step) { return step > 0 && step < most_step; }

    /// Biases may be empty, for zeros.
    gate_factors(float x_scale, std::span<const float> x_weights, std::span<const float> h_weights,
                 std::span<const float> x_biases, std::span<const float> h_biases)
        : shift(std::clamp(30 - 8 - (std::ilogb(largest_step(x_scale, x_weights, h_weights)) + 1), 15, 45)) {
        const double unit = std::ldexp(1.0, 8 + shift);
        const auto bias = [&](std::span<const float> from, std::size_t c) {
            return from.empty() ? 0.0 : std::clamp(double{from[c]} * unit, -0x1p59, 0x1p59);
        };
        const auto multiplier = [&](double real) { return static_cast<std::int32_t>(round_half_even(real * unit)); };
        for (std::size_t c = 0; c != x_weights.size(); ++c) {
            x_multiplier.push_back(multiplier(double{x_scale} * double{x_weights[c]}));
            h_multiplier.push_back(multiplier(double{kernel::integer_state_scale} * double{h_weights[c]}));
            x_bias.push_back(round_half_even(bias(x_biases, c)));
            h_bias.push_back(round_half_even(bias(h_biases, c)));
        }
    }
    kernel::gate_arguments arguments() const noexcept {
        return {x_multiplier.data(), h_multiplier.data(), x_bias.data(), h_bias.data(), shift};
    }
};

}  // namespace v0
}  // namespace zp
