// SPDX-License-Identifier: BSD-3-Clause
// What training does with a range: an observer that says it stays, and the switches that an observer's type sets.
#pragma once

#include <zeropoint/observe/learned_step.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>

namespace zp::inline v0 {

/// In a qconfig the observer of a range that training leaves where calibration has set it, whatever Observer itself would do there: a
/// moving average does not follow. Elsewhere it is Observer.
template <class Observer = moving_average_min_max_observer<>> struct fixed_range : Observer {
    static_assert(
        !requires { Observer::is_learned; },
        "fixed_range<Observer>: a learned_step is trained, so that its range does not stay: take one of both");
    static constexpr bool is_fixed = true;
    using per_channel_form = fixed_range<typename observer_form<Observer, false>::type>;
};

/// What becomes of a range in training. At most one is so; neither, and it stays as calibrated.
struct range_switches {
    bool observes = false;  // it follows the batches
    bool learns = false;    // scale and zero point are trained

    constexpr bool operator==(const range_switches&) const = default;
};
/// Of what an observer of activations watches, for static_asserts: `zp::switches_of<my_qconfig::activation::observer_type>.learns`.
template <class Observer>
inline constexpr range_switches switches_of = [] {
    constexpr bool learns = requires { Observer::is_learned; };
    constexpr bool is_fixed = requires { Observer::is_fixed; };
    constexpr bool averages = requires { Observer::averaging_constant; };
    return range_switches{.observes = averages && !learns && !is_fixed, .learns = learns};
}();

}  // namespace zp::inline v0
