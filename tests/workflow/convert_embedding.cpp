// SPDX-License-Identifier: BSD-3-Clause
// Embeddings in int8 and dynamically quantized models: tables in codes against the definitions, files, errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_graph.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/layer/quantized_embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/scheme/quantize.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/calibration_report.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../io/edited_file.hpp"
#include "../support/errors.hpp"
#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

constexpr int words = 61, columns = 13, length = 9;
struct net
    : zp::model<zp::indices<length>,
                zp::add<zp::embedding<"words", words, columns>, zp::position_embedding<"places", 11, columns, 2>>,
                zp::linear<"hidden", 16>, zp::relu, zp::flatten, zp::linear<"classes", 3>> {};
struct pairs : zp::model<zp::indices<2>, zp::concat<zp::embedding<"first", 5, 2, zp::embedding_options{.count = 1}>,
                                                    zp::embedding<"second", 6, 3, zp::embedding_options{.first = 1}>>> {
};
struct alone : zp::model<zp::indices<4>, zp::embedding<"table", 7, 3>> {};

using sentence = std::vector<std::int32_t>;
template <int Length = length, int Rows = words> std::vector<sentence> sentences(std::size_t count) {
    std::vector<sentence> all;
    zp_test::generator next(5);
    for (std::size_t i = 0; i != count; ++i) {
        sentence& one = all.emplace_back();
        for (int k = 0; k != Length; ++k)
            one.push_back(static_cast<std::int32_t>(next.real(0, static_cast<float>(Rows))) % Rows);
    }
    all[0][0] = 0;
    all[0][1] = Rows - 1;
    return all;
}
template <class Config, class Net>
auto int8_of(const zp::float_model<Net>& trained, const std::vector<sentence>& data) {
    return zp::convert(zp::calibrate(zp::prepare<Config>(trained), data));
}
using zp_test::run;
/// What a row leaves.
template <class T, class Network> std::vector<T> values_of(const Network& model, const sentence& x, const char* name) {
    std::vector<T> found;
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    typename Network::workspace memory;
    model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
        const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
        if (std::string_view(row.name) != name) return;
        found.resize(static_cast<std::size_t>(row.out.extents.size()));
        std::memcpy(found.data(), values, found.size() * sizeof(T));
    });
    return found;
}
template <class Network> const zp::node& row_of(const Network& model, const char* name) {
    return *std::find_if(model.rows().begin(), model.rows().end(),
                         [&](const zp::node& row) { return std::string_view(row.name) == name; });
}
using zp_test::error_of;

/// A network that was saved and loaded gives the same numbers.
template <class Network> void check_files(const Network& model, const std::vector<sentence>& data) {
    const auto bytes = zp::to_bytes(model);
    const auto loaded = zp::load<Network>(bytes);
    for (const sentence& x : data) CHECK(run(loaded, x) == run(model, x));
    CHECK(zp::to_bytes(loaded) == bytes);
}

/// The codes of a row are those that quantizing the float row gives.
template <class T, class Network, class Float>
void check_codes(const Network& int8, const Float& trained, const sentence& x, const char* name) {
    const zp::node& row = row_of(int8, name);
    REQUIRE(row.out.storage == zp::scalar_type_of<T>);
    const auto floats = values_of<float>(trained, x, name);
    const auto codes = values_of<T>(int8, x, name);
    REQUIRE(codes.size() == floats.size());
    for (std::size_t i = 0; i != codes.size(); ++i)
        CHECK(codes[i] ==
              zp::quantize(floats[i], int8.ranges()[row.out.qparams_id], row.out.quant_min, row.out.quant_max));
}

// Linear layers stay float here: their kernels take long to compile.
struct four_bits : zp::qconfig<zp::default_qconfig::activation, zp::default_qconfig::weight, zp::embedding_bits<4>,
                               zp::keep_float_type<zp::op::linear>> {};
struct tables_alone {
    static constexpr const char* why_float(const zp::node_view& v) {
        const bool has_table = zp_test::is(v.n, zp::op::embedding) || zp_test::is(v.n, zp::op::position_embedding);
        return has_table ? nullptr : "no table";
    }
};
using float_tables = zp::dynamic_qconfig<zp::dynamic_policy<>, tables_alone>;
using kept_words =
    zp::dynamic_qconfig<zp::dynamic_policy<>, tables_alone, zp::embedding_bits<8>, zp::keep_float<"words">>;
