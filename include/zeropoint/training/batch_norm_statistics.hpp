// SPDX-License-Identifier: BSD-3-Clause
// Sums of a batch norm's inputs: its statistics estimated anew, with the weights that training ended with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/training/fake_quantize.hpp>

namespace zp::inline v0 {

/// Count, sum and sum of squares of each channel, over all values of all batches. The order of additions is that of the rows;
/// merging adds sums, so the same cuts of the data merged in the same tree give the same bits. (AIMET's reestimate_bn_stats takes
/// the mean of each batch's mean and variance instead, which leaves out how batches differ from one another.)
class batch_norm_statistics {
public:
    batch_norm_statistics() = default;
    explicit batch_norm_statistics(std::size_t channels) : sums_(channels), squares_(channels) {}

    /// values: [rows][channels]; a shape_error for rows that are not whole.
    void add(std::span<const float> values) {
        if (sums_.empty() || values.size() % sums_.size() != 0)
            raise<shape_error>("batch_norm_statistics: expected whole rows of " + std::to_string(sums_.size()) +
                               " channels, got " + std::to_string(values.size()) + " values");
        const std::size_t channels = sums_.size();
        for (std::size_t first = 0; first != values.size(); first += channels)
            for (std::size_t c = 0; c != channels; ++c) {
                const auto x = static_cast<double>(values[first + c]);
                sums_[c] += x;
                squares_[c] += x * x;  // exact, contracted or not
            }
        count_ += values.size() / channels;
    }
    /// The same of `count` rows whose sums somebody else has made: as many sums as channels, then as many sums of squares.
    void add_sums(std::uint64_t count, std::span<const double> sums) {
        require_equal_sizes(2 * sums_.size(), sums.size(), "batch_norm_statistics: add_sums", "sums");
        for (std::size_t c = 0; c != sums_.size(); ++c) {
            sums_[c] += sums[c];
            squares_[c] += sums[sums_.size() + c];
        }
        count_ += count;
    }
    void merge(const batch_norm_statistics& later) {
        require_equal_sizes(sums_.size(), later.sums_.size(), "batch_norm_statistics: merge", "channels");
        for (std::size_t c = 0; c != sums_.size(); ++c) {
            sums_[c] += later.sums_[c];
            squares_[c] += later.squares_[c];
        }
        count_ += later.count_;
    }

    std::uint64_t count() const { return count_; }
    std::size_t channels() const { return sums_.size(); }
    /// As floats, for a batch norm's running_mean and running_var, which is the unbiased one as in PyTorch. A value_error where
    /// fewer than two rows were seen.
    std::vector<float> mean() const {
        require_rows();
        std::vector<float> all;
        for (const double sum : sums_) all.push_back(static_cast<float>(sum / static_cast<double>(count_)));
        return all;
    }
    std::vector<float> variance(bool unbiased = true) const {
        require_rows();
        const auto n = static_cast<double>(count_);
        std::vector<float> all;
        for (std::size_t c = 0; c != sums_.size(); ++c) {
            const double about_mean = squares_[c] - kernel::rounded(sums_[c] / n * sums_[c]);
            all.push_back(static_cast<float>(std::max(about_mean, 0.0) / (unbiased ? n - 1 : n)));
        }
        return all;
    }

private:
    void require_rows() const {
        if (count_ < 2)
            raise<value_error>("batch_norm_statistics: expected at least two rows, got " + std::to_string(count_) +
                               ": run data through the network first");
    }

    std::vector<double> sums_, squares_;
    std::uint64_t count_ = 0;
};

}  // namespace zp::inline v0
