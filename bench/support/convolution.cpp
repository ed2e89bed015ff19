// SPDX-License-Identifier: BSD-3-Clause
// Packs and runs the quantized convolutions: the one place of the benchmarks that compiles them.
#include "convolution.hpp"

#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>

#include <zeropoint/kernel/convolution/conv2d.hpp>
#include <zeropoint/kernel/epilogue/requantize_int16.hpp>

namespace bench {
namespace {
using architecture = zp::default_architecture;
namespace kernel = zp::kernel;
}  // namespace

convolution::convolution(const kernel::conv2d_geometry& geometry, kernel::conv2d_algorithm algorithm,
                         weights distribution, kernel::activation_codes codes)
    : geometry_(geometry),
      algorithm_(algorithm),
      codes_(codes),
      packed_(kernel::conv2d_packed_bytes<architecture>(geometry, algorithm, false)),
      scratch_(kernel::conv2d_scratch_bytes<architecture>(geometry, algorithm)),
      x_(static_cast<std::size_t>(geometry.in.size())),
      y_(static_cast<std::size_t>(geometry.out.size())) {
    const auto codes_in = make_activations(x_.size(), codes);
    std::memcpy(x_.data(), codes_in.data(), codes_in.size());
    const auto filters = make_weights(distribution, geometry.out.channels, geometry.depth());
    const std::vector<std::int32_t> bias(static_cast<std::size_t>(geometry.out.channels), 100);
    kernel::pack_conv2d<architecture>(geometry, algorithm,
                                      kernel::conv2d_weights<std::int8_t>{filters.data(), nullptr, bias.data()}, codes,
                                      packed_.data());
    // Sums of random codes become codes of random spread.
    const float deviation = 64 * 64 * std::sqrt(static_cast<float>(geometry.depth()));
    multipliers_.assign(static_cast<std::size_t>(geometry.out.channels), 64 / deviation);
}

void convolution::operator()() noexcept {
    const kernel::nearest_even epilogue{multipliers_.data(), {.zero_point = 128, .min = 0, .max = 255}};
    kernel::conv2d<architecture>(geometry_, algorithm_, reinterpret_cast<const std::uint8_t*>(x_.data()), codes_,
                                 packed_.data(), epilogue, reinterpret_cast<std::uint8_t*>(y_.data()), scratch_.data());
}

work convolution::of_one_call() const {
    return {2.0 * geometry_.out.pixels() * geometry_.out.channels * geometry_.depth()};
}

std::string convolution::description() const {
    const auto taken = kernel::describe_conv2d<architecture>(geometry_, algorithm_, packed_.data());
    std::string text = name_of(taken.algorithm);
    for (std::size_t i = 0; i != std::size(taken.panels); ++i)
        if (taken.panels[i] != 0)
            text += " " + std::to_string(taken.panels[i]) + "*" + name_of(static_cast<kernel::panel_kernel>(i));
    const auto kibibytes = [](std::size_t bytes) { return std::to_string((bytes + 1023) / 1024); };
    return text + ", KiB packed " + kibibytes(packed_.size()) + " scratch " + kibibytes(scratch_.size());
}

bool supports(const kernel::conv2d_geometry& geometry, kernel::conv2d_algorithm algorithm) {
    return kernel::supports(geometry, algorithm);
}

std::vector<kernel::conv2d_algorithm> all_algorithms() {
    std::vector<kernel::conv2d_algorithm> all;
    for (int i = 0; std::string_view(name_of(static_cast<kernel::conv2d_algorithm>(i))) != "?"; ++i)
        all.push_back(static_cast<kernel::conv2d_algorithm>(i));
    return all;
}

void measure_convolution(benchmark::State& state, const kernel::conv2d_geometry& geometry,
                         kernel::conv2d_algorithm algorithm, weights distribution, kernel::activation_codes codes) {
    convolution one(geometry, algorithm, distribution, codes);
    measure(state, one.of_one_call(), one);
    state.SetLabel(one.description());
}

bool supports_int16(const kernel::conv2d_geometry& geometry, kernel::conv2d_algorithm algorithm) {
    return kernel::supports_int16(geometry, algorithm);
}

void measure_int16_convolution(benchmark::State& state, const kernel::conv2d_geometry& geometry,
                               kernel::conv2d_algorithm algorithm) {
    constexpr kernel::activation_codes codes{0, -32768, 32767};
    const auto channels = static_cast<std::size_t>(geometry.out.channels);
    const auto filters = make_weights(weights::gaussian, geometry.out.channels, geometry.depth());
    const std::vector<std::int64_t> bias(channels, 100);
    // Sums of random codes become codes of random spread.
    const double deviation = 19000.0 * 36 * std::sqrt(static_cast<double>(geometry.depth()));
    const std::vector<std::int32_t> multipliers(channels, 1 << 30), shifts(channels, std::ilogb(8000 / deviation) + 1);
    const kernel::requantize_int16<kernel::half_way::to_even> epilogue{
        multipliers.data(), shifts.data(), bias.data(), {0, -32768, 32767}};
    std::vector<std::int16_t> x(static_cast<std::size_t>(geometry.in.size())),
        y(static_cast<std::size_t>(geometry.out.size()));
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = static_cast<std::int16_t>(i * 40503);
    zp::aligned_buffer packed(kernel::conv2d_packed_bytes<architecture>(geometry, algorithm, false)),
        scratch(kernel::conv2d_scratch_bytes<architecture>(geometry, algorithm));
    kernel::pack_conv2d<architecture>(
        geometry, algorithm, kernel::conv2d_weights<std::int8_t>{filters.data(), nullptr, nullptr, bias.data()}, codes,
        packed.data());
    measure(state, {2.0 * geometry.out.pixels() * geometry.out.channels * geometry.depth()}, [&] {
        kernel::conv2d<architecture>(geometry, algorithm, x.data(), codes, packed.data(), epilogue, y.data(),
                                     scratch.data());
    });
}

}  // namespace bench
