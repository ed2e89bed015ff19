// Multi-head self-attention over as many rows as there are, float or with quantized projections.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/attention.hpp>
#include <zeropoint/kernel/integer_attention.hpp>
#include <zeropoint/kernel/linear_after.hpp>
#include <zeropoint/layer/dynamic_linear.hpp>
#include <zeropoint/layer/float_linear.hpp>
#include <zeropoint/layer/linear_arguments.hpp>
#include <zeropoint/layer/run_linear.hpp>

namespace zp {
inline namespace v0 {

/// The parameters of torch.nn.MultiheadAttention under its names and in its order: in_proj_weight is 3 * model x model
/// (queries, keys, values), out_proj.weight model x model. Biases may be absent.
struct attention_parameters {
    std::span<const float> in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias;
};

/// Those of a state dict: `find(name, rows, columns, optional)` as zp::state_dict has it, `prefix` such as "self_attn.".
template <class Find> attention_parameters attention_parameters_of(Find&& find, const std::string& prefix, int model) {
    return {find(prefix + "in_proj_weight", 3 * model, model, false), find(prefix + "in_proj_bias", 3 * model, 0, true),
            find(prefix + "out_proj.weight", model, model, false), find(prefix + "out_proj.bias", model, 0, true)};
}

namespace detail {

/// Whether a policy has attention multiply codes: `attention` of dynamic_policy, and floats where a policy says nothing.
template <class Policy> constexpr bool has_integer_attention() {
    if constexpr (requires { Policy::attention; }) return Policy::attention == attention_products::int8;
    else return false;
}

/// Attention between the two projections and what it writes to: x is rows x 3 * Heads * Depth, y rows x Heads * Depth.
template <int Heads, int Depth, int MostRows, class Arch> struct float_attention {
    static constexpr int padded = kernel::padded_rows(MostRows);
    struct workspace {
        alignas(buffer_alignment) float keys[Depth * padded];
        alignas(buffer_alignment) float scores[kernel::attention_block * padded];
    };
    static void run(const float* x, int rows, float* y, workspace& memory) noexcept {
        constexpr int model = Heads * Depth;
        const float scale = 1.0f / std::sqrt(static_cast<float>(Depth));
        for (int head = 0; head != Heads; ++head, x += Depth, y += Depth)
            kernel::attention_head<Arch>(x, x + model, x + 2 * model, 3 * model, rows, Depth, scale, memory.keys,
                                         memory.scores, y, model);
    }
};
template <int Heads, int Depth, int MostRows, class Arch> struct integer_attention {
    struct workspace {
        alignas(buffer_alignment) std::byte bytes[kernel::integer_attention_plan<Arch>(MostRows, Heads, Depth).bytes];
    };
    static void run(const float* x, int rows, float* y, workspace& memory) noexcept {
        constexpr int model = Heads * Depth;
        kernel::integer_attention<Arch>(kernel::integer_attention_plan<Arch>(rows, Heads, Depth),
                                        {x, x + model, x + 2 * model, 3 * model}, y, memory.bytes);
    }
};

}  // namespace detail

/// torch.nn.MultiheadAttention of queries, keys and values that are the same rows, 1 to MostRows of them: softmax runs
/// over the rows that a call brings, so there is no padding and no mask. With per-row ranges a result depends on nothing
/// but those rows. Its two products are of int8 codes (kernel/integer_attention.hpp) where the policy's `attention` is
/// attention_products::int8, as dynamic_policy's is by default, else float.
template <int Model, int Heads, int MostRows, class Policy = dynamic_policy<>, class Arch = default_architecture>
class multi_head_attention {
    static_assert(Model > 0 && Heads > 0 && MostRows > 0,
                  "multi_head_attention<Model, Heads, MostRows, ...>: model, heads and rows must be at least 1");
    static_assert(
        Heads <= 0 || Model % Heads == 0,
        "multi_head_attention<Model, Heads, ...>: Heads must divide Model: each head takes Model / Heads values");
    static_assert(!detail::has_integer_attention<Policy>() || MostRows <= kernel::largest_attention,
                  "multi_head_attention<Model, Heads, MostRows, Policy>: an int32 sum over rows can overflow with more "
                  "than 66311 rows: take fewer, or a policy with zp::attention_products::float32");
    static constexpr int depth = Model / Heads;
    using products = std::conditional_t<detail::has_integer_attention<Policy>(),
                                        detail::integer_attention<Heads, depth, MostRows, Arch>,
                                        detail::float_attention<Heads, depth, MostRows, Arch>>;
    using input_product = typename Policy::template linear<Model, 3 * Model, Arch, MostRows>;
    using output_product = typename Policy::template linear<Model, Model, Arch, MostRows>;

public:
    static constexpr int inputs = Model, outputs = Model, heads = Heads, most_rows = MostRows;
    struct workspace {
        typename input_product::workspace input;
        typename output_product::workspace output;
        alignas(buffer_alignment) float projected[std::size_t{MostRows} * 3 * Model];
        typename products::workspace attention;
        alignas(buffer_alignment) float context[std::size_t{MostRows} * Model];
    };

    /// Raises shape_error for other counts and calibration_error for weights that are not finite.
    explicit multi_head_attention(const attention_parameters& p)
        : input_(p.in_proj_weight, p.in_proj_bias), output_(p.out_proj_weight, p.out_proj_bias) {}

    /// x and y: rows x Model. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const {
        const int rows = detail::rows_of("multi_head_attention", x.size(), Model, y.size(), Model, MostRows);
        run(x.data(), rows, y.data(), memory);
    }
    /// The same over plain pointers, unchecked. y may be x. `after` (kernel/linear_after.hpp) has the last word on each
    /// value.
    template <class After = kernel::as_it_is>
    void run(const float* x, int rows, float* y, workspace& memory, const After& after = {}) const noexcept {
        input_.run(x, rows, memory.projected, memory.input);
        products::run(memory.projected, rows, memory.context, memory.attention);
        detail::run_linear<Arch>(output_, memory.context, rows, y, memory.output, after);
    }

private:
    input_product input_;
    output_product output_;
};

}  // namespace v0
}  // namespace zp
