// The cells of recurrent layers: how many gates, what state, and the step behind the products with their weights.
#pragma once

#include <array>
#include <cstddef>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gates.hpp>

namespace zp {
inline namespace v0 {

/// What a step leaves to the next, zero at the beginning of a sequence.
template <int Outputs, int Hidden = Outputs> struct lstm_state {
    alignas(buffer_alignment) std::array<float, Outputs> h{};  ///< the output of the step
    alignas(buffer_alignment) std::array<float, Hidden> c{};
};
template <int Hidden> struct hidden_state {
    alignas(buffer_alignment) std::array<float, Hidden> h{};  ///< the output of the step
};

// A cell has `gates`, `projection` (0 is none), `state<Hidden>` and step(), which makes of the products of input and
// state, gates * Hidden values each, the next state: its h at `h`, where the last one is unless there is a projection.

/// torch.nn.LSTM: gates i, f, g, o.
struct lstm_cell {
    static constexpr int gates = 4, projection = 0;
    template <int Hidden> using state = lstm_state<Hidden>;
    template <class Arch, int Hidden>
    static void step(const float* input, const float* hidden, lstm_state<Hidden>& state, float* h) noexcept {
        kernel::lstm_gates<Arch>(input, hidden, Hidden, state.c.data(), h);
    }
};
/// torch.nn.LSTM with proj_size: the state h, and so the output, is weight_hr * h, `Projection` values.
template <int Projection> struct projected_lstm_cell {
    static_assert(Projection > 0,
                  "projected_lstm_cell<Projection>: at least one output; zp::lstm_cell has no projection");
    static constexpr int gates = 4, projection = Projection;
    template <int Hidden> using state = lstm_state<Projection, Hidden>;
    template <class Arch, int Hidden>
    static void step(const float* input, const float* hidden, state<Hidden>& state, float* h) noexcept {
        kernel::lstm_gates<Arch>(input, hidden, Hidden, state.c.data(), h);
    }
};
/// torch.nn.GRU: gates r, z, n.
struct gru_cell {
    static constexpr int gates = 3, projection = 0;
    template <int Hidden> using state = hidden_state<Hidden>;
    template <class Arch, int Hidden>
    static void step(const float* input, const float* hidden, hidden_state<Hidden>&, float* h) noexcept {
        kernel::gru_gates<Arch>(input, hidden, Hidden, h);
    }
};
/// torch.nn.RNN with nonlinearity "tanh" and "relu".
struct rnn_tanh_cell {
    static constexpr int gates = 1, projection = 0;
    template <int Hidden> using state = hidden_state<Hidden>;
    template <class Arch, int Hidden>
    static void step(const float* input, const float* hidden, hidden_state<Hidden>&, float* h) noexcept {
        kernel::rnn_tanh_gates<Arch>(input, hidden, Hidden, h);
    }
};
struct rnn_relu_cell {
    static constexpr int gates = 1, projection = 0;
    template <int Hidden> using state = hidden_state<Hidden>;
    template <class Arch, int Hidden>
    static void step(const float* input, const float* hidden, hidden_state<Hidden>&, float* h) noexcept {
        kernel::rnn_relu_gates<Arch>(input, hidden, Hidden, h);
    }
};

}  // namespace v0
}  // namespace zp
