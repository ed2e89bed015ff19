// SPDX-License-Identifier: BSD-3-Clause
// One step of a streaming SVDF layer in integers: filters over the step's features, and over what they gave before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/kernel/epilogue/requantize.hpp>

namespace zp::inline v0::kernel {

/// A filter has one weight an input and one a remembered step; a unit is the sum of `rank` filters, which stand side by side.
struct svdf_extents {
    int units = 1, rank = 1, memory = 1;
    constexpr int filters() const { return units * rank; }
};

/// The largest magnitude of a weight over time with which no sum of products with a state leaves half of int32; the other half is
/// the bias's.
constexpr std::int32_t largest_svdf_weight(const svdf_extents& s) {
    const std::int64_t most = (std::int64_t{1} << 30) / (std::int64_t{32768} * s.rank * s.memory);
    return most > 32767 ? 32767 : static_cast<std::int32_t>(most);
}

/// The codes of a state: scale one for all, zero point 0.
inline constexpr output_codes svdf_state_codes{0, std::numeric_limits<std::int16_t>::min(),
                                               std::numeric_limits<std::int16_t>::max(), nullptr};

// Both are inlined into the form of a layer, whose extents are constants there: loops over them take a third less time.

/// state[f] = epilogue(sums[f]): what the filters give for a step, sums being those of (x - x_zero_point) * feature. The epilogue
/// lands on svdf_state_codes.
template <class Arch, class Epilogue>
[[gnu::always_inline]] inline void svdf_remember(const std::int32_t* sums, int filters, const Epilogue& epilogue,
                                                 std::int16_t* state) noexcept {
    for (int f = 0; f != filters; ++f) state[f] = static_cast<std::int16_t>(epilogue(sums[f], f));
}

/// y[u] = epilogue(bias[u] + sum of state * time over the memory and the filters of a unit). `state` is a ring of `memory` rows of
/// filters, of which row `oldest` comes first; `time` is memory x filters, the oldest first. `sums` has room for filters. Of
/// std::int16_t, whose sums are std::int32_t, with weights beyond largest_svdf_weight() the caller vouches for their range; or of
/// floats.
template <class Arch, class State, class Sum, class Epilogue, class Out>
[[gnu::always_inline]] inline void svdf_recall(const svdf_extents& s, const State* state, int oldest, const State* time,
                                               const Sum* bias, const Epilogue& epilogue, Sum* sums, Out* y) noexcept {
    const int filters = s.filters();
    for (int f = 0; f != filters; ++f) sums[f] = 0;
    for (int step = 0; step != s.memory; ++step, time += filters) {
        const int place = oldest + step < s.memory ? oldest + step : oldest + step - s.memory;
        const State* row = state + std::ptrdiff_t{place} * filters;
        for (int f = 0; f != filters; ++f) sums[f] += Sum{row[f]} * time[f];
    }
    for (int u = 0; u != s.units; ++u, sums += s.rank) {
        Sum sum = bias[u];
        for (int r = 0; r != s.rank; ++r) sum += sums[r];
        y[u] = static_cast<Out>(epilogue(sum, u));
    }
}

}  // namespace zp::inline v0::kernel
