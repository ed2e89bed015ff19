// SPDX-License-Identifier: BSD-3-Clause
// The sums of products of a layer's inputs, in double: what errors of its weights cost its outputs.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <zeropoint/kernel/float/double_products.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/methods/windows.hpp>

namespace zp {
inline namespace v0 {

/// H = 2 / n * sum over n outputs of x x', for each group of filters: `groups` matrices of depth x depth, x the window of an output. The
/// mean squared error that an error d of the weights of a channel makes is d H d' / 2.
template <class Arch = default_architecture> class second_moments {
public:
    explicit second_moments(const window_reader& windows)
        : windows_(windows),
          depth_(static_cast<std::size_t>(windows.depth())),
          groups_(static_cast<std::size_t>(windows.groups())),
          sums_(groups_ * depth_ * depth_),
          rows_(groups_ * together * depth_),
          window_(static_cast<std::size_t>(windows.size())) {}

    /// All outputs for one input of the layer.
    void add(const float* x) {
        for (int position = 0; position != windows_.positions(); ++position) add(x, position);
    }
    /// One of them.
    void add(const float* x, int position) {
        windows_.read(x, position, window_.data());
        for (std::size_t g = 0; g != groups_; ++g)
            for (std::size_t k = 0; k != depth_; ++k)
                rows_[(g * together + waiting_) * depth_ + k] = double{window_[g * depth_ + k]};
        ++count_;
        if (++waiting_ == together) flush();
    }
    /// The matrix of a group, whole.
    std::vector<double> matrix(std::size_t group) {
        flush();
        const double factor = 2 / static_cast<double>(count_);
        const double* from = sums_.data() + group * depth_ * depth_;
        std::vector<double> h(depth_ * depth_);
        for (std::size_t i = 0; i != depth_; ++i)
            for (std::size_t j = i; j != depth_; ++j)
                h[i * depth_ + j] = h[j * depth_ + i] = factor * from[i * depth_ + j];
        return h;
    }
    std::size_t count() const { return count_; }

private:
    static constexpr std::size_t together = 32;
    void flush() {
        for (std::size_t g = 0; g != groups_; ++g)
            kernel::add_symmetric_products<Arch>(rows_.data() + g * together * depth_, waiting_, depth_,
                                                 sums_.data() + g * depth_ * depth_);
        waiting_ = 0;
    }

    const window_reader& windows_;
    std::size_t depth_, groups_, waiting_ = 0, count_ = 0;
    std::vector<double> sums_, rows_;
    std::vector<float> window_;
};

/// d H d' of one row of errors.
inline double quadratic_form(std::span<const double> h, std::span<const double> d) {
    double sum = 0;
    for (std::size_t i = 0; i != d.size(); ++i) {
        if (d[i] == 0) continue;
        double row = 0;
        for (std::size_t j = 0; j != d.size(); ++j) row += h[i * d.size() + j] * d[j];
        sum += d[i] * row;
    }
    return sum;
}

}  // namespace v0
}  // namespace zp
