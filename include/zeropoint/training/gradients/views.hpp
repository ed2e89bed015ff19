// SPDX-License-Identifier: BSD-3-Clause
// Gradients of what moves no value: flatten, and what does nothing at inference; and of what does not depend smoothly on any.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/operators/argmax.hpp>
#include <zeropoint/operators/compare.hpp>
#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/full_like.hpp>
#include <zeropoint/operators/requantize.hpp>
#include <zeropoint/operators/stubs.hpp>
#include <zeropoint/training/gradients/clamp.hpp>

namespace zp::inline v0 {

template <> struct gradient_of<op::flatten> : detail::identity_gradient {};
template <> struct gradient_of<op::dropout> : detail::identity_gradient {};
template <> struct gradient_of<op::quant_stub> : detail::identity_gradient {};
template <> struct gradient_of<op::dequant_stub> : detail::identity_gradient {};

template <> struct gradient_of<op::requantize_to> : detail::identity_gradient {};

namespace detail {

/// Answers, places and constants: steps, whose gradient is 0.
struct no_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        for (int k = 0; k != o.at.n.input_count; ++k)
            if (o.dxs[k] != nullptr) std::fill_n(o.dxs[k], o.x_size(k) * static_cast<std::size_t>(o.samples), 0.0f);
    }
};

}  // namespace detail

template <> struct gradient_of<op::argmax> : detail::no_gradient {};
template <> struct gradient_of<op::full_like> : detail::no_gradient {};
template <> struct gradient_of<op::equal> : detail::no_gradient {};
template <> struct gradient_of<op::not_equal> : detail::no_gradient {};
template <> struct gradient_of<op::less> : detail::no_gradient {};
template <> struct gradient_of<op::less_equal> : detail::no_gradient {};
template <> struct gradient_of<op::greater> : detail::no_gradient {};
template <> struct gradient_of<op::greater_equal> : detail::no_gradient {};

}  // namespace zp::inline v0
