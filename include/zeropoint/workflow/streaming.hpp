// streaming: a model over a sequence, run one step at a time, with the numbers that the whole sequence gives.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/stages.hpp>
#include <zeropoint/workflow/stream_pass.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

/// The table of a stage with pointers to the functions of described operators.
template <class Stage> constexpr const auto& table_with_steps() {
    if constexpr (requires { Stage::planned; }) return Stage::planned;
    else return Stage::table;
}
template <class Stage> struct streamed_rows {
    static constexpr auto wide = stream_rows<2 * table_with_steps<Stage>().size>(table_with_steps<Stage>());
    static constexpr auto loose = [] {
        auto g = shrink<wide.size>(wide);
        if constexpr (requires { typename Stage::kernels; }) {
            if (g.error.broken == rule::none)
                return choose_algorithms<typename Stage::architecture>(g, [](const node& row) { return row.policy; });
        }
        return g;
    }();
    static constexpr const auto& table = loose;  // what the verdict looks at
};
template <class Stage> constexpr auto kernels_of_stream() {
    using Arch = typename Stage::architecture;
    constexpr const auto& rows = streamed_rows<Stage>::loose;
    if constexpr (requires { typename Stage::kernels; })
        return quantized_kernels<typename Stage::kernels::requantization_policy, Arch,
                                 needs_of(rows.nodes, rows.size)>();
    else if constexpr (requires { typename Stage::dynamic_kernels; }) return typename Stage::dynamic_kernels();
    else return float_steps<Arch>();
}

}  // namespace detail

/// One step of a float, dynamically quantized or int8 stage.
template <class Stage> struct streaming_stage {
    using net = typename Stage::net;
    using architecture = typename Stage::architecture;
    static_assert(sizeof(verdict<detail::streamed_rows<Stage>>) != 0);
    using row_kernels = decltype(detail::kernels_of_stream<Stage>());
    static constexpr bool has_codes = requires { typename Stage::kernels; };
    static constexpr bool is_dynamic = requires { typename Stage::dynamic_kernels; };
    static constexpr auto planned = [] {
        auto g = detail::streamed_rows<Stage>::loose;
        if (g.error.broken != rule::none) return g;
        for (int i = 0; i != g.size; ++i) {
            node& row = g.nodes[i];
            bool is_float = !has_codes;
            if constexpr (is_dynamic) is_float = !row.dynamic;
            if (is_float) {
                row.parameter_bytes = float_parameter_bytes(row);
                row.scratch_bytes = float_scratch_bytes<architecture>(row);
            } else if constexpr (has_codes || is_dynamic) {
                row.parameter_bytes = row_kernels::parameter_bytes(row);
                row.scratch_bytes = row_kernels::scratch_bytes(row);
            }
        }
        place_parameters(g);
        place_activations(g);
        place_kept(g);
        return g;
    }();
    static constexpr auto table = without_steps(planned);
    static constexpr auto steps = []<int... Row>(std::integer_sequence<int, Row...>) {
        if constexpr (has_codes || is_dynamic)
            return std::array<step_function, sizeof...(Row)>{row_kernels::template step_of<streaming_stage, Row>()...};
        else return std::array<step_function, sizeof...(Row)>{float_step<architecture>(planned.nodes[Row])...};
    }
    (std::make_integer_sequence<int, planned.size>{});
};

/// A model over a sequence of 1 x steps x features, one step at a time: `Network` is a float_model, a fused, a
/// dynamically_quantized or a quantized one. Before the first step there are zeros, as the model's padding has them.
///
///     zp::streaming<zp::quantized<keywords, my_qconfig>> stream(model);
///     stream(features, scores);                     // of one step; nothing is allocated
///
/// A step gives what the whole sequence gives at its place: int8 networks to the last bit, float rows but for the order of
/// their sums. Layers must look back only: conv1d of stride 1 behind a zero_pad2d on the left of (kernel - 1) * dilation,
/// lstm and gru of one layer that go forward, and layers that see one step at a time; others are errors of one sentence. It
/// keeps parameters of its own.
template <class Network> class streaming {
    using source_stage = typename Network::stage;
    using stage_type = streaming_stage<source_stage>;

public:
    using network_type = network<stage_type>;
    static constexpr shape input_shape = network_type::input_shape, output_shape = network_type::output_shape;

    explicit streaming(const Network& model) {
        for (int slot = 0; slot != stage_type::table.slots; ++slot) network_.ranges()[slot] = model.ranges()[slot];
        for (const node& row : network_type::rows())
            if (row.parameter_bytes != 0) copy_parameters(model, row);
        reset();
    }

    /// Begins a sequence anew.
    void reset() noexcept {
        for (int i = 0; i != stage_type::planned.size; ++i) {
            const node& row = stage_type::planned.nodes[i];
            if (row.keeps_state)
                std::memset(memory_.bytes + row.scratch_offset, 0, static_cast<std::size_t>(row.scratch_bytes));
            if (!is_stream_window(row)) continue;
            std::byte* values = memory_.bytes + row.arena_offset;
            const int zero = row.type == scalar_type::float32 ? 0 : network_.ranges()[row.slot].zero_point;
            std::memset(values, zero, static_cast<std::size_t>(row.out.size() * size_of(row.type)));
        }
    }

    /// One step: x has the features, y the outputs; contiguous ranges of floats, checked as a network's.
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y) noexcept(
        noexcept(std::declval<const network_type&>()(x, y, std::declval<typename network_type::workspace&>()))) {
        network_(x, y, memory_);
    }

    /// The network of one step, for tables.
    const network_type& step_network() const noexcept { return network_; }

private:
    void copy_parameters(const Network& model, const node& row) {
        const node& old = Network::rows()[static_cast<std::size_t>(row.origin)];
        const std::byte* from = model.parameters() + old.parameter_offset;
        std::byte* to = network_.parameters() + row.parameter_offset;
        const node* rows = stage_type::table.nodes;
        if constexpr (stage_type::is_dynamic) {
            using kernels = typename stage_type::row_kernels;
            if (row.dynamic && !is_recurrent(row)) return kernels::write(row, kernels::read(old, from), to);
        }
        if constexpr (stage_type::has_codes) {
            using kernels = typename stage_type::row_kernels;
            if (row.type != scalar_type::float32 && is_weighted(row.kind)) {
                const node& producer = Network::rows()[static_cast<std::size_t>(old.inputs[0])];
                return kernels::write_weighted(
                    row, rows, source_stage::kernels::read_weighted(old, producer, model.ranges(), from),
                    network_.ranges(), to);
            }
        }
        std::memcpy(to, from, static_cast<std::size_t>(row.parameter_bytes));
    }

    network_type network_;
    typename network_type::workspace memory_;
};

}  // namespace v0
}  // namespace zp
