// SPDX-License-Identifier: BSD-3-Clause
// zp::executors::openmp: parts of a network on the threads of OpenMP. Compile with -fopenmp.
#pragma once

#if !defined(_OPENMP)
#error \
    "zeropoint/executors/openmp.hpp: expected a compiler with OpenMP on; compile and link with -fopenmp, in CMake OpenMP::OpenMP_CXX"
#endif

#include <omp.h>

#include <zeropoint/executors/fork_and_join.hpp>

namespace zp::inline v0::executors {

/// `model(x, y, memory, zp::executors::openmp{4})`: on at most so many threads of the team that OpenMP keeps for the calling one; as
/// many as it has, omp_get_max_threads(), without a number.
class openmp {
public:
    /// As many threads as the team has.
    openmp() noexcept : workers_(omp_get_max_threads()) {}
    explicit openmp(int workers) noexcept : workers_(workers < 1 ? 1 : workers) {}

    int workers() const noexcept { return workers_; }
    template <class Body>
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
    [[gnu::
          no_sanitize_thread]]  // how GCC's OpenMP, which is not compiled for it, gives its threads `parts` and `joined`
#endif
    void
    run(int parts, const Body& body) const noexcept {
        const fork_and_join<Body> joined(body);
#pragma omp parallel for schedule(static, 1) num_threads(parts < workers_ ? parts : workers_)
        for (int part = 0; part < parts; ++part) joined(part);
    }

private:
    int workers_;
};

}  // namespace zp::inline v0::executors
