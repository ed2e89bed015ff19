// SPDX-License-Identifier: BSD-3-Clause
// SVDF, of keyword spotting: filters over the features of a step, and over what they gave for the last steps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/float/reproducible_product.hpp>
#include <zeropoint/kernel/recurrent/svdf.hpp>
#include <zeropoint/operators/integer_product.hpp>
#include <zeropoint/operators/requantization.hpp>
#include <zeropoint/scheme/bias.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind svdf{"svdf"};
}

/// Options of zp::svdf. With `state_scale` the scale of the int8 form's state is a parameter, as TFLite's models have it.
struct svdf_options {
    bool bias = true;          // whether there is a "name.bias"
    bool state_scale = false;  // whether the state's scale is a parameter
};

namespace operators {

/// What does not depend on the input.
struct svdf_layer : kernel::svdf_extents {
    bool has_bias = true, has_state_scale = false;
};
/// The options of a layer as its record has them, and back.
constexpr std::array<int, 5> options_of_svdf(const svdf_layer& s) {
    return {s.units, s.rank, s.memory, s.has_bias, s.has_state_scale};
}
constexpr svdf_layer svdf_layer_of(const operator_info& info) {
    const std::span<const int> o = info.options;
    return {{o[0], o[1], o[2]}, o[3] != 0, o[4] != 0};
}

template <svdf_layer Layer> struct svdf {
    static constexpr const char* kind = "svdf";
    static constexpr auto options = options_of_svdf(Layer);
    static constexpr stream_rule stream = stream_rule::stateful;
    static constexpr unsigned takes = bounds;
    static constexpr bool has_codes = true, keeps_codes = true;

    static constexpr bool accepts(shape x) {
        return x.height == 1 && x.channels <= kernel::largest_dynamic_depth(false);
    }
    static constexpr shape output_shape(shape x) { return {1, x.width, Layer.units}; }
    static constexpr parameter_list parameters(shape x) {
        parameter_list list;
        list.add_matrix("feature", Layer.filters(), x.channels);
        list.add({"time",
                  2,
                  {Layer.filters(), Layer.memory, 1, 1, 1},
                  parameter_role::vector,
                  transposed_order(1, Layer.filters(), Layer.memory)});
        list.add({"bias", 1, {Layer.units, 1, 1, 1, 1}, parameter_role::bias, {}, Layer.has_bias});
        if (Layer.has_state_scale) list.add("state_scale", 1);
        return list;
    }
    /// What filters gave for the last steps, a ring of which row `newest` is the last.
    static constexpr state_list states(const node_view& v) {
        const scalar_type storage = v.n.is_float() ? scalar_type::float32 : scalar_type::int16;
        return state_list().add("steps", storage, Layer.filters() * Layer.memory).add("newest", scalar_type::int32, 1);
    }
    static constexpr std::int64_t macs(const node_view& v) {
        return std::int64_t{v.x_shape().width} * Layer.filters() * (v.x_shape().channels + Layer.memory);
    }
};

/// What both forms are made of.
template <svdf_layer Layer> struct svdf_form {
    static constexpr int filters = Layer.filters(), weights_over_time = filters * Layer.memory;

    /// So many steps have their products with the features made together. Results do not depend on it.
    static constexpr int together(const shape& x) { return std::min(x.width, 16); }
    static constexpr std::size_t part(int size, int count) {
        return align_up(static_cast<std::size_t>(size) * static_cast<std::size_t>(count));
    }
    /// All steps. `products(x, rows)` makes the sums over features of some, `remember(row, state)` puts those of one where they
    /// are kept, and `recall(row, states, oldest, y)` gives its outputs.
    template <class State, class Value, class Products, class Remember, class Recall>
    static void run(const node& n, const context& c, Products products, Remember remember, Recall recall) noexcept {
        const shape x_shape = c.view(n).x_shape();
        const auto next = [](int row) { return row + 1 == Layer.memory ? 0 : row + 1; };
        std::byte* states = c.begin_state(n);
        auto* ring = reinterpret_cast<State*>(states);
        auto& newest = *reinterpret_cast<std::int32_t*>(states + part(sizeof(State), weights_over_time));
        const Value* x = c.in<Value>(n);
        Value* y = c.out<Value>(n);
        for (int done = 0; done < x_shape.width; done += together(x_shape)) {
            const int rows = std::min(together(x_shape), x_shape.width - done);
            products(x + std::ptrdiff_t{done} * x_shape.channels, rows);
            for (int row = 0; row != rows; ++row, y += Layer.units) {
                newest = next(newest);
                remember(row, ring + std::ptrdiff_t{newest} * filters);
                recall(row, ring, next(newest), y);
            }
        }
    }
};

/// In floats, sums in one order.
template <svdf_layer Layer, class Arch> struct float_svdf : svdf_form<Layer>, float_block {
    using base = svdf_form<Layer>;
    using base::filters;

    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(sizeof(float)) * (base::together(v.x_shape()) + 1) * filters;
    }
    static void run(const node& n, const context& c) noexcept {
        const shape x_shape = c.view(n).x_shape();
        const int inputs = x_shape.channels;
        const auto* feature = c.block<float>(n);
        const float* time = feature + filters * inputs;
        const auto* bias =
            c.block<float>(n, static_cast<int>(base::part(sizeof(float), filters * inputs + base::weights_over_time)));
        auto *products = c.scratch<float>(n), *sums = products + base::together(x_shape) * filters;
        const auto clamp = [&](float y, int) { return std::clamp(y, n.fused.lowest, n.fused.highest); };
        base::template run<float, float>(
            n, c,
            [&](const float* x, int rows) {
                kernel::ordered_product<Arch>({x, inputs}, rows, inputs, {feature, filters}, filters, nullptr, products,
                                              filters);
            },
            [&](int row, float* state) { std::copy_n(products + row * filters, filters, state); },
            [&](int, const float* states, int oldest, float* y) {
                kernel::svdf_recall<Arch>(Layer, states, oldest, time, bias, clamp, sums, y);
            });
    }
};

