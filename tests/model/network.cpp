// SPDX-License-Identifier: BSD-3-Clause
// Calling a network: ranges of every kind, checks when compiled and when run, NCHW at the door, many threads.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#include "../support/extent.hpp"
#include "../support/made_up.hpp"

namespace {

struct net : zp::model<zp::input<4, 3, 2>, zp::conv2d<"conv", zp::conv{.out_channels = 5, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::max_pool2d<zp::pool{.kernel = 2, .stride = 1}>, zp::flatten, zp::linear<"fc", 3>> {
};
using network = zp::float_model<net>;
using array_in = std::array<float, 24>;
using array_out = std::array<float, 3>;

template <class X, class Y>
constexpr bool is_noexcept = noexcept(std::declval<const network&>()(std::declval<const X&>(), std::declval<Y&>()));

// What a user may rely on when the program is compiled.
static_assert(network::input_shape == zp::shape{4, 3, 2} && network::output_shape == zp::shape{1, 1, 3});
static_assert(network::arena_bytes > 0 && sizeof(network::workspace) == static_cast<std::size_t>(network::arena_bytes));
static_assert(alignof(network::workspace) == zp::buffer_alignment);
static_assert(network::rows().size() == 6);
static_assert(is_noexcept<array_in, array_out>);
static_assert(is_noexcept<float[24], float[3]>);
static_assert(is_noexcept<std::span<const float, 24>, std::span<float, 3>>);
static_assert(is_noexcept<zp::nchw_values<array_in>, array_out>);
static_assert(!is_noexcept<std::vector<float>, array_out>);
static_assert(!is_noexcept<array_in, std::vector<float>>);
static_assert(!is_noexcept<zp::nchw_values<std::vector<float>>, array_out>);

struct fixture {
    const network model = made_up::network<net>(3);
    array_in x{};
    array_out expected{};
    fixture() {
        const auto values = made_up::values(24, 9);
        std::copy(values.begin(), values.end(), x.begin());
        model(x, expected);
    }
};

template <class Call> std::string shape_error_of(Call call) {
    try {
        call();
    } catch (const zp::shape_error& error) { return error.what(); }
    return "no error";
}

}  // namespace

TEST_CASE_FIXTURE(fixture, "network: arrays, C arrays, vectors and spans give the same result") {
    CHECK(expected[0] != expected[1]);
    array_out y{};
    float c_x[24], c_y[3];
    std::copy(x.begin(), x.end(), c_x);
    model(c_x, c_y);
    CHECK(std::equal(expected.begin(), expected.end(), c_y));
    const std::vector<float> vector_x(x.begin(), x.end());
    std::vector<float> vector_y(3);
    model(vector_x, vector_y);
    CHECK(std::equal(expected.begin(), expected.end(), vector_y.begin()));
    model(std::span<const float>(vector_x), y);
    CHECK(y == expected);
    y = {};
    model(x, std::span(y));
    CHECK(y == expected);
    y = {};
    model(std::span<const float, 24>(x), std::span<float, 3>(y));
    CHECK(y == expected);
    y = {};
    network::workspace memory;
    model(x, y, memory);
    CHECK(y == expected);
    y = {};
    const auto heap = std::make_unique<network::workspace>();
    model(vector_x, y, *heap);
    CHECK(y == expected);
}

TEST_CASE_FIXTURE(fixture, "network: zp::nchw takes an image with its channels outermost") {
    array_in planes{};
    for (std::size_t pixel = 0; pixel != 12; ++pixel)
        for (std::size_t c = 0; c != 2; ++c) planes[c * 12 + pixel] = x[pixel * 2 + c];
    array_out y{};
    model(zp::nchw(planes), y);
    CHECK(y == expected);
    const std::vector<float> vector(planes.begin(), planes.end());
    y = {};
    network::workspace memory;
    model(zp::nchw(vector), y, memory);
    CHECK(y == expected);
    CHECK(shape_error_of([&] { model(zp::nchw(std::vector<float>(23)), y); }) ==
          "the model's input is 4x3x2, that is 24 floats, but a range of 23 came");
}

TEST_CASE_FIXTURE(fixture,
                  "network: a range of the wrong size is a shape_error that says what was expected and what came") {
    std::vector<float> y(3);
    CHECK(shape_error_of([&] { model(std::vector<float>(25), y); }) ==
          "the model's input is 4x3x2, that is 24 floats, but a range of 25 came");
    CHECK(shape_error_of([&] { model(std::vector<float>(), y); }) ==
          "the model's input is 4x3x2, that is 24 floats, but a range of 0 came");
    std::vector<float> two(48);
    CHECK(shape_error_of([&] { model(two, y); }) ==
          "the model's input is 4x3x2, that is 24 floats, but a range of 48 came: one input goes in a call");
    std::vector<float> wrong(4);
    CHECK(shape_error_of([&] { model(x, wrong); }) ==
          "the model's output is 1x1x3, that is 3 floats, but a range of 4 came");
    CHECK(shape_error_of([&] { model(x, y); }) == "no error");
}

TEST_CASE_FIXTURE(fixture, "network: what the workspace held before changes nothing") {
    network::workspace memory;
    for (const int byte : {0x00, 0xff, 0x7f, 0x80}) {
        for (std::byte& b : memory.bytes) b = static_cast<std::byte>(byte);
        array_out y{};
        model(x, y, memory);
        CHECK(y == expected);
    }
}

TEST_CASE_FIXTURE(fixture, "network: copies are networks of their own, moves keep the parameters") {
    network copy = model;
    array_out y{};
    copy(x, y);
    CHECK(y == expected);
    for (int i = 0; i != network::parameter_bytes; ++i) copy.parameters()[i] = std::byte{0};
    copy(x, y);
    CHECK(y == array_out{});
    model(x, y);
    CHECK(y == expected);
    copy = model;
    const network moved = std::move(copy);
    moved(x, y);
    CHECK(y == expected);
}

TEST_CASE_FIXTURE(fixture, "network: one const network serves many threads, each with a workspace of its own" *
                               doctest::skip(!zp_test::has_threads)) {
    std::array<int, 4> wrong{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t != wrong.size(); ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i != 500; ++i) {
                array_in mine = x;
                mine[t] += static_cast<float>(i % 2);
                array_out y{}, again{};
                model(mine, y);
                network::workspace memory;
                model(mine, again, memory);
                wrong[t] += y != again || (i % 2 == 0 && y != expected) || (i % 2 == 1 && y == expected);
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::array<int, 4>{});
}

TEST_CASE_FIXTURE(fixture, "network: rows can be watched while they run, and are named for people") {
    std::vector<float> y(3), last;
    std::string names;
    network::workspace memory;
    model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
        names += zp::display_name(network::rows(), i) + " ";
        const auto* floats = static_cast<const float*>(values);
        last.assign(floats, floats + network::rows()[static_cast<std::size_t>(i)].out.extents.size());
        if (i == 0) CHECK(std::equal(last.begin(), last.end(), x.begin()));
    });
    CHECK(names == "input conv relu_2 max_pool2d_3 flatten_4 fc ");
    CHECK(last == std::vector<float>(expected.begin(), expected.end()));
    CHECK(y == last);
}
