// SPDX-License-Identifier: BSD-3-Clause
// fuse: zeros around an image go into the padding of the convolution behind them, on any sides.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/operators/normalize.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

using zp::conv, zp::sides;

/// As TensorFlow pads: more at the end of an axis than at its beginning. `Between` keeps the first padding a row of its own.
template <class... Between>
struct padded : zp::model<zp::input<9, 8, 3>, zp::pad<sides{0, 1, 0, 1}>, Between...,
                          zp::conv2d<"strided", conv{.out_channels = 8, .kernel = 3, .stride = 2}>, zp::relu,
                          zp::zero_pad2d<sides{2, 0, 1, 3}>, Between..., zp::zero_pad2d<1>, Between...,
                          zp::conv2d<"dense", conv{.out_channels = 16, .kernel = 3, .padding = 1}>, zp::relu,
                          zp::pad<sides{1, 2, 3, 0}>, Between...,
                          zp::conv2d<"depthwise", conv{.kernel = 3, .stride = 2, .groups = zp::depthwise}>, zp::relu,
                          zp::pad<sides{4, 0, 0, 0}>, Between...,
                          zp::conv2d<"dilated", conv{.out_channels = 5, .kernel = 3, .dilation = 2}>> {};
struct fused_away : padded<> {};
/// Nothing is below 0 here, so that a relu changes nothing; but fuse does not know that.
struct kept : padded<zp::relu> {};

struct not_zeros
    : zp::model<zp::input<4, 4, 2>, zp::constant_pad2d<1, 500>, zp::conv2d<"a", conv{.out_channels = 2, .kernel = 3}>,
                zp::reflection_pad2d<1>, zp::conv2d<"b", conv{.out_channels = 2, .kernel = 3}>,
                zp::pad<sides{0, 0, 0, 0, 1, 0}>, zp::conv2d<"c", conv{.out_channels = 2}>> {};
struct read_twice : zp::model<zp::input<4, 4, 2>, zp::zero_pad2d<1>,
                              zp::concat<zp::conv2d<"a", conv{.out_channels = 2}>, zp::identity>> {};
struct along_a_sequence : zp::model<zp::input<1, 9, 3>, zp::pad<sides{4, 0, 0, 0}>,
                                    zp::conv1d<"causal", conv{.out_channels = 4, .kernel = 3, .dilation = 2}>> {};
struct normalized
    : zp::model<zp::input<6, 5, 3>, zp::normalize<zp::means<485, 456, 406>, zp::deviations<229, 224, 225>>,
                zp::pad<sides{0, 1, 0, 1}>, zp::conv2d<"a", conv{.out_channels = 4, .kernel = 3, .stride = 2}>> {};

template <class Net> std::string kinds() {
    std::string text;
    for (const zp::node& row : zp::fused_stage<Net>::table) text += std::string(text.empty() ? "" : " ") + row.op->name;
    return text;
}
using zp_test::run;
/// The largest difference between a network and its fused form, beside the largest value.
template <class Net> double difference() {
    const auto trained = made_up::network<Net>(3);
    const auto fused = zp::fuse(trained);
    double largest = 0, worst = 0;
    for (const std::vector<float>& x : made_up::inputs<Net>(4, 5)) {
        const std::vector<float> a = run(trained, x), b = run(fused, x);
        for (std::size_t i = 0; i != a.size(); ++i) {
            largest = std::fmax(largest, std::fabs(a[i]));
            worst = std::fmax(worst, std::fabs(a[i] - b[i]));
        }
    }
    return worst / largest;
}

}  // namespace

TEST_CASE("fuse: a convolution pads with the zeros that stand in front of it, on each side its own number") {
    CHECK(kinds<fused_away>() == "input conv2d conv2d conv2d conv2d");
    const auto window = [](int row) {
        const zp::node_view v = zp::fused_stage<fused_away>::table.view(row);
        return v.n.op->geometry(v);
    };
    CHECK(window(1).padding_top == 0);
    CHECK(window(1).padding_left == 0);
    CHECK(window(1).has_padding());
    CHECK(window(2).padding_top == 3);  // 1 + 1 + 1
    CHECK(window(2).padding_left == 4);
    CHECK(window(2).in == window(1).out);
    CHECK(difference<fused_away>() < 1e-5);
    CHECK(kinds<along_a_sequence>() == "input conv1d");
    CHECK(difference<along_a_sequence>() < 1e-5);
}

TEST_CASE("fuse: what is no zero, what lies among the channels and what another row reads stays around the image") {
    CHECK(kinds<not_zeros>() == "input pad conv2d pad conv2d pad conv2d");
    CHECK(difference<not_zeros>() < 1e-5);
    CHECK(kinds<read_twice>() == "input pad conv2d concat");
}

TEST_CASE("fuse: zeros around a normalized image are its means around the image") {
    CHECK(kinds<normalized>() == "input mean_border conv2d");
    CHECK(zp::fused_stage<normalized>::table.nodes[1].out.extents ==
          zp::shape{7, 5, 3});  // the last column is in no window
    CHECK(difference<normalized>() < 1e-5);
}

TEST_CASE("convert: zeros that a convolution took over are the integers that they were as rows") {
    const auto calibration = made_up::inputs<fused_away>(4, 7, 0, 1);
    const auto without = zp::convert(
        zp::calibrate(zp::prepare<zp::default_qconfig>(zp::fuse(made_up::network<fused_away>(2))), calibration));
    const auto with =
        zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(zp::fuse(made_up::network<kept>(2))), calibration));
    CHECK(with.rows().size() > without.rows().size());
    for (const std::vector<float>& x : made_up::inputs<fused_away>(6, 8, 0, 1)) CHECK(run(without, x) == run(with, x));
}
