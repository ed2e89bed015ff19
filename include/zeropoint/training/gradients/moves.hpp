// SPDX-License-Identifier: BSD-3-Clause
// Gradients of what moves values: they go back where the values came from.
#pragma once

#include <zeropoint/kernel/geometry/resize_axis.hpp>
#include <zeropoint/kernel/gradient/movement_gradient.hpp>
#include <zeropoint/operators/batch_space.hpp>
#include <zeropoint/operators/concat.hpp>
#include <zeropoint/operators/gather.hpp>
#include <zeropoint/operators/gather_nd.hpp>
#include <zeropoint/operators/interpolate.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/rearrange.hpp>
#include <zeropoint/operators/reshape.hpp>
#include <zeropoint/operators/shuffle.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/training/gradients/pools.hpp>

namespace zp::inline v0 {
namespace detail {

struct moved_gradient {
    static constexpr bool moves(const operator_info&) { return true; }
};

}  // namespace detail

template <> struct gradient_of<op::concat> : detail::moved_gradient {};
template <> struct gradient_of<op::gather> : detail::moved_gradient {};
template <> struct gradient_of<op::stack> : detail::moved_gradient {};
template <> struct gradient_of<op::gather_nd> : detail::moved_gradient {};
template <> struct gradient_of<op::scatter_nd> : detail::moved_gradient {};
template <> struct gradient_of<op::pad> : detail::moved_gradient {};
template <> struct gradient_of<op::permute> : detail::moved_gradient {};
template <> struct gradient_of<op::flip> : detail::moved_gradient {};
template <> struct gradient_of<op::roll> : detail::moved_gradient {};
template <> struct gradient_of<op::tile> : detail::moved_gradient {};
template <> struct gradient_of<op::expand> : detail::moved_gradient {};
template <> struct gradient_of<op::rearrange> : detail::moved_gradient {};
template <> struct gradient_of<op::reshape> : detail::moved_gradient {};
template <> struct gradient_of<op::pixel_shuffle> : detail::moved_gradient {};
template <> struct gradient_of<op::pixel_unshuffle> : detail::moved_gradient {};
template <> struct gradient_of<op::channel_shuffle> : detail::moved_gradient {};
template <> struct gradient_of<op::slice> : detail::moved_gradient {};
template <> struct gradient_of<op::space_to_batch> : detail::moved_gradient {};
template <> struct gradient_of<op::batch_to_space> : detail::moved_gradient {};

/// Nearest modes move, bilinear ones give shares.
template <> struct gradient_of<op::interpolate> {
    static constexpr bool moves(const operator_info& op) {
        const auto mode = static_cast<resize_mode>(op.options[4]);
        return mode != resize_mode::bilinear && mode != resize_mode::bilinear_align_corners &&
               mode != resize_mode::bilinear_corner;
    }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const std::span<const int> options = o.at.n.op->options;
        const auto mode = static_cast<resize_mode>(options[4]);
        const auto rule = mode == resize_mode::bilinear_corner ? kernel::resize_rule::corner
                          : mode == resize_mode::bilinear      ? kernel::resize_rule::half_pixel
                                                               : kernel::resize_rule::align_corners;
        const bool has_size = options[0] > 0 && options[1] > 0;
        const int p = has_size ? 0 : options[2], q = has_size ? 0 : options[3];
        const shape &in = o.at.x_shape(), &out = o.at.y_shape();
        const auto rows = kernel::make_linear_axis(rule, in.height, out.height, p, q),
                   columns = kernel::make_linear_axis(rule, in.width, out.width, p, q);
        detail::of_each_sample(o, [&](const float*, const float* dy, float* dx) {
            kernel::interpolate_bilinear_gradient<Arch>(rows, columns, static_cast<std::size_t>(in.channels), dy, dx);
        });
    }
};

}  // namespace zp::inline v0
