// SPDX-License-Identifier: BSD-3-Clause
// Depthwise 3x3 by quads of rows: every remainder of channels and outputs, borders, ranges of panels, exact buffers.
#include "../../support/guarded_memory.hpp"
#include "../support/convolution_kernels.hpp"

#include <zeropoint/kernel/depthwise/depthwise.hpp>

using namespace zp_test;
namespace kernel = zp::kernel;

namespace {

using arch = zp::default_architecture;

conv2d_geometry depthwise(int height, int width, int channels, int stride, int padding_top = 1, int padding_left = 1) {
    return {.in = {height, width, channels},
            .out = {(height - 1) / stride + 1, (width - 1) / stride + 1, channels},
            .kernel_height = 3,
            .kernel_width = 3,
            .stride_height = stride,
            .stride_width = stride,
            .padding_top = padding_top,
            .padding_left = padding_left,
            .groups = channels};
}

/// Multipliers of all sizes that keep sums near codes, from both signs of zero on.
std::vector<float> multipliers_of(random_engine& random, int channels) {
    std::vector<float> multipliers;
    for (int c = 0; c != channels; ++c)
        multipliers.push_back(static_cast<float>(uniform(random, 1, 4000)) * (c % 7 == 0 ? 1e-5f : 1e-6f));
    return multipliers;
}

struct run_of {
    bool takes_quads, equal;
};
/// Input, output, weights and scratch end, or begin, at unreadable pages; scratch and output hold rubbish before.
template <class Code>
run_of run_guarded(random_engine& random, const conv2d_geometry& g, guard end,
                   operands weight_kind = operands::random) {
    static const guarded_memory x_memory(1 << 19), y_memory(1 << 19), packed_memory(1 << 19), scratch_memory(1 << 21);
    const problem<Code, std::int8_t> p(random, g, pick_codes<Code>(random), operands::random, weight_kind, false);
    const std::vector<float> multipliers = multipliers_of(random, g.out.channels);
    const int lowest = std::numeric_limits<Code>::min(), highest = std::numeric_limits<Code>::max();
    const kernel::nearest_even epilogue{multipliers.data(), {uniform(random, lowest, highest), lowest, highest}};

    const auto bytes = static_cast<std::size_t>(g.out.size());
    auto* x = reinterpret_cast<Code*>(x_memory.place(p.x.size(), end));
    auto* y = reinterpret_cast<Code*>(y_memory.place(bytes, end));
    std::byte* packed = packed_memory.place(kernel::depthwise_layout<arch>(g).bytes, end);
    const std::size_t scratch_bytes = kernel::depthwise_plan<arch>(g).scratch_bytes;
    std::byte* scratch = scratch_memory.place(scratch_bytes, end);
    REQUIRE((x != nullptr && y != nullptr && packed != nullptr && scratch != nullptr));
    std::copy(p.x.begin(), p.x.end(), x);
    std::memset(y, 0x5a, bytes);
    std::memset(scratch, 0xa5, scratch_bytes);
    kernel::pack_depthwise<arch>(g, p.view(), p.codes, packed);
    kernel::depthwise_conv2d<arch>(g, x, p.codes, packed, epilogue, y, scratch);
    const kernel::packed_depthwise<arch> panels(g, packed);
    bool takes_quads = false;
    if constexpr (kernel::has_column_quads<arch>)
        takes_quads = kernel::takes_column_quads<arch>(g, panels, panels.layout.panels, epilogue);
    return {takes_quads, std::memcmp(y, expected<Code>(p, epilogue).data(), bytes) == 0};
}

/// Checks both types of codes; where the machine has them, quads of rows are what computed them if `quads`.
void check(random_engine& random, const conv2d_geometry& g, bool quads = true) {
    for (const guard end : {guard::before, guard::behind}) {
        INFO(describe(g));
        for (const run_of done :
             {run_guarded<std::uint8_t>(random, g, end), run_guarded<std::int8_t>(random, g, end)}) {
            CHECK(done.equal);
            CHECK(done.takes_quads == (quads && kernel::has_column_quads<arch>));
        }
    }
}

}  // namespace

