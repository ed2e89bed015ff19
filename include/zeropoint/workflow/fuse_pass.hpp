// The constexpr half of fuse: batch norms and zeros around an image into the layers beside them, clamps into what they follow.
#pragma once

#include <algorithm>

#include <zeropoint/layer/operator_description.hpp>
#include <zeropoint/model/graph.hpp>

namespace zp {
inline namespace v0 {

template <int N> constexpr void count_uses(const graph<N>& g, int (&uses)[N]) {
    for (int i = 0; i != N; ++i) uses[i] = 0;
    for (int i = 0; i != g.size; ++i)
        for (int k = 0; k != g.nodes[i].input_count; ++k) ++uses[g.nodes[i].inputs[k]];
}

/// Rows that do nothing at inference go: dropout, stubs, and a flatten that only linear layers read (NHWC memory does
/// not change). What a model with quant_stubs leaves outside of quant_stub ... dequant_stub is marked to stay float.
template <int N> constexpr graph<N> remove_identities(const graph<N>& g) {
    bool has_stubs = false, quantized[N] = {}, only_linear[N] = {}, dropped[N] = {};
    for (int i = 0; i != g.size; ++i) has_stubs = has_stubs || g.nodes[i].kind == op::quant_stub;
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        bool inside = row.input_count != 0;
        for (int k = 0; k != row.input_count; ++k) inside = inside && quantized[row.inputs[k]];
        quantized[i] = row.kind == op::quant_stub || (inside && row.kind != op::dequant_stub);
    }
    for (int i = g.size - 1; i >= 0; --i) {  // is every path onward through identities a linear layer?
        bool all = i != g.size - 1, any = false;
        for (int j = i + 1; j != g.size; ++j)
            for (int k = 0; k != g.nodes[j].input_count; ++k)
                if (g.nodes[j].inputs[k] == i) {
                    any = true;
                    all = all && (g.nodes[j].kind == op::linear || (is_identity(g.nodes[j].kind) && only_linear[j]));
                }
        only_linear[i] = any && all;
        const op kind = g.nodes[i].kind;
        dropped[i] = is_identity(kind) || (kind == op::flatten && only_linear[i]);
    }
    int moved[N] = {};
    graph<N> r;
    r.error = g.error;
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        if (dropped[i] && !(i == g.size - 1 && moved[row.inputs[0]] == 0)) {
            moved[i] = moved[row.inputs[0]];
            continue;
        }
        node& kept = r.nodes[r.size] = row;
        kept.origin = static_cast<short>(i);
        kept.outside_stubs = has_stubs && !quantized[i];
        kept.keep_float = row.keep_float || kept.outside_stubs;
        for (int k = 0; k != row.input_count; ++k) kept.inputs[k] = static_cast<short>(moved[row.inputs[k]]);
        moved[i] = r.size++;
    }
    return r;
}

/// Takes the zeros that the last row of `r` puts around an image into the padding of the convolution that alone reads it.
template <int N> constexpr void fold_zeros(graph<N>& r, node& convolution, const node& pad) {
    kernel::conv2d_geometry& window = convolution.window;
    window.padding_top += pad.described->zeros->before[0];
    window.padding_left += pad.described->zeros->before[1];
    window.in = convolution.in = pad.in;
    convolution.inputs[0] = pad.inputs[0];
    --r.size;
}

/// Takes the channel_map that is the last row of `r` into the convolution that alone reads it: the row goes, or becomes the
/// border that the convolution then need not pad.
template <int N> constexpr void fold_channel_map(graph<N>& r, node& convolution, const node& map) {
    convolution.normalized = map.origin;
    convolution.bias = true;
    kernel::conv2d_geometry& window = convolution.window;
    if (!window.has_padding()) {
        convolution.inputs[0] = map.inputs[0];
        --r.size;
        return;
    }
    node border = map;
    border.kind = op::pad;
    border.described = map.described->map->border;
    border.steps = map.described->map->border_steps;
    const auto covered = [](int outputs, int stride, int reach, int padding, int extent) {
        return std::max((outputs - 1) * stride + reach, padding + extent);
    };
    border.out.height =
        covered(window.out.height, window.stride_height, window.window_height(), window.padding_top, map.out.height);
    border.out.width =
        covered(window.out.width, window.stride_width, window.window_width(), window.padding_left, map.out.width);
    border.window.padding_top = window.padding_top;
    border.window.padding_left = window.padding_left;
    window.padding_top = window.padding_left = 0;
    convolution.in = window.in = border.window.out = border.out;
    r.nodes[r.size - 1] = border;
}

/// Fusion by type, through branches and whatever the names are. A value that more than one row reads is never fused away.
template <int N> constexpr graph<N> fuse_rows(const graph<N>& source) {
    const graph<N> g = remove_identities(source);
    int uses[N] = {}, moved[N] = {};
    count_uses(g, uses);
    graph<N> r;
    r.error = g.error;
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        if (row.input_count == 1 && uses[row.inputs[0]] == 1) {
            node& producer = r.nodes[moved[row.inputs[0]]];
            const bool together = producer.keep_float == row.keep_float && producer.activation == op::none;
            const bool folds = row.kind == op::batch_norm && is_weighted(producer.kind) && producer.folded < 0;
            const bool clamps = is_clamp(row.kind) && fuses_clamps(producer);
            if (together && (folds || clamps)) {
                if (folds) {
                    producer.folded = row.origin;
                    producer.bias = true;
                } else {
                    producer.activation = row.kind;
                    producer.lowest = row.lowest;
                    producer.highest = row.highest;
                }
                if (producer.name[0] == 0) producer.name = row.name;
                moved[i] = moved[row.inputs[0]];
                continue;
            }
        }
        r.nodes[r.size] = row;
        for (int k = 0; k != row.input_count; ++k) r.nodes[r.size].inputs[k] = static_cast<short>(moved[row.inputs[k]]);
        int front_row = row.inputs[0];
        while (row.kind == op::conv2d && uses[front_row] == 1 && moved[front_row] == r.size - 1) {
            node convolution = r.nodes[r.size];
            const node front = r.nodes[r.size - 1];
            if (front.described == nullptr || front.keep_float != row.keep_float) break;
            const bool pads = front.described->zeros != nullptr;
            if (pads) fold_zeros(r, convolution, front);
            else if (front.described->map != nullptr) fold_channel_map(r, convolution, front);
            r.nodes[r.size] = convolution;
            if (!pads) break;
            front_row = g.nodes[front_row].inputs[0];
        }
        moved[i] = r.size++;
    }
    return r;
}

}  // namespace v0
}  // namespace zp
