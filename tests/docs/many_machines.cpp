// SPDX-License-Identifier: BSD-3-Clause
// The code of the page on programs for many machines.
#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <span>

// [declared]
#include <zeropoint/kernel/machine/machine.hpp>

struct sum_of_squares {
    template <class Arch> int operator()(Arch, std::span<const int> values) const;
};
// [/declared]

namespace {

// [called]
int run(std::span<const int> values) {
    const zp::dispatched<sum_of_squares> sum;  // chooses; raises zp::machine_error where nothing suits
    return sum(values);
}
// [/called]

}  // namespace

TEST_CASE("docs: a function compiled once an architecture") {
    CHECK(run(std::array{1, 2, 3}) == 14);
    CHECK(zp::dispatched<sum_of_squares>().architecture() == zp::name_of<zp::default_architecture>());
}

// [defined]
template <class Arch> int sum_of_squares::operator()(Arch, std::span<const int> values) const {
    return std::inner_product(values.begin(), values.end(), values.begin(),
                              0);  // or what takes Arch as a template argument
}
template int sum_of_squares::operator()(zp::default_architecture, std::span<const int>) const;
// [/defined]
