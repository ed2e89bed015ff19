// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/float_statistics.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("min_max: every length, extremes at every place") {
    arrays::for_each_architecture([]<class Arch>() {
        for (std::size_t count = 0; count <= 130; ++count) {
            std::vector<float> x = arrays::reals(count, 11 + count);
            float low = zp::infinity, high = -zp::infinity;
            for (const float value : x) low = std::min(low, value), high = std::max(high, value);
            const kernel::min_max_result result = kernel::min_max<Arch>(x.data(), count);
            CHECK(result.min == low);
            CHECK(result.max == high);
            CHECK(result.first_not_finite == (count));
            if (count == 0) continue;
            x[count * 7 % count] = -100.0f;
            x[count * 5 / 6] = 100.0f;
            const kernel::min_max_result extreme = kernel::min_max<Arch>(x.data(), count);
            CHECK(extreme.max == 100.0f);
            if (count > 1) CHECK(extreme.min == -100.0f);
        }
    });
}

TEST_CASE("min_max: stops at the first NaN or infinity and says where") {
    arrays::for_each_architecture([]<class Arch>() {
        for (const float bad : {not_a_number, zp::infinity, -zp::infinity}) {
            for (std::size_t at = 0; at != 100; ++at) {
                std::vector<float> x = arrays::reals(100, at);
                x[99] = not_a_number;
                x[at] = bad;
                float low = zp::infinity, high = -zp::infinity;
                for (std::size_t i = 0; i != at; ++i) low = std::min(low, x[i]), high = std::max(high, x[i]);
                const kernel::min_max_result result = kernel::min_max<Arch>(x.data(), 100);
                CHECK(result.first_not_finite == at);
                CHECK(result.min == low);
                CHECK(result.max == high);
                CHECK(kernel::first_not_finite<Arch>(x.data(), 100) == at);
            }
        }
    });
}

TEST_CASE("min_max: the largest floats are finite, and zero is +0 in any order") {
    arrays::for_each_architecture([]<class Arch>() {
        const float largest = std::numeric_limits<float>::max();
        std::vector<float> x(70, largest);
        x[33] = -largest;
        const kernel::min_max_result result = kernel::min_max<Arch>(x.data(), x.size());
        CHECK(result.first_not_finite == 70);
        CHECK(result.min == -largest);
        CHECK(result.max == largest);
        for (std::size_t at = 0; at != 70; ++at) {
            std::vector<float> zeros(70, -0.0f);
            zeros[at] = 0.0f;
            CHECK(!std::signbit(kernel::min_max<Arch>(zeros.data(), 70).min));
            zeros.assign(70, -0.0f);
            CHECK(!std::signbit(kernel::min_max<Arch>(zeros.data(), 70).max));
        }
    });
}

TEST_CASE("min_max_per_channel: any channel count, inner extent and incomplete end; widens what is there") {
    arrays::for_each_architecture([]<class Arch>() {
        for (const std::size_t channels : {1u, 2u, 3u, 5u, 8u, 16u, 31u, 48u, 64u, 65u, 130u}) {
            for (const std::size_t inner : {1u, 2u, 9u, 40u}) {
                for (const std::size_t count : {std::size_t{0}, channels / 2, channels * inner,
                                                3 * channels * inner + inner / 2, channels * 200}) {
                    CAPTURE(channels);
                    CAPTURE(inner);
                    CAPTURE(count);
                    std::vector<float> x = arrays::reals(count, channels + inner);
                    if (count > 20) x[count - 3] = zp::infinity;
                    std::vector<float> mins(channels, zp::infinity), maxs(channels, -zp::infinity);
                    mins[channels / 2] = -3.9f;
                    maxs[channels / 2] = 5.0f;
                    std::vector<float> expected_mins = mins, expected_maxs = maxs;
                    std::size_t finite = 0;
                    for (; finite != count && std::isfinite(x[finite]); ++finite) {
                        const std::size_t c = finite / inner % channels;
                        expected_mins[c] = std::min(expected_mins[c], x[finite]);
                        expected_maxs[c] = std::max(expected_maxs[c], x[finite]);
                    }
                    CHECK(kernel::min_max_per_channel<Arch>(x.data(), count, channels, inner, mins.data(),
                                                            maxs.data()) == finite);
                    CHECK(mins == expected_mins);
                    CHECK(maxs == expected_maxs);
                }
            }
        }
    });
}

