// Height and width of a window, as options of layers have them.
#pragma once

namespace zp {
inline namespace v0 {

/// Height and width of a window; `3` means 3 x 3, `{1, 7}` one row of seven.
struct extent {
    int height = 1, width = 1;
    constexpr extent() = default;
    constexpr extent(int both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor): .kernel = 3
    constexpr extent(int rows, int columns) : height(rows), width(columns) {}
    constexpr bool operator==(const extent&) const = default;
};

/// `.groups = zp::depthwise`: one group per input channel.
inline constexpr int depthwise = 0;

}  // namespace v0
}  // namespace zp
