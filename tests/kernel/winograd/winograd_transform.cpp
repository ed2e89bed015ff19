// SPDX-License-Identifier: BSD-3-Clause
// The transforms on vectors against their matrices; that they convolve is proven where they are defined.
#include "../support/convolution_problem.hpp"

using namespace zp_test;
using namespace zp::kernel;

namespace {

/// G of a method, by the number of its rows.
template <int Inputs> constexpr int kernel_matrix[Inputs][3]{};
template <>
constexpr int kernel_matrix<6>[6][3] = {{6, 0, 0}, {-1, -1, -1}, {-1, 1, -1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 6}};
template <> constexpr int kernel_matrix<4>[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};

/// A position of G w G^T.
template <class Winograd> int transformed(const int (&taps)[3][3], int position) {
    constexpr int inputs = Winograd::method.inputs;
    int sum = 0;
    for (int tap = 0; tap != 9; ++tap)
        sum += kernel_matrix<inputs>[position / inputs][tap / 3] * kernel_matrix<inputs>[position % inputs][tap % 3] *
               taps[tap / 3][tap % 3];
    return sum;
}

/// A panel of filters, any codes and the ends of their range; `pitch` has room behind each position, which stays.
template <class Arch, class Winograd> void check_filters(unsigned seed) {
    random_engine random(seed);
    constexpr int width = panel_width<Arch>, positions = Winograd::method.positions(), row = 2 * width;
    const int channels = 2 * uniform(random, 1, 9), pitch = channels * width + 32;
    const auto code = [&] {
        const int ends[] = {-128, 127};
        return seed % 2 == 0 ? ends[uniform(random, 0, 1)] : uniform(random, -128, 127);
    };
    std::vector<std::int8_t> filters(static_cast<std::size_t>(channels * 9 * width));
    for (auto& w : filters) w = static_cast<std::int8_t>(code());
    std::vector<std::int16_t> zero_points(row), weights(static_cast<std::size_t>(positions * pitch), 321);
    for (std::size_t i = 0; i != row; ++i)
        zero_points[i] = static_cast<std::int16_t>(i % 2 != 0 ? zero_points[i - 1] : code());
    transform_filters<Arch, Winograd>(filters.data(), zero_points.data(), channels, weights.data(), pitch);
    bool same = true;
    for (int position = 0; position != positions; ++position) {
        for (int i = 0; i != pitch; ++i) {
            int taps[3][3]{};
            for (int tap = 0; tap != 9 && i < channels * width; ++tap) {
                taps[tap / 3][tap % 3] = filters[static_cast<std::size_t>((i / row * 9 + tap) * row + i % row)] -
                                         zero_points[static_cast<std::size_t>(i % row)];
            }
            const int expected = i < channels * width ? transformed<Winograd>(taps, position) : 321;
            same = same && weights[static_cast<std::size_t>(position * pitch + i)] == expected;
        }
    }
    CHECK(same);
}

/// One tile through the transforms of an architecture, in 64 bits beside it.
template <class Arch, class Winograd, class In> void check_tile(unsigned seed) {
    random_engine random(seed);
    constexpr int inputs = Winograd::method.inputs, outputs = Winograd::method.outputs, positions = inputs * inputs;
    constexpr int channels = std::max(2 * winograd_lanes<Arch>::word_count, panel_width<Arch>);
    constexpr int width = panel_width<Arch>;
    const int ends[] = {-255, 255}, zero_points[] = {0, 1, 127, 255};
    const int zero_point = zero_points[uniform(random, 0, 3)] - (std::is_signed_v<In> ? 128 : 0);
    constexpr int pitch = channels + 32;  // with room behind each row, which stays
    std::vector<In> codes(positions * channels);
    for (auto& code : codes)
        code = uniform(random, 0, 1) == 0 ? std::numeric_limits<In>::min() : std::numeric_limits<In>::max();
    std::vector<int> x(positions * channels);
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = codes[i] - zero_point;
    std::vector<std::int16_t> columns(positions * pitch, 321), v(positions * channels);
    const std::int16_t* of_tile[inputs];
    for (int column = 0; column != inputs; ++column) {
        const In* pixels[inputs];
        for (int row = 0; row != inputs; ++row) pixels[row] = codes.data() + (row * inputs + column) * channels;
        std::int16_t* to = columns.data() + column * inputs * pitch;
        transform_input_column<Arch, Winograd>(pixels, zero_point, channels, to, pitch);
        of_tile[column] = to;
    }
    for (int row = 0; row != positions; ++row)
        for (int i = channels; i != pitch; ++i) CHECK(columns[static_cast<std::size_t>(row * pitch + i)] == 321);
    transform_input_tile<Arch, Winograd>(of_tile, pitch, channels, v.data(), channels);

    int taps[3][3];
    for (auto& row : taps)
        for (int& tap : row) tap = ends[uniform(random, 0, 1)];
    std::vector<std::int32_t> products(positions * width), bias(width, 1000), sums(outputs * outputs * width, 7);
    for (int position = 0; position != positions; ++position)
        for (int c = 0; c != width; ++c)
            products[static_cast<std::size_t>(position * width + c)] =
                v[static_cast<std::size_t>(position * channels + c)] * transformed<Winograd>(taps, position);
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

TEST_CASE("winograd_transform: filters, less their zero points") {
    for (unsigned seed = 0; seed != 12; ++seed) {
        for_each_architecture([&](auto architecture) {
            check_filters<decltype(architecture), winograd_4x4>(seed);
            check_filters<decltype(architecture), winograd_2x2>(seed);
        });
    }
}

TEST_CASE("winograd_transform: a tile convolves, with a bias and on top of earlier sums") {
    for (unsigned seed = 0; seed != 8; ++seed) {
        for_each_architecture([&](auto architecture) {
            check_tile<decltype(architecture), winograd_4x4, std::uint8_t>(seed);
            check_tile<decltype(architecture), winograd_4x4, std::int8_t>(seed);
            check_tile<decltype(architecture), winograd_2x2, std::uint8_t>(seed);
        });
#if XSIMD_WITH_SSE2
        check_tile<xsimd::sse2, winograd_4x4, std::uint8_t>(seed);  // without a 32-bit multiplication
#endif
    }
}
