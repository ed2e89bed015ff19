// SPDX-License-Identifier: BSD-3-Clause
// LSTM and GRU of an int8 model: codes in, codes out, every step in integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/recurrent/byte_cell.hpp>
#include <zeropoint/graph/context.hpp>
#include <zeropoint/operators/integer_recurrent_block.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>
#include <zeropoint/scheme/qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

inline constexpr float byte_state_scale = 0x1p-7f;  ///< of outputs, whose zero point is 0

/// kernel::cell_numbers of a layer, from scales and biases.
struct byte_cell_numbers {
    std::vector<std::int32_t> x_multiplier, h_multiplier;
    std::vector<std::int64_t> x_bias, h_bias;
    int shift = 0;

    /// The bits behind the point of a gate's argument.
    static constexpr int fraction(recurrent_cell cell, int gate) {
        if (gate != 2) return 11;
        return cell == recurrent_cell::lstm ? 12 : 14;
    }
    /// The largest multiplier is in [2^29, 2^30) but for the shifts that there are. Biases may be empty, for zeros.
    byte_cell_numbers(const recurrent_geometry& g, float x_scale, std::span<const float> x_weights,
                      std::span<const float> h_weights, std::span<const float> x_biases,
                      std::span<const float> h_biases) {
        double largest = 0;
        const auto rows = static_cast<std::size_t>(g.sums()), hidden = static_cast<std::size_t>(g.hidden);
        const auto fraction_of = [&](std::size_t row) { return fraction(g.cell, static_cast<int>(row / hidden)); };
        for (std::size_t row = 0; row != rows; ++row)
            largest = std::max(largest, std::ldexp(std::max(double{x_scale} * double{x_weights[row]},
                                                            double{byte_state_scale} * double{h_weights[row]}),
                                                   fraction_of(row)));
        shift = std::clamp(30 - (std::ilogb(largest) + 1), 1, 32);
        for (std::size_t row = 0; row != rows; ++row) {
            const double unit = std::ldexp(1.0, fraction_of(row) + shift);
            const auto bias = [&](std::span<const float> from) {
                return from.empty() ? 0 : round_half_even(double{from[row]} * unit);
            };
            const auto multiplier = [&](double real) {
                return static_cast<std::int32_t>(round_half_even(real * unit));
            };
            const std::int64_t half = std::int64_t{1} << (shift - 1);
            const bool is_apart = g.cell == recurrent_cell::gru && row >= 2 * hidden;
            x_multiplier.push_back(multiplier(double{x_scale} * double{x_weights[row]}));
            h_multiplier.push_back(multiplier(double{byte_state_scale} * double{h_weights[row]}));
            x_bias.push_back(bias(x_biases) + half);
            h_bias.push_back(bias(h_biases) + (is_apart ? half : 0));
        }
    }
    kernel::cell_numbers view() const {
        return {x_multiplier.data(), h_multiplier.data(), x_bias.data(), h_bias.data()};
    }

    /// Whether no argument leaves its 30 bits, whatever the codes are.
    static bool fits(const recurrent_geometry& g, int inputs, float x_scale, int largest_x, const quantized_weights& ih,
                     const quantized_weights& hh, std::span<const float> x_biases, std::span<const float> h_biases) {
        const auto part = [](const quantized_weights& weights, std::size_t row, int depth, double scale) {
            double sum = 0;
            const auto* codes =
                reinterpret_cast<const std::int8_t*>(weights.codes.data()) + row * static_cast<std::size_t>(depth);
            for (int i = 0; i != depth; ++i) sum += std::abs(int{codes[i]});
            // Rows of zeros too have a multiplier.
            return std::max(sum, 1.0) * scale * double{weights.scales[row]};
        };
        bool any = false;
        for (std::size_t row = 0; row != static_cast<std::size_t>(g.sums()); ++row) {
            const auto size_of = [&](std::span<const float> from) {
                return from.empty() ? 0.0 : std::abs(double{from[row]});
            };
            const double most = part(ih, row, inputs, double{x_scale} * largest_x) +
                                part(hh, row, g.hidden, double{byte_state_scale} * 128) + size_of(x_biases) +
                                size_of(h_biases);
            if (!(most < 65536)) return false;
            any = any || most > 0;
        }
        return any;
    }
};

/// What lies at the beginning of the block of a node over codes.
struct byte_recurrent_header {
    kernel::byte_codes x;  ///< of the input
    /// From codes of a state to those of the output, and which table that is.
    enum : std::int32_t { as_they_are, flipped, by_table } conversion;
    std::uint8_t output[256];  ///< in the order of the storage type of the input
};

