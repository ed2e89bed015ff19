// SPDX-License-Identifier: BSD-3-Clause
// What linear layers become where weights have 4 bits, in groups with a scale each, and activations 8, quantized as they come.
#pragma once

#include <type_traits>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/kernel/dynamic/nibble_product.hpp>
#include <zeropoint/operators/dynamic_policy.hpp>

namespace zp::inline v0 {

/// How the scale of a group of weights is found.
enum class group_range {
    min_max,       ///< of its smallest and its largest weight
    least_squares  ///< among scales below that, the one with the least sum of squared errors
};

/// A dynamic policy under which the weights of linear layers have 4 bits: Weight is zp::qint4, symmetric, or zp::quint4, with a scale
/// and a minimum; GroupSize inputs of an output share those, which are float16 numbers. Activations are int8, with a symmetric
/// scale a row. Whatever else has a dynamic form has that of zp::dynamic_policy<>. Usual: <qint4, 32>, <quint4, 32>, <qint4, 128>.
template <class Weight = qint4, int GroupSize = 32, group_range Range = group_range::min_max>
struct dynamic_group_policy : dynamic_policy<> {
    static_assert(
        std::is_same_v<Weight, qint4> || std::is_same_v<Weight, quint4>,
        "dynamic_group_policy<Weight, GroupSize>: Weight is zp::qint4, symmetric, or zp::quint4, with a minimum");
    static_assert(
        GroupSize > 0 && GroupSize % 32 == 0 && GroupSize <= kernel::largest_nibble_group,
        "dynamic_group_policy<Weight, GroupSize>: a group has a multiple of 32 inputs, up to 8192: usual sizes "
        "are 32 and 128");
    using group_weight = Weight;
    static constexpr int group_size = GroupSize;
    // What quantize_parameters asks for: of groups, and of all else.
    struct weight_quantizer : dynamic_policy<>::weight_quantizer {
        struct groups {
            using dtype = Weight;
            static constexpr int group_size = GroupSize;
            static constexpr bool searches = Range == group_range::least_squares;
        };
    };
};

}  // namespace zp::inline v0
