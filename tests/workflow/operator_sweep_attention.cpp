// SPDX-License-Identifier: BSD-3-Clause
// Attention between projections of any name and what stands around it, each in int8 beside float32.
#include "operator_sweep.hpp"

#include <zeropoint/operators.hpp>

namespace {

using operator_sweep::entry;

// clang-format off
struct attention : operator_sweep::branches<zp::input<1, 16, 8>,
    entry<"attention", zp::attention<2, zp::linear<"a", 8>, zp::linear<"b", 8>, zp::linear<"c", 8>>>,
    entry<"causal_attention", zp::causal_attention<zp::causal_attention_options{.heads = 2, .key_heads = 1, .depth = 4, .context = 9, .theta = 10000},
                                                   zp::linear<"e", 8>, zp::linear<"f", 4>, zp::linear<"g", 4>>>,
    entry<"linear_by_inputs", zp::linear_by_inputs<"h", 12>>,
    entry<"rms_norm", zp::rms_norm<"d">>,
    entry<"cross_attention", zp::cross_attention<"i", 2, zp::slice<zp::axis::width, 0, 9>>>,
    entry<"decoder_layer", zp::decoder_layer<"j", 2, 16, zp::slice<zp::axis::width, 0, 9>>>,
    entry<"rms_norm by groups", zp::rms_norm<"k", zp::rms_norm_options{.groups = 2}>>,
    entry<"tied_linear", zp::tied_linear<"l", 12, "h.weight">>,
    entry<"causal_attention, cache of 8 bits", zp::causal_attention<zp::causal_attention_options{.heads = 4, .key_heads = 2, .depth = 6, .context = 9, .theta = 10000, .cache_bits = 8},
                                                   zp::linear<"m", 24>, zp::linear<"n", 12>, zp::linear<"o", 12>>>> {};
// clang-format on

}  // namespace

TEST_CASE("operator sweep: attention and its norms") { operator_sweep::check<attention>(); }