/// In integers, as TFLite: see docs/numerics.md. Code is std::uint8_t or std::int8_t.
template <svdf_layer Layer, class Code, class Arch, class Requantization> struct integer_svdf : svdf_form<Layer> {
    using base = svdf_form<Layer>;
    using base::filters, base::weights_over_time, base::part;
    // A float bias has no form here.
    using policy = std::conditional_t<Requantization::has_float_bias, nearest_even, Requantization>;
    using first_type = typename policy::first_type;
    using second_type = typename policy::second_type;

    /// What lies at the beginning of the block; behind it are the weights over features, whose size depends on the input.
    struct alignas(buffer_alignment) numbers {
        first_type state_first[filters], y_first[Layer.units];
        second_type state_second[policy::has_second ? filters : 1], y_second[policy::has_second ? Layer.units : 1];
        std::int32_t bias[Layer.units];
        std::int16_t time[weights_over_time];
        float feature_scales[filters], largest_time[Layer.units], float_bias[Layer.units],
            state_scale;  // for files
    };
    static constexpr integer_product_kernel<Arch> product_of(const shape& x) { return {x.channels, filters}; }

    static constexpr int parameter_bytes(const node_view& v) {
        return static_cast<int>(sizeof(numbers) + align_up(product_of(v.x_shape()).packed_bytes()));
    }
    /// The sums of some steps, and behind them what the product of as many rows needs, or of fewer.
    static constexpr int scratch_bytes(const node_view& v) {
        const int together = base::together(v.x_shape());
        std::size_t most = 0;
        for (int rows = 1; rows <= together; ++rows) most = std::max(most, product_of(v.x_shape()).scratch_bytes(rows));
        return static_cast<int>(part(4, together * filters) + most);
    }

    static refusal pack(const preparation& p, const node_parameters& from) {
        const quantized_weights& feature = from.matrices[0];
        const std::vector<float>&time = from.vectors[0], &bias = from.vectors[1];
        auto& to = *new (p.block) numbers;
        const float x = p.x_qparams().scale, y = p.y_qparams().scale,
                    state = Layer.has_state_scale ? from.vectors[2][0] : bound_of_state(p, feature);
        if (!(state > 0 && is_finite(state)))
            return {
                "state_scale must be finite and above 0: take the largest magnitude of what the filters give, over "
                "32767"};
        product_of(p.x_shape())
            .pack(reinterpret_cast<const std::int8_t*>(feature.codes.data()), codes_of(p), p.block + sizeof to);
        for (std::size_t f = 0; f != filters; ++f)
            if (!prepare({x, feature.scales[f], state}, to.state_first, to.state_second, f))
                return too_far_apart(x, state);
        for (std::size_t u = 0; u != Layer.units; ++u) {
            float& largest = to.largest_time[u] = 0;
            for_each_weight(u, [&](std::size_t i) { largest = std::max(largest, std::abs(time[i])); });
            if (!(std::abs(bias[u]) < double{std::numeric_limits<float>::max()} * state))
                return too_far_apart(bias[u], state);
            const float scale = scale_of_time(largest, bias[u], state);
            for_each_weight(u, [&](std::size_t i) {
                const double code = std::clamp(double{time[i]} / double{scale}, -largest_code, largest_code);
                to.time[i] = static_cast<std::int16_t>(round_half_even(code));
            });
            to.bias[u] = quantize_bias(bias[u], state, scale);
            if (!prepare({state, scale, y}, to.y_first, to.y_second, u)) return too_far_apart(state, y);
        }
        std::copy(feature.scales.begin(), feature.scales.end(), to.feature_scales);
        std::copy(bias.begin(), bias.end(), to.float_bias);
        to.state_scale = state;
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const auto& all = *reinterpret_cast<const numbers*>(p.block);
        const auto floats = [](const auto& values) { return std::vector<float>(std::begin(values), std::end(values)); };
        node_parameters to;
        quantized_weights& feature = to.matrices.emplace_back();
        feature.codes.resize(static_cast<std::size_t>(filters * p.x_shape().channels));
        product_of(p.x_shape())
            .unpack(p.block + sizeof all, codes_of(p), reinterpret_cast<std::int8_t*>(feature.codes.data()));
        feature.scales = floats(all.feature_scales);
        // Floats of which the same codes are made: the largest as it was, from which the scale follows.
        std::vector<float> time(weights_over_time);
        for (std::size_t u = 0; u != Layer.units; ++u) {
            const float largest = all.largest_time[u],
                        scale = scale_of_time(largest, all.float_bias[u], all.state_scale);
            for_each_weight(u, [&](std::size_t i) {
                const float code = all.time[i];
                time[i] = std::abs(code) == largest_code ? std::copysign(largest, code) : code * scale;
            });
        }
        to.vectors = {time, floats(all.float_bias)};
        if (Layer.has_state_scale) to.vectors.push_back({all.state_scale});
        return to;
    }

    static void run(const node& n, const context& c) noexcept {
        const value_type& in = c.nodes[n.inputs[0]].out;
        const kernel::activation_codes codes{c.range_in(n).zero_point, in.quant_min, in.quant_max};
        const auto& all = *c.block<numbers>(n);
        const auto* feature = c.block<std::byte>(n, sizeof all);
        const auto to_state = policy::epilogue(all.state_first, all.state_second, kernel::svdf_state_codes);
        const auto to_output = policy::epilogue(all.y_first, all.y_second, clamped_codes(n, c.range(n)));
        auto* sums = c.scratch<std::int32_t>(n);
        std::byte* scratch = c.scratch<std::byte>(n) + part(4, base::together(in.extents) * filters);
        base::template run<std::int16_t, Code>(
            n, c, [&](const Code* x, int rows) { product_of(in.extents).run(x, rows, codes, feature, sums, scratch); },
            [&](int row, std::int16_t* state) {
                kernel::svdf_remember<Arch>(sums + row * filters, filters, to_state, state);
            },
            [&](int row, const std::int16_t* states, int oldest, Code* y) {
                kernel::svdf_recall<Arch>(Layer, states, oldest, all.time, all.bias, to_output, sums + row * filters,
                                          y);
            });
    }

private:
    static constexpr float smallest_scale = 0x1p-100f;
    static constexpr double largest_code = kernel::largest_svdf_weight(Layer);

    /// visit(place) for each weight over time of a unit.
    template <class Visit> static void for_each_weight(std::size_t unit, Visit visit) {
        for (std::size_t step = 0; step != Layer.memory; ++step)
            for (std::size_t f = unit * Layer.rank; f != (unit + 1) * Layer.rank; ++f) visit(step * filters + f);
    }
    static float scale_of_time(float largest, float bias, float state) {
        const float wanted =
            largest == 0 ? 1.0f : std::max(static_cast<float>(double{largest} / largest_code), smallest_scale);
        return fit_weight_scale_to_bias(bias, state, wanted).weight_scale;
    }

    static kernel::activation_codes codes_of(const preparation& p) {
        return {p.x_qparams().zero_point, p.x_type().quant_min, p.x_type().quant_max};
    }
    /// The scale with which no input can leave 16 bits: that of the largest sum of products of codes.
    static float bound_of_state(const preparation& p, const quantized_weights& feature) {
        const kernel::activation_codes x = codes_of(p);
        const auto* code = reinterpret_cast<const std::int8_t*>(feature.codes.data());
        double largest = 0;
        for (std::size_t f = 0; f != filters; ++f) {
            std::int64_t lowest_sum = 0, highest_sum = 0;
            for (int i = 0; i != p.x_shape().channels; ++i, ++code) {
                const std::int64_t a = std::int64_t{*code} * (x.min - x.zero_point),
                                   b = std::int64_t{*code} * (x.max - x.zero_point);
                lowest_sum += std::min(a, b);
                highest_sum += std::max(a, b);
            }
            const double scale = double{p.x_qparams().scale} * double{feature.scales[f]};
            largest = std::max(largest, scale * static_cast<double>(std::max(-lowest_sum, highest_sum)));
        }
        return largest == 0 ? 1.0f : std::max(static_cast<float>(largest / 32767), smallest_scale);
    }
    /// False where the ratio of scales is none that a policy has.
    static bool prepare(const channel_scales& s, first_type* first, second_type* second, std::size_t c) {
        if (!(double{s.input} * double{s.weight} < 2147483648.0 * double{s.output})) return false;
        second_type unused{};
        policy::prepare(s, 0.0f, first[c], policy::has_second ? second[c] : unused);
        return true;
    }
    static refusal too_far_apart(double found, double beside) {
        return {"scales of inputs, state and outputs and biases that are less than 2^31 steps of each other", found,
                beside, "calibrate the output's range on its own values"};
    }
};

}  // namespace operators

