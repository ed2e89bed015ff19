// SPDX-License-Identifier: BSD-3-Clause
// SVDF: the kernel against its definition and LiteRT's integers, the int8 form alone against the same from floats, errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/operators/svdf.hpp>

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

namespace {

constexpr zp::svdf_options given{.bias = true, .state_scale = true};
template <class DType, class Requantization> using policy = zp::fused_policy<DType, zp::qint8, DType, Requantization>;

/// Weights by hand, and the definition over them.
template <class Code, class Remember, class Recall> class by_hand {
public:
    by_hand(const kernel::svdf_extents& s, int inputs, const std::vector<float>& feature,
            const std::vector<float>& time, const std::vector<float>& bias, zp::qparams x, float state, zp::qparams y,
            Remember make_remember, Recall make_recall)
        : inputs_(inputs), x_(x), y_(y), definition_{s, {}, {}, {}} {
        const auto filters = static_cast<std::size_t>(s.filters()), depth = static_cast<std::size_t>(inputs);
        for (std::size_t f = 0; f != filters; ++f) {
            float largest = 0;
            for (std::size_t i = 0; i != depth; ++i) largest = std::max(largest, std::abs(feature[f * depth + i]));
            const zp::qparams range{largest / 127.5f, 0};
            for (std::size_t i = 0; i != depth; ++i)
                feature_.push_back(zp::quantize<zp::qint8>(feature[f * depth + i], range));
            remember_.push_back(make_remember(double{x.scale} * double{range.scale} / double{state}));
        }
        const double largest = std::min(32767, 32768 / (s.rank * s.memory));
        const std::size_t own = time.size() / bias.size();
        for (std::size_t u = 0; u != bias.size(); ++u) {
            double most = 0;
            for (std::size_t i = u * own; i != (u + 1) * own; ++i) most = std::max(most, std::abs(double{time[i]}));
            const auto scale = static_cast<float>(most / largest);
            for (std::size_t i = u * own; i != (u + 1) * own; ++i)
                definition_.time.push_back(static_cast<std::int16_t>(std::nearbyint(double{time[i]} / double{scale})));
            definition_.bias.push_back(
                static_cast<std::int32_t>(std::nearbyint(double{bias[u]} / (double{state} * double{scale}))));
            recall_.push_back(make_recall(double{state} * double{scale} / double{y.scale}));
        }
        definition_.columns.resize(definition_.time.size());
    }
    std::vector<int> step(const Code* x) {
        std::vector<std::int32_t> sums;
        for (std::size_t f = 0; f != remember_.size(); ++f) {
            std::int32_t sum = 0;
            for (int i = 0; i != inputs_; ++i)
                sum += (x[i] - x_.zero_point) *
                       feature_[f * static_cast<std::size_t>(inputs_) + static_cast<std::size_t>(i)];
            sums.push_back(sum);
        }
        return definition_.step(
            sums,
            [&](std::int32_t sum, int f) {
                return std::clamp(remember_[static_cast<std::size_t>(f)](sum), std::int64_t{-32768},
                                  std::int64_t{32767});
            },
            [&](std::int32_t sum, int u) {
                const std::int64_t code = recall_[static_cast<std::size_t>(u)](sum) + y_.zero_point;
                return static_cast<int>(
                    std::clamp<std::int64_t>(code, y_.zero_point, std::numeric_limits<Code>::max()));
            });
    }

private:
    int inputs_;
    zp::qparams x_, y_;
    definition definition_;
    std::vector<std::int8_t> feature_;
    std::vector<decltype(std::declval<Remember>()(1.0))> remember_;
    std::vector<decltype(std::declval<Recall>()(1.0))> recall_;
};

/// A float factor, rounded once.
auto rounded_once(double factor) {
    return [m = static_cast<float>(factor)](std::int32_t sum) {
        return static_cast<std::int64_t>(std::nearbyint(static_cast<float>(sum) * m));
    };
}
/// TFLite's two roundings of a fixed-point factor: of the doubled high half, away from zero, and of the shift, ties away.
auto rounded_twice(double factor) {
    int exponent = 0;
    auto multiplier = static_cast<std::int64_t>(std::llround(std::frexp(factor, &exponent) * 0x1p31));
    if (multiplier == std::int64_t{1} << 31) multiplier /= 2, ++exponent;
    return [multiplier, exponent](std::int32_t sum) {
        const std::int64_t product = (std::int64_t{sum} << std::max(exponent, 0)) * multiplier;
        const std::int64_t high =
            (product + (product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30))) / (std::int64_t{1} << 31);
        return static_cast<std::int64_t>(std::round(std::ldexp(static_cast<double>(high), std::min(exponent, 0))));
    };
}

