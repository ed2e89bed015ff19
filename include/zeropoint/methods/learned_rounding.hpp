// SPDX-License-Identifier: BSD-3-Clause
// AdaRound's variables: for each weight whether it is rounded up or down, learned by gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include <zeropoint/kernel/gradient/optimizer_steps.hpp>
#include <zeropoint/kernel/gradient/soft_rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/methods/weight_grid.hpp>

// Nagel, Amjad, van Baalen, Louizos, Blankevoort, "Up or Down? Adaptive Rounding for Post-Training Quantization", 2020, equations 16, 22, 23
// and 24: a weight is scale * (clamp(floor(w / scale) + h(a) + zero point) - zero point) with h(a) = clamp(1.2 sigmoid(a) - 0.1, 0, 1). At first
// h is the part of w / scale behind the floor, so that no weight is changed. Regularization, lambda * sum of (1 - |2 h - 1|^beta), drives h
// to 0 or 1 while beta falls. In the end a >= 0 rounds up.

namespace zp::inline v0 {

/// When regularization begins, and how beta falls from there to the end.
struct rounding_schedule {
    double warm_up = 0.2;                   ///< the part of all steps that has no regularization
    double first_beta = 20, last_beta = 2;  // beta at the begin of the fall, and at the end

    /// Whether the regularization counts at this step of so many.
    bool regularizes(int step, int steps) const { return step >= static_cast<int>(warm_up * steps); }
    /// last + (first - last) * (1 + cos(pi * t)) / 2, t in [0, 1) behind the warm-up.
    double beta(int step, int steps) const {
        const int begin = static_cast<int>(warm_up * steps);
        const double t = static_cast<double>(step - begin) / std::max(steps - begin, 1);
        return last_beta + 0.5 * (first_beta - last_beta) * (1 + std::cos(std::numbers::pi * t));
    }
};

/// The variables of one layer's weights.
template <class Arch = default_architecture> class learned_rounding {
public:
    learned_rounding(std::span<const float> weights, weight_grid grid)
        : grid_(std::move(grid)),
          floors_(weights.size()),
          scales_(weights.size()),
          alpha_(weights.size()),
          first_(weights.size()),
          second_(weights.size()),
          slopes_(weights.size()),
          up_(weights.size()),
          lowest_(weights.size()),
          highest_(weights.size()) {
        for (std::size_t i = 0; i != weights.size(); ++i) {
            const qparams& range = grid_.at(i / grid_.depth, i % grid_.depth);
            const double steps = double{weights[i]} / double{range.scale}, floor = std::floor(steps);
            floors_[i] = static_cast<float>(floor);
            scales_[i] = range.scale;
            lowest_[i] = static_cast<float>(grid_.quant_min - range.zero_point);
            highest_[i] = static_cast<float>(grid_.quant_max - range.zero_point);
            alpha_[i] = static_cast<float>(-std::log(1.2 / (steps - floor + 0.1) - 1));
        }
    }

    std::span<const float> alpha() const { return alpha_; }
    const weight_grid& grid() const { return grid_; }

    /// The weights as they are between codes; what the next gradients belong to.
    void soft_weights(std::span<float> weights) {
        kernel::soft_weights<Arch>(alpha_.data(), soft_codes(), alpha_.size(), weights.data());
    }
    /// From the loss's gradient by the soft weights to that by the variables, in place.
    void chain(std::span<float> gradient) {
        kernel::soft_weights_gradient<Arch>(soft_codes(), alpha_.size(), gradient.data());
    }
    /// Adds the gradient of lambda * sum of (1 - |2 h - 1|^beta).
    void add_regularization(float lambda, float beta, std::span<float> gradient) const {
        for (std::size_t i = 0; i != alpha_.size(); ++i) {
            if (slopes_[i] == 0) continue;
            const float centered = 2 * up_[i] - 1, size = std::abs(centered);
            const float power = std::pow(size, beta - 1);
            gradient[i] -= lambda * 2 * beta * (centered < 0 ? -power : power) * slopes_[i];
        }
    }
    /// A step of Adam with betas 0.9 and 0.999.
    void step(std::span<const float> gradient, double rate) {
        ++steps_;
        kernel::adam_factors factors{};
        factors.kept = 1;
        factors.weight_decay = 0;
        factors.new_first = static_cast<float>(1 - 0.9);
        factors.beta2 = static_cast<float>(0.999);
        factors.new_second = static_cast<float>(1 - 0.999);
        factors.step = static_cast<float>(rate / (1 - std::pow(0.9, steps_)));
        factors.root_correction = static_cast<float>(std::sqrt(1 - std::pow(0.999, steps_)));
        factors.epsilon = 1e-8f;
        kernel::adam_step<Arch>(alpha_.data(), gradient.data(), first_.data(), second_.data(), alpha_.size(), factors);
    }

    /// The code of each weight as decided: floor + zero point, and 1 more where alpha is at least 0, within the codes there are.
    std::vector<int> codes() const {
        std::vector<int> all(alpha_.size());
        for (std::size_t i = 0; i != all.size(); ++i) {
            const float code = floors_[i] + (alpha_[i] >= 0 ? 1.0f : 0.0f);
            all[i] = static_cast<int>(std::clamp(code, lowest_[i], highest_[i])) +
                     grid_.at(i / grid_.depth, i % grid_.depth).zero_point;
        }
        return all;
    }
    /// What those codes mean.
    std::vector<float> weights() const {
        const std::vector<int> all = codes();
        std::vector<float> values(all.size());
        for (std::size_t i = 0; i != all.size(); ++i)
            values[i] = dequantize(all[i], grid_.at(i / grid_.depth, i % grid_.depth));
        return values;
    }

private:
    kernel::soft_codes soft_codes() {
        return {floors_.data(), scales_.data(), lowest_.data(), highest_.data(), up_.data(), slopes_.data()};
    }

    weight_grid grid_;
    std::vector<float> floors_, scales_, alpha_, first_, second_, slopes_, up_, lowest_, highest_;
    int steps_ = 0;
};

}  // namespace zp::inline v0
