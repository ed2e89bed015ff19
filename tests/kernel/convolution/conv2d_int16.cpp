// SPDX-License-Identifier: BSD-3-Clause
// Convolutions over codes of 16 bits: all algorithms, sums beyond int32, and the rescaling of every kind of tie.
#include <cmath>

#include "../support/convolution_kernels.hpp"

#include <zeropoint/kernel/epilogue/requantize_int16.hpp>

using namespace zp_test;
using zp::kernel::half_way;
using zp::kernel::requantize_int16;

namespace {

constexpr activation_codes words{0, -32768, 32767};

/// The nearest integer to sum * multiplier / 2^(31 - shift), by division; none beyond 2^40.
std::int64_t nearest(std::int64_t sum, std::int32_t multiplier, std::int32_t shift, half_way halves) {
    const int right = 31 - shift;
    const auto size = static_cast<std::uint64_t>(std::abs(sum)), factor = static_cast<std::uint64_t>(multiplier);
    std::uint64_t quotient = 0, rest = 0;
#ifdef __SIZEOF_INT128__
    __extension__ using wide = unsigned __int128;
    const wide product = wide{size} * factor, whole = product >> right, most = wide{1} << 41;
    quotient = static_cast<std::uint64_t>(whole < most ? whole : most);
    rest = static_cast<std::uint64_t>(product - (whole << right));
#else
    for (int bit = 63; bit >= 0; --bit) {  // one bit of the sum after the other, in units of 1 and of 2^-right
        quotient = std::min(2 * quotient, std::uint64_t{1} << 41);
        rest *= 2;
        if ((size >> bit & 1) != 0) rest += factor;
        quotient += rest >> right;
        rest -= rest >> right << right;
    }
#endif
    const std::uint64_t half = std::uint64_t{1} << (right - 1);
    const bool up = halves == half_way::to_even ? quotient % 2 == 1 : halves == half_way::up ? sum > 0 : true;
    if (rest > half || (rest == half && up)) ++quotient;
    const auto limited = static_cast<std::int64_t>(std::min(quotient, std::uint64_t{1} << 40));
    return sum < 0 ? -limited : limited;
}

/// A problem over words with what turns its sums into codes.
template <class Weight> struct int16_problem : problem<std::int16_t, Weight> {
    std::vector<std::int32_t> multiplier, shift;
    std::vector<std::int64_t> int64_bias;

    int16_problem(random_engine& random, const conv2d_geometry& g, operands x_kind, operands w_kind, bool affine,
                  double largest_bias = 1e6, bool any_shift = false)
        : problem<std::int16_t, Weight>(random, g, words, x_kind, w_kind, affine) {
        this->bias.clear();
        for (int c = 0; c != g.out.channels; ++c) {
            int64_bias.push_back(static_cast<std::int64_t>(largest_bias * uniform(random, -1000, 1000) / 1000));
            multiplier.push_back(uniform(random, 1 << 30, INT32_MAX));
            // About what brings sums to 15 bits.
            const double size = std::sqrt(double(g.depth())) * 19000 * 74;
            shift.push_back(any_shift ? uniform(random, -31, 30) : std::ilogb(12000 / size) - uniform(random, 0, 1));
        }
    }
    template <half_way Halves> requantize_int16<Halves> epilogue() const {
        return {multiplier.data(), shift.data(), int64_bias.data(), {0, -32768, 32767}};
    }
    zp::kernel::conv2d_weights<Weight> view() const {
        zp::kernel::conv2d_weights<Weight> all = problem<std::int16_t, Weight>::view();
        all.int64_bias = int64_bias.data();
        return all;
    }
    std::vector<std::int16_t> expected() const {
        const conv2d_geometry& g = this->geometry;
        std::vector<std::int16_t> y;
        for (int row = 0; row != g.out.height; ++row)
            for (int column = 0; column != g.out.width; ++column)
                for (int channel = 0; channel != g.out.channels; ++channel) {
                    const auto c = static_cast<std::size_t>(channel);
                    const std::int64_t sum =
                        int64_bias[c] + zp::kernel::reference::accumulate(
                                            g, this->x.data(), 0, this->weights.data(),
                                            this->zero_points.empty() ? nullptr : this->zero_points.data(), nullptr,
                                            row, column, channel);
                    const std::int64_t code = nearest(sum, multiplier[c], shift[c], half_way::to_even);
                    y.push_back(static_cast<std::int16_t>(std::clamp<std::int64_t>(code, -32768, 32767)));
                }
        return y;
    }
};

/// By one algorithm, from buffers of exact size; scratch and output hold rubbish before.
template <class Arch, class Weight>
std::vector<std::int16_t> computed(const int16_problem<Weight>& p, conv2d_algorithm algorithm) {
    const conv2d_geometry& g = p.geometry;
    zp::aligned_buffer packed(zp::kernel::conv2d_packed_bytes<Arch>(g, algorithm, p.view().affine()));
    zp::aligned_buffer scratch(zp::kernel::conv2d_scratch_bytes<Arch>(g, algorithm));
    if (scratch.size() != 0) std::memset(scratch.data(), 0xa5, scratch.size());
    zp::kernel::pack_conv2d<Arch>(g, algorithm, p.view(), words, packed.data());
    std::vector<Weight> weights(p.weights.size());
    std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels));
    zp::kernel::unpack_conv2d<Arch>(g, algorithm, p.zero_points.empty() ? nullptr : p.zero_points.data(), words,
                                    packed.data(), weights.data(), bias.data());
    CHECK((weights == p.weights));
    std::vector<std::int16_t> y(static_cast<std::size_t>(g.out.size()), 77);
    zp::kernel::conv2d<Arch>(g, algorithm, p.x.data(), words, packed.data(), p.template epilogue<half_way::to_even>(),
                             y.data(), scratch.data());
    return y;
}

