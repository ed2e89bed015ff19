// LSTM, GRU and RNN of a dynamically quantized model: int8 matrices, and inputs and states that are quantized step by step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <zeropoint/kernel/dynamic_linear.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>

namespace zp {
inline namespace v0 {

/// Products under one dynamic_policy: a range for each row of activations, whatever the policy says, because a step is a row.
template <class Policy, class Arch> struct dynamic_matrix {
    static constexpr bool is_affine = Policy::has_affine_weights;
    using weight_storage = typename Policy::weight_storage;
    kernel::dynamic_linear_layout<Arch> layout;

    constexpr dynamic_matrix(int depth, int channels) : layout(depth, channels, is_affine) {}
    constexpr std::size_t bytes() const { return layout.bytes + (is_affine ? align_up(4 * channels()) : 0); }
    constexpr std::size_t scratch_bytes(int rows) const {
        return kernel::dynamic_linear_scratch<Arch>(layout.geometry(rows), rows).bytes;
    }
    void write(const quantized_weights& weights, const std::vector<float>& bias, std::byte* block) const {
        const kernel::conv2d_weights<weight_storage> source{
            reinterpret_cast<const weight_storage*>(weights.codes.data()),
            is_affine ? weights.zero_points.data() : nullptr, nullptr};
        const std::vector<float> zeros(channels());
        kernel::pack_dynamic_linear<Arch>(layout, source, weights.scales.data(),
                                          bias.empty() ? zeros.data() : bias.data(), Policy::limits, block);
        if constexpr (is_affine) std::memcpy(block + layout.bytes, weights.zero_points.data(), 4 * channels());
    }
    quantized_weights read(const std::byte* block, std::vector<float>& bias) const {
        quantized_weights weights;
        weights.codes.resize(channels() * static_cast<std::size_t>(layout.depth));
        weights.scales.resize(channels());
        bias.resize(channels());
        std::memcpy(weights.scales.data(), block + layout.scales, 4 * channels());
        std::memcpy(bias.data(), block + layout.bias, 4 * channels());
        if constexpr (is_affine) {
            weights.zero_points.resize(channels());
            std::memcpy(weights.zero_points.data(), block + layout.bytes, 4 * channels());
        }
        std::vector<std::int32_t> sums(channels());
        kernel::unpack_panels<Arch>(layout.geometry(1), is_affine ? weights.zero_points.data() : nullptr,
                                    kernel::activation_codes{0, Policy::limits.min, Policy::limits.max}, block,
                                    reinterpret_cast<weight_storage*>(weights.codes.data()), sums.data());
        return weights;
    }
    void run(const float* x, int rows, const std::byte* block, float* y, std::byte* scratch) const noexcept {
        kernel::dynamic_linear<Arch, typename Policy::input_storage, true>(
            layout, x, rows, Policy::limits, typename Policy::choose_range{}, block, y, scratch);
    }

private:
    constexpr std::size_t channels() const { return static_cast<std::size_t>(layout.channels); }
};

/// The matrices of one layer and direction, one behind the other.
template <class Policy, class Arch> struct dynamic_recurrent_layout {
    using matrix = dynamic_matrix<Policy, Arch>;
    matrix from_input, from_state, projection;
    std::size_t state, projected, bytes;

    constexpr dynamic_recurrent_layout(const recurrent_geometry& g, int layer)
        : from_input(g.inputs_of(layer), g.sums()),
          from_state(g.outputs(), g.sums()),
          projection(g.hidden, g.outputs()),
          state(from_input.bytes()),
          projected(state + from_state.bytes()),
          bytes(projected + (g.options.projection != 0 ? projection.bytes() : 0)) {}
};

/// Dynamic steps over a packed block, for run_recurrent().
template <class Policy, class Arch> class dynamic_recurrent_cells : public recurrent_states<Arch> {
    using base = recurrent_states<Arch>;
    using layout = dynamic_recurrent_layout<Policy, Arch>;

public:
    static constexpr std::size_t parameter_bytes(const recurrent_geometry& g) {
        std::size_t bytes = 0;
        for (int layer = 0; layer != g.options.layers; ++layer)
            bytes += static_cast<std::size_t>(g.directions()) * layout(g, layer).bytes;
        return bytes;
    }
    static constexpr std::size_t scratch_bytes(const recurrent_geometry& g) {
        std::size_t most = layout(g, 0).from_state.scratch_bytes(1);
        if (g.options.projection != 0) most = std::max(most, layout(g, 0).projection.scratch_bytes(1));
        for (int layer = 0; layer != std::min(g.options.layers, 2); ++layer)
            for (const int rows : {1, steps_together(g), g.steps % most_steps_together})
                if (rows != 0) most = std::max(most, layout(g, layer).from_input.scratch_bytes(rows));
        return float_bytes(g) + most;
    }
    static void write(const recurrent_geometry& g, const node_parameters& from, std::byte* block) {
        std::size_t matrix = 0, vector = 0;
        const std::vector<float> none;
        for (int layer = 0; layer != g.options.layers; ++layer)
            for (int direction = 0; direction != g.directions(); ++direction) {
                const layout at(g, layer);
                const bool bias = g.options.bias;
                at.from_input.write(from.matrices[matrix++], bias ? from.vectors[vector++] : none, block);
                at.from_state.write(from.matrices[matrix++], bias ? from.vectors[vector++] : none, block + at.state);
                if (g.options.projection != 0) at.projection.write(from.matrices[matrix++], none, block + at.projected);
                block += at.bytes;
            }
    }
    static node_parameters read(const recurrent_geometry& g, const std::byte* block) {
        node_parameters all;
        std::vector<float> bias;
        for (int layer = 0; layer != g.options.layers; ++layer)
            for (int direction = 0; direction != g.directions(); ++direction) {
                const layout at(g, layer);
                all.matrices.push_back(at.from_input.read(block, bias));
                if (g.options.bias) all.vectors.push_back(bias);
                all.matrices.push_back(at.from_state.read(block + at.state, bias));
                if (g.options.bias) all.vectors.push_back(bias);
                if (g.options.projection != 0) all.matrices.push_back(at.projection.read(block + at.projected, bias));
                block += at.bytes;
            }
        return all;
    }

    dynamic_recurrent_cells(const recurrent_geometry& g, const std::byte* block, std::byte* states,
                            std::byte* memory) noexcept
        : base(g, states, reinterpret_cast<float*>(memory)), next_(block), product_(memory + float_bytes(g)) {}

    void begin(int layer, int direction) noexcept {
        at_ = layout(base::g_, layer);
        block_ = next_;
        next_ += at_.bytes;
        base::begin_state(layer, direction);
    }
    void from_input(const float* x, int rows) const noexcept {
        at_.from_input.run(x, rows, block_, base::from_input(), product_);
    }
    void step(int row) const noexcept {
        at_.from_state.run(base::state(), 1, block_ + at_.state, base::from_state(), product_);
        base::finish_step(row);
        if (base::is_projected())
            at_.projection.run(base::unprojected(), 1, block_ + at_.projected, base::state(), product_);
    }

private:
    static constexpr std::size_t float_bytes(const recurrent_geometry& g) {
        return sizeof(float) * static_cast<std::size_t>(recurrent_floats(g).size);
    }

    const std::byte *next_, *block_ = nullptr;  // begun in the order in which they lie
    std::byte* product_;
    layout at_{base::g_, 0};
};

/// The form of a recurrent node with int8 matrices over floats.
template <class Policy, class Arch> struct dynamic_recurrent_form {
    using cells = dynamic_recurrent_cells<Policy, Arch>;

    static constexpr int parameter_bytes(const node_view& v) {
        return static_cast<int>(cells::parameter_bytes(recurrent_geometry(v)));
    }
    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(cells::scratch_bytes(recurrent_geometry(v)));
    }
    static refusal pack(const preparation& p, const node_parameters& from) {
        cells::write(recurrent_geometry(p.at), from, p.block);
        return {};
    }
    static node_parameters unpack(const preparation& p) { return cells::read(recurrent_geometry(p.at), p.block); }
    static void run(const node& n, const context& c) noexcept {
        const recurrent_geometry g(c.view(n));
        cells steps(g, c.block<std::byte>(n), c.begin_state(n), c.scratch<std::byte>(n));
        run_recurrent(g, steps, c.in<float>(n), c.out<float>(n), steps.between());
    }
};
/// Dynamic nodes have that form, others the one that their operator brings.
struct recurrent_forms {
    static constexpr bool is_keyed = true;
    static constexpr bool keyed(const node_view& v) { return v.n.is_dynamic(); }
    static constexpr int key(const node_view&) { return 0; }
    template <int, class Arch, class Policies> using form = dynamic_recurrent_form<typename Policies::dynamic, Arch>;
};
template <> struct forms_of<op::lstm> : recurrent_forms {};
template <> struct forms_of<op::gru> : recurrent_forms {};
template <> struct forms_of<op::rnn> : recurrent_forms {};

}  // namespace v0
}  // namespace zp
