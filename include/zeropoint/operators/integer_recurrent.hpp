// LSTM and GRU of an int8 model: codes in, codes out, every step in integers, as static_recurrent computes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/lookup_table.hpp>
#include <zeropoint/graph/context.hpp>
#include <zeropoint/operators/integer_product.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

/// What lies at the beginning of the block of an int8 recurrent node.
struct integer_recurrent_header {
    kernel::activation_codes x;  ///< of the input
    std::uint8_t output[256];    ///< from codes of a state to those of the output, in the order of the storage type
    kernel::gate_tables tables;
};
/// The codes of a state.
inline constexpr kernel::activation_codes state_codes{0, -128, 127};

/// Where the parts of one layer and direction lie in the block, behind where that begins.
template <class Arch> struct integer_recurrent_layout {
    integer_product_kernel<Arch> from_input, from_state;
    std::size_t state_panels, x_multiplier, h_multiplier, x_bias, h_bias, floats, shift, bytes;

    constexpr integer_recurrent_layout(const recurrent_geometry& g, int layer)
        : from_input{g.inputs_of(layer), g.sums()},
          from_state{g.outputs(), g.sums()},
          state_panels(align_up(from_input.packed_bytes())),
          x_multiplier(state_panels + align_up(from_state.packed_bytes())),
          h_multiplier(x_multiplier + align_up(4 * count(g))),
          x_bias(h_multiplier + align_up(4 * count(g))),
          h_bias(x_bias + align_up(8 * count(g))),
          floats(h_bias + align_up(8 * count(g))),
          shift(floats + align_up(16 * count(g))),
          bytes(shift + buffer_alignment) {}

private:
    static constexpr std::size_t count(const recurrent_geometry& g) { return static_cast<std::size_t>(g.sums()); }
};
template <class Arch> constexpr std::size_t integer_recurrent_bytes(const recurrent_geometry& g) {
    std::size_t bytes = align_up(sizeof(integer_recurrent_header));
    for (int layer = 0; layer != g.options.layers; ++layer)
        bytes += static_cast<std::size_t>(g.directions()) * integer_recurrent_layout<Arch>(g, layer).bytes;
    return bytes;
}

/// The memory that steps in integers work in.
template <class Arch> struct integer_recurrent_scratch {
    std::size_t from_input, from_state, between, product, bytes;

    constexpr explicit integer_recurrent_scratch(const recurrent_geometry& g)
        : from_input(0),
          from_state(part(4, steps_together(g) * g.sums())),
          between(from_state + part(4, g.sums())),
          product(between + part(1, g.values_between())),
          bytes(product + product_bytes(g)) {}

private:
    static constexpr std::size_t part(int size, int count) {
        return align_up(static_cast<std::size_t>(size) * static_cast<std::size_t>(count));
    }
    static constexpr std::size_t product_bytes(const recurrent_geometry& g) {
        std::size_t most = integer_recurrent_layout<Arch>(g, 0).from_state.scratch_bytes(1);
        for (int layer = 0; layer != std::min(g.options.layers, 2); ++layer)
            for (const int rows : {1, steps_together(g), g.steps % most_steps_together})
                if (rows != 0)
                    most = std::max(most, integer_recurrent_layout<Arch>(g, layer).from_input.scratch_bytes(rows));
        return most;
    }
};

/// Fills the block of an int8 node. Null, or a sentence where its scales cannot be.
template <class Arch>
const char* pack_integer_recurrent(const recurrent_geometry& g, const preparation& p, const node_parameters& from) {
    auto& header = *new (p.prepared()) integer_recurrent_header;
    header.x = {p.x_qparams().zero_point, p.x_type().quant_min, p.x_type().quant_max};
    const qparams y = p.y_qparams();
    for (int h = -128; h != 128; ++h) {
        const int place = p.y_type().storage == scalar_type::uint8 ? h & 255 : h + 128;
        const std::int32_t code = quantize(static_cast<float>(h) * kernel::integer_state_scale, y, p.y_type().quant_min,
                                           p.y_type().quant_max);
        header.output[place] = static_cast<std::uint8_t>(code);
    }
    std::byte* block = p.prepared() + align_up(sizeof header);
    std::size_t matrix = 0, vector = 0;
    for (int layer = 0; layer != g.options.layers; ++layer)
        for (int direction = 0; direction != g.directions(); ++direction, matrix += 2) {
            const integer_recurrent_layout<Arch> at(g, layer);
            const quantized_weights &ih = from.matrices[matrix], &hh = from.matrices[matrix + 1];
            const float x_scale = layer == 0 ? p.x_qparams().scale : kernel::integer_state_scale;
            if (!gate_factors::fits(gate_factors::largest_step(x_scale, ih.scales, hh.scales)))
                return "scales of inputs times scales of weights must be below 64: calibrate on real data";
            const std::vector<float> none, &bias_ih = g.options.bias ? from.vectors[vector++] : none,
                                           &bias_hh = g.options.bias ? from.vectors[vector++] : none;
            at.from_input.pack(reinterpret_cast<const std::int8_t*>(ih.codes.data()),
                               layer == 0 ? header.x : state_codes, block);
            at.from_state.pack(reinterpret_cast<const std::int8_t*>(hh.codes.data()), state_codes,
                               block + at.state_panels);
            const gate_factors factors(x_scale, ih.scales, hh.scales, bias_ih, bias_hh);
            const auto put = [&](std::size_t place, const auto& values) {
                if (!values.empty()) std::memcpy(block + place, values.data(), values.size() * sizeof values[0]);
            };
            put(at.x_multiplier, factors.x_multiplier);
            put(at.h_multiplier, factors.h_multiplier);
            put(at.x_bias, factors.x_bias);
            put(at.h_bias, factors.h_bias);
            const std::size_t each = 4 * static_cast<std::size_t>(g.sums());
            put(at.floats, ih.scales);  // these, for files
            put(at.floats + each, hh.scales);
            put(at.floats + 2 * each, bias_ih);
            put(at.floats + 3 * each, bias_hh);
            std::memcpy(block + at.shift, &factors.shift, sizeof factors.shift);
            block += at.bytes;
        }
    return nullptr;
}
/// The inverse.
template <class Arch> node_parameters unpack_integer_recurrent(const recurrent_geometry& g, const std::byte* block) {
    const auto& header = *reinterpret_cast<const integer_recurrent_header*>(block);
    block += align_up(sizeof header);
    node_parameters all;
    for (int layer = 0; layer != g.options.layers; ++layer)
        for (int direction = 0; direction != g.directions(); ++direction) {
            const integer_recurrent_layout<Arch> at(g, layer);
            const auto* floats = reinterpret_cast<const float*>(block + at.floats);
            const auto next = [&] {
                floats += g.sums();
                return std::vector<float>(floats - g.sums(), floats);
            };
            const auto matrix = [&](const integer_product_kernel<Arch>& product, const std::byte* packed,
                                    kernel::activation_codes codes) {
                quantized_weights& weights = all.matrices.emplace_back();
                weights.codes.resize(static_cast<std::size_t>(product.depth) *
                                     static_cast<std::size_t>(product.channels));
                product.unpack(packed, codes, reinterpret_cast<std::int8_t*>(weights.codes.data()));
                weights.scales = next();
            };
            matrix(at.from_input, block, layer == 0 ? header.x : state_codes);
            matrix(at.from_state, block + at.state_panels, state_codes);
            for (int i = 0; i != (g.options.bias ? 2 : 0); ++i) all.vectors.push_back(next());
            block += at.bytes;
        }
    return all;
}

