// Recurrent layers one upon another, in one direction or both: torch.nn.LSTM, torch.nn.GRU and torch.nn.RNN.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/layer/recurrent.hpp>

namespace zp {
inline namespace v0 {

/// The parameters of one layer and direction out of a state dict. `find(name, rows, columns, optional)` gets a name such
/// as "weight_hh_l1_reverse" with its extents, columns = 0 for a vector, and returns a span of floats, empty where there
/// is none; zp::state_dict reads them from a file.
template <class Layer, class Cell, class Find>
recurrent_parameters recurrent_parameters_of(Find&& find, int layer, bool reversed) {
    const std::string suffix = "_l" + std::to_string(layer) + (reversed ? "_reverse" : "");
    constexpr int sums = Cell::gates * Layer::hidden;
    recurrent_parameters p{find("weight_ih" + suffix, sums, Layer::inputs, false),
                           find("weight_hh" + suffix, sums, Layer::outputs, false),
                           find("bias_ih" + suffix, sums, 0, true),
                           find("bias_hh" + suffix, sums, 0, true),
                           {}};
    if (p.bias_ih.empty() != p.bias_hh.empty())
        raise<shape_error>("recurrent: expected bias_ih" + suffix + " and bias_hh" + suffix +
                           ", or neither, found only " + (p.bias_ih.empty() ? "bias_hh" : "bias_ih") + suffix);
    if constexpr (Cell::projection != 0) p.weight_hr = find("weight_hr" + suffix, Layer::outputs, Layer::hidden, false);
    return p;
}

/// `Layers` layers of `Cell`, see recurrent_cells.hpp. Of two directions, a row of outputs is that of the forward
/// layer and then that of the reversed one, which begins with the last step of the call.
template <class Cell, int Inputs, int Hidden, int Layers, bool Bidirectional, int MostSteps, class Policy,
          class Arch = default_architecture>
class recurrent_stack {
    static_assert(Layers > 0, "recurrent_stack<Cell, Inputs, Hidden, Layers, ...>: there is at least one layer");
    static constexpr int directions = Bidirectional ? 2 : 1;
    using first_layer = recurrent<Cell, Inputs, Hidden, Policy, Arch, MostSteps>;
    using next_layer = recurrent<Cell, directions * first_layer::outputs, Hidden, Policy, Arch, MostSteps>;

public:
    static constexpr int inputs = Inputs, outputs = directions * first_layer::outputs, most_steps = MostSteps;
    /// Layer by layer, the directions of one side by side: the order of PyTorch's h_0 and c_0.
    using state = std::array<typename first_layer::state, static_cast<std::size_t>(Layers* directions)>;
    struct workspace {
        typename first_layer::workspace first;
        typename next_layer::workspace next;
        alignas(buffer_alignment) float between[2][MostSteps * outputs];
    };

    /// `find` as recurrent_parameters_of() says. Raises what recurrent raises.
    template <class Find>
    explicit recurrent_stack(Find&& find) {  // NOLINT(bugprone-forwarding-reference-overload): copies have no such call
        for (int layer = 0; layer != Layers; ++layer) {
            for (int direction = 0; direction != directions; ++direction) {
                const bool reversed = direction != 0;
                if (layer == 0) first_.emplace_back(recurrent_parameters_of<first_layer, Cell>(find, layer, reversed));
                else next_.emplace_back(recurrent_parameters_of<next_layer, Cell>(find, layer, reversed));
            }
        }
    }

    /// x: steps x Inputs, y: steps x outputs. Raises shape_error where they are not.
    void operator()(std::span<const float> x, state& memory, std::span<float> y, workspace& scratch) const {
        const std::size_t steps = x.size() / Inputs;
        if (steps * Inputs != x.size() || steps == 0 || steps > MostSteps || y.size() != steps * outputs)
            raise<shape_error>("recurrent_stack: expected 1 to " + std::to_string(MostSteps) + " steps of " +
                               std::to_string(Inputs) + " values and as many of " + std::to_string(outputs) +
                               " to write, found " + std::to_string(x.size()) + " and " + std::to_string(y.size()));
        run(x.data(), static_cast<int>(steps), memory, y.data(), scratch);
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int steps, state& memory, float* y, workspace& scratch) const noexcept {
        for (std::size_t layer = 0; layer != Layers; ++layer) {
            float* to = layer + 1 == Layers ? y : scratch.between[layer % 2];
            for (std::size_t direction = 0; direction != directions; ++direction) {
                const std::size_t index = layer * directions + direction;
                float* half = to + direction * first_layer::outputs;
                if (layer == 0)
                    first_[index].run(x, steps, direction != 0, memory[index], half, outputs, scratch.first);
                else
                    next_[index - directions].run(scratch.between[(layer - 1) % 2], steps, direction != 0,
                                                  memory[index], half, outputs, scratch.next);
            }
        }
    }

private:
    std::vector<first_layer> first_;
    std::vector<next_layer> next_;
};

}  // namespace v0
}  // namespace zp
