// Gradients of what moves no value: flatten, and what does nothing at inference.
#pragma once

#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/stubs.hpp>
#include <zeropoint/training/gradients/clamp.hpp>

namespace zp {
inline namespace v0 {

template <> struct gradient_of<op::flatten> : detail::identity_gradient {};
template <> struct gradient_of<op::dropout> : detail::identity_gradient {};
template <> struct gradient_of<op::quant_stub> : detail::identity_gradient {};
template <> struct gradient_of<op::dequant_stub> : detail::identity_gradient {};

}  // namespace v0
}  // namespace zp
