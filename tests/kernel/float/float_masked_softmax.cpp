// SPDX-License-Identifier: BSD-3-Clause
// Masked softmax in float: softmax of the columns that are kept, exactly 0 elsewhere, equal shares where none is kept.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/float/float_masked_softmax.hpp>

#include "../../support/arrays.hpp"

namespace kernel = zp::kernel;

TEST_CASE("masked softmax of floats: that of the kept columns in double, every length, in place") {
    for (std::size_t channels = 1; channels <= 150; ++channels) {
        const std::size_t rows = 1 + channels % 4, pitch = channels % 2 == 0 ? channels : 0;
        auto x = arrays::reals(rows * channels, channels, -20.0f, 90.0f);
        auto mask = arrays::reals(rows * channels, channels + 1000, -1, 1);
        arrays::generator next(channels);
        const float share = next.real(-1, 1);
        for (float& value : mask) value = value < share ? 0.0f : value;  // all of one row perhaps
        if (channels % 5 == 0) x[channels / 2] = std::numeric_limits<float>::max();
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(x.size()), z = x;
            kernel::masked_softmax<Arch>(x.data(), rows, channels, mask.data(), pitch, y.data());
            kernel::masked_softmax<Arch>(z.data(), rows, channels, mask.data(), pitch, z.data());
            CHECK(arrays::same_bits(z, y));
            for (std::size_t row = 0; row != rows; ++row) {
                const float *from = x.data() + row * channels, *kept = mask.data() + row * pitch;
                const bool keeps_none = std::all_of(kept, kept + channels, [](float value) { return value == 0; });
                double largest = -1e300, sum = 0;
                for (std::size_t i = 0; i != channels; ++i)
                    if (kept[i] != 0) largest = std::max(largest, double{from[i]});
                for (std::size_t i = 0; i != channels; ++i)
                    if (kept[i] != 0) sum += std::exp(double{from[i]} - largest);
                for (std::size_t i = 0; i != channels; ++i) {
                    const double found = double{y[row * channels + i]};
                    if (keeps_none) {
                        CHECK(found == doctest::Approx(1.0 / static_cast<double>(channels)));
                    } else if (kept[i] == 0) {
                        CHECK(found == 0);
                    } else {
                        const double logarithm = double{from[i]} - largest - std::log(sum);
                        CHECK(std::abs(found - std::exp(logarithm)) <=
                              1e-6 * (1 - logarithm) * std::exp(logarithm) + 1e-37);
                    }
                }
            }
            const std::vector<float> ones(channels, 1.0f);
            kernel::masked_softmax<Arch>(x.data(), rows, channels, ones.data(), 0, y.data());
            kernel::softmax<Arch>(x.data(), rows, channels, z.data());
            CHECK(arrays::same_bits(z, y));
        });
    }
}
