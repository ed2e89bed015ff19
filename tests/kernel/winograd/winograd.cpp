// SPDX-License-Identifier: BSD-3-Clause
// Winograd's convolutions against the reference: borders, blocks, groups, and operands at and beyond the limit.
#include "../support/convolution_kernels.hpp"

using namespace zp_test;

namespace {

conv2d_geometry window_3x3(zp::shape in, int channels, int padding = 1) {
    return {.in = in,
            .out = {in.height + 2 * padding - 2, in.width + 2 * padding - 2, channels},
            .kernel_height = 3,
            .kernel_width = 3,
            .padding_top = padding,
            .padding_left = padding};
}

/// Any extents, any padding, more at one side than at the other, groups of any width.
conv2d_geometry random_geometry(random_engine& random, int most) {
    for (;;) {
        const int groups = uniform(random, 0, 2) == 0 ? uniform(random, 2, 4) : 1;
        conv2d_geometry g =
            window_3x3({uniform(random, 1, most), uniform(random, 1, most), groups * uniform(random, 1, 37)},
                       groups * uniform(random, 1, 35), 0);
        g.padding_top = uniform(random, 0, 5), g.padding_left = uniform(random, 0, 5);
        g.groups = groups;
        g.out.height += g.padding_top + uniform(random, 0, 5);
        g.out.width += g.padding_left + uniform(random, 0, 5);
        if (g.out.height > 0 && g.out.width > 0) return g;
    }
}

/// The output of one method by its own functions, which is all that need be compiled here: conv2d.cpp goes through the
/// doors. Scratch and output hold rubbish before.
template <class Arch, class Winograd, class Out, class In, class Weight, class Epilogue>
std::vector<Out> run_method(const problem<In, Weight>& p, const Epilogue& epilogue) {
    using namespace zp::kernel;
    const conv2d_geometry& g = p.geometry;
    zp::aligned_buffer packed(winograd_layout<Arch>(g, Winograd::method).bytes);
    zp::aligned_buffer scratch(winograd_plan<Arch>(g, Winograd::method).scratch_bytes);
    std::memset(scratch.data(), 0xa5, scratch.size());
    std::vector<Out> y(static_cast<std::size_t>(g.out.size()), static_cast<Out>(77));
    pack_winograd<Arch>(g, Winograd::method, p.view(), p.codes, packed.data());
    winograd_conv2d<Arch>(g, winograd_transforms_of<Arch, Winograd, In>, p.x.data(), p.codes, packed.data(), epilogue,
                          y.data(), scratch.data());
    return y;
}

template <class Arch, class Out, class In, class Weight, class Epilogue>
void check(const problem<In, Weight>& p, const Epilogue& epilogue, const std::vector<Out>& y) {
    INFO(zp::kernel::operations<Arch>::name, " ", zp::kernel::panel_width<Arch>, ": ", describe(p.geometry));
    CHECK((run_method<Arch, zp::kernel::winograd_4x4, Out>(p, epilogue) == y));
    CHECK((run_method<Arch, zp::kernel::winograd_2x2, Out>(p, epilogue) == y));
}

constexpr zp::kernel::accumulators raw;

template <class In, class Weight> void check_random(int count, unsigned seed) {
    random_engine random(seed);
    for (int i = 0; i != count; ++i) {
        const problem<In, Weight> p(random, random_geometry(random, 14), pick_codes<In>(random), pick_operands(random),
                                    pick_operands(random), uniform(random, 0, 3) == 0);
        const auto sums = expected<std::int32_t>(p, raw);
        for_each_architecture([&](auto architecture) { check<decltype(architecture)>(p, raw, sums); });
    }
}

/// How many panels are split by a method.
template <class Arch, class Winograd, class Weight, class In> int split_panels(const problem<In, Weight>& p) {
    using namespace zp::kernel;
    const winograd_layout<Arch> layout(p.geometry, Winograd::method);
    zp::aligned_buffer packed(layout.bytes);
    pack_winograd<Arch>(p.geometry, Winograd::method, p.view(), p.codes, packed.data());
    const winograd_weights<Arch> weights(p.geometry, Winograd::method, packed.data());
    int split = 0;
    for (int panel = 0; panel != layout.panels; ++panel) split += *weights.ends(panel) != layout.depth;
    return split;
}

/// Patterns over two axes that drive sums to the ends of their range, or products to those of theirs.
enum class pattern { solid, checkerboard, rows, columns, random, count };
bool is_high(random_engine& random, pattern kind, int row, int column, int channel) {
    switch (kind) {
        case pattern::solid: return true;
        case pattern::checkerboard: return (row + column) % 2 == 0;
        case pattern::rows: return row % 2 == 0;
        case pattern::columns: return (column + channel) % 2 == 0;
        default: return uniform(random, 0, 1) == 0;
    }
}

}  // namespace