template <class Weight> void check(const int16_problem<Weight>& p, bool everywhere = true) {
    const std::vector<std::int16_t> codes = p.expected();
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        if (!everywhere && !std::is_same_v<arch, zp::default_architecture>) return;
        for (const conv2d_algorithm algorithm : zp::kernel::conv2d_algorithms) {
            if (!zp::kernel::supports_int16(p.geometry, algorithm)) continue;
            INFO(zp::kernel::operations<arch>::name, " ", zp::kernel::panel_width<arch>, " ", name_of(algorithm), ": ",
                 describe(p.geometry));
            CHECK((computed<arch>(p, algorithm) == codes));
        }
    });
}

conv2d_geometry matrix(int rows, int channels, int depth) {
    return {.in = {rows, 1, depth}, .out = {rows, 1, channels}};
}

}  // namespace

TEST_CASE("conv2d_int16: every depth, every remainder in rows and channels") {
    random_engine random(1);
    for (int depth : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100})
        check(int16_problem<std::int8_t>(random, matrix(uniform(random, 1, 19), uniform(random, 1, 40), depth),
                                         operands::random, operands::random, false));
    for (int rows = 1; rows <= 14; ++rows)
        check(int16_problem<std::int8_t>(random, matrix(rows, 3 * rows - 1, 12), operands::random, operands::random,
                                         false));
}

TEST_CASE("conv2d_int16: sums that leave int32, of products and of biases") {
    random_engine random(2);
    for (const operands x : {operands::lowest, operands::highest, operands::alternating, operands::random}) {
        for (const operands w : {operands::lowest, operands::highest}) {
            check(int16_problem<std::int8_t>(random, matrix(5, 18, 1030), x, w, false));
            check(int16_problem<std::uint8_t>(random, matrix(3, 7, 520), x, w, true));
        }
        // Parts of runs, of kernel rows, and of groups.
        conv2d_geometry g{.in = {5, 4, 270}, .out = {3, 2, 5}, .kernel_height = 3, .kernel_width = 3};
        check(int16_problem<std::int8_t>(random, g, x, operands::lowest, false));
        g = {.in = {4, 4, 602}, .out = {4, 3, 6}, .kernel_height = 2, .kernel_width = 2, .padding_top = 1, .groups = 2};
        check(int16_problem<std::int8_t>(random, g, x, operands::lowest, false));
    }
    check(int16_problem<std::int8_t>(random, matrix(9, 20, 40), operands::random, operands::random, false, 1e12));
    conv2d_geometry g{.in = {5, 4, 20},
                      .out = {5, 4, 20},
                      .kernel_height = 3,
                      .kernel_width = 3,
                      .padding_top = 1,
                      .padding_left = 1,
                      .groups = 20};
    check(int16_problem<std::int8_t>(random, g, operands::random, operands::random, false, 1e10));
}

TEST_CASE("conv2d_int16: windows, strides, dilation, padding, groups and channel multipliers") {
    random_engine random(3);
    const int problems = fewer(500);
    for (int i = 0; i != problems; ++i) {
        conv2d_geometry g;
        g.kernel_height = uniform(random, 1, 4);
        g.kernel_width = uniform(random, 1, 5);
        g.stride_height = uniform(random, 1, 2);
        g.stride_width = uniform(random, 1, 3);
        g.dilation_height = uniform(random, 1, 2);
        g.dilation_width = uniform(random, 1, 2);
        g.padding_top = uniform(random, 0, 2);
        g.padding_left = uniform(random, 0, 2);
        g.groups = uniform(random, 0, 1) == 0 ? 1 : uniform(random, 1, 40);
        g.in = {g.window_height() + uniform(random, 0, 4), g.window_width() + uniform(random, 0, 6),
                g.groups * uniform(random, 1, g.groups > 1 ? 3 : 9)};
        g.out = {(g.in.height + g.padding_top - g.window_height()) / g.stride_height + 1,
                 (g.in.width + 2 * g.padding_left - g.window_width()) / g.stride_width + 1,
                 g.groups * uniform(random, 1, g.groups > 1 ? 3 : 20)};
        check(int16_problem<std::int8_t>(random, g, pick_operands(random), pick_operands(random), i % 5 == 0, 1e6,
                                         i % 7 == 0),
              i < 50);
    }
}

