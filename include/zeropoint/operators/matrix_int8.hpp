// Filters over codes of 8 bits: the block of a node, packed and unpacked, and its run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/small_linear.hpp>
#include <zeropoint/operators/filters.hpp>
#include <zeropoint/operators/fused_table.hpp>
#include <zeropoint/operators/requantization.hpp>

namespace zp {
inline namespace v0 {

/// The extents that a node's code is generated for: those of a small matrix product; rows = 0 for all other nodes.
constexpr kernel::linear_extents small_extents(const node_view& v) {
    const node& n = v.n;
    if (n.op->filters != filter_kernels::conv2d || n.is_float() || n.weights.affine || n.fused.adds_input_1) return {};
    if (v.x_type().storage == scalar_type::int16 || n.by.algorithm != conv2d_algorithm::implicit_gemm) return {};
    const kernel::linear_extents extents = kernel::linear_extents_of(n.op->geometry(v));
    return extents.are_small() ? extents : kernel::linear_extents{};
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

/// The codes of what a node reads.
constexpr kernel::activation_codes codes_of(const value_type& x, const qparams& range) {
    return {range.zero_point, x.quant_min, x.quant_max};
}

/// In, Weight and Out are the storage types of 8 bits; what else tells forms apart is in Key: see matrix.hpp.
template <auto Key, class Arch, class Requantization> struct int8_filters {
    using in = storage_of<Key.input>;
    using out = storage_of<Key.output>;
    using weight = storage_of<Key.weights>;
    using kernels = kernels_of<Key.family, Arch, Key.algorithm>;
    using first_type = typename Requantization::first_type;
    using second_type = typename Requantization::second_type;

    /// Where the parts lie in the node's block, in bytes: packed weights, then these.
    struct block {
        int scales = 0, first, second, real_bias, ratios, zero_points, table, bytes;
        constexpr block(int packed, int channels, bool affine, int table_size) : scales(packed) {
            const int array = static_cast<int>(align_up(4 * static_cast<std::size_t>(channels)));
            first = scales + array;
            second = first + array;
            real_bias = second + (Requantization::has_second ? array : 0);
            ratios = real_bias + (Requantization::has_float_bias ? array : 0);
            zero_points = ratios + (Key.residual ? array : 0);
            table = zero_points + (affine ? array : 0);
            bytes = table + table_size;
        }
        constexpr block(int packed, const node& n)
            : block(packed, n.weights.channels, n.weights.affine, fused_table_size(n)) {}
        /// Of a node that knows its parameter_bytes: no program has to find out again what packed weights take.
        static constexpr block of(const node& n) { return {n.at.parameter_bytes - block(0, n).bytes, n}; }
    };
    static constexpr int parameter_bytes(const node_view& v) {
        return block(static_cast<int>(align_up(kernels::packed_bytes(v))), v.n).bytes;
    }
    static constexpr int scratch_bytes(const node_view& v) { return static_cast<int>(kernels::scratch_bytes(v)); }

    static refusal pack(const preparation& p, const node_parameters& from) {
        const node& n = p.at.n;
        const quantized_weights& weights = from.matrices.front();
        const qparams &x_range = p.x_qparams(), &output = p.ranges[rounded_qparams_id(n)];
        if (const refusal wrong = refuses(p, weights.scales); wrong.rule != nullptr) return wrong;
        const block at = block::of(n);
        // Weights that have zero points are packed as words, also where all are 0.
        const std::vector<std::int32_t> zeros(n.weights.packed_int16 ? weights.scales.size() : 0);
        const std::vector<std::int32_t>& zero_points = n.weights.packed_int16 ? zeros : weights.zero_points;
        kernels::pack(p.at,
                      kernel::conv2d_weights<weight>{reinterpret_cast<const weight*>(weights.codes.data()),
                                                     zero_points.empty() ? nullptr : zero_points.data(),
                                                     weights.bias.empty() ? nullptr : weights.bias.data()},
                      codes_of(p.x_type(), x_range), p.block);
        std::memcpy(p.block + at.scales, weights.scales.data(), weights.scales.size() * sizeof(float));
        for (int c = 0; c != n.weights.channels; ++c) {
            const auto i = static_cast<std::size_t>(c);
            first_type first{};
            second_type second{};
            Requantization::prepare({x_range.scale, weights.scales[i], rounded_scale(n, output)},
                                    Requantization::has_float_bias ? weights.float_bias[i] : 0.0f, first, second);
            std::memcpy(p.block + at.first + 4 * c, &first, 4);
            if constexpr (Requantization::has_second) std::memcpy(p.block + at.second + 4 * c, &second, 4);
            if (Requantization::has_float_bias) std::memcpy(p.block + at.real_bias + 4 * c, &weights.float_bias[i], 4);
            if constexpr (Key.residual) {
                const float ratio =
                    kernel::residual_ratio(p.x_qparams(1).scale, double{x_range.scale} * double{weights.scales[i]});
                std::memcpy(p.block + at.ratios + 4 * c, &ratio, 4);
            }
            if (n.weights.affine) std::memcpy(p.block + at.zero_points + 4 * c, &weights.zero_points[i], 4);
        }
        if (n.fused.lut != nullptr) copy_table(n, from.lut.data(), reinterpret_cast<std::uint8_t*>(p.block + at.table));
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const node& n = p.at.n;
        const block at = block::of(n);
        const auto channels = static_cast<std::size_t>(n.weights.channels);
        node_parameters to;
        quantized_weights& weights = to.matrices.emplace_back();
        weights.scales.resize(channels);
        std::memcpy(weights.scales.data(), p.block + at.scales, 4 * channels);
        if (n.weights.affine) {
            weights.zero_points.resize(channels);
            std::memcpy(weights.zero_points.data(), p.block + at.zero_points, 4 * channels);
        }
        weights.codes.resize(static_cast<std::size_t>(n.weights.count));
        weights.bias.resize(channels);
        kernels::unpack(p.at, weights.zero_points.empty() ? nullptr : weights.zero_points.data(),
                        codes_of(p.x_type(), p.x_qparams()), p.block, reinterpret_cast<weight*>(weights.codes.data()),
                        weights.bias.data());
        if (Requantization::has_float_bias) {
            weights.bias.clear();
            weights.float_bias.resize(channels);
            std::memcpy(weights.float_bias.data(), p.block + at.real_bias, 4 * channels);
        }
        if (n.fused.lut != nullptr) {
            to.lut.resize(static_cast<std::size_t>(fused_table_size(n)));
            copy_table(n, reinterpret_cast<const std::uint8_t*>(p.block + at.table), to.lut.data());
        }
        return to;
    }

    static void run(const node& n, const context& c) noexcept {
        const kernel::activation_codes codes = codes_of(c.nodes[n.inputs[0]].out, c.range_in(n));
        if constexpr (Key.small.rows != 0) {
            using product = kernel::small_linear<Arch, Key.small.rows, Key.small.depth, Key.small.channels,
                                                 Key.int16_panels, Key.fine_table>;
            constexpr kernel::conv2d_geometry geometry = kernel::geometry_of(Key.small);
            constexpr std::size_t packed = kernels::kernels::packed_bytes(geometry, Key.int16_panels);
            constexpr block at(static_cast<int>(align_up(packed)), Key.small.channels, false, 0);
            if (product::supports(c.block<std::byte>(n)))
                return product::run(c.in<in>(n), codes, c.block<std::byte>(n), epilogue_of(n, c, at), c.out<out>(n),
                                    c.scratch<std::byte>(n));
        }
        kernels::run(c.view(n), c.in<in>(n), codes, c.block<std::byte>(n), epilogue_of(n, c, block::of(n)),
                     c.out<out>(n), c.scratch<std::byte>(n));
    }

private:
    [[gnu::always_inline]] static auto epilogue_of(const node& n, const context& c, const block& at) noexcept {
        kernel::output_codes codes = rounded_codes(n, c.ranges[rounded_qparams_id(n)]);
        if (n.fused.lut != nullptr) codes.table = c.block<std::uint8_t>(n, at.table);
        const first_type* first = c.block<first_type>(n, at.first);
        if constexpr (Key.residual)  // whose codes have the type of the output's
            return typename Requantization::template residual_epilogue<out>{
                first,           c.block<float>(n, at.ratios), codes,
                c.in<out>(n, 1), c.range_in(n, 1).zero_point,  c.out<out>(n)};
        else return Requantization::epilogue(first, c.block<second_type>(n, at.second), codes);
    }
    /// Scales that are valid one by one may be so far apart that no kernel can go from one to the other.
    static refusal refuses(const preparation& p, const std::vector<float>& scales) {
        const double x = p.x_qparams().scale, y = rounded_scale(p.at.n, p.ranges[rounded_qparams_id(p.at.n)]);
        for (const float scale : scales)
            if (!(x * double{scale} < 2147483648.0 * y))
                return {"input scales that times weight scales are below 2^31 output scales", x, y,
                        "calibrate the output's range on its own values"};
        if constexpr (Key.residual)
            for (const float scale : scales) {
                const double residual = p.x_qparams(1).scale, step = x * double{scale};
                if (!kernel::is_residual_ratio(residual / step))
                    return {"a residual's scale between 2^-100 and 2^100 times input scale * weight scale", residual,
                            step, "calibrate both on real data, or take zp::separate_sums"};
            }
        return {};
    }
    /// Files and fine tables count codes from the lowest, an epilogue of 8 bits by their bits: for signed codes the halves
    /// change places.
    static void copy_table(const node& n, const std::uint8_t* from, std::uint8_t* to) {
        const auto size = static_cast<std::size_t>(fused_table_size(n));
        const std::size_t flip = n.out.storage == scalar_type::int8 && !has_fine_table(n) ? 128 : 0;
        for (std::size_t i = 0; i != size; ++i) to[i ^ flip] = from[i];
    }
};

}  // namespace operators
}  // namespace v0
}  // namespace zp