/// By layer, not by length: loops over its filters have ends that compilers know.
template <> struct forms_of<op::svdf> {
    static constexpr bool is_keyed = true;
    struct key_type {
        operators::svdf_layer layer;
        scalar_type storage;
    };
    static constexpr key_type key(const node_view& v) {
        return {operators::svdf_layer_of(*v.n.op), computing_storage(v)};
    }
    template <key_type Key, class Arch, class Policies>
    using form = std::conditional_t<
        Key.storage == scalar_type::float32, operators::float_svdf<Key.layer, Arch>,
        operators::integer_svdf<Key.layer, storage_of<Key.storage>, Arch, typename Policies::requantization>>;
};

/// TFLite's SVDF over a sequence of 1 x steps x features, from a state of zeros: 1 x steps x Units,
///
///     y[step][u] = bias[u] + sum over the Rank filters f of unit u, and over the last Memory steps, of (feature[f] . x[step]) * time[f][step]
///
/// a layer of features x Memory weights a unit, made of Rank products of a vector of each. A zp::relu behind it is fused.
/// `zp::svdf<"spot", 64, 1, 8>`; parameters "spot.feature", Units * Rank x features, "spot.time", Units * Rank x Memory, the
/// oldest step first, and "spot.bias", as TFLite has them. Under zp::streaming it goes on from step to step.
///
/// In int8 it has TFLite's integers: int8 weights over features, a scale a filter; a state of 16 bits, one scale for all; int16
/// weights over time, a scale a unit. The scale of the state is the least with which no input of the calibrated range leaves 16
/// bits. What filters give in practice is a few bits below that, and 16 bits have these to spare beside 8 of inputs and outputs:
/// so nothing has to observe what lies inside of a layer, and nothing saturates. With svdf_options{.state_scale = true} it is the
/// parameter "spot.state_scale", a value above 0 that floats do not use: that of a model of TFLite's, or of an observer.
template <fixed_string Name, int Units, int Rank, int Memory, svdf_options Options = svdf_options{}> struct svdf {
    static_assert(Units > 0 && Rank > 0 && Memory > 0,
                  "svdf<Name, Units, Rank, Memory>: Units, Rank and Memory must be at least 1");
    static_assert(Units <= 0 || Rank <= 0 || Memory <= 0 || std::int64_t{Rank} * Memory <= 2048,
                  "svdf<Name, Units, Rank, Memory>: Rank * Memory must be at most 2048, or int32 sums overflow");
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        constexpr bool is_possible = Units > 0 && Rank > 0 && Memory > 0;
        constexpr kernel::svdf_extents extents =
            is_possible ? kernel::svdf_extents{Units, Rank, Memory} : kernel::svdf_extents{};
        if (b.nodes[x].out.extents.height != 1) b.fail(rule::sequence_expected, b.nodes[x].out.extents);
        using layer = operators::svdf<operators::svdf_layer{extents, Options.bias, Options.state_scale}>;
        return append_operator<op::svdf, layer>(b, {&x, 1}, Name.text);
    }
};

}  // namespace zp::inline v0
