// Streaming SVDF: the kernel against its definition and LiteRT's integers, the layer in int8 beside its float form, errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/layer/static_svdf.hpp>

#include "../support/extent.hpp"
#include "../support/generator.hpp"
#include "../support/golden_file.hpp"

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;
using zp_test::generator;

/// Steps of a layer by its definition: columns move down by one, as TFLite moves them.
struct definition {
    kernel::svdf_extents s;
    std::vector<std::int16_t> time;  // filters x memory
    std::vector<std::int32_t> bias;
    std::vector<std::int16_t> columns;  // filters x memory, the oldest first

    template <class Remember, class Recall>
    std::vector<int> step(const std::vector<std::int32_t>& sums, Remember remember, Recall recall) {
        const auto memory = static_cast<std::size_t>(s.memory), rank = static_cast<std::size_t>(s.rank);
        for (std::size_t f = 0; f != sums.size(); ++f) {
            const auto row = columns.begin() + static_cast<std::ptrdiff_t>(f * memory);
            std::copy(row + 1, row + s.memory, row);
            row[s.memory - 1] = static_cast<std::int16_t>(remember(sums[f], static_cast<int>(f)));
        }
        std::vector<int> y;
        for (std::size_t u = 0; u != bias.size(); ++u) {
            std::int64_t sum = bias[u];
            for (std::size_t i = u * rank * memory; i != (u + 1) * rank * memory; ++i)
                sum += std::int64_t{columns[i]} * time[i];
            y.push_back(recall(static_cast<std::int32_t>(sum), static_cast<int>(u)));
        }
        return y;
    }
    /// As the kernel has them: memory x filters.
    std::vector<std::int16_t> turned() const {
        std::vector<std::int16_t> all(time.size());
        const auto memory = static_cast<std::size_t>(s.memory), filters = all.size() / memory;
        for (std::size_t i = 0; i != all.size(); ++i) all[i % memory * filters + i / memory] = time[i];
        return all;
    }
};

/// The kernel's steps, its ring told.
struct ring {
    kernel::svdf_extents s;
    std::vector<std::int16_t> time, state;
    std::vector<std::int32_t> bias;
    int newest;

    explicit ring(const definition& d)
        : s(d.s), time(d.turned()), state(d.time.size()), bias(d.bias), newest(d.s.memory - 1) {}
    template <class Remember, class Recall>
    std::vector<int> step(const std::vector<std::int32_t>& sums, Remember remember, Recall recall) {
        newest = (newest + 1) % s.memory;
        kernel::svdf_remember<arch>(sums.data(), s.filters(), remember, state.data() + newest * s.filters());
        std::vector<std::int32_t> scratch(sums.size());
        std::vector<std::int8_t> y(bias.size());
        kernel::svdf_recall<arch>(s, state.data(), (newest + 1) % s.memory, time.data(), bias.data(), recall,
                                  scratch.data(), y.data());
        return {y.begin(), y.end()};
    }
};

std::vector<float> normal(std::size_t count, generator& next, float size) {
    std::vector<float> values(count);
    for (float& value : values)
        for (int i = 0; i != 12; ++i) value += next.real(-0.5f, 0.5f) * size;
    return values;
}

}  // namespace

TEST_CASE("svdf: steps of the kernel are those of the definition, over random extents and scales") {
    generator next(1);
    for (int problem = 0; problem != zp_test::fewer(500); ++problem) {
        const kernel::svdf_extents s{next.integer(1, 20), next.integer(1, 3), next.integer(1, 12)};
        definition d{s, {}, {}, {}};
        const auto filters = static_cast<std::size_t>(s.filters());
        const int largest = kernel::largest_svdf_weight(s);
        for (std::size_t i = 0; i != filters * static_cast<std::size_t>(s.memory); ++i)
            d.time.push_back(
                static_cast<std::int16_t>(next.integer(0, 3) == 0 ? -largest : next.integer(-largest, largest)));
        for (int u = 0; u != s.units; ++u) d.bias.push_back(next.integer(-(1 << 29), 1 << 29));
        d.columns.resize(d.time.size());
        std::vector<float> state_factor, y_factor;
        for (std::size_t f = 0; f != filters; ++f) state_factor.push_back(std::exp2(next.real(-14, 0)));
        for (int u = 0; u != s.units; ++u) y_factor.push_back(std::exp2(next.real(-26, -18)));
        const kernel::nearest_even remember{state_factor.data(), kernel::svdf_state_codes};
        const kernel::nearest_even recall{y_factor.data(), {next.integer(-128, 127), -128, 127, nullptr}};
        ring r(d);
        for (int step = 0; step != s.memory + 3; ++step) {
            std::vector<std::int32_t> sums;
            for (std::size_t f = 0; f != filters; ++f) sums.push_back(next.integer(-(1 << 20), 1 << 20));
            CHECK(r.step(sums, remember, recall) == d.step(sums, remember, recall));
        }
    }
}

