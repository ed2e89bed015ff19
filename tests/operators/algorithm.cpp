// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a layer takes under each goal, and that the choice is the best of what can compute it.
#include <doctest/doctest.h>

#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/input.hpp>

#include "../support/made_up.hpp"

namespace {

using arch = zp::default_architecture;
using zp::conv2d_algorithm;

/// An input and a convolution over it: as many outputs as strides fit, whatever the kernel.
struct layer {
    zp::node nodes[2];

    constexpr layer(zp::shape in, int channels, int kernel, int stride = 1, int groups = 1) {
        zp::builder b(nodes, 2);
        b.conv2d(
            b.input(in), "",
            {.out_channels = channels, .kernel = kernel, .stride = stride, .padding = kernel / 2, .groups = groups});
        nodes[1].out.extents = {(in.height - 1) / stride + 1, (in.width - 1) / stride + 1, channels};
    }
    constexpr zp::node_view view() const { return {nodes, nodes[1]}; }
    constexpr zp::kernel::conv2d_geometry window() const { return nodes[1].op->geometry(view()); }
};
template <class Arch = arch> constexpr conv2d_algorithm chosen(layer of, zp::algorithm_policy policy = zp::balanced) {
    of.nodes[1].by.policy = policy;
    return zp::operators::choose_algorithm<Arch>(of.view());
}

}  // namespace

TEST_CASE("algorithm: every goal takes the best of what can compute the layer") {
    made_up::generator next(3);
    for (int round = 0; round != 300; ++round) {
        const int groups = next.integer(0, 2) != 0 ? 1 : next.integer(2, 8);
        const int in = groups * next.integer(1, 40), out = groups * next.integer(1, 40);
        const zp::shape image{next.integer(1, 30), next.integer(1, 30), in};
        const int kernel = next.integer(0, 1) != 0 ? 3 : next.integer(1, 5), stride = next.integer(1, 2);
        const bool depthwise = next.integer(0, 3) == 0;
        layer row(image, depthwise ? in : out, kernel, stride, depthwise ? in : groups);
        row.nodes[1].weights.affine = next.integer(0, 3) == 0;
        for (const conv2d_algorithm algorithm : zp::kernel::conv2d_algorithms) {
            if (!zp::kernel::supports(row.window(), algorithm)) {
                CHECK(chosen(row, algorithm) == conv2d_algorithm::automatic);
                continue;
            }
            CHECK(chosen(row, algorithm) == algorithm);
            const zp::kernel::conv2d_cost cost = zp::operators::cost_of<arch>(row.view(), algorithm);
            CHECK(cost.packed_bytes ==
                  zp::kernel::conv2d_packed_bytes<arch>(row.window(), algorithm, row.nodes[1].weights.affine));
            for (const zp::algorithm_policy policy : {zp::fastest, zp::balanced, zp::smallest}) {
                const auto weight = [&](conv2d_algorithm one) {
                    const zp::kernel::conv2d_cost c = zp::operators::cost_of<arch>(row.view(), one);
                    const std::size_t scratch = zp::kernel::conv2d_scratch_bytes<arch>(row.window(), one);
                    const double price = zp::operators::nanoseconds_per_packed_byte(policy.goal);
                    return c.nanoseconds + price * static_cast<double>(c.packed_bytes) +
                           price * static_cast<double>(scratch);
                };
                if (zp::kernel::prefers_direct<arch>(row.window())) {
                    CHECK(chosen(row, policy) == conv2d_algorithm::direct);
                    continue;
                }
                CHECK(chosen(row, policy) != conv2d_algorithm::direct);
                if (algorithm != conv2d_algorithm::direct)
                    CHECK(weight(chosen(row, policy)) <= weight(algorithm) * (1 + 1e-12));
            }
        }
    }
    static_assert(zp::operators::nanoseconds_per_packed_byte(zp::algorithm_goal::fastest) == 0);
    static_assert(zp::operators::nanoseconds_per_packed_byte(zp::algorithm_goal::balanced) <
                  zp::operators::nanoseconds_per_packed_byte(zp::algorithm_goal::smallest));
}

TEST_CASE("algorithm: the layers of well-known networks") {
    constexpr auto gemm = conv2d_algorithm::implicit_gemm;
    for (const zp::algorithm_policy policy : {zp::balanced, zp::fastest, zp::smallest}) {
        CHECK(chosen(layer({1, 1, 512}, 1000, 1), policy) == gemm);
        CHECK(chosen(layer({56, 56, 64}, 256, 1), policy) == gemm);
        CHECK(chosen(layer({224, 224, 3}, 64, 7, 2), policy) == gemm);
        CHECK(chosen(layer({56, 56, 144}, 144, 3, 1, 144), policy) ==
              (zp::has_vectors<arch> ? conv2d_algorithm::depthwise : conv2d_algorithm::direct));
    }
    // 3x3 of stride 1: a quarter of the products, which are of words, for a large scratch.
    const auto fewest = zp::has_vectors<arch> ? conv2d_algorithm::winograd_4x4 : gemm;
    CHECK(chosen(layer({56, 56, 64}, 64, 3), zp::fastest) == fewest);
    CHECK(chosen(layer({56, 56, 64}, 64, 3), zp::balanced) == fewest);
    CHECK(chosen(layer({56, 56, 64}, 64, 3), zp::smallest) == gemm);
    // One input channel: cells of its own for each output channel would mostly be empty.
    CHECK(chosen(layer({28, 28, 1}, 6, 5), zp::balanced) == gemm);
    CHECK(chosen(layer({8, 8, 1}, 8, 3), zp::balanced) == gemm);
    // A small layer's arena would be six times as large for half a microsecond.
    CHECK(chosen(layer({8, 8, 16}, 16, 3), zp::balanced) == gemm);
    // Few outputs and many weights: a byte costs balanced something, and smallest much.
    constexpr layer deep({7, 7, 512}, 512, 3);
    const auto bytes = [&](zp::algorithm_policy policy) {
        const conv2d_algorithm algorithm = chosen(deep, policy);
        return zp::operators::cost_of<arch>(deep.view(), algorithm).packed_bytes +
               zp::kernel::conv2d_scratch_bytes<arch>(deep.window(), algorithm);
    };
    CHECK(bytes(zp::balanced) <= bytes(zp::fastest));
    CHECK(bytes(zp::smallest) <= bytes(zp::balanced));
    CHECK(chosen(deep, zp::smallest) == gemm);
}

#if XSIMD_WITH_AVX2
TEST_CASE("algorithm: on AVX2, what saves more time than its bytes take to read") {
    CHECK(chosen<xsimd::fma3<xsimd::avx2>>(layer({14, 14, 256}, 256, 3)) == conv2d_algorithm::winograd_4x4);
    CHECK(chosen<xsimd::fma3<xsimd::avx2>>(layer({7, 7, 512}, 512, 3)) == conv2d_algorithm::winograd_4x4);
}
#endif

TEST_CASE("algorithm: a policy is a goal, or an algorithm by name") {
    static_assert(zp::algorithm_policy{} == zp::balanced && zp::balanced != zp::fastest);
    static_assert(zp::algorithm_policy(conv2d_algorithm::direct).goal == zp::algorithm_goal::named);
    static_assert(zp::algorithm_policy(conv2d_algorithm::automatic).goal == zp::algorithm_goal::balanced);
    static_assert(chosen(layer({4, 4, 4}, 4, 3), conv2d_algorithm::direct) == conv2d_algorithm::direct);
}
