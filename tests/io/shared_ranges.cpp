// SPDX-License-Identifier: BSD-3-Clause
// Files of the time when a concat gave its range to all that it reads: they load, and give their integers.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/golden_file.hpp"
#include "shared_ranges_net.hpp"

using namespace shared_ranges_test;

TEST_CASE("int8 model: a file of shared ranges loads and gives its integers, and again as it is saved today") {
    const auto expected = zp::safetensors_file::read(zp_test::golden_path("shared_ranges"));
    for_each_file([&]<class Config>(const std::string& name) {
        using network = zp::quantized<net, Config>;
        CAPTURE(name);
        const auto loaded = zp::load<network>(zp_test::golden_path("shared_ranges_" + name));
        const auto again = zp::load<network>(zp::to_bytes(loaded));
        const auto all = expected.values<float>(expected.expect(name));
        static typename network::workspace memory;
        std::size_t at = 0;
        for (const auto& x : images(4, 8)) {
            std::vector<float> y(static_cast<std::size_t>(network::output_shape.size())), z(y.size());
            loaded(x, y, memory);
            again(x, z, memory);
            CHECK(std::equal(y.begin(), y.end(), all.begin() + static_cast<std::ptrdiff_t>(at)));
            CHECK(y == z);
            at += y.size();
        }
        CHECK(zp::to_bytes(again) == zp::to_bytes(loaded));
    });
}
TEST_CASE("int8 model: a file of shared ranges is not one of today") {
    const auto today = zp::convert(zp::calibrate(zp::prepare<unsigned_codes>(made_up::network<net>(6)), images(16, 7)));
    const auto then = zp::load<zp::quantized<net, unsigned_codes>>(zp_test::golden_path("shared_ranges_unsigned"));
    CHECK(zp::to_bytes(today) != zp::to_bytes(then));
}
