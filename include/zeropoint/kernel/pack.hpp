// Weights in panels of output channels, in the order tiles read them, each panel with a kernel exact for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/staging.hpp>

// A packed convolution:
//
//   kernel tags, one byte a panel | bias, one int32 a channel of a panel | panel 0 | panel 1 | ...
//
// each part at a 64-byte boundary.
//
// A panel holds panel_width channels of one group. Depth, in the order (ky, kx, channel), is cut into the runs that lie
// contiguously in a staged band, and each run is padded with zero weights to a multiple of 4. Within a panel:
//
//   byte_quads     [depth / 4][channel][4] int8      activations uint8, bias with the zero point folded in
//   widened_pairs  [depth / 2][channel][2] int8      activations int16 = x - x_zero_point
//   word_pairs     [depth / 2][channel][2] int16     the same, weights are w - w_zero_point
//
// Channels past the last have zero weights.

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

/// How a panel is multiplied. All kinds are exact; the first is the fastest, and only where no int16 sum can saturate.
enum class panel_kernel : std::uint8_t { byte_quads, widened_pairs, word_pairs };

constexpr const char* name_of(panel_kernel kernel) {
    switch (kernel) {
        case panel_kernel::byte_quads: return "byte_quads";
        case panel_kernel::widened_pairs: return "widened_pairs";
        case panel_kernel::word_pairs: return "word_pairs";
    }
    return "?";
}

/// The depth of a convolution as `count` contiguous runs of `length` products.
struct depth_runs {
    int count = 1, length = 1;

    constexpr int padded_length() const { return (length + 3) / 4 * 4; }
    constexpr int depth() const { return count * padded_length(); }
};

/// The taps of a kernel row lie side by side in a band unless they are dilated or see a part of the channels only.
constexpr depth_runs runs_of(const conv2d_geometry& g) {
    if (g.groups == 1 && g.dilation_width == 1) return {g.kernel_height, g.kernel_width * g.in.channels};
    return {g.taps(), g.group_in()};
}

/// Where the parts of a packed convolution lie.
template <class Arch> struct panel_layout {
    static constexpr int width = panel_width<Arch>;

    depth_runs runs;
    int group_panels = 0, panels = 0;
    std::size_t bias_begin = 0, panels_begin = 0, panel_bytes = 0, bytes = 0;

    constexpr panel_layout(const conv2d_geometry& g, bool affine)
        : runs(runs_of(g)), group_panels((g.group_out() + width - 1) / width), panels(group_panels * g.groups) {
        const auto count = static_cast<std::size_t>(panels), lanes = static_cast<std::size_t>(width);
        bias_begin = align_up(count);
        panels_begin = bias_begin + align_up(count * lanes * sizeof(std::int32_t));
        panel_bytes = align_up(lanes * static_cast<std::size_t>(runs.depth()) *
                               (affine ? sizeof(std::int16_t) : sizeof(std::int8_t)));
        bytes = panels_begin + count * panel_bytes;
    }

    /// One panel: output channels [first_channel, first_channel + channels) of a group.
    struct panel_position {
        int index, group, first_channel, channels;
    };
    /// Calls visit(panel_position) for each panel, in order.
    template <class Visit> constexpr void for_each_panel(const conv2d_geometry& g, Visit visit) const {
        for (int group = 0, index = 0; group != g.groups; ++group) {
            for (int channel = 0; channel < g.group_out(); channel += width, ++index) {
                visit(panel_position{index, group, group * g.group_out() + channel,
                                     std::min(g.group_out() - channel, width)});
            }
        }
    }
    /// The place of product `depth_index` (padding counted) of a channel in a panel with `group` products side by side.
    static constexpr std::ptrdiff_t place(int depth_index, int channel, int group) {
        return (std::ptrdiff_t{depth_index / group} * width + channel) * group + depth_index % group;
    }
};

