// SPDX-License-Identifier: BSD-3-Clause
// What a streamed convolution reads of a value: the steps under its window, one of which is new in each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <zeropoint/graph/define.hpp>

namespace zp {
inline namespace v0 {
namespace op {
inline constexpr operator_kind window{"window"};
}

/// Options of a window: steps between two of its taps.
struct stream_window_options {
    int dilation = 1;
    static constexpr const char* names[] = {"dilation"};
};

namespace operators {

/// How many steps a window of so many taps spans.
constexpr int steps_under(int taps, int dilation) { return (taps - 1) * dilation + 1; }

/// Its state is a ring of the last steps and the place of the newest. The output has the taps side by side, whatever lay between
/// them: the convolution behind it is a matrix product of one row.
struct stream_window {
    static constexpr const char* kind = op::window.name;
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr stream_rule stream = stream_rule::stateful;
    static constexpr std::span<const char* const> option_names = stream_window_options::names;
    static constexpr bool has_codes = true, takes_int16 = true;
    static constexpr int newest_step = 0, ring = 1;  ///< of the states

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr int steps(const node_view& v) {
        return steps_under(v.y_shape().width, options_of<stream_window_options>(v.n).dilation);
    }
    static constexpr state_list states(const node_view& v) {
        return state_list()
            .add("newest_step", scalar_type::int32, 1)
            .add("steps", v.y_type().storage, steps(v) * v.y_shape().channels);
    }
};

/// What code is generated for: columns are a few values, and copies of a known size are a few instructions.
struct stream_window_key {
    int column_bytes = 0, taps = 0, dilation = 0;
};
template <stream_window_key Key> struct stream_window_form {
    static void run(const node& n, const context& c) noexcept {
        constexpr int steps = steps_under(Key.taps, Key.dilation);
        constexpr auto column = static_cast<std::size_t>(Key.column_bytes);
        constexpr state_list states = state_list()
                                          .add("newest_step", scalar_type::int32, 1)
                                          .add("steps", scalar_type::int8, steps * Key.column_bytes);
        std::byte* state = c.state_of(n);
        std::byte* ring = state + states.offset_of(stream_window::ring);
        std::int32_t oldest = 0;
        std::memcpy(&oldest, state, sizeof oldest);
        ++oldest;  // what is behind the newest step of the last call
        if (oldest == steps) oldest = 0;
        const auto* x = c.in<std::byte>(n);
        auto* y = c.out<std::byte>(n);
        for (int tap = 0; tap != Key.taps - 1; ++tap) {
            int step = oldest + 1 + tap * Key.dilation;  // the new one takes the place of the oldest
            if (step >= steps) step -= steps;
            std::memcpy(y + tap * Key.column_bytes, ring + step * Key.column_bytes, column);
        }
        std::memcpy(y + (Key.taps - 1) * Key.column_bytes, x, column);
        std::memcpy(ring + oldest * Key.column_bytes, x, column);
        std::memcpy(state, &oldest, sizeof oldest);
    }
};

}  // namespace operators

template <> struct forms_of<op::window> {
    static constexpr bool is_keyed = true;
    static constexpr operators::stream_window_key key(const node_view& v) {
        return {v.y_shape().channels * size_of(v.y_type().storage), v.y_shape().width,
                options_of<stream_window_options>(v.n).dilation};
    }
    template <operators::stream_window_key Key, class, class> using form = operators::stream_window_form<Key>;
};

}  // namespace v0
}  // namespace zp
