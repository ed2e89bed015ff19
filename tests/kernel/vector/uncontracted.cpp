// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/vector/uncontracted.hpp>

#include "../../support/arrays.hpp"

// A product that is exact in 48 bits minus its own float: fused, the rest remains; rounded on its own, nothing does.
TEST_CASE("rounded: products are not fused with the sums behind them") {
    const std::vector<float> a = arrays::reals(64, 1), b = arrays::reals(64, 2);
    for (std::size_t i = 0; i != a.size(); ++i) {
        volatile float product = a[i] * b[i];
        const float once = product;
        CHECK(zp::kernel::rounded(a[i] * b[i]) - once == 0.0f);
    }
    arrays::for_each_architecture([&]<class Arch>() {
        if constexpr (zp::has_vectors<Arch>) {
            using floats = xsimd::batch<float, Arch>;
            for (std::size_t i = 0; i != a.size(); i += floats::size) {
                float once[floats::size];
                for (std::size_t lane = 0; lane != floats::size; ++lane) {
                    volatile float product = a[i + lane] * b[i + lane];
                    once[lane] = product;
                }
                const floats x = floats::load_unaligned(a.data() + i), y = floats::load_unaligned(b.data() + i);
                const floats rest = zp::kernel::rounded(x * y) - floats::load_unaligned(once);
                CHECK(xsimd::all(rest == floats(0.0f)));
            }
        }
    });
}
