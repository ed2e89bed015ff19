// SPDX-License-Identifier: BSD-3-Clause
// Products with 4-bit weights in groups: the bits of the definition, over odd extents and extreme codes, beside unreadable pages.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/dynamic/nibble_product.hpp>
#include <zeropoint/kernel/reference/nibble_product.hpp>

#include "../../support/arrays.hpp"
#include "../../support/guarded_memory.hpp"

namespace {

namespace kernel = zp::kernel;

std::size_t size_of(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

struct problem {
    int rows, depth, channels, group;
    bool has_minimum;
    std::vector<float> x, scales, offsets, bias;
    std::vector<int> codes;

    kernel::nibble_layout layout() const { return {depth, channels, group, has_minimum}; }
    std::vector<std::byte> code_bytes() const {
        std::vector<std::byte> bytes;
        for (const int code : codes) bytes.push_back(static_cast<std::byte>(code));
        return bytes;
    }
    std::vector<float> expected() const {
        std::vector<float> y;
        const auto inputs = static_cast<std::size_t>(depth), groups = static_cast<std::size_t>(layout().groups);
        for (std::size_t row = 0; row != static_cast<std::size_t>(rows); ++row)
            for (std::size_t c = 0; c != static_cast<std::size_t>(channels); ++c)
                y.push_back(kernel::reference::nibble_product(
                    x.data() + row * inputs, inputs, codes.data() + c * inputs, scales.data() + c * groups,
                    has_minimum ? offsets.data() + c * groups : nullptr, static_cast<std::size_t>(group), bias[c]));
        return y;
    }
};

/// Codes: random where `code` is null, else all of them that one.
problem make(int rows, int depth, int channels, int group, bool has_minimum, std::uint64_t seed,
             const int* code = nullptr) {
    problem p{rows, depth, channels, group, has_minimum, {}, {}, {}, {}, {}};
    const std::size_t groups = size_of(channels, p.layout().groups);
    p.x = arrays::reals(size_of(rows, depth), seed, -2, 3);
    p.scales = arrays::reals(groups, seed + 1, 0.001f, 0.1f);
    p.offsets = arrays::reals(groups, seed + 2, -1, 0);
    p.bias = arrays::reals(size_of(1, channels), seed + 3, -5, 5);
    for (float& scale : p.scales) scale = zp::rounded_to_float16(scale);
    for (float& offset : p.offsets) offset = zp::rounded_to_float16(offset);
    arrays::generator next(seed);
    for (std::size_t i = 0; i != size_of(channels, depth); ++i)
        p.codes.push_back(code != nullptr ? *code : has_minimum ? next.integer(0, 15) : next.integer(-8, 7));
    return p;
}

template <int Group, bool HasMinimum> void compare(const problem& p) {
    CAPTURE(p.rows);
    CAPTURE(p.depth);
    CAPTURE(p.channels);
    const auto layout = p.layout();
    const std::vector<std::byte> codes = p.code_bytes();
    zp::aligned_buffer packed(layout.bytes);
    kernel::pack_nibbles(layout, codes.data(), p.scales.data(), p.offsets.data(), p.bias.data(), packed.data());

    std::vector<std::byte> codes_again(codes.size());
    std::vector<float> scales(p.scales.size()), offsets(p.offsets.size()), bias(p.bias.size());
    kernel::unpack_nibbles(layout, packed.data(), codes_again.data(), scales.data(), offsets.data(), bias.data());
    CHECK(codes_again == codes);
    CHECK(scales == p.scales);
    CHECK(bias == p.bias);
    if (HasMinimum) CHECK(offsets == p.offsets);

    const auto expected = p.expected();
    const std::size_t room = 1 << 18, scratch_bytes = kernel::nibble_scratch(layout, p.rows).bytes;
    static const zp_test::guarded_memory for_x(room), for_weights(room), for_y(room), for_scratch(room);
    for (const auto end : {zp_test::guard::before, zp_test::guard::behind}) {
        auto* x = for_x.place(4 * p.x.size(), end);
        auto* weights = for_weights.place(layout.bytes, end);
        auto* y = for_y.place(4 * expected.size(), end);
        auto* scratch = for_scratch.place(scratch_bytes, end);
        REQUIRE((x != nullptr && weights != nullptr && y != nullptr && scratch != nullptr));
        std::memcpy(x, p.x.data(), 4 * p.x.size());
        std::memcpy(weights, packed.data(), layout.bytes);
        arrays::for_each_architecture([&]<class Arch>() {
            std::memset(y, 0x7f, 4 * expected.size());
            kernel::nibble_product<Arch, Group, HasMinimum>(layout, reinterpret_cast<const float*>(x), p.rows, weights,
                                                            reinterpret_cast<float*>(y), scratch);
            std::vector<float> found(expected.size());
            std::memcpy(found.data(), y, 4 * found.size());
            CHECK(arrays::same_bits(found, expected));
            std::vector<float> sums;  // with what lies in the place of the outputs
            for (std::size_t i = 0; i != found.size(); ++i) {
                const float other = static_cast<float>(i % 7) - 3.0f;
                sums.push_back(other + expected[i]);
                std::memcpy(y + 4 * i, &other, sizeof other);
            }
            auto* outputs = reinterpret_cast<float*>(y);
            kernel::nibble_product<Arch, Group, HasMinimum>(layout, reinterpret_cast<const float*>(x), p.rows, weights,
                                                            outputs, scratch, outputs);
            std::memcpy(found.data(), y, 4 * found.size());
            CHECK(arrays::same_bits(found, sums));
        });
    }
}

template <int Group> void compare_random(std::uint64_t seed) {
    arrays::generator next(seed);
    for (int i = 0; i != zp_test::fewer(60); ++i) {
        const int rows = next.integer(1, 13), depth = next.integer(1, 300), channels = next.integer(1, 100);
        compare<Group, false>(make(rows, depth, channels, Group, false, seed * 1000 + static_cast<std::uint64_t>(i)));
        compare<Group, true>(make(rows, depth, channels, Group, true, seed * 2000 + static_cast<std::uint64_t>(i)));
    }
}

}  // namespace

TEST_CASE("nibble_product: the bits of the definition, whatever the extents") {
    compare_random<32>(1);
    compare_random<64>(2);
    compare_random<128>(3);
}

TEST_CASE("nibble_product: so many rows and inputs that tiles come in several parts") {
    for (const int rows : {12, 14, 25, 28, 64, 71}) {
        const auto seed = static_cast<std::uint64_t>(rows);
        compare<32, false>(make(rows, 551, 45, 32, false, seed));
        compare<32, true>(make(rows, 551, 45, 32, true, seed));
        compare<128, false>(make(rows, 700, 32, 128, false, seed));
        compare<128, true>(make(rows, 700, 3, 128, true, seed));
        compare<512, false>(make(rows, 520, 33, 512, false, seed));
        compare<1024, true>(make(rows, 600, 33, 1024, true, seed));
    }
}

TEST_CASE(
    "nibble_product: tiles of eight rows and what is left of them, groups of 128 with a minimum, odd ends of each "
    "extent") {
    const int highest = 15;
    for (const auto& [rows, depth, channels] :
         {std::array{32, 128, 16}, {33, 129, 33}, {39, 255, 31}, {40, 257, 17}, {41, 383, 1}, {47, 385, 65}}) {
        compare<128, true>(make(rows, depth, channels, 128, true, static_cast<std::uint64_t>(depth)));
        compare<128, true>(make(rows, depth, channels, 128, true, static_cast<std::uint64_t>(depth), &highest));
        compare<64, true>(make(rows, depth, channels, 64, true, static_cast<std::uint64_t>(rows)));
        // Sums of codes of 14 bits, whose products with a minimum of 11 have to be rounded before they are taken off.
        problem large_sums = make(rows, depth, channels, 128, true, static_cast<std::uint64_t>(rows));
        for (float& x : large_sums.x) x = 2 + x / 8;
        compare<128, true>(large_sums);
    }
}

TEST_CASE("nibble_product: the largest sums of both signs") {
    for (const int code : {-8, 7}) {
        for (const int rows : {1, 5, 16, 32}) {
            problem p = make(rows, 256, 33, 32, false, 4, &code);
            for (std::size_t i = 0; i != p.x.size(); ++i) p.x[i] = i % 512 < 256 ? -3.0f : 3.0f;
            compare<32, false>(p);
            p.group = 128;
            p.scales.resize(33 * 2);
            compare<128, false>(p);
        }
    }
    const int highest = 15;
    for (const int rows : {1, 5, 16, 32}) {
        problem p = make(rows, 256, 33, 32, true, 5, &highest);
        for (std::size_t i = 0; i != p.x.size(); ++i) p.x[i] = i % 3 == 0 ? 3.0f : -3.0f;
        std::fill(p.scales.begin(), p.scales.end(), kernel::largest_group_scale);
        p.offsets.back() = -kernel::largest_group_scale;
        p.scales.front() = kernel::least_group_scale;
        compare<32, true>(p);
        // All of one sign: 15 * 127 * 128, the largest sum that floats a sixteenth apart hold.
        problem one_sign = make(rows, 256, 33, 128, true, 5, &highest);
        std::fill(one_sign.x.begin(), one_sign.x.end(), rows == 5 ? -3.0f : 3.0f);
        compare<128, true>(one_sign);
        one_sign.group = 256;  // more than they hold
        one_sign.scales.resize(33);
        one_sign.offsets.resize(33);
        compare<256, true>(one_sign);
    }
}

TEST_CASE("nibble_product: the largest group that tiles take, and the largest of all") {
    for (const int code : {-8, 15})
        for (const int rows : {3, 29}) {
            problem p = make(rows, 512, 33, 512, code == 15, 7, &code);
            for (std::size_t i = 0; i != p.x.size(); ++i) p.x[i] = i % 1024 < 512 ? -3.0f : 3.0f;
            if (code == 15) compare<512, true>(p);
            else compare<512, false>(p);
        }
    for (const int code : {-8, 15}) {
        constexpr int largest = kernel::largest_nibble_group;
        problem p = make(2, largest, 3, largest, code == 15, 8, &code);
        for (std::size_t i = 0; i != p.x.size(); ++i) p.x[i] = i < largest ? -3.0f : 3.0f;
        if (code == 15) compare<largest, true>(p);
        else compare<largest, false>(p);
    }
}

TEST_CASE("nibble_product: zeros give the bias, what is not finite NaN in its row alone") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    problem p = make(3, 70, 40, 32, false, 6);
    std::fill_n(p.x.begin(), 70, 0.0f);
    p.x[100] = infinity;
    for (float& tiny : p.x)
        if (&tiny >= p.x.data() + 140) tiny *= 1e-38f;
    compare<32, false>(p);
    const auto y = p.expected();
    CHECK(std::equal(p.bias.begin(), p.bias.end(), y.begin()));
    CHECK((std::isnan(y[40]) && std::isnan(y[79]) && std::isfinite(y[80])));
}
