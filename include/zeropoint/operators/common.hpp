// SPDX-License-Identifier: BSD-3-Clause
// The operators that models are made of most often: those of zeropoint.hpp and deploy.hpp. All others: <zeropoint/operators.hpp>.
#pragma once

#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/operators/concat.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/conv3d.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/operators/conv_transpose3d.hpp>
#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/input.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/operators/output.hpp>
#include <zeropoint/operators/pool2d.hpp>
#include <zeropoint/operators/stubs.hpp>

#if defined(ZEROPOINT_COMPILED)
#include <zeropoint/compiled/common.hpp>
#include <zeropoint/compiled/filters.hpp>
#include <zeropoint/compiled/values.hpp>
#endif
