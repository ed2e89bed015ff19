// SPDX-License-Identifier: BSD-3-Clause
// Each epilogue: its definition against other arithmetic, its vector form and its use in tiles against its definition.
#include "../support/convolution_kernels.hpp"

#include <algorithm>
#include <cmath>

using namespace zp_test;
using namespace zp::kernel;

namespace {

constexpr std::int32_t int32_min = std::numeric_limits<std::int32_t>::min(),
                       int32_max = std::numeric_limits<std::int32_t>::max();

/// Sums of every size, both signs, with the extremes.
std::vector<std::int32_t> many_sums(random_engine& random, int count) {
    std::vector<std::int32_t> sums{
        0, 1, -1, int32_min, int32_max, int32_min + 1, 1 << 24, (1 << 24) + 1, -(1 << 24) - 1, 1 << 30, -(1 << 30)};
    while (static_cast<int>(sums.size()) < count) {
        const int bits = uniform(random, 1, 31);
        const auto magnitude = static_cast<std::int32_t>(random() & ((1u << bits) - 1));
        sums.push_back(uniform(random, 0, 1) == 0 ? magnitude : -magnitude);
    }
    return sums;
}

/// Rounds half to even by the library's rounding, in the default mode.
std::int32_t clamp_and_round(float value, const output_codes& codes) {
    const float low = static_cast<float>(codes.min - codes.zero_point),
                high = static_cast<float>(codes.max - codes.zero_point);
    return static_cast<std::int32_t>(std::nearbyintf(value < low    ? low
                                                     : value > high ? high
                                                                    : value)) +
           codes.zero_point;
}

/// TFLite's kernels as its common.h writes them.
namespace tflite {
std::int32_t SaturatingRoundingDoublingHighMul(std::int32_t a, std::int32_t b) {
    const bool overflow = a == b && a == int32_min;
    const std::int64_t ab_64 = static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b);
    const std::int32_t nudge = ab_64 >= 0 ? (1 << 30) : (1 - (1 << 30));
    const auto ab_x2_high32 = static_cast<std::int32_t>((ab_64 + nudge) / (std::int64_t{1} << 31));
    return overflow ? int32_max : ab_x2_high32;
}
std::int32_t RoundingDivideByPOT(std::int32_t x, int exponent) {
    const auto mask = static_cast<std::int32_t>((std::int64_t{1} << exponent) - 1);
    const std::int32_t remainder = x & mask;
    const std::int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
    return (x >> exponent) + (remainder > threshold ? 1 : 0);
}
std::int32_t double_rounding(std::int32_t x, std::int32_t multiplier, int shift) {
    const int left_shift = shift > 0 ? shift : 0, right_shift = shift > 0 ? 0 : -shift;
    return RoundingDivideByPOT(SaturatingRoundingDoublingHighMul(
                                   static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << left_shift), multiplier),
                               right_shift);
}
std::int64_t single_rounding(std::int32_t x, std::int32_t multiplier, int shift) {
    const std::int64_t total_shift = 31 - shift, round = std::int64_t{1} << (total_shift - 1);
    return (x * static_cast<std::int64_t>(multiplier) + round) >> total_shift;
}
}  // namespace tflite

/// Parameters of every epilogue for some channels.
struct parameters {
    std::vector<float> multiplier, bias;
    std::vector<std::int32_t> fixed, shift;

    parameters(random_engine& random, int channels, bool per_channel) {
        for (int c = 0; c != channels; ++c) {
            const bool repeat = !per_channel && c != 0;
            multiplier.push_back(
                repeat ? multiplier[0]
                       : std::ldexp(static_cast<float>(uniform(random, 1 << 20, 1 << 21)), -uniform(random, 20, 44)));
            bias.push_back(static_cast<float>(uniform(random, -100000, 100000)) / 7.0f);
            fixed.push_back(repeat ? fixed[0] : uniform(random, 0, 9) == 0 ? 0 : uniform(random, 1 << 30, int32_max));
            shift.push_back(repeat                       ? shift[0]
                            : uniform(random, 0, 5) == 0 ? uniform(random, -31, 30)
                                                         : uniform(random, -16, 0));
        }
    }
};

template <class Out> output_codes pick_output(random_engine& random) {
    output_codes codes{0, std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max(), nullptr};
    const int zero_points[] = {codes.min, codes.max, uniform(random, codes.min, codes.max)};
    codes.zero_point = zero_points[uniform(random, 0, 2)];
    if (uniform(random, 0, 1) == 0) codes.min = codes.zero_point;  // a fused relu
    if (uniform(random, 0, 3) == 0) codes.max = uniform(random, codes.min, codes.max);
    return codes;
}