/// Reading a packed convolution.
template <class Arch> struct packed_panels {
    panel_layout<Arch> layout;
    const std::byte* data;

    /// Whether weights are affine follows from the tags: all panels are `word_pairs`, or none is.
    packed_panels(const conv2d_geometry& g, const std::byte* packed)
        : layout(g, static_cast<panel_kernel>(packed[0]) == panel_kernel::word_pairs), data(packed) {}

    panel_kernel kernel(int panel) const { return static_cast<panel_kernel>(data[panel]); }
    const std::int32_t* bias(int panel) const {
        return reinterpret_cast<const std::int32_t*>(data + layout.bias_begin) + std::ptrdiff_t{panel} * layout.width;
    }
    template <class T> const T* weights(int panel) const {
        return reinterpret_cast<const T*>(data + layout.panels_begin +
                                          static_cast<std::size_t>(panel) * layout.panel_bytes);
    }
};

/// a + factor * b modulo 2^32, as the accumulators wrap.
constexpr std::int32_t add_product_wrapping(std::int32_t a, std::int32_t factor, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) +
                                     static_cast<std::uint32_t>(factor) * static_cast<std::uint32_t>(b));
}

/// Whether a0 * w0 + a1 * w1 stays within int16 for all activations in [low, high], 0 <= low: then vpmaddubsw is exact.
constexpr bool pair_fits_int16(std::int32_t low, std::int32_t high, std::int32_t w0, std::int32_t w1) {
    const std::int32_t most = std::max(low * w0, high * w0) + std::max(low * w1, high * w1);
    const std::int32_t least = std::min(low * w0, high * w0) + std::min(low * w1, high * w1);
    return most <= 32767 && least >= -32768;
}

/// The fastest kernel that is exact for a panel whose int8 weights are packed as byte_quads.
template <class Arch>
panel_kernel choose_panel_kernel([[maybe_unused]] const std::int8_t* quads, [[maybe_unused]] std::size_t count,
                                 [[maybe_unused]] activation_codes codes) {
    if constexpr (!operations<Arch>::has_dot4) {
        return panel_kernel::widened_pairs;
    } else if constexpr (operations<Arch>::pair_sums_saturate) {
        const std::int32_t shift = unsigned_shift(codes);
        const std::int32_t low = std::min(codes.min, codes.zero_point) + shift,
                           high = std::max(codes.max, codes.zero_point) + shift;
        for (std::size_t i = 0; i != count; i += 2) {
            if (!pair_fits_int16(low, high, quads[i], quads[i + 1])) return panel_kernel::widened_pairs;
        }
    }
    return panel_kernel::byte_quads;
}

/// Calls visit(place in the panel, index in OHWI) for each weight of a channel, the `lane`-th of its panel.
template <class Arch, class Visit>
void for_each_weight(const panel_layout<Arch>& layout, int channel, int lane, int group, Visit visit) {
    const depth_runs& runs = layout.runs;
    const std::ptrdiff_t first = std::ptrdiff_t{channel} * runs.count * runs.length;
    for (int run = 0; run != runs.count; ++run) {
        for (int i = 0; i != runs.length; ++i) {
            visit(layout.place(run * runs.padded_length() + i, lane, group), first + run * runs.length + i);
        }
    }
}

