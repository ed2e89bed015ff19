// expect: each option must be keep_float<..?name..?>, keep_float_type<op>, dynamic<..?name..?, Policy>, dynamic_type<op, Policy>, weight_only<..?name..?, Policy>, weight_only_type<op, Policy>, for_layer<..?name..?, QConfig>, for_type<op, QConfig>, algorithm<policy>, requantize_with<policy>, separate_sums, correct_biases, compare_outputs<inputs>, table_bits<bits>, embedding_bits<bits>, codes_in<..?input..?> or codes_out<..?output..?>
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using option = zp::float_bias;
#else
using option = zp::requantize_with<zp::float_bias>;
#endif
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>, option> {};

config made;
