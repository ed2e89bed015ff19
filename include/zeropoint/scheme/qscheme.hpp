// SPDX-License-Identifier: BSD-3-Clause
// Quantization schemes as types: which values share a scale (granularity), and whether zero is its center (symmetry).
#pragma once

#include <concepts>
#include <type_traits>

namespace zp::inline v0 {

/// Nominal bases, so that swapped arguments read "symmetric is no granularity" instead of a list of missing members.
struct granularity_tag {};
struct symmetry_tag {};
struct qscheme_tag {};
template <class T> concept granularity_type = std::derived_from<T, granularity_tag>;
template <class T> concept symmetry_type = std::derived_from<T, symmetry_tag>;
template <class T> concept qscheme_type = std::derived_from<T, qscheme_tag>;

/// One scale and zero point for the whole tensor.
struct per_tensor : granularity_tag {
    static constexpr int axis = -1;       // None
    static constexpr int group_size = 0;  // None
};
/// One a slice along dimension `Axis`. Weights have their output channels on axis 0.
template <int Axis = 0> struct per_channel : granularity_tag {
    static_assert(Axis >= 0,
                  "per_channel<Axis>: Axis counts dimensions from 0; for the last of n dimensions write n - 1");
    static constexpr int axis = Axis;     // the dimension that has a scale an index
    static constexpr int group_size = 0;  // None
};
/// One for every `Size` consecutive values of the innermost dimension (4-bit weights: 32 or 128).
template <int Size> struct per_group : granularity_tag {
    static_assert(Size > 0, "per_group<Size>: a group has at least one value; usual sizes are 32, 64 and 128");
    static constexpr int axis = -1;          // None
    static constexpr int group_size = Size;  // how many values share a scale
};

/// The zero point is chosen with the scale: the range [min, max] fills all codes.
struct affine : symmetry_tag {};
/// The zero point is the middle of the codes, 0 for signed dtypes: the range is [-a, a], and kernels need no correction
/// for it.
struct symmetric : symmetry_tag {};

/// Who shares a scale, and where its zero is: `qscheme<per_group<32>, symmetric>`. The four usual ones have types of their own,
/// below, with a `name` for people.
template <class Granularity, class Symmetry> struct qscheme : qscheme_tag {
    static_assert(granularity_type<Granularity>,
                  "qscheme<Granularity, Symmetry>: the first argument must be zp::per_tensor, zp::per_channel<Axis> or "
                  "zp::per_group<Size> (the order is granularity, symmetry)");
    static_assert(!granularity_type<Granularity> || symmetry_type<Symmetry>,
                  "qscheme<Granularity, Symmetry>: the second argument must be zp::affine or zp::symmetric (the order "
                  "is granularity, symmetry)");
    /// A mistaken one is per tensor behind its sentence, so that there is no other.
    using granularity = std::conditional_t<granularity_type<Granularity>, Granularity, per_tensor>;
    using symmetry = Symmetry;
    /// Whether zero points are 0, or the middle of unsigned codes.
    static constexpr bool is_symmetric = std::is_same_v<Symmetry, symmetric>;
    static constexpr bool is_per_tensor = std::is_same_v<granularity, per_tensor>;  // whether there is one scale
    static constexpr bool is_per_channel = granularity::axis >= 0;     // whether there is one an index of an axis
    static constexpr bool is_per_group = granularity::group_size > 0;  // whether there is one a group of values
    static constexpr int axis = granularity::axis;                     // -1 when not per channel
    static constexpr int group_size = granularity::group_size;         // 0 when not per group
};

/// One scale and zero point: activations.
struct per_tensor_affine : qscheme<per_tensor, affine> {
    static constexpr const char* name = "per_tensor_affine";
};
/// One scale: weights, and activations of TensorRT and of 16 bits.
struct per_tensor_symmetric : qscheme<per_tensor, symmetric> {
    static constexpr const char* name = "per_tensor_symmetric";
};
/// A scale and a zero point an output channel.
struct per_channel_affine : qscheme<per_channel<0>, affine> {
    static constexpr const char* name = "per_channel_affine";
};
/// A scale an output channel: weights.
struct per_channel_symmetric : qscheme<per_channel<0>, symmetric> {
    static constexpr const char* name = "per_channel_symmetric";
};

}  // namespace zp::inline v0
