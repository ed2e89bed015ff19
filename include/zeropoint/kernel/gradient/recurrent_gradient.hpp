// SPDX-License-Identifier: BSD-3-Clause
// LSTM, GRU and RNN layers over the sequences of a mini-batch, forward with what backward needs, and backpropagation
// through time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/gradient/activation_gradient.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/kernel/gradient/window_product.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>

// Of one layer in one direction; layers and directions are calls one after another. PyTorch's equations and its order of
// gates, with u = W_ih x + b_ih and v = W_hh h + b_hh:
//
//     lstm  i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of u + v;  c' = f c + i g;  h' = o tanh(c'), or W_hr times that
//     gru   r, z = sigmoid of u + v;  n = tanh(u_n + r v_n);  h' = (1 - z) n + z h
//     rnn   h' = tanh or relu of u + v
//
// h and c begin with zeros. Products with the input are made for all steps together, those with the state step by step with
// weights that are brought in order once.

namespace zp::inline v0::kernel {

enum class recurrent_kind { lstm, gru, rnn_tanh, rnn_relu };

/// `samples` sequences of `steps` x `inputs`. `projection` is an LSTM's, 0 for none. A reversed layer begins with the
/// last step.
struct recurrent_extents {
    recurrent_kind kind = recurrent_kind::lstm;
    int samples = 1, steps = 1, inputs = 1, hidden = 1, projection = 0;
    bool reversed = false;

    constexpr int gates() const { return kind == recurrent_kind::lstm ? 4 : kind == recurrent_kind::gru ? 3 : 1; }
    constexpr int sums() const { return gates() * hidden; }
    constexpr int outputs() const { return projection != 0 ? projection : hidden; }
    /// Floats of a step that backward needs: gates, and an LSTM's c, resp. a GRU's v_n.
    constexpr int saved_width() const {
        return kind == recurrent_kind::lstm ? 5 * hidden : kind == recurrent_kind::gru ? 4 * hidden : 0;
    }
    constexpr std::size_t saved() const {
        return static_cast<std::size_t>(samples) * static_cast<std::size_t>(steps) *
               static_cast<std::size_t>(saved_width());
    }
    /// The step that is taken as number `turn`, and the offset to the one before it.
    constexpr int step(int turn) const { return reversed ? steps - 1 - turn : turn; }
    constexpr int before() const { return reversed ? 1 : -1; }

