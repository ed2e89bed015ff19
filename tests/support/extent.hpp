// SPDX-License-Identifier: BSD-3-Clause
// How much the tests run. scripts/architectures/run.py builds with less than everything, because emulators take tens of
// times as long and most of its builds differ in one architecture.
#pragma once

// Whether the kernels run on the default architecture alone, and not on the ones of odd sizes and narrower vectors too.
#ifndef ZEROPOINT_TEST_ONE_ARCHITECTURE
#define ZEROPOINT_TEST_ONE_ARCHITECTURE 0
#endif
// Random tests try one problem in this many.
#ifndef ZEROPOINT_TEST_FEWER
#define ZEROPOINT_TEST_FEWER 1
#endif

namespace zp_test {

inline constexpr bool one_architecture = ZEROPOINT_TEST_ONE_ARCHITECTURE != 0;
inline constexpr int fewer_problems = ZEROPOINT_TEST_FEWER;

// WebAssembly has them only where it is asked for.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
inline constexpr bool has_threads = false;
#else
inline constexpr bool has_threads = true;
#endif

/// A count of random problems, less where the build asks for it.
constexpr int fewer(int count) { return (count + fewer_problems - 1) / fewer_problems; }

}  // namespace zp_test
