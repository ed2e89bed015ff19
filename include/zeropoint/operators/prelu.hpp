// SPDX-License-Identifier: BSD-3-Clause
// PReLU: the identity above zero, and below it a slope that was learned.
#pragma once

#include <algorithm>
#include <limits>

#include <zeropoint/kernel/elementwise/prelu.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind prelu{"prelu"};
}
namespace operators {

template <int Slopes> struct prelu {
    static constexpr const char* kind = "prelu";
    static constexpr int options[] = {Slopes};
    static constexpr bool elementwise = true, homogeneous = true;

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr bool accepts(shape x) { return Slopes <= 1 || Slopes == x.channels; }
    static constexpr shape expected_shape(shape x) { return {x.height, x.width, Slopes, x.depth}; }
    static constexpr int parameters(shape) { return Slopes; }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::prelu<Arch>(o.x(), o.y_shape(), o.parameters(), Slopes, o.y());
    }

    struct prepared {
        kernel::prelu_parameters parameters;
        float factors[at_least_one(Slopes)];
    };
    static const char* problem(const preparation& p) {
        const double ratio = double{p.x_qparams().scale} / p.y_qparams().scale;
        double largest = ratio;
        for (int c = 0; c != Slopes; ++c) {
            const double factor = ratio * double{p.parameters()[c]};
            largest = std::max(largest, factor < 0 ? -factor : factor);
        }
        return largest <= double{std::numeric_limits<float>::max()}
                   ? nullptr
                   : "the slopes times the input's scale are too large for the output's scale: calibrate the output's "
                     "range on its own values";
    }
    static prepared prepare(const preparation& p) {
        const qparams &x = p.x_qparams(), &y = p.y_qparams();
        prepared made{kernel::make_prelu_parameters(x.scale, x.zero_point, y.scale, y.zero_point, p.y_type().quant_min,
                                                    p.y_type().quant_max),
                      {}};
        for (int c = 0; c != Slopes; ++c)
            made.factors[c] = kernel::make_prelu_factor(p.parameters()[c], x.scale, y.scale);
        return made;
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const auto& made = *o.template prepared<prepared>();
        kernel::prelu<Arch>(o.x(), o.y_shape(), made.factors, Slopes, made.parameters, o.y());
    }
};

}  // namespace operators

/// x above zero, and a slope times x elsewhere: "Name.weight" holds one slope for all channels, or with Slopes = the
/// number of channels one for each, as PyTorch's num_parameters. In int8 an output is rounded once, to a grid of its own.
template <fixed_string Name, int Slopes = 1> struct prelu : operator_layer<op::prelu, Name, operators::prelu<Slopes>> {
    static_assert(Slopes >= 1, "prelu<Name, Slopes>: Slopes is 1, or the number of channels of its input");
};

}  // namespace zp::inline v0
