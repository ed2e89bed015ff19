// zp::openmp_executor: parts of a network on the threads of OpenMP. Compile with -fopenmp.
#pragma once

#if !defined(_OPENMP)
#error \
    "zeropoint/executor/openmp.hpp: expected a compiler with OpenMP on; compile and link with -fopenmp, in CMake OpenMP::OpenMP_CXX"
#endif

#include <omp.h>

namespace zp {
inline namespace v0 {

/// `model(x, y, memory, zp::openmp_executor{4})`: on at most so many threads of the team that OpenMP keeps for the calling one; as
/// many as it has, omp_get_max_threads(), without a number.
class openmp_executor {
public:
    openmp_executor() noexcept : workers_(omp_get_max_threads()) {}
    explicit openmp_executor(int workers) noexcept : workers_(workers < 1 ? 1 : workers) {}

    int workers() const noexcept { return workers_; }
    template <class Body> void run(int parts, const Body& body) const noexcept {
#pragma omp parallel for schedule(static, 1) num_threads(parts < workers_ ? parts : workers_)
        for (int part = 0; part < parts; ++part) body(part);
    }

private:
    int workers_;
};

}  // namespace v0
}  // namespace zp
