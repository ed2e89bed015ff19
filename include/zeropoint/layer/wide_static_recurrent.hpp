// LSTM and GRU layers over activations of 16 bits with weights of 8, in integers throughout.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/implicit_gemm.hpp>
#include <zeropoint/kernel/pack.hpp>
#include <zeropoint/kernel/wide_gates.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp {
inline namespace v0 {

/// A product of int16 codes and int8 weights that leaves its sums, exact in int64: outputs x inputs weights, symmetric, a
/// scale an output.
template <int Inputs, int Outputs, class Arch> class wide_integer_product {
    static constexpr kernel::conv2d_geometry geometry{.in = {1, 1, Inputs}, .out = {1, 1, Outputs}};
    static constexpr kernel::activation_codes codes{0, -32768, 32767};
    static constexpr kernel::panel_layout<Arch> layout{geometry, false};
    struct keep_sums {
        template <class OtherArch, class Sum>
        static void copy(const Sum* sums, int rows, int channels, std::int64_t* y, std::ptrdiff_t pitch) noexcept {
            for (int row = 0; row != rows; ++row)
                std::copy_n(sums + row * kernel::panel_width<OtherArch>, channels, y + row * pitch);
        }
        template <class OtherArch>
        void finish_tile(const std::int32_t* sums, int rows, int, int channels, std::int64_t* y,
                         std::ptrdiff_t pitch) const noexcept {
            copy<OtherArch>(sums, rows, channels, y, pitch);
        }
        template <class OtherArch>
        void finish_wide_tile(const std::int64_t* sums, int rows, int, int channels, std::int64_t* y,
                              std::ptrdiff_t pitch) const noexcept {
            copy<OtherArch>(sums, rows, channels, y, pitch);
        }
    };

public:
    static constexpr std::size_t scratch_bytes = kernel::implicit_gemm_plan<Arch>(geometry).scratch_bytes;

    explicit wide_integer_product(std::span<const float> weights) : packed_(layout.bytes) {
        std::vector<std::string> raised;  // nothing: there is no bias
        const std::vector<float> none(Outputs);
        const quantized_weights quantized = quantize_filters<dynamic_policy<>::weight_quantizer, Arch>(
            weights, none, 1.0f, true, "wide_static_recurrent", raised);
        scales_ = quantized.scales;
        const auto* values = reinterpret_cast<const std::int8_t*>(quantized.codes.data());
        kernel::pack_panels<Arch>(geometry, kernel::conv2d_weights<std::int8_t>{values, nullptr, nullptr}, codes,
                                  packed_.data());
    }
    const std::vector<float>& scales() const noexcept { return scales_; }
    /// sums[c] = sum of x * w[c]
    void run(const std::int16_t* x, std::int64_t* sums, std::byte* scratch) const noexcept {
        kernel::implicit_gemm<Arch>(geometry, x, codes, packed_.data(), keep_sums(), sums, scratch);
    }

private:
    aligned_buffer packed_;
    std::vector<float> scales_;
};

/// static_recurrent over codes of 16 bits: a layer of Cell, which is lstm_cell or gru_cell, one direction. Inputs are qint16
/// codes of a symmetric range known ahead, outputs int16 codes of scale 2^-15 and zero point 0. Weights are int8, a scale an
/// output. All of a step is integers, kernel/wide_gates.hpp: the same on every machine, and nearly as exact as floats.
///
///     const zp::wide_static_recurrent<zp::gru_cell, 40, 64> layer({weight_ih, weight_hh, bias_ih, bias_hh}, x_scale);
///     layer.run(codes, state, memory);  // one step; state.h is the output
template <class Cell, int Inputs, int Hidden, class Arch = default_architecture> class wide_static_recurrent {
    static constexpr bool is_lstm = std::is_same_v<Cell, lstm_cell>;
    static_assert(is_lstm || std::is_same_v<Cell, gru_cell>,
                  "wide_static_recurrent<Cell, Inputs, Hidden>: Cell must be zp::lstm_cell or zp::gru_cell; the others "
                  "have no form in integers");
    static_assert(Inputs >= 1 && Inputs <= 65536 && Hidden >= 1 && Hidden <= 65536,
                  "wide_static_recurrent<Cell, Inputs, Hidden>: extents are from 1 to 65536");
    static constexpr std::size_t sums = std::size_t{Cell::gates} * Hidden;
    using input_product = wide_integer_product<Inputs, Cell::gates * Hidden, Arch>;
    using state_product = wide_integer_product<Hidden, Cell::gates * Hidden, Arch>;

public:
    static constexpr int inputs = Inputs, hidden = Hidden, outputs = Hidden;
    /// Of the outputs.
    static constexpr qparams output_qparams{kernel::wide_state_scale, 0};
    /// Zero at the beginning of a sequence.
    struct state {
        alignas(buffer_alignment) std::array<std::int16_t, Hidden> h{};     ///< the output of the step
        alignas(buffer_alignment) std::array<std::int32_t, Hidden> wide{};  ///< c of scale 2^-26; a GRU's h of 2^-30
    };
    struct workspace {
        alignas(
            buffer_alignment) std::byte scratch[std::max(input_product::scratch_bytes, state_product::scratch_bytes)];
        alignas(buffer_alignment) std::int64_t from_input[sums];
        alignas(buffer_alignment) std::int64_t from_state[sums];
    };

    /// x_scale: of the codes that come in, qint16. Raises shape_error for other counts, value_error for scales that are not
    /// positive or too large to multiply with, and calibration_error for weights that are not finite.
    wide_static_recurrent(const recurrent_parameters& p, float x_scale)
        : input_(checked(p, x_scale).weight_ih), state_(p.weight_hh) {
        double largest = 0;
        for (std::size_t c = 0; c != sums; ++c)
            largest = std::max({largest, double{x_scale} * double{input_.scales()[c]},
                                double{output_qparams.scale} * double{state_.scales()[c]}});
        // The largest multiplier in [2^21, 2^22), but for a shift of 1 to 40.
        if (!(largest > 0 && largest < 16))
            raise<value_error>(
                "wide_static_recurrent: expected scales of inputs times scales of weights below 16, found " +
                number_text(largest));
        shift_ = std::clamp(22 - 17 - (std::ilogb(largest) + 1), 1, 40);
        const double unit = std::ldexp(1.0, 17 + shift_);
        const auto multiplier = [&](double real) { return static_cast<std::int32_t>(round_half_even(real * unit)); };
        const auto bias = [&](std::span<const float> from, std::size_t c) {
            return from.empty() ? std::int64_t{0}
                                : round_half_even(std::clamp(double{from[c]} * unit, -0x1p59, 0x1p59));
        };
        for (std::size_t c = 0; c != sums; ++c) {
            x_multiplier_.push_back(multiplier(double{x_scale} * double{input_.scales()[c]}));
            h_multiplier_.push_back(multiplier(double{output_qparams.scale} * double{state_.scales()[c]}));
            x_bias_.push_back(bias(p.bias_ih, c));
            h_bias_.push_back(bias(p.bias_hh, c));
        }
    }

    /// One step over Inputs codes; the next state's h is the output.
    void run(const std::int16_t* x, state& memory, workspace& scratch) const noexcept {
        input_.run(x, scratch.from_input, scratch.scratch);
        state_.run(memory.h.data(), scratch.from_state, scratch.scratch);
        const kernel::wide_gate_arguments arguments{x_multiplier_.data(), h_multiplier_.data(), x_bias_.data(),
                                                    h_bias_.data(), shift_};
        if constexpr (is_lstm)
            kernel::wide_lstm_gates(tables_, arguments, scratch.from_input, scratch.from_state, Hidden,
                                    memory.wide.data(), memory.h.data());
        else
            kernel::wide_gru_gates(tables_, arguments, scratch.from_input, scratch.from_state, Hidden,
                                   memory.wide.data(), memory.h.data());
    }

private:
    static const recurrent_parameters& checked(const recurrent_parameters& p, float x_scale) {
        check_recurrent_parameters("wide_static_recurrent", p, sums, Inputs, Hidden, 0);
        if (!(x_scale > 0))
            raise<value_error>("wide_static_recurrent: expected a scale above 0, found " + number_text(x_scale));
        return p;
    }

    input_product input_;
    state_product state_;
    std::vector<std::int32_t> x_multiplier_, h_multiplier_;
    std::vector<std::int64_t> x_bias_, h_bias_;
    int shift_ = 1;
    kernel::wide_gate_tables tables_;
};

}  // namespace v0
}  // namespace zp
