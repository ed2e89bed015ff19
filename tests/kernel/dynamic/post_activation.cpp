// SPDX-License-Identifier: BSD-3-Clause
// What follows a linear layer: the scalar function of each value, whatever the vectors.
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/dynamic/post_activation.hpp>

#include "../../support/arrays.hpp"

namespace kernel = zp::kernel;

TEST_CASE("linear_after: apply_after is the function of each value") {
    for (const std::size_t count : {1u, 7u, 16u, 53u}) {
        auto x = arrays::reals(count, count, -6, 6);
        const auto others = arrays::reals(count, count + 1);
        x[count / 2] = std::numeric_limits<float>::quiet_NaN();
        x[0] = -0.0f;
        arrays::for_each_architecture([&]<class Arch>() {
            auto gelu = x, relu = x, sum = x, same = x;
            kernel::apply_after<Arch>(kernel::gelu_of_it(), gelu.data(), count);
            kernel::apply_after<Arch>(kernel::bounded_by{0.0f, std::numeric_limits<float>::infinity()}, relu.data(),
                                      count);
            kernel::apply_after<Arch>(kernel::added_to{others.data()}, sum.data(), count);
            kernel::apply_after<Arch>(kernel::as_it_is(), same.data(), count);
            for (std::size_t i = 0; i != count; ++i) {
                CAPTURE(i);
                if (std::isnan(x[i])) {
                    CHECK(relu[i] == 0.0f);
                    for (const auto* y : {&gelu, &sum, &same}) CHECK(std::isnan((*y)[i]));
                    continue;
                }
                CHECK(gelu[i] == kernel::bounded_gelu(x[i]));
                CHECK(relu[i] == (x[i] > 0 ? x[i] : 0.0f));
                CHECK(sum[i] == others[i] + x[i]);
                CHECK(same[i] == x[i]);
            }
        });
    }
}
