// The transforms on vectors against their matrices; that they convolve is proven where they are defined.
#include "convolution_problem.hpp"

using namespace zp_test;
using namespace zp::kernel;

namespace {

template <class Winograd> void check_filters(unsigned seed) {
    random_engine random(seed);
    for (int i = 0; i != 500; ++i) {
        int taps[3][3], recovered[3][3];
        const int ends[] = {-255, 255};
        for (auto& row : taps)
            for (int& tap : row) tap = i < 100 ? ends[uniform(random, 0, 1)] : uniform(random, -255, 255);
        std::int16_t transformed[36];
        transform_winograd_filter(Winograd::method, taps, transformed);
        recover_winograd_filter(Winograd::method, transformed, recovered);
        CHECK(std::memcmp(taps, recovered, sizeof taps) == 0);
    }
}

/// One tile through the transforms of an architecture, in 64 bits beside it.
template <class Arch, class Winograd> void check_tile(unsigned seed) {
    random_engine random(seed);
    constexpr int inputs = Winograd::method.inputs, outputs = Winograd::method.outputs, positions = inputs * inputs;
    constexpr int channels = std::max(2 * winograd_lanes<Arch>::word_count, panel_width<Arch>);
    constexpr int width = panel_width<Arch>;
    const int ends[] = {-255, 255};
    std::vector<std::int16_t> x(positions * channels), v(positions * channels);
    for (auto& value : x) value = static_cast<std::int16_t>(ends[uniform(random, 0, 1)]);
    std::vector<std::int16_t> band = x;
    transform_input_columns<Arch, Winograd>(band.data(), inputs * channels, inputs * channels);
    transform_input_rows<Arch, Winograd>(band.data(), inputs * channels, channels, v.data(), channels);

    int taps[3][3];
    for (auto& row : taps)
        for (int& tap : row) tap = ends[uniform(random, 0, 1)];
    std::int16_t u[36];
    transform_winograd_filter(Winograd::method, taps, u);
    std::vector<std::int32_t> products(positions * width), bias(width, 1000), sums(outputs * outputs * width, 7);
    for (int position = 0; position != positions; ++position)
        for (int c = 0; c != width; ++c)
            products[static_cast<std::size_t>(position * width + c)] =
                v[static_cast<std::size_t>(position * channels + c)] * u[position];
    transform_output_tile<Arch, Winograd>(products.data(), width, bias.data(), sums.data(), outputs * width);
    transform_output_tile<Arch, Winograd>(products.data(), width, nullptr, sums.data(), outputs * width);
    for (int row = 0; row != outputs; ++row) {
        for (int column = 0; column != outputs; ++column) {
            for (int c = 0; c != width; ++c) {
                int sum = 0;
                for (int tap = 0; tap != 9; ++tap)
                    sum += x[static_cast<std::size_t>(((row + tap / 3) * inputs + column + tap % 3) * channels + c)] *
                           taps[tap / 3][tap % 3];
                CHECK(sums[static_cast<std::size_t>((row * outputs + column) * width + c)] == 1000 + 2 * sum);
            }
        }
    }
}

}  // namespace

TEST_CASE("winograd_transform: filters are recovered from their transforms") {
    check_filters<winograd_4x4>(51);
    check_filters<winograd_2x2>(52);
}

TEST_CASE("winograd_transform: a tile convolves, with a bias and on top of earlier sums") {
    for (unsigned seed = 0; seed != 8; ++seed) {
        for_each_architecture([&](auto architecture) {
            check_tile<decltype(architecture), winograd_4x4>(seed);
            check_tile<decltype(architecture), winograd_2x2>(seed);
        });
#if XSIMD_WITH_SSE2
        check_tile<xsimd::sse2, winograd_4x4>(seed);  // without a 32-bit multiplication
#endif
    }
}
