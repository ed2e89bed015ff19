// Panels of residual quads: few pairs that could saturate, with and without shuffled channels, in all geometries.
#include "convolution_kernels.hpp"

using namespace zp_test;
using zp::kernel::panel_kernel;

namespace {

/// Weights as training leaves them: bell-shaped, `largest` standing for about `deviations` standard deviations.
template <class Problem> void make_bell_shaped(random_engine& random, Problem& p, double deviations) {
    std::normal_distribution<double> normal(0, 127 / deviations);
    for (auto& w : p.weights) {
        const double value = normal(random);
        w = static_cast<std::int8_t>(value > 127 ? 127 : value < -128 ? -128 : static_cast<int>(value));
    }
}

struct counts {
    int residual = 0, shuffled = 0, panels = 0;
};

template <class In> counts check(const problem<In, std::int8_t>& p) {
    counts seen;
    const std::vector<std::int32_t> sums = expected<std::int32_t>(p, zp::kernel::accumulators{});
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        INFO(zp::kernel::operations<arch>::name, " ", zp::kernel::panel_width<arch>, ": ", describe(p.geometry));
        zp::aligned_buffer packed(zp::kernel::panel_layout<arch>(p.geometry, false).bytes);
        zp::aligned_buffer scratch(zp::kernel::implicit_gemm_plan<arch>(p.geometry).scratch_bytes);
        std::memset(scratch.data(), 0xa5, scratch.size());
        zp::kernel::pack_panels<arch>(p.geometry, p.view(), p.codes, packed.data());
        std::vector<std::int32_t> y(sums.size(), 77);
        zp::kernel::implicit_gemm<arch>(p.geometry, p.x.data(), p.codes, packed.data(), zp::kernel::accumulators{},
                                        y.data(), scratch.data());
        CHECK((y == sums));
        const zp::kernel::packed_panels<arch> panels(p.geometry, packed.data());
        for (int panel = 0; panel != panels.layout.panels; ++panel) {
            ++seen.panels;
            seen.residual += panels.kernel(panel) == panel_kernel::residual_quads;
            seen.shuffled += panels.details(panel).shuffled;
        }
        std::vector<std::int8_t> weights(p.weights.size());
        std::vector<std::int32_t> bias(static_cast<std::size_t>(p.geometry.out.channels), 123);
        zp::kernel::unpack_panels<arch>(p.geometry, nullptr, p.codes, packed.data(), weights.data(), bias.data());
        CHECK((weights == p.weights));
        CHECK((bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias)));
    });
    return seen;
}

}  // namespace

TEST_CASE("residual_quads: matrices of bell-shaped weights, of every depth of a block") {
    random_engine random(41);
    counts seen;
    for (int depth : {16, 32, 36, 64, 68, 76, 128, 384, 400, 1024}) {
        for (int rows : {1, 7, 64}) {
            if (depth >= 384 && rows == 64) continue;
            problem<std::uint8_t, std::int8_t> p(random, {.in = {rows, 1, depth}, .out = {rows, 1, 40}}, {113, 0, 255},
                                                 operands::random, operands::random, false);
            make_bell_shaped(random, p, 3.3);
            const counts now = check(p);
            seen.residual += now.residual, seen.shuffled += now.shuffled, seen.panels += now.panels;
            for (auto& x : p.x) x = 255;
            check(p);
        }
    }
    CHECK(seen.residual > seen.panels / 16);  // architectures without saturating pairs have none
    CHECK(seen.shuffled > seen.panels / 64);
    CHECK(seen.residual > seen.shuffled);
}

TEST_CASE("residual_quads: convolutions") {
    random_engine random(42);
    const conv2d_geometry geometries[] = {
        {.in = {9, 8, 32},
         .out = {9, 8, 20},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {13, 13, 24},
         .out = {6, 6, 40},
         .kernel_height = 3,
         .kernel_width = 3,
         .stride_height = 2,
         .stride_width = 2},
        {.in = {33, 33, 48}, .out = {17, 17, 33}, .stride_height = 2, .stride_width = 2},
        {.in = {5, 7, 1024}, .out = {3, 4, 24}, .stride_height = 2, .stride_width = 2},
        {.in = {3, 3, 1024}, .out = {2, 2, 16}, .kernel_height = 2, .kernel_width = 2},
        {.in = {12, 11, 20},
         .out = {8, 7, 40},
         .kernel_height = 3,
         .kernel_width = 3,
         .dilation_height = 2,
         .dilation_width = 2},
        {.in = {8, 8, 6}, .out = {4, 4, 17}, .kernel_height = 5, .kernel_width = 5},
        {.in = {6, 6, 60},
         .out = {6, 6, 60},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1,
         .groups = 3},
    };
    int residual = 0, shuffled = 0;
    for (const conv2d_geometry& g : geometries) {
        for (double deviations : {3.5, 5.0, 6.5}) {
            problem<std::uint8_t, std::int8_t> p(random, g, {200, 0, 255}, operands::random, operands::random, false);
            make_bell_shaped(random, p, deviations);
            const counts now = check(p);
            residual += now.residual, shuffled += now.shuffled;
            problem<std::int8_t, std::int8_t> q(random, g, {-128, -128, 127}, operands::random, operands::random,
                                                false);
            make_bell_shaped(random, q, deviations);
            check(q);
        }
    }
    CHECK(residual > 30);
    CHECK(shuffled > 15);
}

TEST_CASE("residual_quads: panels of every kind side by side") {
    random_engine random(43);
    for (int i = 0; i != 20; ++i) {
        const conv2d_geometry g{.in = {9, 8, 64}, .out = {9, 8, 80}};
        problem<std::uint8_t, std::int8_t> p(random, g, {17, 0, 255}, operands::random, operands::random, false);
        const std::size_t filter = static_cast<std::size_t>(g.depth());
        for (std::size_t c = 0; c != 80; ++c) {
            const int kind = static_cast<int>(c / 6 * 7 + static_cast<std::size_t>(i)) % 5;
            for (std::size_t k = 0; k != filter; ++k) {
                std::int8_t& w = p.weights[c * filter + k];
                if (kind == 0) w = static_cast<std::int8_t>(w / 20);
                if (kind == 1) w = static_cast<std::int8_t>(w / 2);
                if (kind == 2 || kind == 3) w = static_cast<std::int8_t>(w / (random() % 16 == 0 ? 1 : 3));
            }
        }
        check(p);
    }
}