TEST_CASE("histogram: torch.histc's bins") {
    // torch.histc(torch.tensor([1., 2, 1, 4, -1, 5, 3.999999]), bins=4, min=0, max=4): the end belongs to the last bin.
    const std::vector<float> x = {1, 2, 1, 4, -1, 5, 3.999999f, not_a_number, -zp::infinity};
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> counts(4);
        CHECK(kernel::histogram<Arch>(x.data(), x.size(), 0.0f, 4.0f, 4, counts.data()) == 5);
        CHECK(counts == std::vector<float>{0, 2, 1, 2});
        std::vector<std::uint64_t> point(5);  // an empty range is widened by one on each side
        const std::vector<float> same(21, 3.0f);
        CHECK(kernel::histogram<Arch>(same.data(), 21, 3.0f, 3.0f, 5, point.data()) == 21);
        CHECK(point == std::vector<std::uint64_t>{0, 0, 21, 0, 0});
    });
}

TEST_CASE("histogram: every architecture counts as the float formula does, and adds") {
    struct range {
        float low, high;
        int bins;
    };
    for (const range& r : {range{-4.0f, 4.0f, 2048}, {-1.7f, 3.3f, 7}, {0.1f, 0.2f, 100}, {-3e38f, 3e38f, 5}}) {
        const float low = r.low, high = r.high;
        const int bins = r.bins;
        std::vector<float> x = arrays::reals(9001, 5, low - 0.01f, high + 0.01f);
        x.insert(x.begin() + 100, 300, 0.5f * low + 0.5f * high);
        x.push_back(high);
        x.push_back(low);
        std::vector<std::uint32_t> expected(static_cast<std::size_t>(bins), 3);
        std::size_t inside = 0;
        for (const float value : x) {
            if (!(value >= low && value <= high)) continue;
            volatile float offset = value - low, scaled = offset * static_cast<float>(bins), width = high - low;
            const float position = scaled / width;
            ++inside;
            ++expected[std::isnan(position) || position >= static_cast<float>(bins)
                           ? expected.size() - 1
                           : static_cast<std::size_t>(position)];
        }
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint32_t> counts(static_cast<std::size_t>(bins), 3);
            CHECK(kernel::histogram<Arch>(x.data(), x.size(), low, high, bins, counts.data()) == inside);
            CHECK(counts == expected);
        });
    }
}

TEST_CASE("histogram: counts in float stop at 2^24, few values and many") {
    arrays::for_each_architecture([]<class Arch>() {
        for (const std::size_t count : {3u, 5u, 100u}) {
            const std::vector<float> x(count, 0.5f);
            std::vector<float> counts = {0x1p24f - 4, 7, 0x1p24f};
            CHECK(kernel::histogram<Arch>(x.data(), count, 0.0f, 3.0f, 3, counts.data()) == count);
            CHECK(counts == std::vector<float>{std::min(0x1p24f, 0x1p24f - 4 + static_cast<float>(count)), 7, 0x1p24f});
        }
    });
}

TEST_CASE("histogram_from_zero: floor in exact arithmetic, from the smallest floats to the largest") {
    const float tiny = std::numeric_limits<float>::denorm_min();
    for (const int exponent : {-200, -150, -149, -130, -100, -12, 0, 3, 90, 120}) {
        const double per_value = std::ldexp(1.0, -exponent);
        constexpr std::int32_t first = -1000, bins = 2000;
        std::vector<float> x = {0.0f, -0.0f, tiny, -tiny, 3 * tiny, -3 * tiny, 1e-38f, -1e-38f, 1e-30f, -1e-30f};
        for (int bin = first; bin != first + bins; ++bin) {
            const auto edge = static_cast<float>(std::ldexp(bin, exponent));
            x.insert(x.end(), {edge, std::nextafter(edge, zp::infinity), std::nextafter(edge, -zp::infinity),
                               static_cast<float>(std::ldexp(bin + 0.75, exponent))});
        }
        std::vector<float> fitting;
        std::vector<std::uint64_t> expected(bins, 1);
        for (const float value : x) {
            const double position = std::floor(value * per_value);
            if (position < first || position >= first + bins) continue;
            fitting.push_back(value);
            ++expected[static_cast<std::size_t>(position - first)];
        }
        REQUIRE(fitting.size() > 3);
        for (const std::size_t count : {fitting.size(), fitting.size() / 2}) {
            if (count != fitting.size())
                for (std::size_t i = count; i != fitting.size(); ++i)
                    --expected[static_cast<std::size_t>(std::floor(fitting[i] * per_value) - first)];
            arrays::for_each_architecture([&]<class Arch>() {
                CAPTURE(exponent);
                std::vector<std::uint64_t> counts(bins, 1);
                kernel::histogram_from_zero<Arch>(fitting.data(), count, per_value, first, bins, counts.data());
                CHECK(counts == expected);
            });
        }
    }
}
