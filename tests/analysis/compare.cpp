// SPDX-License-Identifier: BSD-3-Clause
// Row by row comparison beside plain loops, in all three modes; weights; memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <zeropoint/analysis/compare.hpp>
#include <zeropoint/analysis/comparison_files.hpp>

#include "../support/errors.hpp"
#include "inspected_network.hpp"

namespace {
namespace compare_test {

using inspected::net;
using inspected::qconfig;

/// All values of all rows over one input, as floats; codes beside them.
struct recorded {
    std::vector<std::vector<float>> values;
    std::vector<std::vector<int>> codes;
};
template <class Network> recorded record(const Network& network, const std::vector<float>& x) {
    recorded all{std::vector<std::vector<float>>(Network::rows().size()),
                 std::vector<std::vector<int>>(Network::rows().size())};
    const auto memory = std::make_unique<typename Network::workspace>();
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    network.run(x.data(), y.data(), memory->bytes, [&](int row, const void* values) {
        const zp::node& n = Network::rows()[static_cast<std::size_t>(row)];
        for (int k = 0; k != n.out.extents.size(); ++k) {
            if (n.is_float()) {
                all.values[static_cast<std::size_t>(row)].push_back(static_cast<const float*>(values)[k]);
                continue;
            }
            const zp::qparams& range = network.ranges()[n.out.qparams_id];
            const int code = static_cast<const std::uint8_t*>(values)[k];
            all.codes[static_cast<std::size_t>(row)].push_back(code);
            all.values[static_cast<std::size_t>(row)].push_back(range.scale *
                                                                static_cast<float>(code - range.zero_point));
        }
    });
    return all;
}

/// Inputs of which one at a time is there.
struct stream_of_inputs {
    int count;
    struct iterator {
        int i;
        std::vector<float> operator*() const { return made_up::values(108, static_cast<std::uint64_t>(i)); }
        iterator& operator++() { return ++i, *this; }
        bool operator!=(const iterator& other) const { return i != other.i; }
    };
    iterator begin() const { return {0}; }
    iterator end() const { return {count}; }
};

}  // namespace compare_test
}  // namespace

