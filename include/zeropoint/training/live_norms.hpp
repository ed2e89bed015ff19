// SPDX-License-Identifier: BSD-3-Clause
// Batch norms of a tape by the statistics of batches, and the running statistics that follow them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/gradient/batch_norm_gradient.hpp>
#include <zeropoint/training/batch_norm_statistics.hpp>
#include <zeropoint/training/tape.hpp>
#include <zeropoint/training/trained_part.hpp>

namespace zp::inline v0 {

/// A batch norm whose statistics are those of the samples that run together.
struct live_norm {
    std::size_t row = 0;  // of the tape
    std::size_t channels = 0, pixels = 0;
    std::size_t running_mean = 0, running_variance = 0;  // among the trained values, in floats
};

/// All of a tape, and sums of them: two doubles a channel, in this order.
class live_norms {
public:
    live_norms() = default;
    explicit live_norms(const tape& of) {
        for (std::size_t i = 0; i != of.rows.size(); ++i) {
            if (!of.rows[i].is_live) continue;
            const node_view v = of.view(i);
            const int array = of.rows[i].gradient.running_mean(v);
            const parameter_list list = parameters_of(v);
            all_.push_back({i, static_cast<std::size_t>(v.y_shape().channels),
                            static_cast<std::size_t>(v.y_shape().pixels()), detail::place_of(v.n, list, array),
                            detail::place_of(v.n, list, array + 1)});
            doubles_ += 2 * all_.back().channels;
        }
    }
    bool empty() const { return all_.empty(); }
    std::size_t doubles() const { return doubles_; }
    /// Nothing has a variance of one value: raises value_error where `samples` that run together have one a channel.
    void require_rows(std::size_t samples) const {
        for (const live_norm& norm : all_)
            if (norm.pixels * samples == 1)
                raise<value_error>(
                    "train: a batch norm by the statistics of batches needs more than one value a channel, "
                    "but a batch or block has 1 sample of 1 pixel: choose a .batch and .block that leave no "
                    "sample alone, or freeze batch norms (.freeze_batch_norms_after = 0)");
    }
    /// Of a block that has run forward.
    template <class Runner> void take_sums(const Runner& from, double* sums) const noexcept {
        for (const live_norm& norm : all_) {
            from.statistics_sums(norm.row, sums);
            sums += 2 * norm.channels;
        }
    }
    /// One batch_norm_statistics a norm, of nothing yet.
    std::vector<batch_norm_statistics> statistics() const {
        std::vector<batch_norm_statistics> none;
        for (const live_norm& norm : all_) none.emplace_back(norm.channels);
        return none;
    }
    /// Adds a block's sums.
    void add(std::vector<batch_norm_statistics>& to, std::size_t samples, const double* sums) const {
        for (std::size_t k = 0; k != all_.size(); ++k) {
            to[k].add_sums(samples * all_[k].pixels, {sums, 2 * all_[k].channels});
            sums += 2 * all_[k].channels;
        }
    }
    /// running = (1 - momentum) * running + momentum * what was seen, of which the variance is the unbiased one, as in PyTorch. With a
    /// momentum of 1 the statistics are estimated anew.
    template <class Arch>
    void follow(const std::vector<batch_norm_statistics>& seen, float momentum, std::span<float> values) const {
        for (std::size_t k = 0; k != all_.size(); ++k) {
            const std::vector<float> mean = seen[k].mean(), variance = seen[k].variance(false);
            kernel::update_running_statistics<Arch>(all_[k].channels, static_cast<double>(seen[k].count()), momentum,
                                                    mean.data(), variance.data(), values.data() + all_[k].running_mean,
                                                    values.data() + all_[k].running_variance);
        }
    }

private:
    std::vector<live_norm> all_;
    std::size_t doubles_ = 0;
};

}  // namespace zp::inline v0
