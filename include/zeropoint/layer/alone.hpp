// SPDX-License-Identifier: BSD-3-Clause
// Layers on their own: a network over rows whose number is known when it runs, with a state that is the caller's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <zeropoint/graph/sequential.hpp>
#include <zeropoint/kernel/machine/machine.hpp>
#include <zeropoint/layer/parameter_source.hpp>
#include <zeropoint/model/source.hpp>
#include <zeropoint/model/stage.hpp>
#include <zeropoint/model/verdict.hpp>
#include <zeropoint/operators/dynamic_group_policy.hpp>
#include <zeropoint/operators/dynamic_policy.hpp>
#include <zeropoint/operators/input.hpp>
#include <zeropoint/operators/integer_weights.hpp>
#include <zeropoint/pass/contract.hpp>
#include <zeropoint/operators/weight_only_policy.hpp>
#include <zeropoint/pass/fuse.hpp>

namespace zp::inline v0 {

/// The policy of layers that stay float: their ground truth, and their weights before they are quantized.
struct float_policy {
    static constexpr bool is_per_row = true;  ///< no row depends on another
};

namespace detail {

/// Layers over MostRows rows of Inputs values as a model, whose layers need no names.
template <class Layers, int Inputs, int MostRows> struct rows_model {
    static constexpr int nodes = 1 + nodes_of<Layers>;
    static constexpr void lower(builder& b) {
        b.needs_names = false;
        sequential<Layers>::lower(b, b.input({1, MostRows, Inputs}));
    }
};

template <class Layers, int Inputs, class Policy, class Arch, int MostRows> struct alone_nodes {
    using net = rows_model<Layers, Inputs, MostRows>;
    using architecture = Arch;
    static constexpr bool is_float = std::is_same_v<Policy, float_policy>;
    using policies =
        std::conditional_t<weights_alone<Policy>, stage_policies<void, void, Policy>, stage_policies<void, Policy>>;
    static_assert(sizeof(verdict<source<net>>) != 0);
    /// What parameters are read for.
    static constexpr auto floats = merge_parts(
        contract_nodes(fuse_nodes(source<net>::table), [](const auto&, int, node&, const auto&) { return true; }));

    static constexpr void choose_products(const node* nodes, node& n) {
        if constexpr (!is_float)
            if (n.weights.count == 0    ? has_int8_attention<Policy> && n.op->has_dynamic
                : weights_alone<Policy> ? n.op->has_weight_only
                                        : n.op->has_dynamic)
                operators::make_integer_weights<Policy, Arch>(nodes, n);
    }
    static constexpr auto wide = [] {
        auto g = floats;
        for (int i = 0; i != g.size; ++i) {
            g.nodes[i].from = {};
            g.nodes[i].from.self = static_cast<short>(i);
            choose_products(g.nodes, g.nodes[i]);
        }
        g = merge_epilogues(g);
        keep_states(g);
        return g;
    }();
    static constexpr auto loose = shrink<wide.size>(wide);
    template <int N> static constexpr void place(graph<N>& g) { place_states(g); }

    /// Whether a call may have fewer rows: each node gives as many as it reads.
    static constexpr bool has_any_length = [] {
        for (int i = 0; i != loose.size; ++i) {
            const node& n = loose.nodes[i];
            const bool keeps = n.op->is_input || n.op->any_length || n.op->stream == stream_rule::pointwise ||
                               n.op->stream == stream_rule::stateful;
            if (!keeps || n.out.extents.height != 1 || n.out.extents.is_volume() || n.out.extents.width != MostRows)
                return false;
        }
        return true;
    }();
    /// Whether sums in int32 can overflow.
    static constexpr bool overflows = [] {
        if constexpr (!is_float)
            for (const node& n : loose)
                if (n.is_dynamic() && operators::why_no_integer_weights<Policy>(n) != nullptr) return true;
        return false;
    }();
    /// Of a node with so many rows, or fewer.
    template <class Form> static constexpr int scratch_bytes(const node_view& v) {
        if constexpr (requires { Form::most_scratch_bytes(v); }) {
            return Form::most_scratch_bytes(v);
        } else {
            node nodes[max_inputs + 1] = {};
            node& n = nodes[v.n.input_count];
            n = v.n;
            int most = 0;
            for (int rows = 1; rows <= MostRows; ++rows) {
                n.out.extents.width = rows;
                for (int k = 0; k != n.input_count; ++k) {
                    if (rows == 1) nodes[k].out = v.x_type(k);
                    n.inputs[k] = static_cast<short>(k);
                    nodes[k].out.extents.width = rows;
                }
                most = std::max(most, scratch_bytes_of<Form>({nodes, n}));
            }
            return most;
        }
    }
};

}  // namespace detail

/// Layers of a model over 1 to MostRows rows of Inputs floats, a row of outputs for each: what they are as rows of any model, with
/// the number of rows a matter of the call. Policy is float_policy, a dynamic_policy, a dynamic_group_policy or a
/// weight_only_policy.
///
///     using layer = zp::alone<zp::linear<"", 64>, 256, zp::dynamic_policy<>, zp::default_architecture, 8>;
///     const layer linear(weights, bias);            // packs once
///     layer::workspace memory;
///     linear(x, y, memory);                         // spans of rows * 256 and rows * 64 floats
///
/// Recurrent layers go on from a state of the caller's, zero at the beginning of a sequence:
///
///     zp::alone<zp::gru<"", 64>, 40>::state state;
///     gru(x, state, y, memory);
template <class Layers, int Inputs, class Policy = dynamic_policy<>, class Arch = default_architecture,
          int MostRows = 1>
class alone {
    using nodes_type = detail::alone_nodes<Layers, Inputs, Policy, Arch, MostRows>;
    using stage = zp::stage<nodes_type>;
    static constexpr int size = stage::table.size;
    static_assert(
        !stage::is_valid || nodes_type::has_any_length || MostRows == 1,
        "alone<Layers, Inputs, Policy, Arch, MostRows>: these layers do not give a row of outputs for each row of "
        "inputs, whatever their number: make a model of them");
    static_assert(
        !stage::is_valid || !nodes_type::overflows,
        "alone<Layers, Inputs, Policy, ...>: an int32 accumulator can overflow with more than 65793 inputs, with more "
        "than 33025 where weights are affine: split the inputs, and add the outputs");
    static_assert(!stage::is_valid || (input_count(stage::table) == 1 && marked_output_count(stage::table) == 0),
                  "alone<Layers, Inputs, Policy, ...>: layers on their own have one input and one output: make a model "
                  "of those with "
                  "a zp::input or a zp::output");
    static constexpr bool has_state = stage::table.state_bytes != 0;

public:
    /// Values of a row, values that come out for one, rows of a call at most.
    static constexpr int inputs = Inputs, outputs = stage::table.output().out.extents.channels, most_rows = MostRows;
    static constexpr std::size_t parameter_bytes = static_cast<std::size_t>(stage::table.parameter_bytes);
    static constexpr std::span<const node> rows() { return {stage::table.nodes, static_cast<std::size_t>(size)}; }

