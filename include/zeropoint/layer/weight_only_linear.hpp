// Linear layers whose weights alone are integers, of 8 or 4 bits, with a scale an output or a group of inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/weight_only_product.hpp>
#include <zeropoint/layer/linear_arguments.hpp>
#include <zeropoint/operators/quantize_groups.hpp>
#include <zeropoint/operators/weight_only_policy.hpp>

namespace zp {
inline namespace v0 {

/// y = linear(x) for up to MostRows rows of Inputs floats, kernel::weight_only_product: a quarter or an eighth of a float
/// layer's bytes, activations untouched. The same bits on every architecture. Used like dynamic_linear.
template <int Inputs, int Outputs, class Policy = weight_only_policy<>, class Arch = default_architecture,
          int MostRows = 1>
class weight_only_linear {
    static_assert(
        Inputs > 0 && Outputs > 0 && MostRows > 0,
        "weight_only_linear<Inputs, Outputs, Policy, Arch, MostRows>: inputs, outputs and rows must be at least 1");
    static constexpr int group = Policy::group_size == 0 ? Inputs : Policy::group_size;
    static constexpr kernel::weight_only_layout layout{Inputs, Outputs, Policy::bits, group};

public:
    static constexpr int inputs = Inputs, outputs = Outputs, most_rows = MostRows;
    static constexpr std::size_t parameter_bytes = layout.bytes;
    struct workspace {};

    /// `weights`: outputs x inputs floats, PyTorch's order. `bias`: one an output, or none at all. Raises shape_error
    /// for other counts and calibration_error for weights that are not finite.
    explicit weight_only_linear(std::span<const float> weights, std::span<const float> bias = {})
        : parameters_(parameter_bytes) {
        detail::check_count("weight_only_linear", "weights", std::size_t{Inputs} * Outputs, weights.size());
        if (!bias.empty()) detail::check_count("weight_only_linear", "bias", Outputs, bias.size());
        std::vector<float> all_bias(bias.begin(), bias.end());
        all_bias.resize(Outputs);
        const quantized_weights quantized =
            quantize_groups<typename Policy::weight_quantizer>(weights, all_bias, "weight_only_linear");
        kernel::pack_weight_only(layout, reinterpret_cast<const std::int8_t*>(quantized.codes.data()),
                                 quantized.scales.data(), all_bias.data(), parameters_.data());
    }

    /// x: rows x inputs, y: rows x outputs. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const {
        const int rows = detail::rows_of("weight_only_linear", x.size(), Inputs, y.size(), Outputs, MostRows);
        run(x.data(), rows, y.data(), memory);
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int rows, float* y, workspace&) const noexcept {
        kernel::weight_only_product<Arch, Policy::bits>(layout, x, rows, parameters_.data(), y);
    }

private:
    aligned_buffer parameters_;
};

}  // namespace v0
}  // namespace zp
