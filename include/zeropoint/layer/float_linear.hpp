// Linear layers in float: what the quantized ones stand beside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/ordered_product.hpp>
#include <zeropoint/layer/linear_arguments.hpp>

namespace zp {
inline namespace v0 {

/// y = linear(x) for up to MostRows rows of Inputs floats, kernel::ordered_product with the weights transposed once: the
/// same bits on every architecture. Used like dynamic_linear.
template <int Inputs, int Outputs, class Arch = default_architecture, int MostRows = 1> class float_linear {
    static_assert(Inputs > 0 && Outputs > 0 && MostRows > 0,
                  "float_linear<Inputs, Outputs, Arch, MostRows>: inputs, outputs and rows must be at least 1");
    static constexpr std::size_t weight_bytes = align_up(sizeof(float) * std::size_t{Inputs} * Outputs);

public:
    static constexpr int inputs = Inputs, outputs = Outputs, most_rows = MostRows;
    static constexpr std::size_t parameter_bytes = weight_bytes + align_up(sizeof(float) * std::size_t{Outputs});
    struct workspace {};

    /// `weights`: outputs x inputs floats, PyTorch's order. `bias`: one an output, or none at all. Raises shape_error
    /// for other counts.
    explicit float_linear(std::span<const float> weights, std::span<const float> bias = {})
        : parameters_(parameter_bytes) {
        detail::check_count("float_linear", "weights", std::size_t{Inputs} * Outputs, weights.size());
        if (!bias.empty()) detail::check_count("float_linear", "bias", Outputs, bias.size());
        auto* transposed = reinterpret_cast<float*>(parameters_.data());
        for (std::size_t c = 0; c != Outputs; ++c)
            for (std::size_t k = 0; k != Inputs; ++k) transposed[k * Outputs + c] = weights[c * Inputs + k];
        std::copy(bias.begin(), bias.end(), reinterpret_cast<float*>(parameters_.data() + weight_bytes));
    }

    /// x: rows x inputs, y: rows x outputs. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const {
        const int rows = detail::rows_of("float_linear", x.size(), Inputs, y.size(), Outputs, MostRows);
        run(x.data(), rows, y.data(), memory);
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int rows, float* y, workspace&) const noexcept {
        const auto* weights = reinterpret_cast<const float*>(parameters_.data());
        const auto* bias = reinterpret_cast<const float*>(parameters_.data() + weight_bytes);
        kernel::ordered_product<Arch>({x, Inputs}, rows, Inputs, {weights, Outputs}, Outputs, bias, y, Outputs);
    }

private:
    aligned_buffer parameters_;
};

/// The policy of layers that stay float: their ground truth, and their weights before they are quantized.
struct float_policy {
    static constexpr bool is_per_row = true;  ///< no row depends on another
    template <int Inputs, int Outputs, class Arch, int MostRows>
    using linear = float_linear<Inputs, Outputs, Arch, MostRows>;
};

}  // namespace v0
}  // namespace zp
