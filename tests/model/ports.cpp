// SPDX-License-Identifier: BSD-3-Clause
// Models of several inputs and outputs: how they are written, called and checked, against references that know no graph.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/embedding.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

using zp_test::error_of;

// Two images, two outputs, of which the second reads the first.
struct two_images
    : zp::model<zp::named<"left", zp::input<2, 2, 2>>,
                zp::named<"left_features", zp::conv2d<"l", zp::conv{.out_channels = 3, .kernel = 1}>>,
                zp::named<"right", zp::input<2, 2, 1>>,
                zp::concat<zp::from<"left_features">, zp::conv2d<"r", zp::conv{.out_channels = 2, .kernel = 1}>>,
                zp::named<"both", zp::relu>, zp::output<"features">, zp::flatten, zp::linear<"score", 3>,
                zp::output<"score">> {};
using network = zp::float_model<two_images>;
using left_image = std::array<float, 8>;
using right_image = std::array<float, 4>;
using features = std::array<float, 20>;
using scores = std::array<float, 3>;

// Tokens, their types and a number.
struct pairs : zp::model<zp::named<"ids", zp::indices<3>>,
                         zp::add<zp::embedding<"words", 7, 4>,
                                 zp::sequential<zp::named<"types", zp::indices<3>>, zp::embedding<"kinds", 2, 4>>>,
                         zp::named<"sum", zp::relu>, zp::named<"age", zp::input<1, 3, 1>>,
                         zp::concat<zp::from<"sum">, zp::identity>, zp::linear<"head", 2>, zp::output<"logits">,
                         zp::from<"sum">, zp::output<"hidden">> {};

// In free form: an input given out as it is, a value given out twice and read as well.
struct echoes {
    static constexpr int nodes = 8;
    static constexpr void lower(zp::builder& b) {
        const int x = b.input({1, 1, 3}, "x"), y = b.input({1, 1, 3}, "y");
        const int sum = b.add(x, y);
        b.output(sum, "sum");
        b.output(x, "same");
        b.output(sum, "again");
        b.output(b.clamp(sum, "", 0, 1), "clamped");
    }
};

template <class X, class Y>
constexpr bool is_noexcept = noexcept(std::declval<const network&>()(std::declval<const X&>(), std::declval<Y>()));
static_assert(is_noexcept<zp::input_ranges<left_image, right_image>, zp::output_ranges<features, scores>>);
static_assert(is_noexcept<zp::input_ranges<zp::nchw_values<left_image>, right_image>,
                          zp::output_ranges<std::span<float, 20>, float[3]>>);
static_assert(!is_noexcept<zp::input_ranges<std::vector<float>, right_image>, zp::output_ranges<features, scores>>);
static_assert(!is_noexcept<zp::input_ranges<left_image, right_image>, zp::output_ranges<features, std::vector<float>>>);
static_assert(network::inputs().size() == 2 && network::outputs().size() == 2);
static_assert(network::inputs()[1].extents == zp::shape{2, 2, 1} &&
              network::inputs()[1].name == std::string_view("right"));
static_assert(network::outputs()[0].extents == zp::shape{2, 2, 5} &&
              network::outputs()[1].name == std::string_view("score"));

struct fixture {
    const network model = made_up::network<two_images>(3);
    left_image left{};
    right_image right{};
    features expected_features{};
    scores expected_scores{};

