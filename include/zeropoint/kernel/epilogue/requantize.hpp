// SPDX-License-Identifier: BSD-3-Clause
// Epilogues: how an int32 accumulator becomes an output code, one struct a formula.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// Every epilogue is a small struct of run-time pointers and numbers with
//   - a scalar operator()(sum, channel): the definition;
//   - vector<Operations>(channel, count): a function that does the same for the sums of consecutive channels, of which
//     `count` exist. For an epilogue that lands on codes it gives the difference from the zero point, rounded and not
//     yet clamped: that is done in bytes (epilogue/apply_epilogue.hpp).
// One that adds a residual has residual_type and residual_at(y), and both functions take the residual's code as well.
// `sum` includes the packed int32 bias. No product that is not exact feeds a sum in float: -ffp-contract changes
// nothing. Vector code converts with the rounding mode in force, which must be to nearest, as it is by default.

namespace zp::inline v0::kernel {

struct near_table;

/// The grid a requantized value lands on. `table`, where not null, maps the bits of each code to the bits of another:
/// an activation that is no clamp, applied last. Where `fine_table`, the grid is finer than the output's: its codes, of
/// [0, max], are places in the table, which has max + 1 entries at least, and no code of 8 bits lies in between.
struct output_codes {
    std::int32_t zero_point = 0, min = 0, max = 255;  // the code of real zero, and the range of codes
    const std::uint8_t* table = nullptr;              // 256 entries, or null
    bool fine_table = false;                          // whether it has 1024, of finer codes
    const near_table* near = nullptr;  // the same in rows (epilogue/near_table.hpp), where a kernel takes that

    constexpr float lower() const { return static_cast<float>(min - zero_point); }
    /// max - zero_point, as the clamp takes it.
    constexpr float upper() const { return static_cast<float>(max - zero_point); }
};

/// The nearest integers to min(value, upper). Values far below int32 become its lowest number, which the clamp raises;
/// far above they must not get, where x86 gives the same.
template <class Real> [[gnu::always_inline]] inline auto round_below(const Real& value, const Real& upper) {
    return round_to_nearest(xsimd::min(value, upper));
}

/// clamp(rne(x), min - z, max - z) + z by one addition: 1.5 * 2^23 and a number below 2^22 have no bits behind the point, and the
/// nearest of them is what the addition gives. The bits of the sum count up with it as an integer's do, those of whatever
/// is below -1.5 * 2^23 are negative, so that the clamp can come last. The rounding mode must be to nearest.
class nearest_code {
public:
    explicit constexpr nearest_code(const output_codes& codes)
        : lowest_(bits_of_zero + codes.min - codes.zero_point),
          highest_(bits_of_zero + codes.max - codes.zero_point),
          zero_point_(codes.zero_point - bits_of_zero) {}
    /// x is no NaN, and rounded() where it is a product.
    constexpr std::int32_t operator()(float x) const {
        const auto bits = std::bit_cast<std::int32_t>(x + zero);
        return (bits < lowest_ ? lowest_ : bits > highest_ ? highest_ : bits) + zero_point_;
    }
    /// The same of a vector, whatever is in it.
    template <class Real> [[gnu::always_inline]] auto of_vector(const Real& x) const {
        const auto bits = xsimd::bitwise_cast<std::int32_t>(x + Real(zero));
        using int32 = std::remove_cv_t<decltype(bits)>;
        return xsimd::min(xsimd::max(bits, int32(lowest_)), int32(highest_)) + int32(zero_point_);
    }

private:
    static constexpr float zero = 12582912.0f;
    static constexpr std::int32_t bits_of_zero = std::bit_cast<std::int32_t>(zero);
    std::int32_t lowest_, highest_, zero_point_;
};

/// y = rne(clamp(float(sum) * multiplier[c], min - z, max - z)) + z
struct nearest_even {
    const float* multiplier = nullptr;
    output_codes codes{};

    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const float real = static_cast<float>(sum) * multiplier[channel];
        return round_half_even(std::clamp(real, codes.lower(), codes.upper())) + codes.zero_point;
    }
    /// The same of many sums.
    auto scalar() const {
        return [nearest = nearest_code(codes), factor = multiplier](std::int32_t sum, int channel) {
            return nearest(rounded(static_cast<float>(sum) * factor[channel]));
        };
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        using real = typename Operations::real;
        const real scale = Operations::load_first(multiplier + channel, count), upper(codes.upper());
        return [=](const typename Operations::int32& sums) __attribute__((always_inline)) {
            return round_below(xsimd::to_float(sums) * scale, upper);
        };
    }
    /// The codes themselves, in fewer instructions that wait for each other.
    template <class Operations> [[gnu::always_inline]] auto clamped_vector(int channel, int count) const {
        const auto scale = Operations::load_first(multiplier + channel, count);
        return [ scale, nearest = nearest_code(codes) ](const typename Operations::int32& sums)
            __attribute__((always_inline)) {
            return nearest.of_vector(rounded(xsimd::to_float(sums) * scale));
        };
    }
    /// Whether the multipliers are below 1, as those of all but odd scales are: no product then leaves int32, and
    /// shrinking_vector() is what vector() is, for less.
    template <class Operations> [[gnu::always_inline]] bool shrinks(int channel, int count) const {
        using real = typename Operations::real;
        return xsimd::all(xsimd::abs(Operations::load_first(multiplier + channel, count)) < real(1.0f));
    }
    template <class Operations> [[gnu::always_inline]] auto shrinking_vector(int channel, int count) const {
        const auto scale = Operations::load_first(multiplier + channel, count);
        return [=](const typename Operations::int32& sums) __attribute__((always_inline)) {
            return round_to_nearest(xsimd::to_float(sums) * scale);
        };
    }
};

