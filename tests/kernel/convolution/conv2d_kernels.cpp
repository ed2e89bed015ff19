// SPDX-License-Identifier: BSD-3-Clause
// The kernels of one algorithm, named as a template argument: packing, running and unpacking, without the others.
#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/kernel/convolution/conv2d_kernels.hpp>

#include "../support/convolution_kernels.hpp"

namespace {

using arch = zp::default_architecture;
using zp::kernel::conv2d_algorithm;
using zp::kernel::conv2d_geometry;

/// Calls check(std::integral_constant<conv2d_algorithm, A>) for every algorithm.
template <class Check> void for_each_algorithm(Check check) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (check(std::integral_constant<conv2d_algorithm, zp::kernel::conv2d_algorithms[I]>{}), ...);
    }
    (std::make_index_sequence<std::size(zp::kernel::conv2d_algorithms)>{});
}

constexpr conv2d_geometry square(int size, int in, int out, int kernel, int groups) {
    conv2d_geometry g;
    g.in = {size, size, in};
    g.out = {size, size, out};
    g.kernel_height = g.kernel_width = kernel;
    g.padding_top = g.padding_left = kernel / 2;
    g.groups = groups;
    return g;
}

}  // namespace

TEST_CASE("conv2d_kernels: every algorithm is listed once, and none else") {
    int seen[8] = {};
    for_each_algorithm([&](auto algorithm) { ++seen[static_cast<int>(conv2d_algorithm{algorithm})]; });
    for (int i = 0; i != 8; ++i)
        CHECK(seen[i] == (i != static_cast<int>(conv2d_algorithm::automatic) &&
                          zp::kernel::name_of(static_cast<conv2d_algorithm>(i)) != std::string("?")));
}

TEST_CASE("conv2d_kernels: what was packed runs exactly and unpacks to what it was") {
    zp_test::random_engine random(7);
    for (const conv2d_geometry& g : {square(5, 7, 19, 3, 1), square(6, 16, 16, 3, 16), square(4, 8, 12, 3, 4),
                                     square(1, 33, 10, 1, 1), square(7, 20, 20, 5, 20)}) {
        const zp_test::problem<std::uint8_t, std::int8_t> p(random, g, {100, 0, 255}, zp_test::operands::random,
                                                            zp_test::operands::random, false);
        for_each_algorithm([&](auto algorithm) {
            if (!zp::kernel::supports(g, algorithm)) return;
            using kernels = zp::kernel::conv2d_kernels<arch, algorithm>;
            INFO(zp_test::describe(g), " by ", zp::kernel::name_of(algorithm));
            zp::aligned_buffer packed(zp::kernel::conv2d_packed_bytes<arch>(g, algorithm, false));
            zp::aligned_buffer scratch(zp::kernel::conv2d_scratch_bytes<arch>(g, algorithm));
            kernels::pack(g, p.view(), p.codes, packed.data());

            const zp::kernel::accumulators raw;
            std::vector<std::int32_t> y(static_cast<std::size_t>(g.out.size()));
            kernels::run(g, p.x.data(), p.codes, packed.data(), raw, y.data(), scratch.data());
            CHECK(y == zp_test::expected<std::int32_t>(p, raw));

            std::vector<std::int8_t> weights(p.weights.size());
            std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels));
            kernels::unpack(g, nullptr, p.codes, packed.data(), weights.data(), bias.data());
            CHECK(weights == p.weights);
            CHECK(bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias));
        });
    }
}
