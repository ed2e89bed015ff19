// SPDX-License-Identifier: BSD-3-Clause
// Fake quantization whose scale follows what an observer sees: PyTorch's FusedMovingAvgObsFakeQuantize.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/qscheme.hpp>
#include <zeropoint/training/fake_quantize.hpp>

namespace zp::inline v0 {

/// Shows an observer the range of a batch in place of its values, so that parts of a batch can be looked at by anyone, in any
/// order, and still count as one batch. For observers whose result depends on each batch's smallest and largest value alone:
/// min_max and moving averages. A batch of nothing adds nothing.
template <class Arch = default_architecture, class Observer>
void observe_range_of_batch(Observer& observer, const observed_range& batch, std::string_view where) {
    if (batch.empty()) return;
    const float ends[] = {batch.min, batch.max};
    observe_with<Arch>(observer, observation{ends, 1, 1, where});
}
/// The same per channel.
template <class Arch = default_architecture, class Observer>
void observe_range_of_batch(Observer& observer, const per_channel_min_max_observer& batch, std::string_view where) {
    if (batch.samples() == 0) return;
    std::vector<float> ends(batch.mins().begin(), batch.mins().end());
    ends.insert(ends.end(), batch.maxs().begin(), batch.maxs().end());
    observe_with<Arch>(observer, observation{ends, static_cast<int>(batch.mins().size()), 1, where});
}

/// What is done with a batch that comes by.
struct fake_quantize_switches {
    bool observe = true;   ///< the range follows the batch
    bool quantize = true;  ///< values become those of codes; else they pass as they are, with a mask of ones
};

/// An observer and fake quantization by what it says, computed anew at every forward pass, also where the observer is switched off.
/// The averages move once a batch. `Rule` makes qparams of the range, for training and for conversion alike (PyTorch trains by
/// fbgemm_rule and converts by pytorch_rule).
template <quantized_dtype DType, qscheme_type QScheme = per_tensor_affine,
          class Observer = std::conditional_t<QScheme::is_per_tensor, moving_average_min_max_observer<>,
                                              moving_average_per_channel_min_max_observer<>>,
          class Rule = pytorch_rule>
class observed_fake_quantize {
    static_assert(observer<Observer>,
                  "observed_fake_quantize<DType, QScheme, Observer, Rule>: Observer must be an observer such as "
                  "zp::moving_average_min_max_observer<>, see zp::observer in observe/observer.hpp");

public:
    static constexpr code_bounds bounds = bounds_of<DType>;  // the codes of DType

    /// One batch, a whole one; a calibration_error for NaN and infinity, which change nothing. y, as many values as the batch, may
    /// be the batch's own; mask may be empty.
    template <class Arch = default_architecture>
    void forward(const observation& batch, std::span<float> y, std::span<std::uint8_t> mask = {},
                 fake_quantize_switches switches = {}) {
        require_equal_sizes(batch.values.size(), y.size(), "observed_fake_quantize", "y");
        if (switches.observe) observe_with<Arch>(observer_, batch);
        if (!switches.quantize) {
            std::copy(batch.values.begin(), batch.values.end(), y.begin());
            std::fill(mask.begin(), mask.end(), std::uint8_t{1});
            return;
        }
        params_ = calculate_qparams(batch.where);
        fake_quantize<Arch>(batch.values, params_, static_cast<std::size_t>(batch.inner), bounds, y, mask);
    }
    /// Of the range so far; a calibration_error where nothing was seen.
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        return observer_.template calculate_qparams<DType, QScheme, Rule>(where);
    }
    /// What the last batch was quantized by; empty where none was.
    std::span<const qparams> params() const { return params_; }
    /// The observer, whose range is the one so far.
    const Observer& range_observer() const { return observer_; }
    Observer& range_observer() { return observer_; }

private:
    Observer observer_;
    std::vector<qparams> params_;
};

}  // namespace zp::inline v0
