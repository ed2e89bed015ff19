// SPDX-License-Identifier: BSD-3-Clause
// The order of work of recurrent nodes, whatever computes their steps: layer by layer, direction by direction, and the products
// of several steps with the input as one matrix product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/recurrent/gates.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/float/reproducible_product.hpp>
#include <zeropoint/kernel/gemm/small_linear.hpp>
#include <zeropoint/operators/recurrent_geometry.hpp>

namespace zp::inline v0 {

/// So many steps have their products with the input made together. Results do not depend on it.
inline constexpr int most_steps_together = 16;
constexpr int steps_together(const recurrent_geometry& g) { return std::min(g.steps, most_steps_together); }

/// What tells the forms of recurrent nodes apart: what they compute with, of a step of one layer, whose plan would cost as much as
/// its gates, all extents, and of dynamic ones the extents of products of one row that code is generated for.
struct recurrent_key {
    scalar_type storage = scalar_type::float32;
    bool is_dynamic = false, is_weight_only = false, is_step = false;
    recurrent_cell cell = recurrent_cell::lstm;  // of 8-bit codes: those have much code a cell
    recurrent_geometry step{{}, {}};
    kernel::linear_extents input{}, state{}, projection{};

    constexpr bool is_bytes() const { return storage == scalar_type::uint8 || storage == scalar_type::int8; }
};
constexpr recurrent_key recurrent_key_of(const node_view& v) {
    const recurrent_geometry g(v);
    recurrent_key key{v.x_type().storage, v.n.is_dynamic(), v.n.is_weight_only()};
    key.is_step = g.steps == 1 && g.options.layers == 1 && !key.is_weight_only;
    if (key.is_step) key.step = g;
    if (key.is_bytes()) key.cell = g.cell;
    if (!key.is_dynamic) return key;
    const auto small = [](int rows, int depth, int channels) {
        const kernel::linear_extents extents{rows, depth, channels};
        return extents.are_small() ? extents : kernel::linear_extents{};
    };
    if (key.is_step) key.input = small(1, g.inputs, g.sums());
    key.state = small(1, g.outputs(), g.sums());
    if (g.options.projection != 0) key.projection = small(1, g.hidden, g.outputs());
    return key;
}
/// Where the parts of a layer lie: known when a step is compiled, else found where layers begin.
template <recurrent_key Key, class Layout> class layout_of_layer {
    static constexpr Layout of_step{Key.step, 0};
    Layout found_;

public:
    explicit layout_of_layer(const recurrent_geometry& g) noexcept : found_(Key.is_step ? of_step : Layout(g, 0)) {}
    void begin(const recurrent_geometry& g, int layer) noexcept {
        if (layer == 1) found_ = Layout(g, layer);  // as all behind it
    }
    const Layout* operator->() const noexcept {
        if constexpr (Key.is_step) return &of_step;
        else return &found_;
    }
};
/// Of all layers and directions.
template <class Layout> constexpr std::size_t bytes_of_layers(const recurrent_geometry& g) {
    std::size_t bytes = 0;
    for (int layer = 0; layer != g.options.layers; ++layer)
        bytes += static_cast<std::size_t>(g.directions()) * Layout(g, layer).bytes;
    return bytes;
}
/// do_it(geometry), of a step one that is known when it is compiled.
template <recurrent_key Key, class Do> [[gnu::always_inline]] inline void with_geometry(const node_view& v, Do do_it) {
    static constexpr recurrent_geometry of_step = Key.step;
    if constexpr (Key.is_step) do_it(of_step);
    else do_it(recurrent_geometry(v));
}

/// One step of one layer, without what sequences need: a call is short beside it.
template <class X, class Value, class Cells>
[[gnu::always_inline]] inline void run_recurrent_step(const recurrent_geometry& g, Cells& cells, const X* x,
                                                      Value* y) noexcept {
    for (int direction = 0; direction != g.directions(); ++direction) {
        cells.begin(0, direction);
        cells.from_input(x, 1);
        cells.step(0);
        // Of a known size, a few instructions; std::copy_n is a call of memmove.
        std::memcpy(y + direction * g.outputs(), cells.h(), sizeof(Value) * static_cast<std::size_t>(g.outputs()));
    }
}

/// All steps of all layers over x, steps x inputs; y gets steps x width values, or width. `cells` has begin(layer, direction),
/// which goes to the state of that; from_input(x, rows), the products of some steps; step(row), which takes one of these; and
/// h(), what that step gave. `between` has geometry::values_between() values.
template <class X, class Value, class Cells>
void run_recurrent(const recurrent_geometry& g, Cells& cells, const X* x, Value* y, Value* between) noexcept {
    const int width = g.width(), outputs = g.outputs();
    const auto values_of = [&](int layer) { return between + layer % 2 * g.steps * width; };
    for (int layer = 0; layer != g.options.layers; ++layer) {
        const bool gives_all = g.gives_all(layer);
        Value* to = layer + 1 == g.options.layers ? y : values_of(layer);
        for (int direction = 0; direction != g.directions(); ++direction) {
            cells.begin(layer, direction);
            const int steps = g.steps_of(layer, direction);
            for (int done = 0; done < steps; done += most_steps_together) {
                const int rows = std::min(most_steps_together, steps - done);
                const int first = direction == 0 ? done : g.steps - done - rows;
                if (layer == 0) cells.from_input(x + first * g.inputs, rows);
                else cells.from_input(values_of(layer - 1) + first * width, rows);
                for (int i = 0; i != rows; ++i) {
                    const int row = direction == 0 ? i : rows - 1 - i;
                    cells.step(row);
                    if (!gives_all && first + row != g.given_step(direction)) continue;
                    Value* place = to + direction * outputs;
                    std::copy_n(cells.h(), outputs, gives_all ? place + (first + row) * width : place);
                }
            }
        }
    }
}

/// The one or the other.
template <recurrent_key Key, class X, class Value, class Cells>
[[gnu::always_inline]] inline void run_recurrent(const recurrent_geometry& g, Cells& cells, const X* x, Value* y,
                                                 Value* between) noexcept {
    if constexpr (Key.is_step) run_recurrent_step(g, cells, x, y);
    else run_recurrent(g, cells, x, y, between);
}

/// The memory that float steps work in, in floats: the parts begin at multiples of 64 bytes.
struct recurrent_floats {
    int from_input, from_state, unprojected, between, size;

