// SPDX-License-Identifier: BSD-3-Clause
// Height and width of a window, and depth of one over a volume, as options of layers have them.
#pragma once

namespace zp::inline v0 {

/// Height and width of a window; `3` means 3 x 3, `{1, 7}` one row of seven.
struct extent {
    int height = 1, width = 1;  // in values of the input
    /// 1 x 1.
    constexpr extent() = default;
    constexpr extent(int both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor): .kernel = 3
    constexpr extent(int rows, int columns) : height(rows), width(columns) {}
    constexpr bool operator==(const extent&) const = default;
};

/// Depth, height and width of a window; `3` means 3 x 3 x 3, `{1, 2, 2}` four pixels of one plane.
struct volume_extent {
    int depth = 1, height = 1, width = 1;  // in values of the input
    /// 1 x 1 x 1.
    constexpr volume_extent() = default;
    constexpr volume_extent(int all) : depth(all), height(all), width(all) {}  // NOLINT(google-explicit-constructor)
    constexpr volume_extent(int planes, int rows, int columns) : depth(planes), height(rows), width(columns) {}
    constexpr bool operator==(const volume_extent&) const = default;

    /// Whether all three are at least so much.
    constexpr bool at_least(int least) const { return depth >= least && height >= least && width >= least; }
};

/// `.groups = zp::depthwise`: one group per input channel.
inline constexpr int depthwise = 0;

}  // namespace zp::inline v0