TEST_CASE("winograd: random problems") {
    check_random<std::uint8_t, std::int8_t>(70, 31);
    check_random<std::int8_t, std::int8_t>(40, 32);
    check_random<std::uint8_t, std::uint8_t>(30, 33);
    check_random<std::int8_t, std::uint8_t>(20, 34);
}

TEST_CASE("winograd: images of many blocks of tiles, and rows of more tiles than are finished together") {
    random_engine random(35);
    for (const zp::shape in : {zp::shape{61, 67, 5}, zp::shape{9, 130, 3}, zp::shape{33, 6, 70}}) {
        const problem<std::uint8_t, std::int8_t> p(random, window_3x3(in, 18), {77, 0, 255}, operands::random,
                                                   operands::random, false);
        const auto sums = expected<std::int32_t>(p, raw);
        for_each_vector_width([&](auto architecture) { check<decltype(architecture)>(p, raw, sums); });
    }
}

TEST_CASE("winograd: more channels than are transformed together, and several runs of tiles over them") {
    random_engine random(39);
    for (const zp::shape in : {zp::shape{6, 5, 270}, zp::shape{25, 21, 515}, zp::shape{7, 7, 1030}}) {
        const problem<std::uint8_t, std::int8_t> p(random, window_3x3(in, 18), {77, 0, 255}, operands::random,
                                                   operands::random, false);
        const auto sums = expected<std::int32_t>(p, raw);
        for_each_vector_width([&](auto architecture) { check<decltype(architecture)>(p, raw, sums); });
    }
}

TEST_CASE("winograd: several blocks of tiles over two parts of the filters, which are of two panels or of one") {
    random_engine random(40);
    const auto check_blocks = [&](zp::shape in, int channels) {
        const problem<std::uint8_t, std::int8_t> p(random, window_3x3(in, channels), {77, 0, 255}, operands::random,
                                                   operands::random, false);
        const auto sums = expected<std::int32_t>(p, raw);
        for_each_vector_width([&](auto architecture) { check<decltype(architecture)>(p, raw, sums); });
    };
    check_blocks({45, 47, 70}, 50);
    check_blocks({30, 30, 200}, 18);
    check_blocks({30, 30, 200}, 40);
}

TEST_CASE("winograd: codes come out as those of implicit_gemm") {
    random_engine random(36);
    for (int i = 0; i != 40; ++i) {
        const conv2d_geometry g = random_geometry(random, 20);
        const problem<std::int8_t, std::int8_t> p(random, g, pick_codes<std::int8_t>(random), operands::random,
                                                  operands::random, false);
        std::vector<float> multiplier;
        for (int c = 0; c != g.out.channels; ++c)
            multiplier.push_back(static_cast<float>(uniform(random, 1, 1000)) * 1e-6f);
        const zp::kernel::nearest_even epilogue{multiplier.data(), {uniform(random, 0, 255), 10, 250, nullptr}};
        const std::vector<std::uint8_t> codes = expected<std::uint8_t>(p, epilogue);
        for_each_architecture([&](auto architecture) { check<decltype(architecture)>(p, epilogue, codes); });
    }
}

TEST_CASE("winograd: extreme operands around the number of channels where parts begin") {
    random_engine random(37);
    using arch = zp::default_architecture;
    int split = 0, whole = 0;
    const int problems = zp_test::fewer_problems == 1 ? 700 : 50;
    for (int i = 0; i != problems; ++i) {
        const int channels[] = {100, 112, 115, 116, 120, 228, 232, 240};
        const int zero_points[] = {0, 1, 127, 128, 254, 255};
        const auto input = static_cast<pattern>(uniform(random, 0, static_cast<int>(pattern::count) - 1)),
                   filter = static_cast<pattern>(uniform(random, 0, static_cast<int>(pattern::count) - 1));
        const conv2d_geometry g =
            window_3x3({uniform(random, 4, 6), uniform(random, 4, 6), channels[uniform(random, 0, 7)]}, 2);
        problem<std::uint8_t, std::int8_t> p(random, g, {zero_points[uniform(random, 0, 5)], 0, 255}, operands::random,
                                             operands::random, false);
        const int low = uniform(random, 0, 1) == 0 ? -127 : 0, high = uniform(random, 0, 1) == 0 ? 127 : -128;
        std::size_t at = 0;
        for (int row = 0; row != g.in.height; ++row)
            for (int column = 0; column != g.in.width; ++column)
                for (int c = 0; c != g.in.channels; ++c) p.x[at++] = is_high(random, input, row, column, c) ? 255 : 0;
        at = 0;
        for (int tap = 0; tap != 2 * 9; ++tap)
            for (int c = 0; c != g.in.channels; ++c)
                p.weights[at++] = static_cast<std::int8_t>(is_high(random, filter, tap / 3, tap % 3, c) ? high : low);
        check<arch>(p, raw, expected<std::int32_t>(p, raw));
        (split_panels<arch, zp::kernel::winograd_4x4>(p) != 0 ? split : whole) += 1;
        CHECK(split_panels<arch, zp::kernel::winograd_2x2>(p) == 0);
    }
    CHECK(split > problems / 7);
    CHECK(whole > problems / 7);
}

