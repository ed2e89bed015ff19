// SPDX-License-Identifier: BSD-3-Clause
// Root mean square normalization: over the channels of each pixel, without a mean.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/float/float_normalize.hpp>
#include <zeropoint/operators/norm_block.hpp>

namespace zp {
inline namespace v0 {
namespace op {
inline constexpr operator_kind rms_norm{"rms_norm"};
}

/// Options of an rms_norm. epsilon is epsilon_millionths + epsilon_trillionths: 1e-6 as in T5 and Llama. PyTorch's default is
/// that of float, 119209 trillionths.
struct rms_norm_options {
    int epsilon_millionths = 1;   // what is added to the mean square,
    int epsilon_trillionths = 0;  // and this
    bool affine = true;           // has a weight
};

namespace operators {

template <rms_norm_options Options> struct rms_norm {
    static constexpr const char* kind = "rms_norm";
    static constexpr int options[] = {Options.epsilon_millionths, Options.epsilon_trillionths, Options.affine};
    static constexpr bool takes_volumes = true;
    static constexpr int gain_arrays = Options.affine ? 1 : 0;
    static constexpr unsigned takes = bounds;
    static constexpr stream_rule stream = stream_rule::pointwise;
    static constexpr auto epsilon =
        static_cast<float>(Options.epsilon_millionths / 1e6 + Options.epsilon_trillionths / 1e12);

    static constexpr bool accepts(shape x) { return x.channels <= static_cast<int>(kernel::most_normalized); }
    static constexpr shape output_shape(shape x) { return x; }
    static constexpr parameter_list parameters(shape x) {
        parameter_list list;
        if (Options.affine) list.add("weight", x.channels);
        return list;
    }
    static constexpr int prepared_bytes(const node_view& v) { return norm_block::bytes(v.x_shape().channels); }
    static const char* problem(const preparation& p) { return problem_of_norm(p, p.at.n.weights.count); }
    static void prepare(const preparation& p) {
        const int channels = p.x_shape().channels;
        prepare_norm(p, channels, epsilon, weight(p.parameters()), nullptr, channels);
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::rms_norm<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                               static_cast<std::size_t>(o.x_shape().channels), epsilon, weight(o.parameters()), o.y());
        clamp_floats<Arch>(o);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const norm_block block{o.prepared(), o.x_shape().channels};
        kernel::rms_norm<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()), block.statistics(),
                               o.x_qparams().zero_point, block.gains(), block.offsets(), o.y_codes(), o.y());
    }

private:
    static constexpr const float* weight(const float* parameters) { return Options.affine ? parameters : nullptr; }
};

}  // namespace operators

/// y = x / sqrt(mean of x^2 + epsilon) * weight over the channels of each pixel (Zhang 2019), as PyTorch's RMSNorm and the norms of
/// T5 and Llama: `zp::rms_norm<"norm">`, with the parameter "norm.weight". At most 2^23 channels. relu, relu6 and clamp behind it
/// are fused into it.
template <fixed_string Name, rms_norm_options Options = rms_norm_options{}>
struct rms_norm : operator_layer<op::rms_norm, Name, operators::rms_norm<Options>> {};

}  // namespace v0
}  // namespace zp
