// SPDX-License-Identifier: BSD-3-Clause
// Transposed convolutions against the definition, over random geometries and operands: all sums and codes are equal.
#include <zeropoint/kernel/convolution/conv_transpose2d.hpp>
#include <zeropoint/kernel/float/float_conv_transpose2d.hpp>
#include <zeropoint/kernel/reference/conv_transpose2d.hpp>

#include "../support/convolution_problem.hpp"

using namespace zp_test;

namespace {

namespace kernel = zp::kernel;
using kernel::conv_transpose2d_geometry;

conv_transpose2d_geometry random_geometry(random_engine& random) {
    for (;;) {
        conv_transpose2d_geometry g;
        g.kernel_height = uniform(random, 1, 5), g.kernel_width = uniform(random, 1, 5);
        g.stride_height = uniform(random, 1, 3), g.stride_width = uniform(random, 1, 4);
        if (uniform(random, 0, 2) == 0)
            g.dilation_height = uniform(random, 1, 4), g.dilation_width = uniform(random, 1, 3);
        g.padding_top = uniform(random, 0, 4), g.padding_left = uniform(random, 0, 4);
        const int group_kind = uniform(random, 0, 3);
        g.groups = group_kind == 0 ? uniform(random, 2, 4) : 1;
        int group_in = uniform(random, 1, 20), group_out = uniform(random, 1, 36);
        if (group_kind == 1) g.groups = uniform(random, 1, 35), group_in = 1, group_out = uniform(random, 1, 3);
        if (group_kind == 2) group_in *= 4;
        g.in = {uniform(random, 1, 7), uniform(random, 1, 7), g.groups * group_in};
        if (uniform(random, 0, 4) == 0) g.in.height = g.kernel_height = g.stride_height = 1, g.padding_top = 0;  // 1-D
        if (uniform(random, 0, 3) == 0) {  // side by side
            g.kernel_height = g.stride_height, g.kernel_width = g.stride_width;
            g.padding_top = g.padding_left = uniform(random, 0, 4) == 0 ? 1 : 0;
            g.dilation_height = g.dilation_width = 1;
            if (uniform(random, 0, 1) == 0) group_out *= uniform(random, 1, 4);
        }
        g.out = {kernel::conv_transpose_extent(g.in.height, g.kernel_height, g.stride_height, g.padding_top,
                                               g.dilation_height, uniform(random, 0, g.stride_height - 1)),
                 kernel::conv_transpose_extent(g.in.width, g.kernel_width, g.stride_width, g.padding_left,
                                               g.dilation_width, uniform(random, 0, g.stride_width - 1)),
                 g.groups * group_out};
        if (g.out.height > 0 && g.out.width > 0) return g;
    }
}

// What `problem` has to know: how many inputs, outputs and weights there are.
conv2d_geometry extents_of(const conv_transpose2d_geometry& g) {
    conv2d_geometry extents;
    extents.in = g.in, extents.out = g.out;
    extents.kernel_height = g.kernel_height, extents.kernel_width = g.kernel_width;
    extents.stride_height = g.stride_height, extents.stride_width = g.stride_width;
    extents.padding_top = g.padding_top, extents.padding_left = g.padding_left;
    extents.dilation_height = g.dilation_height, extents.dilation_width = g.dilation_width;
    extents.groups = g.groups;
    return extents;
}

template <class Arch, class Out, class In, class Weight, class Epilogue>
void run_transposed(const conv_transpose2d_geometry& g, const problem<In, Weight>& p, const Epilogue& epilogue,
                    std::vector<Out>& y) {
    const bool affine = p.view().affine();
    kernel::with_conv_transpose2d_kernels<Arch>(g, [&](auto kernels) {
        zp::aligned_buffer packed(kernels.packed_bytes(g, affine));
        zp::aligned_buffer scratch(std::max<std::size_t>(kernels.scratch_bytes(g), 64));
        std::memset(scratch.data(), 0xa5, scratch.size());
        std::memset(packed.data(), 0x5a, packed.size());
        kernels.pack(g, p.view(), p.codes, packed.data());
        kernels.run(g, p.x.data(), p.codes, affine, packed.data(), epilogue, y.data(), scratch.data());

        std::vector<Weight> weights(p.weights.size());
        std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels));
        kernels.unpack(g, p.view().zero_points, affine, p.codes, packed.data(), weights.data(), bias.data());
        CHECK((weights == p.weights));
        CHECK((bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias)));
    });
}

template <class Out, class In, class Weight, class Finish>
std::vector<Out> expected_transposed(const conv_transpose2d_geometry& g, const problem<In, Weight>& p, Finish finish) {
    std::vector<Out> y(static_cast<std::size_t>(g.out.size()));
    const auto weights = p.view();
    kernel::reference::conv_transpose2d(g, p.x.data(), p.codes.zero_point, weights.values, weights.zero_points,
                                        weights.bias, finish, y.data());
    return y;
}

template <class In, class Weight> void check_random(int count, unsigned seed) {
    random_engine random(seed);
    for (int i = 0; i != zp_test::fewer(count); ++i) {
        const conv_transpose2d_geometry g = random_geometry(random);
        const bool affine = uniform(random, 0, 3) == 0;
        const problem<In, Weight> p(random, extents_of(g), pick_codes<In>(random), pick_operands(random),
                                    pick_operands(random), affine);
        const auto expected = expected_transposed<std::int32_t>(g, p, kernel::accumulators{});
        const auto check = [&](auto architecture) {
            using arch = decltype(architecture);
            INFO(kernel::operations<arch>::name, " ", kernel::panel_width<arch>, ": ", describe(extents_of(g)));
            std::vector<std::int32_t> y(expected.size(), 77);
            run_transposed<arch>(g, p, kernel::accumulators{}, y);
            CHECK((y == expected));
        };
        if constexpr (std::is_same_v<In, std::uint8_t>) for_each_architecture(check);
        else for_each_vector_width(check);  // to compile less
    }
}

}  // namespace

