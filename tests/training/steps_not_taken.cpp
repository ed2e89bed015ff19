// SPDX-License-Identifier: BSD-3-Clause
// A step whose gradient or weights are not finite: which array is named, and that all values are those of before, wherever it was found.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"
#include "../support/nodes.hpp"

namespace {

// More weights than the optimizer takes at once, of each layer.
struct net : zp::model<zp::input<1, 1, 70>, zp::linear<"first", 90>, zp::relu, zp::linear<"second", 80>, zp::relu,
                       zp::linear<"third", 3>> {};
constexpr std::size_t samples = 6;

struct trial {
    decltype(zp::fuse(made_up::network<net>(1))) network = zp::fuse(made_up::network<net>(1));
    std::vector<std::vector<float>> inputs = made_up::inputs<net>(samples);
    std::vector<int> labels = {0, 1, 2, 2, 1, 0};

    trial() {
        for (std::vector<float>& input : inputs) input.back() = 0;  // weights of the last input may be anything
    }
    std::span<float> array(int row, int number = 0) {
        return zp_test::array_of(network, network.rows()[static_cast<std::size_t>(row)], number);
    }
    std::vector<std::byte> bytes() const {
        return {network.parameters(), network.parameters() + zp::fused<net>::parameter_bytes};
    }
    /// What training says, of which nothing may be left.
    std::string says(const zp::training_options& options) {
        const std::vector<std::byte> before = bytes();
        const std::string sentence =
            zp_test::error_of([&] { zp::train(network, zp::labelled(inputs, labels), options); });
        CHECK(bytes() == before);
        return sentence;
    }
};

}  // namespace

TEST_CASE("train: a weight that leaves the floats takes back the step of all") {
    for (const std::size_t unit : {std::size_t{0}, std::size_t{30}, std::size_t{89}}) {
        trial t;
        t.array(1)[unit * 70 + 69] = 3e38f;  // becomes three times as much, with the other sign
        const std::string sentence =
            t.says({.batch = 6, .optimizer = zp::sgd{.lr = 1, .momentum = 0.5, .weight_decay = 4}});
        CHECK(sentence.find("train: epoch 0, batch 0: expected finite numbers, but the weight of first.weight has NaN "
                            "or infinity; the step was not taken") == 0);
    }
}

TEST_CASE("train: a gradient is named before a weight in front of it") {
    trial t;
    t.array(1)[69] = 3e38f;
    for (const std::span<float> array : {t.array(2), t.array(2, 1), t.array(3)})
        for (float& value : array) value *= 1e-3f;  // gradients of weights stay small
    const zp::own_loss too_steep = [](const zp::loss_rows& rows) {
        std::fill(rows.gradient.begin(), rows.gradient.end(), 1e38f);  // six of them are infinity
        return 0.0;
    };
    const zp::training_options options{.batch = 6, .optimizer = zp::sgd{.lr = 1, .weight_decay = 4}, .loss = too_steep};
    CHECK(t.says(options).find("the gradient of third.bias has NaN or infinity") != std::string::npos);
    zp::training_options clipped = options;
    clipped.clip_norm = 1;
    CHECK(t.says(clipped).find("the gradient of third.bias has NaN or infinity") != std::string::npos);
    zp::training_options adam = options;
    adam.optimizer = zp::adam{.lr = 1};
    CHECK(t.says(adam).find("the gradient of third.bias has NaN or infinity") != std::string::npos);
}
