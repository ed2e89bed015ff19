// Transformer encoders over as many rows as there are: torch.nn.TransformerEncoderLayer and a stack of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/float_rows.hpp>
#include <zeropoint/kernel/linear_after.hpp>
#include <zeropoint/layer/attention.hpp>
#include <zeropoint/layer/linear_arguments.hpp>
#include <zeropoint/layer/run_linear.hpp>

namespace zp {
inline namespace v0 {

enum class feed_forward_activation { relu, gelu };

/// The arguments of torch.nn.TransformerEncoderLayer: d_model, nhead, dim_feedforward, activation, norm_first.
struct transformer {
    int model, heads, feed_forward;
    feed_forward_activation activation = feed_forward_activation::relu;
    bool norm_first = false;
};

/// Its parameters: attention under "self_attn.", linear1 (feed_forward x model), linear2, norm1 and norm2, the last two
/// weight and bias; `epsilon` is layer_norm_eps.
struct transformer_parameters {
    attention_parameters self_attn;
    std::span<const float> linear1_weight, linear1_bias, linear2_weight, linear2_bias;
    std::span<const float> norm1_weight, norm1_bias, norm2_weight, norm2_bias;
    float epsilon = 1e-5f;
};

/// Those of a state dict: `find(name, rows, columns, optional)` as zp::state_dict has it, `prefix` such as "layers.0.".
template <class Find>
transformer_parameters transformer_parameters_of(Find&& find, const std::string& prefix, const transformer& options) {
    const auto get = [&](const char* name, int rows, int columns = 0, bool optional = false) {
        return find(prefix + name, rows, columns, optional);
    };
    transformer_parameters p;
    p.self_attn = attention_parameters_of(find, prefix + "self_attn.", options.model);
    p.linear1_weight = get("linear1.weight", options.feed_forward, options.model);
    p.linear1_bias = get("linear1.bias", options.feed_forward, 0, true);
    p.linear2_weight = get("linear2.weight", options.model, options.feed_forward);
    p.linear2_bias = get("linear2.bias", options.model, 0, true);
    p.norm1_weight = get("norm1.weight", options.model);
    p.norm1_bias = get("norm1.bias", options.model);
    p.norm2_weight = get("norm2.weight", options.model);
    p.norm2_bias = get("norm2.bias", options.model);
    return p;
}

/// Layer normalization of rows of `Model` values with parameters of its own.
template <int Model, class Arch = default_architecture> class row_normalization {
public:
    row_normalization(std::span<const float> weight, std::span<const float> bias, float epsilon, const char* name)
        : parameters_(2 * half), epsilon_(epsilon) {
        detail::check_count(name, "weights", Model, weight.size());
        detail::check_count(name, "biases", Model, bias.size());
        std::copy(weight.begin(), weight.end(), reinterpret_cast<float*>(parameters_.data()));
        std::copy(bias.begin(), bias.end(), reinterpret_cast<float*>(parameters_.data() + half));
    }
    void run(const float* x, int rows, float* y) const noexcept {
        for (int row = 0; row != rows; ++row, x += Model, y += Model)
            kernel::layer_norm_row<Arch>(x, Model, reinterpret_cast<const float*>(parameters_.data()),
                                         reinterpret_cast<const float*>(parameters_.data() + half), epsilon_, y);
    }

private:
    static constexpr std::size_t half = align_up(sizeof(float) * std::size_t{Model});
    aligned_buffer parameters_;
    float epsilon_;
};

/// torch.nn.TransformerEncoderLayer in inference, over 1 to MostRows rows:
///     x = norm1(x + self_attn(x)), y = norm2(x + linear2(activation(linear1(x))))           norm_first = false
///     x = x + self_attn(norm1(x)), y = x + linear2(activation(linear1(norm2(x))))           norm_first = true
template <transformer Options, int MostRows, class Policy = dynamic_policy<>, class Arch = default_architecture>
class transformer_encoder_layer {
    static constexpr int model = Options.model, feed_forward = Options.feed_forward;
    static_assert(feed_forward > 0, "transformer_encoder_layer<Options, ...>: feed_forward must be at least 1");
    using attention_type = multi_head_attention<model, Options.heads, MostRows, Policy, Arch>;
    using first_linear = typename Policy::template linear<model, feed_forward, Arch, MostRows>;
    using second_linear = typename Policy::template linear<feed_forward, model, Arch, MostRows>;

public:
    static constexpr int inputs = model, outputs = model, most_rows = MostRows;
    struct workspace {
        typename attention_type::workspace attention;
        typename first_linear::workspace linear1;
        typename second_linear::workspace linear2;
        alignas(buffer_alignment) float sum[std::size_t{MostRows} * model];
        alignas(buffer_alignment) float normalized[std::size_t{MostRows} * model];
        alignas(buffer_alignment) float hidden[std::size_t{MostRows} * feed_forward];
    };

    /// Raises shape_error for other counts and calibration_error for weights that are not finite.
    explicit transformer_encoder_layer(const transformer_parameters& p)
        : self_attn_(p.self_attn),
          linear1_(p.linear1_weight, p.linear1_bias),
          linear2_(p.linear2_weight, p.linear2_bias),
          norm1_(p.norm1_weight, p.norm1_bias, p.epsilon, "norm1"),
          norm2_(p.norm2_weight, p.norm2_bias, p.epsilon, "norm2") {}

    /// x and y: rows x model. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const {
        const int rows = detail::rows_of("transformer_encoder_layer", x.size(), model, y.size(), model, MostRows);
        run(x.data(), rows, y.data(), memory);
    }
    /// The same over plain pointers, unchecked. y may be x.
    void run(const float* x, int rows, float* y, workspace& memory) const noexcept {
        float *sum = memory.sum, *normalized = memory.normalized;
        if constexpr (Options.norm_first) {
            norm1_.run(x, rows, normalized);
            self_attn_.run(normalized, rows, sum, memory.attention, kernel::added_to{x});
            norm2_.run(sum, rows, normalized);
            run_feed_forward(normalized, rows, sum, y, memory);
        } else {
            self_attn_.run(x, rows, sum, memory.attention, kernel::added_to{x});
            norm1_.run(sum, rows, sum);
            run_feed_forward(sum, rows, sum, normalized, memory);
            norm2_.run(normalized, rows, y);
        }
    }

private:
    /// y = added + linear2(activation(linear1(x)))
    void run_feed_forward(const float* x, int rows, const float* added, float* y, workspace& memory) const noexcept {
        using activation = std::conditional_t<Options.activation == feed_forward_activation::gelu, kernel::gelu_of_it,
                                              kernel::relu_of_it>;
        detail::run_linear<Arch>(linear1_, x, rows, memory.hidden, memory.linear1, activation{});
        detail::run_linear<Arch>(linear2_, memory.hidden, rows, y, memory.linear2, kernel::added_to{added});
    }

    attention_type self_attn_;
    first_linear linear1_;
    second_linear linear2_;
    row_normalization<model, Arch> norm1_, norm2_;
};

/// torch.nn.TransformerEncoder: `Layers` layers under "layers.0." and so on, and a last normalization under "norm." where
/// the state dict has one, as encoders with norm_first do.
template <transformer Options, int Layers, int MostRows, class Policy = dynamic_policy<>,
          class Arch = default_architecture>
class transformer_encoder {
    static_assert(Layers > 0, "transformer_encoder<Options, Layers, ...>: there is at least one layer");
    using layer_type = transformer_encoder_layer<Options, MostRows, Policy, Arch>;
    static constexpr int model = Options.model;

public:
    static constexpr int inputs = model, outputs = model, most_rows = MostRows;
    using workspace = typename layer_type::workspace;

