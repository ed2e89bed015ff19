// SPDX-License-Identifier: BSD-3-Clause
// Which class has said itself what is wrong with it, so that nobody behind it says more.
#pragma once

namespace zp::inline v0 {

namespace detail {
// Two concepts of one meaning: the compiler remembers the answer of each.
template <class T> concept instantiated = requires { sizeof(T); };
template <class T> concept complete = requires { sizeof(T) != 0; };
}  // namespace detail

/// Whether a static_assert in T has failed, where that makes T invalid: Clang's classes then have no members and no bases, and what asks
/// for one would say that it is missing. The first question about T must be this one, which fails as T is instantiated; the next finds T
/// complete. GCC goes on with such a class as with any other, for which this is false.
template <class T> concept has_told = !detail::instantiated<T> && detail::complete<T>;

}  // namespace zp::inline v0
