// SPDX-License-Identifier: BSD-3-Clause
// The normalization of an image's channels that networks were trained behind, and its place in the first convolution.
#pragma once

#include <array>
#include <cstddef>

#include <zeropoint/kernel/movement/channel_border.hpp>
#include <zeropoint/operators/code_table.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/graph/window.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind normalize{"normalize"};
}

/// One mean and one standard deviation a channel, in thousandths: `zp::means<485, 456, 406>`.
template <int... Thousandths> struct means {
    static constexpr int count = sizeof...(Thousandths);                                // how many channels
    static constexpr int thousandths[count] = {Thousandths...};                         // as given
    static constexpr float values[count] = {static_cast<float>(Thousandths / 1e3)...};  // as floats
};
/// One standard deviation a channel, in thousandths, each above 0: `zp::deviations<229, 224, 225>`.
template <int... Thousandths> struct deviations : means<Thousandths...> {
    static_assert(((Thousandths > 0) && ...), "deviations<Thousandths...>: each must be above 0");
};

namespace operators {

/// The channels' means around an image, as wide as the window of the convolution behind it asks: what zeros around the
/// normalized image are around the image itself.
template <class Means> struct mean_border {
    static constexpr const char* kind = "mean_border";
    static constexpr std::span<const char* const> option_names = window2d::names;  // of which it has the padding
    static constexpr auto options = std::to_array(Means::thousandths);
    static constexpr qparams_source range = qparams_source::of_input;

    static constexpr shape output_shape(shape x) { return x; }  // the fuse pass knows how wide
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        T around[Means::count];
        for (int c = 0; c != Means::count; ++c) {
            if constexpr (std::is_same_v<T, float>) around[c] = Means::values[c];
            else
                around[c] = static_cast<T>(
                    quantize(Means::values[c], o.y_qparams(), o.y_type().quant_min, o.y_type().quant_max));
        }
        const auto window = options_of<window2d>(o.at().n);
        kernel::border(o.x_shape(), window.padding_top, window.padding_left, o.y_shape(), around, o.x(), o.y());
    }
};

template <class Means, class Deviations> constexpr auto means_and_deviations() {
    constexpr std::size_t count = Means::count;
    std::array<int, 2 * count> all{};
    for (std::size_t c = 0; c != count; ++c) {
        all[c] = Means::thousandths[c];
        all[count + c] = Deviations::thousandths[c];
    }
    return all;
}

template <class Means, class Deviations> struct normalize {
    static constexpr const char* kind = "normalize";
    static constexpr bool takes_volumes = true;
    static constexpr int count = Means::count;
    static constexpr auto options = means_and_deviations<Means, Deviations>();
    static constexpr channel_map_of map{Means::values, Deviations::values, &info_of<mean_border<Means>, op::pad>,
                                        &rules_of<mean_border<Means>>};

    static constexpr bool accepts(shape x) { return x.channels == count; }
    static constexpr shape expected_shape(shape x) { return {x.height, x.width, count, x.depth}; }
    static constexpr shape output_shape(shape x) { return x; }
    static void forward(const operands<float>& o) noexcept {
        for (int i = 0; i != o.y_shape().size(); ++i)
            o.y()[i] = (o.x()[i] - Means::values[i % count]) / Deviations::values[i % count];
    }

    // In front of anything but a convolution: a table for each channel.
    static constexpr int prepared_bytes(const node_view&) { return count * kernel::lookup_table_size; }
    static void prepare(const preparation& p) {
        for (int c = 0; c != count; ++c)
            make_code_table(p, p.x_qparams(), codes_of_output(p), p.prepared() + c * kernel::lookup_table_size,
                            [=](double x) { return (x - double{Means::values[c]}) / double{Deviations::values[c]}; });
    }
    template <class T> static void forward(const operands<T>& o) noexcept {
        constexpr int lowest = std::numeric_limits<T>::min();
        const T* tables = o.template prepared<T>();
        for (int i = 0; i != o.y_shape().size(); ++i)
            o.y()[i] = tables[i % count * kernel::lookup_table_size + o.x()[i] - lowest];
    }
};

}  // namespace operators

/// (x - mean) / deviation for each channel, in front of a network: `normalize<means<485, 456, 406>, deviations<229, 224,
/// 225>>` is torchvision's for ImageNet. `fuse` folds it into the convolution behind it: its weights and bias change, and
/// what was padded with zeros is padded with the means. An image of bytes then needs no arithmetic at all, under a fixed
/// scale of 1/255 for the input.
template <class Means, class Deviations>
struct normalize : operator_layer<op::normalize, "", operators::normalize<Means, Deviations>> {
    static_assert(Means::count == Deviations::count,
                  "normalize<Means, Deviations>: give as many deviations as means, one for each channel");
};

}  // namespace zp::inline v0
