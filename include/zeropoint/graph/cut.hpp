// SPDX-License-Identifier: BSD-3-Clause
// A part of a node: what several workers compute of one, each some rows of the output or some of its channels, by the form of the whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <zeropoint/graph/context.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/window.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp::inline v0 {

/// Rows [begin, end) along one extent.
struct row_range {
    int begin = 0, end = 0;
    constexpr int count() const { return end - begin; }
};
/// Part `part` of so many rows cut into `parts`.
constexpr row_range part_of_rows(int rows, int part, int parts) {
    return {static_cast<int>(std::int64_t{rows} * part / parts),
            static_cast<int>(std::int64_t{rows} * (part + 1) / parts)};
}

namespace detail {

/// The extents of pixels, outermost first: rows lie along one of them, and are contiguous where all before it are 1.
inline constexpr std::array pixel_extents{&shape::depth, &shape::height, &shape::width};

/// Along which of pixel_extents the rows of a value lie; the last one where it is a single pixel.
constexpr int row_axis(const shape& s) {
    int axis = 0;
    while (axis != 2 && s.*pixel_extents[static_cast<std::size_t>(axis)] == 1) ++axis;
    return axis;
}
constexpr cut_rule rule_of_cut(const operator_info& op) {
    if (op.cut != cut_rule::by_stream) return op.cut;
    if (op.stream == stream_rule::pointwise) return cut_rule::pointwise;
    return op.stream == stream_rule::windowed ? cut_rule::windowed : cut_rule::whole;
}

/// A window along one extent, and where the options of its node have its padding.
struct window_along {
    int kernel = 1, stride = 1, dilation = 1, padding = 0, padding_option = -1;
    constexpr int extent() const { return (kernel - 1) * dilation + 1; }
};
/// Of a window2d or window3d along an axis; padding_option is -1 where it has none along that axis.
constexpr window_along window_of_rows(const node& n, cut_rule rule, int axis) {
    if (axis == 0) {
        if (rule != cut_rule::volume_windowed) return {};
        const auto w = options_of<window3d>(n);
        return {w.kernel_depth, w.stride_depth, w.dilation_depth, w.padding_front, 11};
    }
    const auto w = options_of<window2d>(n);  // the options that a window3d begins with
    if (axis == 1) return {w.kernel_height, w.stride_height, w.dilation_height, w.padding_top, 4};
    return {w.kernel_width, w.stride_width, w.dilation_width, w.padding_left, 5};
}
static_assert(std::string_view(window2d::names[4]) == "padding_top" &&
              std::string_view(window2d::names[5]) == "padding_left" &&
              std::string_view(window3d::names[4]) == "padding_top" &&
              std::string_view(window3d::names[5]) == "padding_left" &&
              std::string_view(window3d::names[11]) == "padding_front");

/// Whether each row of the output depends on that row of the inputs alone, so that values of several calls, one behind the other, may be one
/// value of as many times the rows.
constexpr bool has_rows_apart(const node_view& v) {
    const operator_info& op = *v.n.op;
    const shape& y = v.y_shape();
    if (v.n.input_count == 0 || op.is_input || op.is_output || op.states != nullptr) return false;
    if (op.is_connected) return y.height == 1 && !y.is_volume();
    const cut_rule rule = rule_of_cut(op);
    const bool is_windowed = rule == cut_rule::windowed || rule == cut_rule::volume_windowed;
    if (!is_windowed && rule != cut_rule::pointwise) return false;
    for (int axis = 0; axis != 3; ++axis) {
        if (is_windowed) {
            const window_along window = window_of_rows(v.n, rule, axis);
            if (window.kernel != 1 || window.stride != 1 || window.padding != 0) return false;
        }
        const auto extent = pixel_extents[static_cast<std::size_t>(axis)];
        for (int k = 0; k != v.n.input_count; ++k)
            if (v.x_shape(k).*extent != y.*extent) return false;
    }
    return true;
}

}  // namespace detail

/// Node `nodes[0]`, with some rows of the output, over `nodes[1 + k]`, its inputs with the rows that those need.
struct cut_nodes {
    std::array<node, 1 + max_inputs> nodes;
    std::array<int, 1 + max_inputs> first_value{};  // of the whole value, where the part begins
    bool is_possible = true;                        // else nothing else is meant

