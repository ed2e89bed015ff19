// SPDX-License-Identifier: BSD-3-Clause
// What the sums of the int8 network mean, beside products of the floats that codes mean: the values in front of rounding.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

/// What is done in pieces to the 5,760 values of a row: ranges and values, and the gradients of a block beside those of its samples.
template <class Runner>
void check_pieces(const zp::tape& tape, Runner& runner, const zp::tape_parameters& with,
                  const std::vector<float>& inputs) {
    const std::size_t samples = static_cast<std::size_t>(tape.block), size = inputs.size() / samples;
    std::vector<zp::observed_range> seen(static_cast<std::size_t>(tape.qparams_count));
    REQUIRE(runner.observe(seen));
    std::size_t observed = 0, values = 0, wrong = 0;
    for (std::size_t i = 0; i != tape.rows.size(); ++i) {
        const zp::tape_row& row = tape.rows[i];
        const auto before = runner.values_before_rounding(static_cast<int>(i)),
                   after = runner.values(static_cast<int>(i));
        if (row.is_observed) {
            const auto [least, most] = std::minmax_element(before.begin(), before.end());
            const zp::observed_range& range = seen[static_cast<std::size_t>(tape.nodes[i].out.qparams_id)];
            CHECK(range.min == *least);
            CHECK(range.max == *most);
            ++observed;
        }
        if (!row.rounding.exists()) continue;
        const zp::qparams& range = with.ranges[row.rounding.qparams_id];
        const auto* codes = reinterpret_cast<const std::uint8_t*>(runner.codes(row.rounding.row, 0));
        for (std::size_t k = 0; k != after.size(); ++k)
            wrong += after[k] != range.scale * static_cast<float>(codes[k] - range.zero_point);
        values += after.size();
    }
    CHECK(observed > 4);
    CHECK(values > 20'000);
    CHECK(wrong == 0);
    const auto gradient = [&](std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) {
            std::memcpy(runner.input(0, static_cast<int>(i)), inputs.data() + (first + i) * size, size * sizeof(float));
        }
        runner.forward(static_cast<int>(count), with, true);
        for (std::size_t i = 0; i != count; ++i)
            for (std::size_t k = 0; k != runner.output_size(0); ++k)
                runner.output_gradient(0, static_cast<int>(i))[k] = static_cast<float>((first + i + k) % 3) - 1;
        std::vector<float> all(tape.gradient_floats);
        std::vector<zp::range_gradient> of_ranges(seen.size());
        runner.backward(all.data(), of_ranges);
        return all;
    };
    const std::vector<float> whole = gradient(0, samples);
    std::vector<double> sum(whole.size());
    for (std::size_t i = 0; i != samples; ++i) {
        const std::vector<float> one = gradient(i, 1);
        for (std::size_t k = 0; k != sum.size(); ++k) sum[k] += double{one[k]};
    }
    double largest = 0, most = 0;
    for (std::size_t k = 0; k != sum.size(); ++k) {
        largest = std::max(largest, std::fabs(sum[k]));
        most = std::max(most, std::fabs(sum[k] - double{whole[k]}));
    }
    CHECK(largest > 0.1);
    CHECK(most < 1e-5 * largest);
}

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
    check_pieces(of_sums, sums, with, inputs);
}

}  // namespace

TEST_CASE("training: sums of the int8 network are what is in front of rounding") {
    compare_sums<zp::nearest_even>();
    compare_sums<zp::float_bias>();
}
