// SPDX-License-Identifier: BSD-3-Clause
// A second translation unit with everything in it, linked into every test: a non-inline function would clash here.
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/layer/quantized_embedding.hpp>
#include <zeropoint/layer/quantized_matmul.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>
#include <zeropoint/layer/runtime_dynamic_linear.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/streaming.hpp>
#include <zeropoint/zeropoint.hpp>