using usual_tables = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::default_cost_rule, zp::embedding_bits<8>>;
template <int Bits>
using dynamic_tables = zp::dynamic_qconfig<zp::dynamic_policy<>, tables_alone, zp::embedding_bits<Bits>>;

/// Rows of floats whose table is codes of `Bits` bits, against the layer by itself.
template <int Bits, class Network>
void check_coded(const Network& model, const zp::float_model<net>& trained, const sentence& x) {
    const zp::node& row = row_of(model, "words");
    CHECK(row.weights.storage == zp::scalar_type::uint8);
    CHECK(row.weights.quant_max == (1 << Bits) - 1);
    const auto& parameters = made_up::parameters_of(trained, "words").weights;
    const zp::quantized_embedding<Bits> layer(parameters, columns);
    std::vector<float> expected(x.size() * columns);
    layer(std::span<const std::int32_t>(x), expected);
    CHECK(values_of<float>(model, x, "words") == expected);
    const auto places = made_up::parameters_of(trained, "places").weights;
    const zp::quantized_embedding<Bits> by_place(places, columns);
    sentence numbers;
    for (int i = 2; i != 2 + length; ++i) numbers.push_back(i);
    by_place(std::span<const std::int32_t>(numbers), expected);
    CHECK(values_of<float>(model, x, "places") == expected);
}

const zp::float_model<net> trained = made_up::network<net>(7);
const std::vector<sentence> data = sentences(40);

}  // namespace

TEST_CASE("embedding: int8 rows are codes of the output's grid, equal to the quantized float rows") {
    const auto observed = zp::calibrate(zp::prepare<zp::default_qconfig>(trained), data);
    const zp::calibration_report report = zp::report(observed);
    CHECK(report.samples == 40);
    CHECK(report.activations.front().name == "words");
    CHECK(report.warnings.empty());
    const auto int8 = zp::convert(observed);
    CHECK(row_of(int8, "input").is_indices());
    CHECK(int8.rows()[1].at.parameter_bytes == words * columns);
    for (const sentence& x : {data[0], data[7]}) {
        check_codes<std::uint8_t>(int8, trained, x, "words");
        check_codes<std::uint8_t>(int8, trained, x, "places");
        const auto y = run(int8, x), expected = run(trained, x);
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(0.1));
    }
    check_files(int8, data);
    CHECK(error_of<zp::value_error>([&] { run(int8, sentence(length, words)); }) ==
          "words: index 61 at position 0 is outside of the table's 61 rows");
    const zp::model_table table = zp::table_of(int8);
    CHECK(table.rows[0].type == zp::scalar_type::int32);
    CHECK(table.rows[0].quantization.scale == 0);
    CHECK(table.rows[1].operation == "embedding");
    CHECK(zp::to_dot(int8).find("input\\n1x9x1 int32\"]") != std::string::npos);
}

TEST_CASE("embedding: calibration takes integers of both sizes, batches of any length, and checks them") {
    std::vector<std::int64_t> all;
    for (const sentence& x : data) all.insert(all.end(), x.begin(), x.end());
    const auto one = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(trained), all)),
               many = int8_of<zp::default_qconfig>(trained, data);
    CHECK(std::equal(one.ranges(), one.ranges() + decltype(one)::stage::table.qparams_count, many.ranges()));
    const auto error = [&](const std::vector<std::int64_t>& batch) {
        return error_of<zp::error>([&] { zp::calibrate(zp::prepare<zp::default_qconfig>(trained), batch); });
    };
    all.back() = words;
    CHECK(error(all) == "words: index 61 at position 8 is outside of the table's 61 rows");
    all.pop_back();
    CHECK(error(all) ==
          "a calibration batch must hold one or more inputs of 1x9x1, that is a multiple of 9 indices, but 359 came");
}

