// Recurrent layers of one direction, float or quantized as their input and state come: whole sequences, or step by step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/ordered_product.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/recurrent_cells.hpp>

namespace zp {
inline namespace v0 {

/// The parameters of a recurrent layer under PyTorch's names (weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
/// weight_hr_l0) and in its order: weight_ih is gates * hidden x inputs, weight_hh gates * hidden x outputs, the biases
/// gates * hidden or absent, weight_hr outputs x hidden where the cell has a projection. The gates of an LSTM are i, f,
/// g, o, those of a GRU r, z, n.
struct recurrent_parameters {
    std::span<const float> weight_ih{}, weight_hh{}, bias_ih{}, bias_hh{}, weight_hr{};
};

/// Raises shape_error, which begins with `layer`, unless the weights have sums x inputs, sums x outputs and `projection` values,
/// and the biases both `sums` or both none.
inline void check_recurrent_parameters(const char* layer, const recurrent_parameters& p, std::size_t sums,
                                       std::size_t inputs, std::size_t outputs, std::size_t projection) {
    const auto check = [&](const char* name, std::size_t expected, std::size_t found) {
        if (expected != found)
            raise<shape_error>(std::string(layer) + ": expected " + std::to_string(expected) + " values of " + name +
                               ", found " + std::to_string(found));
    };
    check("weight_ih", sums * inputs, p.weight_ih.size());
    check("weight_hh", sums * outputs, p.weight_hh.size());
    check("weight_hr", projection, p.weight_hr.size());
    if (p.bias_ih.empty() && p.bias_hh.empty()) return;
    check("bias_ih", sums, p.bias_ih.size());
    check("bias_hh", sums, p.bias_hh.size());
}

namespace detail {
/// Float products whose rows depend on no other row.
template <int Inputs, int Outputs, class Arch = default_architecture, int MostRows = 1> class ordered_linear {
    static_assert(Inputs > 0 && Outputs > 0 && MostRows > 0,
                  "ordered_linear<Inputs, Outputs, Arch, MostRows>: inputs, outputs and rows must be at least 1");
    static constexpr std::size_t weight_bytes = align_up(sizeof(float) * std::size_t{Inputs} * Outputs);

public:
    static constexpr int inputs = Inputs, outputs = Outputs, most_rows = MostRows;
    static constexpr std::size_t parameter_bytes = weight_bytes + align_up(sizeof(float) * std::size_t{Outputs});
    struct workspace {};

    /// `weights`: outputs x inputs floats, PyTorch's order. `bias`: one an output, or none at all. Raises shape_error
    /// for other counts.
    explicit ordered_linear(std::span<const float> weights, std::span<const float> bias = {})
        : parameters_(parameter_bytes) {
        check_count("ordered_linear", "weights", std::size_t{Inputs} * Outputs, weights.size());
        if (!bias.empty()) check_count("ordered_linear", "bias", Outputs, bias.size());
        auto* transposed = reinterpret_cast<float*>(parameters_.data());
        for (std::size_t c = 0; c != Outputs; ++c)
            for (std::size_t k = 0; k != Inputs; ++k) transposed[k * Outputs + c] = weights[c * Inputs + k];
        std::copy(bias.begin(), bias.end(), reinterpret_cast<float*>(parameters_.data() + weight_bytes));
    }

    /// x: rows x inputs, y: rows x outputs. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const {
        const int rows = detail::rows_of("ordered_linear", x.size(), Inputs, y.size(), Outputs, MostRows);
        run(x.data(), rows, y.data(), memory);
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int rows, float* y, workspace&) const noexcept {
        const auto* weights = reinterpret_cast<const float*>(parameters_.data());
        const auto* bias = reinterpret_cast<const float*>(parameters_.data() + weight_bytes);
        kernel::ordered_product<Arch>({x, Inputs}, rows, Inputs, {weights, Outputs}, Outputs, bias, y, Outputs);
    }

private:
    aligned_buffer parameters_;
};

}  // namespace detail

/// A recurrent layer of one direction. A call takes up to MostSteps steps, whose products with the input are one matrix
/// product; a sequence may be cut into calls anywhere, and gives the same bits: rows have ranges of their own. Policy says
/// what its linear layers are: float_policy, dynamic_policy<...>, weight_only_policy<...>.
///
///     const zp::dynamic_gru<40, 64> layer({weight_ih, weight_hh, bias_ih, bias_hh});
///     zp::dynamic_gru<40, 64>::state state;                 // zeros
///     layer(x, state, y, memory);                           // one step of 40 floats, 64 come out
template <class Cell, int Inputs, int Hidden, class Policy, class Arch = default_architecture, int MostSteps = 1>
class recurrent {
    static_assert(
        Policy::is_per_row,
        "recurrent<Cell, Inputs, Hidden, Policy, ...>: a range for several steps together would make a result "
        "depend on how a sequence is cut: take zp::per_row_affine or zp::per_row_symmetric");
    static_assert(Cell::projection < Hidden,
                  "recurrent<Cell, Inputs, Hidden, ...>: a projection has fewer values than the hidden state, as in "
                  "PyTorch");
    static constexpr bool is_projected = Cell::projection != 0;
    static constexpr int sums = Cell::gates * Hidden;

public:
    static constexpr int inputs = Inputs, hidden = Hidden, most_steps = MostSteps;
    static constexpr int outputs = is_projected ? Cell::projection : Hidden;

private:
    template <int From, int To, int Rows>
    using linear =
        std::conditional_t<std::is_same_v<Policy, float_policy>, detail::ordered_linear<From, To, Arch, Rows>,
                           alone<zp::linear<"", To>, From, Policy, Arch, Rows>>;
    using input_product = linear<Inputs, sums, MostSteps>;
    using state_product = linear<outputs, sums, 1>;
    using projection_product = linear<Hidden, outputs, 1>;
    struct no_projection {
        struct workspace {};
        explicit no_projection(std::span<const float>) {}
    };
    using projection_type = std::conditional_t<is_projected, projection_product, no_projection>;

public:
    using state = typename Cell::template state<Hidden>;
    struct workspace {
        typename input_product::workspace input;
        typename state_product::workspace state;
        typename projection_type::workspace projection;
        alignas(buffer_alignment) float from_input[MostSteps * sums];
        alignas(buffer_alignment) float from_state[sums];
        alignas(buffer_alignment) float unprojected[is_projected ? Hidden : 1];
    };

