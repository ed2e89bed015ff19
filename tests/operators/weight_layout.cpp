// SPDX-License-Identifier: BSD-3-Clause
// Weights between a file's order (PyTorch's) and the library's, for convolutions, linear layers and flattened images.
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include <zeropoint/operators/common.hpp>

namespace {

struct rows {
    zp::node all[4];
    zp::builder b{all, 4};

    /// The filters of node i.
    zp::parameter_array weight(int i) const { return zp::parameters_of({all, all[i]}).arrays[0]; }
    std::vector<int> weight_shape(int i) const {
        const zp::parameter_array array = weight(i);
        return {array.extents, array.extents + array.rank};
    }
};
template <class T> std::vector<T> counting(int count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), T{0});
    return values;
}

/// Where element `inside` of the library's order stands in the file.
template <class Where> void check(const zp::parameter_array& weight, Where where) {
    const std::vector<std::int16_t> file = counting<std::int16_t>(weight.size());
    std::vector<std::int16_t> inside(file.size()), back(file.size());
    zp::array_from_file(weight, file.data(), inside.data());
    for (std::size_t i = 0; i != inside.size(); ++i) CHECK(inside[i] == where(static_cast<int>(i)));
    zp::array_to_file(weight, inside.data(), back.data());
    CHECK(back == file);
}

}  // namespace

TEST_CASE("weight layout: a grouped convolution is out x in x height x width in files, channels innermost inside") {
    rows r;
    r.b.conv2d(r.b.input({5, 5, 6}), "c", {.out_channels = 4, .kernel = {2, 3}, .groups = 2});
    CHECK(r.weight_shape(1) == std::vector{4, 3, 2, 3});
    check(r.weight(1), [](int i) {
        const int c = i % 3, tap = i / 3 % 6, out = i / 18;
        return (out * 3 + c) * 6 + tap;
    });
}

TEST_CASE(
    "weight layout: a transposed convolution is in x out x height x width in files, its groups along the inputs") {
    rows r;
    r.b.conv_transpose2d(r.b.input({5, 5, 6}), "c", {.out_channels = 4, .kernel = {2, 3}, .groups = 2});
    r.b.conv_transpose1d(r.b.input({1, 5, 6}), "d", {.out_channels = 4, .kernel = 3, .groups = 2});
    CHECK(r.weight_shape(1) == std::vector{6, 2, 2, 3});
    CHECK(r.weight_shape(3) == std::vector{6, 2, 3});
    check(r.weight(1), [](int i) {
        const int c = i % 3, tap = i / 3 % 6, out = i / 18, group = out / 2;
        return ((group * 3 + c) * 2 + out % 2) * 6 + tap;
    });
}

TEST_CASE("weight layout: a linear layer's columns are permuted behind a flattened image, and nowhere else") {
    rows r;
    r.b.linear(r.b.flatten(r.b.input({2, 3, 4})), "l", 5);
    CHECK(r.weight_shape(2) == std::vector{5, 24});
    check(r.weight(2), [](int i) {
        const int c = i % 4, pixel = i / 4 % 6, out = i / 24;
        return (out * 4 + c) * 6 + pixel;
    });
    rows plain;
    plain.b.linear(plain.b.input({1, 1, 24}), "l", 5);
    check(plain.weight(1), [](int i) { return i; });
    rows second;
    second.b.linear(second.b.linear(second.b.flatten(second.b.input({2, 3, 4})), "a", 24), "b", 5);
    check(second.weight(3), [](int i) { return i; });
}
