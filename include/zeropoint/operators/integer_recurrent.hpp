// LSTM and GRU of a quantized model: codes in, codes out, every step in integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/graph/context.hpp>
#include <zeropoint/operators/integer_product.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>
#include <zeropoint/scheme/qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

/// What recurrent nodes over codes compute with, of 8 bits or of 16.
template <bool Is16> struct integer_recurrent_codes {
    template <class Of8, class Of16> using choose = std::conditional_t<Is16, Of16, Of8>;
    using h = choose<std::int8_t, std::int16_t>;
    using carried = choose<std::int16_t, std::int32_t>;
    using sum = choose<std::int32_t, std::int64_t>;
    using tables = choose<kernel::gate_tables, kernel::gate_tables_int16>;
    using arguments = choose<kernel::gate_arguments, kernel::gate_arguments_int16>;
    using gates = void (*)(const tables&, const arguments&, const sum*, const sum*, std::size_t, carried*, h*) noexcept;
    static constexpr gate_units units = Is16 ? gates_int16 : byte_gates;
    static constexpr kernel::activation_codes of_state{0, std::numeric_limits<h>::min(), std::numeric_limits<h>::max()};
    static constexpr gates lstm = [] {
        if constexpr (Is16) return &kernel::lstm_gates_int16;
        else return &kernel::integer_lstm_gates;
    }();
    static constexpr gates gru = [] {
        if constexpr (Is16) return &kernel::gru_gates_int16;
        else return &kernel::integer_gru_gates;
    }();
    static constexpr const char* refused =
        Is16 ? "scales of inputs times scales of weights must be below 16: calibrate on real data"
             : "scales of inputs times scales of weights must be below 64: calibrate on real data";
};

/// What lies at the beginning of the block of a node over codes.
template <class Codes> struct integer_recurrent_header {
    kernel::activation_codes x;  ///< of the input
    qparams y;                   ///< of the output, and the codes that it may have:
    std::int32_t least, most;
    std::uint8_t
        output[256];  ///< from codes of a state to those, of 8 bits, in the order of the storage type of the input
    typename Codes::tables tables;

    std::int32_t code_of(int h) const {
        return quantize(static_cast<float>(h) * Codes::units.state_scale, y, least, most);
    }
};

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
template <class Arch, class Codes> constexpr std::size_t integer_recurrent_bytes(const recurrent_geometry& g) {
    std::size_t bytes = align_up(sizeof(integer_recurrent_header<Codes>));
    for (int layer = 0; layer != g.options.layers; ++layer)
        bytes += static_cast<std::size_t>(g.directions()) * integer_recurrent_layout<Arch>(g, layer).bytes;
    return bytes;
}

/// The memory that steps in integers work in.
template <class Arch, class Codes> struct integer_recurrent_scratch {
    std::size_t from_input, from_state, between, product;

    constexpr explicit integer_recurrent_scratch(const recurrent_geometry& g)
        : from_input(0),
          from_state(part<typename Codes::sum>(steps_together(g) * g.sums())),
          between(from_state + part<typename Codes::sum>(g.sums())),
          product(between + part<typename Codes::h>(g.values_between())) {}
    /// With what products need: calls of fewer steps can need more.
    static constexpr std::size_t whole(const recurrent_geometry& g) {
        std::size_t most = integer_recurrent_layout<Arch>(g, 0).from_state.scratch_bytes(1);
        for (int layer = 0; layer != std::min(g.options.layers, 2); ++layer)
            for (int rows = 1; rows <= steps_together(g); ++rows)
                most = std::max(most, integer_recurrent_layout<Arch>(g, layer).from_input.scratch_bytes(rows));
        return integer_recurrent_scratch(g).product + most;
    }

private:
    template <class Value> static constexpr std::size_t part(int count) {
        return align_up(sizeof(Value) * static_cast<std::size_t>(count));
    }
};

