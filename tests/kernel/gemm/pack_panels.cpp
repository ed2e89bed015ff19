// SPDX-License-Identifier: BSD-3-Clause
// Packing: its exact inverse, and the choice of a kernel that cannot saturate.
#include "../support/convolution_kernels.hpp"

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
    CHECK(kernel_of<arch>({64, 64, 0, 0}, full) == panel_kernel::byte_quads);      // 255 * 128 = 32640
    CHECK(kernel_of<arch>({64, 65, 0, 0}, full) == panel_kernel::signed_quads);    // 255 * 129 = 32895
    CHECK(kernel_of<arch>({-64, -64, 0, 0}, full) == panel_kernel::byte_quads);    // -32640
    CHECK(kernel_of<arch>({-64, -65, 0, 0}, full) == panel_kernel::signed_quads);  // -32895
    CHECK(kernel_of<arch>({127, -128, 127, -128}, full) == panel_kernel::byte_quads);
    CHECK(kernel_of<arch>({0, 100, 100, 0}, full) == panel_kernel::byte_quads);  // 100 and 100 are no pair
    CHECK(kernel_of<arch>({0, 0, 100, 100}, full) == panel_kernel::signed_quads);
    CHECK(kernel_of<arch>({127, 127, -128, -128}, reduced) ==
          panel_kernel::byte_quads);  // 7-bit activations: any weights
    CHECK(kernel_of<arch>({-128, -128, 0, 0}, {0, 0, 128}) == panel_kernel::byte_quads);    // -32768
    CHECK(kernel_of<arch>({-128, -128, 0, 0}, {0, 0, 129}) == panel_kernel::signed_quads);  // -33024
    CHECK(kernel_of<arch>({64, 65, 0, 0}, shifted) == panel_kernel::signed_quads);
    CHECK(kernel_of<arch>({64, 64, 0, 0}, shifted) == panel_kernel::byte_quads);
    CHECK(kernel_of<arch>({127, 127, 0, 0}, {255, 0, 127}) ==
          panel_kernel::signed_quads);  // padding outside the range counts
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
        CHECK((panels.kernel(0) == panel_kernel::windowed_quads) == (panels.window(0) > 1));
        return static_cast<int>(panels.window(0));
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

TEST_CASE("pack: what could saturate is signed_quads, but widened_pairs where runs end in much padding") {
    using arch = odd_saturating_architecture;
    const activation_codes full{0, 0, 255};
    for (int length : {3, 4, 7, 8, 11, 12, 15, 16, 25, 26, 29, 30, 64, 65})
        CHECK(kernel_of<arch>(std::vector<std::int8_t>(static_cast<std::size_t>(length), 65), full) ==
              panel_kernel::signed_quads);
    for (int length : {2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22})
        CHECK(kernel_of<arch>(std::vector<std::int8_t>(static_cast<std::size_t>(length), 65), full) ==
              panel_kernel::widened_pairs);
    CHECK(kernel_of<odd_architecture>(std::vector<std::int8_t>(64, 65), full) == panel_kernel::byte_quads);
}

TEST_CASE("pack: quads of seven bits are for codes that have no more, after the lowest is made 0") {
    using arch = odd_seven_bit_architecture;
    const std::vector<std::int8_t> weights(64, -128);
    CHECK(kernel_of<arch>(weights, {0, 0, 127}) == panel_kernel::byte_quads);
    CHECK(kernel_of<arch>(weights, {0, 0, 128}) == panel_kernel::widened_pairs);
    CHECK(kernel_of<arch>(weights, {128, 0, 127}) == panel_kernel::widened_pairs);
    CHECK(kernel_of<arch>(weights, {0, -64, 63}) == panel_kernel::byte_quads);
    CHECK(kernel_of<arch>(weights, {0, -64, 64}) == panel_kernel::widened_pairs);
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
    CHECK(layout.panel_bytes == zp::align_up(5 * 36));
    CHECK(layout.bytes == 64 + 64 + 2 * layout.panel_bytes);
    CHECK(layout.group_panels == 2);
    CHECK(panel_layout<arch>(g, true).panel_bytes == zp::align_up(5 * 36 * 2));
}
