// SVDF, of keyword spotting: filters over the features of a step, and over what they gave for the last steps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/dynamic_linear.hpp>
#include <zeropoint/kernel/ordered_product.hpp>
#include <zeropoint/kernel/svdf.hpp>
#include <zeropoint/operators/integer_product.hpp>
#include <zeropoint/operators/requantization.hpp>
#include <zeropoint/scheme/bias.hpp>

namespace zp {
inline namespace v0 {
namespace op {
inline constexpr operator_kind svdf{"svdf"};
}

/// Options of zp::svdf. With `state_scale` the scale of the int8 form's state is a parameter, as TFLite's models have it.
struct svdf_options {
    bool bias = true;
    bool state_scale = false;
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
/// A layer over inputs of known extents.
struct svdf_geometry : svdf_layer {
    int inputs, steps;

    constexpr svdf_geometry(const svdf_layer& layer, const shape& x)
        : svdf_layer(layer), inputs(x.channels), steps(x.width) {}
    constexpr explicit svdf_geometry(const node_view& v) : svdf_geometry(layer_of(v.n.op->options), v.x_shape()) {}

    /// So many steps have their products with the features made together. Results do not depend on it.
    constexpr int together() const { return std::min(steps, 16); }
    constexpr int weights_over_features() const { return filters() * inputs; }
    constexpr int weights_over_time() const { return filters() * memory; }

    /// The last `memory` steps, a ring of rows of filters, and the newest of these.
    constexpr state_list states(scalar_type storage) const {
        return state_list().add("steps", storage, weights_over_time()).add("newest", scalar_type::int32, 1);
    }
    /// All steps over x, of which `products(x, rows)` makes the sums over features of some, and `step(row, state, newest, y)`
    /// remembers those of one as row `newest`, and recalls the outputs.
    template <class State, class X, class Y, class Products, class Step>
    void run(std::byte* states_of_node, const X* x, Y* y, Products products, Step step) const noexcept {
        auto* ring = reinterpret_cast<State*>(states_of_node);
        const auto size = sizeof(State) * static_cast<std::size_t>(weights_over_time());
        auto& newest = *reinterpret_cast<std::int32_t*>(states_of_node + align_up(size));
        for (int done = 0; done < steps; done += together()) {
            const int rows = std::min(together(), steps - done);
            products(x + std::ptrdiff_t{done} * inputs, rows);
            for (int row = 0; row != rows; ++row, y += units) {
                newest = next(newest);
                step(row, ring, newest, y);
            }
        }
    }
    /// The row of the ring behind one, which is the oldest behind the newest.
    constexpr int next(int row) const { return row + 1 == memory ? 0 : row + 1; }

private:
    static constexpr svdf_layer layer_of(std::span<const int> o) { return {{o[0], o[1], o[2]}, o[3] != 0, o[4] != 0}; }
};

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
    static constexpr state_list states(const node_view& v) {
        return svdf_geometry(Layer, v.x_shape()).states(v.n.is_float() ? scalar_type::float32 : scalar_type::int16);
    }
    static constexpr std::int64_t macs(const node_view& v) {
        const svdf_geometry g(Layer, v.x_shape());
        return std::int64_t{g.steps} * (g.weights_over_features() + g.weights_over_time());
    }
};

/// In floats, sums in one order.
template <class Arch> struct float_svdf : float_block {
    static constexpr int scratch_bytes(const node_view& v) {
        const svdf_geometry g(v);
        return static_cast<int>(sizeof(float)) * (g.together() + 1) * g.filters();
    }
    static void run(const node& n, const context& c) noexcept {
        const svdf_geometry g(c.view(n));
        const int filters = g.filters();
        const auto* feature = c.block<float>(n);
        const float* time = feature + g.weights_over_features();
        const auto bias_begin =
            align_up(sizeof(float) * static_cast<std::size_t>(g.weights_over_features() + g.weights_over_time()));
        const auto* bias = c.block<float>(n, static_cast<int>(bias_begin));
        auto *products = c.scratch<float>(n), *sums = products + g.together() * filters;
        const auto clamp = [&](float y, int) { return std::clamp(y, n.fused.lowest, n.fused.highest); };
        g.run<float>(
            c.begin_state(n), c.in<float>(n), c.out<float>(n),
            [&](const float* x, int rows) {
                kernel::ordered_product<Arch>({x, g.inputs}, rows, g.inputs, {feature, filters}, filters, nullptr,
                                              products, filters);
            },
            [&](int row, float* ring, int newest, float* y) {
                std::copy_n(products + row * filters, filters, ring + newest * filters);
                kernel::svdf_recall<Arch>(g, ring, g.next(newest), time, bias, clamp, sums, y);
            });
    }
};

/// In integers, as TFLite: see docs/numerics.md. Code is std::uint8_t or std::int8_t.
template <class Code, class Arch, class Requantization> struct integer_svdf {
    // A float bias has no form here.
    using policy = std::conditional_t<Requantization::has_float_bias, nearest_even, Requantization>;
    using first_type = typename policy::first_type;
    using second_type = typename policy::second_type;

    /// Where the parts lie in the block, in bytes; the floats at its end are for files.
    struct block {
        integer_product_kernel<Arch> product;
        std::size_t state_first, state_second, weights, bias, y_first, y_second, scales, time, float_bias, state_scale,
            bytes;

        constexpr explicit block(const svdf_geometry& g)
            : product{g.inputs, g.filters()},
              state_first(align_up(product.packed_bytes())),
              state_second(state_first + part(4, g.filters())),
              weights(state_second + (policy::has_second ? part(4, g.filters()) : 0)),
              bias(weights + part(2, g.weights_over_time())),
              y_first(bias + part(4, g.units)),
              y_second(y_first + part(4, g.units)),
              scales(y_second + (policy::has_second ? part(4, g.units) : 0)),
              time(scales + part(4, g.filters())),
              float_bias(time + part(4, g.weights_over_time())),
              state_scale(float_bias + part(4, g.units)),
              bytes(state_scale + part(4, 1)) {}
    };
    static constexpr int parameter_bytes(const node_view& v) { return static_cast<int>(block(svdf_geometry(v)).bytes); }
    /// The sums of some steps, and behind them what the product of as many rows needs, or of fewer.
    static constexpr int scratch_bytes(const node_view& v) {
        const svdf_geometry g(v);
        std::size_t most = 0;
        for (int rows = 1; rows <= g.together(); ++rows) most = std::max(most, block(g).product.scratch_bytes(rows));
        return static_cast<int>(part(4, g.together() * g.filters()) + most);
    }

    static refusal pack(const preparation& p, const node_parameters& from) {
        const svdf_geometry g(p.at);
        const block at(g);
        const quantized_weights& feature = from.matrices[0];
        const std::vector<float>&time = from.vectors[0], &bias = from.vectors[1];
        const float x = p.x_qparams().scale, y = p.y_qparams().scale,
                    state = g.has_state_scale ? from.vectors[2][0] : bound_of_state(g, p, feature);
        if (!(state > 0 && std::isfinite(state)))
            return {
                "state_scale must be finite and above 0: take the largest magnitude of what the filters give, over "
                "32767"};
        at.product.pack(reinterpret_cast<const std::int8_t*>(feature.codes.data()), codes_of(p), p.block);
        for (int f = 0; f != g.filters(); ++f) {
            const channel_scales scales{x, feature.scales[static_cast<std::size_t>(f)], state};
            if (!put_multiplier(scales, p.block, at.state_first, at.state_second, f)) return too_far_apart(x, state);
        }
        auto* codes = reinterpret_cast<std::int16_t*>(p.block + at.weights);
        auto* integer_bias = reinterpret_cast<std::int32_t*>(p.block + at.bias);
        constexpr float smallest = 0x1p-100f;
        const double largest = kernel::largest_svdf_weight(g);
        for (int u = 0; u != g.units; ++u) {
            const auto for_each = [&](auto visit) {
                for (int step = 0; step != g.memory; ++step)
                    for (int f = u * g.rank; f != (u + 1) * g.rank; ++f)
                        visit(static_cast<std::size_t>(step * g.filters() + f));
            };
            double most = 0;
            for_each([&](std::size_t i) { most = std::max(most, std::abs(double{time[i]})); });
            const float own_bias = bias[static_cast<std::size_t>(u)],
                        wanted = most == 0 ? 1.0f : static_cast<float>(most / largest);
            if (!(std::abs(own_bias) < double{std::numeric_limits<float>::max()} * state))
                return too_far_apart(own_bias, state);
            const float scale = fit_weight_scale_to_bias(own_bias, state, std::max(wanted, smallest)).weight_scale;
            for_each([&](std::size_t i) {
                const double code = double{time[i]} / double{scale};
                codes[i] = static_cast<std::int16_t>(round_half_even(std::clamp(code, -largest, largest)));
            });
            integer_bias[u] = quantize_bias(own_bias, state, scale);
            if (!put_multiplier({state, scale, y}, p.block, at.y_first, at.y_second, u)) return too_far_apart(state, y);
        }
        put(p.block + at.scales, feature.scales);
        put(p.block + at.time, time);
        put(p.block + at.float_bias, bias);
        std::memcpy(p.block + at.state_scale, &state, sizeof state);
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const svdf_geometry g(p.at);
        const block at(g);
        const auto floats = [&](std::size_t begin, int count) {
            const auto* values = reinterpret_cast<const float*>(p.block + begin);
            return std::vector<float>(values, values + count);
        };
        node_parameters to;
        quantized_weights& feature = to.matrices.emplace_back();
        feature.codes.resize(static_cast<std::size_t>(g.weights_over_features()));
        at.product.unpack(p.block, codes_of(p), reinterpret_cast<std::int8_t*>(feature.codes.data()));
        feature.scales = floats(at.scales, g.filters());
        to.vectors = {floats(at.time, g.weights_over_time()), floats(at.float_bias, g.units)};
        if (g.has_state_scale) to.vectors.push_back(floats(at.state_scale, 1));
        return to;
    }

    static void run(const node& n, const context& c) noexcept {
        const svdf_geometry g(c.view(n));
        const block at(g);
        const value_type& in = c.nodes[n.inputs[0]].out;
        const kernel::activation_codes codes{c.range_in(n).zero_point, in.quant_min, in.quant_max};
        const auto* parameters = c.block<std::byte>(n);
        const auto multipliers = [&](std::size_t first, std::size_t second, const kernel::output_codes& to) {
            return policy::epilogue(reinterpret_cast<const first_type*>(parameters + first),
                                    reinterpret_cast<const second_type*>(parameters + second), to);
        };
        const auto remember = multipliers(at.state_first, at.state_second, kernel::svdf_state_codes);
        const auto recall = multipliers(at.y_first, at.y_second, clamped_codes(n, c.range(n)));
        auto* sums = c.scratch<std::int32_t>(n);
        std::byte* scratch = c.scratch<std::byte>(n) + part(4, g.together() * g.filters());
        g.run<std::int16_t>(
            c.begin_state(n), c.in<Code>(n), c.out<Code>(n),
            [&](const Code* x, int rows) { at.product.run(x, rows, codes, parameters, sums, scratch); },
            [&](int row, std::int16_t* ring, int newest, Code* y) {
                std::int32_t* own = sums + row * g.filters();
                kernel::svdf_remember<Arch>(own, g.filters(), remember, ring + newest * g.filters());
                kernel::svdf_recall<Arch>(g, ring, g.next(newest),
                                          reinterpret_cast<const std::int16_t*>(parameters + at.weights),
                                          reinterpret_cast<const std::int32_t*>(parameters + at.bias), recall, own, y);
            });
    }

private:
    static constexpr std::size_t part(int size, int count) {
        return align_up(static_cast<std::size_t>(size) * static_cast<std::size_t>(count));
    }
    static kernel::activation_codes codes_of(const preparation& p) {
        return {p.x_qparams().zero_point, p.x_type().quant_min, p.x_type().quant_max};
    }
    /// The scale with which no input can leave 16 bits: that of the largest sum of products of codes.
    static float bound_of_state(const svdf_geometry& g, const preparation& p, const quantized_weights& feature) {
        const kernel::activation_codes x = codes_of(p);
        const auto* code = reinterpret_cast<const std::int8_t*>(feature.codes.data());
        double largest = 0;
        for (int f = 0; f != g.filters(); ++f) {
            std::int64_t lowest_sum = 0, highest_sum = 0;
            for (int i = 0; i != g.inputs; ++i, ++code) {
                const std::int64_t a = std::int64_t{*code} * (x.min - x.zero_point),
                                   b = std::int64_t{*code} * (x.max - x.zero_point);
                lowest_sum += std::min(a, b);
                highest_sum += std::max(a, b);
            }
            const double scale = double{p.x_qparams().scale} * double{feature.scales[static_cast<std::size_t>(f)]};
            largest = std::max(largest, scale * static_cast<double>(std::max(-lowest_sum, highest_sum)));
        }
        return largest == 0 ? 1.0f : std::max(static_cast<float>(largest / 32767), 0x1p-100f);
    }
    /// False where the ratio of scales is none that a policy has.
    static bool put_multiplier(const channel_scales& s, std::byte* to, std::size_t first_begin,
                               std::size_t second_begin, int c) {
        if (!(double{s.input} * double{s.weight} < 2147483648.0 * double{s.output})) return false;
        first_type first{};
        second_type second{};
        policy::prepare(s, 0.0f, first, second);
        std::memcpy(to + first_begin + 4 * c, &first, 4);
        if constexpr (policy::has_second) std::memcpy(to + second_begin + 4 * c, &second, 4);
        return true;
    }
    static refusal too_far_apart(double found, double beside) {
        return {"scales of inputs, state and outputs and biases that are less than 2^31 steps of each other", found,
                beside, "calibrate the output's range on its own values"};
    }
    static void put(std::byte* to, const std::vector<float>& values) {
        std::memcpy(to, values.data(), sizeof(float) * values.size());
    }
};

}  // namespace operators

template <> struct forms_of<op::svdf> {
    static constexpr bool is_keyed = true;
    static constexpr scalar_type key(const node_view& v) { return computing_storage(v); }
    template <scalar_type Storage, class Arch, class Policies>
    using form =
        std::conditional_t<Storage == scalar_type::float32, operators::float_svdf<Arch>,
                           operators::integer_svdf<storage_of<Storage>, Arch, typename Policies::requantization>>;
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

}  // namespace v0
}  // namespace zp
