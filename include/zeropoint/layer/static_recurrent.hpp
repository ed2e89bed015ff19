// LSTM and GRU layers in integers throughout: codes in, codes out, a state of 16 bits, nothing found at run time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/implicit_gemm.hpp>
#include <zeropoint/kernel/integer_gates.hpp>
#include <zeropoint/kernel/pack.hpp>
#include <zeropoint/kernel/small_linear.hpp>
#include <zeropoint/layer/dynamic_linear.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

namespace zp {
inline namespace v0 {

/// An int8 product that leaves its int32 sums: outputs x inputs weights, symmetric, a scale an output.
template <int Inputs, int Outputs, class Code, class Arch> class integer_product {
    static constexpr kernel::conv2d_geometry geometry = kernel::geometry_of({1, Inputs, Outputs});
    static constexpr kernel::panel_layout<Arch> layout{geometry, false};
    struct keep_sums {
        template <class OtherArch>
        void finish_tile(const std::int32_t* sums, int rows, int, int channels, std::int32_t* y,
                         std::ptrdiff_t pitch) const noexcept {
            for (int row = 0; row != rows; ++row)
                std::memcpy(y + row * pitch, sums + row * kernel::panel_width<OtherArch>,
                            static_cast<std::size_t>(channels) * sizeof(std::int32_t));
        }
    };

public:
    static constexpr std::size_t scratch_bytes = kernel::implicit_gemm_plan<Arch>(geometry).scratch_bytes;

    /// `where` names the weights in errors.
    integer_product(std::span<const float> weights, std::int32_t zero_point, const char* where = "static_recurrent")
        : codes_{zero_point, std::is_signed_v<Code> ? -128 : 0, std::is_signed_v<Code> ? 127 : 255},
          packed_(layout.bytes) {
        std::vector<std::string> raised;  // nothing: only an integer bias can ask for it
        const std::vector<float> none(Outputs);
        const quantized_weights quantized =
            quantize_filters<dynamic_policy<>::weight_quantizer, Arch>(weights, none, 1.0f, true, where, raised);
        scales_ = quantized.scales;
        const auto* codes = reinterpret_cast<const std::int8_t*>(quantized.codes.data());
        kernel::pack_panels<Arch>(geometry, kernel::conv2d_weights<std::int8_t>{codes, nullptr, nullptr}, codes_,
                                  packed_.data());
    }
    const std::vector<float>& scales() const noexcept { return scales_; }
    /// sums[c] = sum of (x - zero_point) * w[c]
    void run(const Code* x, std::int32_t* sums, std::byte* scratch) const noexcept {
        kernel::implicit_gemm<Arch>(geometry, x, codes_, packed_.data(), keep_sums(), sums, scratch);
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
        : input_(checked(p, x).weight_ih, x.zero_point), state_(p.weight_hh, 0) {
        double largest = 0;
        for (std::size_t c = 0; c != sums; ++c)
            largest = std::max({largest, double{x.scale} * double{input_.scales()[c]},
                                double{output_qparams.scale} * double{state_.scales()[c]}});
        // The largest multiplier in [2^29, 2^30), but for a shift of 15 to 45.
        if (!(largest > 0 && largest < 64))
            raise<value_error>("static_recurrent: expected scales of inputs times scales of weights below 64, found " +
                               number_text(largest));
        shift_ = std::clamp(30 - 8 - (std::ilogb(largest) + 1), 15, 45);
        const double unit = std::ldexp(1.0, 8 + shift_);
        const auto bias = [&](std::span<const float> from, std::size_t c) {
            return from.empty() ? 0.0 : std::clamp(double{from[c]} * unit, -0x1p59, 0x1p59);
        };
        for (std::size_t c = 0; c != sums; ++c) {
            const auto multiplier = [&](double real) {
                return static_cast<std::int32_t>(round_half_even(real * unit));
            };
            x_multiplier_.push_back(multiplier(double{x.scale} * double{input_.scales()[c]}));
            h_multiplier_.push_back(multiplier(double{output_qparams.scale} * double{state_.scales()[c]}));
            x_bias_.push_back(round_half_even(bias(p.bias_ih, c)));
            h_bias_.push_back(round_half_even(bias(p.bias_hh, c)));
        }
    }

    /// One step over Inputs codes; the next state's h is the output.
    void run(const std::uint8_t* x, state& memory, workspace& scratch) const noexcept {
        input_.run(x, scratch.from_input, scratch.scratch);
        state_.run(memory.h.data(), scratch.from_state, scratch.scratch);
        const kernel::gate_arguments arguments{x_multiplier_.data(), h_multiplier_.data(), x_bias_.data(),
                                               h_bias_.data(), shift_};
        if constexpr (is_lstm)
            kernel::integer_lstm_gates(tables_, arguments, scratch.from_input, scratch.from_state, Hidden,
                                       memory.wide.data(), memory.h.data());
        else
            kernel::integer_gru_gates(tables_, arguments, scratch.from_input, scratch.from_state, Hidden,
                                      memory.wide.data(), memory.h.data());
    }

private:
    static const recurrent_parameters& checked(const recurrent_parameters& p, qparams x) {
        const auto check = [](const char* name, std::size_t expected, std::size_t found) {
            if (expected != found)
                raise<shape_error>(std::string("static_recurrent: expected ") + std::to_string(expected) +
                                   " values of " + name + ", found " + std::to_string(found));
        };
        check("weight_ih", sums * Inputs, p.weight_ih.size());
        check("weight_hh", sums * Hidden, p.weight_hh.size());
        check("weight_hr", 0, p.weight_hr.size());
        if (!p.bias_ih.empty() || !p.bias_hh.empty()) {  // both or neither
            check("bias_ih", sums, p.bias_ih.size());
            check("bias_hh", sums, p.bias_hh.size());
        }
        if (!(x.scale > 0) || x.zero_point < 0 || x.zero_point > 255)
            raise<value_error>("static_recurrent: expected a scale above 0 and a zero point from 0 to 255, found " +
                               number_text(x.scale) + " and " + std::to_string(x.zero_point));
        return p;
    }

    input_product input_;
    state_product state_;
    std::vector<std::int32_t> x_multiplier_, h_multiplier_;
    std::vector<std::int64_t> x_bias_, h_bias_;
    int shift_ = 15;
    kernel::gate_tables tables_;
};

}  // namespace v0
}  // namespace zp
