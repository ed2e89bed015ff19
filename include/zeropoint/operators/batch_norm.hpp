// SPDX-License-Identifier: BSD-3-Clause
// batch_norm: a factor and an offset for each channel, which the fuse pass folds into the weights in front of it.
#pragma once

#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind batch_norm{"batch_norm"};
}
namespace operators {

/// Four arrays of one value a channel; node::parameter is epsilon.
struct batch_norm {
    static constexpr const char* option_names[] = {"affine"};
    static constexpr bool elementwise = true, signed_by_kind = true;
    static constexpr unsigned gives = channel_affine;

    static constexpr parameter_list parameters(const node_view& v) {
        const int channels = v.y_shape().channels;
        const bool affine = v.n.options[0] != 0;
        const auto array = [&](const char* name, bool in_state_dict, float otherwise, bool is_variance) {
            return parameter_array{
                name, 1, {channels, 1, 1, 1, 1}, parameter_role::vector, {}, in_state_dict, otherwise, is_variance};
        };
        parameter_list list;
        list.add(array("weight", affine, 1, false)).add(array("bias", affine, 0, false));
        list.add(array("running_mean", true, 0, false)).add(array("running_var", true, 0, true));
        list.unread = "num_batches_tracked";  // only training reads it
        return list;
    }
    static constexpr void merge(node& into, const node& self) {
        into.from.folded = self.from.self;
        into.weights.has_bias = true;
    }
    static constexpr int scratch_bytes(const node_view& v) {
        return 2 * v.y_shape().channels * static_cast<int>(sizeof(float));
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        const auto channels = static_cast<std::size_t>(o.y_shape().channels);
        const float* arrays = o.parameters();
        auto* multiplier = o.template scratch<float>();
        kernel::make_batch_norm<Arch>(channels, arrays, arrays + channels, arrays + 2 * channels, arrays + 3 * channels,
                                      o.at().n.parameter, multiplier, multiplier + channels);
        kernel::batch_norm<Arch>(o.x(), static_cast<std::size_t>(o.y_shape().pixels()), channels, multiplier,
                                 multiplier + channels, o.y());
    }
};
inline constexpr operator_info batch_norm_info = [] {
    operator_info info = detail::make_info<batch_norm>(op::batch_norm);
    info.keeps_order = info.refuses_codes = true;
    return info;
}();

}  // namespace operators

template <> struct forms_of<op::batch_norm> : forms_by_storage<operators::batch_norm> {};

constexpr int builder::batch_norm(int x, const char* name, float epsilon, bool affine) {
    node n = unary(operators::batch_norm_info, keyed_rules_of<operators::batch_norm>, x, name);
    const value_type& value = nodes[x].out;
    if (value.is_flattened_image()) fail(rule::flattened_image, value.flattened);
    n.weights.channels = value.extents.channels;
    n.parameter = epsilon;
    n.options[0] = affine;
    return append(n);
}

/// Options of a batch normalization. epsilon is given in millionths, PyTorch's default of 1e-5 being 10.
struct norm {
    int epsilon_millionths = 10;  // what is added to the variance
    bool affine = true;           // whether there are a "name.weight" and a "name.bias"
};

/// y = (x - running_mean) / sqrt(running_var + epsilon) * weight + bias, per channel.
template <fixed_string Name, norm Options = norm{}> struct batch_norm2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        const auto epsilon = static_cast<float>(Options.epsilon_millionths / 1e6);
        return b.batch_norm(x, Name.text, epsilon, Options.affine);
    }
};
/// The same arithmetic on a vector, after a linear layer.
template <fixed_string Name, norm Options = norm{}> struct batch_norm1d : batch_norm2d<Name, Options> {};
/// And on a volume, behind a conv3d.
template <fixed_string Name, norm Options = norm{}> struct batch_norm3d : batch_norm2d<Name, Options> {};

}  // namespace zp::inline v0