/// Fills the block of a node over codes. Null, or a sentence where its scales cannot be.
template <class Arch, class Codes>
const char* pack_integer_recurrent(const recurrent_geometry& g, const preparation& p, const node_parameters& from) {
    auto& header = *new (p.block) integer_recurrent_header<Codes>;
    const bool is_int16 = p.x_type().storage == scalar_type::int16;
    header.x = {p.x_qparams().zero_point, p.x_type().quant_min, p.x_type().quant_max};
    if (is_int16) header.x = Codes::of_state;  // as all codes of 16 bits
    header.y = p.y_qparams();
    header.least = p.y_type().quant_min;
    header.most = p.y_type().quant_max;
    for (int h = -128; h != 128 && !is_int16; ++h) {
        const int place = p.x_type().storage == scalar_type::uint8 ? h & 255 : h + 128;
        header.output[place] = static_cast<std::uint8_t>(header.code_of(h));
    }
    std::byte* block = p.block + align_up(sizeof header);
    std::size_t matrix = 0, vector = 0;
    for (int layer = 0; layer != g.options.layers; ++layer)
        for (int direction = 0; direction != g.directions(); ++direction, matrix += 2) {
            const integer_recurrent_layout<Arch> at(g, layer);
            const quantized_weights &ih = from.matrices[matrix], &hh = from.matrices[matrix + 1];
            const float x_scale = layer == 0 ? p.x_qparams().scale : Codes::units.state_scale;
            if (!gate_factors::fits(Codes::units,
                                    gate_factors::largest_step(Codes::units, x_scale, ih.scales, hh.scales)))
                return Codes::refused;
            const std::vector<float> none, &bias_ih = g.options.bias ? from.vectors[vector++] : none,
                                           &bias_hh = g.options.bias ? from.vectors[vector++] : none;
            at.from_input.pack(reinterpret_cast<const std::int8_t*>(ih.codes.data()),
                               layer == 0 ? header.x : Codes::of_state, block);
            at.from_state.pack(reinterpret_cast<const std::int8_t*>(hh.codes.data()), Codes::of_state,
                               block + at.state_panels);
            const gate_factors factors(Codes::units, x_scale, ih.scales, hh.scales, bias_ih, bias_hh);
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
template <class Arch, class Codes>
node_parameters unpack_integer_recurrent(const recurrent_geometry& g, const std::byte* block) {
    const auto& header = *reinterpret_cast<const integer_recurrent_header<Codes>*>(block);
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
            matrix(at.from_input, block, layer == 0 ? header.x : Codes::of_state);
            matrix(at.from_state, block + at.state_panels, Codes::of_state);
            for (int i = 0; i != (g.options.bias ? 2 : 0); ++i) all.vectors.push_back(next());
            block += at.bytes;
        }
    return all;
}

/// Steps in integers over a packed block, for run_recurrent().
template <recurrent_key Key, class Arch, class Codes> class integer_recurrent_cells {
    using value = typename Codes::h;
    using sum = typename Codes::sum;

public:
    integer_recurrent_cells(const recurrent_geometry& g, const std::byte* block, std::byte* states,
                            std::byte* memory) noexcept
        : g_(g),
          parts_(g),
          header_(*reinterpret_cast<const integer_recurrent_header<Codes>*>(block)),
          next_(block + align_up(sizeof header_)),
          states_(states),
          memory_(memory) {}

    void begin(int layer, int direction) noexcept {
        at_.begin(g_, layer);
        x_codes_ = layer == 0 ? header_.x : Codes::of_state;
        block_ = next_;
        next_ += at_->bytes;
        std::memcpy(&gates_.shift, block_ + at_->shift, sizeof gates_.shift);
        gates_.x_multiplier = reinterpret_cast<const std::int32_t*>(block_ + at_->x_multiplier);
        gates_.h_multiplier = reinterpret_cast<const std::int32_t*>(block_ + at_->h_multiplier);
        gates_.x_bias = reinterpret_cast<const std::int64_t*>(block_ + at_->x_bias);
        gates_.h_bias = reinterpret_cast<const std::int64_t*>(block_ + at_->h_bias);
        state_ = {g_, states_, layer * g_.directions() + direction};
    }
    template <class Code> void from_input(const Code* x, int rows) const noexcept {
        at_->from_input.run(x, rows, x_codes_, block_, sums(parts_.from_input), memory_ + parts_.product);
    }
    void step(int row) const noexcept {
        const sum* input = sums(parts_.from_input) + row * g_.sums();
        at_->from_state.run(h(), 1, Codes::of_state, block_ + at_->state_panels, sums(parts_.from_state),
                            memory_ + parts_.product);
        const auto hidden = static_cast<std::size_t>(g_.hidden);
        const auto gates = g_.cell == recurrent_cell::lstm ? Codes::lstm : Codes::gru;
        gates(header_.tables, gates_, input, sums(parts_.from_state), hidden, state_.carried, state_.h);
    }
    const value* h() const noexcept { return state_.h; }
    value* between() const noexcept { return reinterpret_cast<value*>(memory_ + parts_.between); }

private:
    sum* sums(std::size_t place) const noexcept { return reinterpret_cast<sum*>(memory_ + place); }

    const recurrent_geometry& g_;
    integer_recurrent_scratch<Arch, Codes> parts_;
    const integer_recurrent_header<Codes>& header_;
    const std::byte *next_, *block_ = nullptr;  // begun in the order in which they lie
    std::byte *states_, *memory_;
    recurrent_state<value, typename Codes::carried> state_;
    layout_of_layer<Key, integer_recurrent_layout<Arch>> at_{g_};
    kernel::activation_codes x_codes_;
    typename Codes::arguments gates_{};
};

/// LSTM and GRU nodes over codes.
template <recurrent_key Key, class Arch> struct integer_recurrent_form {
    using value = storage_of<Key.storage>;
    using codes = integer_recurrent_codes<std::is_same_v<value, std::int16_t>>;
    using header_type = integer_recurrent_header<codes>;

    static constexpr int parameter_bytes(const node_view& v) {
        return static_cast<int>(integer_recurrent_bytes<Arch, codes>(recurrent_geometry(v)));
    }
    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(integer_recurrent_scratch<Arch, codes>::whole(recurrent_geometry(v)));
    }
    static refusal pack(const preparation& p, const node_parameters& from) {
        return {pack_integer_recurrent<Arch, codes>(recurrent_geometry(p.at), p, from)};
    }
    static node_parameters unpack(const preparation& p) {
        return unpack_integer_recurrent<Arch, codes>(recurrent_geometry(p.at), p.block);
    }
    static void run(const node& n, const context& c) noexcept {
        auto* y = c.out<value>(n);
        with_geometry<Key>(
            c.view(n), [&](const recurrent_geometry& g) __attribute__((always_inline)) {
                integer_recurrent_cells<Key, Arch, codes> cells(g, c.block<std::byte>(n), c.begin_state(n),
                                                                c.scratch<std::byte>(n));
                run_recurrent<Key>(g, cells, c.in<value>(n), reinterpret_cast<typename codes::h*>(y), cells.between());
            });
        const auto count = static_cast<std::size_t>(n.out.extents.size());
        const auto& header = *c.block<header_type>(n);
        if constexpr (sizeof(value) == 1)
            kernel::lookup_table<Arch>(y, count, reinterpret_cast<const value*>(header.output), y);
        else if (header.y != qparams{codes::units.state_scale, 0} || header.least > -32768 || header.most < 32767)
            for (std::size_t i = 0; i != count; ++i) y[i] = static_cast<value>(header.code_of(y[i]));
    }
};

}  // namespace v0
}  // namespace zp