    /// The memory that one call works in.
    struct workspace {
        /// At a multiple of 64 bytes.
        alignas(buffer_alignment) std::byte bytes[stage::table.arena_bytes == 0 ? 1 : stage::table.arena_bytes];
        /// Nodes of a call with fewer rows.
        alignas(node) std::byte nodes[MostRows == 1 ? 1 : sizeof(node) * static_cast<std::size_t>(size)];
    };
    /// What a call leaves to the next.
    struct state {
        /// Zeros at the beginning.
        alignas(buffer_alignment) std::array<std::byte, has_state ? stage::table.state_bytes : 1> bytes{};

        /// The values of a name, such as "h" and "c" of an LSTM, or "rnn.h" of the layer "rnn", as PyTorch orders them. Raises
        /// value_error where there are none of that name or type.
        template <class T = float> std::span<T> values(std::string_view name) {
            for (int i = 0; i != size; ++i) {
                const node_view v = stage::table.view(i);
                const state_list list = states_of(v);
                for (int k = 0; k != list.count; ++k) {
                    const bool is_named =
                        name == list.arrays[k].name || name == std::string(v.n.name) + "." + list.arrays[k].name;
                    if (!is_named || list.arrays[k].storage != scalar_type_of<T>) continue;
                    std::byte* begin = bytes.data() + v.n.at.state_offset + list.offset_of(k);
                    return {reinterpret_cast<T*>(begin), static_cast<std::size_t>(list.arrays[k].size)};
                }
            }
            raise<value_error>(
                "state.values: expected the name and type of a state of this layer, such as \"h\", found \"" +
                std::string(name) + "\"");
        }
    };

