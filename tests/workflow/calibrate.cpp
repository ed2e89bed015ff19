// SPDX-License-Identifier: BSD-3-Clause
// calibrate: every way to give data, progress, merging, observers of one's own; and what is refused.
#include <doctest/doctest.h>

#include <array>
#include <list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

template <class Observer, class Weights = zp::per_channel_min_max_observer>
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, Observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, Weights>> {};
using min_max = config<zp::min_max_observer>;

struct net : zp::model<zp::input<2, 3, 2>, zp::conv2d<"conv", zp::conv{.out_channels = 3}>, zp::relu, zp::flatten,
                       zp::linear<"fc", 4>> {};

/// Scales and zero points of all activations of the converted network.
template <class Calibrated> std::vector<zp::qparams> ranges_of(const Calibrated& calibrated) {
    const auto int8 = zp::convert(calibrated);
    return {int8.ranges(), int8.ranges() + decltype(int8)::stage::table.qparams_count};
}
template <class Config = min_max> auto prepared(std::uint64_t seed = 1) {
    return zp::prepare<Config>(made_up::network<net>(seed));
}
std::vector<float> joined(const std::vector<std::vector<float>>& inputs) {
    std::vector<float> all;
    for (const auto& x : inputs) all.insert(all.end(), x.begin(), x.end());
    return all;
}
std::vector<float> planes_of(const std::vector<float>& pixels) {
    std::vector<float> planes;
    for (std::size_t image = 0; image != pixels.size(); image += 12)
        for (std::size_t c = 0; c != 2; ++c)
            for (std::size_t p = 0; p != 6; ++p) planes.push_back(pixels[image + p * 2 + c]);
    return planes;
}
using zp_test::error_of;

/// An observer as a user writes one: the mean of the largest magnitudes of each batch.
struct mean_magnitude {
    static constexpr zp::merge_order order = zp::merge_order::exact_any_order;
    double sum = 0;
    std::uint64_t seen = 0, values = 0;
    void observe(const zp::observation& batch) {
        float largest = 0;
        for (const float x : batch.values) largest = std::max(largest, x < 0 ? -x : x);
        sum += double{largest};
        ++seen, values += batch.values.size();
    }
    void merge(const mean_magnitude& other) { sum += other.sum, seen += other.seen, values += other.values; }
    std::uint64_t samples() const { return seen; }
    std::uint64_t count() const { return values; }
    zp::observed_range range() const { return {-mean(), mean()}; }
    template <class DType, class QScheme, class Rule>
    std::vector<zp::qparams> calculate_qparams(std::string_view) const {
        return {zp::choose_qparams<DType, QScheme, Rule>(-mean(), mean())};
    }
    float mean() const { return static_cast<float>(sum / static_cast<double>(seen)); }
};

}  // namespace

TEST_CASE("calibrate: how inputs are grouped into batches changes nothing") {
    const auto inputs = made_up::inputs<net>(12, 3);
    const std::vector<float> flat = joined(inputs);
    const auto one_by_one = zp::calibrate(prepared(), inputs);
    CHECK(one_by_one.samples() == 12);
    const auto expected = ranges_of(one_by_one);
    CHECK(expected.size() == 3);
    CHECK(expected[0] != expected[1]);
    CHECK(ranges_of(zp::calibrate(prepared(), flat)) == expected);
    CHECK(ranges_of(zp::calibrate(prepared(), std::span<const float>(flat))) == expected);
    std::vector<std::vector<float>> uneven;
    for (std::size_t first = 0, size = 1; first < 12;
         first += size, size = std::min<std::size_t>(size + 1, 12 - first + 1))
        uneven.push_back(
            joined({inputs.begin() + static_cast<std::ptrdiff_t>(first),
                    inputs.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(first + size, 12))}));
    CHECK(ranges_of(zp::calibrate(prepared(), uneven)) == expected);
    const std::list<std::span<const float>> spans{std::span(flat).first(5 * 12), std::span(flat).last(7 * 12)};
    CHECK(ranges_of(zp::calibrate(prepared(), spans)) == expected);
    std::vector<std::array<float, 12>> arrays(12);
    for (std::size_t i = 0; i != 12; ++i) std::copy(inputs[i].begin(), inputs[i].end(), arrays[i].begin());
    CHECK(ranges_of(zp::calibrate(prepared(), arrays)) == expected);
    // Going on with what came back.
    const std::vector<std::vector<float>> first(inputs.begin(), inputs.begin() + 4),
        rest(inputs.begin() + 4, inputs.end());
    const auto in_two_steps = zp::calibrate(zp::calibrate(prepared(), first), rest);
    CHECK(in_two_steps.samples() == 12);
    CHECK(ranges_of(in_two_steps) == expected);
    CHECK(ranges_of(zp::calibrate(prepared(), first)) != expected);
}

TEST_CASE("calibrate: batches with channels outermost") {
    const auto inputs = made_up::inputs<net>(6, 4);
    const auto expected = ranges_of(zp::calibrate(prepared(), inputs));
    const std::vector<float> planes = planes_of(joined(inputs));
    CHECK(ranges_of(zp::calibrate(prepared(), zp::nchw(planes))) == expected);
    CHECK(ranges_of(zp::calibrate(prepared(), planes)) != expected);
    const std::vector<float> first(planes.begin(), planes.begin() + 24), second(planes.begin() + 24, planes.end());
    const std::vector batches{zp::nchw(first), zp::nchw(second)};
    CHECK(ranges_of(zp::calibrate(prepared(), batches)) == expected);
}

