// expect: give as many ranges as the model has outputs .see ranges_for_outputs<given, outputs>., in the order in which it declares them
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::named<"left", zp::input<1, 1, 3>>, zp::named<"right", zp::input<1, 1, 2>>,
                       zp::concat<zp::from<"left">, zp::identity>, zp::linear<"fc", 4>, zp::output<"features">,
                       zp::linear<"score", 2>, zp::output<"score">> {};

void run(const zp::float_model<net>& model, const std::array<float, 3>& left, const std::array<float, 2>& right,
         std::array<float, 4>& features, std::array<float, 2>& score) {
#ifdef ZEROPOINT_MUST_FAIL
    model(zp::in(left, right), zp::out(features, score, score));
#else
    model(zp::in(left, right), zp::out(features, score));
#endif
}
