// The inputs of batches, one after another: what zp::calibrate takes, for whoever looks at a network.
#pragma once

#include <span>
#include <utility>

#include <zeropoint/workflow/calibrate.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

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
/// another is asked for, so that a range that makes them on its way needs the memory of one.
template <class Stage, class Batches, class F> void for_each_input(const Batches& batches, F receive) {
    input_receiver<Stage, F> receiver{receive};
    if constexpr (is_single_batch<input_receiver<Stage, F>, Batches>) {
        observe_batch(receiver, batches);
    } else {
        for (const auto& batch : batches) observe_batch(receiver, batch);
    }
}

}  // namespace detail
}  // namespace v0
}  // namespace zp