TEST_CASE("calibrate: progress is told after every batch") {
    const auto inputs = made_up::inputs<net>(7, 5);
    const std::vector<std::vector<float>> batches{joined({inputs[0], inputs[1]}), inputs[2],
                                                  joined({inputs[3], inputs[4], inputs[5], inputs[6]})};
    std::string told;
    const auto tell = [&](const zp::calibration_progress& done) {
        told += std::to_string(done.batches) + ":" + std::to_string(done.samples) + " ";
    };
    const auto calibrated = zp::calibrate(prepared(), batches, tell);
    CHECK(told == "1:2 2:3 3:7 ");
    told = "";
    zp::calibrate(calibrated, inputs[0], tell);
    CHECK(told == "1:8 ");
}

TEST_CASE("calibrate: two halves merged are one pass") {
    const auto inputs = made_up::inputs<net>(10, 6);
    const std::vector<std::vector<float>> first(inputs.begin(), inputs.begin() + 3),
        second(inputs.begin() + 3, inputs.end());
    auto a = zp::calibrate(prepared(), first);
    auto b = zp::calibrate(prepared(), second);
    const auto expected = zp::calibrate(prepared(), inputs);
    const auto before = ranges_of(a);
    auto c = b;
    c.merge(a);
    a.merge(b);
    CHECK(a.samples() == 10);
    CHECK(ranges_of(a) == ranges_of(expected));
    CHECK(ranges_of(c) == ranges_of(expected));
    CHECK(ranges_of(a) != before);
}

TEST_CASE("calibrate: an observer of one's own") {
    const auto inputs = made_up::inputs<net>(4, 7);
    double sum = 0;
    for (const auto& x : inputs) {
        float largest = 0;
        for (const float value : x) largest = std::max(largest, std::abs(value));
        sum += double{largest};
    }
    const auto mean = static_cast<float>(sum / 4);
    const auto calibrated = zp::calibrate(prepared<config<mean_magnitude>>(), inputs);
    CHECK(ranges_of(calibrated)[0] == zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(-mean, mean));
    auto merged = zp::calibrate(prepared<config<mean_magnitude>>(), inputs);
    merged.merge(calibrated);
    CHECK(ranges_of(merged) == ranges_of(calibrated));
}

TEST_CASE("calibrate: each activation may have another kind of observer") {
    struct mixed : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                               zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                               zp::for_layer<"conv", config<zp::moving_average_min_max_observer<>>>,
                               zp::for_layer<"fc", config<mean_magnitude>>> {};
    const auto inputs = made_up::inputs<net>(5, 8);
    const auto found = ranges_of(zp::calibrate(prepared<mixed>(), inputs));
    CHECK(found[0] == ranges_of(zp::calibrate(prepared(), inputs))[0]);
    CHECK(found[1] == ranges_of(zp::calibrate(prepared<config<zp::moving_average_min_max_observer<>>>(), inputs))[1]);
    CHECK(found[2] == ranges_of(zp::calibrate(prepared<config<mean_magnitude>>(), inputs))[2]);
    CHECK(found[1] != ranges_of(zp::calibrate(prepared(), inputs))[1]);
}

TEST_CASE("calibrate: a batch of the wrong size is a shape_error") {
    const std::string expected =
        "a calibration batch must hold one or more inputs of 2x3x2, that is a multiple of 12 floats, but ";
    CHECK(error_of<zp::shape_error>([] { zp::calibrate(prepared(), std::vector<float>(13)); }) == expected + "13 came");
    CHECK(error_of<zp::shape_error>([] {
              zp::calibrate(prepared(), std::vector<std::vector<float>>{std::vector<float>(12), {}});
          }) == expected + "0 came");
    CHECK(error_of<zp::shape_error>([] { zp::calibrate(prepared(), zp::nchw(std::vector<float>(11))); }) ==
          expected + "11 came");
}

TEST_CASE("calibrate: NaN and infinity stop it with the layer's name") {
    auto inputs = made_up::inputs<net>(3, 9);
    inputs[1][5] = std::numeric_limits<float>::quiet_NaN();
    CHECK(error_of<zp::calibration_error>([&] { zp::calibrate(prepared(), inputs); }) ==
          "input, calibration input 2: expected finite values, but value 5 of 12 (channel 1) is nan: clean the "
          "calibration data, or the "
          "weights before this layer");
    inputs[1][5] = -std::numeric_limits<float>::infinity();
    CHECK(error_of<zp::calibration_error>([&] { zp::calibrate(prepared(), inputs); }).find("(channel 1) is -inf") !=
          std::string::npos);
    // Finite data that overflow inside the network.
    auto trained = made_up::network<net>(1);
    for (float& weight :
         std::span(reinterpret_cast<float*>(trained.parameters() + trained.rows()[1].at.parameter_offset), 6))
        weight = 1e20f;
    inputs = {std::vector<float>(12, 1e20f)};
    CHECK(error_of<zp::error>([&] { zp::calibrate(zp::prepare<min_max>(trained), inputs); }) ==
          "conv, calibration input 1: expected finite values, but value 0 of 18 (channel 0) is inf: clean the "
          "calibration data, or the "
          "weights before this layer");
}

TEST_CASE("calibrate: a network that has seen nothing is not converted") {
    CHECK(error_of<zp::calibration_error>([] {
              zp::convert(zp::calibrate(prepared(), std::vector<std::vector<float>>{}));
          }) == "input: min_max_observer has seen no values, expected at least one batch: calibrate before converting");
}

TEST_CASE("calibrate: the trained network and the prepared one stay as they are") {
    const auto inputs = made_up::inputs<net>(3, 10);
    const auto before = prepared();
    const auto calibrated = zp::calibrate(before, inputs);
    CHECK(before.samples() == 0);
    CHECK(calibrated.samples() == 3);
    std::vector<float> a(4), b(4);
    made_up::network<net>(1)(inputs[0], a);
    calibrated(inputs[0], b);
    for (std::size_t i = 0; i != 4; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}
