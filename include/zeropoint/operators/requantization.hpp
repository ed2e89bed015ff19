// SPDX-License-Identifier: BSD-3-Clause
// How an int32 accumulator becomes an 8-bit code, as a policy of the qconfig.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/epilogue/requantize_int16.hpp>
#include <zeropoint/scheme/bias.hpp>
#include <zeropoint/scheme/requantization.hpp>

namespace zp::inline v0 {

/// The scales around one output channel.
struct channel_scales {
    float input, weight, output;
    bool is_shared = false;  // by all channels of the layer: the weight's scale
};

/// Nominal base of the policies. Each names its kernel epilogue, whose formula stands in kernel/epilogue/requantize.hpp, and says
/// what the epilogue's arrays of one value a channel hold: `first`, and `second` where there is one (4 bytes each).
///
/// `adds_residuals` says whether a policy can add a residual before it rounds, by its residual_epilogue. Those that
/// reproduce other systems cannot: there a sum has 8-bit operands.
struct requantization_tag {
    static constexpr bool adds_residuals = false;
    /// The least input scale * weight scale that the policy computes with, and the most of those that a bias may be.
    static constexpr double least_step([[maybe_unused]] double output_scale) { return 0; }
    static constexpr double most_steps = bias_limit;
    /// Sums over codes of 16 bits are rounded once, by kernel::requantize_int16. `is_connected`: of a fully connected layer.
    static constexpr kernel::half_way int16_halves(bool) { return kernel::half_way::to_even; }
    static constexpr fixed_point_multiplier int16_multiplier(bool, const channel_scales& s) {
        return quantize_multiplier_single_rounding(double{s.input} * double{s.weight} / double{s.output});
    }
};
/// How int32 sums become codes: nearest_even, float_bias, fixed_point_double_rounding, fixed_point_single_rounding,
/// fixed_point_litert.
template <class R> concept requantization = std::is_base_of_v<requantization_tag, R>;

/// A float multiplier, one rounding to nearest even, an int32 bias. The default.
struct nearest_even : requantization_tag {
    static constexpr const char* name = "nearest_even";
    using first_type = float;
    using second_type = float;
    static constexpr bool has_second = false, has_float_bias = false, adds_residuals = true;
    template <class Residual> using residual_epilogue = kernel::nearest_even_add<Residual>;
    static void prepare(const channel_scales& s, float, float& first, float&) {
        first = requantize_multiplier(s.input, s.weight, s.output);
    }
    static kernel::nearest_even epilogue(const float* first, const float*, const kernel::output_codes& codes) {
        return {first, codes};
    }
};

/// The bias stays a float and is added before the multiplier, in the float arithmetic of FBGEMM and so of PyTorch:
/// multiplier = (x_scale * w_scale) / y_scale and bias / (x_scale * w_scale), each operation rounded to float.
struct float_bias : requantization_tag {
    static constexpr const char* name = "float_bias";
    using first_type = float;
    using second_type = float;
    static constexpr bool has_second = true, has_float_bias = true;
    // Its product and its multiplier are floats, which machines that have no denormal ones would take for 0.
    static constexpr double least_step(double output_scale) {
        return double{std::numeric_limits<float>::min()} * (output_scale > 1 ? output_scale : 1);
    }
    static constexpr double most_steps = double{std::numeric_limits<float>::max()};
    static void prepare(const channel_scales& s, float bias, float& first, float& second) {
        const float product = s.input * s.weight;
        first = product / s.output;
        second = bias / product;
    }
    static kernel::float_bias epilogue(const float* first, const float* second, const kernel::output_codes& codes) {
        return {first, second, codes};
    }
};

/// What both fixed-point policies do with sums over codes of 16 bits: as LiteRT's kernels, whose convolutions multiply by 15
/// bits of the ratio and round halves up, and whose fully connected layers by 31 bits and round them away from zero.
struct fixed_point_int16 : requantization_tag {
    static constexpr kernel::half_way int16_halves(bool is_connected) {
        return is_connected ? kernel::half_way::away_from_zero : kernel::half_way::up;
    }
    static constexpr fixed_point_multiplier int16_multiplier(bool is_connected, const channel_scales& s) {
        fixed_point_multiplier m = requantization_tag::int16_multiplier(is_connected, s);
        if (!is_connected)
            m.multiplier = m.multiplier < 0x7fff0000 ? (m.multiplier + 0x8000) / 0x10000 * 0x10000 : 0x7fff0000;
        return m;
    }
};

/// No float at inference: TFLite's reference kernels with their two roundings.
struct fixed_point_double_rounding : fixed_point_int16 {
    static constexpr const char* name = "fixed_point_double_rounding";
    using first_type = std::int32_t;
    using second_type = std::int32_t;
    static constexpr bool has_second = true, has_float_bias = false;
    static void prepare(const channel_scales& s, float, std::int32_t& first, std::int32_t& second) {
        const fixed_point_multiplier m = quantize_multiplier(double{s.input} * double{s.weight} / double{s.output});
        first = m.multiplier;
        second = m.shift;
    }
    static kernel::fixed_point_double_rounding epilogue(const std::int32_t* first, const std::int32_t* second,
                                                        const kernel::output_codes& codes) {
        return {first, second, codes};
    }
};

/// TFLite built with TFLITE_SINGLE_ROUNDING, CMSIS-NN's CMSIS_NN_USE_SINGLE_ROUNDING.
struct fixed_point_single_rounding : fixed_point_int16 {
    static constexpr const char* name = "fixed_point_single_rounding";
    using first_type = std::int32_t;
    using second_type = std::int32_t;
    static constexpr bool has_second = true, has_float_bias = false;
    static void prepare(const channel_scales& s, float bias, std::int32_t& first, std::int32_t& second) {
        fixed_point_double_rounding::prepare(s, bias, first, second);
    }
    static kernel::fixed_point_single_rounding epilogue(const std::int32_t* first, const std::int32_t* second,
                                                        const kernel::output_codes& codes) {
        return {first, second, codes};
    }
};

/// LiteRT's fully connected layers: rounded once, halves away from zero. Where all weights of a layer share a scale, the product
/// of scales is rounded to float first, as there.
struct fixed_point_away_from_zero : fixed_point_int16 {
    static constexpr const char* name = "fixed_point_away_from_zero";
    using first_type = std::int32_t;
    using second_type = std::int32_t;
    static constexpr bool has_second = true, has_float_bias = false;
    static void prepare(const channel_scales& s, float, std::int32_t& first, std::int32_t& second) {
        const double product = s.is_shared ? double{s.input * s.weight} : double{s.input} * double{s.weight};
        const fixed_point_multiplier m = quantize_multiplier(product / double{s.output});
        first = m.multiplier;
        second = m.shift;
    }
    static kernel::fixed_point_away_from_zero epilogue(const std::int32_t* first, const std::int32_t* second,
                                                       const kernel::output_codes& codes) {
        return {{first, second, codes}};
    }
};

/// All of LiteRT's reference kernels over 8 bits: fixed_point_double_rounding, and the roundings of their own that fully
/// connected layers, mul, mean and avg_pool2d have there.
struct fixed_point_litert : fixed_point_double_rounding {
    static constexpr const char* name = "fixed_point_litert";
    static constexpr bool rounds_as_litert = true;
    using connected = fixed_point_away_from_zero;
};

/// The policy of a layer under that of a model: fully connected ones may have one of their own.
template <class Policy, bool IsConnected> struct policy_of_layer { using type = Policy; };
template <class Policy>
    requires requires { typename Policy::connected; }
struct policy_of_layer<Policy, true> {
    using type = typename Policy::connected;
};

}  // namespace zp::inline v0
