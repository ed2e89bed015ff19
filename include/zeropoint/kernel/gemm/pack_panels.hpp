// SPDX-License-Identifier: BSD-3-Clause
// Packing weights into panels, each with the fastest kernel that is exact for it, and unpacking them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/panel_layout.hpp>
#include <zeropoint/kernel/gemm/saturation.hpp>
#include <zeropoint/kernel/gemm/sums_int16.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp::inline v0::kernel {

/// a + factor * b modulo 2^32, as the accumulators wrap.
constexpr std::int32_t add_product_wrapping(std::int32_t a, std::int32_t factor, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) +
                                     static_cast<std::uint32_t>(factor) * static_cast<std::uint32_t>(b));
}

/// Calls visit(place in the panel, index in OHWI) for each weight of a channel, the `lane`-th of its panel.
template <class Arch, class Visit>
void for_each_weight(const panel_layout<Arch>& layout, int channel, int lane, int group, Visit visit) {
    const depth_runs& runs = layout.runs;
    std::ptrdiff_t from = std::ptrdiff_t{channel} * runs.count * runs.length;
    for (int run = 0; run != runs.count; ++run) {
        const int depth = run * runs.padded_length();
        for (int i = 0; i != runs.length; ++i, ++from) visit(layout.place(depth + i, lane, group), from);
    }
}

/// The sum of a filter's weights, modulo 2^32.
template <class Arch> std::int32_t sum_of_weights(const std::int8_t* weights, int count) {
    using ops = operations<Arch>;
    constexpr int lanes = ops::lanes;
    constexpr std::int16_t ones[2] = {1, 1};
    std::int32_t parts[lanes] = {}, sum = 0;
    auto sums = ops::template load<typename ops::int32>(parts);
    int i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes)
        ops::dot2(sums, ops::broadcast(ones), ops::load_widened(weights + i));
    ops::store(parts, sums);
    for (const std::int32_t part : parts) sum = add_product_wrapping(sum, 1, part);
    for (; i != count; ++i) sum = add_product_wrapping(sum, 1, weights[i]);
    return sum;
}

/// Packs the panels of one convolution.
template <class Arch, class Weight> class panel_packer {
public:
    using layout_type = panel_layout<Arch>;
    using position = typename layout_type::panel_position;

    panel_packer(const conv2d_geometry& g, const conv2d_weights<Weight>& weights, activation_codes codes,
                 std::byte* packed)
        : geometry_(g),
          weights_(weights),
          codes_(codes),
          limits_(limits_for(codes)),
          takes_quads_(!codes.are_int16() && quads_hold<Arch>(highest_code(codes))),
          panels_(g, weights.affine(), packed) {
        std::fill_n(packed, panels_.layout.bytes, std::byte{0});
    }

    void pack(position panel) {
        std::int32_t* bias = panels_.bias(panel.index);
        if (weights_.bias != nullptr) std::copy_n(weights_.bias + panel.first_channel, panel.channels, bias);
        panels_.window(panel.index) = codes_.are_int16() ? pack_int64_bias(panel, bias) : std::uint8_t{1};
        panel_kernel kernel = panel_kernel::word_pairs;
        if (weights_.affine()) {
            fill(panel, 2, panels_.template weights<std::int16_t>(panel.index));
        } else if constexpr (std::is_same_v<Weight, std::int8_t>) {
            kernel = pack_bytes(panel);
            fold_zero_point(panel, bias, staged_zero_point<Arch>(kernel, codes_));
        }
        panels_.data[panel.index] = static_cast<std::byte>(kernel);
    }

private:
    /// The weights of a panel, `group` products side by side, to where there are zeros.
    template <class Packed> void fill(position panel, int group, Packed* to) {
        for (int c = 0; c != panel.channels; ++c) {
            const int channel = panel.first_channel + c;
            const std::int32_t zero_point = weights_.zero_points == nullptr ? 0 : weights_.zero_points[channel];
            if constexpr (sizeof(Packed) == 1)
                if (group == 4 && layout().runs.length % 4 == 0) {  // bytes as they are, of which four lie side by side
                    const int depth = geometry_.depth();            // a quotient
                    const Weight* from = weights_.values + std::ptrdiff_t{channel} * depth;
                    std::ptrdiff_t place = 4 * c;
                    for (int i = 0; i != depth; i += 4, place += 4 * layout_type::width)
                        std::memcpy(to + (has_octets<Arch> ? layout().place(i, c, 4) : place), from + i, 4);
                    continue;
                }
            for_each_weight<Arch>(layout(), channel, c, group, [&](std::ptrdiff_t place, std::ptrdiff_t from) {
                to[place] = static_cast<Packed>(weights_.values[from] - zero_point);
            });
        }
    }

    panel_kernel pack_bytes(position panel) {
        auto* bytes = panels_.template weights<std::int8_t>(panel.index);
        const int count = layout().runs.depth() * layout_type::width;
        const auto pack_pairs = [&] {
            if (takes_quads_) std::fill_n(bytes, count, std::int8_t{0});
            fill(panel, 2, bytes);
            return panel_kernel::widened_pairs;
        };
        if (!takes_quads_) return pack_pairs();
        fill(panel, 4, bytes);
        if constexpr (requires { operations<Arch>::takes_quads(bytes, 0); })
            if (!operations<Arch>::takes_quads(bytes, layout().runs.depth() / 4)) return pack_pairs();
        if constexpr (has_whole_tiles<Arch>) {
            for (int i = 0; i != count; ++i) bytes[i] = static_cast<std::int8_t>(bytes[i] ^ quad_flip<Arch>);
        }
        if constexpr (!quads_saturate<Arch>) return panel_kernel::byte_quads;
        const depth_runs& runs = layout().runs;
        if (pairs_fit(bytes, runs.depth() * layout_type::width, limits_)) {
            const int run_quads = runs.padded_length() / 4;
            const int window = longest_window(bytes, runs.count, run_quads, layout_type::width, limits_);
            panels_.window(panel.index) = static_cast<std::uint8_t>(window);
            return window > 1 ? panel_kernel::windowed_quads : panel_kernel::byte_quads;
        }
        if (!prefers_pairs(geometry_)) return panel_kernel::signed_quads;
        return pack_pairs();
    }

    /// Biases of a panel over codes of 16 bits, where int32 holds its sums whatever the codes are; else it is multiplied in
    /// parts, which window 0 says, and the epilogue adds them.
    std::uint8_t pack_int64_bias(position panel, std::int32_t* bias) const {
        for (int c = 0; c != panel.channels; ++c)
            if (!int16_sums_fit(weights_, geometry_.depth(), panel.first_channel + c)) return 0;
        for (int c = 0; c != panel.channels; ++c)
            bias[c] = static_cast<std::int32_t>(weights_.int64_bias_of(panel.first_channel + c));
        return 1;
    }

    /// sum (x - z) w = sum x w - z sum w
    void fold_zero_point(position panel, std::int32_t* bias, std::int32_t zero) {
        for (int c = 0; c != panel.channels; ++c) {
            const Weight* filter = weights_.values + std::ptrdiff_t{panel.first_channel + c} * geometry_.depth();
            bias[c] = add_product_wrapping(bias[c], -zero, sum_of_weights<Arch>(filter, geometry_.depth()));
        }
    }

    const layout_type& layout() const { return panels_.layout; }

    const conv2d_geometry& geometry_;
    const conv2d_weights<Weight>& weights_;
    activation_codes codes_;
    pair_limits limits_;
    bool takes_quads_;
    packed_panels<Arch, std::byte> panels_;
};

