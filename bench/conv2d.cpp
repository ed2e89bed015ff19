// SPDX-License-Identifier: BSD-3-Clause
// Convolutions u8 x s8 to u8 as networks have them, each by every algorithm that can compute it.
#include <string>

#include "support/convolution.hpp"

namespace {

using zp::kernel::conv2d_algorithm;
using zp::kernel::conv2d_geometry;

struct square_window {
    int size, stride = 1, padding = 0, groups = 1;
};
constexpr conv2d_geometry geometry_of(zp::shape in, int channels, square_window window) {
    const auto extent = [&](int size) { return (size + 2 * window.padding - window.size) / window.stride + 1; };
    return {.in = in,
            .out = {extent(in.height), extent(in.width), channels},
            .kernel_height = window.size,
            .kernel_width = window.size,
            .stride_height = window.stride,
            .stride_width = window.stride,
            .padding_top = window.padding,
            .padding_left = window.padding,
            .groups = window.groups};
}

struct named_geometry {
    const char* name;
    conv2d_geometry geometry;
};
constexpr named_geometry geometries[] = {
    {"3x3/56x56x64", geometry_of({56, 56, 64}, 64, {.size = 3, .padding = 1})},
    {"3x3/28x28x128", geometry_of({28, 28, 128}, 128, {.size = 3, .padding = 1})},
    {"3x3/14x14x256", geometry_of({14, 14, 256}, 256, {.size = 3, .padding = 1})},
    {"3x3/7x7x512", geometry_of({7, 7, 512}, 512, {.size = 3, .padding = 1})},
    {"3x3_stride2/56x56x64to128", geometry_of({56, 56, 64}, 128, {.size = 3, .stride = 2, .padding = 1})},
    {"1x1/56x56x64to256", geometry_of({56, 56, 64}, 256, {.size = 1})},
    {"1x1/14x14x384to64", geometry_of({14, 14, 384}, 64, {.size = 1})},
    {"1x1/7x7x320to1280", geometry_of({7, 7, 320}, 1280, {.size = 1})},
    {"1x1_stride2/56x56x64to128", geometry_of({56, 56, 64}, 128, {.size = 1, .stride = 2})},
    {"7x7_stem/224x224x3to64", geometry_of({224, 224, 3}, 64, {.size = 7, .stride = 2, .padding = 3})},
    {"3x3_stem/224x224x3to32", geometry_of({224, 224, 3}, 32, {.size = 3, .stride = 2, .padding = 1})},
    {"5x5/28x28x1to6", geometry_of({28, 28, 1}, 6, {.size = 5, .padding = 2})},
    {"depthwise_3x3/112x112x32", geometry_of({112, 112, 32}, 32, {.size = 3, .padding = 1, .groups = 32})},
    {"depthwise_3x3/56x56x144", geometry_of({56, 56, 144}, 144, {.size = 3, .padding = 1, .groups = 144})},
    {"depthwise_3x3_stride2/56x56x144",
     geometry_of({56, 56, 144}, 144, {.size = 3, .stride = 2, .padding = 1, .groups = 144})},
    {"depthwise_3x3/14x14x384", geometry_of({14, 14, 384}, 384, {.size = 3, .padding = 1, .groups = 384})},
    {"depthwise_5x5/28x28x120", geometry_of({28, 28, 120}, 120, {.size = 5, .padding = 2, .groups = 120})},
    {"depthwise_5x5_stride2/28x28x120",
     geometry_of({28, 28, 120}, 120, {.size = 5, .stride = 2, .padding = 2, .groups = 120})},
    {"grouped_3x3/28x28x128by32", geometry_of({28, 28, 128}, 128, {.size = 3, .padding = 1, .groups = 32})},
    {"grouped_3x3/28x28x128by4", geometry_of({28, 28, 128}, 128, {.size = 3, .padding = 1, .groups = 4})},
};

void add(const named_geometry& of, conv2d_algorithm algorithm, bench::weights weights) {
    const std::string name = std::string(of.name) + "/" + name_of(algorithm) + "/" + bench::name_of(weights);
    const conv2d_geometry geometry = of.geometry;
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) {
                                     bench::measure_convolution(state, geometry, algorithm, weights, bench::eight_bits);
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

/// Over int16 codes.
void add_wide(const named_geometry& of, conv2d_algorithm algorithm) {
    const std::string name = std::string(of.name) + "/" + name_of(algorithm) + "/int16";
    const conv2d_geometry geometry = of.geometry;
    benchmark::RegisterBenchmark(
        name.c_str(), [=](benchmark::State& state) { bench::measure_int16_convolution(state, geometry, algorithm); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

[[maybe_unused]] const bool registered = [] {
    for (const named_geometry& of : geometries) {
        for (const conv2d_algorithm algorithm : bench::all_algorithms())
            if (bench::supports(of.geometry, algorithm)) add(of, algorithm, bench::weights::gaussian);
        for (const conv2d_algorithm algorithm : {conv2d_algorithm::implicit_gemm, conv2d_algorithm::depthwise})
            if (bench::supports_int16(of.geometry, algorithm)) add_wide(of, algorithm);
        add(of, conv2d_algorithm::automatic, bench::weights::uniform);
        add(of, conv2d_algorithm::automatic, bench::weights::laplace);
    }
    return true;
}();

}  // namespace