/// How a node computes: whether its weights are words where the architecture multiplies words.
template <recurrent_key Key, class Arch>
using byte_cell_of =
    kernel::byte_cell<Arch, Key.cell == recurrent_cell::lstm,
                      Key.is_step &&
                          kernel::linear_extents{1, Key.step.inputs + Key.step.hidden, Key.step.sums()}.are_small()>;

/// Where the parts of one layer and direction lie in the block.
template <class Cell> struct byte_recurrent_layout {
    kernel::cell_extents extents;
    std::size_t floats, shift, bytes;

    constexpr byte_recurrent_layout(const recurrent_geometry& g, int layer)
        : extents{g.inputs_of(layer), g.hidden},
          floats(Cell::packed_bytes(extents)),
          shift(floats + align_up(16 * static_cast<std::size_t>(g.sums()))),
          bytes(shift + buffer_alignment) {}
};

/// The memory that steps work in: activations as they are multiplied, and what lies between two layers.
template <class Cell> struct byte_recurrent_scratch {
    std::size_t input, state, between, bytes;

    constexpr explicit byte_recurrent_scratch(const recurrent_geometry& g)
        : input(0),
          state(elements(std::max(staged(g, 0), g.options.layers > 1 ? staged(g, 1) : 0))),
          between(state + elements(Cell::staged_state(kernel::cell_extents{1, g.hidden}))),
          bytes(between + align_up(static_cast<std::size_t>(g.values_between()))) {}

private:
    static constexpr int staged(const recurrent_geometry& g, int layer) {
        return Cell::staged_inputs(kernel::cell_extents{g.inputs_of(layer), g.hidden});
    }
    static constexpr std::size_t elements(int count) {
        return align_up(sizeof(typename Cell::activation) * static_cast<std::size_t>(count));
    }
};

/// Steps in integers over a packed block, for run_recurrent().
template <recurrent_key Key, class Arch, class Code> class byte_recurrent_cells {
    using cell = byte_cell_of<Key, Arch>;
    using activation = typename cell::activation;
    using layout = byte_recurrent_layout<cell>;

public:
    byte_recurrent_cells(const recurrent_geometry& g, const std::byte* block, std::byte* states,
                         std::byte* memory) noexcept
        : g_(g),
          parts_(g),
          header_(*reinterpret_cast<const byte_recurrent_header*>(block)),
          next_(block + align_up(sizeof header_)),
          states_(states),
          memory_(memory) {}

    void begin(int layer, int direction) noexcept {
        at_.begin(g_, layer);
        block_ = next_;
        next_ += at_->bytes;
        layer_ = layer;
        std::memcpy(&shift_, block_ + at_->shift, sizeof shift_);
        state_ = {g_, states_, layer * g_.directions() + direction};
    }
    template <class X> void from_input(const X* x, int) noexcept { x_ = reinterpret_cast<const std::byte*>(x); }
    void step(int row) const noexcept { run(at_->extents, row, nullptr); }
    /// The only one, whose h y gets as codes of the output, but for a table.
    [[gnu::always_inline]] void only_step(std::int8_t* y) const noexcept {
        run(kernel::fixed_cell<Key.step.inputs, Key.step.hidden>(), 0, y);
    }
    const std::int8_t* h() const noexcept { return state_.h; }
    std::int8_t* between() const noexcept { return reinterpret_cast<std::int8_t*>(memory_ + parts_.between); }

private:
    template <class Extents> [[gnu::always_inline]] void run(const Extents& e, int row, std::int8_t* y) const noexcept {
        auto* input = reinterpret_cast<activation*>(memory_ + parts_.input);
        const std::byte* x = x_ + std::ptrdiff_t{row} * e.inputs;
        if (Key.is_step || layer_ == 0) cell::stage_input(e, header_.x, reinterpret_cast<const Code*>(x), input);
        else cell::stage_input(e, kernel::byte_codes{}, reinterpret_cast<const std::int8_t*>(x), input);
        cell::step(e, block_, shift_, input, state_.h, state_.carried,
                   reinterpret_cast<activation*>(memory_ + parts_.state), y,
                   header_.conversion == byte_recurrent_header::flipped);
    }

    const recurrent_geometry& g_;
    byte_recurrent_scratch<cell> parts_;
    const byte_recurrent_header& header_;
    const std::byte *next_, *block_ = nullptr, *x_ = nullptr;  // blocks are begun in the order in which they lie
    std::byte *states_, *memory_;
    recurrent_state<std::int8_t, std::int16_t> state_;
    layout_of_layer<Key, layout> at_{g_};
    std::int32_t shift_ = 0;
    int layer_ = 0;
};