    constexpr explicit recurrent_floats(const recurrent_geometry& g)
        : from_input(0),
          from_state(aligned(steps_together(g) * g.sums())),
          unprojected(from_state + aligned(g.sums())),
          between(unprojected + aligned(g.hidden)),
          size(between + aligned(g.values_between())) {}

private:
    static constexpr int aligned(int floats) {
        return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(floats)) / sizeof(float));
    }
};

/// The states and gates of float steps, behind products that a derived class makes, of `Vectors` that Arch has.
template <class Arch, class Vectors = Arch> class recurrent_states {
public:
    recurrent_states(const recurrent_geometry& g, std::byte* states, float* memory) noexcept
        : g_(g), parts_(g), states_(states), memory_(memory) {}

    const float* h() const noexcept { return state_.h; }
    float* between() const noexcept { return memory_ + parts_.between; }

protected:
    float* from_input() const noexcept { return memory_ + parts_.from_input; }
    float* from_state() const noexcept { return memory_ + parts_.from_state; }
    float* state() const noexcept { return state_.h; }
    /// Where a step leaves what is still to be projected.
    float* unprojected() const noexcept { return memory_ + parts_.unprojected; }
    bool is_projected() const noexcept { return g_.options.projection != 0; }

    void begin_state(int layer, int direction) noexcept { state_ = {g_, states_, layer * g_.directions() + direction}; }
    void finish_step(int row) const noexcept {
        const float* input = from_input() + row * g_.sums();
        const auto hidden = static_cast<std::size_t>(g_.hidden);
        if (g_.cell == recurrent_cell::lstm)
            kernel::lstm_gates<Arch, Vectors>(input, from_state(), hidden, state_.carried,
                                              is_projected() ? unprojected() : state());
        else if (g_.cell == recurrent_cell::gru) kernel::gru_gates<Arch, Vectors>(input, from_state(), hidden, state());
        else if (g_.options.nonlinearity == rnn_nonlinearity::tanh)
            kernel::rnn_tanh_gates<Arch, Vectors>(input, from_state(), hidden, state());
        else kernel::rnn_relu_gates<Arch, Vectors>(input, from_state(), hidden, state());
    }

    const recurrent_geometry& g_;

private:
    recurrent_floats parts_;
    recurrent_state<float, float> state_;
    std::byte* states_;
    float* memory_;
};