/// y = rne(clamp((float(sum) + bias[c]) * multiplier[c], min - z, max - z)) + z, with bias[c] = b / (x_scale *
/// w_scale[c]): the arithmetic of FBGEMM and so of PyTorch. The packed int32 bias is absent.
struct float_bias {
    const float* multiplier = nullptr;
    const float* bias = nullptr;
    output_codes codes{};

    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const float real = (static_cast<float>(sum) + bias[channel]) * multiplier[channel];
        return round_half_even(std::clamp(real, codes.lower(), codes.upper())) + codes.zero_point;
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        using real = typename Operations::real;
        const real scale = Operations::load_first(multiplier + channel, count), upper(codes.upper());
        const real added = Operations::load_first(bias + channel, count);
        return [=](const typename Operations::int32& sums) __attribute__((always_inline)) {
            return round_below((xsimd::to_float(sums) + added) * scale, upper);
        };
    }
};

/// TFLite's SaturatingRoundingDoublingHighMul: round(a * b / 2^31), halves upward, INT32_MIN * INT32_MIN saturated.
constexpr std::int32_t saturating_rounding_doubling_high_multiply(std::int32_t a, std::int32_t b) {
    if (a == b && a == std::numeric_limits<std::int32_t>::min()) return std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>((std::int64_t{a} * b + (std::int64_t{1} << 30)) >> 31);
}

/// TFLite's RoundingDivideByPOT: round(value / 2^exponent), halves away from zero; exponent in [0, 31].
constexpr std::int32_t rounding_divide_by_power_of_two(std::int32_t value, int exponent) {
    const auto mask = static_cast<std::int32_t>((std::int64_t{1} << exponent) - 1);
    const std::int32_t threshold = (mask >> 1) + (value < 0);
    return (value >> exponent) + ((value & mask) > threshold);
}

/// Bits [Bits, 32) of each lane, as a number from zero on.
template <int Bits, class Batch> [[gnu::always_inline]] inline Batch upper_bits(const Batch& x) {
    return xsimd::bitwise_cast<std::int32_t>(xsimd::bitwise_cast<std::uint32_t>(x) >> Bits);
}

