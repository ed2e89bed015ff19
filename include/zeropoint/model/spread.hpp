// SPDX-License-Identifier: BSD-3-Clause
// Many inputs over an executor: each is the work of one worker, from its begin to its end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/function_ref.hpp>
#include <zeropoint/model/executor.hpp>

namespace zp::inline v0 {
namespace detail {

/// Of what was thrown in several threads, that of the smallest number.
class first_error {
public:
    /// Numbers from here on need not be begun.
    std::size_t limit() const { return limit_.load(std::memory_order_relaxed); }
#if defined(__cpp_exceptions)
    /// In a catch block.
    void keep(std::size_t number) {
        const std::lock_guard lock(mutex_);
        if (number >= limit_) return;
        limit_ = number;
        error_ = std::current_exception();
    }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }
#else
    void keep(std::size_t) {}
    void rethrow() const {}
#endif

private:
    std::atomic<std::size_t> limit_{std::numeric_limits<std::size_t>::max()};
    std::mutex mutex_;
    std::exception_ptr error_;
};

}  // namespace detail

/// Calls f(i, worker) once for each i of [0, count), several at once: whoever is free takes the next. `worker` is in [0, with.workers()),
/// and no two calls have the same at once: what a call works in is needed once a worker.
///
/// Where a call throws, those with smaller i are made, others perhaps not, and what the smallest i threw is thrown.
template <executor Executor, class F> void spread(std::size_t count, const Executor& with, const F& f) {
    const auto parts = static_cast<int>(std::min(count, static_cast<std::size_t>(with.workers())));
    std::atomic<std::size_t> next{0};
    detail::first_error errors;
    const auto work = [&](int part) noexcept {
        for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::min(count, errors.limit());) {
#if defined(__cpp_exceptions)
            try {
                f(i, part);
            } catch (...) { errors.keep(i); }
#else
            f(i, part);
#endif
        }
    };
    if (parts == 1) work(0);
    else if (parts > 1) with.run(parts, work);
    errors.rethrow();
}

/// A workspace for each worker of a call of run_many.
template <class Network> class workspaces {
public:
    /// Raises value_error for less than one.
    explicit workspaces(int workers) {
        if (workers < 1)
            raise<value_error>("workspaces(workers): expected at least 1 worker, found " + std::to_string(workers));
        for (int i = 0; i != workers; ++i) all_.push_back(std::make_unique<typename Network::workspace>());
    }
    /// How many workers there may be.
    int size() const { return static_cast<int>(all_.size()); }
    /// That of a worker, of [0, size()).
    typename Network::workspace& operator[](int worker) const { return *all_[static_cast<std::size_t>(worker)]; }

private:
    std::vector<std::unique_ptr<typename Network::workspace>> all_;
};

/// y[i] = model(x[i]) for each of many inputs, which stand one after another in x, as their outputs do in y: contiguous ranges of what the
/// network takes and gives. At most memory.size() are computed at once. Results are those of so many calls. Raises shape_error where x is
/// not a whole number of inputs, or y not as many outputs.
template <class Network, class Of, executor Executor>
    requires std::is_same_v<std::remove_const_t<Of>, Network>
void run_many(const Network& model, std::span<const typename Network::input_value> x,
              std::span<typename Network::output_value> y, const workspaces<Of>& memory, const Executor& with) {
    static_assert(
        Network::inputs().size() == 1 && Network::outputs().size() == 1,
        "run_many(model, x, y, memory, executor): a model with several inputs or outputs: call zp::spread with "
        "a function that calls it");
    static_assert(!Network::takes_indices,
                  "run_many(model, x, y, memory, executor): a model of indices, which are checked: call zp::spread "
                  "with a function that calls it");
    constexpr auto in = static_cast<std::size_t>(Network::input_shape.size()),
                   out = static_cast<std::size_t>(Network::output_shape.size());
    const std::size_t count = x.size() / in;
    if (x.size() % in != 0 || y.size() != count * out)
        raise<shape_error>("run_many(model, x, y, ...): expected inputs of " + std::to_string(in) +
                           " values and as many outputs of " + std::to_string(out) + ", but x has " +
                           std::to_string(x.size()) + " values and y " + std::to_string(y.size()));
    struct at_most {
        const Executor& with;
        int most;
        int workers() const { return std::min(most, static_cast<int>(with.workers())); }
        void run(int parts, function_ref<void(int)> body) const { with.run(parts, body); }
    };
    spread(count, at_most{with, memory.size()},
           [&](std::size_t i, int worker) { model.run(x.data() + i * in, y.data() + i * out, memory[worker].bytes); });
}

}  // namespace zp::inline v0
