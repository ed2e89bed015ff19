// SPDX-License-Identifier: BSD-3-Clause
// Batch normalization that is not folded into a convolution: a factor and an offset for each channel, in int8 too.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/operators/norm_block.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind unfused_batch_norm{"unfused_batch_norm"};
}
namespace operators {

template <norm Options> struct unfused_batch_norm {
    static constexpr const char* kind = "unfused_batch_norm";
    static constexpr int options[] = {Options.epsilon_millionths, Options.affine};
    static constexpr bool elementwise = true;
    static constexpr int gain_arrays = Options.affine ? 2 : 0;
    static constexpr unsigned takes = bounds;
    static constexpr auto epsilon = static_cast<float>(Options.epsilon_millionths / 1e6);

    /// The arrays of a block, of so many channels; without a weight and a bias those are null.
    struct arrays {
        const float *weight, *bias, *mean, *variance;
        arrays(const float* parameters, int channels) {
            weight = Options.affine ? parameters : nullptr;
            bias = Options.affine ? parameters + channels : nullptr;
            mean = parameters + (Options.affine ? 2 * channels : 0);
            variance = mean + channels;
        }
    };

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr parameter_list parameters(shape x) {
        parameter_list list;
        if (Options.affine) list.add("weight", x.channels).add("bias", x.channels);
        list.unread = "num_batches_tracked";
        list.add("running_mean", x.channels).add("running_var", x.channels);
        list.arrays[list.count - 1].is_variance = true;
        return list;
    }
    /// A gain and an offset for each channel: prepared for codes, computed at each call for floats.
    static constexpr int prepared_bytes(const node_view& v) {
        return 2 * v.x_shape().channels * static_cast<int>(sizeof(float));
    }
    static constexpr int scratch_bytes(const node_view& v) { return v.n.is_float() ? prepared_bytes(v) : 0; }
    static const char* problem(const preparation& p) {
        const arrays a(p.parameters(), p.x_shape().channels);
        for (int c = 0; c != p.x_shape().channels; ++c) {
            const double factor =
                (a.weight == nullptr ? 1.0 : double{a.weight[c]}) / std::sqrt(double{a.variance[c]} + double{epsilon});
            const double gain = factor * double{p.x_qparams().scale} / double{p.y_qparams().scale};
            const double largest =
                std::abs(factor * double{a.mean[c]}) + (a.bias == nullptr ? 0.0 : std::abs(double{a.bias[c]}));
            const double limit = double{std::numeric_limits<float>::max()};
            if (!(std::abs(gain) < limit && largest / double{p.y_qparams().scale} < limit))
                return "a channel's factor or offset is beyond a float in steps of the output's scale: calibrate with "
                       "values that the layer sees in use";
        }
        return nullptr;
    }
    static void prepare(const preparation& p) {
        const int channels = p.x_shape().channels;
        const arrays a(p.parameters(), channels);
        auto* gains = reinterpret_cast<float*>(p.prepared());
        kernel::make_batch_norm<default_architecture>(static_cast<std::size_t>(channels), a.weight, a.bias, a.mean,
                                                      a.variance, epsilon, p.x_qparams().scale, p.y_qparams().scale,
                                                      gains, gains + channels);
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        const int channels = o.x_shape().channels;
        const arrays a(o.parameters(), channels);
        auto* multipliers = o.template scratch<float>();
        kernel::make_batch_norm<Arch>(static_cast<std::size_t>(channels), a.weight, a.bias, a.mean, a.variance, epsilon,
                                      multipliers, multipliers + channels);
        kernel::batch_norm<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                                 static_cast<std::size_t>(channels), multipliers, multipliers + channels, o.y());
        clamp_floats<Arch>(o);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const int channels = o.x_shape().channels;
        const auto* gains = o.template prepared<float>();
        kernel::batch_norm<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                                 static_cast<std::size_t>(channels), o.x_qparams().zero_point, gains, gains + channels,
                                 o.y_codes(), o.y());
    }
};

}  // namespace operators

/// A batch_norm that stands by itself, as in front of a relu and a convolution: it is never folded, and has an int8 form. Its
/// parameters are those of batch_norm2d; relu, relu6 and clamp behind it are fused into it.
template <fixed_string Name, norm Options = norm{}>
struct unfused_batch_norm : operator_layer<op::unfused_batch_norm, Name, operators::unfused_batch_norm<Options>> {};

}  // namespace zp::inline v0
