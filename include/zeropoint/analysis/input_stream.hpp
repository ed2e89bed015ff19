// SPDX-License-Identifier: BSD-3-Clause
// The inputs of batches, one after another, which are what zp::calibrate takes; and memory for outputs: for whoever looks at a network.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/workflow/calibrate.hpp>

namespace zp::inline v0::detail {

/// What stands for the prepared network where inputs are only handed on. Stage is a prepared_stage.
template <class Stage, class F> struct input_receiver {
    using stage = Stage;
    static constexpr bool takes_indices = network<Stage>::takes_indices;
    static constexpr std::span<const port> inputs() { return network<Stage>::inputs(); }
    static constexpr std::span<const node> rows() { return network<Stage>::rows(); }
    F& receive;
    void observe(const void* const* xs) { receive(xs); }
};

/// receive(xs) for every input of every batch: one pointer a port. `batches` is what zp::calibrate takes, with its errors; one after
/// another is asked for, so that a range that makes them on its way needs the memory of one. None at all are a shape_error.
template <class Stage, class Batches, class F> void for_each_input(const Batches& batches, F receive) {
    bool is_empty = true;
    const auto counting = [&](const void* const* xs) {
        is_empty = false;
        receive(xs);
    };
    using receiver_type = input_receiver<Stage, decltype(counting)>;
    receiver_type receiver{counting};
    for_each_batch<receiver_type>(batches, [&](const auto& batch) { observe_batch(receiver, batch); });
    if (is_empty) raise<shape_error>("expected at least one input to look at, but there are no batches");
}

/// Outputs of a network of floats, as one array each.
template <class Simulated> struct output_buffers {
    std::vector<std::vector<float>> values;
    std::vector<void*> pointers;
    output_buffers() {
        for (const port& p : Simulated::outputs()) values.emplace_back(static_cast<std::size_t>(p.extents.size()));
        for (auto& one : values) pointers.push_back(one.data());
    }
    /// The sums of squares of other's differences from these.
    double distance(const output_buffers& other) const {
        double sum = 0;
        for (std::size_t p = 0; p != values.size(); ++p)
            for (std::size_t k = 0; k != values[p].size(); ++k) {
                const double apart = double{values[p][k]} - double{other.values[p][k]};
                sum += apart * apart;
            }
        return sum;
    }
    double energy() const {
        double sum = 0;
        for (const auto& one : values)
            for (const float x : one) sum += double{x} * double{x};
        return sum;
    }
};

}  // namespace zp::inline v0::detail
