// SPDX-License-Identifier: BSD-3-Clause
// 3-D convolutions against the definition, over random geometries and operands: all sums and codes are equal.
#include <zeropoint/kernel/convolution/conv3d.hpp>
#include <zeropoint/kernel/reference/conv3d.hpp>

#include "../support/convolution_problem.hpp"

using namespace zp_test;

namespace {

namespace kernel = zp::kernel;
using kernel::conv3d_geometry;

int output_extent(int in, int kernel, int stride, int padding, int dilation) {
    const int reach = in + padding - (kernel - 1) * dilation - 1;
    return reach < 0 ? 0 : reach / stride + 1;
}

conv3d_geometry random_geometry(random_engine& random) {
    for (;;) {
        conv3d_geometry g;
        conv2d_geometry& p = g.plane;
        g.kernel_depth = uniform(random, 1, 4), p.kernel_height = uniform(random, 1, 3),
        p.kernel_width = uniform(random, 1, 3);
        g.stride_depth = uniform(random, 1, 2), p.stride_height = uniform(random, 1, 2),
        p.stride_width = uniform(random, 1, 2);
        if (uniform(random, 0, 2) == 0) g.dilation_depth = uniform(random, 1, 3), p.dilation_width = 2;
        g.padding_front = uniform(random, 0, 3), p.padding_top = uniform(random, 0, 2);
        p.groups = uniform(random, 0, 2) == 0 ? uniform(random, 2, 6) : 1;
        const int group_in = uniform(random, 0, 2) == 0 ? 1 : uniform(random, 1, 12);
        p.in = {uniform(random, 1, 6), uniform(random, 1, 6), p.groups * group_in};
        g.in_depth = uniform(random, 1, 6);
        p.out = {output_extent(p.in.height, p.kernel_height, p.stride_height, 2 * p.padding_top, p.dilation_height),
                 output_extent(p.in.width, p.kernel_width, p.stride_width, 2 * p.padding_left, p.dilation_width),
                 p.groups * uniform(random, 1, 20)};
        g.out_depth = output_extent(g.in_depth, g.kernel_depth, g.stride_depth, 2 * g.padding_front, g.dilation_depth);
        if (p.out.height > 0 && p.out.width > 0 && g.out_depth > 0) return g;
    }
}

// What `problem` has to know: how many inputs, outputs and weights there are.
conv2d_geometry extents_of(const conv3d_geometry& g) {
    conv2d_geometry extents = g.plane;
    extents.in.height *= g.in_depth;
    extents.out.height *= g.out_depth;
    extents.kernel_height *= g.kernel_depth;
    return extents;
}

template <class Kernels, class In, class Weight>
bool is_exact(Kernels kernels, const conv3d_geometry& g, const problem<In, Weight>& p,
              const std::vector<std::int32_t>& expected) {
    zp::aligned_buffer packed(kernels.packed_bytes(g, p.view().affine()));
    zp::aligned_buffer scratch(kernels.scratch_bytes(g));
    std::memset(scratch.data(), 0xa5, scratch.size());
    std::vector<std::int32_t> y(expected.size(), 77);
    kernels.pack(g, p.view(), p.codes, packed.data());
    kernels.run(g, p.x.data(), p.codes, packed.data(), kernel::accumulators{}, y.data(), scratch.data());
    std::vector<Weight> weights(p.weights.size());
    std::vector<std::int32_t> bias(static_cast<std::size_t>(g.plane.out.channels));
    kernels.unpack(g, p.view().zero_points, p.codes, packed.data(), weights.data(), bias.data());
    return y == expected && weights == p.weights;
}

template <class In, class Weight> void check_random(int count, unsigned seed) {
    random_engine random(seed);
    for (int i = 0; i != zp_test::fewer(count); ++i) {
        const conv3d_geometry g = random_geometry(random);
        const problem<In, Weight> p(random, extents_of(g), pick_codes<In>(random), pick_operands(random),
                                    pick_operands(random), uniform(random, 0, 3) == 0);
        std::vector<std::int32_t> expected(static_cast<std::size_t>(g.out_size()));
        kernel::reference::conv3d(g, p.x.data(), p.codes.zero_point, p.weights.data(), p.view().zero_points,
                                  p.view().bias, kernel::accumulators{}, expected.data());
        for_each_vector_width([&](auto architecture) {
            using arch = decltype(architecture);
            INFO(kernel::operations<arch>::name, ": ", describe(extents_of(g)), ", depth ", g.kernel_depth);
            const auto check = [&](auto kernels) { CHECK(is_exact(kernels, g, p, expected)); };
            check(kernel::conv3d_kernels<arch, conv2d_algorithm::implicit_gemm>());
            if constexpr (std::is_same_v<arch, zp::default_architecture> && std::is_same_v<In, std::uint8_t>)
                kernel::with_conv3d_kernels<arch>(g, conv2d_algorithm::automatic, check);
        });
    }
}

}  // namespace

TEST_CASE("conv3d: random problems, uint8 activations") { check_random<std::uint8_t, std::int8_t>(500, 61); }
#if !ZEROPOINT_TEST_ONE_ARCHITECTURE  // of other storage types conv2d's own tests tell
TEST_CASE("conv3d: random problems, int8 activations") { check_random<std::int8_t, std::int8_t>(500, 62); }
#endif

TEST_CASE("conv3d_float: exact where the sums are") {
    random_engine random(63);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const conv3d_geometry g = random_geometry(random);
        const problem<std::int8_t, std::int8_t> p(random, extents_of(g), {0, -20, 20}, operands::random,
                                                  operands::random, false);
        std::vector<float> expected(static_cast<std::size_t>(g.out_size())), y(expected.size(), -1e9f);
        kernel::reference::conv3d(
            g, p.x.data(), 0, p.weights.data(), nullptr, p.view().bias,
            [](std::int32_t sum, int) { return std::clamp(static_cast<float>(sum), -50000.0f, 60000.0f); },
            expected.data());
        const std::vector<float> x(p.x.begin(), p.x.end()), weights(p.weights.begin(), p.weights.end()),
            bias(p.bias.begin(), p.bias.end());
        using arch = zp::default_architecture;
        std::vector<float> scratch(kernel::conv3d_float_scratch<arch>(g), -1e9f);
        kernel::conv3d_float<arch>(g, x.data(), weights.data(), bias.empty() ? nullptr : bias.data(), -50000.0f,
                                   60000.0f, y.data(), scratch.data());
        CHECK((y == expected));
    }
}