/// y = clamp(RDBPOT(SRDHM(sum * 2^max(shift, 0), multiplier), max(-shift, 0)), min - z, max - z) + z: TFLite's default
/// kernels. multiplier[c] in [0, 2^31), shift[c] in [-31, 30]; the left shift wraps.
struct fixed_point_double_rounding {
    const std::int32_t* multiplier = nullptr;
    const std::int32_t* shift = nullptr;
    output_codes codes{};

    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const int by = shift[channel], left = std::max(by, 0), right = std::max(-by, 0);
        const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) << left);
        const std::int32_t high = saturating_rounding_doubling_high_multiply(shifted, multiplier[channel]);
        const std::int32_t scaled = rounding_divide_by_power_of_two(high, right);
        return std::clamp(scaled, codes.min - codes.zero_point, codes.max - codes.zero_point) + codes.zero_point;
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        using int32 = typename Operations::int32;
        const int32 zero(0), one(1), factor = Operations::load_first(multiplier + channel, count);
        const int32 exponent = Operations::load_first(shift + channel, count);
        const int32 left = xsimd::max(exponent, zero), right = xsimd::max(-exponent, zero);
        const int32 mask = (one << right) - one, half = mask >> 1;
        return [=](const int32& sums) __attribute__((always_inline)) {
            int32 high(0), low(0);
            Operations::multiply_wide(sums << left, factor, high, low);
            // round(product / 2^31): bits 31 to 62, and bit 30 rounds up.
            const int32 doubled = high + high + ((upper_bits<30>(low) + one) >> 1);
            const int32 threshold = half + upper_bits<31>(doubled);
            return xsimd::incr_if(doubled >> right, (doubled & mask) > threshold);
        };
    }
};

/// y = clamp((int64(sum) * multiplier + 2^(30 - shift)) >> (31 - shift), min - z, max - z) + z: TFLITE_SINGLE_ROUNDING.
/// multiplier[c] in [0, 2^31), shift[c] in [-31, 30].
struct fixed_point_single_rounding {
    const std::int32_t* multiplier = nullptr;
    const std::int32_t* shift = nullptr;
    output_codes codes{};

    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const int right = static_cast<int>(31 - shift[channel]);
        const std::int64_t scaled =
            (std::int64_t{sum} * multiplier[channel] + (std::int64_t{1} << (right - 1))) >> right;
        const std::int64_t lower = codes.min - codes.zero_point, upper = codes.max - codes.zero_point;
        return static_cast<std::int32_t>(std::clamp(scaled, lower, upper)) + codes.zero_point;
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        using int32 = typename Operations::int32;
        const int32 one(1), factor = Operations::load_first(multiplier + channel, count);
        const int32 right = int32(31) - Operations::load_first(shift + channel, count);
        const bool below_one_half = xsimd::all(right > int32(31));
        const int32 beyond = right - int32(32);
        return [=](const int32& sums) __attribute__((always_inline)) {
            int32 high(0), low(0);
            Operations::multiply_wide(sums, factor, high, low);
            // floor(product / 2^31) shifted on to the bit behind the last, which rounds.
            if (below_one_half) return (((high + high + upper_bits<31>(low)) >> beyond) + one) >> 1;
            return shift_and_round(high, low, right);
        };
    }

private:
    /// (high, low) / 2^right, rounded, right in [1, 62]: floor plus the highest bit shifted out. Where right < 32 the
    /// quotient may need more than 32 bits; it is cut at +-2^30, which any codes clamp further.
    template <class Batch>
    [[gnu::always_inline]] static Batch shift_and_round(const Batch& high, const Batch& low, const Batch& right) {
        using unsigned_batch = xsimd::batch<std::uint32_t, typename Batch::arch_type>;
        const auto low_shifted = [&](const Batch& count) __attribute__((always_inline)) {
            const unsigned_batch bits = xsimd::bitwise_cast<std::uint32_t>(low);
            return xsimd::bitwise_cast<std::int32_t>(bits >> xsimd::bitwise_cast<std::uint32_t>(count));
        };
        const Batch below_32 = xsimd::min(right, Batch(31)), from_32 = xsimd::max(right - Batch(32), Batch(0));
        const Batch limit(1 << 30), rest = high >> (below_32 - Batch(1));
        const Batch joined = (high << (Batch(32) - below_32)) | low_shifted(below_32);
        const Batch cut = xsimd::select(rest > Batch(0), limit, xsimd::select(rest < Batch(-1), -limit, joined));
        const Batch quotient = xsimd::clip(xsimd::select(right < Batch(32), cut, high >> from_32), -limit, limit);
        const Batch low_bit = low_shifted(xsimd::min(right - Batch(1), Batch(31)));
        const Batch high_bit = high >> xsimd::max(from_32 - Batch(1), Batch(0));
        return quotient + (xsimd::select(right < Batch(33), low_bit, high_bit) & Batch(1));
    }
};

