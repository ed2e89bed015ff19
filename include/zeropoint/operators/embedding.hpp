// SPDX-License-Identifier: BSD-3-Clause
// Rows of a table by index, PyTorch's Embedding: the first layer of a model that indices go into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/movement/embedding.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/coded_embedding.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind embedding{"embedding"}, position_embedding{"position_embedding"};
}

/// Which of the model's indices an embedding reads: `count` from number `first` on, 0 being all that follow.
struct embedding_options {
    int first = 0;  // from which index on
    int count = 0;  // how many; 0: all that follow
};

namespace operators {

/// In int8 the table is codes of the output's grid, so that a row is copied: the codes that quantizing the float layer's
/// output gives.
template <embedding_layer Layer> struct embedding {
    static constexpr const char* kind = Layer.by_place ? "position_embedding" : "embedding";
    static constexpr auto options = options_of_embedding(Layer);
    static constexpr input_rule inputs = Layer.by_place ? input_rule::extents : input_rule::indices;
    static constexpr stream_rule stream = Layer.by_place ? stream_rule::stateful : stream_rule::pointwise;
    static constexpr bool takes_int16 = true, keeps_codes = true;

    static constexpr bool accepts(shape x) { return Layer.accepts(x); }
    static constexpr shape output_shape(shape x) { return {1, Layer.outputs_of(x), Layer.columns}; }
    static constexpr parameter_list parameters(shape) {
        return parameter_list().add({"weight", 2, {Layer.rows, Layer.columns, 1, 1, 1}, parameter_role::table});
    }
    static constexpr index_bound bound(const node_view& v) requires(!Layer.by_place) {
        return {Layer.first, v.y_shape().width, Layer.rows};
    }
    static constexpr state_list states(const node_view& v) requires(Layer.by_place) { return states_of_places(v); }
    static constexpr int prepared_bytes(const node_view& v) {
        return v.n.is_float() ? 0 : v.n.weights.count * size_of(v.y_type().storage);
    }
    template <class> static refusal pack(const preparation& p, const node_parameters& from) {
        std::memcpy(p.prepared(), from.matrices[0].codes.data(), from.matrices[0].codes.size());
        return {};
    }
    template <class> static node_parameters unpack(const preparation& p) {
        node_parameters to;
        to.matrices.emplace_back().codes.assign(p.prepared(), p.prepared() + prepared_bytes(p.at));
        return to;
    }
    template <class T> static void forward(const operands<T>& o) noexcept {
        const T* table = nullptr;
        if constexpr (std::is_same_v<T, float>) table = o.parameters();
        else table = o.template prepared<T>();
        const auto count = static_cast<std::size_t>(o.y_shape().width);
        if constexpr (Layer.by_place)
            for (std::size_t i = 0; i != count; ++i)
                std::memcpy(
                    o.y() + i * static_cast<std::size_t>(Layer.columns),
                    table + std::ptrdiff_t{next_place(Layer, *o.template state<std::int32_t>())} * Layer.columns,
                    sizeof(T) * std::size_t{Layer.columns});
        else kernel::embedding_codes(table, Layer.columns, o.indices() + Layer.first, count, o.y());
    }
};

/// Whether a table's extents are possible; its bytes are counted in int.
constexpr bool is_table(int rows, int columns) {
    return rows >= 1 && columns >= 1 && std::int64_t{rows} * columns < (std::int64_t{1} << 29);
}

template <const operator_kind& Kind, fixed_string Name, embedding_layer Layer,
          template <embedding_layer> class Operator = embedding>
struct embedding_node {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if (!Layer.by_place && !b.nodes[x].is_indices()) b.fail(rule::indices_expected, b.nodes[x].out.extents);
        return append_operator<Kind, Operator<table_or_none>>(b, {&x, 1}, Name.text);
    }

private:
    /// Harmless extents for a table whose own are not, so that a mistake is one message.
    static constexpr embedding_layer table_or_none = [] {
        embedding_layer layer = Layer;
        if (!is_table(layer.rows, layer.columns)) layer.rows = layer.columns = 1;
        return layer;
    }();
};

}  // namespace operators

template <> struct forms_of<op::embedding> : operators::embedding_forms {};
template <> struct forms_of<op::position_embedding> : operators::embedding_forms {};

/// PyTorch's Embedding over the indices that go into a model, which begins with zp::indices<Count>: a sequence of
/// 1 x Count x Columns, row x[i] of the table at place i. `zp::embedding<"tokens", 30522, 384>`; parameter "tokens.weight",
/// Rows x Columns (num_embeddings x embedding_dim). An index outside of the table raises value_error before anything runs.
/// With zp::embedding_options{.first = 1, .count = 1} it reads a part of the indices, so that each may have a table of its
/// own. PyTorch's padding_idx is a matter of training: its row is read as all others are.
///
/// In int8 its output has a scale of its own and its table the codes of that grid; quantize_dynamic and zp::embedding_bits<4>
/// keep codes with a scale and an offset a row, and give floats: see docs/numerics.md.
template <fixed_string Name, int Rows, int Columns, embedding_options Options = embedding_options{}>
struct embedding : operators::embedding_node<op::embedding, Name,
                                             embedding_layer{Rows, Columns, Options.first, Options.count, false}> {
    static_assert(operators::is_table(Rows, Columns),
                  "embedding<Name, Rows, Columns>: Rows and Columns must be at least 1, and the table must have fewer "
                  "than 2^29 values");
};

/// An embedding of places, learned as BERT's: row First of the table for the first column of a sequence, the next for the
/// second, and so on. It reads no values, so that indices may go in as well as vectors:
///     zp::add<zp::embedding<"words", 30522, 384>, zp::position_embedding<"positions", 512, 384>>
/// Parameter "positions.weight", Rows x Columns, of which a sequence reads as many as it is long. Under zp::streaming it goes on from
/// step to step, and stays at the last row.
template <fixed_string Name, int Rows, int Columns, int First = 0>
struct position_embedding
    : operators::embedding_node<op::position_embedding, Name, embedding_layer{Rows, Columns, First, 0, true}> {
    static_assert(operators::is_table(Rows, Columns),
                  "position_embedding<Name, Rows, Columns>: Rows and Columns must be at least 1, and the table must "
                  "have fewer than 2^29 values");
};

}  // namespace zp::inline v0
