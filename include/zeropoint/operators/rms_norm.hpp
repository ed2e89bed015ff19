// SPDX-License-Identifier: BSD-3-Clause
// Root mean square normalization: over the channels of each pixel, without a mean.
#pragma once

#include <array>
#include <cstddef>

#include <zeropoint/kernel/float/float_normalize.hpp>
#include <zeropoint/operators/norm_block.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind rms_norm{"rms_norm"};
}

/// Options of an rms_norm. epsilon is epsilon_millionths + epsilon_trillionths: 1e-6 as in T5 and Llama. PyTorch's default is
/// that of float, 119209 trillionths.
struct rms_norm_options {
    int epsilon_millionths = 1;   // what is added to the mean square,
    int epsilon_trillionths = 0;  // and this
    bool affine = true;           // has a weight
    int groups = 1;               // of channels side by side, each normalized alone with the same weight: heads
};

namespace operators {

template <rms_norm_options Options> struct rms_norm {
    static constexpr const char* kind = "rms_norm";
    static constexpr auto options = [] {
        constexpr int of_all[] = {Options.epsilon_millionths, Options.epsilon_trillionths, Options.affine};
        if constexpr (Options.groups == 1) return std::array{of_all[0], of_all[1], of_all[2]};
        else return std::array{of_all[0], of_all[1], of_all[2], Options.groups};
    }();
    static constexpr bool takes_volumes = true;
    static constexpr int groups = Options.groups < 1 ? 1 : Options.groups;
    static constexpr int gain_arrays = Options.affine ? 1 : 0;
    static constexpr unsigned takes = bounds;
    static constexpr stream_rule stream = stream_rule::pointwise;
    static constexpr auto epsilon =
        static_cast<float>(Options.epsilon_millionths / 1e6 + Options.epsilon_trillionths / 1e12);

    static constexpr bool accepts(shape x) {
        return x.channels % groups == 0 && together(x) <= static_cast<int>(kernel::most_normalized);
    }
    static constexpr shape output_shape(shape x) { return x; }
    static constexpr parameter_list parameters(shape x) {
        parameter_list list;
        if (Options.affine) list.add("weight", together(x));
        return list;
    }
    static constexpr int prepared_bytes(const node_view& v) { return norm_block::bytes(together(v.x_shape())); }
    static const char* problem(const preparation& p) { return problem_of_norm(p, p.at.n.weights.count); }
    static void prepare(const preparation& p) {
        const int channels = together(p.x_shape());
        prepare_norm(p, channels, epsilon, weight(p.parameters()), nullptr, channels);
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::rms_norm<Arch>(o.x(), count(o.x_shape()), static_cast<std::size_t>(together(o.x_shape())), epsilon,
                               weight(o.parameters()), o.y());
        clamp_floats<Arch>(o);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const norm_block block{o.prepared(), together(o.x_shape())};
        kernel::rms_norm<Arch>(o.x(), count(o.x_shape()), block.statistics(), o.x_qparams().zero_point, block.gains(),
                               block.offsets(), o.y_codes(), o.y());
    }

private:
    /// What is normalized together, and how often.
    static constexpr int together(const shape& x) { return x.channels / groups; }
    static constexpr std::size_t count(const shape& x) { return static_cast<std::size_t>(x.pixels() * groups); }
    static constexpr const float* weight(const float* parameters) { return Options.affine ? parameters : nullptr; }
};

}  // namespace operators

/// y = x / sqrt(mean of x^2 + epsilon) * weight over the channels of each pixel (Zhang 2019), as PyTorch's RMSNorm and the norms of
/// T5 and Llama: `zp::rms_norm<"norm">`, with the parameter "norm.weight". At most 2^23 channels. relu, relu6 and clamp behind it
/// are fused into it. With `groups`, which divide the channels, each group is normalized alone, and the weight is that of one: the norms of
/// queries and keys by heads, `zp::rms_norm<"q_norm", zp::rms_norm_options{.groups = heads}>`.
template <fixed_string Name, rms_norm_options Options = rms_norm_options{}>
struct rms_norm : operator_layer<op::rms_norm, Name, operators::rms_norm<Options>> {
    static_assert(Options.groups >= 1, "rms_norm<Name, Options>: groups must be at least 1");
};

}  // namespace zp::inline v0
