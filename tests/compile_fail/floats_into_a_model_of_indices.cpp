// expect: this model takes indices: x must be a contiguous range of integers of 32 or 64 bits
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>

#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::indices<3>, zp::embedding<"words", 9, 2>> {};
#ifdef ZEROPOINT_MUST_FAIL
using input = std::array<float, 3>;
#else
using input = std::array<std::int64_t, 3>;
#endif

void run(const zp::float_model<net>& model, const input& x, std::array<float, 6>& y) { model(x, y); }
