// SPDX-License-Identifier: BSD-3-Clause
// Layers on their own: what they are as rows of a model, for every number of rows and with the caller's state.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/safetensors.hpp>
#include <zeropoint/io/state_dict.hpp>
#include <zeropoint/layer/alone.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

using policy = zp::dynamic_policy<>;
using every_layer = zp::dynamic_qconfig<policy, zp::quantize_every_layer>;

/// Linear layers, functions, a residual, a clamp and an encoder over up to nine rows of 24.
struct layers : zp::sequential<zp::linear<"first", 40>, zp::gelu, zp::linear<"second", 24>,
                               zp::residual<zp::linear<"third", 24>>, zp::linear<"fourth", 24>, zp::relu6,
                               zp::encoder_layer<"encoder", 3, 32, zp::gelu>, zp::linear<"last", 7>> {};
template <int Rows> struct model_of : zp::model<zp::input<1, Rows, 24>, layers> {};

template <int Rows> void compare_with_model(const std::vector<std::byte>& bytes) {
    const auto file = zp::safetensors_file::parse(bytes, "made up");
    using alone_type = zp::alone<layers, 24, policy, zp::default_architecture, 9>;
    zp::state_dict parameters(file);
    const alone_type alone(parameters);
    parameters.expect_nothing_else();
    const auto model = zp::quantize_dynamic<every_layer>(zp::load<model_of<Rows>>(bytes));
    const auto x = made_up::values(Rows * 24, 3, -2, 2);
    std::vector<float> y(Rows * 7), expected(Rows * 7);
    const auto memory = std::make_unique<typename alone_type::workspace>();
    std::fill(std::begin(memory->bytes), std::end(memory->bytes), std::byte{0xff});
    const auto model_memory = std::make_unique<typename std::remove_cvref_t<decltype(model)>::workspace>();
    model(x, expected, *model_memory);
    alone(x, y, *memory);
    CHECK(y == expected);
}

using zp_test::error_of;

}  // namespace

TEST_CASE("alone: the numbers of a model with as many rows") {
    const std::vector<std::byte> bytes = zp::to_bytes(made_up::network<model_of<9>>(5));
    compare_with_model<9>(bytes);
    compare_with_model<1>(bytes);
    compare_with_model<4>(bytes);
    compare_with_model<8>(bytes);
}

TEST_CASE("alone: layers of one row keep no nodes for fewer") {
    using one = zp::alone<zp::linear<"", 40>, 24>;
    using many = zp::alone<zp::linear<"", 40>, 24, policy, zp::default_architecture, 9>;
    static_assert(sizeof(one::workspace) < sizeof(many::workspace));
    static_assert(one::inputs == 24 && one::outputs == 40 && one::most_rows == 1);
    CHECK(one::rows()[1].is_dynamic());
}

TEST_CASE("alone: a state of the caller's, by name") {
    constexpr int inputs = 12, hidden = 9;
    using lstm = zp::alone<zp::lstm<"", hidden>, inputs, policy, zp::default_architecture, 6>;
    constexpr std::size_t sums = 4 * hidden;
    const auto w = made_up::values(sums * inputs, 1), h = made_up::values(sums * hidden, 2);
    const auto b = made_up::values(sums, 3), c = made_up::values(sums, 4);
    const lstm layer(w, h, b, c);
    const auto memory = std::make_unique<lstm::workspace>();
    const auto x = made_up::values(6 * inputs, 6);
    std::vector<float> whole(6 * hidden), cut(6 * hidden);
    lstm::state state, parts;
    layer(x, state, whole, *memory);
    layer(std::span(x).first(2 * inputs), parts, std::span(cut).first(2 * hidden), *memory);
    layer(std::span(x).subspan(2 * inputs), parts, std::span(cut).subspan(2 * hidden), *memory);
    CHECK(cut == whole);
    const std::span<float> last = state.values("h");
    REQUIRE(last.size() == hidden);
    CHECK(std::equal(last.begin(), last.end(), whole.end() - hidden));
    CHECK(state.bytes == parts.bytes);
    CHECK(state.values("c").size() == hidden);
    CHECK(error_of([&] { state.values("x"); }).find("state.values: expected the name and type of a state") == 0);
    CHECK(error_of([&] { state.values<std::int8_t>("h"); }).find("state.values: expected") == 0);
    static_assert(noexcept(layer.run(nullptr, 1, state, nullptr, *memory)));
}

TEST_CASE("alone: tensors by name, in order, and what does not fit") {
    using attention = zp::alone<zp::self_attention<"", 2>, 8, zp::float_policy, zp::default_architecture, 5>;
    std::vector<std::string> asked;
    std::map<std::string, std::vector<float>> tensors;
    const auto find = [&](const std::string& name, int rows, int columns, bool optional) -> std::span<const float> {
        asked.push_back(name + (optional ? "?" : ""));
        const auto size = static_cast<std::size_t>(rows * (columns == 0 ? 1 : columns));
        tensors[name] = made_up::values(size, asked.size());
        return tensors[name];
    };
    const attention layer(find);
    CHECK(asked == std::vector<std::string>{"in_proj_weight", "in_proj_bias?", "out_proj.weight", "out_proj.bias?"});
    const attention again(tensors["in_proj_weight"], tensors["in_proj_bias"], tensors["out_proj.weight"],
                          tensors["out_proj.bias"]);
    const attention unbiased(tensors["in_proj_weight"], std::vector<float>(), tensors["out_proj.weight"]);
    const auto memory = std::make_unique<attention::workspace>();
    const auto x = made_up::values(3 * 8, 9);
    std::vector<float> y(24), other(24), without(24);
    layer(x, y, *memory);
    again(x, other, *memory);
    unbiased(x, without, *memory);
    CHECK(y == other);
    CHECK(y != without);
    CHECK(error_of([&] { layer(std::span(x).first(20), y, *memory); }) ==
          "alone: expected 1 to 5 rows of 8 values, found 20 values");
    CHECK(error_of([&] { layer(x, std::span(y).first(16), *memory); }) == "alone: expected 24 outputs, found 16");
    CHECK(error_of([&] { attention refused(tensors["in_proj_weight"]); }) ==
          "alone: expected 64 values of out_proj.weight, found 0");
    CHECK(error_of([&] { attention refused(tensors["out_proj.weight"]); }) ==
          "alone: expected 192 values of in_proj_weight, found 64");
    CHECK(error_of([&] {
              attention refused(tensors["in_proj_weight"], tensors["in_proj_bias"], tensors["out_proj.weight"],
                                tensors["out_proj.bias"], tensors["out_proj.bias"]);
          }) == "alone: expected 4 tensors of parameters, found 5");
    tensors["out_proj.weight"][7] = zp::infinity;
    CHECK(error_of([&] {
              attention refused(tensors["in_proj_weight"], std::vector<float>(), tensors["out_proj.weight"]);
          }) == "alone: expected finite values of out_proj.weight, found inf");
}
