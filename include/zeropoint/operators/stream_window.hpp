// SPDX-License-Identifier: BSD-3-Clause
// What a streamed window reads of a value: the positions under it, the last of which are new in each call.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <zeropoint/graph/define.hpp>
#include <zeropoint/graph/window.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind window{"window"};
}

namespace operators {

/// What code is generated for: positions are a few values, and copies of a known size are a few instructions. The input has `fresh`
/// positions of so many bytes, the output `taps`, which lie `dilation` apart among those and the `history` positions before.
struct stream_window_key {
    int position_bytes = 0, fresh = 0, history = 0, taps = 0, dilation = 0;

    /// Taps that lie apart are picked from a ring; others are copied together, and what is kept is moved.
    constexpr bool has_ring() const { return dilation != 1; }
};
constexpr stream_window_key key_of_window(const node_view& v) {
    const auto options = options_of<stream_window_options>(v.n);
    return {v.y_shape().channels * size_of(v.y_type().storage), v.x_shape().width, options.history, v.y_shape().width,
            options.dilation};
}

/// Its state is the last positions, of a ring with the place of the oldest.
struct stream_window {
    static constexpr const char* kind = op::window.name;
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr stream_rule stream = stream_rule::stateful;
    static constexpr std::span<const char* const> option_names = stream_window_options::names;
    static constexpr bool has_codes = true, takes_int16 = true;
    static constexpr int kept = 0, oldest = 1;  ///< of the states

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr state_list states(const node_view& v) {
        const int history = options_of<stream_window_options>(v.n).history;
        state_list list;
        list.add("positions", v.y_type().storage, history * v.y_shape().channels);
        if (key_of_window(v).has_ring()) list.add("oldest", scalar_type::int32, 1);
        return list;
    }
};

template <stream_window_key Key> struct stream_window_form {
    static void run(const node& n, const context& c) noexcept {
        const auto* x = c.in<std::byte>(n);
        auto* y = c.out<std::byte>(n);
        if constexpr (Key.has_ring()) pick(x, c.state_of(n), y);
        else move(x, c.state_of(n), y);
    }

private:
    static constexpr std::size_t bytes_of(int positions) {
        return static_cast<std::size_t>(positions * Key.position_bytes);
    }

    /// y: the first `taps` of what is kept and x, one behind the other.
    static void move(const std::byte* x, std::byte* kept, std::byte* y) noexcept {
        constexpr std::size_t history = bytes_of(Key.history), fresh = bytes_of(Key.fresh), all = bytes_of(Key.taps);
        constexpr std::size_t old = std::min(history, all), replaced = std::min(history, fresh);
        if constexpr (fresh < 8 && history + fresh <= 8 && std::endian::native == std::endian::little) {
            // From registers: what reads several stores at once waits until all are in the cache.
            std::uint64_t first = 0, last = 0;
            std::memcpy(&first, kept, history);
            std::memcpy(&last, x, fresh);
            const std::uint64_t both = first | last << 8 * history, rest = both >> 8 * fresh;
            std::memcpy(y, &both, all);
            std::memcpy(kept, &rest, history);
            return;
        }
        std::memcpy(y, kept, old);
        std::memcpy(y + old, x, all - old);
        if constexpr (replaced != history) {
            if constexpr (all >= history) std::memcpy(kept, y + replaced, history - replaced);
            else std::memmove(kept, kept + replaced, history - replaced);
        }
        std::memcpy(kept + (history - replaced), x + (fresh - replaced), replaced);
    }
    static void pick(const std::byte* x, std::byte* state, std::byte* y) noexcept {
        constexpr std::size_t position = bytes_of(1);
        constexpr int replaced = std::min(Key.history, Key.fresh);
        std::byte* const place =
            state + state_list().add("positions", scalar_type::int8, Key.history * Key.position_bytes).bytes();
        std::int32_t oldest = 0;
        std::memcpy(&oldest, place, sizeof oldest);
        const auto behind = [&](int count) {  // the oldest, and fewer than all
            const int at = oldest + count;
            return state + std::size_t(at < Key.history ? at : at - Key.history) * position;
        };
        for (int tap = 0; tap != Key.taps; ++tap) {
            const int at = tap * Key.dilation;
            std::memcpy(y + std::size_t(tap) * position,
                        at < Key.history ? behind(at) : x + std::size_t(at - Key.history) * position, position);
        }
        for (int k = 0; k != replaced; ++k) std::memcpy(behind(k), x + bytes_of(Key.fresh - replaced + k), position);
        oldest += replaced;
        if (oldest >= Key.history) oldest -= Key.history;
        std::memcpy(place, &oldest, sizeof oldest);
    }
};

}  // namespace operators

template <> struct forms_of<op::window> {
    static constexpr bool is_keyed = true;
    static constexpr operators::stream_window_key key(const node_view& v) { return operators::key_of_window(v); }
    template <operators::stream_window_key Key, class, class> using form = operators::stream_window_form<Key>;
};

}  // namespace zp::inline v0