    /// `find(name, rows, columns, optional)` gives the floats of a tensor under PyTorch's name, columns = 0 for a vector; of an
    /// optional one, a bias, perhaps none. zp::state_dict reads them from a file. Raises shape_error for other counts and
    /// calibration_error for weights that are not finite.
    template <class Find>
        requires requires(Find& find, const std::string& name) {
            { find(name, 0, 0, true) } -> std::convertible_to<std::span<const float>>;
        }
    explicit alone(Find&& find)  // NOLINT(bugprone-forwarding-reference-overload): copies have no such call
        : parameters_(parameter_bytes) {
        require_machine<Arch>();
        detail::parameter_source source("alone", find);
        for (int i = 0; i != nodes_type::floats.size; ++i) {
            const node_view from = nodes_type::floats.view(i);
            if (parameters_of(from).count == 0) continue;
            const int to = placed_node(i);
            const node_view v = stage::table.view(to);
            const preparation p{v, nullptr, parameters_.data() + v.n.at.parameter_offset};
            stage::packs[static_cast<std::size_t>(to)](p, source.template read<quantizer, Arch>(v, from, {}));
        }
    }
    /// The same of tensors in the order in which they are asked for, layer by layer. Biases may be left out at the end; more tensors
    /// than are asked for are a shape_error.
    template <class... Tensors>
        requires(sizeof...(Tensors) != 0 && (... && std::convertible_to<const Tensors&, std::span<const float>>))
    explicit alone(const Tensors&... tensors)
        : alone(detail::tensors_in_order(std::array{std::span<const float>(tensors)...})) {}

    /// x: rows x inputs, y: rows x outputs. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const requires(!has_state) {
        run(x.data(), checked_rows(x, y), y.data(), memory);
    }
    void operator()(std::span<const float> x, state& kept, std::span<float> y,
                    workspace& memory) const requires has_state {
        run(x.data(), checked_rows(x, y), kept, y.data(), memory);
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int count, float* y, workspace& memory) const noexcept requires(!has_state) {
        run_nodes(x, count, nullptr, y, memory);
    }
    void run(const float* x, int count, state& kept, float* y, workspace& memory) const noexcept requires has_state {
        run_nodes(x, count, kept.bytes.data(), y, memory);
    }

private:
    explicit alone(detail::tensors_in_order&& tensors) : alone(static_cast<detail::tensors_in_order&>(tensors)) {
        tensors.check_all_read("alone");
    }

    struct no_weights_to_quantize {
        using weight_quantizer = own_weight_quantizer;
    };
    using quantizer =
        typename std::conditional_t<nodes_type::is_float, no_weights_to_quantize, Policy>::weight_quantizer;

    static std::string name_of(const node& n) { return n.name[0] != 0 ? n.name : n.op->name; }
    static int checked_rows(std::span<const float> x, std::span<float> y) {
        return detail::rows_of(size == 2 ? name_of(stage::table.nodes[1]) : "alone", x.size(), Inputs, y.size(),
                               outputs, MostRows);
    }
    /// The node of the table that has the parameters of a float node.
    static int placed_node(int of_floats) {
        for (int i = 0; i != size; ++i)
            if (stage::table.nodes[i].from.self == of_floats) return i;
        return -1;
    }

    void run_nodes(const float* x, int count, std::byte* kept, float* y, workspace& memory) const noexcept {
        const node* nodes = stage::table.nodes;
        if constexpr (MostRows != 1)
            if (count != MostRows) {
                std::memcpy(memory.nodes, nodes, sizeof memory.nodes);
                auto* fewer = reinterpret_cast<node*>(memory.nodes);
                for (int i = 0; i != size; ++i) fewer[i].out.extents.width = count;
                nodes = fewer;
            }
        const void* const xs[] = {x};
        void* const ys[] = {y};
        const context c{nodes, parameters_.data(), nullptr, memory.bytes, xs, ys, kept};
        for (int i = 0; i != size; ++i) stage::steps[static_cast<std::size_t>(i)](nodes[i], c);
    }

    aligned_buffer parameters_;
};

}  // namespace zp::inline v0
