// SPDX-License-Identifier: BSD-3-Clause
// Identities go; what operators give moves into those beside them that take it.
#pragma once

#include <algorithm>

#include <zeropoint/graph/rewriter.hpp>
#include <zeropoint/graph/window.hpp>

namespace zp::inline v0 {

/// Nodes that do nothing at inference go: dropout, stubs, and a flatten that only fully connected layers read (NHWC memory does
/// not change). What a model with quant_stubs leaves outside of quant_stub ... dequant_stub is marked to stay float.
template <int N> constexpr graph<N> remove_identities(const graph<N>& g) {
    rewriter<N, N> to(g);
    bool has_stubs = false, inside[N] = {}, only_columns[N] = {};
    for (int i = 0; i != g.size; ++i) has_stubs = has_stubs || g.nodes[i].op->opens_quantized;
    for (int i = 0; i != g.size; ++i) {
        const node& n = g.nodes[i];
        bool all = n.input_count != 0 || is_parameter(n);
        for (int k = 0; k != n.input_count; ++k) all = all && inside[n.inputs[k]];
        inside[i] = n.op->opens_quantized || (all && !n.op->closes_quantized);
        only_columns[i] = to.uses[i] != 0;
    }
    for (int i = 0; i != g.size; ++i) {  // a parameter is where its readers are
        if (!is_parameter(g.nodes[i])) continue;
        inside[i] = false;
        for (int j = i + 1; j != g.size; ++j)
            for (int k = 0; k != g.nodes[j].input_count; ++k)
                inside[i] = inside[i] || (g.nodes[j].inputs[k] == i && inside[j]);
    }
    for (int j = g.size - 1; j >= 0; --j)  // does every path onward through identities end in columns of a matrix?
        for (int k = 0; k != g.nodes[j].input_count; ++k) {
            bool& only = only_columns[g.nodes[j].inputs[k]];
            only = only && (g.nodes[j].op->is_connected || (g.nodes[j].op->is_identity && only_columns[j]));
        }
    for (int i = 0; i != g.size; ++i) {
        node n = to.take(i);
        const bool dropped = n.op->is_identity || (n.op->is_view && only_columns[i]);
        if (dropped && !(i == g.size - 1 && n.inputs[0] == 0)) {
            to.moved[i] = n.inputs[0];
            continue;
        }
        n.from.self = static_cast<short>(i);
        n.flags.outside_stubs = has_stubs && !inside[i];
        n.flags.keep_float = n.flags.keep_float || n.flags.outside_stubs;
        to.moved[i] = to.append(n);
    }
    return to.result;
}

/// Takes the zeros that `pad` puts around an image into the padding of the convolution that alone reads it.
constexpr void take_zeros(node& convolution, const node& pad) {
    auto window = options_of<window2d>(convolution);
    window.padding_top += pad.op->zeros->before[0];
    window.padding_left += pad.op->zeros->before[1];
    set_options(convolution, window);
    convolution.inputs[0] = pad.inputs[0];
}

/// Takes a channel map into the convolution that alone reads it. Where the convolution pads, `map` becomes the border that it
/// then need not pad, and the result is false; else the map goes.
constexpr bool take_channel_map(node& convolution, node& map) {
    convolution.from.normalized = map.from.self;
    convolution.weights.has_bias = true;
    const shape in = map.out.extents, out = convolution.out.extents;
    auto window = options_of<window2d>(convolution);
    kernel::conv2d_geometry g = detail::plane_geometry(window, in, out);
    if (!g.has_padding()) {
        convolution.inputs[0] = map.inputs[0];
        return true;
    }
    const channel_map_of& channels = *map.op->map;
    map.op = channels.border;
    map.rules = channels.border_rules;
    const auto covered = [](int outputs, int stride, int reach, int padding, int extent) {
        return std::max((outputs - 1) * stride + reach, padding + extent);
    };
    map.out.extents.height =
        covered(out.height, window.stride_height, g.window_height(), window.padding_top, in.height);
    map.out.extents.width = covered(out.width, window.stride_width, g.window_width(), window.padding_left, in.width);
    window2d border;
    border.padding_top = window.padding_top;
    border.padding_left = window.padding_left;
    set_options(map, border);
    window.padding_top = window.padding_left = 0;
    set_options(convolution, window);
    return false;
}

/// Fusion by traits, through branches and whatever the names are. A value that more than one node reads is never fused away.
template <int N> constexpr graph<N> fuse_nodes(const graph<N>& source) {
    const graph<N> plain = remove_identities(source);
    rewriter<N, N> to(plain);
    for (int i = 0; i != plain.size; ++i) {
        node n = to.take(i);
        node* before = n.input_count == 1 ? to.only_read_by(i) : nullptr;
        const unsigned merged = before == nullptr ? 0 : before->op->takes & n.op->gives & (bounds | channel_affine);
        if (merged != 0 && before->flags.keep_float == n.flags.keep_float && before->fused.is_empty() &&
            !(merged == channel_affine && before->from.folded >= 0)) {
            n.rules->merge(*before, n);
            if (before->name[0] == 0) before->name = n.name;
            to.moved[i] = n.inputs[0];
            continue;
        }
        // Zeros and means around the image in front, which stands right before.
        for (int read = plain.nodes[i].inputs[0]; (n.op->takes & (zeros | channel_map)) != 0;) {
            if (to.uses[read] != 1 || to.moved[read] != to.result.size - 1) break;
            node& front = to.result.nodes[to.result.size - 1];
            const unsigned given = front.op->gives & n.op->takes & (zeros | channel_map);
            if (given == 0 || front.flags.keep_float != n.flags.keep_float) break;
            const bool goes = given == zeros ? (take_zeros(n, front), true) : take_channel_map(n, front);
            if (goes) --to.result.size;
            if (given != zeros) break;
            read = plain.nodes[read].inputs[0];
        }
        to.moved[i] = to.append(n);
    }
    return to.result;
}

}  // namespace zp::inline v0