TEST_CASE("compare: whole networks, beside sums by plain loops") {
    using namespace compare_test;
    const auto trained = inspected::trained();
    const auto calibrated = inspected::calibrated();
    const auto fused = zp::fuse(trained);
    const auto int8 = zp::convert(calibrated);
    const auto inputs = made_up::inputs<net>(5, 5, -1.5f, 1.5f);  // some beyond what calibration saw
    const zp::comparison all = zp::compare(calibrated, int8, inputs);
    CHECK(all.inputs == 5);
    // Which row of the float network each one stands for, by hand: what the concat brings to its grid is the pool's value.
    const std::pair<const char*, std::size_t> stands_for[] = {{"input", 0}, {"one", 1}, {"two", 3},       {"three", 5},
                                                              {"pool", 6},  {"a", 7},   {"concat_10", 8}, {"fc", 9}};
    std::string names;
    for (const zp::row_comparison& row : all.rows) names += row.name + " ";
    CHECK(names == "input one two three pool a concat_10 fc ");
    REQUIRE(all.rows.size() == std::size(stands_for));
    for (std::size_t r = 0; r != all.rows.size(); ++r) {
        const zp::row_comparison& row = all.rows[r];
        CAPTURE(row.name);
        double signal = 0, noise = 0, rounded = 0, product = 0, error = 0, largest = 0, deviations = 0, most = 0;
        std::set<int> used;
        std::uint64_t clipped = 0, count = 0;
        for (const auto& x : inputs) {
            const auto real = record(fused, x).values[stands_for[r].second];
            const auto quantized = record(int8, x);
            const auto& y = quantized.values[static_cast<std::size_t>(row.row)];
            REQUIRE(real.size() == y.size());
            double mean = 0, own_most = 0, variance = 0;
            for (std::size_t k = 0; k != y.size(); ++k) mean += double{y[k] - real[k]} / static_cast<double>(y.size());
            for (std::size_t k = 0; k != y.size(); ++k) {
                const double e = double{y[k] - real[k]};
                signal += double{real[k]} * double{real[k]};
                rounded += double{y[k]} * double{y[k]};
                product += double{y[k]} * double{real[k]};
                noise += e * e;
                error += e;
                own_most = std::max(own_most, std::abs(e));
                variance += (e - mean) * (e - mean) / static_cast<double>(y.size());
                const int code = quantized.codes[static_cast<std::size_t>(row.row)][k];
                used.insert(code);
                clipped += code == 255 || (code == 0 && row.quantization.zero_point != 0);
                ++count;
            }
            largest = std::max(largest, own_most);
            most += own_most / 5;
            deviations += std::sqrt(variance) / 5;
        }
        CHECK(row.values.count() == count);
        CHECK(row.sqnr() == doctest::Approx(10 * std::log10(signal / noise)).epsilon(1e-9));
        CHECK(row.values.cosine() == doctest::Approx(product / std::sqrt(signal * rounded)).epsilon(1e-12));
        CHECK(row.values.mean_error() == doctest::Approx(error / static_cast<double>(count)).epsilon(1e-9));
        CHECK(row.values.max_error() == doctest::Approx(largest).epsilon(1e-12));
        CHECK(row.values.mean_largest_error() == doctest::Approx(most).epsilon(1e-9));
        CHECK(row.values.mean_deviation() == doctest::Approx(deviations).epsilon(1e-6));
        CHECK(row.codes.used() == used.size());
        CHECK(row.saturated == clipped);
        CHECK(row.quantization.scale ==
              int8.ranges()[int8.rows()[static_cast<std::size_t>(row.row)].out.qparams_id].scale);
    }
    // Errors add up: the last row is worse than the first one, and the table begins with the worst.
    CHECK(all.rows.back().sqnr() < all.rows.front().sqnr());
    CHECK(all.find("three")->operation == "conv2d + silu");
    CHECK(all.worst().front().sqnr() <= all.worst().back().sqnr());
    CHECK(all.rows[0].clipped_share > 0.2);
    // The same of the fused and of the unfused network.
    CHECK(zp::to_json(zp::compare(fused, int8, inputs)) == zp::to_json(all));
    CHECK(zp::to_json(zp::compare(trained, int8, inputs)) == zp::to_json(all));
}

