// SPDX-License-Identifier: BSD-3-Clause
// Bags of embeddings as rows of models: in float their definition, tables in codes as the layer by itself and as PyTorch's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/layer/quantized_embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/embedding_bag.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/errors.hpp"
#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

using zp::embedding_bag_mode;
using zp::embedding_bag_options;
using sentence = std::vector<std::int32_t>;

constexpr int words = 31, columns = 21, length = 14, padding = 4;
/// Two bags of five from number 2 on; all behind those as one.
constexpr embedding_bag_options sums{
    .first = 2, .count = 10, .bags = 2, .mode = embedding_bag_mode::sum, .padding_index = padding};
constexpr embedding_bag_options means{.first = 2, .count = 10, .bags = 2, .padding_index = padding};
template <embedding_bag_options Options>
struct net : zp::model<zp::indices<length>, zp::embedding_bag<"tags", words, columns, Options>> {};
struct classifier : zp::model<zp::indices<length>, zp::embedding_bag<"tags", words, columns>, zp::linear<"hidden", 16>,
                              zp::relu, zp::linear<"classes", 3>> {};

struct four_bits : zp::qconfig<zp::default_qconfig::activation, zp::default_qconfig::weight, zp::embedding_bits<4>> {};
template <int Bits>
using dynamic_tables = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer, zp::embedding_bits<Bits>>;

std::vector<sentence> sentences(std::size_t count) {
    std::vector<sentence> all;
    zp_test::generator next(5);
    for (std::size_t i = 0; i != count; ++i)
        for (auto& one = all.emplace_back(); one.size() != length;) one.push_back(next.integer(0, words - 1));
    all[0][3] = all[0][5] = padding;
    std::fill(all[0].begin() + 7, all[0].begin() + 12, padding);  // a bag of nothing
    return all;
}
using zp_test::run;
/// From rows of floats, in double.
std::vector<double> expected_of(const std::vector<float>& table, const sentence& x, bool mean) {
    std::vector<double> y(2 * columns);
    for (std::size_t bag = 0; bag != 2; ++bag) {
        int rows = 0;
        for (std::size_t i = 2 + 5 * bag; i != 7 + 5 * bag; ++i) {
            if (x[i] == padding) continue;
            ++rows;
            for (std::size_t c = 0; c != columns; ++c)
                y[bag * columns + c] += double{table[static_cast<std::size_t>(x[i]) * columns + c]};
        }
        if (mean && rows > 1)
            for (std::size_t c = 0; c != columns; ++c) y[bag * columns + c] /= rows;
    }
    return y;
}
template <class Network> void check_files(const Network& model) {
    const auto bytes = zp::to_bytes(model);
    const auto loaded = zp::load<Network>(bytes);
    for (const sentence& x : sentences(4)) CHECK(run(loaded, x) == run(model, x));
    CHECK(zp::to_bytes(loaded) == bytes);
}
template <class Network, int Bits, embedding_bag_options Options>
void check_coded(const Network& model, const std::vector<float>& table) {
    const zp::quantized_embedding_bag<Bits> layer(table, columns, Options.mode, Options.padding_index);
    for (const sentence& x : sentences(4)) {
        std::vector<float> y(2 * columns);
        const std::vector<std::int32_t> offsets = {0, 5};
        layer(std::span(x).subspan(2, 10), std::span(offsets), y);
        CHECK(run(model, x) == y);
    }
    check_files(model);
}
using zp_test::error_of;

template <embedding_bag_options Options> void check_bags() {
    const auto model = made_up::network<net<Options>>(7);
    const auto table = made_up::parameters_of(model, "tags").weights;
    static_assert(zp::float_model<net<Options>>::output_shape == zp::shape{1, 2, columns});
    for (const sentence& x : sentences(4)) {
        const auto y = run(model, x);
        const auto expected = expected_of(table, x, Options.mode == embedding_bag_mode::mean);
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(double{y[i]} - expected[i]) < 1e-5);
    }
    check_files(zp::quantize_dynamic<dynamic_tables<8>>(model));
    using bytes = decltype(zp::quantize_dynamic<dynamic_tables<8>>(model));
    check_coded<bytes, 8, Options>(zp::quantize_dynamic<dynamic_tables<8>>(model), table);
    using nibbles = decltype(zp::quantize_dynamic<dynamic_tables<4>>(model));
    check_coded<nibbles, 4, Options>(zp::quantize_dynamic<dynamic_tables<4>>(model), table);
    CHECK(run(zp::quantize_dynamic(model), sentences(1)[0]) == run(model, sentences(1)[0]));  // a float table
    CHECK(error_of<zp::value_error>([&] { run(model, sentence(length, words)); }) ==
          "tags: index 31 at position 2 is outside of the table's 31 rows");
    sentence unread = sentences(1)[0];
    unread[0] = unread[13] = words;  // no bag has it
    CHECK(run(model, unread) == run(model, sentences(1)[0]));
}

}  // namespace

