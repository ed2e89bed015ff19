// SPDX-License-Identifier: BSD-3-Clause
// Masked softmax of codes: the reference's codes of the columns that are kept, the code of 0 elsewhere.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/normalize/masked_softmax.hpp>
#include <zeropoint/kernel/reference/softmax.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

/// By the reference of softmax: over a row's kept columns alone, and over equal codes where it keeps none.
template <class T>
std::vector<T> expected_row(const T* x, const T* mask, T zero, std::size_t channels, float x_scale, float y_scale,
                            const kernel::output_codes& codes) {
    std::vector<T> kept, found;
    for (std::size_t i = 0; i != channels; ++i)
        if (mask[i] != zero) kept.push_back(x[i]);
    const bool keeps_none = kept.empty();
    if (keeps_none) kept.assign(channels, T{3});
    found.resize(kept.size());
    kernel::reference::softmax(kept.data(), 1, kept.size(), x_scale, y_scale, codes.zero_point, codes.min, codes.max,
                               found.data());
    if (keeps_none) return found;
    std::vector<T> all(channels, static_cast<T>(std::clamp(codes.zero_point, codes.min, codes.max)));
    std::size_t next = 0;
    for (std::size_t i = 0; i != channels; ++i)
        if (mask[i] != zero) all[i] = found[next++];
    return all;
}

template <class T> void check(std::uint64_t seed) {
    arrays::generator next(seed);
    const int lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    const auto channels =
        static_cast<std::size_t>(next.integer(0, 5) == 0 ? next.integer(250, 700) : next.integer(1, 90));
    const std::size_t rows = 3, pitch = next.integer(0, 1) == 0 ? 0 : channels;
    const float x_scale = std::exp2(next.real(-12.0f, 2.0f)), y_scale = 1.0f / 256;
    const kernel::output_codes codes{next.integer(0, 3) == 0 ? next.integer(lowest, highest) : lowest, lowest, highest};
    const auto zero = static_cast<T>(next.integer(lowest, highest));
    const auto x = arrays::codes<T>(rows * channels, seed);
    auto mask = arrays::codes<T>(rows * channels, seed + 500);
    for (std::size_t i = 0; i != mask.size(); ++i)
        if (i < channels && next.integer(0, 3) == 0) mask[i] = zero;
        else if (i < 2 * channels || next.integer(0, 1) == 0) mask[i] = zero;  // the second row keeps none
    std::vector<std::int32_t> table(kernel::softmax_table_size);
    kernel::make_softmax_table(x_scale, table.data());
    std::vector<T> expected;
    for (std::size_t row = 0; row != rows; ++row) {
        const auto one =
            expected_row(x.data() + row * channels, mask.data() + row * pitch, zero, channels, x_scale, y_scale, codes);
        expected.insert(expected.end(), one.begin(), one.end());
    }
    const std::vector<T> all_kept(channels, static_cast<T>(zero == highest ? lowest : zero + 1));
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(x.size()), in_place = x, plain(x.size());
        kernel::masked_softmax<Arch>(x.data(), rows, channels, kernel::code_mask<T>{mask.data(), zero, pitch},
                                     table.data(), y_scale, codes, y.data());
        CHECK(y == expected);
        kernel::masked_softmax<Arch>(in_place.data(), rows, channels, kernel::code_mask<T>{all_kept.data(), zero, 0},
                                     table.data(), y_scale, codes, in_place.data());
        kernel::softmax<Arch>(x.data(), rows, channels, table.data(), y_scale, codes, plain.data());
        CHECK(in_place == plain);
    });
}

}  // namespace

TEST_CASE("masked softmax of codes: the reference over kept columns, softmax's codes where all are kept") {
    for (std::uint64_t seed = 0; seed != static_cast<std::uint64_t>(zp_test::fewer(120)); ++seed) {
        CAPTURE(seed);
        check<std::uint8_t>(seed);
        check<std::int8_t>(seed);
    }
}