TEST_CASE("compare: each row alone, and its shadow") {
    using namespace compare_test;
    const auto trained = inspected::trained();
    const auto calibrated = inspected::calibrated();
    const auto int8 = zp::convert(calibrated);
    const auto fused = zp::fuse(trained);
    const auto inputs = made_up::inputs<net>(4);
    const auto whole = zp::compare(fused, int8, inputs);
    const auto alone = zp::compare(fused, int8, inputs, zp::comparison_mode::each_row);
    const auto shadow = zp::compare(fused, int8, inputs, zp::comparison_mode::shadow);
    // The input has nothing in front of it, and the first convolution has its rounding in all modes.
    CHECK(alone.rows[0].sqnr() == whole.rows[0].sqnr());
    CHECK(shadow.rows[0].sqnr() == whole.rows[0].sqnr());
    CHECK(alone.rows[1].sqnr() == whole.rows[1].sqnr());
    CHECK(shadow.rows[1].sqnr() == whole.rows[1].sqnr());
    // Alone no row has the errors of others.
    for (std::size_t r = 2; r != whole.rows.size(); ++r) {
        CAPTURE(whole.rows[r].name);
        CHECK(alone.rows[r].sqnr() > whole.rows[r].sqnr());
        CHECK(shadow.rows[r].sqnr() > whole.rows[r].sqnr());
    }
    // A max_pool2d rounds nothing: exact where it reads what the quantized network has.
    CHECK(std::isinf(shadow.find("pool")->sqnr()));
    // fc alone, by hand: float values of the pool to codes, the product in integers, to codes again.
    double signal = 0, noise = 0, shadow_noise = 0, shadow_signal = 0;
    const auto layer = made_up::parameters_of(fused, "fc");
    const zp::weight_comparison& weights = alone.find("fc")->weights.at(0);
    const zp::qparams in = alone.find("concat_10")->quantization, out = alone.find("fc")->quantization;
    const auto fc = [&](const std::vector<float>& x, bool rounds_weights, int c) {
        double sum = double{layer.bias[static_cast<std::size_t>(c)]};
        if (rounds_weights) {
            const double unit = double{in.scale} * double{weights.channels[static_cast<std::size_t>(c)].scale};
            sum = std::nearbyint(sum / unit) * unit;
        }
        for (std::size_t k = 0; k != x.size(); ++k) {
            const float w = layer.weights[static_cast<std::size_t>(c) * x.size() + k];
            const float scale = weights.channels[static_cast<std::size_t>(c)].scale;
            sum +=
                double{x[k]} * (rounds_weights ? double{scale} * std::nearbyint(double{w * (1 / scale)}) : double{w});
        }
        return sum;
    };
    const auto rounded = [](double x, const zp::qparams& range) {
        const double code = std::clamp(std::nearbyint(x / double{range.scale}) + range.zero_point, 0.0, 255.0);
        return double{range.scale} * (code - range.zero_point);
    };
    for (const auto& x : inputs) {
        const auto real = record(fused, x);
        std::vector<float> read;
        for (const float value : real.values[8]) read.push_back(static_cast<float>(rounded(double{value}, in)));
        const auto quantized = record(int8, x);
        const auto& seen = quantized.values[static_cast<std::size_t>(alone.find("concat_10")->row)];
        const auto& given = quantized.values[static_cast<std::size_t>(alone.find("fc")->row)];
        for (int c = 0; c != 6; ++c) {
            const double y = double{real.values[9][static_cast<std::size_t>(c)]};
            signal += y * y;
            noise += std::pow(rounded(fc(read, true, c), out) - y, 2);
            const double expected = fc(seen, false, c);
            shadow_signal += expected * expected;
            shadow_noise += std::pow(double{given[static_cast<std::size_t>(c)]} - expected, 2);
        }
    }
    CHECK(alone.find("fc")->sqnr() == doctest::Approx(10 * std::log10(signal / noise)).epsilon(1e-4));
    CHECK(shadow.find("fc")->sqnr() == doctest::Approx(10 * std::log10(shadow_signal / shadow_noise)).epsilon(1e-4));
}

TEST_CASE("compare: codes that go in and come out") {
    using namespace compare_test;
    struct coded : zp::qconfig<qconfig::activation, qconfig::weight, zp::codes_in<>, zp::codes_out<>> {};
    const auto fused = zp::fuse(inspected::trained());
    const auto inputs = made_up::inputs<net>(64);
    const auto int8 = zp::convert(inspected::calibrated());
    const auto also = zp::convert(zp::calibrate(zp::prepare<coded>(fused), inputs));
    for (const auto mode :
         {zp::comparison_mode::whole_networks, zp::comparison_mode::each_row, zp::comparison_mode::shadow}) {
        const zp::comparison floats = zp::compare(fused, int8, inputs, mode),
                             codes = zp::compare(fused, also, inputs, mode);
        REQUIRE(codes.rows.size() == floats.rows.size());
        for (std::size_t r = 0; r != floats.rows.size(); ++r) {
            CAPTURE(floats.rows[r].name);
            // Codes have nothing in front of them that they could be compared with, but for the floats that they were made of.
            // So the float row behind them reads what they stand for.
            if (mode == zp::comparison_mode::shadow && r == 0) CHECK(std::isinf(codes.rows[r].sqnr()));
            else if (mode == zp::comparison_mode::shadow && r == 1) CHECK(codes.rows[r].sqnr() > floats.rows[r].sqnr());
            else CHECK(codes.rows[r].sqnr() == floats.rows[r].sqnr());
        }
    }
}

