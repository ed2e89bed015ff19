// SPDX-License-Identifier: BSD-3-Clause
// Twenty thousand small convolutions, every algorithm forced, in buffers that end at unreadable pages.
#include <algorithm>
#include <array>
#include <cmath>

#include "../support/guarded_memory.hpp"
#include "support/convolution_kernels.hpp"

using namespace zp_test;

namespace {

/// Every algorithm that has a name, `automatic` included: one that is added later is tested without a change here.
std::vector<conv2d_algorithm> every_algorithm() {
    std::vector<conv2d_algorithm> all;
    for (int i = 0; name_of(static_cast<conv2d_algorithm>(i))[0] != '?'; ++i)
        all.push_back(static_cast<conv2d_algorithm>(i));
    return all;
}

/// Weights as networks have them, and those that each kind of panel is made for.
enum class distribution { full_range, gaussian, laplace, bits_6, bits_4, bits_3, one_sign, few_outliers, count };

template <class Weight> void redistribute(random_engine& random, distribution kind, std::vector<Weight>& weights) {
    const int middle = std::numeric_limits<Weight>::is_signed ? 0 : 128;
    for (Weight& w : weights) {
        int value = uniform(random, -128, 127);
        const double u = uniform(random, -10000, 10000) / 10001.0;
        switch (kind) {
            case distribution::gaussian: {
                double sum = 0;
                for (int i = 0; i != 12; ++i) sum += uniform(random, -500, 500) / 1000.0;
                value = static_cast<int>(std::lround(sum * 35));
                break;
            }
            case distribution::laplace:
                value = static_cast<int>(std::lround((u < 0 ? 18 : -18) * std::log(1 - std::fabs(u))));
                break;
            case distribution::bits_6: value = uniform(random, -32, 31); break;
            case distribution::bits_4: value = uniform(random, -8, 7); break;
            case distribution::bits_3: value = uniform(random, -4, 3); break;
            case distribution::one_sign: value = uniform(random, 90, 127); break;
            case distribution::few_outliers:
                value = uniform(random, 0, 40) == 0 ? (u < 0 ? -128 : 127) : uniform(random, -20, 20);
                break;
            default: break;
        }
        w = static_cast<Weight>(std::clamp(value, -128, 127) + middle);
    }
}

struct checked {
    long problems = 0, runs = 0;
};

/// One thread's buffers: input, output, packed weights and scratch, each with its own guards.
class guarded_runner {
public:
    /// Runs every algorithm on the architectures and compares the accumulators; gives how many were run.
    template <class In, class Weight> int check(const problem<In, Weight>& p, guard end) {
        const zp::kernel::accumulators raw;
        const std::vector<std::int32_t> sums = expected<std::int32_t>(p, raw);
        int runs = 0;
        for (const conv2d_algorithm algorithm : algorithms_) {
            if (!zp::kernel::supports(p.geometry, algorithm)) continue;
            INFO(name_of(algorithm), ": ", describe(p.geometry));
            CHECK(equal<zp::default_architecture>(p, algorithm, sums, end));
            ++runs;
#if !ZEROPOINT_TEST_ONE_ARCHITECTURE
            if (runs % 2 == 0) CHECK(equal<odd_saturating_architecture>(p, algorithm, sums, end));
#endif
        }
        return runs;
    }

private:
    template <class Arch, class In, class Weight>
    bool equal(const problem<In, Weight>& p, conv2d_algorithm algorithm, const std::vector<std::int32_t>& sums,
               guard end) {
        using namespace zp::kernel;
        const conv2d_geometry& g = p.geometry;
        const std::size_t y_bytes = sums.size() * sizeof(std::int32_t),
                          packed_bytes = conv2d_packed_bytes<Arch>(g, algorithm, p.view().affine()),
                          scratch_bytes = conv2d_scratch_bytes<Arch>(g, algorithm);
        std::byte *x = x_.place(p.x.size(), end), *y = y_.place(y_bytes, end),
                  *packed = packed_.place(packed_bytes, end), *scratch = scratch_.place(scratch_bytes, end);
        REQUIRE((x != nullptr && y != nullptr && packed != nullptr && scratch != nullptr));
        std::copy(p.x.begin(), p.x.end(), reinterpret_cast<In*>(x));
        std::memset(y, 0x5a, y_bytes);
        std::memset(packed, 0xc3, packed_bytes);
        std::memset(scratch, 0xa5, scratch_bytes);
        pack_conv2d<Arch>(g, algorithm, p.view(), p.codes, packed);
        conv2d<Arch>(g, algorithm, reinterpret_cast<const In*>(x), p.codes, packed, accumulators{},
                     reinterpret_cast<std::int32_t*>(y), scratch);
        std::vector<Weight> weights(p.weights.size());
        std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels));
        unpack_conv2d<Arch>(g, algorithm, p.view().zero_points, p.codes, packed, weights.data(), bias.data());
        return std::memcmp(y, sums.data(), y_bytes) == 0 && weights == p.weights;
    }

    std::vector<conv2d_algorithm> algorithms_ = every_algorithm();
    guarded_memory x_{1 << 17}, y_{1 << 19}, packed_{1 << 21}, scratch_{1 << 22};
};

