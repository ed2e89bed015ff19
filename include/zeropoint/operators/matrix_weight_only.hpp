// SPDX-License-Identifier: BSD-3-Clause
// Linear layers over floats whose weights alone are integers, of 8 or 4 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/dynamic/weight_only_product.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>

namespace zp::inline v0::operators {

/// Of a node's weights, in its block: 8, or 4 where their range has so few codes.
constexpr int weight_only_bits(const node& n) { return bits_of_codes(n.weights.quant_min, n.weights.quant_max); }
/// Makes a float node one of weights alone under a policy: see weight_only_policy.
template <class Policy> constexpr void make_weight_only(node& n) {
    using weight = typename Policy::weight;
    n.weights.storage = scalar_type::int8;
    n.weights.quant_min = weight::quant_min;
    n.weights.quant_max = weight::quant_max;
    n.weights.group = Policy::group_size;
}

/// The block: see kernel::weight_only_layout.
template <int Bits, class Arch> struct weight_only_filters {
    static constexpr int parameter_bytes(const node_view& v) { return static_cast<int>(layout(v.n).bytes); }
    static refusal pack(const preparation& p, const node_parameters& from) {
        const quantized_weights& weights = from.matrices.front();
        kernel::pack_weight_only(layout(p.at.n), reinterpret_cast<const std::int8_t*>(weights.codes.data()),
                                 weights.scales.data(), weights.float_bias.data(), p.block);
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const kernel::weight_only_layout at = layout(p.at.n);
        node_parameters to;
        quantized_weights& weights = to.matrices.emplace_back();
        weights.codes.resize(static_cast<std::size_t>(p.at.n.weights.count));
        weights.scales.resize(static_cast<std::size_t>(at.channels) * static_cast<std::size_t>(at.groups));
        weights.float_bias.resize(static_cast<std::size_t>(at.channels));
        kernel::unpack_weight_only(at, p.block, reinterpret_cast<std::int8_t*>(weights.codes.data()),
                                   weights.scales.data(), weights.float_bias.data());
        return to;
    }
    static constexpr kernel::conv2d_cut cut(const node_view& v) {
        kernel::conv2d_cut by;
        by.panels = layout(v.n).panels;
        return by;
    }
    static void run(const node& n, const context& c) noexcept {
        const kernel::weight_only_layout at = layout(n);
        const int rows = n.out.extents.width;
        auto* y = c.out<float>(n);
        kernel::weight_only_product<Arch, Bits>(at, c.in<float>(n), rows, c.block<std::byte>(n), y, c.panels);
        if (n.fused.clamp == nullptr) return;
        const auto [begin, end] = c.panels.channels(kernel::weight_only_channels, at.channels);
        y += begin;
        for (int row = 0; row != rows; ++row, y += at.channels)
            kernel::clamp<Arch>(y, static_cast<std::size_t>(end - begin), n.fused.lowest, n.fused.highest, y);
    }

private:
    static constexpr kernel::weight_only_layout layout(const node& n) {
        const int depth = n.weights.count / n.weights.channels;
        return {depth, n.weights.channels, Bits, n.weights.group == 0 ? depth : n.weights.group};
    }
};

}  // namespace zp::inline v0::operators