    /// The whole node with image `image` of its values, of which several stand one behind the other.
    static constexpr cut_nodes of_image(const node_view& v, int image) {
        cut_nodes all;
        all.nodes[0] = v.n;
        all.first_value[0] = image * v.y_shape().size();
        for (int k = 0; k != v.n.input_count; ++k) {
            const std::size_t i = 1 + static_cast<std::size_t>(k);
            all.nodes[i] = v.nodes[v.n.inputs[k]];
            all.nodes[0].inputs[k] = static_cast<short>(i);
            all.first_value[i] = image * v.x_shape(k).size();
        }
        return all;
    }

    constexpr cut_nodes(const node_view& v, row_range rows) : cut_nodes(v) { take(v, rows); }
    /// The whole node and its inputs, for take().
    constexpr explicit cut_nodes(const node_view& v) {
        nodes[0] = v.n;
        for (int k = 0; k != v.n.input_count; ++k) {
            nodes[static_cast<std::size_t>(k) + 1] = v.nodes[v.n.inputs[k]];
            nodes[0].inputs[k] = static_cast<short>(1 + k);
        }
    }
    /// Becomes other rows of the same view. Nodes are large, and copying them is most of what a try costs at compile time.
    constexpr void take(const node_view& v, row_range rows) {
        const cut_rule rule = detail::rule_of_cut(*v.n.op);
        const int axis = detail::row_axis(v.y_shape());
        nodes[0].out.extents = v.y_shape();
        is_possible = rule != cut_rule::whole && v.n.input_count != 0;
        take_rows(0, axis, rows);
        for (int k = 0; k != v.n.input_count; ++k) {
            const int i = 1 + k;
            nodes[static_cast<std::size_t>(i)].out.extents = v.x_shape(k);
            const bool is_windowed = rule == cut_rule::windowed || rule == cut_rule::volume_windowed;
            if (is_windowed && k == 0) take_window(axis, rows, detail::window_of_rows(v.n, rule, axis));
            else if (rule != cut_rule::matrices || k == 0 || axis != 2) take_same(v, i, axis, rows);
        }
    }

private:
    constexpr cut_nodes() = default;
    constexpr int& extent(int i, int axis) {
        return nodes[static_cast<std::size_t>(i)].out.extents.*detail::pixel_extents[static_cast<std::size_t>(axis)];
    }
    /// Value i, whose rows lie along an axis, becomes some of them.
    constexpr void take_rows(int i, int axis, row_range rows) {
        shape& extents = nodes[static_cast<std::size_t>(i)].out.extents;
        for (int outer = 0; outer != axis; ++outer) is_possible = is_possible && extent(i, outer) == 1;
        first_value[static_cast<std::size_t>(i)] = extents.size() / extent(i, axis) * rows.begin;
        extent(i, axis) = rows.count();
        nodes[static_cast<std::size_t>(i)].out.flattened = {0, 0, 0};
    }
    /// The rows of the output, or the one row that all of them read.
    constexpr void take_same(const node_view& v, int i, int axis, row_range rows) {
        const int whole = v.y_shape().*detail::pixel_extents[static_cast<std::size_t>(axis)];
        if (extent(i, axis) == whole) take_rows(i, axis, rows);
        else is_possible = is_possible && extent(i, axis) == 1;
    }
    /// The rows that windows cover, with the padding that is left of what is in front.
    constexpr void take_window(int axis, row_range rows, const detail::window_along& window) {
        const int whole = extent(1, axis);
        const int first = rows.begin * window.stride - window.padding;
        const int end = (rows.end - 1) * window.stride - window.padding + window.extent();
        const row_range read{std::max(first, 0), std::min(end, whole)};
        is_possible = is_possible && window.padding_option >= 0 && read.count() > 0;
        if (!is_possible) return;
        take_rows(1, axis, read);
        nodes[0].options[window.padding_option] = read.begin - first;
    }
};

/// How a node is cut: into rows of its output or, where its form can, into panels of channels. Which of these, and into how many parts,
/// changes no result.
struct node_cut {
    int rows = 0, row_unit = 1, row_parts = 1;         // parts of rows begin at multiples of the unit
    int panels = 0, panel_unit = 1, panel_parts = 0;   // the same of channels; 0: it is not cut so
    int repeated_by_rows = 0, repeated_by_panels = 0;  // see kernel::conv2d_cut
    int scratch_bytes = 0;                             // that a part of rows may need
    std::int64_t work = 0;                             // in nanoseconds, by estimate

