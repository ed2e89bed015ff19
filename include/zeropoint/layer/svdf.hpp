// SVDF, a streaming layer of keyword spotting, in float: what its int8 form, layer/static_svdf.hpp, is calibrated with.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/svdf.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

namespace zp {
inline namespace v0 {

/// Parameters as TFLite has them: feature [units * rank][inputs], time [units * rank][memory], the oldest step first, bias [units]
/// or empty.
struct svdf_parameters {
    std::span<const float> feature, time, bias;
};

namespace detail {
/// Raises shape_error for other counts, calibration_error for what is not finite.
inline const svdf_parameters& checked_svdf(const svdf_parameters& p, const kernel::svdf_extents& s, int inputs) {
    const auto check = [](const char* name, int expected, std::span<const float> found) {
        if (static_cast<std::size_t>(expected) != found.size())
            raise<shape_error>(std::string("svdf: expected ") + std::to_string(expected) + " values of " + name +
                               ", found " + std::to_string(found.size()));
        for (const float value : found)
            if (!std::isfinite(value))
                raise<calibration_error>(std::string("svdf: expected finite values of ") + name + ", found " +
                                         number_text(value));
    };
    check("feature", s.filters() * inputs, p.feature);
    check("time", s.filters() * s.memory, p.time);
    if (!p.bias.empty()) check("bias", s.units, p.bias);
    return p;
}
}  // namespace detail

/// y[u] = clamp(bias[u] + sum over the rank filters f of a unit of sum over the last Memory steps of (feature[f] . x[step]) *
/// time[f][step]): a layer of Inputs x Memory weights a unit, made of rank products of a vector of each. No clamp: -infinity and
/// infinity; a relu: 0 and infinity.
///
///     const zp::svdf<40, 64, 1, 8> layer({feature, time, bias}, 0.0f);
///     layer.run(frame, state, y);  // one step
template <int Inputs, int Units, int Rank, int Memory> class svdf {
    static_assert(Inputs > 0 && Units > 0 && Rank > 0 && Memory > 0,
                  "svdf<Inputs, Units, Rank, Memory>: each must be at least 1");

public:
    static constexpr kernel::svdf_extents extents{Units, Rank, Memory};
    static constexpr int inputs = Inputs, outputs = Units;
    static constexpr std::size_t filters = static_cast<std::size_t>(extents.filters());

    /// What the filters gave for the last steps. Zeros at the beginning of a sequence.
    struct state {
        std::array<std::array<float, filters>, Memory> steps{};
        int newest = Memory - 1;
        /// Of the step before, for observing: the int8 form wants the scale of these.
        std::span<const float> last() const { return steps[static_cast<std::size_t>(newest)]; }
    };

    /// Raises shape_error for parameters of other counts, calibration_error for values that are not finite.
    explicit svdf(const svdf_parameters& p, float lowest = -infinity, float highest = infinity)
        : parameters_(detail::checked_svdf(p, extents, Inputs)), lowest_(lowest), highest_(highest) {}

    const svdf_parameters& parameters() const noexcept { return parameters_; }
    float lowest() const noexcept { return lowest_; }
    float highest() const noexcept { return highest_; }

    /// One step: x has Inputs floats, y receives Units. The parameters that were given must still be there.
    void run(const float* x, state& memory, float* y) const noexcept {
        memory.newest = memory.newest + 1 == Memory ? 0 : memory.newest + 1;
        auto& now = memory.steps[static_cast<std::size_t>(memory.newest)];
        for (std::size_t f = 0; f != filters; ++f) {
            double sum = 0;
            for (std::size_t i = 0; i != Inputs; ++i) sum += double{parameters_.feature[f * Inputs + i]} * double{x[i]};
            now[f] = static_cast<float>(sum);
        }
        for (std::size_t u = 0; u != Units; ++u) {
            double sum = parameters_.bias.empty() ? 0.0 : double{parameters_.bias[u]};
            for (std::size_t f = u * Rank; f != (u + 1) * Rank; ++f)
                for (std::size_t step = 0; step != Memory; ++step)
                    sum += double{memory.steps[(static_cast<std::size_t>(memory.newest) + 1 + step) % Memory][f]} *
                           double{parameters_.time[f * Memory + step]};
            y[u] = std::clamp(static_cast<float>(sum), lowest_, highest_);
        }
    }

private:
    svdf_parameters parameters_;
    float lowest_, highest_;
};

}  // namespace v0
}  // namespace zp