TEST_CASE("svdf: LiteRT's integers, codes and states, bit by bit") {
    const zp_test::golden_file golden("operators_svdf");
    const auto groups = golden.groups<std::int8_t>("SVDF/");
    const auto extent = [&](const std::string& name, std::size_t axis) {
        return static_cast<int>(golden.extents(name)[axis]);
    };
    CHECK(groups.size() == 2);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const int inputs = extent(group + "/x", 1), memory = extent(group + "/time", 1);
        const int units = extent(group + "/bias", 0), filters = extent(group + "/time", 0);
        const auto scale = golden.values<float>(group + "/scale");
        const auto zero_point = golden.values<std::int32_t>(group + "/zero_point");
        definition d{{units, filters / units, memory},
                     golden.values<std::int16_t>(group + "/time"),
                     golden.values<std::int32_t>(group + "/bias"),
                     {}};
        ring r(d);
        const auto first = zp::quantize_multiplier(double{scale[0]} * double{scale[1]} / double{scale[2]});
        const auto second = zp::quantize_multiplier(double{scale[2]} * double{scale[3]} / double{scale[4]});
        const auto same = [](std::int32_t value, int count) {
            return std::vector<std::int32_t>(static_cast<std::size_t>(count), value);
        };
        const auto m1 = same(first.multiplier, filters), s1 = same(first.shift, filters);
        const auto m2 = same(second.multiplier, units), s2 = same(second.shift, units);
        const kernel::fixed_point_double_rounding remember{m1.data(), s1.data(), kernel::svdf_state_codes};
        const kernel::fixed_point_double_rounding recall{m2.data(), s2.data(), {zero_point[1], -128, 127, nullptr}};
        const auto x = golden.values<std::int8_t>(group + "/x"),
                   feature = golden.values<std::int8_t>(group + "/feature"),
                   codes = golden.values<std::int8_t>(group + "/codes");
        std::vector<int> found;
        for (int step = 0; step != extent(group + "/x", 0); ++step) {
            std::vector<std::int32_t> sums;
            for (int f = 0; f != filters; ++f) {
                std::int32_t sum = 0;
                for (int i = 0; i != inputs; ++i)
                    sum += (x[static_cast<std::size_t>(step * inputs + i)] - zero_point[0]) *
                           feature[static_cast<std::size_t>(f * inputs + i)];
                sums.push_back(sum);
            }
            for (const int code : r.step(sums, remember, recall)) found.push_back(code);
        }
        CHECK(found == std::vector<int>(codes.begin(), codes.end()));
        const auto state = golden.values<std::int16_t>(group + "/state");
        for (int f = 0; f != filters; ++f)
            for (int m = 0; m != memory; ++m)
                CHECK(r.state[static_cast<std::size_t>((r.newest + 1 + m) % memory * filters + f)] ==
                      state[static_cast<std::size_t>(f * memory + m)]);
    }
}