    /// `find(name, rows, columns, optional)` as zp::state_dict has it. Raises what the layers raise.
    template <class Find>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): copies have no such call
    explicit transformer_encoder(Find&& find, float epsilon = 1e-5f) {
        layers_.reserve(Layers);
        for (int i = 0; i != Layers; ++i) {
            transformer_parameters p = transformer_parameters_of(find, "layers." + std::to_string(i) + ".", Options);
            p.epsilon = epsilon;
            layers_.emplace_back(p);
        }
        const std::span<const float> weight = find("norm.weight", model, 0, true);
        if (!weight.empty()) norm_.emplace_back(weight, find("norm.bias", model, 0, false), epsilon, "norm");
    }

    /// x and y: rows x model. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const {
        const int rows = detail::rows_of("transformer_encoder", x.size(), model, y.size(), model, MostRows);
        run(x.data(), rows, y.data(), memory);
    }
    /// The same over plain pointers, unchecked. y may be x.
    void run(const float* x, int rows, float* y, workspace& memory) const noexcept {
        for (const layer_type& layer : layers_) {
            layer.run(x, rows, y, memory);
            x = y;
        }
        for (const auto& norm : norm_) norm.run(y, rows, y);
    }

private:
    std::vector<layer_type> layers_;
    std::vector<row_normalization<model, Arch>> norm_;  // one or none
};

}  // namespace v0
}  // namespace zp
