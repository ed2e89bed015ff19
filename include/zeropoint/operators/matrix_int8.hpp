// SPDX-License-Identifier: BSD-3-Clause
// Filters over codes of 8 bits: the block of a node, packed and unpacked, and its run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/gemm/small_linear.hpp>
#include <zeropoint/operators/filters.hpp>
#include <zeropoint/operators/fused_table.hpp>
#include <zeropoint/operators/int8_block.hpp>
#include <zeropoint/operators/requantization.hpp>

namespace zp::inline v0 {

/// The extents that a node's code is generated for: those of a small matrix product; rows = 0 for all other nodes.
constexpr kernel::linear_extents small_extents(const node_view& v) {
    const node& n = v.n;
    if (n.op->filters != filter_kernels::conv2d || n.is_float() || n.weights.affine) return {};
    if (v.x_type().storage == scalar_type::int16 || n.by.algorithm != conv2d_algorithm::implicit_gemm) return {};
    const kernel::linear_extents extents = kernel::linear_extents_of(n.op->geometry(v));
    const bool is_worth_it = extents.are_small() && (extents.rows == 1 || !n.fused.adds_input_1);
    return is_worth_it ? extents : kernel::linear_extents{};
}
/// Whether a node's weights are packed as int16: small, faster so, and not asked to be as small as can be.
template <class Arch> constexpr bool takes_int16_panels(const node_view& v) {
    const kernel::linear_extents extents = small_extents(v);
    if (extents.rows == 0 || !extents.prefer_words() || v.n.by.policy.goal == algorithm_goal::smallest) return false;
    const value_type& x = v.x_type();
    return !kernel::always_byte_quads<Arch>({x.quant_min, x.quant_min, x.quant_max}, v.n.weights.quant_min,
                                            v.n.weights.quant_max);
}

namespace operators {

/// portable_quads where that is enough.
template <auto Key, class Arch> constexpr auto find_filters_architecture() {
    if constexpr (std::is_same_v<Arch, portable> && !Key.affine && Key.weights == scalar_type::int8 &&
                  Key.family == filter_kernels::conv2d && Key.algorithm == conv2d_algorithm::implicit_gemm)
        return std::type_identity<portable_quads<storage_of<Key.input>>>();
    else return std::type_identity<Arch>();
}

/// In, Weight and Out are the storage types of 8 bits; what else tells forms apart is in Key: see matrix.hpp.
template <auto Key, class Arch, class Requantization> struct int8_filters {
    using in = storage_of<Key.input>;
    using out = storage_of<Key.output>;
    using weight = storage_of<Key.weights>;
    using kernels =
        kernels_of<Key.family, typename decltype(find_filters_architecture<Key, Arch>())::type, Key.algorithm>;
    using block = int8_block<Requantization, weight>;
    using offsets = int8_offsets<Requantization>;
    using product = kernel::small_linear<Arch, Key.small.rows, Key.small.depth, Key.small.channels, Key.int16_panels,
                                         Key.fine_table>;
    static constexpr bool is_small = Key.small.rows != 0, is_whole = is_small;
    /// In front of the numbers of channels.
    static constexpr int near_bytes = [] {
        if constexpr (is_small && Key.fine_table)
            return product::takes_near_table ? int{sizeof(kernel::near_table)} : 0;
        else return 0;
    }();

    static constexpr int parameter_bytes(const node_view& v) {
        return offsets(static_cast<int>(align_up(kernels::packed_bytes(v))) + near_bytes, v.n).bytes;
    }
    static constexpr int scratch_bytes(const node_view& v) {
        std::size_t bytes = kernels::scratch_bytes(v);
        if constexpr (is_small)
            bytes = std::max(bytes, kernels::kernels::scratch_bytes(kernel::geometry_of(Key.small)));
        return static_cast<int>(bytes);
    }

    static constexpr int most_scratch_bytes(const node_view& v) {
        return static_cast<int>(kernels::most_scratch_bytes(v));
    }
    static constexpr int scratch_bytes_of_images(const node_view& v, int images) requires kernels::takes_images {
        return static_cast<int>(kernels::scratch_bytes_of_images(v, images));
    }
    static constexpr kernel::conv2d_cut cut(const node_view& v) { return kernels::cut(v); }

    static refusal pack(const preparation& p, const node_parameters& from) {
        const refusal refused = block::pack(p, from, &kernels::template pack<weight>);
        if constexpr (near_bytes != 0)
            if (refused.rule == nullptr) {
                const offsets at = offsets::of(p.at.n);
                const auto near = kernel::make_near_table<Arch>(
                    reinterpret_cast<const std::uint8_t*>(p.block + at.table), fused_table_size(p.at.n),
                    fine_codes(p.at.n, p.ranges[rounded_qparams_id(p.at.n)]).max);
                std::memcpy(p.block + at.scales - near_bytes, &near, sizeof near);
            }
        return refused;
    }
    static node_parameters unpack(const preparation& p) { return block::unpack(p, &kernels::template unpack<weight>); }

    static void run(const node& n, const context& c) noexcept {
        if constexpr (is_small) {
            const kernel::activation_codes codes = codes_of(c.nodes[n.inputs[0]].out, c.range_in(n));
            constexpr kernel::conv2d_geometry geometry = kernel::geometry_of(Key.small);
            constexpr std::size_t packed = kernels::kernels::packed_bytes(geometry, Key.int16_panels);
            constexpr offsets at(static_cast<int>(align_up(packed)) + near_bytes, Key.small.channels, false, false, 0);
            if (product::supports(c.block<std::byte>(n)))
                return product::run(c.in<in>(n), codes, c.block<std::byte>(n), epilogue_of(n, c, at), c.out<out>(n),
                                    c.scratch<std::byte>(n));
        }
        run_planned(n, c);
    }

    /// Whether run_through() shows the sums of all channels, each once.
    static constexpr bool shows_sums = !is_small && Key.family == filter_kernels::conv2d &&
                                       (kernels::takes_images || Key.algorithm == conv2d_algorithm::implicit_gemm);
    /// Whether it takes several images, one behind another: Winograd's do, and windows of one pixel, to which they are one high image.
    static constexpr bool joins_images(const node_view& v) {
        const auto g = geometry_for<filter_kernels::conv2d>(v);
        return kernels::takes_images ||
               (g.taps() == 1 && g.stride_height == 1 && g.stride_width == 1 && !g.has_padding());
    }
    static constexpr std::size_t scratch_bytes_of_joined(const node_view& v, int images) {
        return kernels::kernels::scratch_bytes(joined(v, images));
    }
    /// run() through wrap(epilogue, scales of weights, real biases or null where sums have them).
    template <class Wrap>
    static void run_through(const node& n, const context& c, int images, const Wrap& wrap) noexcept {
        const offsets at = offsets::of(n);
        const auto epilogue = epilogue_of(n, c, at);
        const float* const biases = Requantization::has_float_bias ? c.block<float>(n, at.real_bias) : nullptr;
        kernels::kernels::run(joined(c.view(n), images), c.in<in>(n), codes_of(c.nodes[n.inputs[0]].out, c.range_in(n)),
                              c.block<std::byte>(n), wrap(epilogue, c.block<float>(n, at.scales), biases),
                              c.out<out>(n), c.scratch<std::byte>(n));
    }

private:
    /// Apart from small products, which need not find out what it takes.
    [[gnu::noinline]] static void run_planned(const node& n, const context& c) noexcept {
        kernels::run(c.view(n), c.in<in>(n), codes_of(c.nodes[n.inputs[0]].out, c.range_in(n)), c.block<std::byte>(n),
                     epilogue_of(n, c, offsets::of(n)), c.out<out>(n), c.scratch<std::byte>(n), c.panels, c.images);
    }
    static constexpr kernel::conv2d_geometry joined(const node_view& v, int images) {
        kernel::conv2d_geometry g = geometry_for<filter_kernels::conv2d>(v);
        if constexpr (kernels::takes_images) {
            g.images = images;
        } else {
            g.in.height *= images;
            g.out.height *= images;
        }
        return g;
    }
    [[gnu::always_inline]] static auto epilogue_of(const node& n, const context& c, const offsets& at) noexcept {
        const qparams& range = c.ranges[rounded_qparams_id(n)];
        kernel::output_codes codes = is_small && Key.fine_table ? fine_codes(n, range) : rounded_codes(n, range);
        if (n.fused.lut != nullptr) codes.table = c.block<std::uint8_t>(n, at.table);
        if constexpr (near_bytes != 0) {
            const auto* near = c.block<kernel::near_table>(n, at.scales - near_bytes);
            codes.near = near->is_used() ? near : nullptr;
        }
        const auto* first = c.block<typename Requantization::first_type>(n, at.first);
        if constexpr (Key.residual)  // whose codes have the type of the output's
            return typename Requantization::template residual_epilogue<out>{
                first,           c.block<float>(n, at.ratios), codes,
                c.in<out>(n, 1), c.range_in(n, 1).zero_point,  c.out<out>(n)};
        else return Requantization::epilogue(first, c.block<typename Requantization::second_type>(n, at.second), codes);
    }
};

}  // namespace operators
}  // namespace zp::inline v0
