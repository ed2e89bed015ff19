// Linear layers whose weights alone are integers, of 8 or 4 bits, with a scale an output or a group of inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/weight_only_product.hpp>
#include <zeropoint/layer/linear_arguments.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

template <int Inputs, int Outputs, class Policy, class Arch, int MostRows> class weight_only_linear;

/// What the weights become: Weight is zp::qint8 or zp::qint4, symmetric; GroupSize inputs of an output share a scale, 0
/// for all of them. Usual: <qint8>, <qint4, 32>, <qint4, 128>.
template <class Weight = qint8, int GroupSize = 0, class Rule = pytorch_rule> struct weight_only_policy {
    static_assert(
        quantized_dtype<Weight>,
        "weight_only_policy<Weight, GroupSize>: Weight must be a quantized dtype: take zp::qint8 or zp::qint4");
    static_assert(std::is_same_v<typename Weight::storage, std::int8_t>,
                  "weight_only_policy<Weight, GroupSize>: weights are signed, of 8 bits or fewer: take zp::qint8 or "
                  "zp::qint4");
    static_assert(GroupSize >= 0 && GroupSize % 8 == 0,
                  "weight_only_policy<Weight, GroupSize>: a group has 0 (all inputs of an output) or a multiple of 8 "
                  "inputs: usual sizes are 32 and 128");
    static_assert(std::is_base_of_v<qparams_rule, Rule>,
                  "weight_only_policy<Weight, GroupSize, Rule>: rules are zp::pytorch_rule or structs derived from "
                  "zp::qparams_rule");
    using weight = Weight;
    using rule = Rule;
    static constexpr int bits = Weight::quant_min >= -8 && Weight::quant_max <= 7 ? 4 : 8;
    static constexpr int group_size = GroupSize;
    static constexpr bool is_per_row = true;  ///< no row depends on another
    template <int Inputs, int Outputs, class Arch, int MostRows>
    using linear = weight_only_linear<Inputs, Outputs, weight_only_policy, Arch, MostRows>;
};

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
        std::vector<std::int8_t> codes(weights.size());
        std::vector<float> scales, all_bias(bias.begin(), bias.end());
        all_bias.resize(Outputs);
        for (std::size_t c = 0; c != Outputs; ++c) {
            for (std::size_t k = 0; k < Inputs; k += group) {
                const std::size_t first = c * Inputs + k, count = std::min<std::size_t>(group, Inputs - k);
                scales.push_back(quantize_group(weights.subspan(first, count), codes.data() + first));
            }
        }
        kernel::pack_weight_only(layout, codes.data(), scales.data(), all_bias.data(), parameters_.data());
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
    static float quantize_group(std::span<const float> weights, std::int8_t* codes) {
        float low = 0, high = 0;
        for (const float weight : weights) {
            if (!std::isfinite(weight))
                raise<calibration_error>("weight_only_linear: expected finite weights, found " + number_text(weight));
            low = std::min(low, weight);
            high = std::max(high, weight);
        }
        const qparams range = Policy::rule::template choose<typename Policy::weight, true>(low, high);
        for (const float weight : weights) *codes++ = quantize<typename Policy::weight>(weight, range);
        return range.scale;
    }

    aligned_buffer parameters_;
};

}  // namespace v0
}  // namespace zp
