// SPDX-License-Identifier: BSD-3-Clause
// Attention, encoders and Elman cells in float against golden vectors made by PyTorch (scripts/golden/operators_attention.py).
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

namespace {

constexpr int model = 12, heads = 3, feed_forward = 20, hidden = 7, most = 9;

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("operators_attention");
    return file;
}
std::vector<float> values(const std::string& name) { return golden().values<float>(name); }

/// What may be apart: the order of PyTorch's sums, and its libm.
void check_near(const std::vector<float>& y, const std::string& group) {
    CAPTURE(group);
    const auto expected = values(group + "/y");
    REQUIRE(y.size() == expected.size());
    double largest = 0;
    for (std::size_t i = 0; i != y.size(); ++i)
        largest = std::max(largest, std::abs(double{y[i]} - double{expected[i]}));
    CHECK(largest < 5e-6);
}

template <class Layer> void compare(const Layer& layer, const std::string& group) {
    const auto memory = std::make_unique<typename Layer::workspace>();
    const auto x = values(group + "/x");
    std::vector<float> y(x.size());
    layer(x, y, *memory);
    check_near(y, group);
}

template <zp::rnn_nonlinearity Nonlinearity> void compare_rnn(const std::string& group) {
    constexpr zp::recurrent_options options{.bidirectional = true, .nonlinearity = Nonlinearity};
    using stack = zp::float_rnn<model, hidden, zp::default_architecture, 5, options>;
    zp::state_dict parameters = golden().parameters(group + "/");
    const stack layer(parameters);
    const auto memory = std::make_unique<typename stack::workspace>();
    typename stack::state state;
    std::vector<float> y(5 * 2 * hidden);
    layer(values(group + "/x"), state, y, *memory);
    check_near(y, group);
}

}  // namespace

TEST_CASE("attention parity: multi-head attention is near PyTorch's") {
    for (const std::string group : {"attention/0", "attention/1"}) {
        zp::state_dict parameters = golden().parameters(group + "/");
        compare(zp::multi_head_attention<model, heads, most, zp::float_policy>(parameters), group);
    }
}

TEST_CASE("attention parity: encoders are near PyTorch's") {
    constexpr zp::transformer behind{model, heads, feed_forward};
    constexpr zp::transformer first{model, heads, feed_forward, zp::feed_forward_activation::gelu, true};
    zp::state_dict zero = golden().parameters("encoder/0/"), one = golden().parameters("encoder/1/");
    compare(zp::transformer_encoder<behind, 2, most, zp::float_policy>(zero), "encoder/0");
    compare(zp::transformer_encoder<first, 2, most, zp::float_policy>(one), "encoder/1");
}

TEST_CASE("attention parity: Elman cells are near PyTorch's") {
    compare_rnn<zp::rnn_nonlinearity::tanh>("rnn_tanh/0");
    compare_rnn<zp::rnn_nonlinearity::relu>("rnn_relu/0");
}
