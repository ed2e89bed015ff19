// Products of codes and int8 weights that leave their sums, and what makes the arguments of gates of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/gemm/implicit_gemm.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/gemm/small_linear.hpp>
#include <zeropoint/kernel/recurrent/gates_int16.hpp>
#include <zeropoint/kernel/recurrent/integer_gates.hpp>

namespace zp {
inline namespace v0 {

/// sums[row][c] = sum of (x[row] - zero_point) * w[c], w being `channels` x `depth` int8 codes: symmetric, packed once. Sums of
/// codes of 8 bits are int32, those of codes of 16 bits int64.
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
    template <class Code, class Sum>
    void run(const Code* x, int rows, kernel::activation_codes codes, const std::byte* packed, Sum* sums,
             std::byte* scratch) const noexcept {
        kernel::implicit_gemm<Arch>(geometry(rows), x, codes, packed, keep_sums(), sums, scratch);
    }

private:
    struct keep_sums {
        template <class OtherArch, class From, class Sum>
        static void copy(const From* sums, int rows, int count, Sum* y, std::ptrdiff_t pitch) noexcept {
            for (int row = 0; row != rows; ++row)
                std::copy_n(sums + row * kernel::panel_width<OtherArch>, count, y + row * pitch);
        }
        template <class OtherArch, class Sum>
        void finish_tile(const std::int32_t* sums, int rows, int, int count, Sum* y,
                         std::ptrdiff_t pitch) const noexcept {
            copy<OtherArch>(sums, rows, count, y, pitch);
        }
        template <class OtherArch>
        void finish_int64_tile(const std::int64_t* sums, int rows, int, int count, std::int64_t* y,
                               std::ptrdiff_t pitch) const noexcept {
            copy<OtherArch>(sums, rows, count, y, pitch);
        }
    };
};

/// How arguments of gates are made: they have scale 2^-argument_bits, the largest multiplier is in [2^(multiplier_bits - 1),
/// 2^multiplier_bits) but for the shifts that there are, and the state that comes back has `state_scale`.
struct gate_units {
    int multiplier_bits, argument_bits, least_shift, most_shift;
    float state_scale;
    double most_step;  // sums times scales must be below this: multipliers would leave their bits
};
/// Of kernel/recurrent/integer_gates.hpp and kernel/recurrent/gates_int16.hpp.
inline constexpr gate_units byte_gates{30, 8, 15, 45, kernel::integer_state_scale, 64},
    gates_int16{22, 17, 1, 40, kernel::state_scale_int16, 16};

/// The numbers of kernel::gate_arguments, or kernel::gate_arguments_int16, for every sum of a recurrent cell.
struct gate_factors {
    std::vector<std::int32_t> x_multiplier, h_multiplier;
    std::vector<std::int64_t> x_bias, h_bias;
    int shift;

    /// What one more in a sum of products is at most, with inputs of this scale and these scales of weights.
    static double largest_step(const gate_units& units, float x_scale, std::span<const float> x_weights,
                               std::span<const float> h_weights) {
        double largest = 0;
        for (const float scale : x_weights) largest = std::max(largest, double{x_scale} * double{scale});
        for (const float scale : h_weights) largest = std::max(largest, double{units.state_scale} * double{scale});
        return largest;
    }
    static constexpr bool fits(const gate_units& units, double step) { return step > 0 && step < units.most_step; }

    /// Biases may be empty, for zeros.
    gate_factors(const gate_units& units, float x_scale, std::span<const float> x_weights,
                 std::span<const float> h_weights, std::span<const float> x_biases, std::span<const float> h_biases)
        : shift(std::clamp(units.multiplier_bits - units.argument_bits -
                               (std::ilogb(largest_step(units, x_scale, x_weights, h_weights)) + 1),
                           units.least_shift, units.most_shift)) {
        const double unit = std::ldexp(1.0, units.argument_bits + shift);
        const auto bias = [&](std::span<const float> from, std::size_t c) {
            return from.empty() ? 0.0 : std::clamp(double{from[c]} * unit, -0x1p59, 0x1p59);
        };
        const auto multiplier = [&](double real) { return static_cast<std::int32_t>(round_half_even(real * unit)); };
        for (std::size_t c = 0; c != x_weights.size(); ++c) {
            x_multiplier.push_back(multiplier(double{x_scale} * double{x_weights[c]}));
            h_multiplier.push_back(multiplier(double{units.state_scale} * double{h_weights[c]}));
            x_bias.push_back(round_half_even(bias(x_biases, c)));
            h_bias.push_back(round_half_even(bias(h_biases, c)));
        }
    }
};

}  // namespace v0
}  // namespace zp
