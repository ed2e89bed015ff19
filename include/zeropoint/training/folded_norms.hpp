// SPDX-License-Identifier: BSD-3-Clause
// Batch norms that are folded into the filters in front of them, and trained all the same: values unfolded, folded at each step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/training/optimizers.hpp>
#include <zeropoint/training/trained_part.hpp>
#include <zeropoint/workflow/fuse.hpp>

// With r = 1 / sqrt(running variance + epsilon) and f = gamma * r a folded filter is w' = w * f and its bias b' = (b - mean) * r * gamma +
// beta. Where statistics are those of the batch, what runs is conv(x, quantized(w * f) / f) and then the norm: PyTorch's ConvBn, whose
// output is divided by f behind the convolution. Codes from -n to n with a scale a channel are those of w itself, up to ties, because
// rounding commutes with a factor a channel (docs/training_parity.md). A factor of 0 has codes 0, and is divided by nobody.

namespace zp::inline v0 {

/// A batch norm behind filters. Places are in floats, among the values that are trained: those of the fused network's parameters, and
/// behind them the four arrays of each norm.
struct folded_norm {
    int row = 0;       // of the fused network: the filters
    std::string name;  // of the batch norm
    std::size_t channels = 0, depth = 0, weights = 0, bias = 0;
    std::size_t arrays = 0;  // gamma, beta, running mean, running variance
    float epsilon = 0;
    bool is_affine = true, has_bias = false;  // of the norm; whether the filters had one beside it
};

class folded_norms {
public:
    folded_norms() = default;
    /// Of a network as written and its fused rows. `values` becomes the parameters of those, unfolded, and the norms' arrays.
    folded_norms(std::span<const node> written, const std::byte* source, std::span<const node> fused,
                 std::size_t parameter_bytes, std::vector<float>& values) {
        values.assign(parameter_bytes / sizeof(float), 0.0f);
        fuse_parameters(written, source, fused, reinterpret_cast<std::byte*>(values.data()), false);
        for (std::size_t i = 0; i != fused.size(); ++i) {
            const node& n = fused[i];
            if (n.from.folded < 0) continue;
            const node &norm = written[static_cast<std::size_t>(n.from.folded)],
                       &filters = written[static_cast<std::size_t>(n.from.self)];
            const node_view v{fused.data(), n};
            folded_norm one;
            one.row = static_cast<int>(i);
            one.name = display_name(written, n.from.folded);
            one.channels = static_cast<std::size_t>(n.weights.channels);
            one.depth = static_cast<std::size_t>(n.weights.count) / one.channels;
            one.weights = static_cast<std::size_t>(n.at.parameter_offset) / sizeof(float);
            one.bias = one.weights + static_cast<std::size_t>(parameters_of(v).offset_of(1));
            one.arrays = values.size();
            one.epsilon = norm.parameter;
            one.is_affine = norm.options[0] != 0;
            one.has_bias = filters.weights.has_bias || n.from.normalized >= 0;
            values.resize(values.size() + 4 * one.channels);
            std::memcpy(values.data() + one.arrays, source + norm.at.parameter_offset,
                        4 * one.channels * sizeof(float));
            all_.push_back(std::move(one));
        }
        floats_ = values.size();
    }
    bool empty() const { return all_.empty(); }
    const std::vector<folded_norm>& all() const { return all_; }
    /// How many values there are, of parameters and norms.
    std::size_t floats() const { return floats_; }
    /// The norm behind the filters of a row; null where there is none.
    const folded_norm* behind(int row) const {
        const auto found = std::find_if(all_.begin(), all_.end(), [&](const folded_norm& n) { return n.row == row; });
        return found == all_.end() ? nullptr : &*found;
    }

