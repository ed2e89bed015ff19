// SPDX-License-Identifier: BSD-3-Clause
// What the sums of the int8 network mean, beside products of the floats that codes mean: the values in front of rounding.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/training/train.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/generator.hpp"

namespace {

struct sums_net
    : zp::model<zp::input<9, 8, 3>, zp::conv2d<"first", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>,
                zp::relu, zp::residual<zp::conv2d<"inside", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>>,
                zp::conv2d<"wide", zp::conv{.out_channels = 37}>, zp::sigmoid,
                zp::conv2d<"down", zp::conv{.out_channels = 40, .kernel = 3, .stride = 2}>, zp::flatten,
                zp::linear<"hidden", 70>, zp::relu6, zp::linear<"last", 33>> {};

template <class Rounding>
struct sums_qconfig : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>,
                                  zp::requantize_with<Rounding>> {};

/// Values in front of rounding from sums, and from floats, of several samples; the codes beside them are the same.
template <class Rounding> void compare_sums() {
    constexpr int samples = 5;
    constexpr auto size = static_cast<std::size_t>(zp::float_model<sums_net>::input_shape.size());
    zp::float_model<sums_net> model;
    zp_test::generator next(7);
    for (const zp::node& row : model.rows()) {
        auto* values = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        const auto count = static_cast<std::size_t>(row.at.parameter_bytes) / sizeof(float);
        for (std::size_t i = 0; i != count; ++i) values[i] = next.real(-0.3f, 0.3f);
    }
    std::vector<float> inputs(size * samples);
    for (float& value : inputs) value = next.real(-1, 1);
    auto observed = zp::prepare<sums_qconfig<Rounding>>(zp::fuse(model));
    for (int i = 0; i != samples; ++i) {
        const void* const x = inputs.data() + static_cast<std::size_t>(i) * size;
        observed.observe(&x);
    }
    zp::fake_quantized<sums_net, sums_qconfig<Rounding>> qat(observed);
    const zp::tape of_sums = qat.make_tape(samples);
    zp::tape of_floats = of_sums;
    int seen = 0;
    for (zp::tape_row& row : of_floats.rows) {
        seen += row.sums_of >= 0;
        row.sums_of = -1;
    }
    for (zp::coded_row& row : of_floats.coded) row.seen_by = -1;
    CHECK(seen == 5);  // all but "last", whose product is small
    const zp::tape_parameters with = qat.pack();
    zp::block_runner<zp::default_architecture> sums(of_sums), floats(of_floats);
    for (auto* runner : {&sums, &floats}) {
        for (int i = 0; i != samples; ++i)
            std::memcpy(runner->input(0, i), inputs.data() + static_cast<std::size_t>(i) * size, size * sizeof(float));
        runner->forward(samples, with, true);
    }
    for (std::size_t r = 0; r != of_sums.coded.size(); ++r)
        if (!of_sums.coded[r].is_input)
            CHECK(std::memcmp(sums.codes(static_cast<int>(r), 0), floats.codes(static_cast<int>(r), 0),
                              samples * of_sums.coded[r].bytes) == 0);
    for (std::size_t i = 0; i != of_sums.rows.size(); ++i) {
        CAPTURE(i);
        const auto ours = sums.values_before_rounding(static_cast<int>(i)),
                   theirs = floats.values_before_rounding(static_cast<int>(i));
        float largest = 1e-30f, most = 0;
        for (std::size_t k = 0; k != ours.size(); ++k) {
            largest = std::max(largest, std::fabs(theirs[k]));
            most = std::max(most, std::fabs(ours[k] - theirs[k]));
        }
        CHECK(most <= 4e-6f * largest);
    }
}

}  // namespace

TEST_CASE("training: sums of the int8 network are what is in front of rounding") {
    compare_sums<zp::nearest_even>();
    compare_sums<zp::float_bias>();
}