template <class In, class Weight> problem<In, Weight> next_problem(random_engine& random, const conv2d_geometry& g) {
    const bool affine = uniform(random, 0, 5) == 0;
    problem<In, Weight> p(random, g, pick_codes<In>(random), pick_operands(random), pick_operands(random), affine);
    const auto kind = static_cast<distribution>(uniform(random, 0, 2 * static_cast<int>(distribution::count)));
    if (kind < distribution::count) redistribute(random, kind, p.weights);
    return p;
}

int extent(int in, int padding, int window, int stride) {
    return in + padding < window ? 0 : (in + padding - window) / stride + 1;
}

/// Small geometries of every kind: 3x3 of stride 1 and depthwise ones are as frequent as they are in networks.
conv2d_geometry small_geometry(random_engine& random) {
    for (;;) {
        conv2d_geometry g;
        const int kind = uniform(random, 0, 5);
        g.kernel_height = kind <= 2 ? 3 : uniform(random, 1, 5), g.kernel_width = kind <= 2 ? 3 : uniform(random, 1, 7);
        g.stride_height = kind <= 1 ? 1 : uniform(random, 1, 3), g.stride_width = kind <= 1 ? 1 : uniform(random, 1, 3);
        if (kind == 5) g.dilation_height = uniform(random, 1, 3), g.dilation_width = uniform(random, 1, 3);
        g.padding_top = uniform(random, 0, 2), g.padding_left = uniform(random, 0, 2);
        const int bottom = uniform(random, 0, 2), right = uniform(random, 0, 2);
        int group_in = uniform(random, 1, 12), group_out = uniform(random, 1, 20);
        if (kind == 2 || kind == 3) g.groups = uniform(random, 1, 40), group_in = 1, group_out = 1;
        if (kind == 4) g.groups = uniform(random, 1, 5), group_in = uniform(random, 1, 6);
        if (kind == 2 && uniform(random, 0, 3) == 0) group_out = uniform(random, 1, 3);
        g.in = {uniform(random, 1, 9), uniform(random, 1, 9), g.groups * group_in};
        g.out = {extent(g.in.height, g.padding_top + bottom, g.window_height(), g.stride_height),
                 extent(g.in.width, g.padding_left + right, g.window_width(), g.stride_width), g.groups * group_out};
        if (g.out.height > 0 && g.out.width > 0) return g;
    }
}

template <class In, class Weight> checked check_small(int count, unsigned seed) {
    random_engine random(seed);
    guarded_runner runner;
    checked total;
    for (int i = 0; i != zp_test::fewer(count); ++i, ++total.problems) {
        const auto p = next_problem<In, Weight>(random, small_geometry(random));
        total.runs += runner.check(p, i % 2 == 0 ? guard::behind : guard::before);
    }
    return total;
}

}  // namespace

TEST_CASE("exact buffers: small convolutions, uint8 activations") {
    const checked total = check_small<std::uint8_t, std::int8_t>(5000, 101);
    MESSAGE(total.problems, " problems, ", total.runs, " runs");
    CHECK(total.runs > 2 * total.problems);  // automatic and at least one named algorithm each
}
TEST_CASE("exact buffers: small convolutions, int8 activations") { check_small<std::int8_t, std::int8_t>(3000, 102); }
TEST_CASE("exact buffers: small convolutions, uint8 weights") {
    check_small<std::uint8_t, std::uint8_t>(1000, 103);
    check_small<std::int8_t, std::uint8_t>(1000, 104);
}

// Every depth to twice that of a tile's step, every remainder of rows and of channels.
TEST_CASE("exact buffers: matrix products of every remainder") {
    random_engine random(105);
    guarded_runner runner;
    int problems = 0;
    for (int k = 1; k <= 65; k += k < 34 ? 1 : 7) {
        for (int m = 1; m <= 13; ++m) {
            for (int n = 1; n <= 35; n += n < 17 ? 1 : 3, ++problems) {
                if (problems % zp_test::fewer_problems != 0) continue;
                const conv2d_geometry g{.in = {m, 1, k}, .out = {m, 1, n}};
                const guard end = problems % 2 == 0 ? guard::behind : guard::before;
                if (problems % 3 == 0) runner.check(next_problem<std::int8_t, std::int8_t>(random, g), end);
                else runner.check(next_problem<std::uint8_t, std::int8_t>(random, g), end);
            }
        }
    }
    CHECK(problems > 10000);
}
