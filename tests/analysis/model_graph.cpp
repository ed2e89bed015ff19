// SPDX-License-Identifier: BSD-3-Clause
// A model as a DOT graph: a node a row, an edge a value that is read, names that need quoting.
#include <doctest/doctest.h>

#include <string>

#include <zeropoint/analysis/model_graph.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#include "../support/made_up.hpp"

namespace {

struct net : zp::model<zp::input<4, 4, 2>, zp::residual<zp::conv2d<"a\"b\\", zp::conv{.out_channels = 2}>>, zp::relu> {
};

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("model graph: rows, edges and quotes") {
    const std::string text = zp::to_dot(made_up::network<net>(1));
    CHECK(text.substr(0, 15) == "digraph model {");
    CHECK(text.substr(text.size() - 2) == "}\n");
    CHECK(count(text, "[label=") == 4);
    CHECK(count(text, " -> ") == 4);  // input -> conv2d, conv2d and input -> add, add -> relu
    CHECK(count(text, "    row1 -> row2;\n    row0 -> row2;\n") == 1);
    CHECK(count(text, "conv2d\\na\\\"b\\\\\\n4x4x2 float32\", style=rounded];\n") == 1);
}

TEST_CASE("model graph: scales, algorithms and boundaries of a table") {
    zp::model_table table;
    table.rows.resize(2);
    table.rows[0].operation = "input";
    zp::model_table_row& codes = table.rows[1];
    codes.operation = "quantize";
    codes.inputs = {0};
    codes.type = zp::scalar_type::uint8;
    codes.quantization = {0.5f, 3};
    codes.algorithm = "direct";
    codes.is_boundary = true;
    CHECK(zp::to_dot(table).find(
              "row1 [label=\"quantize\\n1x1x1 uint8\\n0.5, 3\\ndirect\", penwidth=3];\n    row0 -> row1;") !=
          std::string::npos);
}
