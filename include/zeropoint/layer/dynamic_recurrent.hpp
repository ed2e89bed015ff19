// LSTM and GRU layers of int8 weights that quantize input and state as they come: whole sequences, or step by step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/gates.hpp>
#include <zeropoint/layer/dynamic_linear.hpp>

namespace zp {
inline namespace v0 {

/// The parameters of a recurrent layer under PyTorch's names (weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0) and in
/// its order: weight_ih is gates * hidden x inputs, weight_hh gates * hidden x hidden, the biases gates * hidden or
/// absent. The gates of an LSTM are i, f, g, o, those of a GRU r, z, n.
struct recurrent_parameters {
    std::span<const float> weight_ih, weight_hh, bias_ih, bias_hh;
};

/// What a step leaves to the next, zero at the beginning of a sequence.
template <int Hidden> struct lstm_state {
    alignas(buffer_alignment) std::array<float, Hidden> h{};  ///< the output of the step
    alignas(buffer_alignment) std::array<float, Hidden> c{};
};
template <int Hidden> struct gru_state {
    alignas(buffer_alignment) std::array<float, Hidden> h{};  ///< the output of the step
};

/// The cells: how many gates, what state, and the step behind the products of input and state with their weights.
struct lstm_cell {
    static constexpr int gates = 4;
    template <int Hidden> using state = lstm_state<Hidden>;
    template <class Arch, int Hidden>
    static void step(const float* input, const float* hidden, lstm_state<Hidden>& state) noexcept {
        kernel::lstm_gates<Arch>(input, hidden, Hidden, state.c.data(), state.h.data());
    }
};
struct gru_cell {
    static constexpr int gates = 3;
    template <int Hidden> using state = gru_state<Hidden>;
    template <class Arch, int Hidden>
    static void step(const float* input, const float* hidden, gru_state<Hidden>& state) noexcept {
        kernel::gru_gates<Arch>(input, hidden, Hidden, state.h.data());
    }
};

/// A recurrent layer of one direction. A call takes up to MostSteps steps, whose products with the input are one matrix
/// product; a sequence may be cut into calls anywhere, and gives the same bits: rows have ranges of their own.
///
///     const zp::dynamic_gru<40, 64> layer({weight_ih, weight_hh, bias_ih, bias_hh});
///     zp::dynamic_gru<40, 64>::state state;                 // zeros
///     layer(x, state, y, memory);                           // one step of 40 floats, 64 come out
template <class Cell, int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture,
          int MostSteps = 1>
class dynamic_recurrent {
    static_assert(Policy::is_per_row,
                  "dynamic_recurrent<Cell, Inputs, Hidden, Policy, ...>: a range for several steps together would make "
                  "a result depend on how a sequence is cut: take zp::per_row_affine or zp::per_row_symmetric");
    using input_product = dynamic_linear<Inputs, Cell::gates * Hidden, Policy, Arch, MostSteps>;
    using state_product = dynamic_linear<Hidden, Cell::gates * Hidden, Policy, Arch>;

public:
    static constexpr int inputs = Inputs, hidden = Hidden, most_steps = MostSteps;
    using state = typename Cell::template state<Hidden>;
    struct workspace {
        typename input_product::workspace input;
        typename state_product::workspace state;
        alignas(buffer_alignment) float from_input[MostSteps * Cell::gates * Hidden];
        alignas(buffer_alignment) float from_state[Cell::gates * Hidden];
    };

    /// Raises shape_error for other counts and calibration_error for weights that are not finite.
    explicit dynamic_recurrent(const recurrent_parameters& parameters)
        : input_(parameters.weight_ih, parameters.bias_ih), state_(parameters.weight_hh, parameters.bias_hh) {}

    /// x: steps x Inputs, y: steps x Hidden, each row the state's h behind its step. Raises shape_error where they are not.
    void operator()(std::span<const float> x, state& memory, std::span<float> y, workspace& scratch) const {
        const std::size_t steps = x.size() / Inputs;
        if (steps * Inputs != x.size() || steps == 0 || steps > MostSteps || y.size() != steps * Hidden)
            raise<shape_error>("dynamic_recurrent: expected 1 to " + std::to_string(MostSteps) + " steps of " +
                               std::to_string(Inputs) + " values and as many of " + std::to_string(Hidden) +
                               " to write, found " + std::to_string(x.size()) + " and " + std::to_string(y.size()));
        run(x.data(), static_cast<int>(steps), memory, y.data(), scratch);
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int steps, state& memory, float* y, workspace& scratch) const noexcept {
        run(x, steps, false, memory, y, Hidden, scratch);
    }
    /// The same with rows of y `pitch` apart; a `reversed` layer takes the last row first. Row i of y belongs to row i of x.
    void run(const float* x, int steps, bool reversed, state& memory, float* y, std::ptrdiff_t pitch,
             workspace& scratch) const noexcept {
        input_.run(x, steps, scratch.from_input, scratch.input);
        for (int step = 0; step != steps; ++step) {
            const std::ptrdiff_t row = reversed ? steps - 1 - step : step;
            state_.run(memory.h.data(), 1, scratch.from_state, scratch.state);
            Cell::template step<Arch>(scratch.from_input + row * (Cell::gates * Hidden), scratch.from_state, memory);
            std::copy(memory.h.begin(), memory.h.end(), y + row * pitch);
        }
    }

private:
    input_product input_;
    state_product state_;
};

template <int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostSteps = 1>
using dynamic_lstm = dynamic_recurrent<lstm_cell, Inputs, Hidden, Policy, Arch, MostSteps>;
template <int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostSteps = 1>
using dynamic_gru = dynamic_recurrent<gru_cell, Inputs, Hidden, Policy, Arch, MostSteps>;

}  // namespace v0
}  // namespace zp