TEST_CASE("winograd: affine weights split earlier, and into more parts") {
    random_engine random(38);
    using arch = zp::default_architecture;
    for (const int channels : {56, 60, 117, 240}) {
        problem<std::uint8_t, std::uint8_t> p(random, window_3x3({5, 5, channels}, 20), {255, 0, 255}, operands::lowest,
                                              operands::lowest, true);
        for (auto& zero_point : p.zero_points) zero_point = 255;
        const auto sums = expected<std::int32_t>(p, raw);
        for_each_architecture([&](auto architecture) { check<decltype(architecture)>(p, raw, sums); });
        // 9 * 255 * 255 a channel: 57 of them stay below 2^25.
        const bool split = split_panels<arch, zp::kernel::winograd_4x4>(p) != 0;
        CHECK(split == (channels > 57));
        CHECK(split_panels<arch, zp::kernel::winograd_2x2>(p) == 0);
    }
}

TEST_CASE("winograd: blocks of the size that was measured") {
    using namespace zp::kernel;
    static_assert(winograd_most_tiles<zp::portable> == 18 && winograd_part_channels<zp::portable> == 256);
#if XSIMD_WITH_AVX2
    static_assert(winograd_most_tiles<xsimd::avx2> == 18 && winograd_part_channels<xsimd::avx2> == 256);
#endif
#if XSIMD_WITH_AVX512BW
    static_assert(winograd_most_tiles<xsimd::avx512bw> == 12 && winograd_part_channels<xsimd::avx512bw> == 256);
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512BW
    using vnni = xsimd::avx512vnni<xsimd::avx512bw>;
    static_assert(winograd_most_tiles<vnni> == 12 && winograd_part_channels<vnni> == 128);
#endif
}

TEST_CASE("winograd: sizes") {
    using arch = zp::default_architecture;
    using namespace zp::kernel;
    constexpr conv2d_geometry g{.in = {28, 28, 128},
                                .out = {28, 28, 128},
                                .kernel_height = 3,
                                .kernel_width = 3,
                                .padding_top = 1,
                                .padding_left = 1};
    static_assert(conv2d_packed_bytes<arch>(g, conv2d_algorithm::winograd_4x4, false) % 64 == 0);
    static_assert(conv2d_scratch_bytes<arch>(g, conv2d_algorithm::winograd_4x4) % 64 == 0);
    // The filters of one panel are transformed there, or of two, beside more operands.
    constexpr std::size_t most = transforms_filters_ahead<arch> ? 1248 * 1024 : (288 + 13 * panel_width<arch>)*1024;
    static_assert(conv2d_scratch_bytes<arch>(g, conv2d_algorithm::winograd_4x4) < most);
    static_assert(conv2d_scratch_bytes<arch>(g, conv2d_algorithm::winograd_2x2) < most);
    // A byte a weight, and little beside.
    static_assert(conv2d_packed_bytes<arch>(g, conv2d_algorithm::winograd_4x4, true) < 128 * 128 * 9 * 101 / 100);
    static_assert(supports(g, conv2d_algorithm::winograd_4x4) && supports(g, conv2d_algorithm::winograd_2x2));
    conv2d_geometry strided = g, dilated = g, tall = g;
    strided.stride_width = 2;
    dilated.dilation_height = 2;
    tall.kernel_height = 5;
    for (const conv2d_algorithm algorithm : {conv2d_algorithm::winograd_4x4, conv2d_algorithm::winograd_2x2}) {
        CHECK_FALSE(supports(strided, algorithm));
        CHECK_FALSE(supports(dilated, algorithm));
        CHECK_FALSE(supports(tall, algorithm));
    }
}
