// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/observe/range_statistics.hpp>
#include <zeropoint/observe/state_bytes.hpp>

#include "../support/errors.hpp"
#include "every_observer.hpp"

namespace {

/// An observer of a user's that has nothing but numbers.
struct plain_observer {
    float largest = 0;
};

template <class O> void check_round_trip(const O& seen, int channels, int inner) {
    O source = seen, target;
    const std::vector<std::byte> bytes = zp::state_bytes(source);
    zp::set_state(target, bytes);
    CHECK(zp::state_bytes(target) == bytes);
    // It goes on as the one that was sent would.
    const std::vector<float> more = heavy_tails(240, 9);
    source.observe({more, channels, inner, "conv1"});
    target.observe({more, channels, inner, "conv1"});
    CHECK(zp::state_bytes(target) == zp::state_bytes(source));
    CHECK(zp::state_bytes(target) != bytes);
    for (const std::size_t length : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
        O other;
        const std::string said = zp_test::error_of([&] { zp::set_state(other, std::span(bytes).first(length)); });
        CHECK(said.find("set_state: ") == 0);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("state_bytes: an observer that was sent is the one that came", O, EVERY_CHOOSING_OBSERVER,
                   fixed_observer, zp::placeholder_observer) {
    O seen;
    seen.observe(batch(heavy_tails(500, 1)));
    seen.observe(batch(heavy_tails(300, 2)));
    check_round_trip(seen, 1, 1);
    O sent;
    zp::set_state(sent, zp::state_bytes(seen));
    CHECK(sent.samples() == 2);
    CHECK(sent.count() == 800);
    CHECK(sent.range() == seen.range());
    if constexpr (!std::is_same_v<O, zp::placeholder_observer>) CHECK(affine(sent) == affine(seen));
}

TEST_CASE_TEMPLATE("state_bytes: observers of channels", O, zp::per_channel_min_max_observer,
                   zp::moving_average_per_channel_min_max_observer<>, zp::per_channel_observer<zp::mse_observer<>>,
                   zp::per_channel_observer<zp::histogram_observer<>>, zp::range_statistics) {
    O seen;
    const std::vector<float> first = heavy_tails(480, 1), second = heavy_tails(240, 2);
    seen.observe({first, 4, 30, "conv1"});
    seen.observe({second, 4, 30, "conv1"});
    check_round_trip(seen, 4, 30);
}

TEST_CASE("state_bytes: plain structs byte by byte; bytes of something else are refused") {
    plain_observer a{3.5f}, b;
    zp::set_state(b, zp::state_bytes(a));
    CHECK(b.largest == 3.5f);
    CHECK(zp_test::error_of([&] { zp::set_state(b, std::vector<std::byte>(9)); }) ==
          "set_state: 5 bytes are left: expected those of state_bytes() of the same type");
    std::vector<float> values;
    CHECK(zp_test::error_of([&] { zp::set_state(values, std::vector<std::byte>(9, std::byte{1})); }).find("elements") !=
          std::string::npos);
}
