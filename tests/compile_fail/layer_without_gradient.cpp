// expect: train: this layer has no gradient, and something in front of it is trained
// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>

namespace {
struct cube {
    static constexpr const char* kind = "cube";
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static void forward(const zp::operands<float>& o) noexcept {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i] * o.x()[i] * o.x()[i];
    }
};
inline constexpr zp::operator_kind cubes{"cube"};
struct cubed : zp::operator_layer<cubes, "", cube> {};

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 1, 4>, zp::linear<"first", 4>, cubed, zp::linear<"last", 2>> {};
#else
struct net : zp::model<zp::input<1, 1, 4>, cubed, zp::linear<"first", 4>, zp::linear<"last", 2>> {};
#endif
}  // namespace

int main() {
    zp::fused<net> floats;
    zp::train(floats, zp::labelled(std::vector<float>(8), std::vector<int>(2)), {.batch = 2});
}
