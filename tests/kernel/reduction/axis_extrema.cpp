// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/axis_extrema.hpp>
#include <zeropoint/kernel/reference/reduction.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

std::size_t size_of(const zp::shape& s) { return static_cast<std::size_t>(s.size()); }

template <class T> void check(const zp::shape& in, const zp::shape& out, const std::vector<T>& x) {
    std::vector<T> largest(size_of(out)), smallest(size_of(out));
    kernel::reference::extremum_along(in, out, true, x.data(), largest.data());
    kernel::reference::extremum_along(in, out, false, x.data(), smallest.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(size_of(out) + 2, T{77});
        kernel::extremum_along<Arch, kernel::larger_of>(in, out, x.data(), y.data() + 1);
        CHECK(std::equal(largest.begin(), largest.end(), y.begin() + 1));
        kernel::extremum_along<Arch, kernel::smaller_of>(in, out, x.data(), y.data() + 1);
        CHECK(std::equal(smallest.begin(), smallest.end(), y.begin() + 1));
        CHECK(y.front() == T{77});
        CHECK(y.back() == T{77});
    });
}

}  // namespace

TEST_CASE("extremum_along: random problems, all sets of axes") {
    zp_test::generator next(81);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const int kind = next.integer(0, 5);
        zp::shape in{next.integer(1, 9), next.integer(1, 9), next.integer(1, 70)};
        if (kind == 0) in = {next.integer(1, 40), next.integer(1, 40), next.integer(1, 3)};
        if (kind == 1) in.channels = next.integer(100, 300);
        const zp::shape out{(i & 1) != 0 ? 1 : in.height, (i & 2) != 0 ? 1 : in.width, (i & 4) != 0 ? 1 : in.channels};
        check(in, out, arrays::reals(size_of(in), next()));
        // Codes in a narrow range: at the ends of the whole one every extremum would be an end.
        const int low = next.integer(-128, 100), high = next.integer(low, 127);
        std::vector<std::int8_t> x(size_of(in));
        for (std::int8_t& code : x) code = static_cast<std::int8_t>(next.integer(low, high));
        check(in, out, x);
        check(in, out, std::vector<std::uint8_t>(x.begin(), x.end()));
    }
}

TEST_CASE("extremum_along: the extremum stands anywhere, alone") {
    for (int channels = 1; channels <= 140; channels += channels < 70 ? 1 : 23)
        for (int at = 0; at != channels; ++at) {
            std::vector<std::uint8_t> high(static_cast<std::size_t>(channels), 7), low = high;
            high[static_cast<std::size_t>(at)] = 8;
            low[static_cast<std::size_t>(at)] = 6;
            std::uint8_t y = 0;
            kernel::extremum_along<zp::default_architecture, kernel::larger_of>({1, 1, channels}, {1, 1, 1},
                                                                                high.data(), &y);
            CHECK(y == 8);
            kernel::extremum_along<zp::default_architecture, kernel::smaller_of>({1, 1, channels}, {1, 1, 1},
                                                                                 low.data(), &y);
            CHECK(y == 6);
        }
}

TEST_CASE("extremum_along: a NaN is chosen, wherever it stands") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t at = 0; at != 57; ++at) {
        std::vector<float> x(57, 1.0f);
        x[at] = nan;
        float of_run = 0;
        std::vector<float> of_rows(19);
        kernel::extremum_along<zp::default_architecture, kernel::larger_of>({3, 1, 19}, {1, 1, 1}, x.data(), &of_run);
        kernel::extremum_along<zp::default_architecture, kernel::smaller_of>({3, 1, 19}, {1, 1, 19}, x.data(),
                                                                             of_rows.data());
        CHECK(std::isnan(of_run));
        for (std::size_t c = 0; c != 19; ++c) CHECK(std::isnan(of_rows[c]) == (c == at % 19));
    }
}
