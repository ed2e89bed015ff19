// SPDX-License-Identifier: BSD-3-Clause
// Products of fixed extents against the reference: every kind of panel, odd extents, all epilogues, nothing beyond the ends.
#include "../support/convolution_kernels.hpp"

#include <cmath>

#include <zeropoint/kernel/gemm/small_linear.hpp>

using namespace zp_test;

namespace {

template <int Rows, int Depth, int Channels> struct extents {
    static constexpr int rows = Rows, depth = Depth, channels = Channels;
    static constexpr conv2d_geometry geometry = zp::kernel::geometry_of({Rows, Depth, Channels});
};

/// The output of the fixed product, in a buffer of exact size. Weights without zero points are words if `words`.
template <class Arch, bool Words, class Out, bool FineTable = false, class Extents, class In, class Weight,
          class Epilogue>
std::vector<Out> run_fixed(const problem<In, Weight>& p, Extents, const Epilogue& epilogue) {
    using namespace zp::kernel;
    constexpr auto algorithm = conv2d_algorithm::implicit_gemm;
    using product = small_linear<Arch, Extents::rows, Extents::depth, Extents::channels, Words, FineTable>;
    const std::vector<std::int32_t> zeros(Extents::channels);
    conv2d_weights<Weight> weights = p.view();
    if (Words && !weights.affine()) weights.zero_points = zeros.data();
    zp::aligned_buffer packed(conv2d_packed_bytes<Arch>(p.geometry, algorithm, weights.affine()));
    zp::aligned_buffer scratch(conv2d_scratch_bytes<Arch>(p.geometry, algorithm));
    std::memset(scratch.data(), 0xa5, scratch.size());
    std::vector<Out> y(static_cast<std::size_t>(p.geometry.out.size()), static_cast<Out>(77));
    pack_conv2d<Arch>(p.geometry, algorithm, weights, p.codes, packed.data());
    if (product::supports(packed.data()))
        product::run(p.x.data(), p.codes, packed.data(), epilogue, y.data(), scratch.data());
    else conv2d<Arch>(p.geometry, algorithm, p.x.data(), p.codes, packed.data(), epilogue, y.data(), scratch.data());
    return y;
}

template <class Arch, bool Words, class In, class Weight, class... Extents>
void check_accumulators(unsigned seed, Extents... all) {
    const auto check = [&](auto e) {
        random_engine random(seed);
        const int rounds = std::max(zp_test::fewer(84), 12);
        for (int i = 0; i != rounds; ++i) {
            const int round = i % 12;
            const operands x = round < 8 ? operands::random : pick_operands(random);
            const operands w = round < 4 ? operands::random : round < 8 ? operands::small : pick_operands(random);
            const bool affine = Words && round % 3 == 0;
            const problem<In, Weight> p(random, decltype(e)::geometry, pick_codes<In>(random), x, w, affine);
            INFO(zp::kernel::operations<Arch>::name, " ", Words, ": ", describe(p.geometry));
            CHECK((run_fixed<Arch, Words, std::int32_t>(p, e, zp::kernel::accumulators{}) ==
                   expected<std::int32_t>(p, zp::kernel::accumulators{})));
        }
    };
    (check(all), ...);
}

}  // namespace

TEST_CASE("small_linear: sums of uint8 activations, rests of all kinds") {
    using arch = zp::default_architecture;
    check_accumulators<arch, true, std::uint8_t, std::int8_t>(1, extents<1, 7, 17>{}, extents<1, 66, 133>{},
                                                              extents<2, 20, 33>{});
    check_accumulators<arch, false, std::uint8_t, std::int8_t>(2, extents<1, 37, 40>{}, extents<2, 20, 32>{},
                                                               extents<13, 19, 35>{});
}

#if !ZEROPOINT_TEST_ONE_ARCHITECTURE
TEST_CASE("small_linear: sums on other architectures") {
    check_accumulators<odd_saturating_architecture, true, std::uint8_t, std::int8_t>(3, extents<1, 9, 17>{});
    check_accumulators<odd_saturating_architecture, false, std::uint8_t, std::int8_t>(4, extents<3, 9, 17>{});
}
#endif

