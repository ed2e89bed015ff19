// Epilogues: how an int32 accumulator becomes an output code, one struct a formula.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <xsimd/xsimd.hpp>

#include <zeropoint/core/rounding.hpp>

// Every epilogue is a small struct of run-time pointers and numbers with
//   - a scalar operator()(sum, channel): the definition;
//   - vector(sums, channel): the same bits for a batch of consecutive channels;
//   - panel(first, count, copies): itself with the parameters of channels [first, first + count) from index 0 on, and
//     `Width` of them readable, so that vector code may read a whole panel at the last channels too.
// `sum` includes the packed int32 bias. No product feeds a sum in float: -ffp-contract changes nothing. Vector code
// converts with the rounding mode in force, which must be to nearest, as it is by default.

namespace zp {
inline namespace v0 {
namespace kernel {

/// The grid a requantized value lands on. `table`, where not null, maps the bits of each code to the bits of another:
/// an activation that is no clamp, applied last.
struct output_codes {
    std::int32_t zero_point = 0, min = 0, max = 255;
    const std::uint8_t* table = nullptr;

    constexpr float lower() const { return static_cast<float>(min - zero_point); }
    constexpr float upper() const { return static_cast<float>(max - zero_point); }
};

/// Room for the parameters of the last, incomplete panel.
template <int Width, class T> struct parameter_copy {
    alignas(64) T values[Width];

    const T* take(const T* parameters, int first, int count) {
        if (parameters == nullptr || count == Width) return parameters == nullptr ? nullptr : parameters + first;
        std::fill(std::copy_n(parameters + first, count, values), values + Width, T{});
        return values;
    }
};

/// y = rne(clamp(float(sum) * multiplier[c], min - z, max - z)) + z
struct nearest_even {
    const float* multiplier = nullptr;
    output_codes codes{};

    template <int Width> struct copies { parameter_copy<Width, float> multiplier; };

    template <int Width> nearest_even panel(int first, int count, copies<Width>& room) const {
        return {room.multiplier.take(multiplier, first, count), codes};
    }
    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const float real = static_cast<float>(sum) * multiplier[channel];
        return round_half_even(std::clamp(real, codes.lower(), codes.upper())) + codes.zero_point;
    }
    template <class Batch> [[gnu::always_inline]] Batch vector(Batch sums, int channel) const {
        using real = xsimd::batch<float, typename Batch::arch_type>;
        const real scaled = xsimd::to_float(sums) * real::load_unaligned(multiplier + channel);
        return xsimd::nearbyint_as_int(xsimd::clip(scaled, real(codes.lower()), real(codes.upper()))) +
               Batch(codes.zero_point);
    }
};

/// y = rne(clamp((float(sum) + bias[c]) * multiplier[c], min - z, max - z)) + z, with bias[c] = b / (x_scale *
/// w_scale[c]): the arithmetic of FBGEMM and so of PyTorch. The packed int32 bias is absent.
struct float_bias {
    const float* multiplier = nullptr;
    const float* bias = nullptr;
    output_codes codes{};

    template <int Width> struct copies { parameter_copy<Width, float> multiplier, bias; };

    template <int Width> float_bias panel(int first, int count, copies<Width>& room) const {
        return {room.multiplier.take(multiplier, first, count), room.bias.take(bias, first, count), codes};
    }
    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const float real = (static_cast<float>(sum) + bias[channel]) * multiplier[channel];
        return round_half_even(std::clamp(real, codes.lower(), codes.upper())) + codes.zero_point;
    }
    template <class Batch> [[gnu::always_inline]] Batch vector(Batch sums, int channel) const {
        using real = xsimd::batch<float, typename Batch::arch_type>;
        const real biased = xsimd::to_float(sums) + real::load_unaligned(bias + channel);
        const real scaled = biased * real::load_unaligned(multiplier + channel);
        return xsimd::nearbyint_as_int(xsimd::clip(scaled, real(codes.lower()), real(codes.upper()))) +
               Batch(codes.zero_point);
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

/// The 64-bit product of an int32 and a factor in [0, 2^31), from products of halves: few machines multiply 32 by 32
/// bits into 64 in all lanes.
template <class Batch> struct wide_product {
    using unsigned_batch = xsimd::batch<std::uint32_t, typename Batch::arch_type>;
    Batch high;
    unsigned_batch low;

    [[gnu::always_inline]] wide_product(Batch value, Batch factor)
        : high(0), low(as_unsigned(value) * as_unsigned(factor)) {
        const Batch half_mask(0xffff);
        const Batch value_low = value & half_mask, value_high = value >> 16;
        const Batch factor_low = factor & half_mask, factor_high = factor >> 16;
        const Batch cross = value_high * factor_low;
        // Below 2^31: 65535 * 32767 + 65535.
        const Batch lowest = as_signed((as_unsigned(value_low) * as_unsigned(factor_low)) >> 16);
        const Batch carry = value_low * factor_high + lowest;
        high = value_high * factor_high + (cross >> 16) + (carry >> 16) +
               (((cross & half_mask) + (carry & half_mask)) >> 16);
    }
    [[gnu::always_inline]] static unsigned_batch as_unsigned(Batch x) { return xsimd::bitwise_cast<std::uint32_t>(x); }
    [[gnu::always_inline]] static Batch as_signed(unsigned_batch x) { return xsimd::bitwise_cast<std::int32_t>(x); }
};

/// y = clamp(RDBPOT(SRDHM(sum * 2^max(shift, 0), multiplier), max(-shift, 0)), min - z, max - z) + z: TFLite's default
/// kernels. multiplier[c] in [0, 2^31), shift[c] in [-31, 30]; the left shift wraps.
struct fixed_point_double_rounding {
    const std::int32_t* multiplier = nullptr;
    const std::int32_t* shift = nullptr;
    output_codes codes{};

    template <int Width> struct copies { parameter_copy<Width, std::int32_t> multiplier, shift; };

    template <int Width> fixed_point_double_rounding panel(int first, int count, copies<Width>& room) const {
        return {room.multiplier.take(multiplier, first, count), room.shift.take(shift, first, count), codes};
    }
    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const int left = std::max(shift[channel], 0), right = std::max(-shift[channel], 0);
        const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) << left);
        const std::int32_t high = saturating_rounding_doubling_high_multiply(shifted, multiplier[channel]);
        const std::int32_t scaled = rounding_divide_by_power_of_two(high, right);
        return std::clamp(scaled, codes.min - codes.zero_point, codes.max - codes.zero_point) + codes.zero_point;
    }
    template <class Batch> [[gnu::always_inline]] Batch vector(Batch sums, int channel) const {
        using product = wide_product<Batch>;
        const Batch zero(0), one(1), exponent = Batch::load_unaligned(shift + channel);
        const Batch right = xsimd::max(-exponent, zero);
        const product p(sums << xsimd::max(exponent, zero), Batch::load_unaligned(multiplier + channel));
        // round(product / 2^31): bits 31 to 62, and bit 30 rounds up.
        const Batch doubled =
            p.high + p.high + product::as_signed(p.low >> 31) + product::as_signed((p.low >> 30) & 1u);
        const Batch mask = (one << right) - one;
        const Batch threshold = (mask >> 1) + xsimd::select(doubled < zero, one, zero);
        const Batch scaled = (doubled >> right) + xsimd::select((doubled & mask) > threshold, one, zero);
        const Batch lower(codes.min - codes.zero_point), upper(codes.max - codes.zero_point);
        return xsimd::clip(scaled, lower, upper) + Batch(codes.zero_point);
    }
};