/// LSTM and GRU nodes over codes of 8 bits.
template <recurrent_key Key, class Arch>
struct byte_recurrent_form : integer_recurrent_block<byte_recurrent_form<Key, Arch>, byte_recurrent_header,
                                                     byte_recurrent_layout<byte_cell_of<Key, Arch>>> {
    using value = storage_of<Key.storage>;
    using cell = byte_cell_of<Key, Arch>;
    using layout = byte_recurrent_layout<cell>;

    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(byte_recurrent_scratch<cell>(recurrent_geometry(v)).bytes);
    }
    static byte_recurrent_header header_of(const preparation& p) {
        constexpr bool is_signed = std::is_signed_v<value>;
        byte_recurrent_header header{};
        header.x = {p.x_qparams().zero_point, is_signed};
        bool same = true, only_flipped = true;
        for (int h = -128; h != 128; ++h) {
            const auto code = static_cast<std::uint8_t>(quantize(
                static_cast<float>(h) * byte_state_scale, p.y_qparams(), p.y_type().quant_min, p.y_type().quant_max));
            header.output[is_signed ? h + 128 : h & 255] = code;
            same = same && code == static_cast<std::uint8_t>(h);
            only_flipped = only_flipped && code == static_cast<std::uint8_t>(h ^ 128);
        }
        header.conversion = same           ? byte_recurrent_header::as_they_are
                            : only_flipped ? byte_recurrent_header::flipped
                                           : byte_recurrent_header::by_table;
        return header;
    }
    static const char* pack_layer(const preparation& p, const byte_recurrent_header& header,
                                  const recurrent_geometry& g, int layer, const layout& at,
                                  const recurrent_weights& from, std::byte* block) {
        const float x_scale = layer == 0 ? p.x_qparams().scale : byte_state_scale;
        const kernel::byte_codes codes = layer == 0 ? header.x : kernel::byte_codes{};
        const int lowest = codes.is_signed ? -128 : 0, highest = codes.is_signed ? 127 : 255,
                  largest_x = std::max(codes.zero_point - lowest, highest - codes.zero_point);
        if (!byte_cell_numbers::fits(g, at.extents.inputs, x_scale, largest_x, from.ih, from.hh, from.bias_ih,
                                     from.bias_hh))
            return "what gates sum up must stay below 65536 for all codes of the input: calibrate on real data";
        const byte_cell_numbers numbers(g, x_scale, from.ih.scales, from.hh.scales, from.bias_ih, from.bias_hh);
        cell::pack(at.extents, codes, from.codes_ih(), from.codes_hh(), numbers.view(), block);
        std::memcpy(block + at.shift, &numbers.shift, sizeof numbers.shift);
        return nullptr;
    }
    static void unpack_layer(const layout& at, const std::byte* block, std::int8_t* codes_ih, std::int8_t* codes_hh) {
        cell::unpack(at.extents, block, codes_ih, codes_hh);
    }
    static void run(const node& n, const context& c) noexcept {
        auto* y = c.out<value>(n);
        with_geometry<Key>(
            c.view(n), [&](const recurrent_geometry& g) __attribute__((always_inline)) {
                byte_recurrent_cells<Key, Arch, value> cells(g, c.block<std::byte>(n), c.begin_state(n),
                                                             c.scratch<std::byte>(n));
                auto* h = reinterpret_cast<std::int8_t*>(y);
                if constexpr (Key.is_step) {
                    for (int direction = 0; direction != g.directions(); ++direction) {
                        cells.begin(0, direction);
                        cells.from_input(c.in<value>(n), 1);
                        cells.only_step(h + direction * g.outputs());
                    }
                } else {
                    run_recurrent(g, cells, c.in<value>(n), h, cells.between());
                }
            });
        const auto& header = *c.block<byte_recurrent_header>(n);
        const auto count = static_cast<std::size_t>(Key.is_step ? Key.step.width() : n.out.extents.size());
        if (!Key.is_step && header.conversion == byte_recurrent_header::flipped)
            for (std::size_t i = 0; i != count; ++i) y[i] = static_cast<value>(y[i] ^ 128);
        if (header.conversion == byte_recurrent_header::by_table)
            kernel::lookup_table<Arch>(y, count, reinterpret_cast<const value*>(header.output), y);
    }
};

}  // namespace zp::inline v0
