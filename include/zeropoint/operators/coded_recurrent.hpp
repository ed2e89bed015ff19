// SPDX-License-Identifier: BSD-3-Clause
// Recurrent nodes over floats with matrices of integers: dynamic ones, whose inputs and states are quantized step by step, and
// those of weights alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/dynamic/weight_only_product.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>

namespace zp::inline v0 {

/// A matrix under a dynamic_policy: a range for each row of activations, whatever the policy says, because a step is a row.
/// `Small` has extents that code is generated for; rows = 0 elsewhere.
template <class Policy, class Arch, kernel::linear_extents Small> struct dynamic_matrix {
    using weight = typename Policy::weight;
    using weight_storage = typename Policy::weight_storage;
    static constexpr kernel::code_limits limits = Policy::limits;
    static constexpr bool is_small = Small.rows != 0 && !Policy::has_affine_weights;
    static constexpr bool words =
        Policy::has_affine_weights ||
        (is_small && Small.prefer_words() &&
         !kernel::always_byte_quads<Arch>({0, limits.min, limits.max}, weight::quant_min, weight::quant_max));
    kernel::dynamic_linear_layout<Arch> layout;

    constexpr dynamic_matrix(int depth, int channels) : layout(depth, channels, words) {}
    constexpr std::size_t bytes() const {
        return layout.bytes + (Policy::has_affine_weights ? align_up(4 * channels()) : 0);
    }
    constexpr std::size_t scratch_bytes(int rows) const {
        return kernel::dynamic_linear_scratch<Arch>(layout.geometry(rows), rows).bytes;
    }
    void write(const quantized_weights& weights, const std::vector<float>& bias, std::byte* block) const {
        std::vector<std::int32_t> zero_points = weights.zero_points;
        if (words) zero_points.resize(channels());
        const kernel::conv2d_weights<weight_storage> source{
            reinterpret_cast<const weight_storage*>(weights.codes.data()), words ? zero_points.data() : nullptr,
            nullptr};
        kernel::pack_dynamic_linear<Arch>(layout, source, weights.scales.data(), bias.data(), limits, block);
        if (Policy::has_affine_weights) std::memcpy(block + layout.bytes, zero_points.data(), 4 * channels());
    }
    quantized_weights read(const std::byte* block, std::vector<float>& bias) const {
        quantized_weights weights;
        weights.codes.resize(channels() * static_cast<std::size_t>(layout.depth));
        weights.scales.resize(channels());
        std::memcpy(weights.scales.data(), block + layout.scales, 4 * channels());
        std::memcpy(bias.data(), block + layout.bias, 4 * channels());
        std::vector<std::int32_t> zero_points(channels()), sums(channels());
        if (Policy::has_affine_weights) {
            std::memcpy(zero_points.data(), block + layout.bytes, 4 * channels());
            weights.zero_points = zero_points;
        }
        kernel::unpack_panels<Arch>(layout.geometry(1), words ? zero_points.data() : nullptr,
                                    kernel::activation_codes{0, limits.min, limits.max}, block,
                                    reinterpret_cast<weight_storage*>(weights.codes.data()), sums.data());
        return weights;
    }
    void run(const float* x, int rows, const std::byte* block, float* y, std::byte* scratch) const noexcept {
        using input = typename Policy::input_storage;
        constexpr typename Policy::choose_range choose{};
        if constexpr (is_small)
            kernel::small_dynamic_linear<Arch, input, Small.depth, Small.channels, words>(x, limits, choose, block, y,
                                                                                          scratch);
        else kernel::dynamic_linear<Arch, input, true>(layout, x, rows, limits, choose, block, y, scratch);
    }

private:
    constexpr std::size_t channels() const { return static_cast<std::size_t>(layout.channels); }
};

/// A matrix under a weight_only_policy.
template <class Policy, class Arch> struct weight_only_matrix {
    kernel::weight_only_layout layout;

    constexpr weight_only_matrix(int depth, int channels)
        : layout(depth, channels, Policy::bits, Policy::group_size == 0 ? depth : Policy::group_size) {}
    constexpr std::size_t bytes() const { return layout.bytes; }
    constexpr std::size_t scratch_bytes(int) const { return 0; }
    void write(const quantized_weights& weights, const std::vector<float>& bias, std::byte* block) const {
        kernel::pack_weight_only(layout, reinterpret_cast<const std::int8_t*>(weights.codes.data()),
                                 weights.scales.data(), bias.data(), block);
    }
    quantized_weights read(const std::byte* block, std::vector<float>& bias) const {
        quantized_weights weights;
        weights.codes.resize(static_cast<std::size_t>(layout.channels) * static_cast<std::size_t>(layout.depth));
        weights.scales.resize(static_cast<std::size_t>(layout.channels) * static_cast<std::size_t>(layout.groups));
        kernel::unpack_weight_only(layout, block, reinterpret_cast<std::int8_t*>(weights.codes.data()),
                                   weights.scales.data(), bias.data());
        return weights;
    }
    void run(const float* x, int rows, const std::byte* block, float* y, std::byte*) const noexcept {
        kernel::weight_only_product<Arch, Policy::bits>(layout, x, rows, block, y);
    }
};

/// The matrices of one layer and direction, one behind the other.
template <recurrent_key Key, class Arch, class Policies> struct coded_recurrent_layout {
    template <kernel::linear_extents Small>
    using matrix = std::conditional_t<Key.is_weight_only, weight_only_matrix<typename Policies::weight_only, Arch>,
                                      dynamic_matrix<typename Policies::dynamic, Arch, Small>>;
    matrix<Key.input> from_input;
    matrix<Key.state> from_state;
    matrix<Key.projection> projection;
    std::size_t state, projected, bytes;

    constexpr coded_recurrent_layout(const recurrent_geometry& g, int layer)
        : from_input(g.inputs_of(layer), g.sums()),
          from_state(g.outputs(), g.sums()),
          projection(g.hidden, g.outputs()),
          state(from_input.bytes()),
          projected(state + from_state.bytes()),
          bytes(projected + (g.options.projection != 0 ? projection.bytes() : 0)) {}
};

/// Steps over a packed block, for run_recurrent().
template <recurrent_key Key, class Layout, class Arch> class coded_recurrent_cells : public recurrent_states<Arch> {
    using base = recurrent_states<Arch>;

public:
    coded_recurrent_cells(const recurrent_geometry& g, const std::byte* block, std::byte* states,
                          std::byte* memory) noexcept
        : base(g, states, reinterpret_cast<float*>(memory)), next_(block), product_(memory + float_bytes(g)) {}

    void begin(int layer, int direction) noexcept {
        at_.begin(base::g_, layer);
        block_ = next_;
        next_ += at_->bytes;
        base::begin_state(layer, direction);
    }
    void from_input(const float* x, int rows) const noexcept {
        at_->from_input.run(x, rows, block_, base::from_input(), product_);
    }
    void step(int row) const noexcept {
        at_->from_state.run(base::state(), 1, block_ + at_->state, base::from_state(), product_);
        base::finish_step(row);
        if (base::is_projected())
            at_->projection.run(base::unprojected(), 1, block_ + at_->projected, base::state(), product_);
    }
    static constexpr std::size_t float_bytes(const recurrent_geometry& g) {
        return sizeof(float) * static_cast<std::size_t>(recurrent_floats(g).size);
    }

private:
    const std::byte *next_, *block_ = nullptr;  // begun in the order in which they lie
    std::byte* product_;
    layout_of_layer<Key, Layout> at_{base::g_};
};

template <recurrent_key Key, class Arch, class Policies> struct coded_recurrent_form {
    using layout = coded_recurrent_layout<Key, Arch, Policies>;
    using cells = coded_recurrent_cells<Key, layout, Arch>;

    static constexpr int parameter_bytes(const node_view& v) {
        return static_cast<int>(bytes_of_layers<layout>(recurrent_geometry(v)));
    }
    /// Of calls of fewer steps too, which can need more: they are one band and not two.
    static constexpr int scratch_bytes(const node_view& v) {
        const recurrent_geometry g(v);
        const layout first(g, 0), next(g, 1);
        std::size_t most = std::max(first.from_state.scratch_bytes(1), next.projection.scratch_bytes(1));
        for (int rows = 1; rows <= steps_together(g); ++rows) {
            most = std::max(most, first.from_input.scratch_bytes(rows));
            if (g.options.layers > 1) most = std::max(most, next.from_input.scratch_bytes(rows));
        }
        return static_cast<int>(cells::float_bytes(g) + most);
    }
    static constexpr int most_scratch_bytes(const node_view& v) { return scratch_bytes(v); }
    static refusal pack(const preparation& p, const node_parameters& from) {
        const quantized_weights* matrix = from.matrices.data();
        const std::vector<float>* vector = from.vectors.data();
        for_each_matrix(p, [&](const auto& at, std::byte* block, bool has_bias) {
            const std::vector<float> zeros(static_cast<std::size_t>(at.layout.channels));
            at.write(*matrix++, has_bias ? *vector++ : zeros, block);
        });
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        node_parameters all;
        for_each_matrix(p, [&](const auto& at, const std::byte* block, bool has_bias) {
            std::vector<float> bias(static_cast<std::size_t>(at.layout.channels));
            all.matrices.push_back(at.read(block, bias));
            if (has_bias) all.vectors.push_back(bias);
        });
        return all;
    }
    static void run(const node& n, const context& c) noexcept {
        with_geometry<Key>(
            c.view(n), [&](const recurrent_geometry& g) __attribute__((always_inline)) {
                cells steps(g, c.block<std::byte>(n), c.begin_state(n), c.scratch<std::byte>(n));
                run_recurrent<Key>(g, steps, c.in<float>(n), c.out<float>(n), steps.between());
            });
    }

private:
    /// visit(matrix, its block, whether it has a bias), in the order of parameters_of_recurrent().
    template <class Visit> static void for_each_matrix(const preparation& p, Visit visit) {
        const recurrent_geometry g(p.at);
        std::byte* block = p.block;
        for (int layer = 0; layer != g.options.layers; ++layer)
            for (int direction = 0; direction != g.directions(); ++direction) {
                const layout at(g, layer);
                visit(at.from_input, block, g.options.bias);
                visit(at.from_state, block + at.state, g.options.bias);
                if (g.options.projection != 0) visit(at.projection, block + at.projected, false);
                block += at.bytes;
            }
    }
};
}  // namespace zp::inline v0
