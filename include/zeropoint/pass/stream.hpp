// SPDX-License-Identifier: BSD-3-Clause
// A model over a sequence, one step or one part at a time: what its nodes become.
#pragma once

#include <zeropoint/graph/rewriter.hpp>
#include <zeropoint/pass/plan.hpp>
#include <zeropoint/pass/stream_rates.hpp>

namespace zp::inline v0 {

/// The operator that keeps the last positions of a value, as many as the window behind it reads. Its options are stream_window_options.
struct window_operator {
    const operator_info* op;
    const operator_rules* rules;
};

/// At most twice the nodes: one that keeps the last positions, in front of every window. Where a step has one window it leaves the
/// values under its taps side by side, so that dilation is a matter of this node alone; else all from the first window to the last.
template <int M, int N> constexpr graph<M> stream_nodes(const graph<N>& g, const window_operator& window_of_steps) {
    rewriter<M, N> to(g);
    const stream_rates<N> rates(g);
    const auto put_in_front = [&](node& n, int width, const stream_window_options& options) {
        node steps;
        steps.op = window_of_steps.op;
        steps.rules = window_of_steps.rules;
        steps.out = to.result.nodes[n.inputs[0]].out;
        steps.out.extents.width = width;
        set_options(steps, options);
        steps.flags.keeps_state = true;
        steps.config = to.result.nodes[n.inputs[0]].config;
        steps.number = n.number;
        steps.input_count = 1;
        steps.inputs[0] = n.inputs[0];
        n.inputs[0] = static_cast<short>(to.append(steps));
    };
    for (int i = 0; i != g.size; ++i) {
        node n = to.take(i);
        n.from.self = static_cast<short>(i);
        const stream_rule streams = n.op->stream;
        const int producer = n.input_count == 0 ? -1 : g.nodes[i].inputs[0], positions = rates.positions(i);
        const rule broken = rates.broken(i);
        const bool is_dropped = streams == stream_rule::zeros_in_front || streams == stream_rule::cut_behind;
        if (is_dropped && broken == rule::none) {
            to.moved[i] = to.moved[producer];
            continue;
        }
        n.out.extents = {1, positions, n.out.extents.channels};
        n.flags.keeps_state = streams == stream_rule::stateful;
        if (broken != rule::none) {
            to.fail(broken, n.input_count == 0 ? g.nodes[i].out.extents : g.view(i).x_shape(), g.nodes[i].out.extents);
        } else if (streams == stream_rule::windowed || streams == stream_rule::pooled) {
            auto window = options_of<window2d>(n);
            const int history = rates.zeros_in_front(producer) + window.padding_left;
            if (history != 0) {
                const bool is_one = positions == 1;
                const int span = (positions - 1) * window.stride_width + span_of(window);
                put_in_front(n, is_one ? window.kernel_width : span,
                             {is_one ? window.dilation_width : 1, history,
                              streams == stream_rule::pooled ? window.padding_left : 0});
                if (is_one) window.dilation_width = window.stride_width = 1;
            }
            window.padding_left = 0;
            set_options(n, window);
        } else if (streams == stream_rule::transposed) {
            auto window = options_of<window2d>(n);
            const int history = positions_behind(window);
            if (history != 0) put_in_front(n, history + rates.positions(producer), {1, history, 0});
            window.padding_left = history * window.stride_width;  // what those positions alone give is cut off
            set_options(n, window);
        }
        to.moved[i] = to.append(n);
    }
    return to.result;
}

/// The nodes of a network that is called with one part of a sequence after another: its states go on from call to call.
template <int N> constexpr graph<N> stateful_nodes_of(graph<N> g) {
    if (g.error.broken != rule::none) return g;
    keep_states(g);
    bool has_state = false;
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        n.from.self = static_cast<short>(i);
        has_state = has_state || n.flags.keeps_state;
        if (n.flags.keeps_state && n.op->goes_back && g.error.broken == rule::none)
            g.error = {rule::state_goes_back, i, g.view(i).x_shape(), n.out.extents};
    }
    if (!has_state) g.error = {rule::no_state, g.size - 1};
    return g;
}

}  // namespace zp::inline v0
