// SPDX-License-Identifier: BSD-3-Clause
// Group and instance normalization: over an image and groups of its channels, or each of them.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/float/float_normalize.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/operators/norm_block.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind group_norm{"group_norm"}, instance_norm{"instance_norm"};
}
namespace operators {

/// Groups is 0 where each channel is a group of its own.
template <int Groups, norm Options> struct group_norm {
    static constexpr const char* kind = Groups == 0 ? "instance_norm" : "group_norm";
    static constexpr int options[] = {Groups, Options.epsilon_millionths, Options.affine};
    static constexpr bool takes_volumes = true;
    static constexpr int gain_arrays = Options.affine ? 2 : 0;
    static constexpr unsigned takes = bounds;
    static constexpr auto epsilon = static_cast<float>(Options.epsilon_millionths / 1e6);

    static constexpr int groups(shape x) { return Groups == 0 ? x.channels : Groups; }
    /// How many values are normalized together.
    static constexpr int together(shape x) { return x.size() / groups(x); }
    static constexpr bool accepts(shape x) {
        return x.channels % groups(x) == 0 && together(x) <= static_cast<int>(kernel::most_normalized);
    }
    static constexpr shape output_shape(shape x) { return x; }
    static constexpr parameter_list parameters(shape x) {
        parameter_list list;
        if (Options.affine) list.add("weight", x.channels).add("bias", x.channels);
        return list;
    }
    static constexpr int prepared_bytes(const node_view& v) { return norm_block::bytes(v.x_shape().channels); }
    static const char* problem(const preparation& p) { return problem_of_norm(p, p.at.n.weights.count); }
    static void prepare(const preparation& p) {
        const int channels = p.x_shape().channels;
        prepare_norm(p, together(p.x_shape()), epsilon, weight(p.parameters()), bias(p.parameters(), channels),
                     channels);
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        const shape& x = o.x_shape();
        kernel::group_norm<Arch>(o.x(), static_cast<std::size_t>(x.pixels()), static_cast<std::size_t>(x.channels),
                                 static_cast<std::size_t>(groups(x)), epsilon, weight(o.parameters()),
                                 bias(o.parameters(), x.channels), o.y());
        clamp_floats<Arch>(o);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const shape& x = o.x_shape();
        const norm_block block{o.prepared(), x.channels};
        kernel::group_norm<Arch>(o.x(), static_cast<std::size_t>(x.pixels()), static_cast<std::size_t>(x.channels),
                                 static_cast<std::size_t>(groups(x)), block.statistics(), block.gains(),
                                 block.offsets(), o.y_codes(), o.y());
    }

private:
    static constexpr const float* weight(const float* parameters) { return Options.affine ? parameters : nullptr; }
    static constexpr const float* bias(const float* parameters, int channels) {
        return Options.affine ? parameters + channels : nullptr;
    }
};

}  // namespace operators

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and variance of all pixels and of the channels
/// of a group, as PyTorch's GroupNorm: `zp::group_norm<"norm", 4>`. Groups divides the channels; at most 2^23 values
/// are normalized together. relu, relu6 and clamp behind it are fused into it.
template <fixed_string Name, int Groups, norm Options = norm{}>
struct group_norm : operator_layer<op::group_norm, Name, operators::group_norm<Groups, Options>> {
    static_assert(Groups > 0, "group_norm<Name, Groups>: Groups must be at least 1, and divide the input's channels");
};

/// The same with each channel as a group: PyTorch's InstanceNorm1d, InstanceNorm2d and InstanceNorm3d, without parameters by
/// default.
template <fixed_string Name = "", norm Options = norm{.affine = false}>
struct instance_norm : operator_layer<op::instance_norm, Name, operators::group_norm<0, Options>> {};
/// instance_norm under PyTorch's name for volumes.
template <fixed_string Name = "", norm Options = norm{.affine = false}>
struct instance_norm3d : instance_norm<Name, Options> {};

}  // namespace zp::inline v0
