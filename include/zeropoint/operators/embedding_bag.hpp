// SPDX-License-Identifier: BSD-3-Clause
// Sums and means of rows of a table by index, PyTorch's EmbeddingBag, as a layer of models that indices go into.
#pragma once

#include <zeropoint/operators/embedding.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind embedding_bag{"embedding_bag"};
}

using kernel::embedding_bag_mode;

/// Options of zp::embedding_bag, with PyTorch's defaults: it reads `count` of the model's indices from number `first` on, 0
/// being all that follow, in `bags` bags of as many. Rows `padding_index` are left out, of sums and of what a mean divides by:
/// so shorter bags are filled up. -1: none is.
struct embedding_bag_options {
    int first = 0;                                       // from which index on
    int count = 0;                                       // how many; 0: all that follow
    int bags = 1;                                        // how many sums or means, of as many rows each
    embedding_bag_mode mode = embedding_bag_mode::mean;  // sums or means
    int padding_index = -1;                              // the row that does not count; -1: none
};

namespace operators {

template <embedding_layer Layer> struct embedding_bag {
    static constexpr const char* kind = "embedding_bag";
    static constexpr auto options = options_of_embedding_bag(Layer);
    static constexpr input_rule inputs = input_rule::indices;
    static constexpr bool has_codes = true, keeps_codes = true, table_gives_floats = true;

    static constexpr bool accepts(shape x) { return Layer.accepts(x); }
    static constexpr shape output_shape(shape x) { return embedding<Layer>::output_shape(x); }
    static constexpr parameter_list parameters(shape x) { return embedding<Layer>::parameters(x); }
    static constexpr index_bound bound(const node_view& v) {
        return {Layer.first, Layer.count_of(v.x_shape()), Layer.rows};
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        add_rows<Arch>(Layer, kernel::float_table{o.parameters(), Layer.columns}, o.indices() + Layer.first,
                       Layer.count_of(o.x_shape()) / Layer.bags, o.y());
    }
};

}  // namespace operators

template <> struct forms_of<op::embedding_bag> : operators::embedding_forms {};

/// PyTorch's EmbeddingBag over the indices that go into a model, which begins with zp::indices<Count>: a sequence of
/// 1 x bags x Columns, the sums or means of rows of the table. `zp::embedding_bag<"tags", 5000, 64>` is the mean of the rows of
/// all indices; parameter "tags.weight", Rows x Columns. An index outside of the table raises value_error before anything runs.
///
/// Its output is floats in every model, a sum of values each of which has been rounded to codes of 8 or 4 bits, with a scale and
/// an offset a row, as PyTorch's quantized bags: in int8 models, of 8 bits where zp::embedding_bits does not say 4, and under
/// quantize_dynamic with zp::embedding_bits. Where the next layer computes with codes, it is quantized behind.
template <fixed_string Name, int Rows, int Columns, embedding_bag_options Options = embedding_bag_options{}>
struct embedding_bag
    : operators::embedding_node<op::embedding_bag, Name,
                                embedding_layer{Rows, Columns, Options.first, Options.count, false, Options.bags,
                                                Options.mode == embedding_bag_mode::mean, Options.padding_index},
                                operators::embedding_bag> {
    static_assert(operators::is_table(Rows, Columns),
                  "embedding_bag<Name, Rows, Columns>: Rows and Columns must be at least 1, and the table must have "
                  "fewer than 2^29 values");
    static_assert(Options.bags >= 1, "embedding_bag<Name, Rows, Columns, Options>: bags must be at least 1");
    static_assert(
        Options.padding_index >= -1 && Options.padding_index < operators::at_least_one(Rows),
        "embedding_bag<Name, Rows, Columns, Options>: padding_index must be a row of the table, or -1 for none");
};

}  // namespace zp::inline v0
