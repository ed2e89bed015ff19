// SPDX-License-Identifier: BSD-3-Clause
// A residual block that runs forward and backward over some inputs at a time, with the rounding of its activations in between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <zeropoint/analysis/simulated.hpp>
#include <zeropoint/kernel/gradient/clamp_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/methods/layer_samples.hpp>
#include <zeropoint/methods/residual_blocks.hpp>

namespace zp::inline v0 {

/// The grid on which values of a row lie in the quantized network.
struct value_rounding {
    bool is_there = false;
    value_type type{};
    qparams range{};
};

/// One block. Rounding has the gradient of the identity within its codes, 0 beyond them (Bengio 2013), and the last row is not rounded:
/// it is what is compared.
template <class Arch = default_architecture> class block_gradients {
public:
    /// `nodes` are loose ones, `rounding` is by row.
    block_gradients(std::span<const node> nodes, const residual_block& block, std::span<const value_rounding> rounding,
                    std::size_t batch)
        : batch_(batch) {
        const auto place_of = [&](int number) {
            const auto at = std::find(block.rows.begin(), block.rows.end(), number);
            return at == block.rows.end() ? from_entry : static_cast<int>(at - block.rows.begin());
        };
        std::size_t scratch = 0;
        for (const int number : block.rows) {
            const node_view v{nodes.data(), nodes[static_cast<std::size_t>(number)]};
            row made{v.n, {from_entry, from_entry}, {}, {}, static_cast<std::size_t>(v.y_shape().size())};
            for (int k = 0; k != v.n.input_count && k != 2; ++k) made.inputs[k] = place_of(v.n.inputs[k]);
            if (number != block.rows.back()) made.rounding = rounding[static_cast<std::size_t>(number)];
            if (detail::has_filters(v.n)) {
                made.geometry = v.n.op->geometry(v);
                scratch = std::max({scratch, kernel::conv2d_batch_scratch<Arch>(made.geometry),
                                    kernel::conv2d_weight_gradient_scratch<Arch>(made.geometry),
                                    kernel::conv2d_input_gradient_scratch<Arch>(made.geometry)});
            }
            made.values.resize(batch * made.size);
            if (made.rounding.is_there) made.rounded.resize(batch * made.size);
            made.gradient.resize(batch * made.size);
            rows_.push_back(std::move(made));
        }
        entry_size_ = static_cast<std::size_t>(nodes[static_cast<std::size_t>(block.entry)].out.extents.size());
        scratch_.resize(scratch);
        std::size_t largest = entry_size_;
        for (const row& one : rows_) largest = std::max(largest, one.size);
        codes_.resize(2 * batch * largest);
        passed_.resize(batch * largest);
    }

    std::size_t entry_size() const { return entry_size_; }
    std::size_t exit_size() const { return rows_.back().size; }
    std::size_t batch() const { return batch_; }
    /// The filters of row `place` of the block: weights to compute with, biases, and what backward() adds up.
    void set_filters(std::size_t place, std::span<const float> weights, std::span<const float> bias) {
        rows_[place].weights.assign(weights.begin(), weights.end());
        rows_[place].bias.assign(bias.begin(), bias.end());
    }
    std::span<float> weights(std::size_t place) { return rows_[place].weights; }
    std::span<float> weight_gradient(std::size_t place) { return rows_[place].weight_gradient; }

    /// The mean over outputs of the sum over channels of squared differences from `targets`. `entries` are `count` inputs, at most a batch.
    double loss(std::span<const float* const> entries, std::span<const float* const> targets) {
        go_forward(entries);
        const row& last = rows_.back();
        double sum = 0;
        for (std::size_t i = 0; i != entries.size(); ++i)
            for (std::size_t k = 0; k != last.size; ++k) {
                const float error = last.values[i * last.size + k] - targets[i][k];
                sum += double{error} * double{error};
            }
        return sum / outputs_of(entries.size());
    }
    /// The gradients of that loss by all filters.
    void differentiate(std::span<const float* const> entries, std::span<const float* const> targets) {
        go_forward(entries);
        for (row& one : rows_) {
            std::fill(one.gradient.begin(), one.gradient.end(), 0.0f);
            one.weight_gradient.assign(one.weights.size(), 0.0f);
        }
        row& last = rows_.back();
        const auto half = static_cast<float>(outputs_of(entries.size()) / 2);
        for (std::size_t i = 0; i != entries.size(); ++i)
            kernel::for_each_number<Arch>(
                last.size, [
                    half, target = targets[i], values = last.values.data() + i * last.size,
                    gradient = last.gradient.data() + i * last.size
                ](std::size_t k, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    const Number error =
                        kernel::load_number<Number>(values + k) - kernel::load_number<Number>(target + k);
                    kernel::store_number(Number(kernel::divide_numbers(error, Number(half))), gradient + k);
                });
        for (std::size_t r = rows_.size(); r-- != 0;) go_back(rows_[r], entries.size());
    }

private:
    static constexpr int from_entry = -1;
    struct row {
        const node& n;
        int inputs[2];
        value_rounding rounding;
        kernel::conv2d_geometry geometry;
        std::size_t size = 0;
        std::vector<float> weights{}, bias{}, weight_gradient{};
        std::vector<float> values{};    // before rounding
        std::vector<float> rounded{};   // where they are
        std::vector<float> gradient{};  // by what readers get

        double channels() const { return n.out.extents.channels; }
    };

    const float* given(int place) const {
        if (place == from_entry) return entry_.data();
        const row& one = rows_[static_cast<std::size_t>(place)];
        return one.rounding.is_there ? one.rounded.data() : one.values.data();
    }
    std::size_t size_of_input(int place) const {
        return place == from_entry ? entry_size_ : rows_[static_cast<std::size_t>(place)].size;
    }
    static layer_output function_of(const row& one) {
        layer_output f{one.n.fused.lowest, one.n.fused.highest};
        if (one.n.op->function != nullptr) {
            f.function = one.n.rules->value;
            f.parameter = one.n.parameter;
        }
        return f;
    }

    double outputs_of(std::size_t count) const {
        return static_cast<double>(count * rows_.back().size) / rows_.back().channels();
    }
    void go_forward(std::span<const float* const> entries) {
        entry_.resize(entries.size() * entry_size_);
        for (std::size_t i = 0; i != entries.size(); ++i)
            std::copy_n(entries[i], entry_size_, entry_.data() + i * entry_size_);
        for (row& one : rows_) forward(one, entries.size());
    }
    void forward(row& one, std::size_t count) {
        const std::size_t values = count * one.size;
        const float* x = given(one.inputs[0]);
        if (detail::has_filters(one.n)) {
            kernel::conv2d_batch<Arch>(one.geometry, static_cast<int>(count),
                                       {x, static_cast<std::ptrdiff_t>(size_of_input(one.inputs[0]))},
                                       one.weights.data(), one.bias.data(), one.n.fused.lowest, one.n.fused.highest,
                                       {one.values.data(), static_cast<std::ptrdiff_t>(one.size)}, scratch_.data());
        } else if (detail::is_sum(one.n)) {
            kernel::for_each_number<Arch>(
                values, [
                    x, other = given(one.inputs[1]), lowest = one.n.fused.lowest, highest = one.n.fused.highest,
                    y = one.values.data()
                ](std::size_t i, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    const Number low(lowest), high(highest),
                        sum = kernel::load_number<Number>(x + i) + kernel::load_number<Number>(other + i);
                    const Number risen = kernel::choose_number(sum < low, low, sum);
                    kernel::store_number(Number(kernel::choose_number(risen > high, high, risen)), y + i);
                });
        } else {
            const layer_output f = function_of(one);
            for (std::size_t i = 0; i != values; ++i) one.values[i] = f.value(x[i]);
        }
        if (one.rounding.is_there) {
            const auto& [is_there, type, range] = one.rounding;
            detail::floats_to_values<Arch>(type, range, one.values.data(), values, codes_.data());
            detail::values_to_floats<Arch>(type, range, codes_.data(), values, one.rounded.data());
        }
    }
    void add_to(int place, const float* gradient, std::size_t values) {
        if (place == from_entry) return;
        kernel::add_gradient<Arch>(gradient, values, rows_[static_cast<std::size_t>(place)].gradient.data());
    }
    void go_back(row& one, std::size_t count) {
        const std::size_t values = count * one.size;
        if (one.rounding.is_there) {
            const qparams& range = one.rounding.range;
            const float low = range.scale * (static_cast<float>(one.rounding.type.quant_min - range.zero_point) - 0.5f),
                        high =
                            range.scale * (static_cast<float>(one.rounding.type.quant_max - range.zero_point) + 0.5f);
            kernel::clamp_gradient<Arch, kernel::clamp_edges::closed>(one.values.data(), one.gradient.data(), values,
                                                                      low, high, one.gradient.data());
        }
        const epilogue& bounds = one.n.fused;
        if ((detail::has_filters(one.n) || detail::is_sum(one.n)) &&
            (bounds.lowest != -infinity || bounds.highest != infinity))
            kernel::clamp_gradient<Arch>(one.values.data(), one.gradient.data(), values, bounds.lowest, bounds.highest,
                                         one.gradient.data());
        if (detail::is_sum(one.n)) {
            for (const int input : one.inputs) add_to(input, one.gradient.data(), values);
        } else if (!detail::has_filters(one.n)) {
            const layer_output f = function_of(one);
            const float* x = given(one.inputs[0]);
            for (std::size_t i = 0; i != values; ++i) passed_[i] = one.gradient[i] * f.slope(x[i]);
            add_to(one.inputs[0], passed_.data(), values);
        } else {
            const auto in = static_cast<std::ptrdiff_t>(size_of_input(one.inputs[0])),
                       out = static_cast<std::ptrdiff_t>(one.size);
            const kernel::const_float_batch dy{one.gradient.data(), out};
            kernel::conv2d_weight_gradient<Arch>(one.geometry, static_cast<int>(count), {given(one.inputs[0]), in}, dy,
                                                 one.weight_gradient.data(), scratch_.data());
            if (one.inputs[0] == from_entry) return;
            kernel::conv2d_input_gradient<Arch>(one.geometry, static_cast<int>(count), dy, one.weights.data(),
                                                {passed_.data(), in}, scratch_.data());
            add_to(one.inputs[0], passed_.data(), count * static_cast<std::size_t>(in));
        }
    }

    std::size_t batch_, entry_size_ = 0;
    std::vector<row> rows_;
    std::vector<float> entry_, passed_, scratch_;
    std::vector<std::byte> codes_;
};

}  // namespace zp::inline v0
