// SPDX-License-Identifier: BSD-3-Clause
// The rules that a model can break while it is put together. Each has its sentence in model/verdict.hpp.
#pragma once

#include <cstdint>

#include <zeropoint/core/shape.hpp>

namespace zp::inline v0 {

// clang-format off
enum class rule : std::uint8_t {
    none, duplicate_name, image_expected, branch_shapes_differ, channels_not_divisible, out_channels_missing,
    empty_output,
    linear_needs_flatten, too_many_inputs, too_many_nodes, accumulator_overflow, no_quantized_form, no_input,
    window_not_positive, padding_too_large, operand_types_differ, flattened_image, unused_value, no_layers,
    not_a_layer, algorithm_does_not_fit, clamp_bounds, operand_shapes, name_missing, sequence_expected,
    conv_transpose_options, no_int16_form, cannot_stream, stream_looks_ahead, state_goes_back, no_state,
    indices_read, indices_expected, value_too_large, unknown_name, not_a_model, input_shape,
    told_by_itself  // by a static_assert of the layer: without a sentence
};
// clang-format on

/// The first broken rule, the node that broke it, up to two shapes that explain it, and what messages call it: the name of its layer, or
/// the one that was looked for; of a node without a name its operator's, which its number follows.
struct diagnostic {
    rule broken = rule::none;
    int row = -1;
    shape a{}, b{};
    const char* name = nullptr;
    int number = -1;
    const char* nearest = nullptr;  // of a name that is not there, the one that was probably meant
};

}  // namespace zp::inline v0