TEST_CASE("embedding: tables of 4 bits in an int8 model give floats, which are quantized behind them") {
    const auto int8 = int8_of<four_bits>(trained, data);
    check_coded<4>(int8, trained, data[0]);
    CHECK(row_of(int8, "words").at.parameter_bytes == 448 + 61 * 12);
    CHECK(zp::budget_of<std::remove_const_t<decltype(int8)>>.boundaries ==
          3);  // two in front of the add, one behind it
    check_files(int8, data);
}

TEST_CASE("embedding: quantize_dynamic codes tables of 8 and of 4 bits, or leaves them") {
    const auto bytes = zp::quantize_dynamic<dynamic_tables<8>>(trained);
    check_coded<8>(bytes, trained, data[0]);
    check_files(bytes, data);
    CHECK(zp::table_of(bytes).rows[1].operation == "embedding of 8 bits");
    const auto nibbles = zp::quantize_dynamic<dynamic_tables<4>>(trained);
    check_coded<4>(nibbles, trained, data[0]);
    check_files(nibbles, data);
    const auto floats = zp::quantize_dynamic<float_tables>(trained);
    CHECK(values_of<float>(floats, data[0], "words") == values_of<float>(trained, data[0], "words"));
    CHECK(zp::table_of(floats).rows[1].why == "stays float32: no zp::embedding_bits in the qconfig");
    using std::string_view;
    CHECK(zp::why_float<kept_words>(zp::node_view{trained.rows().data(), trained.rows()[1]}) ==
          string_view("stays float32: as the qconfig says"));
    CHECK(zp::why_float<usual_tables>(zp::node_view{trained.rows().data(), trained.rows()[1]}) ==
          string_view("stays float32: fewer than 4096 weights"));
}

TEST_CASE("embedding: a table alone, of signed codes and of 16 bits, and one that stays float") {
    struct kept : zp::qconfig<zp::default_qconfig::activation, zp::default_qconfig::weight, zp::keep_float<"table">> {};
    const auto model = made_up::network<alone>(8);
    const auto inputs = sentences<4, 7>(6);
    const auto bytes = int8_of<zp::tflite_qconfig>(model, inputs);
    check_codes<std::int8_t>(bytes, model, inputs[0], "table");
    check_files(bytes, inputs);
    const auto wide = int8_of<zp::int16_qconfig>(model, inputs);
    check_codes<std::int16_t>(wide, model, inputs[0], "table");
    check_files(wide, inputs);
    const auto same = int8_of<kept>(model, inputs);
    CHECK(run(same, inputs[0]) == run(model, inputs[0]));
    check_files(same, inputs);
}

TEST_CASE("embedding: two tables in front of a concat have its grid") {
    const auto model = made_up::network<pairs>(9);
    const std::vector<sentence> inputs{{0, 5}, {4, 0}, {3, 2}};
    const auto int8 = int8_of<zp::default_qconfig>(model, inputs);
    REQUIRE(int8.rows().size() == 5);  // no requantize
    CHECK(row_of(int8, "first").out.qparams_id == row_of(int8, "second").out.qparams_id);
    for (const sentence& x : inputs) {
        check_codes<std::uint8_t>(int8, model, x, "first");
        check_codes<std::uint8_t>(int8, model, x, "second");
    }
    check_files(int8, inputs);
}

TEST_CASE("embedding: state dicts have it as name.weight, rows x columns") {
    const auto bytes = zp::to_bytes(trained);
    const auto file = zp::safetensors_file::parse(bytes, "model");
    CHECK(file.finite_floats("words.weight", {words, columns}) == made_up::parameters_of(trained, "words").weights);
    CHECK(run(zp::load<net>(bytes), data[3]) == run(trained, data[3]));
}

TEST_CASE("embedding: weights that are not finite are an error with the layer's name") {
    auto broken = trained;
    auto* table = reinterpret_cast<float*>(broken.parameters() + broken.rows()[1].at.parameter_offset);
    table[2 * columns] = std::numeric_limits<float>::infinity();
    CHECK(error_of<zp::calibration_error>([&] { zp::quantize_dynamic<dynamic_tables<8>>(broken); }) ==
          "words.weight: expected finite weights, row 2 has inf");
    table[2 * columns] = 45000.5f;
    CHECK(error_of<zp::calibration_error>([&] { zp::quantize_dynamic<dynamic_tables<4>>(broken); }) ==
          "words.weight: expected finite weights of at most 32000, which 4 bits take, row 2 has 45000.5");
}