/// Packs weights and bias for implicit GEMM. `packed` has panel_layout::bytes bytes, 64-byte aligned.
template <class Arch, class Weight>
void pack_panels(const conv2d_geometry& g, const conv2d_weights<Weight>& weights, activation_codes codes,
                 std::byte* packed) {
    using layout_type = panel_layout<Arch>;
    const layout_type layout(g, weights.affine());
    const auto count = static_cast<std::size_t>(layout.width) * static_cast<std::size_t>(layout.runs.depth());
    std::fill_n(packed, layout.bytes, std::byte{0});
    layout.for_each_panel(g, [&](typename layout_type::panel_position panel) {
        const int first = panel.first_channel;
        std::byte* place = packed + layout.panels_begin + static_cast<std::size_t>(panel.index) * layout.panel_bytes;
        auto* bias =
            reinterpret_cast<std::int32_t*>(packed + layout.bias_begin) + std::ptrdiff_t{panel.index} * layout.width;
        if (weights.bias != nullptr) std::copy_n(weights.bias + first, panel.channels, bias);

        panel_kernel kernel = panel_kernel::word_pairs;
        if (weights.affine()) {
            auto* pairs = reinterpret_cast<std::int16_t*>(place);
            for (int c = 0; c != panel.channels; ++c) {
                const std::int32_t zero_point = weights.zero_points == nullptr ? 0 : weights.zero_points[first + c];
                for_each_weight<Arch>(layout, first + c, c, 2, [&](std::ptrdiff_t to, std::ptrdiff_t from) {
                    pairs[to] = static_cast<std::int16_t>(weights.values[from] - zero_point);
                });
            }
        } else {
            auto* bytes = reinterpret_cast<std::int8_t*>(place);
            const auto fill = [&](int group) {
                std::fill_n(bytes, count, std::int8_t{0});
                for (int c = 0; c != panel.channels; ++c) {
                    for_each_weight<Arch>(layout, first + c, c, group, [&](std::ptrdiff_t to, std::ptrdiff_t from) {
                        bytes[to] = static_cast<std::int8_t>(weights.values[from]);
                    });
                }
            };
            fill(4);
            kernel = choose_panel_kernel<Arch>(bytes, count, codes);
            if (kernel == panel_kernel::widened_pairs) {
                fill(2);
            } else {
                for (int c = 0; c != panel.channels; ++c) {
                    std::int32_t sum = 0;
                    for_each_weight<Arch>(layout, first + c, c, 4,
                                          [&](std::ptrdiff_t to, std::ptrdiff_t) { sum += bytes[to]; });
                    bias[c] = add_product_wrapping(bias[c], -(codes.zero_point + unsigned_shift(codes)), sum);
                }
            }
        }
        packed[panel.index] = static_cast<std::byte>(kernel);
    });
}

/// The exact inverse of pack_panels, given the same zero points and codes. `bias` receives zeros where there was none.
template <class Arch, class Weight>
void unpack_panels(const conv2d_geometry& g, const std::int32_t* zero_points, activation_codes codes,
                   const std::byte* packed, Weight* values, std::int32_t* bias) {
    using layout_type = panel_layout<Arch>;
    const packed_panels<Arch> panels(g, packed);
    panels.layout.for_each_panel(g, [&](typename layout_type::panel_position panel) {
        const panel_kernel kernel = panels.kernel(panel.index);
        for (int c = 0; c != panel.channels; ++c) {
            const int channel = panel.first_channel + c;
            bias[channel] = panels.bias(panel.index)[c];
            if (kernel == panel_kernel::word_pairs) {
                const auto* pairs = panels.template weights<std::int16_t>(panel.index);
                const std::int32_t zero_point = zero_points == nullptr ? 0 : zero_points[channel];
                for_each_weight<Arch>(panels.layout, channel, c, 2, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
                    values[to] = static_cast<Weight>(pairs[from] + zero_point);
                });
            } else {
                const auto* bytes = panels.template weights<std::int8_t>(panel.index);
                const bool quads = kernel == panel_kernel::byte_quads;
                std::int32_t sum = 0;
                for_each_weight<Arch>(panels.layout, channel, c, quads ? 4 : 2,
                                      [&](std::ptrdiff_t from, std::ptrdiff_t to) {
                                          values[to] = static_cast<Weight>(bytes[from]);
                                          sum += bytes[from];
                                      });
                if (quads)
                    bias[channel] = add_product_wrapping(bias[channel], codes.zero_point + unsigned_shift(codes), sum);
            }
        }
    });
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
