// SPDX-License-Identifier: BSD-3-Clause
// What weights become where they alone are integers: 8 or 4 bits, with a scale an output or a group of inputs.
#pragma once

#include <cstdint>
#include <type_traits>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

namespace zp::inline v0 {

/// What the weights become: Weight is zp::qint8 or zp::qint4, symmetric; GroupSize inputs of an output share a scale, 0
/// for all of them. Usual: <qint8>, <qint4, 32>, <qint4, 128>.
template <class Weight = qint8, int GroupSize = 0, class Rule = pytorch_rule> struct weight_only_policy {
    static_assert(
        quantized_dtype<Weight>,
        "weight_only_policy<Weight, GroupSize>: Weight must be a quantized dtype: take zp::qint8 or zp::qint4");
    static_assert(std::is_same_v<typename Weight::storage, std::int8_t>,
                  "weight_only_policy<Weight, GroupSize>: weights are signed, of 8 bits or fewer: take zp::qint8 or "
                  "zp::qint4");
    static_assert(GroupSize >= 0 && GroupSize % 8 == 0,
                  "weight_only_policy<Weight, GroupSize>: a group has 0 (all inputs of an output) or a multiple of 8 "
                  "inputs: usual sizes are 32 and 128");
    static_assert(std::is_base_of_v<qparams_rule, Rule>,
                  "weight_only_policy<Weight, GroupSize, Rule>: rules are zp::pytorch_rule or structs derived from "
                  "zp::qparams_rule");
    using weight = Weight;
    using rule = Rule;
    // What quantize_parameters asks for.
    struct weight_quantizer {
        using dtype = Weight;
        using rule = Rule;
        static constexpr int group_size = GroupSize;
    };
    static constexpr int bits = bits_of_codes(Weight::quant_min, Weight::quant_max);
    static constexpr int group_size = GroupSize;
    static constexpr bool is_per_row = true;  ///< no row depends on another
};

}  // namespace zp::inline v0