TEST_CASE("column_quads: every number of channels") {
    random_engine random(51);
    for (int channels = 1; channels <= 140; ++channels)
        for (const int stride : {1, 2})
            check(random, depthwise(4, 5, channels, stride), channels >= 16 && channels % 4 == 0);
    // More blocks than have their operands in scratch at once.
    for (const int channels : {512, 576, 592}) check(random, depthwise(3, 3, channels, 1));
}

TEST_CASE("column_quads: every width and height, in one part and in several") {
    random_engine random(52);
    for (const int channels : {16, 32, 48, 64, 80})
        for (const int stride : {1, 2})
            for (int extent = 1; extent <= 13; ++extent) {
                check(random, depthwise(4, extent, channels, stride));
                check(random, depthwise(extent, 4, channels, stride), stride == 2 || extent > 1);
            }
}

TEST_CASE("column_quads: padding on no side, on one, and wider than a window") {
    random_engine random(53);
    for (const int channels : {16, 36, 64})
        for (const int stride : {1, 2})
            for (int padding = 0; padding != 5; ++padding) {
                for (const bool at_left : {false, true})
                    check(random, depthwise(6, 7, channels, stride, at_left ? 1 : padding, at_left ? padding : 1));
                conv2d_geometry g = depthwise(6, 7, channels, stride, padding, padding);
                g.out = {(4 + 2 * padding - 1) / stride + 1, (5 + 2 * padding - 1) / stride + 1, channels};
                check(random, g);
            }
}

TEST_CASE("column_quads: extreme weights") {
    random_engine random(54);
    for (int kind = 0; kind != static_cast<int>(operands::count); ++kind)
        for (const int stride : {1, 2})
            for (const int channels : {20, 64}) {
                const conv2d_geometry g = depthwise(5, 6, channels, stride);
                CHECK(run_guarded<std::uint8_t>(random, g, guard::behind, static_cast<operands>(kind)).equal);
                CHECK(run_guarded<std::int8_t>(random, g, guard::behind, static_cast<operands>(kind)).equal);
            }
}

TEST_CASE("column_quads: a range of panels writes its channels and nothing else") {
    random_engine random(55);
    constexpr int width = kernel::panel_width<arch>;
    conv2d_geometry g = depthwise(5, 6, 5 * width - 8, 1);
    const problem<std::uint8_t, std::int8_t> p(random, g, {9, 0, 255}, operands::random, operands::random, false);
    const std::vector<float> multipliers = multipliers_of(random, g.out.channels);
    const kernel::nearest_even epilogue{multipliers.data(), {100, 0, 255}};
    const std::vector<std::uint8_t> whole = expected<std::uint8_t>(p, epilogue);
    zp::aligned_buffer packed(kernel::depthwise_layout<arch>(g).bytes);
    zp::aligned_buffer scratch(kernel::depthwise_plan<arch>(g).scratch_bytes);
    kernel::pack_depthwise<arch>(g, p.view(), p.codes, packed.data());
    for (int begin = 0; begin != 5; ++begin) {
        for (int end = begin + 1; end <= 5; ++end) {
            g.panels = {begin, end};
            std::vector<std::uint8_t> y(whole.size(), 77);
            kernel::depthwise_conv2d<arch>(g, p.x.data(), p.codes, packed.data(), epilogue, y.data(), scratch.data());
            bool equal = true;
            for (std::size_t i = 0; i != y.size(); ++i) {
                const int panel = static_cast<int>(i) % g.out.channels / width;
                equal = equal && y[i] == (panel >= begin && panel < end ? whole[i] : 77);
            }
            CHECK(equal);
        }
    }
}

TEST_CASE("column_quads: blocks cover all channels, the ends of two may overlap") {
    for (int channels = 16; channels <= 400; channels += 4) {
        const kernel::channel_blocks blocks{channels};
        int covered = 0;
        for (int i = 0; i != blocks.count(); ++i) {
            const kernel::channel_block block = blocks[i];
            CHECK(block.first >= 0);
            CHECK(block.first <= covered);
            covered = block.first + 64 / block.pixels;
        }
        CHECK(covered == channels);
    }
}
