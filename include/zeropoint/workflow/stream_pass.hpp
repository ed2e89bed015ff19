// The constexpr half of streaming: the rows of a model over a sequence, one step at a time.
#pragma once

#include <cstddef>
#include <cstring>

#include <zeropoint/layer/embedding_geometry.hpp>
#include <zeropoint/layer/operation.hpp>
#include <zeropoint/layer/recurrent_geometry.hpp>
#include <zeropoint/model/graph.hpp>

namespace zp {
inline namespace v0 {
namespace operators {

/// The last steps of a value, as many as the convolution behind it reads: its output stays where it is from call to call.
struct stream_window {
    static constexpr const char* kind = "window";
    static constexpr output_range range = output_range::of_input;
    static constexpr bool takes_words = true;

    static constexpr shape output_shape(shape x) { return x; }
    template <class T> static void forward(const operands<T>& o) noexcept {
        const auto column = static_cast<std::size_t>(o.x_shape().size()),
                   kept = static_cast<std::size_t>(o.y_shape().size()) - column;
        std::memmove(o.y(), o.y() + column, kept * sizeof(T));
        std::memcpy(o.y() + kept, o.x(), column * sizeof(T));
    }
};

}  // namespace operators

/// A row of stream_rows() that keeps its output.
constexpr bool is_stream_window(const node& row) { return row.described == &description_of<operators::stream_window>; }

/// How many steps of zeros a row puts in front of a sequence; 0 where it is no such row.
constexpr int steps_in_front(const node& row) {
    if (row.kind != op::pad || row.described == nullptr || row.described->options.size() != 8) return 0;
    for (int i = 1; i != 8; ++i)
        if (row.described->options[static_cast<std::size_t>(i)] != 0) return 0;
    return row.described->options[0];
}

/// Whether each step of the output depends on that step of the inputs alone.
constexpr bool is_step_by_step(const node& row) {
    if (is_identity(row.kind) || row.kind == op::linear || row.kind == op::concat || row.kind == op::input) return true;
    if (row.kind == op::quantize || row.kind == op::dequantize || is_elementwise(row)) return true;
    if (is_embedding(row)) return !row.described->embedding->by_place;  // of all indices: its output is as long
    if (row.described == nullptr || !row.described->takes_volumes) return false;
    switch (row.kind) {
        case op::mul:
        case op::sub:
        case op::div:
        case op::maximum:
        case op::minimum:
        case op::squared_difference:
        case op::prelu:
        case op::softmax:
        case op::log_softmax:
        case op::layer_norm:
        case op::unfused_batch_norm:
        case op::l2_normalization:
        case op::sort: return true;
        default: return false;
    }
}

/// A recurrent row of one layer, from the first step to the last.
constexpr bool streams_state(const node& row) {
    if (!is_recurrent(row)) return false;
    const recurrent_options& options = row.described->recurrent->options;
    return options.layers == 1 && !options.bidirectional && options.output == recurrent_output::all_steps;
}

/// At most twice the rows: one that keeps the last steps, in front of every convolution.
template <int M, int N> constexpr graph<M> stream_rows(const graph<N>& g) {
    graph<M> r;
    r.error = g.error;
    r.slots = g.slots;
    int moved[N] = {}, in_front[N] = {};  // where a row's values are, and how many steps of zeros lie before them
    const int length = g.nodes[0].out.width;
    const auto one_step = [](shape extents) { return shape{1, 1, extents.channels}; };
    for (int i = 0; i != g.size; ++i) {
        node row = g.nodes[i];
        row.origin = static_cast<short>(i);
        bool possible = row.out.height == 1 && !row.out.is_volume();
        const int producer = row.input_count == 0 ? -1 : row.inputs[0];
        if (const int steps = steps_in_front(row); steps != 0) {
            moved[i] = moved[producer];
            in_front[i] = in_front[producer] + steps;
            continue;
        }
        const bool keeps_zeros = row.kind == op::quantize || row.kind == op::dequantize || row.kind == op::requantize;
        if (keeps_zeros) in_front[i] = in_front[producer];
        possible = possible && row.out.width == length + in_front[i];
        for (int k = 0; k != row.input_count; ++k) {
            const int read = row.inputs[k];
            row.inputs[k] = static_cast<short>(moved[read]);
            if (row.kind == op::conv2d && k == 0) continue;
            possible = possible && in_front[read] == in_front[i];
        }
        row.in = one_step(row.in);
        row.out = one_step(row.out);
        if (row.kind == op::conv2d) {  // with padding of its own, or behind rows of zeros
            kernel::conv2d_geometry& w = row.window;
            const int span = w.window_width();
            possible = possible && row.one_dimensional && !row.dynamic && w.stride_width == 1 &&
                       in_front[producer] + w.padding_left == span - 1;
            w.padding_left = 0;
            if (span != 1) {
                const node& value = r.nodes[row.inputs[0]];
                node window;
                window.kind = op::custom;
                window.described = &description_of<operators::stream_window>;
                window.steps = &steps_of<operators::stream_window>;
                window.type = value.type;
                window.slot = value.slot;
                window.config = value.config;
                window.quant_min = value.quant_min;
                window.quant_max = value.quant_max;
                window.input_count = 1;
                window.inputs[0] = row.inputs[0];
                window.in = window.window.in = value.out;
                window.out = window.window.out = {1, span, value.out.channels};
                row.inputs[0] = static_cast<short>(r.size);
                row.in = window.out;
                r.nodes[r.size++] = window;
            }
        } else {
            possible = possible && (is_step_by_step(row) || streams_state(row));
            row.keeps_state = is_recurrent(row);
        }
        row.window.in = row.in;
        row.window.out = row.out;
        if (!possible && r.error.broken == rule::none) {
            r.error = {rule::cannot_stream, r.size, g.nodes[i].in, g.nodes[i].out};
        }
        moved[i] = r.size;
        r.nodes[r.size++] = row;
    }
    return r;
}

/// What is kept from call to call, windows and the scratch of recurrent rows, gets places behind those of one call.
template <int N> constexpr void place_kept(graph<N>& g) {
    const auto put = [&](int bytes) {
        const int offset = g.arena_bytes;
        g.arena_bytes += static_cast<int>(align_up(static_cast<std::size_t>(bytes)));
        return offset;
    };
    for (int i = 0; i != g.size; ++i) {
        node& row = g.nodes[i];
        if (is_stream_window(row)) row.arena_offset = put(row.out.size() * size_of(row.type));
        if (row.keeps_state) row.scratch_offset = put(row.scratch_bytes);
    }
}

}  // namespace v0
}  // namespace zp
