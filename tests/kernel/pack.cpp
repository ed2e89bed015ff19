// Packing: its exact inverse, and the choice of a kernel that cannot saturate.
#include "convolution_kernels.hpp"

using namespace zp_test;
using namespace zp::kernel;

namespace {

template <class In, class Weight> void check_inverse(random_engine& random, const conv2d_geometry& g, bool affine) {
    const problem<In, Weight> p(random, g, pick_codes<In>(random), operands::random, pick_operands(random), affine);
    for (const auto algorithm :
         {conv2d_algorithm::implicit_gemm, conv2d_algorithm::depthwise, conv2d_algorithm::direct}) {
        if (!supports(g, algorithm)) continue;
        for_each_architecture([&](auto architecture) {
            using arch = decltype(architecture);
            INFO(operations<arch>::name, " ", name_of(algorithm), ": ", describe(g));
            const auto view = p.view();
            zp::aligned_buffer packed(conv2d_packed_bytes<arch>(g, algorithm, view.affine()));
            std::memset(packed.data(), 0x3c, packed.size());
            pack_conv2d<arch>(g, algorithm, view, p.codes, packed.data());
            std::vector<Weight> weights(p.weights.size());
            std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels), 123);
            unpack_conv2d<arch>(g, algorithm, view.zero_points, p.codes, packed.data(), weights.data(), bias.data());
            CHECK((weights == p.weights));
            CHECK((bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias)));
        });
    }
}

template <class Arch> panel_kernel kernel_of(std::vector<std::int8_t> weights, activation_codes codes) {
    const conv2d_geometry g{.in = {1, 1, static_cast<int>(weights.size())}, .out = {1, 1, 1}};
    zp::aligned_buffer packed(conv2d_packed_bytes<Arch>(g, conv2d_algorithm::implicit_gemm, false));
    pack_conv2d<Arch>(g, conv2d_algorithm::implicit_gemm, conv2d_weights<std::int8_t>{weights.data(), nullptr, nullptr},
                      codes, packed.data());
    return packed_panels<Arch>(g, packed.data()).kernel(0);
}

}  // namespace

TEST_CASE("pack: unpacking gives back weights and bias") {
    random_engine random(21);
    for (int i = 0; i != 150; ++i) {
        conv2d_geometry g;
        g.kernel_height = uniform(random, 1, 4), g.kernel_width = uniform(random, 1, 4);
        g.dilation_width = uniform(random, 1, 2);
        g.groups = uniform(random, 0, 1) == 0 ? 1 : uniform(random, 1, 20);
        const bool depthwise = uniform(random, 0, 2) == 0;
        g.in = {5, 5, g.groups * (depthwise ? 1 : uniform(random, 1, 9))};
        g.out = {5, 5, g.groups * (depthwise ? 1 : uniform(random, 1, 35))};
        check_inverse<std::uint8_t, std::int8_t>(random, g, i % 4 == 0);
        check_inverse<std::int8_t, std::int8_t>(random, g, false);
        check_inverse<std::int8_t, std::uint8_t>(random, g, i % 2 == 0);
    }
}

TEST_CASE("pack: a panel is byte_quads exactly where no pair can leave int16") {
    using arch = odd_saturating_architecture;
    const activation_codes full{0, 0, 255}, reduced{0, 0, 127}, shifted{0, -128, 127};
    CHECK(kernel_of<arch>({64, 64, 0, 0}, full) == panel_kernel::byte_quads);       // 255 * 128 = 32640
    CHECK(kernel_of<arch>({64, 65, 0, 0}, full) == panel_kernel::widened_pairs);    // 255 * 129 = 32895
    CHECK(kernel_of<arch>({-64, -64, 0, 0}, full) == panel_kernel::byte_quads);     // -32640
    CHECK(kernel_of<arch>({-64, -65, 0, 0}, full) == panel_kernel::widened_pairs);  // -32895
    CHECK(kernel_of<arch>({127, -128, 127, -128}, full) == panel_kernel::byte_quads);
    CHECK(kernel_of<arch>({0, 100, 100, 0}, full) == panel_kernel::byte_quads);  // 100 and 100 are no pair
    CHECK(kernel_of<arch>({0, 0, 100, 100}, full) == panel_kernel::widened_pairs);
    CHECK(kernel_of<arch>({127, 127, -128, -128}, reduced) ==
          panel_kernel::byte_quads);  // 7-bit activations: any weights
    CHECK(kernel_of<arch>({-128, -128, 0, 0}, {0, 0, 128}) == panel_kernel::byte_quads);     // -32768
    CHECK(kernel_of<arch>({-128, -128, 0, 0}, {0, 0, 129}) == panel_kernel::widened_pairs);  // -33024
    CHECK(kernel_of<arch>({64, 65, 0, 0}, shifted) == panel_kernel::widened_pairs);
    CHECK(kernel_of<arch>({64, 64, 0, 0}, shifted) == panel_kernel::byte_quads);
    CHECK(kernel_of<arch>({127, 127, 0, 0}, {255, 0, 127}) ==
          panel_kernel::widened_pairs);  // padding outside the range counts
    CHECK(kernel_of<zp::portable>({127, 127, 127, 127}, full) ==
          panel_kernel::byte_quads);  // plain C++ never saturates
}

