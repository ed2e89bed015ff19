// SPDX-License-Identifier: BSD-3-Clause
// The float kernels, which calibration runs, compared with float multiply-adds from registers.
#include <string>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/float/float_conv2d.hpp>

#include "support/convolution.hpp"

namespace {

using architecture = zp::default_architecture;
namespace kernel = zp::kernel;

struct named_geometry {
    const char* name;
    kernel::conv2d_geometry geometry;
};
constexpr named_geometry geometries[] = {
    {"linear/1x1024x1024", bench::matrix_product(1, 1024, 1024)},
    {"linear/64x768x768", bench::matrix_product(64, 768, 768)},
    {"3x3/28x28x128",
     {.in = {28, 28, 128},
      .out = {28, 28, 128},
      .kernel_height = 3,
      .kernel_width = 3,
      .padding_top = 1,
      .padding_left = 1}},
    {"1x1/56x56x64to256", {.in = {56, 56, 64}, .out = {56, 56, 256}}},
    {"7x7_stem/224x224x3to64",
     {.in = {224, 224, 3},
      .out = {112, 112, 64},
      .kernel_height = 7,
      .kernel_width = 7,
      .stride_height = 2,
      .stride_width = 2,
      .padding_top = 3,
      .padding_left = 3}},
    {"depthwise_3x3/56x56x144",
     {.in = {56, 56, 144},
      .out = {56, 56, 144},
      .kernel_height = 3,
      .kernel_width = 3,
      .padding_top = 1,
      .padding_left = 1,
      .groups = 144}},
};

void run(benchmark::State& state, const kernel::conv2d_geometry& g) {
    const auto floats = [](int count) { return std::vector<float>(static_cast<std::size_t>(count), 0.5f); };
    const std::vector<float> x = floats(g.in.size()), weights = floats(g.out.channels * g.depth()),
                             bias = floats(g.out.channels);
    std::vector<float> y = floats(g.out.size()), scratch(kernel::conv2d_float_scratch<architecture>(g));
    const double operations = 2.0 * g.out.size() * g.depth();
    bench::measure(state, {operations, bench::peak::float_fma}, [&] {
        kernel::conv2d_float<architecture>(g, x.data(), weights.data(), bias.data(), 0.0f, zp::infinity, y.data(),
                                           scratch.data());
    });
}

[[maybe_unused]] const bool registered = [] {
    for (const named_geometry& of : geometries)
        benchmark::RegisterBenchmark((std::string("float_") + of.name).c_str(), run, of.geometry)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    return true;
}();

}  // namespace
