// SPDX-License-Identifier: BSD-3-Clause
// Nodes that are one operator together, and what goes into the epilogues of dynamic products: which, and the same numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ratio>
#include <string>
#include <vector>

#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/models/bert_encoder.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"

namespace {

using every_layer = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>;
using float_attention =
    zp::dynamic_qconfig<zp::dynamic_policy<zp::quint8, zp::per_row_affine, zp::qint8, zp::per_channel_symmetric,
                                           zp::pytorch_rule, zp::pytorch_rule, zp::attention_products::float32>,
                        zp::quantize_every_layer>;
using float_softmax =
    zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer, zp::keep_float_type<zp::op::softmax>>;

template <class Model, class Config = every_layer> int count(const zp::operator_kind& kind) {
    int found = 0;
    for (const zp::node& n : zp::dynamically_quantized<Model, Config>::rows()) found += n.op->kind == &kind;
    return found;
}

/// The node of a kind.
template <class Model> constexpr zp::node_view node_of(const zp::operator_kind& kind) {
    using network = zp::dynamically_quantized<Model, every_layer>;
    for (const zp::node& n : network::stage::table)
        if (n.op->kind == &kind) return {network::stage::table.nodes, n};
    return network::stage::table.view(0);
}

using zp::fixed_string;
struct rows_of_pytorch : zp::model<zp::input<1, 7, 24>, zp::self_attention<"a", 3>> {};
struct rows_of_bert : zp::models::bert_encoder<7, 24, 2, 3, 40> {};

template <class Scale>
using probabilities = zp::sequential<
    zp::matmul_transposed<zp::models::bert_parts::heads_of<"q", 8, 2>, zp::models::bert_parts::heads_of<"k", 8, 2>>,
    zp::mul_scalar<Scale>, zp::softmax>;
template <class Scale> using weighted = zp::matmul<probabilities<Scale>, zp::models::bert_parts::heads_of<"v", 8, 2>>;
using merge = zp::operator_layer<zp::op::permute, "", zp::operators::merge_heads>;

/// The same between projections of other names, behind one another or side by side.
struct rows_of_projections
    : zp::model<zp::input<1, 7, 24>, zp::attention<3, zp::linear<"q", 24>, zp::linear<"k", 24>, zp::linear<"v", 24>>> {
};
struct rows_of_parts : zp::model<zp::input<1, 7, 24>, zp::linear<"qkv", 72>,
                                 zp::attention<3, zp::chunk<0, 3>, zp::chunk<1, 3>, zp::chunk<2, 3>>> {};

struct root : zp::model<zp::input<1, 6, 8>, weighted<std::ratio<1, 2>>, merge> {};
struct another_factor : zp::model<zp::input<1, 6, 8>, weighted<std::ratio<1, 3>>, merge> {};
struct tiny_factor : zp::model<zp::input<1, 6, 8>, weighted<std::ratio<1, 1000000>>, merge> {};
/// A factor of the queries, one of the keys, and one of the scores: 1/2 together, the root of the depth.
template <fixed_string Name, class Factor>
using scaled_heads = zp::sequential<zp::models::bert_parts::heads_of<Name, 8, 2>, zp::mul_scalar<Factor>>;
struct factors_of_all : zp::model<zp::input<1, 6, 8>,
                                  zp::matmul<zp::sequential<zp::matmul_transposed<scaled_heads<"q", std::ratio<1, 3>>,
                                                                                  scaled_heads<"k", std::ratio<2, 1>>>,
                                                            zp::mul_scalar<std::ratio<3, 4>>, zp::softmax>,
                                             zp::models::bert_parts::heads_of<"v", 8, 2>>,
                                  merge> {};
struct no_factor
    : zp::model<zp::input<1, 6, 8>,
                zp::matmul<zp::sequential<zp::matmul_transposed<zp::models::bert_parts::heads_of<"q", 8, 2>,
                                                                zp::models::bert_parts::heads_of<"k", 8, 2>>,
                                          zp::softmax>,
                           zp::models::bert_parts::heads_of<"v", 8, 2>>,
                merge> {};

/// Of a sequence to another one, whose values are deeper than its keys.
struct of_two : zp::model<zp::named<"x", zp::input<1, 6, 8>>, zp::named<"y", zp::input<1, 40, 10>>,
                          zp::attention<2, zp::sequential<zp::from<"x">, zp::linear<"q", 8>>,
                                        zp::sequential<zp::from<"y">, zp::linear<"k", 8>>,
                                        zp::sequential<zp::from<"y">, zp::linear<"v", 12>>>> {};

/// Something else reads the weighted values.
struct read_twice {
    static constexpr int nodes = 30;
    static constexpr void lower(zp::builder& b) {
        const int w = weighted<std::ratio<1, 2>>::lower(b, b.input({1, 6, 8}));
        b.add(merge::lower(b, w), merge::lower(b, w));
    }
};

/// An attention over linear layers that are these parts of a tensor, and the sum of what it gives and of node `beside`.
constexpr zp::graph<8> attention_over_parts(const std::array<std::int8_t, 3>& parts, int beside,
                                            const zp::operator_info* clamp = nullptr) {
    zp::graph<8> g;
    zp::builder b(g.nodes, 8);
    const int x = b.input({1, 6, 8});
    zp::node attention = b.unary(zp::operators::attention_info, zp::operators::attention_rules, x, "");
    for (const std::int8_t part : parts) {
        const int projected = b.linear_part(x, "part", 8, true, {"in_proj", part, 3});
        attention.inputs[attention.input_count++ - 1] = static_cast<short>(projected);
    }
    attention.input_count = 3;
    g.nodes[2].fused.clamp = clamp;
    b.add(b.append(attention), beside);
    g.size = b.size;
    return g;
}

struct plain : zp::model<zp::input<1, 5, 24>, zp::linear<"a", 24>> {};
struct with_gelu : zp::model<zp::input<1, 5, 24>, zp::linear<"a", 24>, zp::gelu> {};
struct with_sum : zp::model<zp::input<1, 5, 24>, zp::residual<zp::linear<"a", 24>>> {};
struct with_clamp : zp::model<zp::input<1, 5, 24>, zp::linear<"a", 24>, zp::hardtanh<-1000, 1000>> {};

/// The dynamic network of `Model`, whose linear layer is that of every other.
template <class Model> std::vector<float> run(const std::vector<float>& x) {
    zp::float_model<Model> floats;
    const auto weights = made_up::values(24 * 24 + 24, 8, -0.4f, 0.4f);
    for (const zp::node& n : floats.rows()) {
        if (n.at.parameter_bytes == 0) continue;
        auto* block = reinterpret_cast<float*>(floats.parameters() + n.at.parameter_offset);
        std::copy_n(weights.begin(), 24 * 24, block);
    }
    const auto dynamic = zp::quantize_dynamic<every_layer>(floats);
    std::vector<float> y(x.size());
    dynamic(x, y);
    return y;
}

}  // namespace

