// SPDX-License-Identifier: BSD-3-Clause
// What the codes of a table mean in training.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>

#include <zeropoint/training/coded_parameters.hpp>

TEST_CASE("coded parameters: two codes of 4 bits a byte, rows of whole bytes") {
    zp::parameter_array table{};
    table.role = zp::parameter_role::table;
    table.rank = 2;
    table.extents[0] = 2;
    table.extents[1] = 3;
    const zp::coded_array coding{
        .storage = zp::scalar_type::uint8, .quant_min = 0, .quant_max = 15, .has_scales = true, .has_offsets = true};
    zp::quantized_weights weights;
    weights.codes = {std::byte{0x21}, std::byte{0x03}, std::byte{0xF4}, std::byte{0x06}};
    weights.scales = {0.5f, 2.0f};
    weights.offsets = {1.0f, -1.0f};
    std::array<float, 6> values{};
    zp::detail::floats_of_codes<zp::default_architecture>(table, coding, weights, {}, values.data());
    CHECK(values == std::array<float, 6>{1.5f, 2.0f, 2.5f, 7.0f, 29.0f, 11.0f});
}
