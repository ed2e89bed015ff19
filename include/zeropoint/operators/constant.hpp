// SPDX-License-Identifier: BSD-3-Clause
// constant: a value of the state dict, not of the call: class tokens, positions, layer scales, attention biases.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind constant{"constant"};
}
namespace operators {

/// Reads nothing. As codes it has a range like any value, and is quantized to it once.
struct constant {
    static constexpr const char* kind = "constant";
    static constexpr bool takes_int16 = true, keeps_codes = true;

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr parameter_list parameters(const node_view& v) {
        const shape& y = v.y_shape();
        parameter_array values{"", 3, {y.height, y.width, y.channels, 1, 1}, parameter_role::table};
        values.any_shape = true;
        return parameter_list().add(values);
    }
    static constexpr int prepared_bytes(const node_view& v) {
        return v.n.is_float() ? 0 : v.n.weights.count * size_of(v.y_type().storage);
    }
    template <class> static refusal pack(const preparation& p, const node_parameters& from) {
        std::memcpy(p.prepared(), from.matrices[0].codes.data(), from.matrices[0].codes.size());
        return {};
    }
    template <class> static node_parameters unpack(const preparation& p) {
        node_parameters to;
        to.matrices.emplace_back().codes.assign(p.prepared(), p.prepared() + prepared_bytes(p.at));
        return to;
    }
    template <class T> static void forward(const operands<T>& o) noexcept {
        const T* values = nullptr;
        if constexpr (std::is_same_v<T, float>) values = o.parameters();
        else values = o.template prepared<T>();
        std::memcpy(o.y(), values, static_cast<std::size_t>(o.y_shape().size()) * sizeof(T));
    }
};

}  // namespace operators

template <> struct forms_of<op::constant> : forms_by_storage<operators::constant> {};

/// Height x Width x Channels floats that the state dict has under Name, in that order and in any shape of as many values: PyTorch's
/// nn.Parameter and buffers, ONNX's initializers. A branch of an operator of several values, whatever goes in:
/// `add<identity, constant<"pos_embed", 1, 197, 192>>`, `mul<identity, constant<"gamma", 1, 1, 192>>`, and for a token in front of
/// others `stack<axis::width, constant<"cls_token", 1, 1, 192>, identity>`. In int8 it is codes of its own range, quantized once,
/// and dynamic models keep its floats. zp::streaming takes one of 1 x 1 x Channels.
template <fixed_string Name, int Height, int Width, int Channels> struct constant {
    static_assert(Name.text[0] != 0,
                  "constant<Name, Height, Width, Channels>: Name is that of its tensor in the state dict: give it one");
    static_assert(Height >= 1 && Width >= 1 && Channels >= 1,
                  "constant<Name, Height, Width, Channels>: each extent must be at least 1; a vector of K values is "
                  "constant<Name, 1, 1, K>");
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int) {
        node n;
        n.op = &info_of<operators::constant, op::constant>;
        n.rules = &keyed_rules_of<operators::constant>;
        n.name = Name.text;
        n.out.extents = {Height, Width, Channels};
        if (!n.out.extents.is_too_large()) n.weights.count = n.out.extents.size();
        return b.append(n);
    }
};

}  // namespace zp::inline v0
