// expect: give each port of this side of the model one range, by its name, or none a name .see range_for_port<the port without a range, ...>.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::named<"left", zp::input<1, 1, 3>>, zp::named<"right", zp::input<1, 1, 2>>,
                       zp::concat<zp::from<"left">, zp::identity>, zp::linear<"fc", 4>, zp::output<"features">,
                       zp::linear<"score", 2>, zp::output<"score">> {};
#ifdef ZEROPOINT_MUST_FAIL
inline constexpr zp::fixed_string name("wright");
#else
inline constexpr zp::fixed_string name("right");
#endif

void run(const zp::float_model<net>& model, const std::array<float, 3>& left, const std::array<float, 2>& right,
         std::array<float, 4>& features, std::array<float, 2>& score) {
    model(zp::in(zp::as<"left">(left), zp::as<name>(right)), zp::out(features, score));
}