template <class DType, class Requantization, int Inputs, int Units, int Rank, int Memory, class Factor>
void compare_with_definition(std::uint64_t seed, zp::qparams x_range, zp::qparams y_range, Factor factor) {
    using code = typename DType::storage;
    using layer_type = zp::static_layer<zp::svdf<"spot", Units, Rank, Memory, given>, zp::shape{1, 1, Inputs},
                                        zp::op::relu, policy<DType, Requantization>>;
    generator next(seed);
    const auto feature = normal(Units * Rank * Inputs, next, 0.3f), time = normal(Units * Rank * Memory, next, 0.3f),
               bias = normal(Units, next, 0.3f);
    const std::vector<float> state_scale = {3e-4f};
    const layer_type layer({feature, time, bias, state_scale}, x_range, y_range);
    by_hand<code, Factor, Factor> reference({Units, Rank, Memory}, Inputs, feature, time, bias, x_range, state_scale[0],
                                            y_range, factor, factor);
    typename layer_type::state state;
    typename layer_type::workspace memory;
    zp::tensor<DType> x(layer_type::input_shape, x_range), y(layer_type::output_shape, y_range);
    int above = 0;
    for (int step = 0; step != 3 * Memory; ++step) {
        for (auto& value : x.values()) value = static_cast<code>(next.integer(DType::quant_min, DType::quant_max));
        layer(x, state, y, memory);
        CHECK(std::vector<int>(y.values().begin(), y.values().end()) == reference.step(x.data()));
        above += static_cast<int>(std::count_if(y.values().begin(), y.values().end(),
                                                [&](int value) { return value > y_range.zero_point + 5; }));
    }
    CHECK(above > 3 * Memory);
}

}  // namespace

TEST_CASE("svdf: the int8 form is the definition over weights that are quantized by hand") {
    compare_with_definition<zp::quint8, zp::nearest_even, 20, 12, 2, 7>(5, {0.03f, 120}, {0.05f, 3}, rounded_once);
    compare_with_definition<zp::qint8, zp::nearest_even, 37, 5, 1, 1>(6, {0.03f, -7}, {0.05f, -128}, rounded_once);
    compare_with_definition<zp::qint8, zp::fixed_point_double_rounding, 40, 16, 1, 8>(7, {0.03f, 4}, {0.05f, -120},
                                                                                      rounded_twice);
}

TEST_CASE("svdf: signed codes are the unsigned ones less 128, several steps in a call are steps") {
    constexpr int steps = 40;
    using one = zp::svdf<"spot", 5, 1, 3, given>;
    using unsigned_codes = zp::static_layer<one, zp::shape{1, 1, 9}, zp::op::relu6>;
    using signed_codes =
        zp::static_layer<one, zp::shape{1, steps, 9}, zp::op::relu6, policy<zp::qint8, zp::nearest_even>>;
    generator next(6);
    const auto feature = normal(5 * 9, next, 0.3f), time = normal(5 * 3, next, 0.9f);
    const std::vector<float> state_scale = {1e-4f};
    const unsigned_codes a({feature, time, {}, state_scale}, {0.03f, 128}, {0.03f, 3});
    const signed_codes b({feature, time, {}, state_scale}, {0.03f, 0}, {0.03f, -125});
    unsigned_codes::state of_a;
    signed_codes::state of_b;
    unsigned_codes::workspace memory_a;
    signed_codes::workspace memory_b;
    std::uint8_t x[steps * 9], y[steps * 5];
    std::int8_t shifted[steps * 9], z[steps * 5];
    for (int i = 0; i != steps * 9; ++i) {
        x[i] = static_cast<std::uint8_t>(next.integer(0, 255));
        shifted[i] = static_cast<std::int8_t>(x[i] - 128);
    }
    for (int round = 0; round != 2; ++round) {  // the second goes on
        for (int step = 0; step != steps; ++step) a.run(x + step * 9, of_a, y + step * 5, memory_a);
        b.run(shifted, of_b, z, memory_b);
        int most = 0;
        for (int i = 0; i != steps * 5; ++i) {
            CHECK(y[i] - 128 == z[i]);
            CHECK(y[i] >= 3);  // the relu6
            CHECK(y[i] <= 203);
            most = std::max<int>(most, y[i]);
        }
        CHECK(most == 203);
    }
}

TEST_CASE("svdf: errors") {
    const std::vector<float> feature(2 * 3, 1.0f), time(2 * 4, 1.0f), bias(2), one = {1.0f}, none = {0.0f};
    using layer = zp::static_layer<zp::svdf<"spot", 2, 1, 4, given>, zp::shape{1, 1, 3}>;
    const zp::qparams range{1.0f, 0};
    CHECK_THROWS_WITH_AS(layer({feature, feature, bias, one}, range, range), "spot: expected 8 values of time, found 6",
                         zp::shape_error);
    CHECK_THROWS_WITH_AS(layer({feature, time, bias}, range, range), "spot: expected 1 values of state_scale, found 0",
                         zp::shape_error);
    CHECK_THROWS_WITH_AS(layer({feature, time, bias, one, one}, range, range),
                         "spot: expected 4 tensors of parameters, found 5", zp::shape_error);
    std::vector<float> broken = time;
    broken[3] = zp::infinity;
    CHECK_THROWS_WITH_AS(layer({feature, broken, bias, one}, range, range), doctest::Contains("time"),
                         zp::calibration_error);
    CHECK_THROWS_WITH_AS(layer({feature, time, bias, none}, range, range), doctest::Contains("state_scale"),
                         zp::value_error);
    CHECK_THROWS_AS(layer({feature, time, bias, one}, {0.0f, 0}, range), zp::value_error);
    CHECK_THROWS_AS(layer({feature, time, bias, one}, {1.0f, 256}, range), zp::value_error);
    CHECK_THROWS_AS(layer({feature, time, bias, one}, range, {1.0f, -1}), zp::value_error);
    CHECK_THROWS_WITH_AS(layer({feature, time, bias, one}, range, {1e-20f, 0}), doctest::Contains("2^31 steps"),
                         zp::value_error);
    CHECK_NOTHROW(layer({feature, time, {}, one}, range, range));
}
