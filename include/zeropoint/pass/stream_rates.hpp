// SPDX-License-Identifier: BSD-3-Clause
// How many positions of each value of a model over a sequence belong to one step of a stream, and which nodes cannot be streamed.
#pragma once

#include <numeric>

#include <zeropoint/graph/graph.hpp>
#include <zeropoint/graph/window.hpp>

// A strided window gives a position for each `stride` of its input, a transposed one `stride` for each. So a value has up / down
// positions for each of the model's input, and a step is the fewest positions of the input of which every value has whole ones: the
// least common multiple of all `down`. Position 0 of a step is position 0 of a block of each value, because whole sequences begin with
// a block.
//
// A window whose first tap lies P positions before the block of its output reads no further than that block if
//
//     P >= span - stride,  span = (kernel - 1) * dilation + 1
//
// P is its own padding and the zeros that a pad puts in front of its input. What whole sequences have behind their last step,
// because of padding on the right, no output in front depends on: it is left out.

namespace zp::inline v0 {

/// Positions that the taps of a window span.
constexpr int span_of(const window2d& window) { return (window.kernel_width - 1) * window.dilation_width + 1; }
/// The last positions of the input that a transposed window reads beside that of its output.
constexpr int positions_behind(const window2d& window) { return (span_of(window) - 1) / window.stride_width; }

/// The positions of each value of a graph.
template <int N> class stream_rates {
public:
    constexpr explicit stream_rates(const graph<N>& g) : g_(g) {
        for (int i = 0; i != g.size; ++i) broken_[i] = judge(i);
        const int last = g.size - 1;  // a pad at the very end would shift what comes out
        if (zeros_in_front_[last] != 0) broken_[last] = rule::cannot_stream;
        for (int i = 0; i != g.size; ++i) step_ = std::lcm(step_, down_[i]);
    }
    /// Of a value, in one step. A constant has one, the same in each.
    constexpr int positions(int i) const { return up_[i] == 0 ? 1 : step_ / down_[i] * up_[i]; }
    /// How many of the first values of a whole sequence are zeros that a pad has put there.
    constexpr int zeros_in_front(int i) const { return zeros_in_front_[i]; }
    /// Why a node cannot be streamed, or none.
    constexpr rule broken(int i) const { return broken_[i]; }

private:
    constexpr const shape& extents(int i) const { return g_.nodes[i].out.extents; }
    constexpr bool is_constant(int i) const { return up_[i] == 0; }
    constexpr bool have_one_rate(int i, int k) const { return up_[i] == up_[k] && down_[i] == down_[k]; }
    constexpr void set_rate(int i, int up, int down) {
        const int common = std::gcd(up, down);
        up_[i] = up / common;
        down_[i] = down / common;
    }
    /// Whether it has a position for each of node i and begins with it, or is a vector that all of them see.
    constexpr bool goes_along(int input, int i) const {
        return is_constant(input) ||
               (have_one_rate(input, i) && zeros_in_front_[input] == 0 && extents(input).width == extents(i).width);
    }

    /// Finds the rate of a node behind those of its inputs.
    constexpr rule judge(int i) {
        const node& n = g_.nodes[i];
        const stream_rule streams = n.op->stream;
        set_rate(i, 1, 1);
        if (extents(i).height != 1 || extents(i).is_volume()) return rule::cannot_stream;
        if (n.op->is_input) {
            if (length_ == 0) length_ = extents(i).width;
            return extents(i).width == length_ ? rule::none : rule::cannot_stream;
        }
        int lead = -1;  // the first input that is no constant
        for (int k = n.input_count; k-- != 0;)
            if (!is_constant(n.inputs[k])) lead = n.inputs[k];
        if (lead < 0) {
            set_rate(i, 0, 1);
            const bool is_vector = extents(i).width == 1;
            return is_vector && (is_parameter(n) || streams == stream_rule::pointwise) ? rule::none
                                                                                       : rule::cannot_stream;
        }
        set_rate(i, up_[lead], down_[lead]);
        switch (streams) {
            case stream_rule::zeros_in_front:
                zeros_in_front_[i] = zeros_in_front_[lead] + n.op->zeros->before[1];
                return rule::none;
            case stream_rule::cut_behind: zeros_in_front_[i] = zeros_in_front_[lead]; return rule::none;
            case stream_rule::windowed:
            case stream_rule::pooled: return judge_window(i, lead);
            case stream_rule::transposed: return judge_transposed(i, lead);
            case stream_rule::pointwise:
            case stream_rule::stateful: break;
            case stream_rule::whole: return rule::cannot_stream;
        }
        if (n.op->is_boundary) {
            zeros_in_front_[i] = zeros_in_front_[lead];
            return rule::none;
        }
        bool possible = true;
        for (int k = 0; k != n.input_count; ++k) possible = possible && goes_along(n.inputs[k], i);
        return possible ? rule::none : rule::cannot_stream;
    }
    constexpr rule judge_window(int i, int lead) {
        const node& n = g_.nodes[i];
        const auto window = options_of<window2d>(n);
        set_rate(i, up_[lead], down_[lead] * window.stride_width);
        bool possible = lead == n.inputs[0] && window.kernel_height == 1 && window.padding_top == 0 && !n.is_dynamic();
        // An average over padding would divide by another number of values.
        if (n.op->stream == stream_rule::pooled && !n.op->picks_values) possible = possible && window.padding_left == 0;
        for (int k = 1; k < n.input_count; ++k) possible = possible && goes_along(n.inputs[k], i);
        if (!possible) return rule::cannot_stream;
        const int before = zeros_in_front_[lead] + window.padding_left;
        return before >= span_of(window) - window.stride_width ? rule::none : rule::stream_looks_ahead;
    }
    constexpr rule judge_transposed(int i, int lead) {
        const node& n = g_.nodes[i];
        const auto window = options_of<window2d>(n);
        set_rate(i, up_[lead] * window.stride_width, down_[lead]);
        bool possible = lead == n.inputs[0] && window.kernel_height == 1 && window.padding_top == 0 &&
                        zeros_in_front_[lead] == 0 && !n.is_dynamic();
        for (int k = 1; k < n.input_count; ++k) possible = possible && goes_along(n.inputs[k], i);
        if (!possible) return rule::cannot_stream;
        return window.padding_left == 0 ? rule::none : rule::stream_looks_ahead;
    }

    const graph<N>& g_;
    int up_[N] = {}, down_[N] = {}, zeros_in_front_[N] = {};
    rule broken_[N] = {};
    int length_ = 0, step_ = 1;
};

}  // namespace zp::inline v0
