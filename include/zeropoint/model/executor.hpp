// SPDX-License-Identifier: BSD-3-Clause
// What runs parts of a node at once: the concept that a call's executor fulfils, and the one that runs them one after another.
#pragma once

#include <concepts>
#include <cstdint>

namespace zp::inline v0 {

/// Work below which a node is not cut any further: nanoseconds of a part, as detail::work_of estimates them. An executor may have a
/// `least_work()` of its own.
inline constexpr std::int64_t least_work_of_part = 4000;

namespace detail {
struct some_parts {
    void operator()(int) const noexcept {}
};
}  // namespace detail

/// `workers()` says how many parts may run at once, at least 1. `run(parts, body)` calls `body(part)` once for each part of
/// [0, parts), in any order and perhaps at once, and returns when all are done; parts is at most workers(). What a body has written
/// is then visible to who called run. Bodies do not throw. It may have `least_work()` in place of least_work_of_part.
template <class Executor> concept executor = requires(const Executor& e, const detail::some_parts& body) {
    { e.workers() } -> std::convertible_to<int>;
    e.run(2, body);
};

namespace executors {
/// All parts on the calling thread, of which there is one.
struct serial {
    static constexpr int workers() noexcept { return 1; }
    template <class Body> static void run(int parts, const Body& body) noexcept {
        for (int part = 0; part != parts; ++part) body(part);
    }
};
}  // namespace executors

namespace detail {
template <class Executor> constexpr std::int64_t least_work_of([[maybe_unused]] const Executor& e) {
    if constexpr (requires { e.least_work(); }) return e.least_work();
    else return least_work_of_part;
}
}  // namespace detail

}  // namespace zp::inline v0