    fixture() {
        const auto values = made_up::values(12, 9);
        std::copy_n(values.begin(), 8, left.begin());
        std::copy_n(values.begin() + 8, 4, right.begin());
        const auto l = made_up::parameters_of(model, "left_features"), r = made_up::parameters_of(model, "r"),
                   s = made_up::parameters_of(model, "score");
        for (std::size_t pixel = 0; pixel != 4; ++pixel)
            for (std::size_t c = 0; c != 5; ++c) {
                float y = c < 3 ? l.bias[c] : r.bias[c - 3];
                if (c < 3)
                    for (std::size_t k = 0; k != 2; ++k) y += left[pixel * 2 + k] * l.weights[c * 2 + k];
                else y += right[pixel] * r.weights[c - 3];
                expected_features[pixel * 5 + c] = std::max(y, 0.0f);
            }
        for (std::size_t c = 0; c != 3; ++c) {
            expected_scores[c] = s.bias[c];
            for (std::size_t k = 0; k != 20; ++k) expected_scores[c] += expected_features[k] * s.weights[c * 20 + k];
        }
    }
    static bool near(std::span<const float> a, std::span<const float> b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](float x, float y) { return x == doctest::Approx(y).epsilon(1e-5); });
    }
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "ports: two images and two outputs, in order, by name, of any kind of range") {
    features f{};
    scores s{};
    model(zp::in(left, right), zp::out(f, s));
    CHECK(near(f, expected_features));
    CHECK(near(s, expected_scores));
    const features exact_features = f;
    const scores exact_scores = s;
    const auto same = [&](const auto& x) {
        std::vector<float> vector_f(20);
        s = {};
        network::workspace memory;
        model(x, zp::out(vector_f, s), memory);
        CHECK(std::equal(exact_features.begin(), exact_features.end(), vector_f.begin()));
        CHECK(s == exact_scores);
    };
    same(zp::in(zp::as<"right">(right), zp::as<"left">(left)));
    const std::vector<float> vector_left(left.begin(), left.end());
    same(zp::in(vector_left, right));
    left_image planes{};
    for (std::size_t pixel = 0; pixel != 4; ++pixel)
        for (std::size_t c = 0; c != 2; ++c) planes[c * 4 + pixel] = left[pixel * 2 + c];
    same(zp::in(zp::nchw(planes), right));
    same(zp::in(zp::as<"right">(zp::nchw(right)), zp::as<"left">(zp::nchw(planes))));
    f = {};
    s = {};
    model(zp::in(left, right), zp::out(zp::as<"score">(s), zp::as<"features">(std::span(f))));
    CHECK(f == exact_features);
    CHECK(s == exact_scores);
}

TEST_CASE_FIXTURE(fixture, "ports: a range of the wrong size is a shape_error that names its port") {
    features f{};
    std::vector<float> s(3), wrong(4);
    const std::vector<float> empty;
    CHECK(error_of<zp::shape_error>([&] { model(zp::in(left, wrong), zp::out(f, s)); }) == "no error");
    CHECK(error_of<zp::shape_error>([&] { model(zp::in(wrong, right), zp::out(f, s)); }) ==
          "the model's input \"left\" is 2x2x2, that is 8 floats, but a range of 4 came");
    CHECK(error_of<zp::shape_error>([&] { model(zp::in(left, empty), zp::out(f, s)); }) ==
          "the model's input \"right\" is 2x2x1, that is 4 floats, but a range of 0 came");
    CHECK(error_of<zp::shape_error>([&] { model(zp::in(left, right), zp::out(f, wrong)); }) ==
          "the model's output \"score\" is 1x1x3, that is 3 floats, but a range of 4 came");
}

TEST_CASE_FIXTURE(fixture, "ports: what is given out is written where the caller wants it") {
    const auto node_of = [](const char* name) -> const zp::node& {
        return network::stage::table.nodes[zp::node_named(network::stage::table, name)];
    };
    CHECK(node_of("both").at.arena_offset == zp::in_user_output);
    // linear "score" is the second output's
    bool found = false;
    for (const zp::node& n : network::rows()) found = found || n.at.arena_offset == zp::in_user_output - 1;
    CHECK(found);
    const zp::port score = network::outputs()[1];
    CHECK(std::string(score.name) == "score");
    CHECK(score.storage == zp::scalar_type::float32);
}

