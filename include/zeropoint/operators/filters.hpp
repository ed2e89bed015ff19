// SPDX-License-Identifier: BSD-3-Clause
// What operators with filters have in common: their parameters in files, their kernels by family, what these cost.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/graph/builder.hpp>
#include <zeropoint/kernel/convolution/conv2d.hpp>
#include <zeropoint/kernel/convolution/conv3d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose2d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose3d.hpp>
#include <zeropoint/graph/window.hpp>

namespace zp::inline v0::operators {

/// "weight" and "bias": filters of so many channels of so many weights inside, and as `file` says in files.
constexpr parameter_list filters_and_bias(const node_view& v, parameter_array file) {
    file.name = "weight";
    file.role = parameter_role::filters;
    parameter_list list;
    list.add(file);
    parameter_array bias{"bias", 1, {v.n.weights.channels, 1, 1, 1, 1}, parameter_role::bias};
    bias.in_state_dict = v.n.weights.has_bias;
    return list.add(bias);
}

/// The geometry that the kernels of a family take.
template <filter_kernels Family> constexpr auto geometry_for(const node_view& v) {
    if constexpr (Family == filter_kernels::conv3d) return volume_window(v);
    else if constexpr (Family == filter_kernels::conv_transpose2d) return transposed_window(v);
    else if constexpr (Family == filter_kernels::conv_transpose3d) return transposed_volume_window(v);
    else return v.n.op->geometry(v);
}

/// Whether filters are packed with zero points, as kernel::conv2d_weights::affine says.
constexpr bool packs_zero_points(const node& n) { return n.weights.affine || n.weights.packed_int16; }

constexpr bool is_transposed(filter_kernels family) {
    return family == filter_kernels::conv_transpose2d || family == filter_kernels::conv_transpose3d;
}

/// The kernels of one algorithm for nodes of one family. What each takes and gives: kernel/convolution/conv2d.hpp.
template <filter_kernels Family, class Arch, conv2d_algorithm Algorithm> struct kernels_of {
    static constexpr auto select() {
        if constexpr (Family == filter_kernels::conv3d) return kernel::conv3d_kernels<Arch, Algorithm>();
        else if constexpr (Family == filter_kernels::conv_transpose2d)
            return kernel::conv_transpose2d_kernels<Arch, Algorithm>();
        else if constexpr (Family == filter_kernels::conv_transpose3d)
            return kernel::conv_transpose3d_kernels<Arch, Algorithm>();
        else return kernel::conv2d_kernels<Arch, Algorithm>();
    }
    using kernels = decltype(select());

    static constexpr std::size_t packed_bytes(const node_view& v) {
        return kernels::packed_bytes(geometry_for<Family>(v), packs_zero_points(v.n));
    }
    static constexpr std::size_t scratch_bytes(const node_view& v) {
        return kernels::scratch_bytes(geometry_for<Family>(v));
    }
    static constexpr std::size_t most_scratch_bytes(const node_view& v) {
        if constexpr (Family == filter_kernels::conv2d) return kernels::most_scratch_bytes(geometry_for<Family>(v));
        else return scratch_bytes(v);
    }
    /// Whether a call takes several images.
    static constexpr bool takes_images = [] {
        if constexpr (Family == filter_kernels::conv2d) return kernels::is_winograd;
        else return false;
    }();
    /// What they need.
    static constexpr std::size_t scratch_bytes_of_images(const node_view& v, int images) {
        auto g = geometry_for<Family>(v);
        g.images = images;
        return kernels::scratch_bytes(g);
    }
    /// How a call is cut; filters of planes alone say it.
    static constexpr kernel::conv2d_cut cut([[maybe_unused]] const node_view& v) {
        if constexpr (Family == filter_kernels::conv2d) return kernels::cut(geometry_for<Family>(v));
        else return {};
    }
    template <class Weight>
    static void pack(const node_view& v, const kernel::conv2d_weights<Weight>& weights, kernel::activation_codes codes,
                     std::byte* packed) {
        kernels::pack(geometry_for<Family>(v), weights, codes, packed);
    }
    template <class Weight>
    static void unpack(const node_view& v, const std::int32_t* zero_points, kernel::activation_codes codes,
                       const std::byte* packed, Weight* values, std::int32_t* bias) {
        if constexpr (is_transposed(Family))
            kernels::unpack(geometry_for<Family>(v), zero_points, packs_zero_points(v.n), codes, packed, values, bias);
        else kernels::unpack(geometry_for<Family>(v), zero_points, codes, packed, values, bias);
    }
    template <class In, class Out, class Epilogue>
    static void run(const node_view& v, const In* x, kernel::activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, std::byte* scratch,
                    [[maybe_unused]] kernel::panel_range panels = {}, [[maybe_unused]] int images = 1) noexcept {
        if constexpr (Family == filter_kernels::conv2d) {
            kernel::conv2d_geometry g = geometry_for<Family>(v);
            g.panels = panels;
            if constexpr (takes_images) g.images = images;
            kernels::run(g, x, codes, packed, epilogue, y, scratch);
        } else if constexpr (is_transposed(Family))
            kernels::run(geometry_for<Family>(v), x, codes, packs_zero_points(v.n), packed, epilogue, y, scratch);
        else kernels::run(geometry_for<Family>(v), x, codes, packed, epilogue, y, scratch);
    }
};

// What planning and tables ask of a node, whose family is known when they run.

/// The window of a convolution's output: that of a plane over a volume, of planes side by side.
constexpr kernel::conv2d_geometry window_of_output(const node_view& v) {
    return v.n.op->filters == filter_kernels::conv3d ? volume_window(v).stacked() : v.n.op->geometry(v);
}
constexpr int groups_of_filters(const node_view& v) {
    return v.n.op->filters == filter_kernels::conv3d || v.n.op->filters == filter_kernels::conv_transpose3d
               ? options_of<window3d>(v.n).groups
           : v.n.op->is_connected ? 1
                                  : options_of<window2d>(v.n).groups;
}
/// From in x out/groups x taps in files to out x taps x in/groups.
constexpr array_order order_of_transposed(int groups, int group_in, int group_out, int taps) {
    return {{groups, group_in, group_out, taps}, {group_out * taps * group_in, 1, taps * group_in, group_in}};
}
/// The weight of a file is out x in/groups x the extents of the window, of transposed convolutions in x out/groups x those.
template <filter_kernels Family>
constexpr parameter_list parameters_of_window(const node_view& v, int groups, int rank, int first, int second,
                                              int third) {
    const int channels = v.n.weights.channels, taps = first * second * third,
              group_in = v.n.weights.count / (channels * taps);
    parameter_array weight{"weight", rank, {channels, group_in, first, second, third}};
    if constexpr (is_transposed(Family)) {
        weight.extents[0] = group_in * groups;
        weight.extents[1] = channels / groups;
        weight.order = order_of_transposed(groups, group_in, channels / groups, taps);
    } else {
        weight.order = transposed_order(channels, group_in, taps);
    }
    return filters_and_bias(v, weight);
}
template <filter_kernels Family> constexpr parameter_list parameters_of_window2d(const node_view& v) {
    const auto w = options_of<window2d>(v.n);
    const bool is_sequence = w.one_dimensional != 0;
    return parameters_of_window<Family>(v, w.groups, is_sequence ? 3 : 4,
                                        is_sequence ? w.kernel_width : w.kernel_height,
                                        is_sequence ? 1 : w.kernel_width, 1);
}
template <filter_kernels Family> constexpr parameter_list parameters_of_window3d(const node_view& v) {
    const auto w = options_of<window3d>(v.n);
    return parameters_of_window<Family>(v, w.groups, 5, w.kernel_depth, w.kernel_height, w.kernel_width);
}

/// Whether an algorithm can compute a node.
constexpr bool supports(const node_view& v, conv2d_algorithm algorithm) {
    const bool int16 = v.x_type().storage == scalar_type::int16;
    if (v.n.op->filters == filter_kernels::conv_transpose2d)
        return int16 ? kernel::supports_int16(transposed_window(v), algorithm)
                     : kernel::supports(transposed_window(v), algorithm);
    if (v.n.op->filters == filter_kernels::conv_transpose3d)
        return !int16 && kernel::supports(transposed_volume_window(v), algorithm);
    return int16 ? kernel::supports_int16(window_of_output(v), algorithm)
                 : kernel::supports(window_of_output(v), algorithm);
}
/// Bytes of scratch of a node computed by an algorithm, a multiple of 64.
template <class Arch> constexpr std::size_t scratch_bytes_by(const node_view& v, conv2d_algorithm algorithm) {
    switch (v.n.op->filters) {
        case filter_kernels::conv3d:
            return kernel::with_conv3d_kernels<Arch>(
                volume_window(v), algorithm, [&](auto kernels) { return kernels.scratch_bytes(volume_window(v)); });
        case filter_kernels::conv_transpose2d:
            return kernel::with_conv_transpose2d_kernels<Arch>(
                algorithm, [&](auto kernels) { return kernels.scratch_bytes(transposed_window(v)); });
        case filter_kernels::conv_transpose3d:
            return kernel::with_conv_transpose3d_kernels<Arch>(
                algorithm, [&](auto kernels) { return kernels.scratch_bytes(transposed_volume_window(v)); });
        default: return kernel::conv2d_scratch_bytes<Arch>(v.n.op->geometry(v), algorithm);
    }
}
/// What an algorithm that can compute a node costs it.
template <class Arch> constexpr kernel::conv2d_cost cost_of(const node_view& v, conv2d_algorithm algorithm) {
    if (v.n.op->filters == filter_kernels::conv_transpose2d)
        return kernel::cost_of_conv_transpose2d<Arch>(transposed_window(v), algorithm, packs_zero_points(v.n));
    if (v.n.op->filters == filter_kernels::conv_transpose3d)
        return kernel::cost_of_conv_transpose3d<Arch>(transposed_volume_window(v), algorithm, packs_zero_points(v.n));
    kernel::conv2d_cost cost = kernel::cost_of_conv2d<Arch>(window_of_output(v), algorithm, packs_zero_points(v.n));
    cost.nanoseconds *= v.y_shape().depth;  // the window is of one output plane
    if (v.x_type().storage == scalar_type::int16 && algorithm == conv2d_algorithm::implicit_gemm)
        cost.nanoseconds *= kernel::operations<Arch>::byte_products / kernel::operations<Arch>::word_products;
    return cost;
}
/// What packed filters hold.
template <class Arch> kernel::conv2d_description describe_filters(const node_view& v, const std::byte* packed) {
    const conv2d_algorithm algorithm = v.n.by.algorithm;
    if (v.n.op->filters == filter_kernels::conv_transpose3d)
        return kernel::with_conv_transpose3d_kernels<Arch>(algorithm, [&](auto kernels) {
            return kernels.describe(transposed_volume_window(v), packs_zero_points(v.n), packed);
        });
    if (v.n.op->filters == filter_kernels::conv_transpose2d)
        return kernel::with_conv_transpose2d_kernels<Arch>(algorithm, [&](auto kernels) {
            return kernels.describe(transposed_window(v), packs_zero_points(v.n), packed);
        });
    return kernel::describe_conv2d<Arch>(window_of_output(v), algorithm, packed);
}

/// Multiply-accumulates: an output pixel sees each weight once, of transposed convolutions an input pixel.
constexpr std::int64_t macs_of_outputs(const node_view& v) {
    return std::int64_t{v.y_shape().pixels()} * v.n.weights.count;
}
constexpr std::int64_t macs_of_inputs(const node_view& v) {
    return std::int64_t{v.x_shape().pixels()} * v.n.weights.count;
}

/// The record of an operator with filters.
constexpr operator_info make_filters(const operator_kind& kind, filter_kernels family,
                                     std::span<const char* const> options) {
    operator_info info;
    info.kind = &kind;
    info.name = kind.name;
    info.option_names = options;
    info.signed_by_kind = info.has_codes = info.multiplies = info.has_dynamic = true;
    info.filters = family;
    info.takes = bounds | channel_affine | function | addend;
    return info;
}
/// And its rules.
constexpr operator_rules make_filter_rules(std::int64_t (*macs)(const node_view&), const tap_sums_rule& tap_sums) {
    operator_rules rules;
    rules.macs = macs;
    rules.tap_sums = &tap_sums;
    return rules;
}

}  // namespace zp::inline v0::operators
