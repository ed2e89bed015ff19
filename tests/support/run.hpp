// SPDX-License-Identifier: BSD-3-Clause
// What a network makes of one input.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace zp_test {

template <class Network, class Input> std::vector<float> run(const Network& network, const Input& x) {
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    network(x, y, *std::make_unique<typename Network::workspace>());
    return y;
}

}  // namespace zp_test
