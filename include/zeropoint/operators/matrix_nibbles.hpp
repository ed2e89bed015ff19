// SPDX-License-Identifier: BSD-3-Clause
// Linear layers of 4-bit weights in groups, over floats that are quantized in each call.
#pragma once

#include <cstddef>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/dynamic/nibble_product.hpp>
#include <zeropoint/operators/matrix_dynamic.hpp>

namespace zp::inline v0 {

/// Whether a policy has groups of 4-bit weights for linear layers: see dynamic_group_policy.
template <class Policy> concept has_weight_groups = requires {
    typename Policy::group_weight;
    Policy::group_size;
};

namespace operators {

/// Makes a float node one of 4-bit weights in groups under a policy.
template <class Policy> constexpr void make_grouped(node& n) {
    using weight = typename Policy::group_weight;
    n.weights.products = scalar_type::int8;
    n.weights.storage = scalar_type_of<typename weight::storage>;
    n.weights.quant_min = weight::quant_min;
    n.weights.quant_max = weight::quant_max;
    n.weights.group = Policy::group_size;
    n.out.quant_min = -127;
    n.out.quant_max = 127;
}

/// The block: see kernel::nibble_layout.
template <int Group, bool HasMinimum, float_epilogue Epilogue, class Arch> struct nibble_filters {
    static constexpr int parameter_bytes(const node_view& v) { return static_cast<int>(layout(v.n).bytes); }
    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(kernel::nibble_scratch(layout(v.n), v.y_shape().width).bytes);
    }
    /// Fewer rows need less.
    static constexpr int most_scratch_bytes(const node_view& v) { return scratch_bytes(v); }
    /// Each part quantizes all inputs.
    static constexpr kernel::conv2d_cut cut(const node_view& v) {
        kernel::conv2d_cut by;
        by.panels = layout(v.n).panels;
        by.repeated_by_panels = repeated_by_quantizing(v.n.weights.channels);
        return by;
    }
    static refusal pack(const preparation& p, const node_parameters& from) {
        const quantized_weights& weights = from.matrices.front();
        kernel::pack_nibbles(layout(p.at.n), weights.codes.data(), weights.scales.data(), weights.offsets.data(),
                             weights.float_bias.data(), p.block);
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const kernel::nibble_layout at = layout(p.at.n);
        node_parameters to;
        quantized_weights& weights = to.matrices.emplace_back();
        const std::size_t groups = static_cast<std::size_t>(at.channels) * static_cast<std::size_t>(at.groups);
        weights.codes.resize(static_cast<std::size_t>(p.at.n.weights.count));
        weights.scales.resize(groups);
        weights.offsets.resize(HasMinimum ? groups : 0);
        weights.float_bias.resize(static_cast<std::size_t>(at.channels));
        kernel::unpack_nibbles(at, p.block, weights.codes.data(), weights.scales.data(), weights.offsets.data(),
                               weights.float_bias.data());
        return to;
    }
    static void run(const node& n, const context& c) noexcept {
        const shape& extents = n.out.extents;
        auto* y = c.out<float>(n);
        const float* added = nullptr;
        if constexpr (Epilogue == float_epilogue::addend) added = c.in<float>(n, 1);
        const kernel::nibble_layout at = layout(n);
        kernel::nibble_product<Arch, Group, HasMinimum>(at, c.in<float>(n), extents.width, c.block<std::byte>(n), y,
                                                        c.scratch<std::byte>(n), added, c.panels);
        if constexpr (Epilogue == float_epilogue::gelu || Epilogue == float_epilogue::bounds) {
            const auto [begin, end] = c.panels.channels(kernel::nibble_channels, at.channels);
            y += begin;
            for (int row = 0; row != extents.width; ++row, y += at.channels)
                kernel::apply_after<Arch>(epilogue_of<Epilogue>(n, c), y, static_cast<std::size_t>(end - begin));
        }
    }

private:
    static constexpr kernel::nibble_layout layout(const node& n) {
        return {n.weights.count / n.weights.channels, n.weights.channels, Group, HasMinimum};
    }
};

}  // namespace operators
}  // namespace zp::inline v0