TEST_CASE("compare: weights per channel") {
    using namespace compare_test;
    auto trained = inspected::trained();
    const auto fused = zp::fuse(trained);
    const auto int8 = zp::convert(inspected::calibrated());
    const zp::comparison all = zp::compare(fused, int8, made_up::inputs<net>(1));
    const zp::weight_comparison& weights = all.find("one")->weights.at(0);
    const auto floats = made_up::parameters_of(fused, "one").weights;
    REQUIRE(weights.channels.size() == 8);
    CHECK(weights.count == floats.size());
    double signal = 0, noise = 0;
    std::set<int> used;
    for (std::size_t c = 0; c != 8; ++c) {
        const std::span<const float> own = std::span(floats).subspan(c * 27, 27);
        float low = 0, high = 0;
        for (const float w : own) low = std::min(low, w), high = std::max(high, w);
        CHECK(weights.channels[c].min == *std::min_element(own.begin(), own.end()));
        CHECK(weights.channels[c].max == *std::max_element(own.begin(), own.end()));
        const float scale = std::max(-low, high) / 127.5f;  // PyTorch's rule
        CHECK(weights.channels[c].scale == doctest::Approx(scale).epsilon(1e-6));
        double own_signal = 0, own_noise = 0;
        for (const float w : own) {
            const double code = std::clamp(std::nearbyint(double{w * (1 / scale)}), -128.0, 127.0);
            used.insert(static_cast<int>(code));
            own_signal += double{w} * double{w};
            own_noise += std::pow(double{scale} * code - double{w}, 2);
        }
        CHECK(weights.channels[c].sqnr == doctest::Approx(10 * std::log10(own_signal / own_noise)).epsilon(1e-4));
        signal += own_signal;
        noise += own_noise;
    }
    CHECK(weights.sqnr == doctest::Approx(10 * std::log10(signal / noise)).epsilon(1e-4));
    CHECK(weights.used_codes == used.size());
    CHECK(weights.spread() >= 1);
    CHECK(all.find("input")->weights.empty());
}

TEST_CASE("compare: what codes stand for, with groups, offsets and halves of bytes") {
    zp::coded_values made;
    made.channels = 2;
    made.floats.resize(6);
    zp::quantized_weights from;
    for (const int code : {1, -2, 3, -4, 5, 7}) from.codes.push_back(static_cast<std::byte>(code));
    from.scales = {0.5f, 2, 0.25f, 4};  // two groups of an output, of two inputs and of one
    zp::detail::fill_coded(made, from, {zp::scalar_type::int8, -8, 7, true, false, false, true, 2}, {});
    CHECK(made.rounded == std::vector<float>{0.5f, -1, 6, -1, 1.25f, 28});

    from.codes = {std::byte{0x21}, std::byte{0x03}, std::byte{0x54},
                  std::byte{0x0f}};  // rows of three, the lower half first
    from.scales = {0.5f, 2};
    from.offsets = {-1, 10};
    zp::detail::fill_coded(made, from, {zp::scalar_type::uint8, 0, 15, true, false, true}, {});
    CHECK(made.codes == std::vector<int>{1, 2, 3, 4, 5, 15});
    CHECK(made.rounded == std::vector<float>{-0.5f, 0, 0.5f, 18, 20, 40});

    from = {};
    for (const int code : {128, 130, 126, 128, 129, 255}) from.codes.push_back(static_cast<std::byte>(code));
    zp::detail::fill_coded(made, from, {zp::scalar_type::uint8, 0, 255}, {0.5f, 128});  // a table on the output's grid
    CHECK(made.rounded == std::vector<float>{0, 1, -1, 0, 0.5f, 63.5f});
}

