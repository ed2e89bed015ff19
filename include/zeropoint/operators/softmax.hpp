// SPDX-License-Identifier: BSD-3-Clause
// Softmax and its logarithm over the channels of each pixel.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/float/float_softmax.hpp>
#include <zeropoint/kernel/normalize/softmax.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind softmax{"softmax"}, log_softmax{"log_softmax"};
}
namespace operators {

struct softmax {
    static constexpr const char* kind = "softmax";
    static constexpr float output_min = 0, output_max = 1;
    static constexpr bool takes_volumes = true;
    static constexpr stream_rule stream = stream_rule::pointwise;

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr int prepared_bytes(const node_view&) {
        return kernel::softmax_table_size * static_cast<int>(sizeof(std::int32_t));
    }
    static void prepare(const preparation& p) {
        kernel::make_softmax_table(p.x_qparams().scale, reinterpret_cast<std::int32_t*>(p.prepared()));
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::softmax<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                              static_cast<std::size_t>(o.x_shape().channels), o.y());
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::softmax<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                              static_cast<std::size_t>(o.x_shape().channels), o.template prepared<std::int32_t>(),
                              o.y_qparams().scale, o.y_codes(), o.y());
    }
};

struct log_softmax {
    static constexpr const char* kind = "log_softmax";
    static constexpr float output_min = -16, output_max = 0;
    static constexpr bool takes_volumes = true;
    static constexpr stream_rule stream = stream_rule::pointwise;

    struct prepared {
        kernel::log_softmax_parameters parameters;
        std::int32_t exponentials[kernel::softmax_table_size];
    };
    static constexpr shape output_shape(shape x) { return x; }
    static prepared prepare(const preparation& p) {
        prepared made{kernel::make_log_softmax_parameters(p.x_qparams().scale, p.y_qparams().scale), {}};
        kernel::make_softmax_table(p.x_qparams().scale, made.exponentials);
        return made;
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::log_softmax<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                                  static_cast<std::size_t>(o.x_shape().channels), o.y());
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const auto& made = *o.template prepared<prepared>();
        kernel::log_softmax<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                                  static_cast<std::size_t>(o.x_shape().channels), made.exponentials, made.parameters,
                                  o.y_codes(), o.y());
    }
};

}  // namespace operators

/// exp(x) / (sum of exp(x)) over the channels of each pixel. In int8 its output has the scale 1 / 256 and the lowest
/// code for 0, as PyTorch's and TFLite's, and is within 0.502 codes of the exact result up to 4096 channels
/// (kernel/normalize/softmax.hpp).
struct softmax : operator_layer<op::softmax, "", operators::softmax> {};

/// x - log(sum of exp(x)) over the channels of each pixel. In int8 its output has the scale 16 / 256 and the highest
/// code for 0, as TFLite's: what is below -16 becomes its lowest code.
struct log_softmax : operator_layer<op::log_softmax, "", operators::log_softmax> {};

}  // namespace zp::inline v0