TEST_CASE_TEMPLATE("svdf: the int8 layer is within 30 dB of the float one, step by step", Policy, zp::nearest_even,
                   zp::fixed_point_double_rounding) {
    using floats = zp::svdf<20, 12, 2, 7>;
    using int8 = zp::static_svdf<20, 12, 2, 7, Policy>;
    generator next(5);
    const auto feature = normal(24 * 20, next, 0.22f), time = normal(24 * 7, next, 0.27f),
               bias = normal(12, next, 0.3f);
    const floats layer({feature, time, bias}, 0.0f);
    const auto x = normal(20 * 400, next, 1.0f);
    const zp::qparams x_range{8.0f / 255, 128};
    floats::state warm;
    float most = 0, largest = 0, y[12];
    for (std::size_t step = 0; step != 200; ++step) {
        layer.run(x.data() + step * 20, warm, y);
        for (const float value : warm.last()) most = std::max(most, std::abs(value));
        largest = std::max(largest, *std::max_element(y, y + 12));
    }
    const int8 quantized(layer, {x_range, most / 32767, {largest / 255, 0}});
    CHECK(quantized.output_qparams().scale == largest / 255);
    typename int8::state state;
    typename int8::workspace memory;
    floats::state exact_state;
    double signal = 0, noise = 0;
    for (std::size_t step = 200; step != 400; ++step) {
        std::uint8_t codes[20], outputs[12];
        for (std::size_t i = 0; i != 20; ++i)
            codes[i] = static_cast<std::uint8_t>(zp::quantize(x[step * 20 + i], x_range, 0, 255));
        layer.run(x.data() + step * 20, exact_state, y);
        quantized.run(codes, state, outputs, memory);
        for (std::size_t u = 0; u != 12; ++u) {
            const double found = double{largest / 255} * outputs[u];
            signal += double{y[u]} * double{y[u]};
            noise += std::pow(found - double{y[u]}, 2);
        }
    }
    CHECK(signal > 1000 * noise);
}

TEST_CASE("svdf: signed codes are the unsigned ones less 128") {
    using unsigned_codes = zp::static_svdf<9, 5, 1, 3>;
    using signed_codes = zp::static_svdf<9, 5, 1, 3, zp::nearest_even, std::int8_t>;
    generator next(6);
    const auto feature = normal(5 * 9, next, 0.3f), time = normal(5 * 3, next, 0.5f);
    const zp::svdf<9, 5, 1, 3> layer({feature, time, {}}, 0.0f, 2.0f);
    const unsigned_codes a(layer, {{0.03f, 128}, 1e-4f, {0.01f, 3}});
    const signed_codes b(layer, {{0.03f, 0}, 1e-4f, {0.01f, -125}});
    unsigned_codes::state of_a;
    signed_codes::state of_b;
    unsigned_codes::workspace memory_a;
    signed_codes::workspace memory_b;
    int most = 0;
    for (int step = 0; step != 40; ++step) {
        std::uint8_t x[9], y[5];
        std::int8_t shifted[9], z[5];
        for (int i = 0; i != 9; ++i) {
            x[i] = static_cast<std::uint8_t>(next.integer(0, 255));
            shifted[i] = static_cast<std::int8_t>(x[i] - 128);
        }
        a.run(x, of_a, y, memory_a);
        b.run(shifted, of_b, z, memory_b);
        CHECK(of_a.steps == of_b.steps);
        for (int u = 0; u != 5; ++u) {
            CHECK(y[u] - 128 == z[u]);
            CHECK(y[u] >= 3);    // the relu
            CHECK(y[u] <= 203);  // the upper bound
            most = std::max<int>(most, y[u]);
        }
    }
    CHECK(most == 203);
}

TEST_CASE("svdf: errors") {
    const std::vector<float> feature(2 * 3, 1.0f), time(2 * 4, 1.0f), bias(2);
    using floats = zp::svdf<3, 2, 1, 4>;
    using int8 = zp::static_svdf<3, 2, 1, 4>;
    CHECK_THROWS_WITH_AS(floats({feature, feature, bias}), doctest::Contains("8 values of time"), zp::shape_error);
    std::vector<float> broken = time;
    broken[3] = zp::infinity;
    CHECK_THROWS_WITH_AS(floats({feature, broken, bias}), doctest::Contains("time"), zp::calibration_error);
    const floats layer({feature, time, {}});
    CHECK_THROWS_AS(int8(layer, {{0.0f, 0}, 1.0f, {1.0f, 0}}), zp::value_error);
    CHECK_THROWS_AS(int8(layer, {{1.0f, 0}, zp::infinity, {1.0f, 0}}), zp::value_error);
    CHECK_THROWS_AS(int8(layer, {{1.0f, 256}, 1.0f, {1.0f, 0}}), zp::value_error);
    CHECK_THROWS_AS(int8(layer, {{1.0f, 0}, 1.0f, {1.0f, -1}}), zp::value_error);
}