TEST_CASE("conv2d_int16: every kind of tie, any shift, sums of both widths") {
    random_engine random(4);
    const auto for_each_half = [](const auto& visit) {
        visit(std::integral_constant<half_way, half_way::to_even>{});
        visit(std::integral_constant<half_way, half_way::away_from_zero>{});
        visit(std::integral_constant<half_way, half_way::up>{});
    };
    const auto check_rescale = [&](std::int64_t sum, std::int32_t multiplier, std::int32_t shift) {
        const auto limited = [](std::int64_t v) {
            return std::clamp<std::int64_t>(v, -(std::int64_t{1} << 31), std::int64_t{1} << 31);
        };
        INFO(sum, " * ", multiplier, " >> ", 31 - shift);
        const auto check_halves = [&]<half_way Halves>(std::integral_constant<half_way, Halves>) {
            CHECK(limited(zp::kernel::rescale<Halves>(sum, multiplier, shift)) ==
                  limited(nearest(sum, multiplier, shift, Halves)));
        };
        for_each_half(check_halves);
    };
    for (int shift = -31; shift <= 30; ++shift) {
        for (const std::int64_t sum : {0ll, 1ll, -1ll, 2ll, -3ll, 5ll, 32768ll, -32768ll, 2147483647ll, -2147483647ll})
            for (const std::int32_t multiplier : {1 << 30, (1 << 30) + 1, INT32_MAX, 0x60000000})
                check_rescale(sum, multiplier, shift);
        for (int i = 0; i != 50; ++i) {
            const int bits = uniform(random, 0, 46);
            const auto size =
                static_cast<std::int64_t>((std::uint64_t{1} << bits) + random() % (std::uint64_t{1} << bits));
            check_rescale(i % 2 == 0 ? size : -size, uniform(random, 1 << 30, INT32_MAX), shift);
        }
    }
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        constexpr int width = zp::kernel::panel_width<arch>;
        const auto finish = [&]<half_way Halves>(std::integral_constant<half_way, Halves>) {
            for (int shift : {-1, -2, -5, -12, -31}) {
                const std::vector<std::int32_t> multiplier(width, 1 << 30), shifts(width, shift);
                std::vector<std::int32_t> sums(19 * width);
                for (auto& sum : sums)  // many ties, at 2^-shift
                    sum = uniform(random, -70000, 70000) * (1 << std::min(-shift, 14));
                sums[0] = -INT32_MAX;
                sums[1 % sums.size()] = INT32_MAX;
                for (int channels : {width, (width + 1) / 2}) {
                    std::vector<std::int16_t> y(static_cast<std::size_t>(19 * channels)), codes;
                    const requantize_int16<Halves> epilogue{
                        multiplier.data(), shifts.data(), nullptr, {0, -30000, 32000}};
                    epilogue.template finish_tile<arch>(sums.data(), 19, 0, channels, y.data(), channels);
                    for (int row = 0; row != 19; ++row)
                        for (int c = 0; c != channels; ++c)
                            codes.push_back(static_cast<std::int16_t>(std::clamp<std::int64_t>(
                                nearest(sums[static_cast<std::size_t>(row * width + c)], 1 << 30, shift, Halves),
                                -30000, 32000)));
                    INFO(zp::kernel::operations<arch>::name, " shift ", shift);
                    CHECK((y == codes));
                }
            }
        };
        for_each_half(finish);
    });
}

TEST_CASE("conv2d_int16: outputs of eight bits have a zero point") {
    random_engine random(5);
    const int16_problem<std::int8_t> p(random, matrix(7, 19, 30), operands::random, operands::random, false);
    std::vector<std::int32_t> shift = p.shift;
    for (auto& s : shift) s -= 7;
    const requantize_int16<half_way::to_even> epilogue{
        p.multiplier.data(), shift.data(), p.int64_bias.data(), {13, -100, 127}};
    using arch = zp::default_architecture;
    zp::aligned_buffer packed(
        zp::kernel::conv2d_packed_bytes<arch>(p.geometry, conv2d_algorithm::implicit_gemm, false));
    zp::aligned_buffer scratch(zp::kernel::conv2d_scratch_bytes<arch>(p.geometry, conv2d_algorithm::implicit_gemm));
    zp::kernel::pack_conv2d<arch>(p.geometry, conv2d_algorithm::implicit_gemm, p.view(), words, packed.data());
    std::vector<std::int8_t> y(static_cast<std::size_t>(p.geometry.out.size()));
    zp::kernel::conv2d_kernels<arch, conv2d_algorithm::implicit_gemm>::run(p.geometry, p.x.data(), words, packed.data(),
                                                                           epilogue, y.data(), scratch.data());
    std::size_t i = 0;
    for (int row = 0; row != 7; ++row)
        for (int c = 0; c != 19; ++c, ++i) {
            const auto channel = static_cast<std::size_t>(c);
            const std::int64_t sum =
                p.int64_bias[channel] + zp::kernel::reference::accumulate(p.geometry, p.x.data(), 0, p.weights.data(),
                                                                          nullptr, nullptr, row, 0, c);
            CHECK(y[i] == std::clamp<std::int64_t>(
                              nearest(sum, p.multiplier[channel], shift[channel], half_way::to_even) + 13, -100, 127));
        }
}
