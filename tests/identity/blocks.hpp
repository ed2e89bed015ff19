// SPDX-License-Identifier: BSD-3-Clause
// Blocks of two well-known networks, small enough for emulators, and images for them that are the same floats everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/deploy.hpp>
#include <zeropoint/models/mobilenet_v2.hpp>
#include <zeropoint/models/resnet.hpp>

#include "../support/generator.hpp"

namespace resnet = zp::models::resnet_parts;
namespace mobilenet = zp::models::mobilenet_v2_parts;

/// A block of ResNet-18 that halves the image, with its convolution in the shortcut, and one that does not; a quarter of
/// the channels.
inline constexpr resnet::stage quarter{.channels = 32, .stride = 2};
struct resnet18_blocks : zp::model<zp::input<14, 14, 16>, resnet::projecting_block<"layer2.0", quarter>,
                                   resnet::block<"layer2.1", quarter.later_block()>> {};

/// MobileNetV2's first block with a shortcut, on an image that no tile divides.
inline constexpr mobilenet::bottleneck third{.in_channels = 24, .expanded = 144, .out_channels = 24};
struct mobilenet_v2_block : zp::model<zp::input<13, 11, 24>, mobilenet::inverted_residual<"features.3", third>> {};

/// The block under what zeropoint recommends.
template <class Block> using quantized_block = zp::quantized<Block, zp::default_qconfig>;

/// Calls f.operator()<Block>(name) with each of them.
template <class F> void for_each_block(F&& f) {
    f.template operator()<resnet18_blocks>("resnet18_blocks");
    f.template operator()<mobilenet_v2_block>("mobilenet_v2_block");
}

/// Height x width x channels, multiples of 2^-10 in [-2, 2): nothing is rounded.
inline std::vector<std::vector<float>> made_up_images(zp::shape extents, int count, std::uint64_t seed) {
    zp_test::generator next(seed);
    std::vector<std::vector<float>> all(static_cast<std::size_t>(count));
    for (std::vector<float>& values : all) {
        values.resize(static_cast<std::size_t>(extents.size()));
        for (float& value : values) value = static_cast<float>(next.integer(-2048, 2047)) * 0x1p-10f;
    }
    return all;
}
