// Packing weights into panels, each with the fastest kernel that is exact for it, and unpacking them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/channel_shuffle.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/panel_layout.hpp>
#include <zeropoint/kernel/saturation.hpp>
#include <zeropoint/kernel/staging.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// Weights as they come: OHWI with in.channels / groups innermost.
template <class Weight> struct conv2d_weights {
    static_assert(std::is_same_v<Weight, std::int8_t> || std::is_same_v<Weight, std::uint8_t>,
                  "conv2d_weights<Weight>: Weight must be std::int8_t or std::uint8_t");
    const Weight* values = nullptr;
    const std::int32_t* zero_points = nullptr;  ///< one an output channel; null: all 0
    const std::int32_t* bias = nullptr;         ///< one an output channel, at scale x_scale * w_scale; null: all 0

    /// Whether w - zero_point needs more than 8 bits: such weights are packed as int16.
    constexpr bool affine() const { return std::is_same_v<Weight, std::uint8_t> || zero_points != nullptr; }
};

/// a + factor * b modulo 2^32, as the accumulators wrap.
constexpr std::int32_t add_product_wrapping(std::int32_t a, std::int32_t factor, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) +
                                     static_cast<std::uint32_t>(factor) * static_cast<std::uint32_t>(b));
}

/// Calls visit(place in the panel, index in OHWI) for each weight of a channel, the `lane`-th of its panel, whose input
/// channels come in the order of `shuffle` unless that is null.
template <class Arch, class Visit>
void for_each_weight(const conv2d_geometry& g, const panel_layout<Arch>& layout, int channel, int lane, int group,
                     const std::uint8_t* shuffle, Visit visit) {
    const depth_runs& runs = layout.runs;
    const int pixel = shuffle == nullptr ? runs.length : g.in.channels;
    const int shuffled = shuffle == nullptr ? 0 : pixel / shuffle_block * shuffle_block;
    std::ptrdiff_t from = std::ptrdiff_t{channel} * runs.count * runs.length;
    for (int run = 0; run != runs.count; ++run) {
        int depth = run * runs.padded_length();
        for (int first = 0; first != runs.length; first += pixel, from += pixel) {
            for (int i = 0; i != shuffled; ++i, ++depth)
                visit(layout.place(depth, lane, group), from + i / shuffle_block * shuffle_block + shuffle[i]);
            for (int i = shuffled; i != pixel; ++i, ++depth) visit(layout.place(depth, lane, group), from + i);
        }
    }
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
          zero_(codes.zero_point + staged_shift<Arch>(codes)),
          limits_(limits_for(codes)),
          panels_(g, weights.affine(), packed) {
        std::fill_n(packed, panels_.layout.bytes, std::byte{0});
    }

    void pack(position panel) {
        std::int32_t* bias = panels_.bias(panel.index);
        if (weights_.bias != nullptr) std::copy_n(weights_.bias + panel.first_channel, panel.channels, bias);
        panel_details& details = panels_.details(panel.index);
        details = {};
        panel_kernel kernel = panel_kernel::word_pairs;
        if (weights_.affine()) {
            fill(panel, 2, nullptr, panels_.template weights<std::int16_t>(panel.index));
        } else if constexpr (std::is_same_v<Weight, std::int8_t>) {
            if (starts_shuffle(panel)) choose_shuffle(panel);
            kernel = pack_bytes(panel, details);
            if (takes_bytes(kernel)) fold_zero_point(panel, bias);
        }
        panels_.data[panel.index] = static_cast<std::byte>(kernel);
    }

private:
    /// The weights of a panel, `group` products side by side.
    template <class Packed> void fill(position panel, int group, const std::uint8_t* shuffle, Packed* to) {
        std::fill_n(to, layout().runs.depth() * layout_type::width, Packed{0});
        for (int c = 0; c != panel.channels; ++c) {
            const int channel = panel.first_channel + c;
            const std::int32_t zero_point = weights_.zero_points == nullptr ? 0 : weights_.zero_points[channel];
            for_each_weight<Arch>(geometry_, layout(), channel, c, group, shuffle,
                                  [&](std::ptrdiff_t place, std::ptrdiff_t from) {
                                      to[place] = static_cast<Packed>(weights_.values[from] - zero_point);
                                  });
        }
    }

    panel_kernel pack_bytes(position panel, panel_details& details) {
        const auto pack_pairs = [&](std::int8_t* to) {
            fill(panel, 2, nullptr, to);
            return panel_kernel::widened_pairs;
        };
        auto* bytes = panels_.template weights<std::int8_t>(panel.index);
        if constexpr (!has_quads<Arch>) return pack_pairs(bytes);
        fill(panel, 4, nullptr, bytes);
        if constexpr (requires { operations<Arch>::takes_quads(bytes, 0); })
            if (!operations<Arch>::takes_quads(bytes, layout().runs.depth() / 4)) return pack_pairs(bytes);
        if constexpr (!quads_saturate<Arch>) return panel_kernel::byte_quads;
        const depth_runs& runs = layout().runs;
        const int unfit = count_unfit(bytes, runs.depth(), layout_type::width, limits_);
        if (unfit == 0) {
            const int run_quads = runs.padded_length() / 4;
            details.window =
                static_cast<std::uint8_t>(longest_window(bytes, runs.count, run_quads, layout_type::width, limits_));
            return details.window > 1 ? panel_kernel::windowed_quads : panel_kernel::byte_quads;
        }
        if (shuffled_) {
            details.shuffled = 1;
            fill(panel, 4, panels_.shuffle(panels_.shuffle_index(panel.index)), bytes);
        }
        if (!split_residuals(bytes, details)) {
            details = {};
            if (!splits_activations(geometry_)) return pack_pairs(bytes);
            fill(panel, 4, nullptr, bytes);
            return panel_kernel::nibble_quads;
        }
        return panel_kernel::residual_quads;
    }

    /// Clips what could saturate and keeps it as quads of their own. False if they are too many or there is no room.
    bool split_residuals(std::int8_t* bytes, panel_details& details) {
        constexpr int quad = 4 * layout_type::width;
        const int room = std::min(layout().panel_residuals, layout().residual_capacity - residuals_);
        if (count_unfit(bytes, layout().runs.depth(), layout_type::width, limits_) > room) return false;
        details.first_residual = residuals_;
        for (int depth = 0; depth != layout().runs.depth(); depth += 4, bytes += quad) {
            std::int8_t clipped[quad];
            if (!clip_pairs(bytes, clipped, quad, limits_)) continue;
            std::copy_n(clipped, quad, panels_.residuals(residuals_));
            *panels_.residual_places(residuals_++) = layout_type::place_in_window(geometry_, layout().runs, depth);
            ++details.residuals;
        }
        return true;
    }

    bool starts_shuffle(position panel) const {
        return layout().shuffle_panels != 0 && panel.index % layout().shuffle_panels == 0;
    }
    /// Whether the panels from this one on are faster with their channels shuffled, and how.
    void choose_shuffle(position first) {
        shuffled_ = false;
        const int quads = layout().runs.depth() / 4;
        std::uint8_t* shuffle = panels_.shuffle(panels_.shuffle_index(first.index));
        const int channels =
            std::min(layout().shuffle_panels * layout_type::width, geometry_.out.channels - first.first_channel);
        const std::int64_t natural = unfit_quads(first, channels, nullptr);
        const std::int64_t copy = quads / (14 * geometry_.taps());  // the time of a shuffled copy, in quads of a panel
        if (natural <= copy) return;
        find_shuffle(geometry_, weights_.values, first.first_channel, channels, layout_type::width, limits_, shuffle);
        shuffled_ = unfit_quads(first, channels, shuffle) + copy < natural;
    }
    /// Quads that need a residual in the panels of `channels` channels, up to as many as make a panel as slow as pairs.
    std::int64_t unfit_quads(position first, int channels, const std::uint8_t* shuffle) {
        std::int64_t unfit = 0;
        for (position panel = first; panel.first_channel < first.first_channel + channels;
             panel.first_channel += layout_type::width, ++panel.index) {
            panel.channels = std::min(layout_type::width, first.first_channel + channels - panel.first_channel);
            auto* bytes = panels_.template weights<std::int8_t>(panel.index);
            fill(panel, 4, shuffle, bytes);
            const int count = count_unfit(bytes, layout().runs.depth(), layout_type::width, limits_);
            unfit += count <= layout().panel_residuals ? count : layout().runs.depth() / 4 / 4;
        }
        return unfit;
    }

    /// sum (x - z) w = sum x w - z sum w
    void fold_zero_point(position panel, std::int32_t* bias) {
        for (int c = 0; c != panel.channels; ++c) {
            const Weight* filter = weights_.values + std::ptrdiff_t{panel.first_channel + c} * geometry_.depth();
            std::int32_t sum = 0;
            for (int i = 0; i != geometry_.depth(); ++i) sum += filter[i];
            bias[c] = add_product_wrapping(bias[c], -zero_, sum);
        }
    }

    const layout_type& layout() const { return panels_.layout; }

    const conv2d_geometry& geometry_;
    const conv2d_weights<Weight>& weights_;
    std::int32_t zero_;
    pair_limits limits_;
    packed_panels<Arch, std::byte> panels_;
    bool shuffled_ = false;
    int residuals_ = 0;
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
        const panel_details& details = panels.details(panel.index);
        const std::uint8_t* shuffle =
            details.shuffled != 0 ? panels.shuffle(panels.shuffle_index(panel.index)) : nullptr;
        const int group = takes_bytes(kernel) ? 4 : 2;
        const auto* bytes = panels.template weights<std::int8_t>(panel.index);
        const auto* words = panels.template weights<std::int16_t>(panel.index);
        constexpr int quad = 4 * layout_type::width;
        const std::int8_t* residuals = panels.residuals(details.first_residual);
        const quad_place* places = panels.residual_places(details.first_residual);
        for (int c = 0; c != panel.channels; ++c) {
            const int channel = panel.first_channel + c;
            const std::int32_t zero_point = zero_points == nullptr ? 0 : zero_points[channel];
            std::int32_t sum = 0;
            int residual = 0;
            const auto take = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
                std::int32_t weight = kernel == panel_kernel::word_pairs ? words[from] : bytes[from];
                if (details.residuals != 0) {  // they come in the order of depth, as weights do
                    const auto reached = [&] {
                        return layout_type::depth_index(g, panels.layout.runs, places[residual]) / 4 - from / quad;
                    };
                    while (residual != details.residuals && reached() < 0) ++residual;
                    if (residual != details.residuals && reached() == 0)
                        weight += residuals[std::ptrdiff_t{residual} * quad + from % quad];
                }
                values[to] = static_cast<Weight>(weight + zero_point);
                sum += weight;
            };
            for_each_weight<Arch>(g, panels.layout, channel, c, group, shuffle, take);
            bias[channel] = panels.bias(panel.index)[c];
            if (group == 4)
                bias[channel] = add_product_wrapping(bias[channel], codes.zero_point + staged_shift<Arch>(codes), sum);
        }
    });
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
