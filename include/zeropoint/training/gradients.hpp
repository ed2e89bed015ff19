// SPDX-License-Identifier: BSD-3-Clause
// All gradients of the library's operators.
#pragma once

#include <zeropoint/training/gradients/binary.hpp>
#include <zeropoint/training/gradients/clamp.hpp>
#include <zeropoint/training/gradients/filters.hpp>
#include <zeropoint/training/gradients/functions.hpp>
#include <zeropoint/training/gradients/matmul.hpp>
#include <zeropoint/training/gradients/moves.hpp>
#include <zeropoint/training/gradients/norms.hpp>
#include <zeropoint/training/gradients/pools.hpp>
#include <zeropoint/training/gradients/recurrent.hpp>
#include <zeropoint/training/gradients/reductions.hpp>
#include <zeropoint/training/gradients/svdf.hpp>
#include <zeropoint/training/gradients/tables.hpp>
#include <zeropoint/training/gradients/transposed_filters.hpp>
#include <zeropoint/training/gradients/views.hpp>
#include <zeropoint/training/gradients/volumes.hpp>

#if defined(ZEROPOINT_COMPILED)
#include <zeropoint/compiled/gradients.hpp>
#endif
