// SPDX-License-Identifier: BSD-3-Clause
// LSTM and GRU of a model of 16-bit activations: codes in, codes out, every step in integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/recurrent/gates_int16.hpp>
#include <zeropoint/graph/context.hpp>
#include <zeropoint/operators/integer_product.hpp>
#include <zeropoint/operators/integer_recurrent_block.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>
#include <zeropoint/scheme/qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// The numbers of kernel::gate_arguments_int16, for every sum of a recurrent cell: arguments have scale 2^-17, and the largest multiplier is
/// in [2^21, 2^22) but for the shifts that there are.
struct gate_factors {
    std::vector<std::int32_t> x_multiplier, h_multiplier;
    std::vector<std::int64_t> x_bias, h_bias;
    int shift;

    /// What one more in a sum of products is at most, with inputs of this scale and these scales of weights.
    static double largest_step(float x_scale, std::span<const float> x_weights, std::span<const float> h_weights) {
        double largest = 0;
        for (const float scale : x_weights) largest = std::max(largest, double{x_scale} * double{scale});
        for (const float scale : h_weights)
            largest = std::max(largest, double{kernel::state_scale_int16} * double{scale});
        return largest;
    }
    /// Multipliers would leave their bits.
    static constexpr bool fits(double step) { return step > 0 && step < 16; }

    /// Biases may be empty, for zeros.
    gate_factors(float x_scale, std::span<const float> x_weights, std::span<const float> h_weights,
                 std::span<const float> x_biases, std::span<const float> h_biases)
        : shift(std::clamp(22 - 17 - (std::ilogb(largest_step(x_scale, x_weights, h_weights)) + 1), 1, 40)) {
        const double unit = std::ldexp(1.0, 17 + shift);
        const auto bias = [&](std::span<const float> from, std::size_t c) {
            return from.empty() ? 0.0 : std::clamp(double{from[c]} * unit, -0x1p59, 0x1p59);
        };
        const auto multiplier = [&](double real) { return static_cast<std::int32_t>(round_half_even(real * unit)); };
        for (std::size_t c = 0; c != x_weights.size(); ++c) {
            x_multiplier.push_back(multiplier(double{x_scale} * double{x_weights[c]}));
            h_multiplier.push_back(multiplier(double{kernel::state_scale_int16} * double{h_weights[c]}));
            x_bias.push_back(round_half_even(bias(x_biases, c)));
            h_bias.push_back(round_half_even(bias(h_biases, c)));
        }
    }
};

inline constexpr kernel::activation_codes int16_state_codes{0, -32768, 32767};

/// What lies at the beginning of the block of a node over codes.
struct int16_recurrent_header {
    qparams y;  ///< of the output, and the codes that it may have:
    std::int32_t least, most;
    kernel::gate_tables_int16 tables;

    std::int32_t code_of(int h) const {
        return quantize(static_cast<float>(h) * kernel::state_scale_int16, y, least, most);
    }
};

