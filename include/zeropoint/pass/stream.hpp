// SPDX-License-Identifier: BSD-3-Clause
// A model over a sequence, one step at a time: what its nodes become.
#pragma once

#include <zeropoint/graph/rewriter.hpp>
#include <zeropoint/graph/window.hpp>

namespace zp {
inline namespace v0 {

/// The operator that keeps the last steps of a value, as many as the convolution behind it reads. Its option is their distance.
struct window_operator {
    const operator_info* op;
    const operator_rules* rules;
};

/// At most twice the nodes: one that keeps the last steps, in front of every convolution. It leaves the steps under the taps side
/// by side, so that dilation is a matter of this node alone.
template <int M, int N> constexpr graph<M> stream_nodes(const graph<N>& g, const window_operator& window_of_steps) {
    rewriter<M, N> to(g);
    int in_front[N] = {};  // how many steps of zeros lie before a node's values
    const int length = g.nodes[0].out.extents.width;
    const auto one_step = [](const shape& extents) { return shape{1, 1, extents.channels}; };
    for (int i = 0; i != g.size; ++i) {
        node n = to.take(i);
        n.from.self = static_cast<short>(i);
        const stream_rule streams = n.op->stream;
        const int producer = n.input_count == 0 ? -1 : g.nodes[i].inputs[0];
        if (streams == stream_rule::zeros_in_front) {
            to.moved[i] = to.moved[producer];
            in_front[i] = in_front[producer] + n.op->zeros->before[1];
            continue;
        }
        if (n.op->is_boundary) in_front[i] = in_front[producer];
        const bool is_windowed = streams == stream_rule::windowed;
        bool possible =
            n.out.extents.height == 1 && !n.out.extents.is_volume() && n.out.extents.width == length + in_front[i];
        for (int k = is_windowed ? 1 : 0; k != n.input_count; ++k)
            possible = possible && in_front[g.nodes[i].inputs[k]] == in_front[i];
        n.out.extents = one_step(n.out.extents);
        if (is_windowed) {  // with padding of its own, or behind steps of zeros
            auto window = options_of<window2d>(n);
            const int span = (window.kernel_width - 1) * window.dilation_width + 1;
            possible = possible && window.one_dimensional != 0 && !n.is_dynamic() && window.stride_width == 1 &&
                       in_front[producer] + window.padding_left == span - 1;
            if (span != 1) {
                node steps;
                steps.op = window_of_steps.op;
                steps.rules = window_of_steps.rules;
                steps.out = to.result.nodes[n.inputs[0]].out;
                steps.out.extents.width = window.kernel_width;
                steps.options[0] = window.dilation_width;
                steps.flags.keeps_state = true;
                steps.config = to.result.nodes[n.inputs[0]].config;
                steps.number = n.number;
                steps.input_count = 1;
                steps.inputs[0] = n.inputs[0];
                n.inputs[0] = static_cast<short>(to.append(steps));
            }
            window.padding_left = 0;
            window.dilation_width = 1;
            set_options(n, window);
        } else {
            possible = possible && (streams == stream_rule::pointwise || streams == stream_rule::stateful);
            n.flags.keeps_state = streams == stream_rule::stateful;
        }
        const shape& whole = g.nodes[i].out.extents;
        possible = possible || (is_parameter(n) && whole == shape{1, 1, whole.channels});  // the same in each step
        if (!possible)
            to.fail(rule::cannot_stream, g.nodes[i].input_count == 0 ? g.nodes[i].out.extents : g.view(i).x_shape(),
                    g.nodes[i].out.extents);
        to.moved[i] = to.append(n);
    }
    return to.result;
}

}  // namespace v0
}  // namespace zp