/// finish_rows of one panel, in exact buffers, equals the scalar definition and touches nothing else.
template <class Arch, class Out, class Epilogue>
bool finishes_exactly(random_engine& random, const Epilogue& epilogue, int first, int channels) {
    constexpr int width = panel_width<Arch>;
    const int rows = uniform(random, 1, 3), pitch = channels + uniform(random, 0, 2);
    const std::vector<std::int32_t> sums = [&] {
        std::vector<std::int32_t> all = many_sums(random, rows * width + 11);
        std::shuffle(all.begin(), all.end(), random);
        all.resize(static_cast<std::size_t>(rows * width));
        return all;
    }();
    const auto untouched = static_cast<Out>(93);
    std::vector<Out> y(static_cast<std::size_t>((rows - 1) * pitch + channels), untouched), wanted = y;
    const std::uint8_t* table = table_of(epilogue);
    for (int row = 0; row != rows; ++row) {
        for (int c = 0; c != channels; ++c) {
            const auto finished = epilogue(sums[static_cast<std::size_t>(row * width + c)], first + c);
            auto value = static_cast<Out>(finished);
            if constexpr (sizeof(Out) == 1) {
                if (table != nullptr)
                    value =
                        static_cast<Out>(table[has_fine_table(epilogue) ? finished : static_cast<std::uint8_t>(value)]);
            }
            wanted[static_cast<std::size_t>(row * pitch + c)] = value;
        }
    }
    finish_rows<Arch>(epilogue, sums.data(), rows, first, channels, y.data(), pitch);
    return std::memcmp(y.data(), wanted.data(), y.size() * sizeof(Out)) == 0;
}

template <class Out> void check_codes(unsigned seed) {
    random_engine random(seed);
    std::uint8_t table[256];
    for (int i = 0; i != 256; ++i) table[i] = static_cast<std::uint8_t>(i * 7 + 3);
    std::uint8_t fine_table[1024];
    for (int i = 0; i != 1024; ++i) fine_table[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
    for (int i = 0; i != 400; ++i) {
        const int channels = uniform(random, 1, 40);
        const parameters p(random, channels, uniform(random, 0, 1) == 0);
        output_codes codes = pick_output<Out>(random);
        if (uniform(random, 0, 3) == 0) codes.table = table;
        else if (uniform(random, 0, 2) == 0) codes = {uniform(random, 0, 1023), 0, 1023, fine_table, true};
        for_each_vector_width([&](auto architecture) {
            using arch = decltype(architecture);
            constexpr int width = panel_width<arch>;
            for (int first = 0; first < channels; first += width) {
                const int count = std::min(width, channels - first);
                INFO(operations<arch>::name, " channels ", first, " + ", count, " of ", channels);
                CHECK(finishes_exactly<arch, Out>(random, nearest_even{p.multiplier.data(), codes}, first, count));
                CHECK(finishes_exactly<arch, Out>(random, float_bias{p.multiplier.data(), p.bias.data(), codes}, first,
                                                  count));
                CHECK(finishes_exactly<arch, Out>(
                    random, fixed_point_double_rounding{p.fixed.data(), p.shift.data(), codes}, first, count));
                CHECK(finishes_exactly<arch, Out>(
                    random, fixed_point_single_rounding{p.fixed.data(), p.shift.data(), codes}, first, count));
                CHECK(finishes_exactly<arch, Out>(
                    random, fixed_point_away_from_zero{{p.fixed.data(), p.shift.data(), codes}}, first, count));
            }
        });
    }
}

}  // namespace

TEST_CASE(
    "requantize: nearest_even and float_bias are single-precision arithmetic, clamped, then rounded half to even") {
    random_engine random(31);
    for (int i = 0; i != 50; ++i) {
        const parameters p(random, 3, true);
        const output_codes codes = pick_output<std::int8_t>(random);
        for (const std::int32_t sum : many_sums(random, 200)) {
            const volatile float real = static_cast<float>(sum),
                                 biased = real + p.bias[1];  // volatile: no contraction, no excess
            const volatile float scaled = real * p.multiplier[1], scaled_biased = biased * p.multiplier[1];
            CHECK((nearest_even{p.multiplier.data(), codes}(sum, 1)) == clamp_and_round(scaled, codes));
            CHECK((float_bias{p.multiplier.data(), p.bias.data(), codes}(sum, 1)) ==
                  clamp_and_round(scaled_biased, codes));
        }
    }
    const float half = 0.5f;
    const nearest_even ties{&half, {10, 0, 255, nullptr}};
    CHECK(ties(1, 0) == 10);  // 0.5 -> 0
    CHECK(ties(3, 0) == 12);  // 1.5 -> 2
    CHECK(ties(5, 0) == 12);  // 2.5 -> 2
    CHECK(ties(-3, 0) == 8);  // -1.5 -> -2
    CHECK(ties(int32_min, 0) == 0);
    CHECK(ties(int32_max, 0) == 255);
}

