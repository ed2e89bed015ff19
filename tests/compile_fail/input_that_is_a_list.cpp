// expect: x and y must be contiguous ranges, such as std::array, std::vector or std::span
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <list>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
#ifdef ZEROPOINT_MUST_FAIL
using input = std::list<float>;
#else
using input = std::vector<float>;
#endif

void run(const zp::float_model<net>& model, const input& x, std::array<float, 2>& y) { model(x, y); }