TEST_CASE("small_linear: sums of int8 activations, and of uint8 weights") {
    using arch = zp::default_architecture;
    check_accumulators<arch, true, std::int8_t, std::int8_t>(7, extents<1, 33, 20>{});
    check_accumulators<arch, false, std::int8_t, std::int8_t>(8, extents<4, 33, 20>{});
    check_accumulators<arch, true, std::uint8_t, std::uint8_t>(9, extents<1, 33, 20>{});
}

TEST_CASE("small_linear: every epilogue, with and without a table") {
    random_engine random(6);
    std::uint8_t table[256];
    for (std::uint8_t& entry : table) entry = static_cast<std::uint8_t>(uniform(random, 0, 255));
    const extents<1, 37, 57> e;
    using shape = extents<1, 37, 57>;
    const problem<std::uint8_t, std::int8_t> p(random, shape::geometry, {31, 0, 255}, operands::random,
                                               operands::random, false);
    std::vector<float> scale, bias;
    std::vector<std::int32_t> multiplier, shift;
    for (int c = 0; c != shape::channels; ++c) {
        scale.push_back(static_cast<float>(uniform(random, 1, 1000)) * 1e-5f);
        bias.push_back(static_cast<float>(uniform(random, -5000, 5000)));
        multiplier.push_back(uniform(random, 1 << 30, std::numeric_limits<std::int32_t>::max()));
        shift.push_back(uniform(random, -14, -6));
    }
    for (const bool look_up : {false, true}) {
        const zp::kernel::output_codes codes{90, 20, 240, look_up ? table : nullptr};
        const auto check = [&](auto epilogue) {
            using arch = zp::default_architecture;
            const std::vector<std::uint8_t> y = run<arch, std::uint8_t>(p, conv2d_algorithm::implicit_gemm, epilogue);
            if (!look_up) CHECK((y == expected<std::uint8_t>(p, epilogue)));
            CHECK((run_fixed<arch, true, std::uint8_t>(p, e, epilogue) == y));
        };
        check(zp::kernel::nearest_even{scale.data(), codes});
        const zp::kernel::nearest_even as_bytes{scale.data(), codes};
        CHECK((run_fixed<zp::default_architecture, false, std::uint8_t>(p, e, as_bytes) ==
               run<zp::default_architecture, std::uint8_t>(p, conv2d_algorithm::implicit_gemm, as_bytes)));
        check(zp::kernel::float_bias{scale.data(), bias.data(), codes});
        check(zp::kernel::fixed_point_double_rounding{multiplier.data(), shift.data(), codes});
        check(zp::kernel::fixed_point_single_rounding{multiplier.data(), shift.data(), codes});
    }
    std::vector<std::uint8_t> entries(1024);
    for (std::size_t i = 0; i != entries.size(); ++i) entries[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
    std::vector<float> fine_scale = scale;
    for (float& s : fine_scale) s *= 4;
    const zp::kernel::nearest_even fine{fine_scale.data(), {360, 80, 1023, entries.data(), true}};
    const std::vector<std::int32_t> places = expected<std::int32_t>(p, fine);
    std::vector<std::uint8_t> looked_up;
    for (const std::int32_t place : places) looked_up.push_back(entries[static_cast<std::size_t>(place)]);
    CHECK((run_fixed<zp::default_architecture, true, std::uint8_t, true>(p, e, fine) == looked_up));
    CHECK((run_fixed<zp::default_architecture, false, std::uint8_t, true>(p, e, fine) == looked_up));
    CHECK((run<zp::default_architecture, std::uint8_t>(p, conv2d_algorithm::implicit_gemm, fine) == looked_up));
    const zp::kernel::nearest_even to_signed{scale.data(), {-7, -100, 90, nullptr}};
    CHECK((run_fixed<zp::default_architecture, true, std::int8_t>(p, e, to_signed) ==
           expected<std::int8_t>(p, to_signed)));
    CHECK((run_fixed<zp::default_architecture, false, std::int8_t>(p, e, to_signed) ==
           expected<std::int8_t>(p, to_signed)));
    const zp::kernel::dequantize_to_float to_float{scale.data()};
    CHECK((run_fixed<zp::default_architecture, true, float>(p, e, to_float) == expected<float>(p, to_float)));
}

namespace {

/// A table of 1024 entries of `function` between -1 and 1, at reals from -range to range.
std::vector<std::uint8_t> table_of_reals(double range, double (*function)(double)) {
    std::vector<std::uint8_t> table;
    for (int i = 0; i != 1024; ++i)
        table.push_back(static_cast<std::uint8_t>(std::lrint(128 + 127 * function(range * (i - 512) / 512))));
    return table;
}

/// What a fine table gives through a layer of `Extents`, by its near table where there is one.
template <class Arch, bool Words, class Extents>
void check_fine(const std::vector<std::uint8_t>& table, bool is_near, Extents e) {
    random_engine random(12);
    const auto near = zp::kernel::make_near_table<Arch>(table.data(), 1024, 1023);
    CHECK(near.is_used() == is_near);
    for (int round = 0; round != 20; ++round) {
        const problem<std::uint8_t, std::int8_t> p(random, Extents::geometry, pick_codes<std::uint8_t>(random),
                                                   pick_operands(random), operands::random, false);
        std::vector<float> scale(Extents::channels);
        for (float& s : scale) s = static_cast<float>(uniform(random, 1, 1000)) / (round % 4 == 3 ? 1e-20f : 30000.0f);
        zp::kernel::nearest_even fine{scale.data(), {360, 80, 1023, table.data(), true}};
        const std::vector<std::int32_t> places = expected<std::int32_t>(p, fine);
        std::vector<std::uint8_t> looked_up;
        for (const std::int32_t place : places) looked_up.push_back(table[static_cast<std::size_t>(place)]);
        INFO(zp::kernel::operations<Arch>::name, " ", Words, ": ", describe(p.geometry));
        CHECK((run_fixed<Arch, Words, std::uint8_t, true>(p, e, fine) == looked_up));
        if (is_near) fine.codes.near = &near;
        CHECK((run_fixed<Arch, Words, std::uint8_t, true>(p, e, fine) == looked_up));
    }
}
template <class Arch, bool Words> void check_fine() {
    const auto tanh = table_of_reals(3, [](double x) { return std::tanh(x); });
    const auto steep = table_of_reals(7, [](double x) { return std::tanh(x); });
    const auto swish = table_of_reals(6, [](double x) { return x / (1 + std::exp(-x)) / 6; });
    const auto steeper = table_of_reals(12, [](double x) { return std::tanh(x); });
    check_fine<Arch, Words>(tanh, true, extents<1, 48, 16>{});
    check_fine<Arch, Words>(steep, true, extents<1, 3, 16>{});
    check_fine<Arch, Words>(swish, true, extents<1, 2, 32>{});
    check_fine<Arch, Words>(tanh, true, extents<1, 7, 9>{});
    check_fine<Arch, Words>(steep, true, extents<1, 1, 27>{});
    check_fine<Arch, Words>(steeper, false, extents<1, 6, 16>{});
}

/// All entries by shuffles, where an architecture has them.
template <class Arch> void check_entries(const zp::kernel::near_table& near, const std::vector<std::uint8_t>& table) {
    if constexpr (zp::kernel::has_near_tables<Arch>) {
        using ops = zp::kernel::operations<Arch>;
        for (std::size_t first = 0; first != table.size(); first += ops::lanes) {
            std::int32_t places[ops::lanes];
            for (int i = 0; i != ops::lanes; ++i) places[i] = static_cast<int>(first) + i;
            std::uint8_t found[ops::lanes];
            ops::store_low_bytes(found, ops::look_up_near(near.rows, ops::template load<typename ops::int32>(places)));
            for (std::size_t i = 0; i != ops::lanes; ++i) CHECK(int{found[i]} == int{table[first + i]});
        }
    }
}

}  // namespace

TEST_CASE("small_linear: fine tables behind few outputs, near and steep") {
    check_fine<zp::default_architecture, false>();
    check_fine<zp::default_architecture, true>();
}

TEST_CASE("near_table: every entry, wherever it holds") {
    using arch = zp::default_architecture;
    random_engine random(13);
    for (int round = 0; round != 60; ++round) {
        std::vector<std::uint8_t> table(1024);
        int entry = uniform(random, 0, 255);
        const int low = round % 3 == 0 ? -1 : 0, high = round % 3 == 0 ? 1 : round % 3;
        for (std::uint8_t& one : table) {
            entry = std::clamp(entry + uniform(random, low, high), 0, 255);
            one = static_cast<std::uint8_t>(entry);
        }
        const auto near = zp::kernel::make_near_table<arch>(table.data(), 1024, 1023);
        CHECK(near.is_used());
        CHECK(!zp::kernel::make_near_table<arch>(table.data(), 512, 511).is_used());
        CHECK(!zp::kernel::make_near_table<arch>(table.data(), 1024, 1024).is_used());
        for (int i = 0; i != 1024; ++i) {
            const std::uint32_t row = near.rows[i / 8];
            CHECK(((row + (row >> (8 + 3 * (i % 8)) & 7) + (static_cast<std::uint32_t>(i) >> near.slope[0])) & 255) ==
                  table[static_cast<std::size_t>(i)]);
        }
        check_entries<arch>(near, table);
    }
}

TEST_CASE("small_linear: which convolutions are products, which products are small, which dtypes need no words") {
    using namespace zp::kernel;
    static_assert(linear_extents_of({.in = {1, 1, 8}, .out = {1, 1, 5}}).depth == 8);
    static_assert(linear_extents_of({.in = {2, 3, 8}, .out = {2, 3, 5}}).rows == 6);
    static_assert(linear_extents_of({.in = {3, 1, 8}, .out = {2, 1, 5}, .stride_height = 2}).rows == 0);
    static_assert(linear_extents_of({.in = {1, 1, 8}, .out = {1, 1, 4}, .groups = 2}).rows == 0);
    static_assert(linear_extents_of({.in = {3, 1, 8}, .out = {3, 1, 4}, .kernel_height = 3, .padding_top = 1}).rows ==
                  0);
    constexpr conv2d_geometry window{.in = {1, 3, 8}, .out = {1, 1, 5}, .kernel_width = 3};  // a step of a stream
    static_assert(linear_extents_of(window).rows == 1 && linear_extents_of(window).depth == 24);
    static_assert(linear_extents_of({.in = {1, 4, 8}, .out = {1, 2, 5}, .kernel_width = 3}).rows == 0);
    static_assert(linear_extents_of({.in = {1, 5, 8}, .out = {1, 1, 5}, .kernel_width = 3, .dilation_width = 2}).rows ==
                  0);
    static_assert(linear_extents_of({.in = {3, 1, 8}, .out = {1, 1, 5}, .kernel_height = 3}).rows == 0);
    static_assert(linear_extents{1, 256, 128}.are_small() && !linear_extents{1, 257, 128}.are_small());
    static_assert(!linear_extents{17, 8, 8}.are_small() && !linear_extents{}.are_small());
    using arch = odd_saturating_architecture;
    static_assert(!always_byte_quads<arch>({0, 0, 255}, -128, 127));
    static_assert(always_byte_quads<arch>({0, 0, 127}, -128, 127) && always_byte_quads<arch>({0, 0, 255}, -64, 64));
    static_assert(always_byte_quads<odd_architecture>({0, 0, 255}, -128, 127));
    static_assert(always_byte_quads<odd_seven_bit_architecture>({0, 0, 127}, -128, 127));
    static_assert(!always_byte_quads<odd_seven_bit_architecture>({0, 0, 128}, -128, 127));
    CHECK(true);
}