TEST_CASE("embedding: damaged tables in files") {
    const auto model = made_up::network<alone>(8);
    using narrow = zp::quantized<alone, zp::seven_bit_qconfig>;
    const auto codes = zp::to_bytes(int8_of<zp::seven_bit_qconfig>(model, sentences<4, 7>(6)));
    CHECK(edited_file::error_of<narrow>(codes).empty());
    const auto high = edited_file::changed(
        codes, [](auto& all) { all.tensors.at("table.weight").template set<std::uint8_t>(4, 128); });
    CHECK(edited_file::error_of<narrow>(high) ==
          "m.safetensors: tensor \"table.weight\": expected codes from 0 to 127, found 128");
    using bytes_each = zp::dynamically_quantized<alone, dynamic_tables<8>>;
    const auto ranges = zp::to_bytes(zp::quantize_dynamic<dynamic_tables<8>>(model));
    CHECK(edited_file::error_of<bytes_each>(ranges).empty());
    const auto after = [&](auto change) {
        return edited_file::error_of<bytes_each>(edited_file::changed(ranges, change));
    };
    CHECK(after([](auto& all) { all.tensors.at("table.weight_scale").set(6, -1.0f); }) ==
          "m.safetensors: tensor \"table.weight_scale\": expected finite scales of at least 0, found -1");
    CHECK(
        after([](auto& all) { all.tensors.at("table.weight_offset").set(0, std::nanf("")); }) ==
        "m.safetensors: tensor \"table.weight_offset\": expected finite numbers, found NaN at flat index 0 of F32 [7]");
    CHECK(after([](auto& all) { all.tensors.erase("table.weight_offset"); }) ==
          "m.safetensors: expected a tensor \"table.weight_offset\", found none; the file has: \"table.weight_scale\", "
          "\"table.weight\"");
    CHECK(edited_file::error_of<zp::dynamically_quantized<alone, dynamic_tables<4>>>(ranges).find("signature") !=
          std::string::npos);
}

TEST_CASE("embedding: vectors of PyTorch, whose tables were packed") {
    struct rows : zp::model<zp::indices<12>, zp::embedding<"table", 23, 16>> {};
    const zp_test::golden_file golden("operators_embedding");
    const std::string group = "embedding_byte/1";
    const auto packed = golden.values<std::uint8_t>(group + "/table");  // a row: its codes, scale, lowest value
    zp::float_model<rows> model;
    auto* table = reinterpret_cast<float*>(model.parameters() + model.rows()[1].at.parameter_offset);
    for (std::size_t row = 0; row != 23; ++row) {
        const std::uint8_t* codes = packed.data() + row * 24;
        float range[2];
        std::memcpy(range, codes + 16, sizeof range);
        for (std::size_t c = 0; c != 16; ++c) table[row * 16 + c] = static_cast<float>(codes[c]) * range[0] + range[1];
    }
    std::vector<float> y(12 * 16);
    model(golden.values<std::int32_t>(group + "/indices"), y);
    const auto expected = golden.values<float>(group + "/y");
    for (std::size_t i = 0; i != y.size(); ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(2e-6));
}

TEST_CASE("embedding: a stream takes one index a step") {
    const auto model = made_up::network<alone>(8);
    const sentence x{6, 0, 3, 3};
    const auto check = [&]<class Network>(const Network& whole) {
        const auto expected = run(whole, x);
        zp::streaming<Network> stream(whole);
        for (std::size_t i = 0; i != 4; ++i) {
            std::vector<float> y(3);
            stream(std::span(x).subspan(i, 1), y);
            CHECK(std::equal(y.begin(), y.end(), expected.begin() + static_cast<std::ptrdiff_t>(i) * 3));
        }
        std::vector<float> y(3);
        CHECK(error_of<zp::value_error>([&] { stream(sentence{7}, y); }) ==
              "table: index 7 at position 0 is outside of the table's 7 rows");
    };
    check(model);
    check(int8_of<zp::tflite_qconfig>(model, sentences<4, 7>(6)));
    check(zp::quantize_dynamic<dynamic_tables<8>>(model));
}