/// Where the parts of one layer and direction lie in the block, behind where that begins.
template <class Arch> struct int16_recurrent_layout {
    integer_product_kernel<Arch> from_input, from_state;
    std::size_t state_panels, x_multiplier, h_multiplier, x_bias, h_bias, floats, shift, bytes;

    constexpr int16_recurrent_layout(const recurrent_geometry& g, int layer)
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

/// The memory that steps in integers work in.
template <class Arch> struct int16_recurrent_scratch {
    std::size_t from_input, from_state, between, product;

    constexpr explicit int16_recurrent_scratch(const recurrent_geometry& g)
        : from_input(0),
          from_state(part<std::int64_t>(steps_together(g) * g.sums())),
          between(from_state + part<std::int64_t>(g.sums())),
          product(between + part<std::int16_t>(g.values_between())) {}
    /// With what products need: calls of fewer steps can need more.
    static constexpr std::size_t whole(const recurrent_geometry& g) {
        std::size_t most = int16_recurrent_layout<Arch>(g, 0).from_state.scratch_bytes(1);
        for (int layer = 0; layer != std::min(g.options.layers, 2); ++layer)
            for (int rows = 1; rows <= steps_together(g); ++rows)
                most = std::max(most, int16_recurrent_layout<Arch>(g, layer).from_input.scratch_bytes(rows));
        return int16_recurrent_scratch(g).product + most;
    }

private:
    template <class Value> static constexpr std::size_t part(int count) {
        return align_up(sizeof(Value) * static_cast<std::size_t>(count));
    }
};

/// Steps in integers over a packed block, for run_recurrent().
template <recurrent_key Key, class Arch> class int16_recurrent_cells {
    using value = std::int16_t;
    using sum = std::int64_t;

public:
    int16_recurrent_cells(const recurrent_geometry& g, const std::byte* block, std::byte* states,
                          std::byte* memory) noexcept
        : g_(g),
          parts_(g),
          header_(*reinterpret_cast<const int16_recurrent_header*>(block)),
          next_(block + align_up(sizeof header_)),
          states_(states),
          memory_(memory) {}

    void begin(int layer, int direction) noexcept {
        at_.begin(g_, layer);
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
        at_->from_input.run(x, rows, int16_state_codes, block_, sums(parts_.from_input), memory_ + parts_.product);
    }
    void step(int row) const noexcept {
        const sum* input = sums(parts_.from_input) + row * g_.sums();
        at_->from_state.run(h(), 1, int16_state_codes, block_ + at_->state_panels, sums(parts_.from_state),
                            memory_ + parts_.product);
        const auto hidden = static_cast<std::size_t>(g_.hidden);
        const auto gates = g_.cell == recurrent_cell::lstm ? &kernel::lstm_gates_int16 : &kernel::gru_gates_int16;
        gates(header_.tables, gates_, input, sums(parts_.from_state), hidden, state_.carried, state_.h);
    }
    const value* h() const noexcept { return state_.h; }
    value* between() const noexcept { return reinterpret_cast<value*>(memory_ + parts_.between); }

private:
    sum* sums(std::size_t place) const noexcept { return reinterpret_cast<sum*>(memory_ + place); }

    const recurrent_geometry& g_;
    int16_recurrent_scratch<Arch> parts_;
    const int16_recurrent_header& header_;
    const std::byte *next_, *block_ = nullptr;  // begun in the order in which they lie
    std::byte *states_, *memory_;
    recurrent_state<value, std::int32_t> state_;
    layout_of_layer<Key, int16_recurrent_layout<Arch>> at_{g_};
    kernel::gate_arguments_int16 gates_{};
};

/// LSTM and GRU nodes over codes of 16 bits.
template <recurrent_key Key, class Arch>
struct int16_recurrent_form
    : integer_recurrent_block<int16_recurrent_form<Key, Arch>, int16_recurrent_header, int16_recurrent_layout<Arch>> {
    using value = std::int16_t;
    using layout = int16_recurrent_layout<Arch>;

    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(int16_recurrent_scratch<Arch>::whole(recurrent_geometry(v)));
    }
    static int16_recurrent_header header_of(const preparation& p) {
        int16_recurrent_header header;
        header.y = p.y_qparams();
        header.least = p.y_type().quant_min;
        header.most = p.y_type().quant_max;
        return header;
    }
    static const char* pack_layer(const preparation& p, const int16_recurrent_header&, const recurrent_geometry&,
                                  int layer, const layout& at, const recurrent_weights& from, std::byte* block) {
        const float x_scale = layer == 0 ? p.x_qparams().scale : kernel::state_scale_int16;
        if (!gate_factors::fits(gate_factors::largest_step(x_scale, from.ih.scales, from.hh.scales)))
            return "scales of inputs times scales of weights must be below 16: calibrate on real data";
        at.from_input.pack(from.codes_ih(), int16_state_codes, block);
        at.from_state.pack(from.codes_hh(), int16_state_codes, block + at.state_panels);
        const gate_factors factors(x_scale, from.ih.scales, from.hh.scales, from.bias_ih, from.bias_hh);
        const auto put = [&](std::size_t place, const auto& values) {
            std::memcpy(block + place, values.data(), values.size() * sizeof values[0]);
        };
        put(at.x_multiplier, factors.x_multiplier);
        put(at.h_multiplier, factors.h_multiplier);
        put(at.x_bias, factors.x_bias);
        put(at.h_bias, factors.h_bias);
        std::memcpy(block + at.shift, &factors.shift, sizeof factors.shift);
        return nullptr;
    }
    static void unpack_layer(const layout& at, const std::byte* block, std::int8_t* codes_ih, std::int8_t* codes_hh) {
        at.from_input.unpack(block, int16_state_codes, codes_ih);
        at.from_state.unpack(block + at.state_panels, int16_state_codes, codes_hh);
    }
    static void run(const node& n, const context& c) noexcept {
        auto* y = c.out<value>(n);
        with_geometry<Key>(
            c.view(n), [&](const recurrent_geometry& g) __attribute__((always_inline)) {
                int16_recurrent_cells<Key, Arch> cells(g, c.block<std::byte>(n), c.begin_state(n),
                                                       c.scratch<std::byte>(n));
                run_recurrent<Key>(g, cells, c.in<value>(n), y, cells.between());
            });
        const auto& header = *c.block<int16_recurrent_header>(n);
        if (header.y != qparams{kernel::state_scale_int16, 0} || header.least > -32768 || header.most < 32767)
            for (int i = 0; i != n.out.extents.size(); ++i) y[i] = static_cast<value>(header.code_of(y[i]));
    }
};

}  // namespace zp::inline v0