TEST_CASE("compare: dead channels, and those that only int8 loses") {
    using namespace compare_test;
    auto floats = zp::fuse(inspected::trained());
    const zp::node& one = decltype(floats)::rows()[1];
    auto* weights = reinterpret_cast<float*>(floats.parameters() + one.at.parameter_offset);
    const std::span<float> bias = zp_test::array_of(floats, one, 1);
    std::fill_n(weights + 2 * 27, 27, 0.0f);  // channel 2 is dead, 3 nearly so
    std::fill_n(weights + 3 * 27, 27, 0.0f);
    bias[2] = 0;
    bias[3] = 1e-4f;
    const auto inputs = made_up::inputs<net>(4);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<qconfig>(floats), inputs));
    const zp::comparison all = zp::compare(floats, int8, inputs);
    CHECK(all.find("one")->dead_channels == 2);
    CHECK(all.find("one")->lost_channels == 1);
    CHECK(zp::to_string(all).find("2 of 8, 1 in int8 alone") != std::string::npos);
    CHECK(all.find("input")->dead_channels == 0);
}

TEST_CASE("compare: inputs that are made on their way, and what is refused") {
    using namespace compare_test;
    const auto trained = inspected::trained();
    const auto int8 = zp::convert(inspected::calibrated());
    const auto fused = zp::fuse(trained);
    const stream_of_inputs stream{20};
    const zp::comparison all = zp::compare(fused, int8, stream);
    CHECK(all.inputs == 20);
    std::vector<std::vector<float>> stored;
    for (const auto& x : stream) stored.push_back(x);
    CHECK(zp::to_json(all) == zp::to_json(zp::compare(fused, int8, stored)));
    CHECK(zp_test::error_of([&] { zp::compare(fused, int8, std::vector<float>(107)); }) ==
          "a calibration batch must hold one or more inputs of 6x6x3, that is a multiple of 108 floats, but 107 came");
    CHECK(zp_test::error_of<zp::shape_error>([&] { zp::compare(fused, int8, std::vector<std::vector<float>>()); }) ==
          "expected at least one input to look at, but there are no batches");
    std::vector<float> wrong(108);
    wrong[4] = std::nanf("");
    CHECK(zp_test::error_of<zp::calibration_error>([&] { zp::compare(fused, int8, wrong); }).substr(0, 62) ==
          "input: expected finite values, but value 4 of 108 (channel 1) ");
}

TEST_CASE("compare: CSV has TFLite's columns") {
    using namespace compare_test;
    const auto trained = inspected::trained();
    const auto int8 = zp::convert(inspected::calibrated());
    const zp::comparison all = zp::compare(trained, int8, made_up::inputs<net>(2, 3), zp::comparison_mode::shadow);
    const std::string csv = zp::to_csv(all);
    CHECK(csv.substr(0, csv.find('\n')) ==
          "op_name,tensor_idx,num_elements,stddev,mean_error,max_abs_error,mean_squared_error,scale,zero_point,"
          "tensor_name,rmse/scale,range");
    const zp::row_comparison& row = all.rows[1];
    CHECK(csv.find("conv2d + relu,2,288," + zp::number_text(row.values.mean_deviation()) + "," +
                   zp::number_text(row.values.mean_error()) + "," + zp::number_text(row.values.mean_largest_error()) +
                   "," + zp::number_text(row.values.mean_squared_error()) + "," +
                   zp::number_text(row.quantization.scale) + "," + std::to_string(row.quantization.zero_point) +
                   ",one," + zp::number_text(row.rmse_in_steps()) + ",") != std::string::npos);
    // All rows but the one of the input and those that a concat brings to its grid.
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 8);
    // Rounding alone leaves 1 / sqrt(12) steps.
    CHECK(row.rmse_in_steps() == doctest::Approx(0.289).epsilon(0.35));
}