TEST_CASE("ports: ids, token types and a float feature") {
    const auto model = made_up::network<pairs>(5);
    const auto words = made_up::parameters_of(model, "words").weights,
               kinds = made_up::parameters_of(model, "kinds").weights;
    const auto head = made_up::parameters_of(model, "head");
    const std::array<std::int32_t, 3> ids{6, 0, 2};
    const std::array<std::int64_t, 3> types{1, 0, 1};
    const std::array<float, 3> age{0.25f, -1, 2};
    std::array<float, 12> hidden{}, expected{};
    std::array<float, 6> logits{};
    model(zp::in(ids, types, age), zp::out(logits, hidden));
    for (std::size_t i = 0; i != 3; ++i)
        for (std::size_t c = 0; c != 4; ++c)
            expected[i * 4 + c] = std::max(0.0f, words[static_cast<std::size_t>(ids[i]) * 4 + c] +
                                                     kinds[static_cast<std::size_t>(types[i]) * 4 + c]);
    CHECK(hidden == expected);
    for (std::size_t i = 0; i != 3; ++i)
        for (std::size_t o = 0; o != 2; ++o) {
            float y = head.bias[o] + age[i] * head.weights[o * 5 + 4];
            for (std::size_t c = 0; c != 4; ++c) y += expected[i * 4 + c] * head.weights[o * 5 + c];
            CHECK(logits[i * 2 + o] == doctest::Approx(y).epsilon(1e-5));
        }
    std::array<float, 6> again{};
    std::array<float, 12> hidden_again{};
    model(zp::in(zp::unchecked(ids), zp::unchecked(types), age), zp::out(again, hidden_again));
    CHECK(again == logits);
    CHECK(hidden_again == hidden);

    // Each input has the bounds of the tables that read it.
    const auto error = [&](const auto& i, const auto& t) {
        return error_of<zp::value_error>([&] { model(zp::in(i, t, age), zp::out(logits, hidden)); });
    };
    CHECK(error(std::array<int, 3>{6, 6, 6}, std::array<int, 3>{1, 1, 1}) == "no error");
    CHECK(error(std::array<int, 3>{6, 7, 6}, std::array<int, 3>{1, 1, 1}) ==
          "words: index 7 at position 1 is outside of the table's 7 rows");
    CHECK(error(std::array<int, 3>{6, 6, 6}, std::array<int, 3>{1, 1, 2}) ==
          "kinds: index 2 at position 2 is outside of the table's 2 rows");
    CHECK(error_of<zp::shape_error>([&] { model(zp::in(ids, std::vector<int>(2), age), zp::out(logits, hidden)); }) ==
          "the model's input \"types\" is 1x3x1, that is 3 indices, but a range of 2 came");
}

TEST_CASE("ports: an input given out as it is, and a value given out twice and read") {
    const zp::float_model<echoes> model;
    using vector = std::array<float, 3>;
    const vector x{1, -2, 3}, y{-0.5f, 0.5f, 1};
    vector sum{}, same{}, again{}, clamped{};
    model(zp::in(x, y), zp::out(sum, same, again, clamped));
    CHECK(sum == vector{0.5f, -1.5f, 4});
    CHECK(same == x);
    CHECK(again == sum);
    CHECK(clamped == vector{0.5f, 0, 1});
}

namespace {
struct small : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
struct marked : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>, zp::output<"scores">> {};
}  // namespace

TEST_CASE("ports: a small output comes by value") {
    const auto model = made_up::network<small>(2);
    const std::array<float, 3> x{1, 2, 3};
    std::array<float, 2> expected{};
    model(x, expected);
    auto y = model(x);
    static_assert(std::is_same_v<decltype(y), std::array<float, 2>>&& noexcept(model(x)));
    CHECK(y == expected);
    zp::float_model<small>::workspace memory;
    CHECK(model(x, memory) == expected);
    CHECK(model(zp::in(x)) == expected);
    static_assert(!noexcept(model(std::vector<float>(3))));
    CHECK(error_of<zp::shape_error>([&] { static_cast<void>(model(std::vector<float>(2))); }) ==
          "the model's input is 1x1x3, that is 3 floats, but a range of 2 came");
    CHECK(zp::float_model<small>::inputs()[0].name == std::string("input"));
    CHECK(zp::float_model<small>::outputs()[0].name == std::string("output"));

    const auto with_name = made_up::network<marked>(2);
    CHECK(with_name(x) == expected);
    CHECK(zp::float_model<marked>::outputs()[0].name == std::string("scores"));
    static_assert(zp::float_model<marked>::arena_bytes == zp::float_model<small>::arena_bytes);
}
