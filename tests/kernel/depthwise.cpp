// Depthwise convolution: every channel remainder, the kernel sizes with code of their own and others, extreme operands.
#include "convolution_problem.hpp"

using namespace zp_test;

namespace {

conv2d_geometry depthwise(int extent, int channels, int kernel, int stride, int dilation) {
    conv2d_geometry g;
    g.kernel_height = g.kernel_width = kernel;
    g.stride_height = g.stride_width = stride;
    g.dilation_height = g.dilation_width = dilation;
    g.padding_top = g.padding_left = (kernel - 1) * dilation / 2;
    g.groups = channels;
    g.in = {extent, extent + 1, channels};
    g.out = {(extent - 1) / stride + 1, extent / stride + 1, channels};
    return g;
}

template <class In, class Weight> void check(const problem<In, Weight>& p) {
    const std::vector<std::int32_t> sums = expected<std::int32_t>(p, zp::kernel::accumulators{});
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        INFO(zp::kernel::operations<arch>::name, " ", zp::kernel::panel_width<arch>, ": ", describe(p.geometry));
        CHECK((run<arch, std::int32_t>(p, conv2d_algorithm::depthwise, zp::kernel::accumulators{}) == sums));
    });
}

}  // namespace

TEST_CASE("depthwise: every remainder in channels") {
    random_engine random(41);
    for (int channels = 1; channels <= 49; ++channels) {
        check(problem<std::uint8_t, std::int8_t>(random, depthwise(5, channels, 3, 1, 1),
                                                 pick_codes<std::uint8_t>(random), operands::random, operands::random,
                                                 false));
    }
}

TEST_CASE("depthwise: kernels, strides and dilations") {
    random_engine random(42);
    for (int kernel : {1, 2, 3, 4, 5, 7}) {
        for (int stride : {1, 2, 3}) {
            for (int dilation : {1, 2}) {
                const conv2d_geometry g = depthwise(11, 20, kernel, stride, dilation);
                check(problem<std::uint8_t, std::int8_t>(random, g, {0, 0, 255}, operands::random, operands::random,
                                                         false));
                check(problem<std::int8_t, std::int8_t>(random, g, {127, -128, 127}, operands::random, operands::random,
                                                        false));
            }
        }
    }
    check(problem<std::uint8_t, std::int8_t>(random, depthwise(90, 40, 3, 1, 1), {9, 0, 255}, operands::random,
                                             operands::random, false));
}

TEST_CASE("depthwise: extreme operands, affine weights") {
    random_engine random(43);
    for (int x_kind = 0; x_kind != static_cast<int>(operands::count); ++x_kind) {
        for (int w_kind = 0; w_kind != static_cast<int>(operands::count); ++w_kind) {
            const auto x = static_cast<operands>(x_kind), w = static_cast<operands>(w_kind);
            for (int kernel : {3, 5}) {
                const conv2d_geometry g = depthwise(6, 18, kernel, 1, 1);
                check(problem<std::uint8_t, std::int8_t>(random, g, {255, 0, 255}, x, w, false));
                check(problem<std::int8_t, std::int8_t>(random, g, {-128, -128, 127}, x, w, true));
                check(problem<std::uint8_t, std::uint8_t>(random, g, {0, 0, 255}, x, w, true));
            }
        }
    }
}
