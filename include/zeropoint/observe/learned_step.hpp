// SPDX-License-Identifier: BSD-3-Clause
// An observer whose range is where training begins: scale and zero point are then trained.
#pragma once

#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>

namespace zp::inline v0 {

/// In a qconfig the observer of what has a learned step size (LSQ; with an affine scheme LSQ+): Observer gives its first value. Where
/// nothing is trained it is Observer.
template <class Observer = moving_average_min_max_observer<>> struct learned_step : Observer {
    static_assert(
        !requires { Observer::is_fixed; } && !requires { Observer::is_learned; },
        "learned_step<Observer>: Observer gives the first value of a scale that is trained: it is neither a "
        "fixed_range nor a learned_step itself");
    static constexpr bool is_learned = true;
    using per_channel_form = learned_step<typename observer_form<Observer, false>::type>;
};

}  // namespace zp::inline v0
