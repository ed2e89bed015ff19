// SPDX-License-Identifier: BSD-3-Clause
// The operator that docs/workflow.md writes: a user's layer of two inputs, with an int8 form, through every stage.
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "network.hpp"

// clang-format off
// [own-operator]
/// a * sigmoid(b), in codes: a factor of 15 bits by a table over the codes of b, one product, one rounding.
struct gate {
    static constexpr const char* kind = "gate";
    static constexpr bool elementwise = true;
    static constexpr bool accepts(std::span<const zp::shape> xs) { return xs.size() == 2 && xs[0] == xs[1]; }
    static constexpr zp::shape output_shape(std::span<const zp::shape> xs) { return xs[0]; }

    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x(0)[i] / (1 + std::exp(-o.x(1)[i]));
    }

    struct prepared { double factor; std::int16_t sigmoid[256]; };
    static prepared prepare(const zp::preparation& p) {
        prepared made{double{p.x_qparams(0).scale} / 32768 / double{p.y_qparams().scale}, {}};
        for (int i = 0; i != 256; ++i) {  // by the bits of a code
            const int code = p.x_type(1).storage == zp::scalar_type::int8 ? static_cast<std::int8_t>(i) : i;
            const double b = double{p.x_qparams(1).scale} * (code - p.x_qparams(1).zero_point);
            made.sigmoid[i] = static_cast<std::int16_t>(zp::round_half_even(32767 / (1 + std::exp(-b))));
        }
        return made;
    }
    template <class T> static void forward(const zp::operands<T>& o) {  // T: std::uint8_t, std::int8_t
        const auto* t = o.template prepared<prepared>();
        const zp::kernel::output_codes y = o.y_codes();
        for (int i = 0; i != o.y_shape().size(); ++i) {
            const int a = o.x(0)[i] - o.x_qparams(0).zero_point;
            const double real = t->factor * (a * t->sigmoid[static_cast<std::uint8_t>(o.x(1)[i])]);
            o.y()[i] = static_cast<T>(std::clamp(zp::round_half_even(real) + y.zero_point, std::int64_t{y.min}, std::int64_t{y.max}));
        }
    }
};
struct gated : zp::model<zp::input<6, 6, 2>,
    zp::custom<"gate", gate, zp::conv2d<"values", zp::conv{.out_channels = 8, .kernel = 3}>,
                             zp::conv2d<"gates", zp::conv{.out_channels = 8, .kernel = 3}>>,
    zp::flatten, zp::linear<"fc", 3>> {};
// [/own-operator]
// clang-format on

TEST_CASE("workflow: an operator of the user's with an int8 form") {
    const auto trained = made_up::network<gated>();
    const auto inputs = made_up::inputs<gated>(40, 6, -2, 2);
    // [own-operator-stages]
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<my_qconfig>(zp::fuse(trained)), inputs));
    std::string table = zp::to_string(int8);  // a row "gate" of 8 bits, and no quantize or dequantize around it
    // [/own-operator-stages]
    CAPTURE(table);
    CHECK(table.find(" gate ") != table.npos);
    int boundaries = 0;
    for (const zp::node& row : int8.rows())
        boundaries += row.op->kind == &zp::op::quantize || row.op->kind == &zp::op::dequantize;
    CHECK(boundaries == 2);  // in front and behind
    const auto loaded = zp::load<zp::quantized<gated, my_qconfig>>(zp::to_bytes(int8), "gated");
    double noise = 0, signal = 0;
    for (const auto& x : inputs) {
        std::vector<float> exact(3), y(3), again(3);
        trained(x, exact);
        int8(x, y);
        loaded(x, again);
        CHECK(y == again);
        for (std::size_t i = 0; i != 3; ++i) {
            noise += std::pow(double{y[i]} - double{exact[i]}, 2);
            signal += std::pow(double{exact[i]}, 2);
        }
    }
    CHECK(10 * std::log10(signal / noise) > 25);  // dB
}
