// SPDX-License-Identifier: BSD-3-Clause
// Squeeze-and-excitation: channels weighted by what the whole image says.
#pragma once

#include <zeropoint/graph/sequential.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/pool2d.hpp>

namespace zp::inline v0 {

namespace detail {
/// A factor a channel, from the means of all channels.
template <fixed_string Name, int Squeezed, class Activation, class Gate> struct excitation {
    static constexpr auto first = Name + ".fc1", second = Name + ".fc2";
    static constexpr int nodes = 3 + nodes_of<Activation, Gate>;
    static constexpr int lower(builder& b, int x) {
        const int channels = b.nodes[x].out.extents.channels;
        int y = b.conv2d(b.adaptive_avg_pool2d(x, "", 1), first.text, conv{.out_channels = Squeezed});
        y = b.conv2d(sequential<Activation>::lower(b, y), second.text, conv{.out_channels = channels});
        return sequential<Gate>::lower(b, y);
    }
};
}  // namespace detail

/// x * Gate(fc2(Activation(fc1(mean of each channel)))), over an image of height x width x channels, which keeps its extents: the block of Hu,
/// Shen and Sun (2018), as torchvision.ops.SqueezeExcitation has it, whose names and parameters these are: "Name.fc1.weight" of Squeezed x
/// channels x 1 x 1, "Name.fc1.bias", "Name.fc2.weight" of channels x Squeezed x 1 x 1, "Name.fc2.bias". In MobileNetV3 Gate is hard_sigmoid.
template <fixed_string Name, int Squeezed, class Activation = relu, class Gate = sigmoid>
struct squeeze_excite : mul<identity, detail::excitation<Name, Squeezed, Activation, Gate>> {
    static_assert(Squeezed >= 1, "squeeze_excite<Name, Squeezed, ...>: Squeezed must be at least 1");
};

}  // namespace zp::inline v0
