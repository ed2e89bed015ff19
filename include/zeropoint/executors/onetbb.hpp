// SPDX-License-Identifier: BSD-3-Clause
// zp::executors::onetbb: parts of a network as tasks of oneTBB. Link with TBB::tbb.
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <zeropoint/executors/fork_and_join.hpp>

namespace zp::inline v0::executors {

/// `model(x, y, memory, zp::executors::onetbb{arena})`: in a task arena of the caller's, which must outlive the executor; in that of the
/// calling thread without one. oneTBB may raise std::bad_alloc.
class onetbb {
public:
    /// In the arena of the calling thread.
    onetbb() = default;
    explicit onetbb(oneapi::tbb::task_arena& arena) noexcept : arena_(&arena) {}

    int workers() const {
        return arena_ == nullptr ? oneapi::tbb::this_task_arena::max_concurrency() : arena_->max_concurrency();
    }
    /// While a call waits for its parts, its thread takes no other task: what it works in is not used twice.
    template <class Body> void run(int parts, const Body& body) const {
        const fork_and_join<Body> joined(body);
        const auto run_all = [&] {
            oneapi::tbb::this_task_arena::isolate(
                [&] { oneapi::tbb::parallel_for(0, parts, joined, oneapi::tbb::simple_partitioner()); });
        };
        if (arena_ == nullptr) run_all();
        else arena_->execute(run_all);
    }

private:
    oneapi::tbb::task_arena* arena_ = nullptr;
};

}  // namespace zp::inline v0::executors
