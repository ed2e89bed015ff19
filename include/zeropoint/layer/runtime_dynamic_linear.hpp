// SPDX-License-Identifier: BSD-3-Clause
// A linear layer of int8 weights that quantizes its activations as they come, of extents that are known at run time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/layer/argument_checks.hpp>
#include <zeropoint/operators/dynamic_policy.hpp>
#include <zeropoint/operators/quantize_filters.hpp>

namespace zp::inline v0 {

/// zp::dynamic_linear of such extents. The caller brings scratch_bytes(rows) bytes at a multiple of 64.
template <class Policy = dynamic_policy<>, class Arch = default_architecture> class runtime_dynamic_linear {
    using layout_type = kernel::dynamic_linear_layout<Arch>;

public:
    /// `weights`: outputs x inputs floats, PyTorch's order. `bias`: one an output, or none at all. Raises shape_error
    /// for other counts and calibration_error for weights that are not finite.
    runtime_dynamic_linear(std::span<const float> weights, std::span<const float> bias, int inputs, int outputs)
        : layout_(checked(inputs, outputs)), parameters_(layout_.bytes) {
        constexpr const char* name = "runtime_dynamic_linear";
        const auto depth = static_cast<std::size_t>(inputs), channels = static_cast<std::size_t>(outputs);
        check_count(name, "weights", depth * channels, weights.size());
        if (!bias.empty()) check_count(name, "bias", channels, bias.size());
        std::vector<float> all_bias(bias.begin(), bias.end());
        all_bias.resize(channels);
        std::vector<std::string> raised;  // nothing: only an integer bias can ask for it
        const quantized_weights quantized =
            quantize_filters<typename Policy::weight_quantizer, Arch>(weights, all_bias, {}, name, raised);
        const kernel::conv2d_weights<typename Policy::weight_storage> source{
            reinterpret_cast<const typename Policy::weight_storage*>(quantized.codes.data()),
            quantized.zero_points.empty() ? nullptr : quantized.zero_points.data(), nullptr};
        kernel::pack_dynamic_linear<Arch>(layout_, source, quantized.scales.data(), quantized.float_bias.data(),
                                          Policy::limits, parameters_.data());
    }

    /// Values of a row.
    int inputs() const noexcept { return layout_.depth; }
    /// Values that come out for one.
    int outputs() const noexcept { return layout_.channels; }
    /// What a call of up to `most_rows` rows needs.
    std::size_t scratch_bytes(int most_rows) const noexcept {
        return kernel::dynamic_linear_scratch<Arch>::bytes_of_most(layout_.geometry(most_rows), most_rows);
    }

    /// x: rows x inputs, y: rows x outputs. Raises shape_error where they are not, or the scratch is too small.
    void operator()(std::span<const float> x, std::span<float> y, std::span<std::byte> scratch) const {
        const int rows = detail::rows_of("runtime_dynamic_linear", x.size(), static_cast<std::size_t>(inputs()),
                                         y.size(), static_cast<std::size_t>(outputs()), 0x7fffffff);
        const std::size_t needed = kernel::dynamic_linear_scratch<Arch>(layout_.geometry(rows), rows).bytes;
        if (scratch.size() < needed)
            raise<shape_error>("runtime_dynamic_linear: " + std::to_string(rows) + " rows need " +
                               std::to_string(needed) + " bytes of scratch, found " + std::to_string(scratch.size()));
        run(x.data(), rows, y.data(), scratch.data());
    }
    /// The same over plain pointers, unchecked.
    void run(const float* x, int rows, float* y, std::byte* scratch) const noexcept {
        kernel::dynamic_linear<Arch, typename Policy::input_storage, Policy::is_per_row>(
            layout_, x, rows, Policy::limits, typename Policy::choose_range{}, parameters_.data(), y, scratch);
    }

private:
    static layout_type checked(int inputs, int outputs) {
        constexpr int most = kernel::largest_dynamic_depth(Policy::has_affine_weights);
        if (inputs < 1 || outputs < 1 || inputs > most)
            raise<shape_error>("runtime_dynamic_linear: expected 1 to " + std::to_string(most) +
                               " inputs and at least 1 output, found " + std::to_string(inputs) + " and " +
                               std::to_string(outputs));
        return {inputs, outputs, Policy::has_affine_weights};
    }

    layout_type layout_;
    aligned_buffer parameters_;
};

}  // namespace zp::inline v0