TEST_CASE("pack: a panel is windowed where several quads fit int16 together") {
    using arch = odd_saturating_architecture;
    const auto window_of = [](std::vector<std::int8_t> weights, activation_codes codes) {
        const conv2d_geometry g{.in = {1, 1, static_cast<int>(weights.size())}, .out = {1, 1, 1}};
        zp::aligned_buffer packed(conv2d_packed_bytes<arch>(g, conv2d_algorithm::implicit_gemm, false));
        pack_conv2d<arch>(g, conv2d_algorithm::implicit_gemm,
                          conv2d_weights<std::int8_t>{weights.data(), nullptr, nullptr}, codes, packed.data());
        const packed_panels<arch> panels(g, packed.data());
        CHECK((panels.kernel(0) == panel_kernel::windowed_quads) == (panels.details(0).window > 1));
        return static_cast<int>(panels.details(0).window);
    };
    const activation_codes full{0, 0, 255}, reduced{0, 0, 127};
    CHECK(window_of(std::vector<std::int8_t>(64, 8), full) == 8);
    CHECK(window_of(std::vector<std::int8_t>(64, 9), full) == 4);
    CHECK(window_of(std::vector<std::int8_t>(64, -8), full) == 8);
    CHECK(window_of(std::vector<std::int8_t>(64, 4), full) == 16);
    CHECK(window_of(std::vector<std::int8_t>(64, 32), full) == 2);
    CHECK(window_of(std::vector<std::int8_t>(64, 33), full) == 1);
    CHECK(window_of(std::vector<std::int8_t>(64, -32), reduced) == 4);
    CHECK(window_of(std::vector<std::int8_t>(64, 127), reduced) == 1);
}

TEST_CASE("pack: few pairs that could saturate are split off, many are not") {
    using arch = odd_saturating_architecture;
    const auto kernel_with = [](int bad_quads) {
        std::vector<std::int8_t> weights(128);
        for (int i = 0; i != bad_quads; ++i)
            weights[static_cast<std::size_t>(4 * i)] = weights[static_cast<std::size_t>(4 * i + 1)] = 127;
        return kernel_of<arch>(weights, {0, 0, 255});
    };
    CHECK(kernel_with(0) == panel_kernel::windowed_quads);
    CHECK(kernel_with(1) == panel_kernel::residual_quads);
    CHECK(kernel_with(3) == panel_kernel::residual_quads);
    CHECK(kernel_with(4) == panel_kernel::nibble_quads);
}

TEST_CASE("pack: what could saturate is nibble_quads for one deep row, else widened_pairs") {
    using arch = odd_saturating_architecture;
    const activation_codes full{0, 0, 255};
    CHECK(kernel_of<arch>(std::vector<std::int8_t>(63, 65), full) == panel_kernel::widened_pairs);
    CHECK(kernel_of<arch>(std::vector<std::int8_t>(64, 65), full) == panel_kernel::nibble_quads);
    CHECK(kernel_of<odd_architecture>(std::vector<std::int8_t>(64, 65), full) == panel_kernel::byte_quads);
    CHECK(splits_activations({.in = {1, 1, 64}, .out = {1, 1, 3}}));
    CHECK_FALSE(splits_activations({.in = {2, 1, 64}, .out = {2, 1, 3}}));
    CHECK_FALSE(splits_activations({.in = {2, 1, 64}, .out = {1, 1, 3}, .kernel_height = 2}));
    CHECK_FALSE(splits_activations({.in = {1, 1, 64}, .out = {1, 1, 4}, .groups = 2}));
}

TEST_CASE("pack: sizes count every channel and the padding of every run") {
    using arch = odd_architecture;  // panels of 5
    const conv2d_geometry g{
        .in = {4, 4, 3}, .out = {4, 4, 7}, .kernel_height = 3, .kernel_width = 3, .padding_top = 1, .padding_left = 1};
    CHECK(runs_of(g).count == 3);
    CHECK(runs_of(g).length == 9);
    CHECK(runs_of(g).padded_length() == 12);
    const panel_layout<arch> layout(g, false);
    CHECK(layout.panels == 2);
    CHECK(layout.residual_capacity == 0);
    CHECK(layout.shuffle_panels == 0);
    CHECK(layout.panel_bytes == zp::align_up(5 * 36));
    CHECK(layout.bytes == 64 + 64 + 2 * layout.panel_bytes);
    const panel_layout<odd_saturating_architecture> saturating(g, false);  // panels of 6
    CHECK(saturating.residual_capacity == 2);                              // of 9 quads
    CHECK(saturating.panel_residuals == 1);
    CHECK(saturating.panel_bytes == zp::align_up(6 * 36));
    CHECK(saturating.bytes == saturating.residuals_begin + zp::align_up(2 * 6 * 4));
    CHECK(layout.group_panels == 2);
    CHECK(panel_layout<arch>(g, true).panel_bytes == zp::align_up(5 * 36 * 2));
}
