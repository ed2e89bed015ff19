// SPDX-License-Identifier: BSD-3-Clause
// Optimizers: SGD, Adam and AdamW, over the arrays of parameters and what they remember of each.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/gradient/optimizer_steps.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/training/fake_quantize.hpp>
#include <zeropoint/training/learned_step.hpp>

// The order of operations is that of PyTorch's torch.optim with foreach=False. Rates and decays are doubles, as there, and become
// floats where they meet parameters.

namespace zp::inline v0 {

/// What kind of parameters an array holds, which decides its learning rate and its weight decay.
enum class parameter_group : std::uint8_t {
    weights,  ///< matrices and filters
    vectors,  ///< of one dimension: biases, scales and offsets of norms; not decayed, unless the optimizer says so
    scales  ///< learned scales and clipping values: their own rate, never decayed, kept at smallest_learned_scale or above
};

/// One array of parameters, its gradient, and the optimizer's memory of it: spans of the same size, or empty ones where the
/// optimizer has fewer `states`. Memory is zero before the first step.
struct trained_array {
    std::span<float> values;
    std::span<const float> gradient;
    std::span<float> first = {}, second = {};
    parameter_group group = parameter_group::weights;
    float floor = smallest_learned_scale;  ///< of scales; -infinity for learned zero points, which have none
};

/// torch.optim.SGD.
struct sgd {
    double lr = 0.01;                      // the rate
    double momentum = 0;                   // in [0, 1): how much of the step before is kept
    double dampening = 0;                  // how much of the gradient that takes away
    bool nesterov = false;                 // whether the step looks ahead
    double weight_decay = 0;               ///< coupled: added to the gradient
    std::optional<double> scales_lr = {};  ///< of parameter_group::scales; lr where not given
    bool decay_vectors = false;            ///< PyTorch decays all there is

    /// Arrays kept beside each parameter: 1 with momentum, else 0.
    int states() const { return momentum != 0 ? 1 : 0; }
};

/// torch.optim.Adam: weight decay is coupled.
struct adam {
    double lr = 1e-3;                      // the rate
    double beta1 = 0.9, beta2 = 0.999;     // how much of both moments is kept
    double epsilon = 1e-8;                 // added to the root of the second moment
    double weight_decay = 0;               // times the parameter, added to the gradient
    std::optional<double> scales_lr = {};  // the rate of learned scales; that of the rest without
    bool decay_vectors = false;            // whether biases and the like decay too

    /// Arrays kept beside each parameter: 2.
    int states() const { return 2; }
};

/// torch.optim.AdamW: parameters shrink by lr * weight_decay before the step.
struct adamw {
    double lr = 1e-3;                      // the rate
    double beta1 = 0.9, beta2 = 0.999;     // how much of both moments is kept
    double epsilon = 1e-8;                 // added to the root of the second moment
    double weight_decay = 1e-2;            // what parameters shrink by, times lr
    std::optional<double> scales_lr = {};  // the rate of learned scales; that of the rest without
    bool decay_vectors = false;            // whether biases and the like decay too