/// The vectors of a float step: those of a narrower architecture for the few units of which its own say so.
template <recurrent_key Key, class Arch>
using vectors_of_step = std::conditional_t<Key.is_step && (Key.step.hidden <= kernel::narrow_step_units<Arch>),
                                           kernel::narrower_architecture<Arch>, Arch>;

/// Float steps over the parameters of a float node, whose matrices are columns x rows inside.
template <recurrent_key Key, class Arch>
class float_recurrent_cells : public recurrent_states<Arch, vectors_of_step<Key, Arch>> {
    using vectors = vectors_of_step<Key, Arch>;
    using base = recurrent_states<Arch, vectors>;

public:
    float_recurrent_cells(const recurrent_geometry& g, const float* parameters, std::byte* states,
                          float* memory) noexcept
        : base(g, states, memory), next_(parameters) {}

    void begin(int layer, int direction) noexcept {
        const int sums = base::g_.sums(), outputs = base::g_.outputs();
        inputs_ = base::g_.inputs_of(layer);
        weight_ih_ = take(sums * inputs_);
        weight_hh_ = take(sums * outputs);
        bias_ih_ = base::g_.options.bias ? take(sums) : nullptr;
        bias_hh_ = base::g_.options.bias ? take(sums) : nullptr;
        weight_hr_ = base::is_projected() ? take(outputs * base::g_.hidden) : nullptr;
        base::begin_state(layer, direction);
    }
    void from_input(const float* x, int rows) const noexcept {
        if constexpr (Key.is_step)
            kernel::ordered_row<vectors, Key.step.inputs, Key.step.sums()>(x, weight_ih_, bias_ih_, base::from_input());
        else product(x, rows, inputs_, weight_ih_, base::g_.sums(), bias_ih_, base::from_input());
    }
    void step(int row) const noexcept {
        if constexpr (Key.is_step)
            kernel::ordered_row<vectors, Key.step.outputs(), Key.step.sums()>(base::state(), weight_hh_, bias_hh_,
                                                                              base::from_state());
        else product(base::state(), 1, base::g_.outputs(), weight_hh_, base::g_.sums(), bias_hh_, base::from_state());
        base::finish_step(row);
        if (base::is_projected())
            product(base::unprojected(), 1, base::g_.hidden, weight_hr_, base::g_.outputs(), nullptr, base::state());
    }

private:
    const float* take(int count) noexcept {
        next_ += count;
        return next_ - count;
    }
    static void product(const float* x, int rows, int depth, const float* weights, int columns, const float* bias,
                        float* y) noexcept {
        kernel::ordered_product<Arch>({x, depth}, rows, depth, {weights, columns}, columns, bias, y, columns);
    }

    const float* next_;  // layers and directions are begun in the order in which their parameters lie
    int inputs_ = 0;
    const float *weight_ih_ = nullptr, *weight_hh_ = nullptr, *bias_ih_ = nullptr, *bias_hh_ = nullptr,
                *weight_hr_ = nullptr;
};

/// Nodes over floats.
template <recurrent_key Key, class Arch> struct float_recurrent_form : float_block {
    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(sizeof(float)) * recurrent_floats(recurrent_geometry(v)).size;
    }
    static constexpr int most_scratch_bytes(const node_view& v) { return scratch_bytes(v); }
    static void run(const node& n, const context& c) noexcept {
        with_geometry<Key>(
            c.view(n), [&](const recurrent_geometry& g) __attribute__((always_inline)) {
                float_recurrent_cells<Key, Arch> cells(g, c.block<float>(n), c.begin_state(n), c.scratch<float>(n));
                run_recurrent<Key>(g, cells, c.in<float>(n), c.out<float>(n), cells.between());
            });
    }
};

}  // namespace zp::inline v0