/// Steps in integers over a packed block, for run_recurrent().
template <class Arch> class integer_recurrent_cells {
public:
    integer_recurrent_cells(const recurrent_geometry& g, const std::byte* block, std::byte* states,
                            std::byte* memory) noexcept
        : g_(g),
          parts_(g),
          header_(*reinterpret_cast<const integer_recurrent_header*>(block)),
          next_(block + align_up(sizeof header_)),
          states_(states),
          memory_(memory) {}

    void begin(int layer, int direction) noexcept {
        at_ = integer_recurrent_layout<Arch>(g_, layer);
        x_codes_ = layer == 0 ? header_.x : state_codes;
        block_ = next_;
        next_ += at_.bytes;
        std::memcpy(&gates_.shift, block_ + at_.shift, sizeof gates_.shift);
        gates_.x_multiplier = reinterpret_cast<const std::int32_t*>(block_ + at_.x_multiplier);
        gates_.h_multiplier = reinterpret_cast<const std::int32_t*>(block_ + at_.h_multiplier);
        gates_.x_bias = reinterpret_cast<const std::int64_t*>(block_ + at_.x_bias);
        gates_.h_bias = reinterpret_cast<const std::int64_t*>(block_ + at_.h_bias);
        state_ = {g_, scalar_type::int8, states_, layer * g_.directions() + direction};
    }
    template <class Code> void from_input(const Code* x, int rows) const noexcept {
        at_.from_input.run(x, rows, x_codes_, block_, sums(parts_.from_input), memory_ + parts_.product);
    }
    void step(int row) const noexcept {
        const std::int32_t* input = sums(parts_.from_input) + row * g_.sums();
        at_.from_state.run(h(), 1, state_codes, block_ + at_.state_panels, sums(parts_.from_state),
                           memory_ + parts_.product);
        const auto hidden = static_cast<std::size_t>(g_.hidden);
        if (g_.cell == recurrent_cell::lstm)
            kernel::integer_lstm_gates(header_.tables, gates_, input, sums(parts_.from_state), hidden, state_.wide,
                                       state_.h);
        else
            kernel::integer_gru_gates(header_.tables, gates_, input, sums(parts_.from_state), hidden, state_.wide,
                                      state_.h);
    }
    const std::int8_t* h() const noexcept { return state_.h; }
    std::int8_t* between() const noexcept { return reinterpret_cast<std::int8_t*>(memory_ + parts_.between); }

private:
    std::int32_t* sums(std::size_t place) const noexcept { return reinterpret_cast<std::int32_t*>(memory_ + place); }

    const recurrent_geometry& g_;
    integer_recurrent_scratch<Arch> parts_;
    const integer_recurrent_header& header_;
    const std::byte *next_, *block_ = nullptr;  // begun in the order in which they lie
    std::byte *states_, *memory_;
    recurrent_state<std::int8_t, std::int16_t> state_;
    integer_recurrent_layout<Arch> at_{g_, 0};
    kernel::activation_codes x_codes_;
    kernel::gate_arguments gates_{};
};

/// A whole node. T is the storage type of codes.
template <class Arch, class T>
[[gnu::noinline]] void run_integer_recurrent(const recurrent_geometry& g, const T* x, const std::byte* block, T* y,
                                             std::byte* states, std::byte* memory) noexcept {
    integer_recurrent_cells<Arch> cells(g, block, states, memory);
    run_recurrent(g, cells, x, reinterpret_cast<std::int8_t*>(y), cells.between());
    const int rows = g.options.output == recurrent_output::all_steps ? g.steps : 1;
    const auto& header = *reinterpret_cast<const integer_recurrent_header*>(block);
    kernel::lookup_table<Arch>(y, static_cast<std::size_t>(rows) * static_cast<std::size_t>(g.width()),
                               reinterpret_cast<const T*>(header.output), y);
}

}  // namespace v0
}  // namespace zp
