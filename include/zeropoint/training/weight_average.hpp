// SPDX-License-Identifier: BSD-3-Clause
// Averages of parameters over training: what is evaluated and converted in place of the last ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/gradient/optimizer_steps.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/training/fake_quantize.hpp>

namespace zp::inline v0 {

/// torch.optim.swa_utils.AveragedModel: exponential with a decay, else the plain mean (stochastic weight averaging).
struct weight_average {
    double decay = 0.999;  ///< 0 for the plain mean

    /// The weight of the parameters that come as number `updates`, counted from 0: the first ones are the average.
    double weight(std::uint64_t updates) const {
        return updates == 0 ? 1 : decay == 0 ? 1 / static_cast<double>(updates + 1) : 1 - decay;
    }
};

/// average += weight * (values - average); the first time average = values.
template <class Arch = default_architecture>
void update(const weight_average& by, std::uint64_t updates, std::span<const float> values, std::span<float> average) {
    require_equal_sizes(values.size(), average.size(), "weight_average", "the average");
    if (!(by.decay >= 0 && by.decay < 1))
        raise<value_error>("weight_average: the decay is " + number_text(by.decay) + ", expected a number in [0, 1)");
    if (updates == 0) std::copy(values.begin(), values.end(), average.begin());
    else
        kernel::average_step<Arch>(average.data(), values.data(), values.size(),
                                   static_cast<float>(by.weight(updates)));
}

}  // namespace zp::inline v0
