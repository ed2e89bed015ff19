// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/code_moments.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

template <class T> kernel::code_sums plain_sums(const T* x, std::size_t count, std::size_t stride) {
    kernel::code_sums sums;
    for (std::size_t i = 0; i != count; ++i) {
        const std::int64_t code = std::int64_t{x[i * stride]} - std::numeric_limits<T>::min();
        sums.sum += code;
        sums.squares += code * code;
    }
    return sums;
}

}  // namespace

TEST_CASE_TEMPLATE("sum_codes: every length, unaligned, and the highest codes where partial sums end", T, std::uint8_t,
                   std::int8_t) {
    for (std::size_t count = 0; count <= 300; ++count) {
        const auto x = arrays::codes<T>(count + 1, count);
        arrays::for_each_architecture([&]<class Arch>() {
            CHECK(kernel::sum_codes<Arch>(x.data() + 1, count) == plain_sums(x.data() + 1, count, 1));
        });
    }
    for (const std::size_t count : {127u * 16, 128u * 16, 128u * 32 + 5, 128u * 64, 128u * 128 + 1, 100000u}) {
        const std::vector<T> highest(count, std::numeric_limits<T>::max());
        arrays::for_each_architecture([&]<class Arch>() {
            CHECK(kernel::sum_codes<Arch>(highest.data(), count) == plain_sums(highest.data(), count, 1));
        });
    }
}

TEST_CASE_TEMPLATE("sum_codes_of_channels: every number of channels, pixels around the length of a partial sum", T,
                   std::uint8_t, std::int8_t) {
    const auto compare = [](const std::vector<T>& x, std::size_t pixels, std::size_t stride, std::size_t count) {
        std::vector<kernel::code_sums> expected(count);
        for (std::size_t c = 0; c != count; ++c) expected[c] = plain_sums(x.data() + c, pixels, stride);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<kernel::code_sums> sums(count, {7, 7});
            kernel::sum_codes_of_channels<Arch>(x.data(), pixels, stride, count, sums.data());
            CHECK(sums == expected);
        });
    };
    for (std::size_t count = 1; count <= 100; ++count) {
        const std::size_t pixels = 1 + count % 11, stride = count + count % 5;
        compare(arrays::codes<T>(pixels * stride, count), pixels, stride, count);
    }
    for (const std::size_t pixels : {255u, 256u, 257u, 513u, 70000u})
        compare(std::vector<T>(pixels * 33, std::numeric_limits<T>::max()), pixels, 33, 33);
}
