// SPDX-License-Identifier: BSD-3-Clause
// Learning rates over time: factors that an optimizer's rates are multiplied by.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <variant>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>

// The formulas of torch.optim.lr_scheduler, as factors of the optimizer's rate, in double.

namespace zp::inline v0 {

/// Where training is: batch `batch` of `batches` in epoch `epoch` of `epochs`, counted from 0.
struct training_clock {
    std::uint64_t epoch = 0, epochs = 1, batch = 0, batches = 1;  // which epoch and which batch, of how many

    /// Batches done in all epochs.
    std::uint64_t step() const { return epoch * batches + batch; }
    /// Batches of all epochs.
    std::uint64_t steps() const { return epochs * batches; }
};

/// The optimizer's rate, always.
struct constant_rate {
    double factor(const training_clock&) const { return 1; }
};

/// StepLR: multiplied by gamma after every `epochs`.
struct step_rate {
    std::uint64_t epochs = 30;  // after how many the rate falls
    double gamma = 0.1;         // by how much

    double factor(const training_clock& now) const { return std::pow(gamma, static_cast<double>(now.epoch / epochs)); }
};

/// CosineAnnealingLR over all epochs: from 1 to `last` (eta_min / lr) by half a cosine. It changes once an epoch, as torchvision's
/// recipes have it, or each batch.
struct cosine {
    double last = 0;          // the factor at the end
    bool each_batch = false;  // whether it changes with each batch

    double factor(const training_clock& now) const {
        const double passed = each_batch ? static_cast<double>(now.step()) / static_cast<double>(now.steps())
                                         : static_cast<double>(now.epoch) / static_cast<double>(now.epochs);
        return last + (1 - last) * (1 + std::cos(std::numbers::pi * passed)) / 2;
    }
};

/// OneCycleLR with the optimizer's rate as max_lr, each batch: up from 1 / div_factor over rising_share of the steps, then down to
/// 1 / (div_factor * final_div_factor), by cosines or straight lines. Momentum stays as it is (PyTorch: cycle_momentum=False).
struct one_cycle {
    double rising_share = 0.3;      // of all steps, in [0, 1]
    double div_factor = 25;         // the first rate is max_lr over this,
    double final_div_factor = 1e4;  // and the last one the first over this
    bool linear = false;            // straight lines in place of cosines

    double factor(const training_clock& now) const {
        const auto step = static_cast<double>(now.step()), steps = static_cast<double>(now.steps());
        const double top = rising_share * steps - 1, end = steps - 1, first = 1 / div_factor;
        if (step <= top) return between(first, 1, step / top);
        return between(1, first / final_div_factor, end > top ? (step - top) / (end - top) : 1);
    }

private:
    double between(double from, double to, double passed) const {
        if (linear) return from + (to - from) * passed;
        return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * passed));
    }
};

/// LinearLR in front of any schedule, whose factor it multiplies (PyTorch: ChainedScheduler): from start_factor to 1 over `batches`.
struct warm_up {
    std::uint64_t batches = 0;      // how many; 0: none
    double start_factor = 1.0 / 3;  // of the first batch

    double factor(const training_clock& now) const {
        if (now.step() >= batches) return 1;
        return start_factor + (1 - start_factor) * static_cast<double>(now.step()) / static_cast<double>(batches);
    }
};

/// What an option of training holds: `{.schedule = zp::cosine{}}`. Each has factor(now), what the optimizer's rate is multiplied by.
using any_schedule = std::variant<constant_rate, step_rate, cosine, one_cycle>;

inline double rate_factor(const any_schedule& any, const warm_up& start, const training_clock& now) {
    return start.factor(now) * std::visit([&](const auto& schedule) { return schedule.factor(now); }, any);
}

/// A value_error for schedules that no training can have; before the first step.
inline void require_valid(const any_schedule& any, const warm_up& start) {
    const auto require = [](bool is_right, const char* name, double value, const char* expected) {
        if (!is_right)
            raise<value_error>(std::string("schedule: ") + name + " is " + number_text(value) + ", expected " +
                               expected);
    };
    require(start.start_factor >= 0 && start.start_factor <= 1, "warm_up's start_factor", start.start_factor, "0 to 1");
    if (const auto* steps = std::get_if<step_rate>(&any)) {
        require(steps->epochs > 0, "step_rate's epochs", static_cast<double>(steps->epochs), "at least 1");
        require(steps->gamma >= 0, "step_rate's gamma", steps->gamma, "at least 0");
    } else if (const auto* half = std::get_if<cosine>(&any)) {
        require(half->last >= 0, "cosine's last", half->last, "at least 0");
    } else if (const auto* cycle = std::get_if<one_cycle>(&any)) {
        require(cycle->rising_share >= 0 && cycle->rising_share <= 1, "one_cycle's rising_share", cycle->rising_share,
                "0 to 1");
        require(cycle->div_factor > 0, "one_cycle's div_factor", cycle->div_factor, "a number above 0");
        require(cycle->final_div_factor > 0, "one_cycle's final_div_factor", cycle->final_div_factor,
                "a number above 0");
    }
}

}  // namespace zp::inline v0
