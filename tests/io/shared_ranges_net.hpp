// SPDX-License-Identifier: BSD-3-Clause
// A network whose int8 files are committed as zeropoint wrote them when a concat gave its range to all that it reads:
// tests/golden/shared_ranges_*.safetensors. Every kind of row on one grid, over values that others read as well.
#pragma once

#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace shared_ranges_test {

using zp::conv;

struct unsigned_codes
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct signed_codes
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct words : zp::int16_qconfig {};

struct net
    : zp::model<zp::input<6, 5, 3>, zp::conv2d<"stem", conv{.out_channels = 6}>,
                zp::concat<zp::identity, zp::sequential<zp::conv2d<"a", conv{.out_channels = 4}>, zp::relu>,
                           zp::sigmoid, zp::avg_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>>,
                zp::concat<zp::max_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>,
                           zp::conv2d<"b", conv{.out_channels = 3}>>,
                zp::residual<zp::sequential<zp::conv2d<"c", conv{.out_channels = 25}>, zp::requantize<"own">>>,
                zp::stack<zp::axis::height, zp::identity, zp::sequential<zp::conv2d<"d", conv{.out_channels = 25}>>,
                          zp::tanh>,
                zp::concat<zp::constant_pad2d<zp::sides(1), 3000>, zp::sequential<zp::pad<zp::sides(1)>, zp::sigmoid>>,
                zp::conv2d<"e", conv{.out_channels = 4, .kernel = 2}>> {};

/// Multiples of 2^-8: nothing is rounded on the way.
inline std::vector<std::vector<float>> images(std::size_t count, std::uint64_t seed) {
    zp_test::generator next(seed);
    std::vector<std::vector<float>> all(count, std::vector<float>(6 * 5 * 3));
    for (auto& image : all)
        for (float& value : image) value = static_cast<float>(next.integer(-512, 511)) * 0x1p-8f;
    return all;
}

/// Calls f.operator()<Config>(name) for each file.
template <class F> void for_each_file(F&& f) {
    f.template operator()<unsigned_codes>("unsigned");
    f.template operator()<signed_codes>("signed");
    f.template operator()<words>("words");
}

}  // namespace shared_ranges_test
