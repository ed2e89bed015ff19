// SVDF in integers throughout: codes in, codes out, a state of 16 bits, nothing found at run time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/number_text.hpp>
#include <zeropoint/operators/requantization.hpp>
#include <zeropoint/layer/static_recurrent.hpp>
#include <zeropoint/layer/svdf.hpp>

namespace zp {
inline namespace v0 {

/// The ranges around and inside of a layer: of its input, of what its filters give (a scale, symmetric: the largest magnitude of
/// svdf::state::last() over 32767), and of its output.
struct svdf_ranges {
    qparams x;
    float state_scale;
    qparams y;
};

/// An SVDF layer (layer/svdf.hpp) as TFLite computes it in int8. Code is std::uint8_t or std::int8_t, of input and output alike;
/// weights over features are int8, a scale a filter; weights over time int16, a scale a unit, as large as no sum overflows by; the
/// bias int32.
///
///     state[f]  = requantize(sum (x - x_zero_point) * feature[f], x_scale * feature_scale[f] / state_scale)   int16
///     y[u]      = requantize(bias[u] + sum of state * time, state_scale * time_scale[u] / y_scale) + y_zero_point
///
/// Policy is a requantization policy without a float bias. The bounds of the float layer become bounds of the codes.
///
///     const zp::static_svdf<40, 64, 1, 8> layer(floats, {x, state_scale, y});
///     layer.run(codes, state, outputs, memory);  // one step, no allocation
template <int Inputs, int Units, int Rank, int Memory, class Policy = nearest_even, class Code = std::uint8_t,
          class Arch = default_architecture>
class static_svdf {
    static_assert(requantization<Policy> && !Policy::has_float_bias,
                  "static_svdf<Inputs, Units, Rank, Memory, Policy>: Policy must be zp::nearest_even or one of "
                  "zp::fixed_point_...: float_bias has no form here");
    static_assert(std::is_same_v<Code, std::uint8_t> || std::is_same_v<Code, std::int8_t>,
                  "static_svdf<..., Code>: Code must be std::uint8_t or std::int8_t");
    using floats = svdf<Inputs, Units, Rank, Memory>;
    static constexpr kernel::svdf_extents extents = floats::extents;
    static constexpr std::size_t filters = floats::filters;
    static_assert(
        kernel::largest_svdf_weight(extents) >= 16,
        "static_svdf<Inputs, Units, Rank, Memory>: Rank * Memory must be at most 2048, or int32 sums overflow");
    using feature_product = integer_product<Inputs, Units * Rank, Code, Arch>;

public:
    static constexpr int inputs = Inputs, outputs = Units;

    /// Zero at the beginning of a sequence.
    struct state {
        alignas(buffer_alignment) std::array<std::int16_t, Memory * filters> steps{};
        int newest = Memory - 1;
    };
    struct workspace {
        alignas(buffer_alignment) std::byte scratch[feature_product::scratch_bytes];
        alignas(buffer_alignment) std::int32_t sums[filters];
    };

    /// Raises value_error for scales and zero points that cannot be meant.
    static_svdf(const floats& layer, const svdf_ranges& ranges)
        : feature_(layer.parameters().feature, checked(ranges).x.zero_point, "static_svdf.feature"), y_(ranges.y) {
        for (std::size_t f = 0; f != filters; ++f)
            add_multiplier(state_first_, state_second_, {ranges.x.scale, feature_.scales()[f], ranges.state_scale});
        const svdf_parameters& p = layer.parameters();
        constexpr double largest = kernel::largest_svdf_weight(extents);
        time_.resize(Memory * filters);
        for (std::size_t u = 0; u != Units; ++u) {
            double most = 0;
            for (std::size_t i = u * Rank * Memory; i != (u + 1) * Rank * Memory; ++i)
                most = std::max(most, std::abs(double{p.time[i]}));
            const float wanted = most == 0 ? 1.0f : static_cast<float>(most / largest);
            const float bias = p.bias.empty() ? 0.0f : p.bias[u];
            const float scale =
                fit_weight_scale_to_bias(bias, ranges.state_scale, std::max(wanted, smallest_scale)).weight_scale;
            for (std::size_t f = u * Rank; f != (u + 1) * Rank; ++f)
                for (std::size_t step = 0; step != Memory; ++step) {
                    const double code = double{p.time[f * Memory + step]} / double{scale};
                    time_[step * filters + f] =
                        static_cast<std::int16_t>(round_half_even(std::clamp(code, -largest, largest)));
                }
            bias_.push_back(quantize_bias(bias, ranges.state_scale, scale));
            add_multiplier(y_first_, y_second_, {ranges.state_scale, scale, ranges.y.scale});
        }
        const auto code = [&](float bound) { return quantize(bound, ranges.y, lowest_code, highest_code); };
        codes_ = {ranges.y.zero_point, code(layer.lowest()), code(layer.highest()), nullptr};
    }

    qparams output_qparams() const noexcept { return y_; }

    /// One step: x has Inputs codes, y receives Units.
    void run(const Code* x, state& memory, Code* y, workspace& work) const noexcept {
        memory.newest = memory.newest + 1 == Memory ? 0 : memory.newest + 1;
        feature_.run(x, work.sums, work.scratch);
        kernel::svdf_remember<Arch>(
            work.sums, extents.filters(),
            Policy::epilogue(state_first_.data(), state_second_.data(), kernel::svdf_state_codes),
            memory.steps.data() + static_cast<std::size_t>(memory.newest) * filters);
        kernel::svdf_recall<Arch>(extents, memory.steps.data(), memory.newest + 1 == Memory ? 0 : memory.newest + 1,
                                  time_.data(), bias_.data(),
                                  Policy::epilogue(y_first_.data(), y_second_.data(), codes_), work.sums, y);
    }

private:
    using first_type = typename Policy::first_type;
    using second_type = typename Policy::second_type;
    static constexpr int lowest_code = std::numeric_limits<Code>::min(),
                         highest_code = std::numeric_limits<Code>::max();
    static constexpr float smallest_scale = 0x1p-100f;

    static void add_multiplier(std::vector<first_type>& firsts, std::vector<second_type>& seconds,
                               const channel_scales& scales) {
        first_type first{};
        second_type second{};
        Policy::prepare(scales, 0.0f, first, second);
        firsts.push_back(first);
        seconds.push_back(second);
    }
    static const svdf_ranges& checked(const svdf_ranges& r) {
        for (const float scale : {r.x.scale, r.state_scale, r.y.scale})
            if (!(scale > 0 && std::isfinite(scale)))
                raise<value_error>("static_svdf: expected finite scales above 0, found " + number_text(scale));
        for (const std::int32_t zero_point : {r.x.zero_point, r.y.zero_point})
            if (zero_point < lowest_code || zero_point > highest_code)
                raise<value_error>("static_svdf: expected zero points from " + std::to_string(lowest_code) + " to " +
                                   std::to_string(highest_code) + ", found " + std::to_string(zero_point));
        return r;
    }

    feature_product feature_;
    std::vector<std::int16_t> time_;  // memory x filters
    std::vector<std::int32_t> bias_;
    std::vector<first_type> state_first_, y_first_;
    std::vector<second_type> state_second_, y_second_;
    kernel::output_codes codes_;
    qparams y_;
};

}  // namespace v0
}  // namespace zp
