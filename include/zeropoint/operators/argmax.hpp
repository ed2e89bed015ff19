// SPDX-License-Identifier: BSD-3-Clause
// The channel with the largest value: the index of a class, for each pixel.
#pragma once

#include <zeropoint/kernel/reduction/argmax.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind argmax{"argmax"};
}
namespace operators {

/// Codes are the indices themselves, on a grid of scale 1 and zero point 0, which every dtype has up to 127.
struct argmax {
    static constexpr const char* kind = "argmax";
    static constexpr qparams_source range = qparams_source::derived;
    static constexpr int most_channels = 128;
    static constexpr bool takes_volumes = true;

    static constexpr qparams derive(const qparams&) { return {1.0f, 0}; }
    static constexpr shape output_shape(shape x) { return {x.height, x.width, 1, x.depth}; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::argmax<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                             static_cast<std::size_t>(o.x_shape().channels), T{0}, o.y());
    }
};
/// More classes than codes: floats hold their indices, up to 2^24.
struct float_argmax {
    static constexpr const char* kind = "argmax";
    static constexpr bool takes_volumes = true;
    static constexpr shape output_shape(shape x) { return argmax::output_shape(x); }
    template <class Arch> static void forward(const operands<float>& o) noexcept { argmax::forward<Arch>(o); }
};

}  // namespace operators

/// H x W x C to H x W x 1: the index of the largest channel, the first of several. As a model's output the indices are
/// whole floats, in float and in int8 stages. Above 128 channels it stays in float32.
struct argmax {
    static constexpr int nodes = 1;
    static constexpr int lower(auto& b, int x) {  // a template: only a network that has it instantiates its forms
        if (b.nodes[x].out.extents.channels <= operators::argmax::most_channels)
            return append_operator<op::argmax, operators::argmax>(b, {&x, 1});
        return append_operator<op::argmax, operators::float_argmax>(b, {&x, 1});
    }
};

}  // namespace zp::inline v0