/// y = clamp(sign(sum) * ((int64(|sum|) * multiplier + 2^(30 - shift)) >> (31 - shift)), min - z, max - z) + z: rounded once,
/// halves away from zero, as LiteRT's fully connected layers. multiplier[c] in [0, 2^31), shift[c] in [-31, 30]; a sum of -2^31
/// counts as its neighbour.
struct fixed_point_away_from_zero : fixed_point_single_rounding {
    static constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();

    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const int right = 31 - shift[channel];
        const std::int64_t size = sum < 0 ? -std::int64_t{std::max(sum, -most)} : sum;
        const std::int64_t rounded = (size * multiplier[channel] + (std::int64_t{1} << (right - 1))) >> right;
        const std::int64_t lower = codes.min - codes.zero_point, upper = codes.max - codes.zero_point;
        return static_cast<std::int32_t>(std::clamp(sum < 0 ? -rounded : rounded, lower, upper)) + codes.zero_point;
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        using int32 = typename Operations::int32;
        const auto once = fixed_point_single_rounding::vector<Operations>(channel, count);
        return [=](const int32& sums) __attribute__((always_inline)) {
            const int32 sign = sums >> 31;
            return (once((xsimd::max(sums, int32(-most)) ^ sign) - sign) ^ sign) - sign;
        };
    }
};

/// y = rne(clamp((float(sum) + float(r - residual_zero_point) * ratio[c]) * multiplier[c], min - z, max - z)) + z: a
/// residual sum fused into the layer that makes one of its operands, rounded once. r is the code of the other operand
/// at the place of the output, and ratio[c] = residual_scale / (x_scale * w_scale[c]), made by residual_ratio(): with
/// its 16 significant bits the product with the at most 8 of the difference is an exact float, so a compiler that
/// contracts it with the sum changes nothing. A relu behind the sum narrows the codes.
template <class Residual> struct nearest_even_add {
    using residual_type = Residual;
    const float* multiplier = nullptr;
    const float* ratio = nullptr;
    output_codes codes{};
    const Residual* residual = nullptr;  ///< as many codes as the output has, in the same order
    std::int32_t residual_zero_point = 0;
    const void* output = nullptr;  ///< the first code of the output, which may be the residual's

    /// The residual's codes for the outputs from `y` on.
    const Residual* residual_at(const void* y) const {
        return residual + (static_cast<const std::byte*>(y) - static_cast<const std::byte*>(output));
    }
    constexpr std::int32_t operator()(std::int32_t sum, int channel, Residual r) const {
        const float other = static_cast<float>(r - residual_zero_point) * ratio[channel];
        const float real = (static_cast<float>(sum) + other) * multiplier[channel];
        return round_half_even(std::clamp(real, codes.lower(), codes.upper())) + codes.zero_point;
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        using int32 = typename Operations::int32;
        using real = typename Operations::real;
        const real scale = Operations::load_first(multiplier + channel, count), upper(codes.upper());
        const real ratios = Operations::load_first(ratio + channel, count);
        const int32 zero_point(residual_zero_point);
        return [=](const int32& sums, const int32& residuals) __attribute__((always_inline)) {
            const real other = xsimd::to_float(residuals - zero_point);
            return round_below(xsimd::fma(other, ratios, xsimd::to_float(sums)) * scale, upper);
        };
    }
};

/// What residual_ratio() takes.
constexpr bool is_residual_ratio(double ratio) { return ratio > 0x1p-100 && ratio < 0x1p100; }
/// The accumulator scale that a residual's needs at the least.
constexpr double least_step_of_residual(double residual_scale) { return residual_scale * 0x1p-99; }