    /// Raises shape_error for other counts and calibration_error for weights that are not finite.
    explicit recurrent(const recurrent_parameters& parameters)
        : input_(checked(parameters).weight_ih, parameters.bias_ih),
          state_(parameters.weight_hh, parameters.bias_hh),
          projection_(parameters.weight_hr) {}

    /// x: steps x Inputs, y: steps x outputs, each row the state's h behind its step. Raises shape_error where they are
    /// not.
    void operator()(std::span<const float> x, state& memory, std::span<float> y, workspace& scratch) const {
        const std::size_t steps = x.size() / Inputs;
        if (steps * Inputs != x.size() || steps == 0 || steps > MostSteps || y.size() != steps * outputs)
            raise<shape_error>("recurrent: expected 1 to " + std::to_string(MostSteps) + " steps of " +
                               std::to_string(Inputs) + " values and as many of " + std::to_string(outputs) +
                               " to write, found " + std::to_string(x.size()) + " and " + std::to_string(y.size()));
        run(x.data(), static_cast<int>(steps), memory, y.data(), scratch);
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int steps, state& memory, float* y, workspace& scratch) const noexcept {
        run(x, steps, false, memory, y, outputs, scratch);
    }
    /// The same with rows of y `pitch` apart; a `reversed` layer takes the last row first. Row i of y belongs to row i of x.
    void run(const float* x, int steps, bool reversed, state& memory, float* y, std::ptrdiff_t pitch,
             workspace& scratch) const noexcept {
        input_.run(x, steps, scratch.from_input, scratch.input);
        float* h = memory.h.data();
        for (int step = 0; step != steps; ++step) {
            const std::ptrdiff_t row = reversed ? steps - 1 - step : step;
            const float* from_input = scratch.from_input + row * sums;
            state_.run(h, 1, scratch.from_state, scratch.state);
            if constexpr (is_projected) {
                Cell::template step<Arch, Hidden>(from_input, scratch.from_state, memory, scratch.unprojected);
                projection_.run(scratch.unprojected, 1, h, scratch.projection);
            } else {
                Cell::template step<Arch, Hidden>(from_input, scratch.from_state, memory, h);
            }
            std::copy(memory.h.begin(), memory.h.end(), y + row * pitch);
        }
    }

private:
    static const recurrent_parameters& checked(const recurrent_parameters& p) {
        check_recurrent_parameters("recurrent", p, sums, Inputs, outputs,
                                   is_projected ? std::size_t{Hidden} * outputs : 0);
        return p;
    }

    input_product input_;
    state_product state_;
    [[no_unique_address]] projection_type projection_;
};

// In float, and with dynamic int8 weights. For other cells: recurrent<rnn_tanh_cell, Inputs, Hidden, float_policy>.
template <int Inputs, int Hidden, class Arch = default_architecture, int MostSteps = 1>
using float_lstm = recurrent<lstm_cell, Inputs, Hidden, float_policy, Arch, MostSteps>;
template <int Inputs, int Hidden, class Arch = default_architecture, int MostSteps = 1>
using float_gru = recurrent<gru_cell, Inputs, Hidden, float_policy, Arch, MostSteps>;
template <int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostSteps = 1>
using dynamic_lstm = recurrent<lstm_cell, Inputs, Hidden, Policy, Arch, MostSteps>;
template <int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostSteps = 1>
using dynamic_gru = recurrent<gru_cell, Inputs, Hidden, Policy, Arch, MostSteps>;

}  // namespace v0
}  // namespace zp