TEST_CASE("requantize: fixed point equals TFLite's own code") {
    random_engine random(32);
    for (int i = 0; i != 400; ++i) {
        const parameters p(random, 1, true);
        const output_codes codes = pick_output<std::int8_t>(random);
        const std::int64_t low = codes.min, high = codes.max;
        for (const std::int32_t sum : many_sums(random, 200)) {
            const std::int64_t twice =
                std::int64_t{tflite::double_rounding(sum, p.fixed[0], p.shift[0])} + codes.zero_point;
            const std::int64_t once = tflite::single_rounding(sum, p.fixed[0], p.shift[0]) + codes.zero_point;
            CHECK((fixed_point_double_rounding{p.fixed.data(), p.shift.data(), codes}(sum, 0)) ==
                  std::clamp(twice, low, high));
            CHECK((fixed_point_single_rounding{p.fixed.data(), p.shift.data(), codes}(sum, 0)) ==
                  std::clamp(once, low, high));
        }
    }
    // Away from zero: the magnitude, rounded once.
    for (int i = 0; i != 400; ++i) {
        const parameters p(random, 1, true);
        const output_codes codes = pick_output<std::int8_t>(random);
        for (const std::int32_t sum : many_sums(random, 200)) {
            if (sum == int32_min) continue;
            const std::int64_t size = tflite::single_rounding(std::abs(sum), p.fixed[0], p.shift[0]);
            CHECK((fixed_point_away_from_zero{{p.fixed.data(), p.shift.data(), codes}}(sum, 0)) ==
                  std::clamp<std::int64_t>((sum < 0 ? -size : size) + codes.zero_point, codes.min, codes.max));
        }
    }
    // Where the two differ: 2^30 * 2^-31 = 1/2 exactly after a first rounding up.
    const std::int32_t multiplier = 1 << 30, shift = -1;
    const output_codes codes{0, -128, 127, nullptr};
    CHECK((fixed_point_double_rounding{&multiplier, &shift, codes}(1, 0)) == 1);
    CHECK((fixed_point_single_rounding{&multiplier, &shift, codes}(1, 0)) == 0);
}

TEST_CASE("requantize: tiles to uint8 equal the definition") { check_codes<std::uint8_t>(33); }
TEST_CASE("requantize: tiles to int8 equal the definition") { check_codes<std::int8_t>(34); }

TEST_CASE("requantize: a residual is added before the one rounding") {
    random_engine random(37);
    for (int i = 0; i != 100; ++i) {
        const parameters p(random, 1, true);
        const output_codes codes = pick_output<std::int8_t>(random);
        const std::int32_t zero_point = uniform(random, 0, 255);
        const float ratio = residual_ratio(std::ldexp(static_cast<float>(uniform(random, 1, 1 << 20)), -20),
                                           std::ldexp(uniform(random, 1, 1 << 20), -uniform(random, 20, 32)));
        const nearest_even_add<std::uint8_t> add{p.multiplier.data(), &ratio, codes, nullptr, zero_point, nullptr};
        for (const std::int32_t sum : many_sums(random, 200)) {
            const int residual = uniform(random, 0, 255);
            // The product has no more than 24 bits, so all that rounds are the sum and the second product.
            const double product = static_cast<double>(residual - zero_point) * ratio;
            REQUIRE(static_cast<double>(static_cast<float>(product)) == product);
            const volatile float real = static_cast<float>(sum), other = static_cast<float>(product);
            const volatile float both = real + other;
            const volatile float scaled = both * p.multiplier[0];
            CHECK(add(sum, 0, static_cast<std::uint8_t>(residual)) == clamp_and_round(scaled, codes));
        }
    }
    // 100 at 0.02 and 30 at 0.05 are 3.5, at 0.1 code 35: more than either operand, and than an 8-bit step between.
    const double accumulator_scale = 0.02 * 0.01;
    const float multiplier = static_cast<float>(accumulator_scale / 0.1),
                ratio = residual_ratio(0.05f, accumulator_scale);
    const nearest_even_add<std::int8_t> add{&multiplier, &ratio, {-5, -128, 127, nullptr}, nullptr, 10, nullptr};
    CHECK(add(10000, 0, 40) == 30);
    CHECK(add(10000, 0, -128) == -5 + 20 - 69);
    CHECK(add(-10000, 0, 50) == -5);
    CHECK(add(int32_max, 0, 127) == 127);
    CHECK(add(int32_min, 0, -128) == -128);
}