    struct choice {
        int parts = 1;  // 1: it is computed whole
        bool by_panels = false;
    };
    /// What is worth it for so many workers: the cut whose largest part is done first.
    constexpr choice choose(int workers, std::int64_t least_work) const {
        const std::int64_t worth = least_work > 0 ? work / least_work : workers;
        const auto most = [&](int parts) {
            return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>({parts, workers, worth})));
        };
        const auto time = [](int parts, int of, int repeated) {
            const std::int64_t largest = (of + parts - 1) / parts;
            return repeated + (1024 - repeated) * largest / of;
        };
        const int by_rows = most(row_parts), by_panels = most(panel_parts);
        if (by_panels > 1 && (by_rows == 1 || time(by_panels, panel_parts, repeated_by_panels) <
                                                  time(by_rows, row_parts, repeated_by_rows)))
            return {by_panels, true};
        return {by_rows, false};
    }
    constexpr row_range rows_of(int part, int parts) const {
        const auto begin = [&](int k) {
            return k == parts ? rows : part_of_rows(row_parts, k, parts).begin * row_unit;
        };
        return {begin(part), begin(part + 1)};
    }
    constexpr kernel::panel_range panels_of(int part, int parts) const {
        const auto begin = [&](int k) {
            return k == parts ? panels : part_of_rows(panel_parts, k, parts).begin * panel_unit;
        };
        return {begin(part), begin(part + 1)};
    }
    /// Whether any number of workers cuts it into rows.
    constexpr bool takes_rows() const {
        if (row_parts < 2 || panel_parts < 2) return row_parts > 1;
        for (int workers = 2; workers <= row_parts; ++workers)
            if (const choice one = choose(workers, 0); one.parts > 1 && !one.by_panels) return true;
        return false;
    }
    constexpr bool is_cut() const { return row_parts > 1 || panel_parts > 1; }
};

namespace detail {

constexpr std::int64_t bytes_of(const value_type& value) {
    return std::int64_t{value.extents.size()} * size_of(value.storage);
}
/// Nanoseconds that a node takes on one core with vectors of 32 bytes: products as kernels make them on average, of codes and of floats,
/// and bytes read and written, of states half of them, as a cache of keys and values is filled on average. A machine of less has more
/// work than this says, which is cut as well.
constexpr std::int64_t work_of(const node_view& v) {
    const bool is_float = v.n.is_float() && v.n.weights.products == scalar_type::float32 && v.x_type().is_float();
    std::int64_t bytes = bytes_of(v.y_type());
    for (int k = 0; k != v.n.input_count; ++k) bytes += bytes_of(v.x_type(k));
    bytes += states_of(v).bytes() / 2;
    return macs_of(v) / (is_float ? 16 : 64) + bytes / 24;
}
/// Bytes of scratch that a part of rows may need.
template <class Form> constexpr int scratch_bytes_of_rows(const node_view& v) {
    if constexpr (requires { Form::most_scratch_bytes(v); }) return Form::most_scratch_bytes(v);
    else return scratch_bytes_of<Form>(v);
}
/// Whether a form computes the rows of a node as it does the whole, from parameters of as many bytes and in no more scratch than
/// these. `part` is of the same view.
template <class Form>
constexpr bool computes_rows(const node_view& v, cut_nodes& part, row_range rows, int parameter_bytes,
                             int scratch_bytes) {
    part.take(v, rows);
    if (!part.is_possible) return false;
    const node_view at{part.nodes.data(), part.nodes[0]};
    if constexpr (requires { Form::computes_alike(at, v); })
        if (!Form::computes_alike(at, v)) return false;
    return parameter_bytes_of<Form>(at) == parameter_bytes && scratch_bytes_of<Form>(at) <= scratch_bytes;
}
/// The same of one range alone.
template <class Form> constexpr bool computes_rows(const node_view& v, row_range rows) {
    cut_nodes part(v);
    return computes_rows<Form>(v, part, rows, parameter_bytes_of<Form>(v), scratch_bytes_of_rows<Form>(v));
}

}  // namespace detail