/// nearest_even_add's ratio: residual_scale / accumulator_scale, rounded to 16 significant bits; accumulator_scale =
/// double(x_scale) * w_scale[c]. The sum is then off by less than 2^-16 of the residual, 1/250 of one of its codes.
/// Raises value_error where it is not between 2^-100 and 2^100.
constexpr float residual_ratio(float residual_scale, double accumulator_scale) {
    const double ratio = residual_scale / accumulator_scale;
    if (!is_residual_ratio(ratio))
        raise<value_error>("residual sum: the residual's scale is " + std::to_string(ratio) +
                           " times that of the accumulators, and must be between 2^-100 and 2^100 times: "
                           "calibrate the layer and its residual on real data");
    constexpr int dropped = 53 - 16;
    const auto bits = std::bit_cast<std::uint64_t>(ratio);
    const std::uint64_t up = (std::uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
    return static_cast<float>(std::bit_cast<double>((bits + up) >> dropped << dropped));
}

/// y = float(sum) * multiplier[c], with multiplier[c] = x_scale * w_scale[c]: a layer whose output leaves the integers.
struct dequantize_to_float {
    const float* multiplier = nullptr;

    constexpr float operator()(std::int32_t sum, int channel) const {
        return static_cast<float>(sum) * multiplier[channel];
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        const auto scale = Operations::load_first(multiplier + channel, count);
        return [=](const typename Operations::int32& sums) __attribute__((always_inline)) {
            return xsimd::to_float(sums) * scale;
        };
    }
};

/// y = sum: the raw int32 accumulators.
struct accumulators {
    constexpr std::int32_t operator()(std::int32_t sum, int) const { return sum; }
    template <class Operations> [[gnu::always_inline]] auto vector(int, int) const {
        return [](const typename Operations::int32& sums) __attribute__((always_inline)) { return sums; };
    }
};

/// The table of an epilogue that lands on codes, else null.
template <class Epilogue> constexpr const std::uint8_t* table_of(const Epilogue& epilogue) {
    if constexpr (requires { epilogue.codes; }) return epilogue.codes.table;
    else return nullptr;
}

/// Whether an epilogue's codes are places in a table of their own length.
template <class Epilogue> constexpr bool has_fine_table([[maybe_unused]] const Epilogue& epilogue) {
    if constexpr (requires { epilogue.codes; }) return epilogue.codes.fine_table;
    else return false;
}

/// Whether an epilogue reads a residual at the place of each output.
template <class Epilogue> inline constexpr bool adds_residual = requires { typename Epilogue::residual_type; };
/// The type of its codes, or another where there are none.
template <class Epilogue, class Other> struct residual_type_of { using type = Other; };
template <class Epilogue, class Other>
    requires adds_residual<Epilogue>
struct residual_type_of<Epilogue, Other> {
    using type = typename Epilogue::residual_type;
};
template <class Epilogue, class Other> using residual_of = typename residual_type_of<Epilogue, Other>::type;

/// The scalar definition: what one sum becomes at `y`, its place in the output.
template <class Out, class Epilogue>
[[gnu::always_inline]] inline Out finish_one(const Epilogue& epilogue, std::int32_t sum, int channel,
                                             [[maybe_unused]] const Out* y) noexcept {
    const auto finished = [&] {
        if constexpr (adds_residual<Epilogue>) return epilogue(sum, channel, *epilogue.residual_at(y));
        else return epilogue(sum, channel);
    }();
    const auto value = static_cast<Out>(finished);
    if constexpr (sizeof(Out) == 1) {
        const std::uint8_t* table = table_of(epilogue);
        if constexpr (requires { epilogue.codes; }) {
            // The clamp is for multipliers that are no numbers: nothing outside of the table is read.
            if (epilogue.codes.fine_table)
                return static_cast<Out>(table[std::clamp(finished, epilogue.codes.min, epilogue.codes.max)]);
        }
        if (table != nullptr) return static_cast<Out>(table[static_cast<std::uint8_t>(value)]);
    }
    return value;
}

}  // namespace zp::inline v0::kernel
