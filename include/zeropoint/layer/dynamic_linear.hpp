// Linear layers of int8 weights that quantize their activations as they come: float in, float out, no calibration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/dynamic_linear.hpp>
#include <zeropoint/layer/linear_arguments.hpp>
#include <zeropoint/operators/dynamic_policy.hpp>
#include <zeropoint/operators/quantize_filters.hpp>

namespace zp {
inline namespace v0 {

/// Sizes and construction of dynamic linear layers, whose extents are known when compiled or later.
template <class Policy, class Arch> struct dynamic_linear_parts {
    using layout_type = kernel::dynamic_linear_layout<Arch>;

    /// Bytes of scratch for up to `most_rows` rows. Fewer rows can need more, where they are one band and not two.
    static constexpr std::size_t scratch_bytes(const layout_type& layout, int most_rows) {
        std::size_t bytes = 0;
        for (int rows = 1; rows <= most_rows; ++rows)
            bytes = std::max(bytes, kernel::dynamic_linear_scratch<Arch>(layout.geometry(rows), rows).bytes);
        return bytes;
    }

    /// Quantizes and packs outputs x inputs weights, as PyTorch has them. `words` packs int8 weights as int16.
    static aligned_buffer pack(const layout_type& layout, bool words, std::span<const float> weights,
                               std::span<const float> bias) {
        const auto inputs = static_cast<std::size_t>(layout.depth), outputs = static_cast<std::size_t>(layout.channels);
        detail::check_count("dynamic_linear", "weights", inputs * outputs, weights.size());
        if (!bias.empty()) detail::check_count("dynamic_linear", "bias", outputs, bias.size());
        std::vector<float> all_bias(bias.begin(), bias.end());
        all_bias.resize(outputs);
        std::vector<std::string> raised;  // nothing: only an integer bias can ask for it
        quantized_weights quantized = quantize_filters<typename Policy::weight_quantizer, Arch>(
            weights, all_bias, 1.0f, true, "dynamic_linear", raised);
        if (words) quantized.zero_points.resize(outputs);
        const kernel::conv2d_weights<typename Policy::weight_storage> source{
            reinterpret_cast<const typename Policy::weight_storage*>(quantized.codes.data()),
            quantized.zero_points.empty() ? nullptr : quantized.zero_points.data(), nullptr};
        aligned_buffer packed(layout.bytes);
        kernel::pack_dynamic_linear<Arch>(layout, source, quantized.scales.data(), quantized.float_bias.data(),
                                          Policy::limits, packed.data());
        return packed;
    }
};

/// y = linear(x) for up to MostRows rows of Inputs floats: weights are quantized once, activations in each call.
///
///     const zp::dynamic_linear<256, 64> layer(weights, bias);   // packs once
///     zp::dynamic_linear<256, 64>::workspace memory;
///     layer(x, y, memory);                                      // spans of 256 and 64 floats
template <int Inputs, int Outputs, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostRows = 1>
class dynamic_linear {
    static_assert(
        Inputs > 0 && Outputs > 0 && MostRows > 0,
        "dynamic_linear<Inputs, Outputs, Policy, Arch, MostRows>: inputs, outputs and rows must be at least 1");
    static_assert(Inputs <= kernel::largest_dynamic_depth(Policy::has_affine_weights),
                  "dynamic_linear<Inputs, Outputs, ...>: an int32 accumulator can overflow with more than 65793 "
                  "inputs, and with more than 33025 where weights are affine: split them, and add the outputs");
    using parts = dynamic_linear_parts<Policy, Arch>;
    static constexpr kernel::linear_extents extents{1, Inputs, Outputs};
    /// Code of its own for one row of few products, and words where they are faster.
    static constexpr bool is_small = MostRows == 1 && extents.are_small() && !Policy::has_affine_weights;
    static constexpr bool has_words =
        Policy::has_affine_weights ||
        (is_small && extents.prefer_words() &&
         !kernel::always_byte_quads<Arch>({0, Policy::limits.min, Policy::limits.max}, Policy::weight::quant_min,
                                          Policy::weight::quant_max));
    static constexpr typename parts::layout_type layout{Inputs, Outputs, has_words};

public:
    static constexpr int inputs = Inputs, outputs = Outputs, most_rows = MostRows;
    static constexpr std::size_t parameter_bytes = layout.bytes;
    static constexpr std::size_t scratch_bytes = parts::scratch_bytes(layout, MostRows);
    struct workspace {
        alignas(buffer_alignment) std::byte bytes[scratch_bytes];
    };

    /// `weights`: outputs x inputs floats, PyTorch's order. `bias`: one an output, or none at all. Raises shape_error
    /// for other counts and calibration_error for weights that are not finite.
    explicit dynamic_linear(std::span<const float> weights, std::span<const float> bias = {})
        : parameters_(parts::pack(layout, has_words, weights, bias)) {}

    /// x: rows x inputs, y: rows x outputs. Raises shape_error where they are not, or have more than MostRows rows.
    void operator()(std::span<const float> x, std::span<float> y, workspace& memory) const {
        const int rows = detail::rows_of("dynamic_linear", x.size(), Inputs, y.size(), Outputs, MostRows);
        run(x.data(), rows, y.data(), memory);
    }
    /// The same over plain pointers, unchecked. `after` (kernel/linear_after.hpp) has the last word on each value.
    template <class After = kernel::as_it_is>
    void run(const float* x, int rows, float* y, workspace& memory, const After& after = {}) const noexcept {
        using storage = typename Policy::input_storage;
        constexpr typename Policy::choose_range choose{};
        if constexpr (is_small && std::is_same_v<After, kernel::as_it_is>)
            kernel::small_dynamic_linear<Arch, storage, Inputs, Outputs, has_words>(
                x, Policy::limits, choose, parameters_.data(), y, memory.bytes);
        else
            kernel::dynamic_linear<Arch, storage, Policy::is_per_row>(layout, x, rows, Policy::limits, choose,
                                                                      parameters_.data(), y, memory.bytes, after);
    }

private:
    aligned_buffer parameters_;
};

/// dynamic_linear of extents that are known at run time. The caller brings scratch_bytes(rows) bytes at a multiple of
/// 64.
template <class Policy = dynamic_policy<>, class Arch = default_architecture> class runtime_dynamic_linear {
    using parts = dynamic_linear_parts<Policy, Arch>;

public:
    runtime_dynamic_linear(std::span<const float> weights, std::span<const float> bias, int inputs, int outputs)
        : layout_(checked(inputs, outputs)),
          parameters_(parts::pack(layout_, Policy::has_affine_weights, weights, bias)) {}

    int inputs() const noexcept { return layout_.depth; }
    int outputs() const noexcept { return layout_.channels; }
    /// What a call of up to `most_rows` rows needs.
    std::size_t scratch_bytes(int most_rows) const noexcept { return parts::scratch_bytes(layout_, most_rows); }

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
    static typename parts::layout_type checked(int inputs, int outputs) {
        constexpr int most = kernel::largest_dynamic_depth(Policy::has_affine_weights);
        if (inputs < 1 || outputs < 1 || inputs > most)
            raise<shape_error>("runtime_dynamic_linear: expected 1 to " + std::to_string(most) +
                               " inputs and at least 1 output, found " + std::to_string(inputs) + " and " +
                               std::to_string(outputs));
        return {inputs, outputs, Policy::has_affine_weights};
    }

    typename parts::layout_type layout_;
    aligned_buffer parameters_;
};

}  // namespace v0
}  // namespace zp
