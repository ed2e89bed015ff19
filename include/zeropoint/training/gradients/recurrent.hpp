// SPDX-License-Identifier: BSD-3-Clause
// Gradients of LSTM, GRU and RNN layers: backpropagation through time, layer by layer and direction by direction.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/gradient/recurrent_gradient.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {
namespace detail {

/// Where everything lies in the scratch of a node, in floats.
template <class Arch> struct recurrent_plan {
    recurrent_geometry g;
    std::size_t samples, between = 0, outputs = 0, saved = 0, dy = 0, dx = 0, more = 0, weights = 0, gradients = 0,
                         work = 0, size = 0;

    recurrent_plan(const node_view& v, int count) : g(v), samples(static_cast<std::size_t>(count)) {
        const auto take = [&](std::size_t floats) {
            const std::size_t at = size;
            size += align_up(sizeof(float) * floats) / sizeof(float);
            return at;
        };
        between = samples * static_cast<std::size_t>(g.steps) * static_cast<std::size_t>(std::max(g.width(), g.inputs));
        outputs = take(between * static_cast<std::size_t>(g.options.layers));
        saved = take(saved_each() * static_cast<std::size_t>(g.options.layers * g.directions()));
        dy = take(between);
        dx = take(between);
        more = take(between);
        std::size_t most = 0, room = 0;
        for (int layer = 0; layer != g.options.layers; ++layer) {
            most = std::max(most, matrices_of(layer));
            const kernel::recurrent_extents e = extents(layer, 0);
            room = std::max(
                {room, kernel::recurrent_forward_scratch<Arch>(e), kernel::recurrent_backward_scratch<Arch>(e)});
        }
        weights = take(most);
        gradients = take(most);
        work = take(room);
    }
    kernel::recurrent_extents extents(int layer, int direction) const {
        kernel::recurrent_extents e;
        e.kind = g.cell == recurrent_cell::lstm                     ? kernel::recurrent_kind::lstm
                 : g.cell == recurrent_cell::gru                    ? kernel::recurrent_kind::gru
                 : g.options.nonlinearity == rnn_nonlinearity::tanh ? kernel::recurrent_kind::rnn_tanh
                                                                    : kernel::recurrent_kind::rnn_relu;
        e.samples = static_cast<int>(samples);
        e.steps = g.steps;
        e.inputs = g.inputs_of(layer);
        e.hidden = g.hidden;
        e.projection = g.options.projection;
        e.reversed = direction == 1;
        return e;
    }
    std::size_t saved_each() const { return std::max(extents(0, 0).saved(), std::size_t{1}); }
    std::size_t matrices_of(int layer) const { return static_cast<std::size_t>(g.weights_of(layer)); }
    /// The first array of a layer and direction.
    int first_array(int layer, int direction) const {
        return (layer * g.directions() + direction) * (g.matrices_each() + (g.options.bias ? 2 : 0));
    }
};

struct recurrent_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const recurrent_plan<Arch> plan(o.at, o.samples);
        const recurrent_geometry& g = plan.g;
        const int layers = g.options.layers;
        const auto width = static_cast<std::ptrdiff_t>(g.width());
        float* const base = o.scratch;
        const auto values_of = [&](int layer) {
            return base + plan.outputs + plan.between * static_cast<std::size_t>(layer);
        };
        const auto saved_of = [&](int layer, int direction) {
            return base + plan.saved + plan.saved_each() * static_cast<std::size_t>(layer * g.directions() + direction);
        };
        const auto input_of = [&](int layer) -> kernel::const_float_batch {
            if (layer == 0) return {o.xs[0], static_cast<std::ptrdiff_t>(o.x_size())};
            return {values_of(layer - 1), g.steps * width};
        };
        for (int layer = 0; layer != layers; ++layer)
            for (int direction = 0; direction != g.directions(); ++direction) {
                const auto e = plan.extents(layer, direction);
                const auto p = take_weights(o, plan, layer, direction, base + plan.weights);
                kernel::recurrent_forward<Arch>(e, input_of(layer), p,
                                                {values_of(layer) + direction * g.outputs(), g.steps * width}, width,
                                                saved_of(layer, direction), base + plan.work);
            }
        float *dy = base + plan.dy, *dx = base + plan.dx;
        spread_gradient(o, g, dy);
        for (int layer = layers; layer-- != 0;) {
            const std::ptrdiff_t stride = std::ptrdiff_t{g.steps} * g.inputs_of(layer);
            const bool passes = layer != 0 || o.dxs[0] != nullptr;
            float* const to = layer == 0 ? o.dxs[0] : dx;
            for (int direction = 0; direction != g.directions(); ++direction) {
                const auto e = plan.extents(layer, direction);
                const auto p = take_weights(o, plan, layer, direction, base + plan.weights);
                std::fill_n(base + plan.gradients, plan.matrices_of(layer), 0.0f);
                const auto dp = places(o, plan, layer, direction, base + plan.gradients, o.d_block);
                float* const own = direction == 0 ? to : base + plan.more;
                kernel::recurrent_backward<Arch>(
                    e, input_of(layer), p, {values_of(layer) + direction * g.outputs(), g.steps * width},
                    {dy + direction * g.outputs(), g.steps * width}, width, saved_of(layer, direction),
                    {passes ? own : nullptr, stride}, dp, base + plan.work);
                if (passes && direction == 1)
                    for (std::ptrdiff_t i = 0; i != stride * o.samples; ++i) to[i] += own[i];
                if (o.d_block != nullptr) add_weights(o, plan, layer, direction, base + plan.gradients);
            }
            std::swap(dy, dx);
        }
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int samples) {
        return sizeof(float) * recurrent_plan<Arch>(v, samples).size;
    }