TEST_CASE("residual_ratio: 16 significant bits, ties to even, and scales that cannot be meant") {
    CHECK(residual_ratio(1.0f, 1.0) == 1.0f);
    CHECK(residual_ratio(1.0f, 3.0) == 0x1.5556p-2f);  // 0.010101010101010101|0101...
    CHECK(residual_ratio(0x1.fffep0f, 1.0) == 0x1.fffep0f);
    CHECK(residual_ratio(0x1.ffffp0f, 1.0) == 2.0f);         // a tie, to even, over a power of two
    CHECK(residual_ratio(0x1.0001p0f, 1.0) == 1.0f);         // a tie
    CHECK(residual_ratio(0x1.0003p0f, 1.0) == 0x1.0004p0f);  // a tie
    CHECK(residual_ratio(0x1.000102p0f, 1.0) == 0x1.0002p0f);
    CHECK(residual_ratio(0x1p-60f, 0x1p20) == 0x1p-80f);
    CHECK_THROWS_AS(residual_ratio(1.0f, 0x1p101), zp::value_error);
    CHECK_THROWS_AS(residual_ratio(1.0f, 0x1p-101), zp::value_error);
    CHECK_THROWS_AS(residual_ratio(0.0f, 1.0), zp::value_error);
    CHECK_THROWS_AS(residual_ratio(1.0f, 0.0), zp::value_error);
}

TEST_CASE("requantize: tiles to float and to int32 equal the definition") {
    random_engine random(35);
    for (int i = 0; i != 200; ++i) {
        const int channels = uniform(random, 1, 40);
        const parameters p(random, channels, true);
        for_each_vector_width([&](auto architecture) {
            using arch = decltype(architecture);
            constexpr int width = panel_width<arch>;
            for (int first = 0; first < channels; first += width) {
                const int count = std::min(width, channels - first);
                CHECK(finishes_exactly<arch, float>(random, dequantize_to_float{p.multiplier.data()}, first, count));
                CHECK(finishes_exactly<arch, std::int32_t>(random, accumulators{}, first, count));
            }
        });
    }
}

TEST_CASE("requantize: every epilogue at the end of every algorithm") {
    random_engine random(36);
    std::uint8_t table[256];
    for (int i = 0; i != 256; ++i) table[i] = static_cast<std::uint8_t>(255 - i);
    const conv2d_geometry geometries[] = {
        {.in = {5, 4, 6},
         .out = {5, 4, 21},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {5, 5, 21}, .out = {3, 3, 21}, .kernel_height = 3, .kernel_width = 3, .groups = 21},
        {.in = {3, 3, 7}, .out = {3, 3, 21}, .groups = 7},
    };
    for (const conv2d_geometry& g : geometries) {
        const problem<std::int8_t, std::int8_t> p(random, g, {-7, -128, 127}, operands::random, operands::random,
                                                  false);
        const parameters q(random, 21, true);
        const output_codes plain{3, -128, 127, nullptr}, mapped{3, -128, 127, table};
        using arch = zp::default_architecture;
        const auto automatic = conv2d_algorithm::automatic;
        const auto check = [&](const auto& epilogue, auto out) {
            using out_type = decltype(out);
            CHECK((run<arch, out_type>(p, automatic, epilogue) == expected<out_type>(p, epilogue)));
        };
        check(nearest_even{q.multiplier.data(), plain}, std::int8_t{});
        check(float_bias{q.multiplier.data(), q.bias.data(), plain}, std::int8_t{});
        check(fixed_point_double_rounding{q.fixed.data(), q.shift.data(), plain}, std::int8_t{});
        check(fixed_point_single_rounding{q.fixed.data(), q.shift.data(), plain}, std::int8_t{});
        check(dequantize_to_float{q.multiplier.data()}, float{});

        std::vector<std::int8_t> codes = expected<std::int8_t>(p, nearest_even{q.multiplier.data(), plain});
        for (std::int8_t& code : codes) code = static_cast<std::int8_t>(table[static_cast<std::uint8_t>(code)]);
        CHECK((run<arch, std::int8_t>(p, automatic, nearest_even{q.multiplier.data(), mapped}) == codes));
    }
}
