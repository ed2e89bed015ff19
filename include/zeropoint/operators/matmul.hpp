// SPDX-License-Identifier: BSD-3-Clause
// The product of two activations as a layer: attention's scores and their product with values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/float/float_matmul.hpp>
#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/scheme/requantization.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind matmul{"matmul"};
}
namespace operators {

/// A matrix is width x channels of a shape; its height is the number of matrices, of the second operand perhaps 1 for all.
template <bool Transposed> struct matmul {
    static constexpr const char* kind = "matmul";
    static constexpr int options[] = {Transposed};
    static constexpr unsigned takes = bounds;
    static constexpr cut_rule cut = cut_rule::matrices;

    static constexpr bool accepts(std::span<const shape> xs) {
        if (xs.size() != 2 || (xs[1].height != xs[0].height && xs[1].height != 1)) return false;
        return xs[0].channels == (Transposed ? xs[1].channels : xs[1].width) &&
               xs[0].channels <= kernel::largest_matmul_depth;
    }
    static constexpr shape output_shape(std::span<const shape> xs) {
        if (xs.size() != 2) return xs[0];
        return {xs[0].height, xs[0].width, Transposed ? xs[1].width : xs[1].channels};
    }
    static constexpr kernel::matmul_geometry geometry_of(const shape& a, const shape& y, int matrices_of_b) {
        auto g = kernel::dense_matmul(a.width, a.channels, y.channels, Transposed, a.height);
        if (matrices_of_b == 1) g.b.batch_pitch = 0;
        return g;
    }
    static constexpr std::int64_t macs(const node_view& v) {
        return std::int64_t{v.y_shape().size()} * v.x_shape().channels;
    }
    static constexpr int scratch_bytes(const node_view& v) {
        const kernel::matmul_geometry g = geometry_of(v.x_shape(), v.y_shape(), v.x_shape().height);
        if (v.n.is_float())
            return static_cast<int>(sizeof(float) * kernel::matmul_float_scratch<default_architecture>(g));
        return static_cast<int>(kernel::matmul_plan<default_architecture>(g).scratch_bytes);
    }
    using prepared = float;
    static const char* problem(const preparation& p) {
        const double step = double{p.x_qparams(0).scale} * double{p.x_qparams(1).scale};
        return fits_float(step / double{p.y_qparams().scale})
                   ? nullptr
                   : "the operands' scales and the output's are too far apart to compute with: calibrate the output's "
                     "range on its own values";
    }
    static float prepare(const preparation& p) {
        return requantize_multiplier(p.x_qparams(0).scale, p.x_qparams(1).scale, p.y_qparams().scale);
    }

    static void forward(const operands<float>& o) noexcept {
        kernel::matmul_float<default_architecture>(geometry_of(o.x_shape(0), o.y_shape(), o.x_shape(1).height), o.x(0),
                                                   o.x(1), o.y(), o.scratch<float>());
        if (o.lowest() == -infinity && o.highest() == infinity) return;
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = std::clamp(o.y()[i], o.lowest(), o.highest());
    }
    template <class T> static void forward(const operands<T>& o) noexcept {
        const kernel::nearest_even_per_tensor epilogue{*o.template prepared<float>(), o.y_codes()};
        kernel::matmul<default_architecture>(geometry_of(o.x_shape(0), o.y_shape(), o.x_shape(1).height), o.x(0),
                                             o.x_qparams(0).zero_point, o.x(1), o.x_qparams(1).zero_point, epilogue,
                                             o.y(), o.scratch());
    }
};

}  // namespace operators

/// a * b, the outputs of two branches: matrices of rows x depth by depth x columns, which are width x channels of a shape.
/// The height is the number of matrices, such as heads; of b it may be 1, for all. In int8 a product of codes, exact in int32,
/// rounded once.
template <class A, class B> struct matmul : operator_layer<op::matmul, "", operators::matmul<false>, A, B> {};

/// a * b transposed, matrices of rows x depth by columns x depth: the scores of an attention.
template <class A, class B> struct matmul_transposed : operator_layer<op::matmul, "", operators::matmul<true>, A, B> {};

}  // namespace zp::inline v0