TEST_CASE("embedding_bag: sums and means are the definition's, tables in codes those of the layer by itself") {
    check_bags<sums>();
    check_bags<means>();
}

TEST_CASE(
    "embedding_bag: in int8 models its table has 8 bits, or 4, with a scale a row, and floats are quantized behind") {
    const auto trained = made_up::network<classifier>(7);
    const auto data = sentences(40);
    const auto table = made_up::parameters_of(trained, "tags").weights;
    const auto check = [&]<class Config, int Bits>(std::type_identity<Config>, std::integral_constant<int, Bits>) {
        const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(trained), data));
        const zp::node& row = int8.rows()[1];
        CHECK(row.is_float());
        CHECK(row.weights.quant_max == (1 << Bits) - 1);
        CHECK(zp::table_of(int8).rows[1].operation == "embedding_bag of " + std::to_string(Bits) + " bits");
        const zp::quantized_embedding_bag<Bits> layer(table, columns, embedding_bag_mode::mean);
        std::vector<float> y(3), found(columns), wanted(columns);
        typename decltype(int8)::workspace memory;
        int8.run(data[1].data(), y.data(), memory.bytes, [&](int i, const void* values) {
            if (i == 1) std::copy_n(static_cast<const float*>(values), columns, found.data());
        });
        const std::vector<std::int32_t> offsets = {0};
        layer(std::span(data[1]), std::span(offsets), wanted);
        CHECK(found == wanted);
        for (const sentence& x : data) {
            const auto exact = run(trained, x), codes = run(int8, x);
            for (std::size_t i = 0; i != 3; ++i) CHECK(std::abs(codes[i] - exact[i]) < (Bits == 8 ? 0.02f : 0.2f));
        }
        check_files(int8);
    };
    check(std::type_identity<zp::default_qconfig>{}, std::integral_constant<int, 8>{});
    check(std::type_identity<four_bits>{}, std::integral_constant<int, 4>{});
}

namespace {

/// Bags of unequal length are filled up with a row that is left out.
template <int Rows, int Columns, int Bits> void check_golden(const std::string& group) {
    CAPTURE(group);
    struct bags
        : zp::model<zp::indices<12>,
                    zp::embedding_bag<"table", Rows + 1, Columns,
                                      embedding_bag_options{.mode = embedding_bag_mode::sum, .padding_index = Rows}>> {
    };
    const zp_test::golden_file golden("operators_embedding");
    const auto weight = golden.values<float>(group + "/weight"), y = golden.values<float>(group + "/y");
    const auto indices = golden.values<std::int32_t>(group + "/indices"),
               offsets = golden.values<std::int32_t>(group + "/offsets");
    REQUIRE(weight.size() == std::size_t{Rows} * Columns);
    zp::float_model<bags> model;
    const auto table = zp_test::array_of(model, model.rows()[1], 0);
    std::fill(table.begin(), table.end(), 1.0f);
    std::copy(weight.begin(), weight.end(), table.begin());
    const auto coded = zp::quantize_dynamic<dynamic_tables<Bits>>(model);
    for (std::size_t bag = 0; bag != offsets.size(); ++bag) {
        const auto end = bag + 1 == offsets.size() ? indices.end() : indices.begin() + offsets[bag + 1];
        sentence x(indices.begin() + offsets[bag], end);
        x.resize(12, Rows);
        const auto found = run(coded, x);
        for (std::size_t c = 0; c != Columns; ++c)
            CHECK(found[c] == doctest::Approx(y[bag * Columns + c]).epsilon(1e-5));
    }
}

}  // namespace

TEST_CASE("embedding_bag: vectors of PyTorch, of 8 and of 4 bits") {
    check_golden<10, 8, 8>("embedding_bag_byte/0");
    check_golden<7, 34, 8>("embedding_bag_byte/2");
    check_golden<10, 8, 4>("embedding_bag_4bit/0");
    check_golden<7, 34, 4>("embedding_bag_4bit/2");
}
