// SPDX-License-Identifier: BSD-3-Clause
// What a network does besides multiplying: the kernels on codes, and what observers do with floats. Rates are bytes read
// and written, compared with copying within the first-level cache; the tensors here lie in the second.
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>
#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/movement/concat.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/reduction/float_statistics.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>

#include "support/measure.hpp"
#include "support/operands.hpp"

namespace {

using architecture = zp::default_architecture;
namespace kernel = zp::kernel;

constexpr zp::shape image{28, 28, 128};
constexpr std::size_t count = static_cast<std::size_t>(image.size()), pixels = 28 * 28;

std::vector<std::uint8_t> codes() { return bench::make_activations(count, bench::eight_bits); }
std::vector<float> floats() {
    std::vector<float> values;
    for (const std::uint8_t code : codes()) values.push_back(static_cast<float>(code) * 0.037f - 4.0f);
    return values;
}
std::vector<std::int16_t> words() {
    std::vector<std::int16_t> values;
    for (const std::uint8_t code : codes()) values.push_back(static_cast<std::int16_t>(257 * code - 32768));
    return values;
}

/// `prepare` makes the buffers and gives back what is timed.
template <class Prepare> void add(const char* name, std::size_t bytes, Prepare prepare) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
        bench::measure(state, {static_cast<double>(bytes), bench::peak::copy}, prepare());
    })->UseManualTime();
}

void add_conversions() {
    add("quantize", 5 * count, [] {
        return [x = floats(), y = codes()]() mutable {
            kernel::quantize<architecture>(x.data(), x.size(), 0.04f, 100, 0, 255, y.data());
        };
    });
    add("dequantize", 5 * count, [] {
        return [x = codes(), y = floats()]() mutable {
            kernel::dequantize<architecture>(x.data(), x.size(), 0.04f, 100, y.data());
        };
    });
    add("lookup_table", 2 * count, [] {
        std::array<std::uint8_t, 256> table{};
        kernel::make_lookup_table<std::uint8_t>([](double x) { return 1 / (1 + std::exp(-x)); }, 0.05f, 128, 1.0f / 256,
                                                0, 0, 255, table.data());
        return [table, x = codes(), y = codes()]() mutable {
            kernel::lookup_table<architecture>(x.data(), x.size(), table.data(), y.data());
        };
    });
    add("nchw_to_nhwc/codes", 2 * count, [] {
        return [x = codes(), y = codes()]() mutable {
            kernel::nchw_to_nhwc<std::uint8_t, architecture>(x.data(), image, y.data());
        };
    });
    add("nchw_to_nhwc/floats", 8 * count, [] {
        return [x = floats(), y = floats()]() mutable {
            kernel::nchw_to_nhwc<float, architecture>(x.data(), image, y.data());
        };
    });
}

void add_arithmetic() {
    add("add", 3 * count, [] {
        const auto parameters = kernel::make_add_parameters(0.05f, 120, 0.03f, 7, 0.06f, 90, 0, 255);
        return [parameters, a = codes(), b = codes(), y = codes()]() mutable {
            kernel::add<architecture>(a.data(), b.data(), a.size(), parameters, y.data());
        };
    });
    add("add/16_bits", 6 * count, [] {
        const auto parameters = kernel::make_add_int16_parameters(0.05f, 0.03f, 0.06f, -32768, 32767);
        return [parameters, a = words(), b = words(), y = words()]() mutable {
            kernel::add_int16<architecture>(a.data(), b.data(), a.size(), parameters, y.data());
        };
    });
    add("mul", 3 * count, [] {
        const auto parameters = kernel::make_mul_parameters(0.05f, 120, 0.03f, 7, 0.06f, 90, 0, 255);
        return [parameters, a = codes(), b = codes(), y = codes()]() mutable {
            kernel::mul<architecture>(a.data(), b.data(), a.size(), parameters, y.data());
        };
    });
    add("relu", 2 * count, [] {
        return [x = codes(), y = codes()]() mutable {
            kernel::clamp<architecture, std::uint8_t>(x.data(), x.size(), 128, 255, y.data());
        };
    });
    add("concat", 2 * count, [] {
        return [x = codes(), y = std::vector<std::uint8_t>(2 * count)]() mutable {
            kernel::copy_channels<architecture>(x.data(), pixels, 128, y.data(), 256);
        };
    });
    add("concat/another_grid", 2 * count, [] {
        std::array<std::uint8_t, kernel::lookup_table_size> table{};
        kernel::make_lookup_table<std::uint8_t>([](double x) { return x; }, 0.03f, 120, 0.05f, 100, 0, 255,
                                                table.data());
        return [table, x = codes(), y = std::vector<std::uint8_t>(2 * count)]() mutable {
            kernel::copy_channels<architecture>(x.data(), pixels, 128, table.data(), y.data(), 256);
        };
    });
}

/// A square window over the image.
constexpr kernel::conv2d_geometry pool(int size, int stride, int padding) {
    const int extent = (28 + 2 * padding - size) / stride + 1;
    return {.in = image,
            .out = {extent, extent, 128},
            .kernel_height = size,
            .kernel_width = size,
            .stride_height = stride,
            .stride_width = stride,
            .padding_top = padding,
            .padding_left = padding};
}
constexpr std::size_t bytes_of(const kernel::conv2d_geometry& g) {
    return static_cast<std::size_t>(g.in.size() + g.out.size());
}

void add_pooling() {
    constexpr kernel::conv2d_geometry halving = pool(2, 2, 0), overlapping = pool(3, 2, 1);
    add("max_pool2d/2x2", bytes_of(halving), [=] {
        return
            [=, x = codes(), y = codes()]() mutable { kernel::max_pool2d<architecture>(halving, x.data(), y.data()); };
    });
    add("max_pool2d/3x3_stride2", bytes_of(overlapping), [=] {
        return [=, x = codes(), y = codes()]() mutable {
            kernel::max_pool2d<architecture>(overlapping, x.data(), y.data());
        };
    });
    add("avg_pool2d/2x2", bytes_of(halving), [=] {
        return [=, x = codes(), y = codes()]() mutable {
            kernel::avg_pool2d<architecture>(halving, false, 128, x.data(), y.data());
        };
    });
    add("adaptive_avg_pool2d/1x1", count, [] {
        return [x = codes(), y = codes()]() mutable {
            kernel::adaptive_avg_pool2d<architecture>(image, {1, 1, 128}, 128, x.data(), y.data());
        };
    });
}

void add_observers() {
    add("min_max", 4 * count, [] {
        return [x = floats()] { benchmark::DoNotOptimize(kernel::min_max<architecture>(x.data(), x.size()).min); };
    });
    add("min_max_per_channel", 4 * count, [] {
        return [x = floats(), low = std::vector<float>(128), high = std::vector<float>(128)]() mutable {
            kernel::min_max_per_channel<architecture>(x.data(), x.size(), 128, 1, low.data(), high.data());
        };
    });
    add("histogram/2048", 4 * count, [] {
        return [x = floats(), bins = std::vector<float>(2048)]() mutable {
            kernel::histogram<architecture>(x.data(), x.size(), -5.0f, 6.0f, 2048, bins.data());
        };
    });
}

[[maybe_unused]] const bool registered = (add_conversions(), add_arithmetic(), add_pooling(), add_observers(), true);

}  // namespace
