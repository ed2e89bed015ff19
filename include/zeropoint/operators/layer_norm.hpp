// SPDX-License-Identifier: BSD-3-Clause
// Layer normalization: over the channels of each pixel, or over a whole image.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/float/float_normalize.hpp>
#include <zeropoint/operators/norm_block.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind layer_norm{"layer_norm"};
}

/// What a layer_norm takes mean and variance of.
enum class normalized : std::uint8_t {
    channels,  ///< of the channels of each pixel; weight and bias are [channels]
    image      ///< of all values together; weight and bias are [channels, height, width] in files
};

/// Options of a layer_norm. epsilon is epsilon_millionths + epsilon_trillionths, PyTorch's default of 1e-5 being 10
/// millionths and BERT's 1e-12 one trillionth.
struct layer_norm_options {
    normalized over = normalized::channels;  // what is normalized together: the channels of a pixel, or the image
    int epsilon_millionths = 10;             // what is added to the variance,
    int epsilon_trillionths = 0;             // and this
    bool affine = true;                      // has a weight
    bool bias = true;                        // has a bias, where it has a weight
};

namespace operators {

template <layer_norm_options Options> struct layer_norm {
    static constexpr const char* kind = "layer_norm";
    static constexpr int options[] = {static_cast<int>(Options.over), Options.epsilon_millionths,
                                      Options.epsilon_trillionths, Options.affine, Options.bias};
    static constexpr bool takes_volumes = Options.over == normalized::channels;
    static constexpr unsigned takes = bounds;
    static constexpr stream_rule stream = takes_volumes ? stream_rule::pointwise : stream_rule::whole;
    static constexpr auto epsilon =
        static_cast<float>(Options.epsilon_millionths / 1e6 + Options.epsilon_trillionths / 1e12);
    static constexpr bool has_weight = Options.affine, has_bias = Options.affine && Options.bias;
    static constexpr int gain_arrays = Options.over == normalized::channels ? has_weight + has_bias : 0;

    /// How many values are normalized together; as many numbers has the weight.
    static constexpr int together(shape x) { return Options.over == normalized::image ? x.size() : x.channels; }
    static constexpr bool accepts(shape x) { return together(x) <= static_cast<int>(kernel::most_normalized); }
    static constexpr shape output_shape(shape x) { return x; }
    static constexpr parameter_list parameters(shape x) {
        const bool image = Options.over == normalized::image;
        parameter_list list;
        for (const char* name : {has_weight ? "weight" : nullptr, has_bias ? "bias" : nullptr})
            if (name != nullptr) image ? list.add_image(name, x) : list.add(name, x.channels);
        return list;
    }
    static constexpr int prepared_bytes(const node_view& v) { return norm_block::bytes(together(v.x_shape())); }
    static const char* problem(const preparation& p) { return problem_of_norm(p, p.at.n.weights.count); }
    static void prepare(const preparation& p) {
        const int count = together(p.x_shape());
        prepare_norm(p, count, epsilon, weight(p.parameters()), bias(p.parameters(), count), count);
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        const int count = together(o.x_shape());
        kernel::layer_norm<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().size() / count),
                                 static_cast<std::size_t>(count), epsilon, weight(o.parameters()),
                                 bias(o.parameters(), count), o.y());
        clamp_floats<Arch>(o);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const int count = together(o.x_shape());
        const norm_block block{o.prepared(), count};
        kernel::layer_norm<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().size() / count), block.statistics(),
                                 block.gains(), block.offsets(), o.y_codes(), o.y());
    }

private:
    static constexpr const float* weight(const float* parameters) { return has_weight ? parameters : nullptr; }
    static constexpr const float* bias(const float* parameters, int count) {
        return has_bias ? parameters + count : nullptr;
    }
};

}  // namespace operators

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, as PyTorch's LayerNorm: `zp::layer_norm<"norm">` over the
/// channels of each pixel, `zp::layer_norm<"norm", zp::layer_norm_options{.over = zp::normalized::image}>` over the
/// image. At most 2^23 values are normalized together. relu, relu6 and clamp behind it are fused into it.
template <fixed_string Name, layer_norm_options Options = layer_norm_options{}>
struct layer_norm : operator_layer<op::layer_norm, Name, operators::layer_norm<Options>> {};

}  // namespace zp::inline v0
