// LSTM and GRU layers in integers throughout: codes in, codes out, a state of 16 bits, nothing found at run time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/operators/integer_product.hpp>
#include <zeropoint/operators/quantize_parameters.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

namespace zp {
inline namespace v0 {

/// An int8 product that leaves its int32 sums: outputs x inputs weights, symmetric, a scale an output.
template <int Inputs, int Outputs, class Code, class Arch> class integer_product {
    static constexpr integer_product_kernel<Arch> kernel_{Inputs, Outputs};

public:
    static constexpr std::size_t scratch_bytes = kernel_.scratch_bytes(1);

    /// `where` names the weights in errors.
    integer_product(std::span<const float> weights, std::int32_t zero_point, const char* where = "static_recurrent")
        : codes_{zero_point, std::is_signed_v<Code> ? -128 : 0, std::is_signed_v<Code> ? 127 : 255},
          packed_(kernel_.packed_bytes()) {
        std::vector<std::string> raised;  // nothing: only an integer bias can ask for it
        const std::vector<float> none(Outputs);
        const quantized_weights quantized =
            quantize_filters<own_weight_quantizer, Arch>(weights, none, 1.0f, true, where, raised);
        scales_ = quantized.scales;
        kernel_.pack(reinterpret_cast<const std::int8_t*>(quantized.codes.data()), codes_, packed_.data());
    }
    const std::vector<float>& scales() const noexcept { return scales_; }
    /// sums[c] = sum of (x - zero_point) * w[c]
    void run(const Code* x, std::int32_t* sums, std::byte* scratch) const noexcept {
        kernel_.run(x, 1, codes_, packed_.data(), sums, scratch);
    }

private:
    kernel::activation_codes codes_;
    aligned_buffer packed_;
    std::vector<float> scales_;
};

/// A layer of Cell, which is lstm_cell or gru_cell, one direction. Inputs are codes of a range known ahead (observe them
/// with any observer), outputs int8 codes of scale 2^-7 and zero point 0, which holds all that a state can be. Weights are
/// int8, a scale an output. All of a step is integers, kernel/integer_gates.hpp: the same on every machine.
///
///     const zp::static_recurrent<zp::gru_cell, 40, 64> layer({weight_ih, weight_hh, bias_ih, bias_hh}, x_qparams);
///     layer.run(codes, state, memory);  // one step; state.h is the output
template <class Cell, int Inputs, int Hidden, class Arch = default_architecture> class static_recurrent {
    static constexpr bool is_lstm = std::is_same_v<Cell, lstm_cell>;
    static_assert(is_lstm || std::is_same_v<Cell, gru_cell>,
                  "static_recurrent<Cell, Inputs, Hidden>: Cell must be zp::lstm_cell or zp::gru_cell; the others have "
                  "no form in integers");
    static_assert(
        Inputs <= kernel::largest_dynamic_depth(false) && Hidden <= kernel::largest_dynamic_depth(false),
        "static_recurrent<Cell, Inputs, Hidden>: an int32 accumulator can overflow with more than 65793 inputs");
    static constexpr std::size_t sums = std::size_t{Cell::gates} * Hidden;
    using input_product = integer_product<Inputs, Cell::gates * Hidden, std::uint8_t, Arch>;
    using state_product = integer_product<Hidden, Cell::gates * Hidden, std::int8_t, Arch>;

public:
    static constexpr int inputs = Inputs, hidden = Hidden, outputs = Hidden;
    /// Of the outputs.
    static constexpr qparams output_qparams{kernel::integer_state_scale, 0};
    /// Zero at the beginning of a sequence.
    struct state {
        alignas(buffer_alignment) std::array<std::int8_t, Hidden> h{};      ///< the output of the step
        alignas(buffer_alignment) std::array<std::int16_t, Hidden> wide{};  ///< c of scale 2^-11; a GRU's h of 2^-15
    };
    struct workspace {
        alignas(
            buffer_alignment) std::byte scratch[std::max(input_product::scratch_bytes, state_product::scratch_bytes)];
        alignas(buffer_alignment) std::int32_t from_input[sums];
        alignas(buffer_alignment) std::int32_t from_state[sums];
    };

    /// x: of the codes that come in, quint8. Raises shape_error for other counts, value_error for scales that are not
    /// positive or too large to multiply with, and calibration_error for weights that are not finite.
    static_recurrent(const recurrent_parameters& p, qparams x)
        : input_(checked(p, x).weight_ih, x.zero_point),
          state_(p.weight_hh, 0),
          factors_(byte_gates, checked_scale(x.scale, input_.scales(), state_.scales()), input_.scales(),
                   state_.scales(), p.bias_ih, p.bias_hh) {}

    /// One step over Inputs codes; the next state's h is the output.
    void run(const std::uint8_t* x, state& memory, workspace& scratch) const noexcept {
        input_.run(x, scratch.from_input, scratch.scratch);
        state_.run(memory.h.data(), scratch.from_state, scratch.scratch);
        const kernel::gate_arguments arguments = factors_.arguments();
        if constexpr (is_lstm)
            kernel::integer_lstm_gates(tables_, arguments, scratch.from_input, scratch.from_state, Hidden,
                                       memory.wide.data(), memory.h.data());
        else
            kernel::integer_gru_gates(tables_, arguments, scratch.from_input, scratch.from_state, Hidden,
                                      memory.wide.data(), memory.h.data());
    }

private:
    static const recurrent_parameters& checked(const recurrent_parameters& p, qparams x) {
        check_recurrent_parameters("static_recurrent", p, sums, Inputs, Hidden, 0);
        if (!(x.scale > 0) || x.zero_point < 0 || x.zero_point > 255)
            raise<value_error>("static_recurrent: expected a scale above 0 and a zero point from 0 to 255, found " +
                               number_text(x.scale) + " and " + std::to_string(x.zero_point));
        return p;
    }

    static float checked_scale(float x, std::span<const float> inputs_of_gates, std::span<const float> states) {
        const double largest = gate_factors::largest_step(byte_gates, x, inputs_of_gates, states);
        if (!gate_factors::fits(byte_gates, largest))
            raise<value_error>("static_recurrent: expected scales of inputs times scales of weights below 64, found " +
                               number_text(largest));
        return x;
    }

    input_product input_;
    state_product state_;
    gate_factors factors_;
    kernel::gate_tables tables_;
};

}  // namespace v0
}  // namespace zp