/// Packs weights and bias for implicit GEMM. `packed` has panel_layout::bytes bytes, 64-byte aligned.
template <class Arch, class Weight>
void pack_panels(const conv2d_geometry& g, const conv2d_weights<Weight>& weights, activation_codes codes,
                 std::byte* packed) {
    panel_packer<Arch, Weight> packer(g, weights, codes, packed);
    panel_layout<Arch>(g, weights.affine()).for_each_panel(g, [&](auto panel) { packer.pack(panel); });
}

/// The exact inverse of pack_panels, given the same zero points and codes. `bias` receives zeros where there was none.
template <class Arch, class Weight>
void unpack_panels(const conv2d_geometry& g, const std::int32_t* zero_points, activation_codes codes,
                   const std::byte* packed, Weight* values, std::int32_t* bias) {
    using layout_type = panel_layout<Arch>;
    const packed_panels<Arch> panels(g, packed);
    panels.layout.for_each_panel(g, [&](typename layout_type::panel_position panel) {
        const panel_kernel kernel = panels.kernel(panel.index);
        const int group = activations_of(kernel) == panel_activations::differences ? 2 : 4;
        const auto* bytes = panels.template weights<std::int8_t>(panel.index);
        const auto* words = panels.template weights<std::int16_t>(panel.index);
        for (int c = 0; c != panel.channels; ++c) {
            const int channel = panel.first_channel + c;
            const std::int32_t zero_point = zero_points == nullptr ? 0 : zero_points[channel];
            std::int32_t sum = 0;
            const auto take = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
                std::int32_t weight = kernel == panel_kernel::word_pairs ? words[from] : bytes[from];
                if (has_whole_tiles<Arch> && kernel == panel_kernel::byte_quads)
                    weight = static_cast<std::int8_t>(weight ^ quad_flip<Arch>);
                values[to] = static_cast<Weight>(weight + zero_point);
                sum += weight;
            };
            for_each_weight<Arch>(panels.layout, channel, c, group, take);
            bias[channel] =
                add_product_wrapping(panels.bias(panel.index)[c], staged_zero_point<Arch>(kernel, codes), sum);
        }
    });
}

}  // namespace zp::inline v0::kernel