    /// Arrays kept beside each parameter: 2.
    int states() const { return 2; }
};

/// What an option of training holds: `{.optimizer = zp::sgd{.lr = 1e-3}}`.
using any_optimizer = std::variant<sgd, adam, adamw>;

/// Arrays the size of the parameters that an optimizer remembers: 0, 1 or 2.
inline int optimizer_states(const any_optimizer& any) {
    return std::visit([](const auto& optimizer) { return optimizer.states(); }, any);
}

/// A value_error for rates, betas and decays that no training can have; before the first step.
template <class Optimizer> void require_valid(const Optimizer& optimizer) {
    const auto require = [](bool is_right, const char* name, double value, const char* expected) {
        if (!is_right)
            raise<value_error>(std::string("optimizer: ") + name + " is " + number_text(value) + ", expected " +
                               expected);
    };
    require(optimizer.lr >= 0 && is_finite(optimizer.lr), "lr", optimizer.lr, "a finite number of at least 0");
    const double scales_lr = optimizer.scales_lr.value_or(0);
    require(scales_lr >= 0 && is_finite(scales_lr), "scales_lr", scales_lr, "a finite number of at least 0");
    require(optimizer.weight_decay >= 0 && is_finite(optimizer.weight_decay), "weight_decay", optimizer.weight_decay,
            "a finite number of at least 0");
    if constexpr (requires { optimizer.momentum; }) {
        require(optimizer.momentum >= 0 && optimizer.momentum < 1, "momentum", optimizer.momentum,
                "a number in [0, 1)");
        require(optimizer.dampening >= 0 && optimizer.dampening <= 1, "dampening", optimizer.dampening,
                "a number in [0, 1]");
        require(!optimizer.nesterov || (optimizer.momentum > 0 && optimizer.dampening == 0), "momentum",
                optimizer.momentum, "one above 0 without dampening, because nesterov is set");
    } else {
        require(optimizer.beta1 >= 0 && optimizer.beta1 < 1, "beta1", optimizer.beta1, "a number in [0, 1)");
        require(optimizer.beta2 >= 0 && optimizer.beta2 < 1, "beta2", optimizer.beta2, "a number in [0, 1)");
        require(optimizer.epsilon >= 0 && is_finite(optimizer.epsilon), "epsilon", optimizer.epsilon,
                "a finite number of at least 0");
    }
}
inline void require_valid(const any_optimizer& any) {
    std::visit([](const auto& optimizer) { require_valid(optimizer); }, any);
}

/// The learning rate of a group, and how much of it decays.
template <class Optimizer> double rate_of(const Optimizer& optimizer, parameter_group group) {
    return group == parameter_group::scales ? optimizer.scales_lr.value_or(optimizer.lr) : optimizer.lr;
}
template <class Optimizer> double decay_of(const Optimizer& optimizer, parameter_group group) {
    const bool decays =
        group == parameter_group::weights || (group == parameter_group::vectors && optimizer.decay_vectors);
    return decays ? optimizer.weight_decay : 0;
}

inline void require_states(const trained_array& array, int states) {
    require_equal_sizes(array.values.size(), array.gradient.size(), "update", "the gradient");
    if (states > 0)
        require_equal_sizes(array.values.size(), array.first.size(), "update", "the optimizer's first memory");
    if (states > 1)
        require_equal_sizes(array.values.size(), array.second.size(), "update", "the optimizer's second memory");
}

/// One step of an array. `step` counts from 0; `schedule` multiplies the rate (schedules.hpp). Returns how many scales had to be
/// raised to the floor.
template <class Arch = default_architecture>
std::size_t update(const sgd& by, double schedule, std::uint64_t step, const trained_array& array) {
    require_states(array, by.states());
    const double rate = rate_of(by, array.group) * schedule;
    const kernel::sgd_factors factors{static_cast<float>(rate), static_cast<float>(by.momentum),
                                      static_cast<float>(1 - by.dampening),
                                      static_cast<float>(decay_of(by, array.group)), by.nesterov};
    kernel::sgd_step<Arch>(array.values.data(), array.gradient.data(), by.momentum != 0 ? array.first.data() : nullptr,
                           array.values.size(), factors, step == 0);
    return array.group == parameter_group::scales ? apply_scale_floor(array.values, array.floor) : 0;
}

/// Adam's and AdamW's.
template <class Arch, class Optimizer>
std::size_t update_by_moments(const Optimizer& by, double schedule, std::uint64_t step, const trained_array& array,
                              bool is_coupled) {
    require_states(array, by.states());
    const double rate = rate_of(by, array.group) * schedule, decay = decay_of(by, array.group);
    const auto t = static_cast<double>(step + 1);
    const kernel::adam_factors factors{static_cast<float>(is_coupled ? 1 : 1 - rate * decay),
                                       static_cast<float>(is_coupled ? decay : 0),
                                       static_cast<float>(1 - by.beta1),
                                       static_cast<float>(by.beta2),
                                       static_cast<float>(1 - by.beta2),
                                       static_cast<float>(rate / (1 - std::pow(by.beta1, t))),
                                       static_cast<float>(std::sqrt(1 - std::pow(by.beta2, t))),
                                       static_cast<float>(by.epsilon)};
    kernel::adam_step<Arch>(array.values.data(), array.gradient.data(), array.first.data(), array.second.data(),
                            array.values.size(), factors);
    return array.group == parameter_group::scales ? apply_scale_floor(array.values, array.floor) : 0;
}
template <class Arch = default_architecture>
std::size_t update(const adam& by, double schedule, std::uint64_t step, const trained_array& array) {
    return update_by_moments<Arch>(by, schedule, step, array, true);
}
template <class Arch = default_architecture>
std::size_t update(const adamw& by, double schedule, std::uint64_t step, const trained_array& array) {
    return update_by_moments<Arch>(by, schedule, step, array, false);
}
template <class Arch = default_architecture>
std::size_t update(const any_optimizer& any, double schedule, std::uint64_t step, const trained_array& array) {
    return std::visit([&](const auto& optimizer) { return update<Arch>(optimizer, schedule, step, array); }, any);
}

}  // namespace zp::inline v0