    /// f of each channel, as folding rounds it.
    static std::vector<float> factors(const folded_norm& norm, const float* values) {
        const float *gamma = values + norm.arrays, *variance = gamma + 3 * norm.channels;
        std::vector<float> all(norm.channels);
        for (std::size_t c = 0; c != norm.channels; ++c)
            all[c] = rounded_product(gamma[c], 1.0f / std::sqrt(variance[c] + norm.epsilon));
        return all;
    }
    /// `block` has the unfolded parameters, and gets the folded ones.
    void fold(const float* values, float* block) const {
        for (const folded_norm& norm : all_)
            detail::fold_batch_norm({block + norm.weights, block + norm.bias, norm.channels, norm.depth},
                                    values + norm.arrays, norm.epsilon);
    }
    /// What quantized folded weights mean in front of a norm that is not folded: divided by f. Biases and norms as they are.
    template <class Arch> void unfold(const float* values, float* block) const {
        for (const folded_norm& norm : all_) {
            scale_weights<Arch>(norm, factors(norm, values), true, block);
            std::copy_n(values + norm.bias, norm.channels, block + norm.bias);
            std::copy_n(values + norm.arrays, 4 * norm.channels, block + norm.arrays);
        }
    }
    /// The gradient by quantized weights in front of norms, as one by folded weights; and back to one by the weights that are trained.
    template <class Arch> void to_folded(const float* values, float* gradient) const {
        for (const folded_norm& norm : all_) scale_weights<Arch>(norm, factors(norm, values), true, gradient);
    }
    template <class Arch> void from_folded(const float* values, float* gradient) const {
        for (const folded_norm& norm : all_) scale_weights<Arch>(norm, factors(norm, values), false, gradient);
    }
    /// The gradient by folded parameters as one by weights, biases and the norms' own: w' = w * f and b' depend on all of them.
    void unfold_gradient(const float* values, float* gradient) const {
        for (const folded_norm& norm : all_) {
            const float *gamma = values + norm.arrays, *mean = gamma + 2 * norm.channels,
                        *variance = mean + norm.channels;
            for (std::size_t c = 0; c != norm.channels; ++c) {
                const double r = 1 / std::sqrt(double{variance[c]} + double{norm.epsilon});
                const double f = r * double{gamma[c]};
                const float* w = values + norm.weights + c * norm.depth;
                float* dw = gradient + norm.weights + c * norm.depth;
                double sum = 0;
                for (std::size_t k = 0; k != norm.depth; ++k) {
                    sum += double{dw[k]} * double{w[k]};
                    dw[k] = static_cast<float>(f * double{dw[k]});
                }
                float& db = gradient[norm.bias + c];
                sum += double{db} * (double{values[norm.bias + c]} - double{mean[c]});
                gradient[norm.arrays + c] = static_cast<float>(r * sum);
                gradient[norm.arrays + norm.channels + c] = db;
                db = static_cast<float>(f * double{db});
            }
        }
    }

    /// The norms' weights and biases, and without the biases of filters that have none of their own.
    void append_parts(std::vector<trained_part>& parts) const {
        for (const folded_norm& norm : all_) {
            if (!norm.has_bias)
                std::erase_if(parts, [&](const trained_part& part) { return part.offset == norm.bias; });
            if (!norm.is_affine) continue;
            parts.push_back({norm.name + ".weight", norm.arrays, norm.channels, parameter_group::vectors});
            parts.push_back(
                {norm.name + ".bias", norm.arrays + norm.channels, norm.channels, parameter_group::vectors});
        }
    }
    /// The norms' running variances.
    void append_variances(std::vector<trained_part>& parts) const {
        for (const folded_norm& norm : all_)
            parts.push_back({norm.name, norm.arrays + 3 * norm.channels, norm.channels, parameter_group::vectors, 0});
    }
    /// The node of a norm that stands by itself behind the filters `n`, whose bounds it has.
    static node node_of(const folded_norm& norm, const node& n) {
        node own;
        own.op = &operators::batch_norm_info;
        own.options[0] = norm.is_affine;
        own.parameter = norm.epsilon;
        own.name = n.name;
        own.input_count = 1;
        own.out = n.out;
        own.weights.channels = n.weights.channels;
        own.fused = n.fused;
        own.flags = n.flags;
        own.at.parameter_offset = static_cast<int>(norm.arrays * sizeof(float));
        own.at.parameter_bytes = static_cast<int>(4 * norm.channels * sizeof(float));
        return own;
    }

private:
    template <class Arch>
    static void scale_weights(const folded_norm& norm, const std::vector<float>& factors, bool divides, float* all) {
        for (std::size_t c = 0; c != norm.channels; ++c) {
            float* w = all + norm.weights + c * norm.depth;
            const float f = factors[c];
            if (divides && f == 0) {
                std::fill_n(w, norm.depth, 0.0f);
                continue;
            }
            kernel::for_each_number<Arch>(
                norm.depth, [&](std::size_t k, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    const Number value = kernel::load_number<Number>(w + k);
                    kernel::store_number(divides ? kernel::divide_numbers(value, Number(f)) : Number(value * Number(f)),
                                         w + k);
                });
        }
    }

    std::vector<folded_norm> all_;
    std::size_t floats_ = 0;
};

}  // namespace zp::inline v0