/// How a node is cut that a form computes: into rows, of which each part has so many that the form computes it as it does the whole, or
/// into panels, which are those that its form says or the channel_groups of its operator. What a form says of that, where it says anything:
///
/// - `is_whole`, true where it is not cut: its extents are fixed, or it looks at all of its input first.
/// - `computes_alike(part, whole)`, two views: false where few rows are computed in another way, whose floats differ.
/// - `cut(view)`, a kernel::conv2d_cut, and `run` then computes context::panels of the output alone.
/// - `most_scratch_bytes(view)`, what so many rows or fewer need, where fewer may need more.
template <class Form> constexpr node_cut cut_of(const node_view& v) {
    if constexpr (requires { requires Form::is_whole; }) return {};
    else {
        const auto groups = v.n.op->channel_groups;
        if (detail::rule_of_cut(*v.n.op) == cut_rule::whole && groups == nullptr) return {};
        const shape& y = v.y_shape();
        node_cut cut;
        cut.work = detail::work_of(v);
        if (groups != nullptr) {
            cut.panels = groups(v);
            cut.panel_parts = cut.panels > 1 ? cut.panels : 0;
        }
        cut.rows = y.*detail::pixel_extents[static_cast<std::size_t>(detail::row_axis(y))];
        if constexpr (requires { Form::cut(v); }) {
            const kernel::conv2d_cut by = Form::cut(v);
            cut.row_unit = by.row_unit;
            cut.panels = by.panels;
            cut.panel_unit = by.panel_unit;
            cut.panel_parts = (by.panels + by.panel_unit - 1) / by.panel_unit;
            if (cut.panel_parts == 1) cut.panel_parts = 0;
            cut.repeated_by_rows = by.repeated_by_rows;
            cut.repeated_by_panels = by.repeated_by_panels;
        }
        const int rows = cut.rows;
        if (rows < 2) return cut;
        const int parameters = detail::parameter_bytes_of<Form>(v), scratch = detail::scratch_bytes_of_rows<Form>(v);
        cut_nodes part(v);
        for (int least = 1; 2 * least <= rows; least *= 2) {
            const int middle = rows / 2, last = rows - least;
            const row_range some[] = {{0, least},   {middle, middle + least}, {last, rows},
                                      {0, middle},  {middle, rows},           {0, last},
                                      {least, rows}};
            bool all = true;
            for (int k = 0; k != 7 && all; ++k)
                all = detail::computes_rows<Form>(v, part, some[k], parameters, scratch);
            if (!all) continue;
            cut.row_unit = std::max(cut.row_unit, least);
            cut.row_parts = std::max(1, rows / cut.row_unit + (rows % cut.row_unit >= least));
            cut.scratch_bytes = scratch;
            break;
        }
        return cut;
    }
}

/// Runs some panels of a node's channels, in scratch that begins so far into the arena. States of all of them have begun.
inline void run_panels(run_function run, const node& n, const context& c, kernel::panel_range panels,
                       int scratch_offset) noexcept {
    node part = n;
    part.at.scratch_offset = scratch_offset;
    part.flags.keeps_state = true;
    context own = c;
    own.panels = panels;
    run(part, own);
}
/// Runs a part of a node, in scratch that begins so far into the arena.
inline void run_part(run_function run, const node& n, const context& c, cut_nodes part, int scratch_offset) noexcept {
    const void* xs[max_inputs] = {};
    void* ys[1 + max_inputs] = {};
    const auto begin = [&](std::size_t i, const std::byte* whole) {
        return whole + static_cast<std::ptrdiff_t>(part.first_value[i]) * size_of(part.nodes[i].out.storage);
    };
    // All values are the caller's memory to the part: inputs of the model by number k, others by number 1 + k.
    ys[0] = const_cast<std::byte*>(begin(0, c.out<std::byte>(n)));
    part.nodes[0].at.arena_offset = in_user_output;
    part.nodes[0].at.scratch_offset = scratch_offset;
    for (std::size_t k = 0; k != static_cast<std::size_t>(n.input_count); ++k) {
        node& input = part.nodes[1 + k];
        const std::byte* values = begin(1 + k, c.in<std::byte>(n, static_cast<int>(k)));
        xs[k] = values;
        ys[1 + k] = const_cast<std::byte*>(values);
        if (input.op->is_input) input.options[0] = static_cast<int>(k);
        input.at.arena_offset = in_user_output - 1 - static_cast<int>(k);
    }
    const context own{part.nodes.data(), c.parameters, c.ranges, c.arena, xs, ys, c.state};
    run(part.nodes[0], own);
}
/// Runs some rows of a node.
inline void run_rows(run_function run, const node& n, const context& c, row_range rows, int scratch_offset) noexcept {
    run_part(run, n, c, cut_nodes(c.view(n), rows), scratch_offset);
}
/// Runs a node over one of several images, whose values stand one behind the other.
inline void run_image(run_function run, const node& n, const context& c, int image) noexcept {
    run_part(run, n, c, cut_nodes::of_image(c.view(n), image), n.at.scratch_offset);
}

}  // namespace zp::inline v0