/// y = clamp((int64(sum) * multiplier + 2^(30 - shift)) >> (31 - shift), min - z, max - z) + z: TFLITE_SINGLE_ROUNDING.
/// multiplier[c] in [0, 2^31), shift[c] in [-31, 30].
struct fixed_point_single_rounding {
    const std::int32_t* multiplier = nullptr;
    const std::int32_t* shift = nullptr;
    output_codes codes{};

    template <int Width> struct copies { parameter_copy<Width, std::int32_t> multiplier, shift; };

    template <int Width> fixed_point_single_rounding panel(int first, int count, copies<Width>& room) const {
        return {room.multiplier.take(multiplier, first, count), room.shift.take(shift, first, count), codes};
    }
    constexpr std::int32_t operator()(std::int32_t sum, int channel) const {
        const int right = 31 - shift[channel];
        const std::int64_t scaled =
            (std::int64_t{sum} * multiplier[channel] + (std::int64_t{1} << (right - 1))) >> right;
        const std::int64_t lower = codes.min - codes.zero_point, upper = codes.max - codes.zero_point;
        return static_cast<std::int32_t>(std::clamp(scaled, lower, upper)) + codes.zero_point;
    }
    template <class Batch> [[gnu::always_inline]] Batch vector(Batch sums, int channel) const {
        using product = wide_product<Batch>;
        using unsigned_batch = typename product::unsigned_batch;
        const product p(sums, Batch::load_unaligned(multiplier + channel));
        // floor(product / 2^right) plus the highest bit shifted out. Where right < 32 the quotient may need more than
        // 32 bits; it is cut at +-2^30, which any codes clamp further.
        const Batch right = Batch(31) - Batch::load_unaligned(shift + channel);
        const Batch near = xsimd::min(right, Batch(31)), far = xsimd::max(right - Batch(32), Batch(0));
        const Batch limit(1 << 30), rest = p.high >> (near - Batch(1));
        const Batch joined = (p.high << (Batch(32) - near)) | product::as_signed(p.low >> product::as_unsigned(near));
        const Batch cut = xsimd::select(rest > Batch(0), limit, xsimd::select(rest < Batch(-1), -limit, joined));
        const Batch quotient = xsimd::clip(xsimd::select(right < Batch(32), cut, p.high >> far), -limit, limit);
        const unsigned_batch low_bit = p.low >> product::as_unsigned(xsimd::min(right - Batch(1), Batch(31)));
        const Batch high_bit = p.high >> xsimd::max(far - Batch(1), Batch(0));
        const Batch half = xsimd::select(right < Batch(33), product::as_signed(low_bit), high_bit) & Batch(1);
        const Batch lower(codes.min - codes.zero_point), upper(codes.max - codes.zero_point);
        return xsimd::clip(quotient + half, lower, upper) + Batch(codes.zero_point);
    }
};

