// SPDX-License-Identifier: BSD-3-Clause
// relu, relu6 and clamp: bounds of values, which most operators take over from a clamp behind them.
#pragma once

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind relu{"relu"}, relu6{"relu6"}, clamp{"clamp"};
}
namespace operators {

/// min(max(x, lowest), highest), the bounds being those of the node's epilogue: scale and zero point are the input's.
struct clamp {
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool picks_values = true;
    static constexpr bool elementwise = true, takes_int16 = true, signed_by_kind = true;
    static constexpr unsigned gives = bounds;

    static constexpr void merge(node& into, const node& self) {
        into.fused.clamp = self.fused.clamp;
        into.fused.lowest = self.fused.lowest;
        into.fused.highest = self.fused.highest;
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        T low{}, high{};
        if constexpr (std::is_same_v<T, float>) {
            low = o.lowest();
            high = o.highest();
        } else {
            const kernel::output_codes codes = o.y_codes();
            low = static_cast<T>(codes.min);
            high = static_cast<T>(codes.max);
        }
        kernel::clamp<Arch>(o.x(), static_cast<std::size_t>(o.y_shape().size()), low, high, o.y());
    }
};

inline constexpr const char* clamp_options[] = {"lowest", "highest"};  // kept in the epilogue
constexpr operator_info make_clamp(const operator_kind& kind, std::span<const char* const> options) {
    operator_info info = detail::make_info<clamp>(kind);
    info.keeps_order = true;
    info.option_names = options;
    return info;
}
inline constexpr operator_info relu_info = make_clamp(op::relu, {}), relu6_info = make_clamp(op::relu6, {}),
                               clamp_info = make_clamp(op::clamp, clamp_options);

constexpr int append_clamp(builder& b, const operator_info& info, int x, const char* name, float lowest,
                           float highest) {
    node n = b.unary(info, keyed_rules_of<clamp>, x, name);
    n.fused.clamp = &info;
    n.fused.lowest = lowest;
    n.fused.highest = highest;
    if (!(lowest <= highest)) b.fail(rule::clamp_bounds, n.out.extents);
    return b.append(n);
}

/// Fuses no clamp, a relu or a relu6 into a node that is made by hand, and says whether the kind is one of these.
constexpr bool fuse_activation(node& n, const operator_kind& kind) {
    if (&kind == &op::none) return true;
    if (&kind != &op::relu && &kind != &op::relu6) return false;
    n.fused.clamp = &kind == &op::relu ? &relu_info : &relu6_info;
    n.fused.lowest = 0;
    n.fused.highest = &kind == &op::relu ? infinity : 6.0f;
    return true;
}

}  // namespace operators

template <> struct forms_of<op::relu> : forms_by_storage<operators::clamp> {};
template <> struct forms_of<op::relu6> : forms_by_storage<operators::clamp> {};
template <> struct forms_of<op::clamp> : forms_by_storage<operators::clamp> {};

constexpr int builder::clamp(int x, const char* name, float lowest, float highest) {
    return operators::append_clamp(*this, operators::clamp_info, x, name, lowest, highest);
}

// Clamps share scale and zero point of what they clamp, and are fused into a conv2d, linear or add in front of them.

/// max(x, 0), PyTorch's ReLU.
struct relu {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        return operators::append_clamp(b, operators::relu_info, x, "", 0.0f, infinity);
    }
};
/// min(max(x, 0), 6), PyTorch's ReLU6.
struct relu6 {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        return operators::append_clamp(b, operators::relu6_info, x, "", 0.0f, 6.0f);
    }
};
/// min(max(x, Lowest), Highest); the bounds in thousandths.
template <int LowestThousandths, int HighestThousandths> struct clamp {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        return b.clamp(x, "", static_cast<float>(LowestThousandths / 1e3),
                       static_cast<float>(HighestThousandths / 1e3));
    }
};
/// The same under PyTorch's name and with its defaults, -1 and 1.
template <int LowestThousandths = -1000, int HighestThousandths = 1000>
struct hardtanh : clamp<LowestThousandths, HighestThousandths> {};

}  // namespace zp::inline v0