private:
    /// The gradient of all steps of the last layer: that of those that are given.
    static void spread_gradient(const gradient_operands& o, const recurrent_geometry& g, float* dy) noexcept {
        const std::size_t all = static_cast<std::size_t>(o.samples) * static_cast<std::size_t>(g.steps * g.width());
        if (g.options.output == recurrent_output::all_steps) {
            std::copy_n(o.dy, all, dy);
            return;
        }
        std::fill_n(dy, all, 0.0f);
        for (int i = 0; i != o.samples; ++i)
            for (int direction = 0; direction != g.directions(); ++direction)
                std::copy_n(
                    o.dy + i * g.width() + direction * g.outputs(), g.outputs(),
                    dy + (std::ptrdiff_t{i} * g.steps + g.given_step(direction)) * g.width() + direction * g.outputs());
    }
    /// Where matrices of rows x columns begin in `memory`, and biases in a block.
    template <class Arch, class T>
    static kernel::recurrent_parameters<T> places(const gradient_operands& o, const recurrent_plan<Arch>& plan,
                                                  int layer, int direction, T* memory, T* block) noexcept {
        const recurrent_geometry& g = plan.g;
        const int first = plan.first_array(layer, direction);
        const parameter_list list = parameters_of(o.at);
        kernel::recurrent_parameters<T> p;
        p.weight_ih = memory;
        p.weight_hh = memory + std::ptrdiff_t{g.sums()} * g.inputs_of(layer);
        if (g.options.projection != 0) p.weight_hr = p.weight_hh + std::ptrdiff_t{g.sums()} * g.outputs();
        if (g.options.bias && block != nullptr) {
            p.bias_ih = block + list.offset_of(first + 2);
            p.bias_hh = block + list.offset_of(first + 3);
        }
        return p;
    }
    /// visit(array, offset of its rows x columns) for the matrices of a layer and direction.
    template <class Arch, class Visit>
    static void for_each_matrix(const gradient_operands& o, const recurrent_plan<Arch>& plan, int layer, int direction,
                                const Visit& visit) noexcept {
        const int first = plan.first_array(layer, direction), biases = plan.g.options.bias ? 2 : 0;
        const parameter_list list = parameters_of(o.at);
        std::ptrdiff_t offset = 0;
        for (int k = 0; k != plan.g.matrices_each(); ++k) {
            const int array = first + k + (k == 2 ? biases : 0);
            visit(list, array, offset);
            offset += list.arrays[array].size();
        }
    }
    template <class Arch>
    static kernel::recurrent_parameters<const float> take_weights(const gradient_operands& o,
                                                                  const recurrent_plan<Arch>& plan, int layer,
                                                                  int direction, float* memory) noexcept {
        for_each_matrix(o, plan, layer, direction, [&](const parameter_list& list, int array, std::ptrdiff_t offset) {
            array_to_file(list.arrays[array], o.block + list.offset_of(array), memory + offset);
        });
        return places<Arch, const float>(o, plan, layer, direction, memory, o.block);
    }
    template <class Arch>
    static void add_weights(const gradient_operands& o, const recurrent_plan<Arch>& plan, int layer, int direction,
                            const float* gradients) noexcept {
        for_each_matrix(o, plan, layer, direction, [&](const parameter_list& list, int array, std::ptrdiff_t offset) {
            float* to = o.d_block + list.offset_of(array);
            list.arrays[array].order.for_each(
                [&](std::ptrdiff_t file, std::ptrdiff_t inside) { to[inside] += gradients[offset + file]; });
        });
    }
};

}  // namespace detail

template <> struct gradient_of<op::lstm> : detail::recurrent_gradient {};
template <> struct gradient_of<op::gru> : detail::recurrent_gradient {};
template <> struct gradient_of<op::rnn> : detail::recurrent_gradient {};

}  // namespace zp::inline v0
