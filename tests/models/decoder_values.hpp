// SPDX-License-Identifier: BSD-3-Clause
// What decoders give for tokens, all at once and one a call, and how near that is to something.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <zeropoint/workflow/streaming.hpp>

namespace networks {

/// All at once.
template <class Network> std::vector<float> values_of(const Network& model, const std::vector<std::int32_t>& ids) {
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    model(ids, y, *std::make_unique<typename Network::workspace>());
    return y;
}
/// The same a token at a time.
template <class Network> std::vector<float> streamed(const Network& model, const std::vector<std::int32_t>& ids) {
    const auto stream = std::make_unique<zp::streaming<Network>>(model);
    std::vector<float> y;
    for (int pass = 0; pass != 2; ++pass) {  // what a sequence leaves is gone after a reset
        y.clear();
        stream->reset();
        for (const std::int32_t id : ids) {
            std::vector<float> values(static_cast<std::size_t>(Network::output_shape.channels));
            (*stream)(std::array{id}, values);
            y.insert(y.end(), values.begin(), values.end());
        }
    }
    return y;
}
/// The largest difference, of the largest value.
inline double difference(const std::vector<float>& y, const std::vector<float>& expected) {
    REQUIRE(y.size() == expected.size());
    double largest = 0, most = 0;
    for (std::size_t i = 0; i != y.size(); ++i) {
        largest = std::max(largest, std::abs(double{expected[i]}));
        most = std::max(most, std::abs(double{y[i]} - double{expected[i]}));
    }
    return most / largest;
}
inline double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double product = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i != a.size(); ++i) {
        product += double{a[i]} * double{b[i]};
        of_a += double{a[i]} * double{a[i]};
        of_b += double{b[i]} * double{b[i]};
    }
    return product / std::sqrt(of_a * of_b);
}

}  // namespace networks