    constexpr conv2d_geometry from_input() const { return {{steps, 1, inputs}, {steps, 1, sums()}}; }
    constexpr conv2d_geometry from_state() const { return {{1, 1, outputs()}, {1, 1, sums()}}; }
    constexpr conv2d_geometry projected() const { return {{1, 1, hidden}, {1, 1, projection}}; }
    constexpr conv2d_geometry all_steps(conv2d_geometry of_one) const {
        of_one.in.height = of_one.out.height = steps;
        return of_one;
    }
};

/// PyTorch's parameters of a layer and direction, or their gradients, which are added to: weight_ih [gates *
/// hidden][inputs], weight_hh [gates * hidden][outputs], the biases, weight_hr [projection][hidden]. Biases may be null,
/// and weight_hr without a projection.
template <class T> struct recurrent_parameters {
    T *weight_ih = nullptr, *weight_hh = nullptr, *bias_ih = nullptr, *bias_hh = nullptr, *weight_hr = nullptr;
};

/// Where the parts of a scratch lie, in floats.
struct recurrent_scratch {
    std::size_t size = 0;
    constexpr std::size_t take(std::ptrdiff_t a, std::ptrdiff_t b = 1, std::ptrdiff_t c = 1) {
        const std::size_t at = size;
        size += static_cast<std::size_t>(a * b * c);
        return at;
    }
};
template <class Arch> struct recurrent_forward_plan : recurrent_scratch {
    std::size_t from_input, from_state, unprojected, cells, bias, state_panels, projection_panels, products;

    constexpr explicit recurrent_forward_plan(const recurrent_extents& e)
        : from_input(take(e.samples, e.steps, e.sums())),
          from_state(take(e.samples, e.sums())),
          unprojected(take(e.samples, e.hidden)),
          cells(take(e.samples, e.hidden)),
          bias(take(2, e.sums())),
          state_panels(take(product_window(e.from_state()).panels_size<Arch>())),
          projection_panels(take(e.projection == 0 ? 0 : product_window(e.projected()).panels_size<Arch>())),
          products(take(static_cast<std::ptrdiff_t>(conv2d_batch_scratch<Arch>(e.from_input())))) {}
};

/// How many floats of scratch recurrent_forward() needs.
template <class Arch> constexpr std::size_t recurrent_forward_scratch(const recurrent_extents& e) {
    return recurrent_forward_plan<Arch>(e).size;
}

/// The part of a step of one sample behind its products: `u` and `v` are sums() values, `u` with both biases where they are
/// added up, h_before the state in front, or null for zeros. Writes h (hidden values, unprojected), c, and what is saved.
template <class Arch>
void recurrent_cell_forward(recurrent_kind kind, int hidden, const float* u, const float* v, const float* h_before,
                            float* c, float* saved, float* h) noexcept {
    const std::ptrdiff_t width = hidden;
    for_each_vector<ieee_vectors<Arch>>(
        static_cast<std::size_t>(hidden), [=](std::size_t at, auto type) __attribute__((always_inline)) {
            using Number = decltype(type);
            const auto j = static_cast<std::ptrdiff_t>(at);
            const auto sum = [=](int gate) {
                return Number(load_number<Number>(u + gate * width + j) + load_number<Number>(v + gate * width + j));
            };
            const auto save = [=](int part, const Number& value) { store_number(value, saved + part * width + j); };
            if (kind == recurrent_kind::lstm) {
                const Number in = derivatives::logistic(sum(0)), forget = derivatives::logistic(sum(1)),
                             candidate = xsimd::tanh(sum(2)), out = derivatives::logistic(sum(3));
                const Number cell = forget * load_number<Number>(c + j) + in * candidate;
                save(0, in), save(1, forget), save(2, candidate), save(3, out), save(4, cell);
                store_number(cell, c + j);
                store_number(Number(out * xsimd::tanh(cell)), h + j);
            } else if (kind == recurrent_kind::gru) {
                const Number reset = derivatives::logistic(sum(0)), update = derivatives::logistic(sum(1));
                const Number from_state = load_number<Number>(v + 2 * width + j);
                const Number inner = load_number<Number>(u + 2 * width + j) + reset * from_state;
                const Number candidate = xsimd::tanh(inner);
                const Number old = h_before == nullptr ? Number(0.0f) : load_number<Number>(h_before + j);
                save(0, reset), save(1, update), save(2, candidate), save(3, from_state);
                store_number(Number((Number(1.0f) - update) * candidate + update * old), h + j);
            } else {
                const Number inner = sum(0);
                const Number value = kind == recurrent_kind::rnn_tanh ? Number(xsimd::tanh(inner))
                                                                      : Number(xsimd::max(inner, Number(0.0f)));
                store_number(value, h + j);
            }
        });
}

/// y[sample][step] = h of each step, y_row values apart: those of two directions lie side by side. x is steps x inputs for each
/// sample. `saved` gets e.saved() floats for recurrent_backward(). `scratch` has recurrent_forward_scratch<Arch>(e) floats.
template <class Arch>
void recurrent_forward(const recurrent_extents& e, const_float_batch x, const recurrent_parameters<const float>& p,
                       float_batch y, std::ptrdiff_t y_row, float* saved, float* scratch) noexcept {
    constexpr float infinite = infinity;
    const recurrent_forward_plan<Arch> plan(e);
    float *const from_input = scratch + plan.from_input, *const from_state = scratch + plan.from_state,
                 *const unprojected = scratch + plan.unprojected, *const cells = scratch + plan.cells,
                 *const input_bias = scratch + plan.bias, *const state_bias = input_bias + e.sums();
    const product_window state(e.from_state());
    pack_window_panels<Arch>(
        state,
        [&](int channel, int channels, float* panel) {
            pack_forward_panel<Arch>(p.weight_hh, static_cast<std::size_t>(e.outputs()), channel, channels, panel);
        },
        scratch + plan.state_panels);
    if (e.projection != 0)
        pack_window_panels<Arch>(
            product_window(e.projected()),
            [&](int channel, int channels, float* panel) {
                pack_forward_panel<Arch>(p.weight_hr, static_cast<std::size_t>(e.hidden), channel, channels, panel);
            },
            scratch + plan.projection_panels);
    std::fill_n(input_bias, 2 * e.sums(), 0.0f);
    if (p.bias_ih != nullptr) std::copy_n(p.bias_ih, e.sums(), input_bias);
    if (p.bias_hh != nullptr) std::copy_n(p.bias_hh, e.sums(), state_bias);
    conv2d_batch<Arch>(e.from_input(), e.samples, x, p.weight_ih, input_bias, -infinite, infinite,
                       {from_input, std::ptrdiff_t{e.steps} * e.sums()}, scratch + plan.products);
    std::fill_n(cells, e.samples * e.hidden, 0.0f);
    for (int turn = 0; turn != e.steps; ++turn) {
        const int step = e.step(turn);
        if (turn == 0)
            for (int i = 0; i != e.samples; ++i) std::copy_n(state_bias, e.sums(), from_state + i * e.sums());
        else
            multiply_window_panels<Arch>(state, e.samples, {{y.values + (step + e.before()) * y_row, y.stride}, 0},
                                         scratch + plan.state_panels, {state_bias, -infinite, infinite},
                                         {from_state, e.sums()});
        for (int i = 0; i != e.samples; ++i) {
            const std::ptrdiff_t row = std::ptrdiff_t{i} * e.steps + step;
            float* const h = e.projection != 0 ? unprojected + i * e.hidden : y[i] + step * y_row;
            recurrent_cell_forward<Arch>(e.kind, e.hidden, from_input + row * e.sums(), from_state + i * e.sums(),
                                         turn == 0 ? nullptr : y[i] + (step + e.before()) * y_row, cells + i * e.hidden,
                                         saved + row * e.saved_width(), h);
        }
        if (e.projection != 0)
            multiply_window_panels<Arch>(product_window(e.projected()), e.samples, {{unprojected, e.hidden}, 0},
                                         scratch + plan.projection_panels, {nullptr, -infinite, infinite},
                                         {y.values + step * y_row, y.stride});
    }
}

template <class Arch> struct recurrent_backward_plan : recurrent_scratch {
    std::size_t du, dv, before, dh, dh_step, dm, dc, given, unprojected, state_panels, projection_panels, products;

    constexpr explicit recurrent_backward_plan(const recurrent_extents& e)
        : du(take(e.samples, e.steps, e.sums())),
          dv(take(e.kind == recurrent_kind::gru ? e.samples : 0, e.steps, e.sums())),
          before(take(e.samples, e.steps, e.outputs())),
          dh(take(e.samples, e.outputs())),
          dh_step(take(e.samples, e.outputs())),
          dm(take(e.samples, e.hidden)),
          dc(take(e.samples, e.hidden)),
          given(take(e.projection == 0 ? 0 : e.samples, e.steps, e.projection)),
          unprojected(take(e.projection == 0 ? 0 : e.samples, e.steps, e.hidden)),
          state_panels(take(backward_window(e.from_state()).template panels_size<Arch>())),
          projection_panels(take(e.projection == 0 ? 0 : backward_window(e.projected()).template panels_size<Arch>())),
          products(take(static_cast<std::ptrdiff_t>(most_products(e)))) {}

    /// The product that goes from the outputs of a linear layer to its inputs.
    static constexpr product_window backward_window(const conv2d_geometry& g) {
        return product_window(conv2d_geometry{g.out, g.in});
    }
    static constexpr std::size_t most_products(const recurrent_extents& e) {
        const conv2d_geometry state = e.all_steps(e.from_state()), projection = e.all_steps(e.projected());
        const std::size_t of_input = std::max(conv2d_input_gradient_scratch<Arch>(e.from_input()),
                                              conv2d_weight_gradient_scratch<Arch>(e.from_input()));
        const std::size_t of_state = conv2d_weight_gradient_scratch<Arch>(state);
        return std::max({of_input, of_state, e.projection == 0 ? 0 : conv2d_weight_gradient_scratch<Arch>(projection)});
    }
};

/// How many floats of scratch recurrent_backward() needs.
template <class Arch> constexpr std::size_t recurrent_backward_scratch(const recurrent_extents& e) {
    return recurrent_backward_plan<Arch>(e).size;
}

/// One step of one sample, backwards: dm is the gradient of h (hidden values, unprojected), dc an LSTM's of c, which becomes
/// that of the c in front. Writes du, a GRU's dv, and to dh the part of the gradient of the h in front that does not come
/// through products. c_before and h_before are null for zeros; m, where it is not null, gets the unprojected h.
template <class Arch>
void recurrent_cell_backward(recurrent_kind kind, int hidden, const float* saved, const float* c_before,
                             const float* h_before, const float* h, const float* dm, float* dc, float* du, float* dv,
                             float* dh, float* m) noexcept {
    const std::ptrdiff_t width = hidden;
    for_each_vector<ieee_vectors<Arch>>(
        static_cast<std::size_t>(hidden), [=](std::size_t at, auto type) __attribute__((always_inline)) {
            using Number = decltype(type);
            const auto j = static_cast<std::ptrdiff_t>(at);
            const Number one(1.0f), zero(0.0f), given = load_number<Number>(dm + j);
            const auto gate = [=](int part) { return load_number<Number>(saved + part * width + j); };
            const auto state = [=](const float* of) { return of == nullptr ? zero : load_number<Number>(of + j); };
            const auto put = [=](float* to, int part, const Number& value) {
                store_number(value, to + part * width + j);
            };
            if (kind == recurrent_kind::lstm) {
                const Number in = gate(0), forget = gate(1), candidate = gate(2), out = gate(3);
                const Number bent = xsimd::tanh(gate(4));
                const Number cell = load_number<Number>(dc + j) + given * out * (one - bent * bent);
                put(du, 0, cell * candidate * in * (one - in));
                put(du, 1, cell * state(c_before) * forget * (one - forget));
                put(du, 2, cell * in * (one - candidate * candidate));
                put(du, 3, given * bent * out * (one - out));
                store_number(Number(cell * forget), dc + j);
                if (m != nullptr) store_number(Number(out * bent), m + j);
            } else if (kind == recurrent_kind::gru) {
                const Number reset = gate(0), update = gate(1), candidate = gate(2), from_state = gate(3);
                const Number inner = given * (one - update) * (one - candidate * candidate);
                const Number by_reset = inner * from_state * reset * (one - reset);
                const Number by_update = given * (state(h_before) - candidate) * update * (one - update);
                put(du, 0, by_reset), put(du, 1, by_update), put(du, 2, inner);
                put(dv, 0, by_reset), put(dv, 1, by_update), put(dv, 2, inner * reset);
                store_number(Number(given * update), dh + j);
            } else {
                const Number value = load_number<Number>(h + j);
                if (kind == recurrent_kind::rnn_tanh) put(du, 0, given * (one - value * value));
                else put(du, 0, choose_number(value > zero, given, zero));
            }
        });
}

/// The gradients of recurrent_forward(), of whose x, parameters, y and `saved` it takes what they hold: dx, steps x
/// inputs for each sample, is written where its values are not null, and the gradients of parameters are added to. dy
/// lies as y, with its own stride. Steps whose h nothing reads have dy 0. `scratch` has
/// recurrent_backward_scratch<Arch>(e) floats.
template <class Arch>
void recurrent_backward(const recurrent_extents& e, const_float_batch x, const recurrent_parameters<const float>& p,
                        const_float_batch y, const_float_batch dy, std::ptrdiff_t y_row, const float* saved,
                        float_batch dx, const recurrent_parameters<float>& gradients, float* scratch) noexcept {
    constexpr float infinite = infinity;
    using plan_of = recurrent_backward_plan<Arch>;
    const plan_of plan(e);
    const bool is_gru = e.kind == recurrent_kind::gru, projects = e.projection != 0;
    float *const du = scratch + plan.du, *const dv = is_gru ? scratch + plan.dv : du, *const dh = scratch + plan.dh,
                 *const dh_step = scratch + plan.dh_step, *const dm = scratch + plan.dm, *const dc = scratch + plan.dc;
    const product_window to_state = plan_of::backward_window(e.from_state()),
                         to_projected = plan_of::backward_window(e.projected());
    const auto pack = [](const float* weights, int depth, int columns, const product_window& window, float* panels) {
        pack_window_panels<Arch>(
            window,
            [=](int channel, int channels, float* panel) {
                constexpr int tile = product_tile<Arch>::channels;
                for (int k = 0; k != depth; ++k, panel += tile)
                    std::fill_n(std::copy_n(weights + std::ptrdiff_t{k} * columns + channel, channels, panel),
                                tile - channels, 0.0f);
            },
            panels);
    };
    pack(p.weight_hh, e.sums(), e.outputs(), to_state, scratch + plan.state_panels);
    if (projects) pack(p.weight_hr, e.projection, e.hidden, to_projected, scratch + plan.projection_panels);
    std::fill_n(dh, e.samples * e.outputs(), 0.0f);
    std::fill_n(dc, e.samples * e.hidden, 0.0f);
    for (int turn = e.steps - 1; turn >= 0; --turn) {
        const int step = e.step(turn);
        const std::ptrdiff_t step_sums = std::ptrdiff_t{e.steps} * e.sums();
        for (int i = 0; i != e.samples; ++i)
            for (int j = 0; j != e.outputs(); ++j) dh[i * e.outputs() + j] += dy[i][step * y_row + j];
        if (projects) {
            for (int i = 0; i != e.samples; ++i)
                std::copy_n(dh + i * e.outputs(), e.outputs(),
                            scratch + plan.given + (std::ptrdiff_t{i} * e.steps + step) * e.outputs());
            multiply_window_panels<Arch>(to_projected, e.samples, {{dh, e.outputs()}, 0},
                                         scratch + plan.projection_panels, {nullptr, -infinite, infinite},
                                         {dm, e.hidden});
        }
        for (int i = 0; i != e.samples; ++i) {
            const std::ptrdiff_t row = std::ptrdiff_t{i} * e.steps + step;
            const float* const own = saved + row * e.saved_width();
            const float* const h_before = turn == 0 ? nullptr : y[i] + (step + e.before()) * y_row;
            const bool has_cell = e.kind == recurrent_kind::lstm && turn != 0;
            const float* const c_before = has_cell ? own + e.before() * e.saved_width() + 4 * e.hidden : nullptr;
            recurrent_cell_backward<Arch>(e.kind, e.hidden, own, c_before, h_before, y[i] + step * y_row,
                                          projects ? dm + i * e.hidden : dh + i * e.hidden, dc + i * e.hidden,
                                          du + row * e.sums(), dv + row * e.sums(), dh_step + i * e.hidden,
                                          projects ? scratch + plan.unprojected + row * e.hidden : nullptr);
            float* const kept = scratch + plan.before + row * e.outputs();
            if (h_before == nullptr) std::fill_n(kept, e.outputs(), 0.0f);
            else std::copy_n(h_before, e.outputs(), kept);
        }
        if (turn == 0) break;
        multiply_window_panels<Arch>(to_state, e.samples, {{dv + step * e.sums(), step_sums}, 0},
                                     scratch + plan.state_panels, {nullptr, -infinite, infinite}, {dh, e.outputs()});
        if (is_gru)
            for (int i = 0; i != e.samples * e.hidden; ++i) dh[i] += dh_step[i];
    }
    const_float_batch dus{du, std::ptrdiff_t{e.steps} * e.sums()}, dvs{dv, dus.stride};
    float* const products = scratch + plan.products;
    if (dx.values != nullptr) conv2d_input_gradient<Arch>(e.from_input(), e.samples, dus, p.weight_ih, dx, products);
    conv2d_weight_gradient<Arch>(e.from_input(), e.samples, x, dus, gradients.weight_ih, products);
    conv2d_weight_gradient<Arch>(e.all_steps(e.from_state()), e.samples,
                                 {scratch + plan.before, std::ptrdiff_t{e.steps} * e.outputs()}, dvs,
                                 gradients.weight_hh, products);
    if (gradients.bias_ih != nullptr) add_channel_sums<Arch>(e.samples, dus, e.steps, e.sums(), gradients.bias_ih);
    if (gradients.bias_hh != nullptr) add_channel_sums<Arch>(e.samples, dvs, e.steps, e.sums(), gradients.bias_hh);
    if (projects)
        conv2d_weight_gradient<Arch>(
            e.all_steps(e.projected()), e.samples, {scratch + plan.unprojected, std::ptrdiff_t{e.steps} * e.hidden},
            {scratch + plan.given, std::ptrdiff_t{e.steps} * e.projection}, gradients.weight_hr, products);
}

}  // namespace zp::inline v0::kernel
