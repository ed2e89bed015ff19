// fuse: the float network with batch norms folded into weights and activations into the layers they follow.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <zeropoint/scheme/uncontracted.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace zp {
inline namespace v0 {

/// Folds y = (conv(x) + b - mean) / sqrt(var + epsilon) * gamma + beta into weights and bias, per output channel, as PyTorch's
/// fuse_conv_bn_weights does, each operation rounded to float: w' = w * (gamma * r) and b' = (b - mean) * r * gamma + beta
/// with r = 1 / sqrt(var + epsilon). A weight that is the largest of its channel lies on a tie of codes where it is negative,
/// so that the last bit decides.
inline void fold_batch_norm(const node& row, const float* weights, const float* bias, const node& norm,
                            const float* norm_block, float* folded_weights, float* folded_bias) {
    const batch_norm_view bn = view_of_batch_norm(norm, norm_block);
    const auto channels = static_cast<std::size_t>(row.channels),
               depth = static_cast<std::size_t>(row.weights) / channels;
    for (std::size_t c = 0; c != channels; ++c) {
        const float inverse = 1.0f / std::sqrt(bn.running_var[c] + norm.parameter);
        const float factor = rounded_product(bn.weight[c], inverse);
        for (std::size_t k = 0; k != depth; ++k)
            folded_weights[c * depth + k] = rounded_product(weights[c * depth + k], factor);
        const float scaled = rounded_product(rounded_product(bias[c] - bn.running_mean[c], inverse), bn.weight[c]);
        folded_bias[c] = scaled + bn.bias[c];
    }
}

/// Folds y = conv((x - mean) / deviation) + b into weights and bias, in double: w' = w / deviation[k] and b' = b - sum of
/// w * mean[k] / deviation[k], k the channel of the input.
inline void fold_channel_map(const node& row, const channel_map& map, float* weights, float* bias) {
    const int taps = row.window.taps(), group_out = row.window.group_out();
    const auto group_in = static_cast<std::size_t>(row.window.group_in());
    for (int c = 0; c != row.channels; ++c) {
        const std::size_t first = static_cast<std::size_t>(c / group_out) * group_in;
        double sum = 0;
        for (int tap = 0; tap != taps; ++tap)
            for (std::size_t k = first; k != first + group_in; ++k) {
                const double weight = double{*weights} / double{map.deviation[k]};
                sum += weight * double{map.mean[k]};
                *weights++ = static_cast<float>(weight);
            }
        bias[c] = static_cast<float>(double{bias[c]} - sum);
    }
}

/// The run-time half for all models: parameters of `from` become those of `to`.
inline void fuse_parameters(std::span<const node> from, const std::byte* source, std::span<const node> to,
                            std::byte* target) {
    for (const node& row : to) {
        if (row.parameter_bytes == 0) continue;
        const node& old = from[static_cast<std::size_t>(row.origin)];
        const auto* block = reinterpret_cast<const float*>(source + old.parameter_offset);
        auto* fused_block = reinterpret_cast<float*>(target + row.parameter_offset);
        std::memcpy(fused_block, block, static_cast<std::size_t>(row.parameter_bytes));
        if (row.normalized >= 0)
            fold_channel_map(row, *from[static_cast<std::size_t>(row.normalized)].described->map, fused_block,
                             fused_block + bias_offset(row));
        if (row.folded < 0) continue;
        const node& norm = from[static_cast<std::size_t>(row.folded)];
        const std::vector<float> weights(fused_block, fused_block + row.weights),
            bias(fused_block + bias_offset(row), fused_block + bias_offset(row) + row.channels);
        fold_batch_norm(row, weights.data(), bias.data(), norm,
                        reinterpret_cast<const float*>(source + norm.parameter_offset), fused_block,
                        fused_block + bias_offset(row));
    }
}

/// conv2d/linear + batch_norm + relu/relu6 and add + relu become one layer each, wherever they meet and whatever their names.
template <class Net, class Arch> fused<Net, Arch> fuse(const float_model<Net, Arch>& trained) {
    fused<Net, Arch> result;
    fuse_parameters(trained.rows(), trained.parameters(), result.rows(), result.parameters());
    return result;
}

}  // namespace v0
}  // namespace zp
