// SPDX-License-Identifier: BSD-3-Clause
// Parameters of recurrent layers and encoders out of a file, by PyTorch's names, and what is said where they are not right.
#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/io/safetensors.hpp>
#include <zeropoint/io/state_dict.hpp>
#include <zeropoint/layer/recurrent.hpp>

#include "../support/made_up.hpp"

namespace {

using stack = zp::float_gru<4, 3>;

/// A GRU of 4 inputs and 3 outputs under "rnn.", but for the tensor `wrong`, which has `shape` or is left out.
zp::safetensors_file file_of(const std::string& wrong = "", const zp::file_shape& shape = {}) {
    zp::safetensors_writer writer;
    const auto add = [&](const std::string& name, zp::file_shape extents) {
        if (name == wrong) extents = shape;
        if (extents.empty()) return;
        std::size_t size = 1;
        for (const auto extent : extents) size *= static_cast<std::size_t>(extent);
        writer.add("rnn." + name, extents, made_up::values(size, size));
    };
    add("weight_ih_l0", {9, 4});
    add("weight_hh_l0", {9, 3});
    add("bias_ih_l0", {9});
    add("bias_hh_l0", {9});
    return zp::safetensors_file::parse(writer.bytes(), "gru.safetensors");
}

std::string error_of(const zp::safetensors_file& file) {
    try {
        zp::state_dict parameters(file, "rnn.");
        const stack layers(parameters);
        parameters.expect_nothing_else();
    } catch (const zp::error& error) { return error.what(); }
    return "no error";
}

}  // namespace

TEST_CASE("state_dict: a GRU out of a file is that of the spans") {
    const auto file = file_of();
    zp::state_dict parameters(file, "rnn.");
    const stack layers(parameters);
    parameters.expect_nothing_else();
    const stack layer(made_up::values(36, 36), made_up::values(27, 27), made_up::values(9, 9), made_up::values(9, 9));
    const auto x = made_up::values(4, 5);
    std::vector<float> y(3), expected(3);
    const auto memory = std::make_unique<stack::workspace>();
    stack::state state;
    layers(x, state, y, *memory);
    stack::state other;
    layer(x, other, expected, *memory);
    CHECK(y == expected);
}

TEST_CASE("state_dict: what is not there, not of the shape, or nobody's") {
    CHECK(error_of(file_of()) == "no error");
    CHECK(
        error_of(file_of("weight_hh_l0")).find("gru.safetensors: expected a tensor \"rnn.weight_hh_l0\", found none") ==
        0);
    const std::string shape = error_of(file_of("weight_ih_l0", {9, 5}));
    CHECK(shape.find("rnn.weight_ih_l0") != std::string::npos);
    CHECK(shape.find("[9, 4]") != std::string::npos);
    CHECK(shape.find("[9, 5]") != std::string::npos);
    CHECK(error_of(file_of("bias_hh_l0")) ==
          "alone: expected all biases of a layer or none, found bias_ih_l0 and no bias_hh_l0");
    const auto file = file_of();
    zp::state_dict parameters(file, "rnn.");
    parameters("bias_ih_l0", 9);
    bool raised = false;
    try {
        parameters.expect_nothing_else();
    } catch (const zp::file_error&) { raised = true; }
    CHECK(raised);
}
