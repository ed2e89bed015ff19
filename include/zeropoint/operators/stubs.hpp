// SPDX-License-Identifier: BSD-3-Clause
// What does nothing at inference: dropout, and the stubs between which a model is quantized.
#pragma once

#include <zeropoint/operators/copy.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind dropout{"dropout"}, quant_stub{"quant_stub"}, dequant_stub{"dequant_stub"};
}
namespace operators {

/// The fuse pass removes such nodes, but for one that is all there is.
constexpr operator_info make_identity(const operator_kind& kind, bool opens, bool closes) {
    operator_info info = detail::make_info<copy>(kind);
    info.is_identity = info.keeps_order = true;
    info.opens_quantized = opens;
    info.closes_quantized = closes;
    return info;
}
inline constexpr operator_info dropout = make_identity(op::dropout, false, false),
                               quant_stub = make_identity(op::quant_stub, true, false),
                               dequant_stub = make_identity(op::dequant_stub, false, true);

template <const operator_info& Info> struct identity_layer {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.append(b.unary(Info, keyed_rules_of<copy>, x, "")); }
};

}  // namespace operators

template <> struct forms_of<op::dropout> : forms_by_storage<operators::copy> {};
template <> struct forms_of<op::quant_stub> : forms_by_storage<operators::copy> {};
template <> struct forms_of<op::dequant_stub> : forms_by_storage<operators::copy> {};

/// Identity at inference.
struct dropout : operators::identity_layer<operators::dropout> {};
/// Where the model enters and leaves its quantized region, as in PyTorch's eager mode. A model without stubs is
/// quantized from end to end.
struct quant_stub : operators::identity_layer<operators::quant_stub> {};
/// Where the model leaves its quantized region.
struct dequant_stub : operators::identity_layer<operators::dequant_stub> {};

}  // namespace zp::inline v0