TEST_CASE("conv_transpose2d: random problems, uint8 activations") { check_random<std::uint8_t, std::int8_t>(500, 31); }
#if !ZEROPOINT_TEST_ONE_ARCHITECTURE  // of other storage types conv2d's own tests tell
TEST_CASE("conv_transpose2d: random problems, int8 activations") { check_random<std::int8_t, std::int8_t>(500, 32); }
TEST_CASE("conv_transpose2d: random problems, uint8 weights") { check_random<std::int8_t, std::uint8_t>(150, 33); }
#endif

TEST_CASE("conv_transpose2d: codes through an epilogue, a table, and beside a residual") {
    random_engine random(34);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const conv_transpose2d_geometry g = random_geometry(random);
        const problem<std::uint8_t, std::int8_t> p(random, extents_of(g), pick_codes<std::uint8_t>(random),
                                                   operands::random, operands::random, false);
        std::vector<float> multiplier, ratio;
        for (int c = 0; c != g.out.channels; ++c) {
            multiplier.push_back(static_cast<float>(uniform(random, 1, 1000)) * 1e-6f);
            ratio.push_back(static_cast<float>(uniform(random, 1, 60000)));
        }
        const auto table = fill<std::uint8_t>(random, 256, operands::random, 0, 255);
        const auto residual =
            fill<std::int8_t>(random, static_cast<std::size_t>(g.out.size()), operands::random, -128, 127);
        kernel::nearest_even plain{multiplier.data(), {uniform(random, 0, 255), 10, 250, nullptr}}, looked_up = plain;
        looked_up.codes.table = table.data();
        const auto entries = fill<std::uint8_t>(random, 1024, operands::random, 0, 255);
        kernel::nearest_even fine{multiplier.data(), {uniform(random, 0, 1023), 0, 1023, entries.data(), true}};
        const auto through_fine = expected_transposed<std::uint16_t>(g, p, fine);
        const auto codes = expected_transposed<std::uint8_t>(g, p, plain);
        for_each_vector_width([&](auto architecture) {
            using arch = decltype(architecture);
            INFO(kernel::operations<arch>::name, " ", kernel::panel_width<arch>, ": ", describe(extents_of(g)));
            std::vector<std::uint8_t> y(codes.size(), 77), through_table(codes);
            run_transposed<arch>(g, p, plain, y);
            CHECK((y == codes));
            for (auto& code : through_table) code = table[code];
            run_transposed<arch>(g, p, looked_up, y);
            CHECK((y == through_table));
            run_transposed<arch>(g, p, fine, y);
            CHECK(std::equal(y.begin(), y.end(), through_fine.begin(), through_fine.end(),
                             [&](std::uint8_t code, std::uint16_t place) { return code == entries[place]; }));

            kernel::nearest_even_add<std::int8_t> added{multiplier.data(), ratio.data(), {3, -128, 127, nullptr},
                                                        residual.data(),   -5,           nullptr};
            std::vector<std::int8_t> sums(codes.size(), 77);
            added.output = sums.data();
            run_transposed<arch>(g, p, added, sums);
            std::size_t at = 0;
            const auto finish = [&](std::int32_t sum, int channel) { return added(sum, channel, residual[at++]); };
            CHECK((sums == expected_transposed<std::int8_t>(g, p, finish)));
        });
    }
}

TEST_CASE("conv_transpose2d_float: exact where the sums are") {
    random_engine random(35);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const conv_transpose2d_geometry g = random_geometry(random);
        problem<std::int8_t, std::int8_t> p(random, extents_of(g), {0, -20, 20}, operands::random, operands::random,
                                            false);
        p.zero_points.clear();
        const auto sums = expected_transposed<std::int32_t>(g, p, kernel::accumulators{});
        const std::vector<float> x(p.x.begin(), p.x.end()), weights(p.weights.begin(), p.weights.end()),
            bias(p.bias.begin(), p.bias.end());
        for_each_vector_width([&](auto architecture) {
            using arch = std::conditional_t<std::is_same_v<decltype(architecture), odd_architecture>, zp::portable,
                                            decltype(architecture)>;
            INFO(zp::name_of<arch>(), ": ", describe(extents_of(g)));
            std::vector<float> y(sums.size(), -1e9f), scratch(kernel::conv_transpose2d_float_scratch<arch>(g), -1e9f);
            kernel::conv_transpose2d_float<arch>(g, x.data(), weights.data(), bias.empty() ? nullptr : bias.data(),
                                                 -50000.0f, 60000.0f, y.data(), scratch.data());
            bool same = true;
            for (std::size_t j = 0; j != y.size(); ++j)
                same = same && y[j] == std::clamp(static_cast<float>(sums[j]), -50000.0f, 60000.0f);
            CHECK(same);
        });
    }
}

TEST_CASE("conv_transpose2d: extents are PyTorch's") {
    CHECK(kernel::conv_transpose_extent(7, 3, 1, 0, 1, 0) == 9);
    CHECK(kernel::conv_transpose_extent(6, 4, 2, 1, 1, 1) == 13);
    CHECK(kernel::conv_transpose_extent(4, 3, 2, 1, 1, 1) == 8);
    CHECK(kernel::conv_transpose_extent(3, 4, 1, 2, 2, 0) == 5);
}
