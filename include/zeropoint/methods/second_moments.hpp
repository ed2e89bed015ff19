// SPDX-License-Identifier: BSD-3-Clause
// The sums of products of a layer's inputs, in double: what errors of its weights cost its outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <zeropoint/kernel/float/double_products.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/methods/windows.hpp>

namespace zp::inline v0 {

/// H = 2 / n * sum over n outputs of x x', for each group of filters: `groups` matrices of depth x depth, x the window of an output. The
/// mean squared error that an error d of the weights of a channel makes is d H d' / 2. Value: double, or float for inputs that are integers of
/// at most 255, as codes less their zero point are, whose sums are exact and take half the time.
template <class Arch = default_architecture, class Value = double> class second_moments {
public:
    explicit second_moments(const window_reader& windows)
        : windows_(windows),
          depth_(static_cast<std::size_t>(windows.depth())),
          groups_(static_cast<std::size_t>(windows.groups())),
          sums_(groups_ * depth_ * depth_),
          panels_(groups_ * size_of_panels()),
          window_(static_cast<std::size_t>(windows.size())) {}

    /// All outputs for one input of the layer.
    void add(const float* x) {
        for (int position = 0; position != windows_.positions(); ++position) add(x, position);
    }
    /// One of them.
    void add(const float* x, int position) {
        windows_.read(x, position, window_.data());
        for (std::size_t g = 0; g != groups_; ++g) {
            const float* const from = window_.data() + g * depth_;
            Value* to = panels_.data() + g * size_of_panels() + waiting_ * columns;
            for (std::size_t k = 0; k < depth_; k += columns, to += columns * together)
                std::copy_n(from + k, std::min(columns, depth_ - k), to);
        }
        ++count_;
        if (++waiting_ == together) flush();
    }
    /// The matrix of a group, whole, of inputs that are `step` times what was added.
    std::vector<double> matrix(std::size_t group, double step = 1) {
        flush();
        const double factor = 2 / static_cast<double>(count_) * step * step;
        const double* from = sums_.data() + group * depth_ * depth_;
        std::vector<double> h(depth_ * depth_);
        for (std::size_t i = 0; i != depth_; ++i)
            for (std::size_t j = i; j != depth_; ++j)
                h[i * depth_ + j] = h[j * depth_ + i] = factor * from[i * depth_ + j];
        return h;
    }
    std::size_t count() const { return count_; }

private:
    static constexpr std::size_t columns = kernel::product_panel<Arch, Value>;
    static constexpr std::size_t together = 512 / sizeof(Value);  // 64; of floats 128, of which squares come to 2^23
    std::size_t size_of_panels() const { return kernel::product_panels<Arch, Value>(depth_) * columns * together; }
    void flush() {
        for (std::size_t g = 0; g != groups_; ++g)
            kernel::add_symmetric_products<Arch>(panels_.data() + g * size_of_panels(), waiting_, together, depth_,
                                                 sums_.data() + g * depth_ * depth_);
        waiting_ = 0;
    }

    const window_reader& windows_;
    std::size_t depth_, groups_, waiting_ = 0, count_ = 0;
    std::vector<double> sums_;
    std::vector<Value> panels_;  // windows that are not yet in the sums
    std::vector<float> window_;
};

/// d H d' of one row of errors.
template <class Arch = default_architecture>
double quadratic_form(std::span<const double> h, std::span<const double> d) {
    std::vector<double> product(d.size());  // H d: rows of H are its columns, so that loops go along them
    for (std::size_t i = 0; i != d.size(); ++i)
        if (d[i] != 0) kernel::add_scaled<Arch>(d[i], h.data() + i * d.size(), d.size(), product.data());
    double sum = 0;
    for (std::size_t i = 0; i != d.size(); ++i) sum += d[i] * product[i];
    return sum;
}

}  // namespace zp::inline v0