/// y = float(sum) * multiplier[c], with multiplier[c] = x_scale * w_scale[c]: a layer whose output leaves the integers.
struct dequantize_to_float {
    const float* multiplier = nullptr;

    template <int Width> struct copies { parameter_copy<Width, float> multiplier; };

    template <int Width> dequantize_to_float panel(int first, int count, copies<Width>& room) const {
        return {room.multiplier.take(multiplier, first, count)};
    }
    constexpr float operator()(std::int32_t sum, int channel) const {
        return static_cast<float>(sum) * multiplier[channel];
    }
    template <class Batch> [[gnu::always_inline]] auto vector(Batch sums, int channel) const {
        using real = xsimd::batch<float, typename Batch::arch_type>;
        return xsimd::to_float(sums) * real::load_unaligned(multiplier + channel);
    }
};

/// y = sum: the raw int32 accumulators.
struct accumulators {
    template <int Width> struct copies {};

    template <int Width> accumulators panel(int, int, copies<Width>&) const { return {}; }
    constexpr std::int32_t operator()(std::int32_t sum, int) const { return sum; }
    template <class Batch> [[gnu::always_inline]] Batch vector(Batch sums, int) const { return sums; }
};

/// The table of an epilogue that lands on codes, else null.
template <class Epilogue> constexpr const std::uint8_t* table_of(const Epilogue& epilogue) {
    if constexpr (requires { epilogue.codes; }) return epilogue.codes.table;
    else return nullptr;
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
