// SPDX-License-Identifier: BSD-3-Clause
// MobileNetV2 (Sandler 2018), parameters named as in torchvision.
#pragma once

#include <utility>

#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace mobilenet_v2_parts {

/// 1x1 to `expanded` channels, depthwise 3x3, 1x1 to `out_channels`, which no activation follows.
struct bottleneck {
    int in_channels = 0, expanded = 0, out_channels = 0, stride = 1;
    constexpr bool has_shortcut() const { return stride == 1 && in_channels == out_channels; }
};

inline constexpr int bottlenecks = 17;

/// The paper's table 2, whose rows are an expansion, channels, repetitions, and the stride of the first repetition.
constexpr bottleneck bottleneck_at(int place, int width_percent) {
    constexpr int rows[7][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int channels = scaled_channels(32, width_percent);
    for (const auto& [expansion, wanted, repetitions, stride] : rows) {
        for (int i = 0; i != repetitions; ++i, --place) {
            const int out_channels = scaled_channels(wanted, width_percent);
            if (place == 0) return {channels, channels * expansion, out_channels, i == 0 ? stride : 1};
            channels = out_channels;
        }
    }
    return {};
}

/// Convolution, batch norm, ReLU6: parameters Name.0 and Name.1.
template <fixed_string Name, conv Options>
struct conv_norm_relu6 : sequential<conv_norm<Name + ".0", Name + ".1", Options>, relu6> {};

template <fixed_string Name, bottleneck B, bool Expands = B.expanded != B.in_channels>
struct convolutions : sequential<conv_norm_relu6<Name + ".conv.0", conv1x1(B.expanded)>,
                                 conv_norm_relu6<Name + ".conv.1", depthwise_conv(3, B.stride)>,
                                 conv_norm<Name + ".conv.2", Name + ".conv.3", conv1x1(B.out_channels)>> {};
template <fixed_string Name, bottleneck B>
struct convolutions<Name, B, false>
    : sequential<conv_norm_relu6<Name + ".conv.0", depthwise_conv(3, B.stride)>,
                 conv_norm<Name + ".conv.1", Name + ".conv.2", conv1x1(B.out_channels)>> {};

template <fixed_string Name, bottleneck B> struct inverted_residual {
    using body = convolutions<Name, B>;
    static constexpr int nodes = body::nodes + 1;
    static constexpr int lower(builder& b, int x) {
        const int y = body::lower(b, x);
        return B.has_shortcut() ? b.add(y, x) : y;
    }
};

template <int WidthPercent, class Places> struct body;
template <int WidthPercent, int... I>
struct body<WidthPercent, std::integer_sequence<int, I...>>
    : sequential<inverted_residual<"features." + numeral<I + 1>, bottleneck_at(I, WidthPercent)>...> {};

}  // namespace mobilenet_v2_parts

/// WidthPercent is the paper's width multiplier: 140, 75, 50 and 35 of its tables.
template <class Input = imagenet_input, int Classes = imagenet_classes, int WidthPercent = 100>
struct mobilenet_v2
    : model<Input, mobilenet_v2_parts::conv_norm_relu6<"features.0", conv3x3(scaled_channels(32, WidthPercent), 2)>,
            mobilenet_v2_parts::body<WidthPercent, std::make_integer_sequence<int, mobilenet_v2_parts::bottlenecks>>,
            mobilenet_v2_parts::conv_norm_relu6<"features.18", conv1x1(scaled_channels(
                                                                   1280, WidthPercent > 100 ? WidthPercent : 100))>,
            adaptive_avg_pool2d<1>, flatten, dropout, linear<"classifier.1", Classes>> {};

}  // namespace zp::inline v0::models