TEST_CASE("contract: attention is one dynamic node, of PyTorch's names and of BERT's") {
    CHECK(count<rows_of_pytorch>(zp::op::attention) == 1);
    CHECK(zp::dynamically_quantized<rows_of_pytorch, every_layer>::rows().size() == 6);
    CHECK(count<rows_of_bert>(zp::op::attention) == 2);
    CHECK(count<rows_of_bert>(zp::op::softmax) == 0);
    CHECK(count<rows_of_bert>(zp::op::add) == 0);
    CHECK(count<root>(zp::op::attention) == 1);
    CHECK(count<rows_of_projections>(zp::op::attention) == 1);
    CHECK(count<rows_of_parts>(zp::op::attention) == 1);
    CHECK(count<rows_of_parts>(zp::op::softmax) == 0);
    CHECK(count<of_two>(zp::op::attention) == 1);
    CHECK(count<of_two>(zp::op::softmax) == 0);
    constexpr zp::kernel::attention_extents e = zp::operators::extents_of_attention(node_of<of_two>(zp::op::attention));
    CHECK((e.rows == 6 && e.columns == 40 && e.heads == 2 && e.depth == 4 && e.value_depth == 6 && e.factor == 0));
}

TEST_CASE("contract: factors of scores, wherever they are") {
    CHECK(node_of<root>(zp::op::attention).n.parameter == 0);
    CHECK(node_of<factors_of_all>(zp::op::attention).n.parameter == 0);
    CHECK(node_of<another_factor>(zp::op::attention).n.parameter == 1.0f / 3);
    CHECK(node_of<no_factor>(zp::op::attention).n.parameter == 1);
}

TEST_CASE("contract: what is not attention, or may not be, stays as it is") {
    CHECK(count<tiny_factor>(zp::op::attention) == 0);
    CHECK(count<read_twice>(zp::op::attention) == 0);
    CHECK(count<read_twice>(zp::op::softmax) == 1);
    CHECK(count<rows_of_bert, float_attention>(zp::op::attention) == 0);
    CHECK(count<rows_of_bert, float_softmax>(zp::op::attention) == 0);
}

TEST_CASE("parts of a tensor: one product, where nothing else is asked of one of them") {
    constexpr auto merged = zp::merge_parts(attention_over_parts({0, 1, 2}, 0));
    REQUIRE(merged.size == 4);
    const zp::node &product = merged.nodes[1], &attention = merged.nodes[2], &sum = merged.nodes[3];
    CHECK(product.out.extents == zp::shape{1, 6, 24});
    CHECK(product.weights.channels == 24);
    CHECK(product.weights.count == 3 * 8 * 8);
    CHECK(std::string(product.part.name) == "in_proj");
    CHECK(product.part.parts == 1);
    CHECK(attention.input_count == 1);
    CHECK(attention.inputs[0] == 1);
    CHECK(sum.inputs[0] == 2);
    CHECK(sum.inputs[1] == 0);

    CHECK(zp::merge_parts(attention_over_parts({1, 0, 2}, 0)).size == 6);  // in another order
    CHECK(zp::merge_parts(attention_over_parts({0, 1, 2}, 2)).size == 6);  // read twice
    CHECK(zp::merge_parts(attention_over_parts({0, 1, 2}, 0, &zp::operators::relu_info)).size == 6);
}

TEST_CASE("epilogues: one node, and the bits of two") {
    using zp::dynamically_quantized;
    CHECK(dynamically_quantized<with_gelu, every_layer>::rows().size() == 2);
    CHECK(dynamically_quantized<with_sum, every_layer>::rows().size() == 2);
    const auto x = made_up::values(5 * 24, 2, -2, 2);
    const auto y = run<plain>(x), gelu = run<with_gelu>(x), sum = run<with_sum>(x), clamp = run<with_clamp>(x);
    for (std::size_t i = 0; i != x.size(); ++i) {
        CHECK(gelu[i] == zp::kernel::bounded_gelu(y[i]));
        CHECK(sum[i] == x[i] + y[i]);
        CHECK(clamp[i] == (y[i] < -1 ? -1 : y[i] > 1 ? 1 : y[i]));
    }
}
