// A fused int8 transposed convolution of fixed size for use on its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/conv_transpose2d.hpp>
#include <zeropoint/kernel/transposed_layout.hpp>
#include <zeropoint/operators/conv_transpose_options.hpp>
#include <zeropoint/layer/static_checks.hpp>
#include <zeropoint/layer/static_layers.hpp>

namespace zp {
inline namespace v0 {

/// conv_transpose2d + bias + activation in one pass over 8-bit codes, weights having a scale an output channel. Activation is
/// op::none, op::relu or op::relu6. An input of height 1 and a kernel {1, n} make it one-dimensional.
///
///     using layer = zp::quantized_conv_transpose2d<zp::shape{8, 8, 32}, zp::conv_transpose{.out_channels = 16, .kernel = 2, .stride = 2}>;
///     const layer up(weights, bias, x.quantization, y.quantization);   // packs once
///     up(x, y, memory);                                                // layer::workspace memory; y is 16x16x16
template <shape Input, conv_transpose Options, const operator_kind& Activation = op::none,
          class Policy = fused_policy<>, class Arch = default_architecture>
class quantized_conv_transpose2d {
    static_assert(&Activation == &op::none || &Activation == &op::relu || &Activation == &op::relu6,
                  "quantized_conv_transpose2d<Input, Options, Activation, ...>: Activation must be zp::op::none, "
                  "zp::op::relu or zp::op::relu6; run others as a table behind the layer (kernel/lookup_table.hpp)");
    static_assert(fits(Options, Input),
                  "quantized_conv_transpose2d<Input, Options, ...>: these options do not fit the input: check that "
                  "out_channels is set, that groups divides both channel counts, that output_padding is smaller than "
                  "stride or dilation, and that padding leaves something of the output");
    using requantization_policy = typename Policy::requantization_policy;
    using first_type = typename requantization_policy::first_type;
    using second_type = typename requantization_policy::second_type;
    using input_storage = typename Policy::input::storage;
    using weight_storage = typename Policy::weight::storage;
    using output_storage = typename Policy::output::storage;

    static constexpr kernel::conv_transpose2d_geometry geometry = geometry_of(Options, Input);
    static constexpr bool affine = !Policy::weight::is_signed;
    using kernels = kernel::conv_transpose2d_kernels<Arch, kernel::choose_conv_transpose2d_algorithm<Arch>(geometry)>;
    static constexpr std::int64_t largest_product =
        std::int64_t{Policy::input::quant_max - Policy::input::quant_min} *
        (affine ? Policy::weight::quant_max - Policy::weight::quant_min
                : std::max(Policy::weight::quant_max, -Policy::weight::quant_min));
    static_assert(geometry.depth() * largest_product <= INT32_MAX / 2,
                  "quantized_conv_transpose2d<Input, Options, ...>: an int32 accumulator can overflow at this depth: "
                  "split the input channels, or take narrower dtypes");

    // The block: packed weights | first | second, one of each an output channel.
    static constexpr std::size_t array_bytes = align_up(4 * static_cast<std::size_t>(geometry.out.channels));
    static constexpr std::size_t first_begin = kernels::packed_bytes(geometry, affine);
    static constexpr std::size_t second_begin = first_begin + array_bytes;
    static constexpr const char* name = "quantized_conv_transpose2d";

public:
    static constexpr shape input_shape = Input;
    static constexpr shape output_shape = geometry.out;
    static constexpr std::size_t parameter_bytes = second_begin + array_bytes;
    static constexpr std::size_t scratch_bytes = kernels::scratch_bytes(geometry);
    struct workspace {
        alignas(buffer_alignment) std::byte bytes[scratch_bytes == 0 ? 1 : scratch_bytes];
    };

    /// `weights` as PyTorch has them: in_channels x out_channels/groups x height x width floats. `bias`: one an output
    /// channel, or none at all. Raises shape_error for other counts, and what observers and quantize_bias raise.
    quantized_conv_transpose2d(std::span<const float> weights, std::span<const float> bias, const qparams& input,
                               const qparams& output)
        : parameters_(parameter_bytes), ranges_{input, output} {
        const auto channels = static_cast<std::size_t>(geometry.out.channels);
        check_count(name, "weights", channels * static_cast<std::size_t>(geometry.depth()), weights.size());
        if (!bias.empty()) check_count(name, "bias", channels, bias.size());
        std::vector<float> ordered(weights.size()), all_bias(bias.begin(), bias.end());
        all_bias.resize(channels);
        kernel::iohw_to_ohwi(geometry, weights.data(), ordered.data());
        std::vector<std::string> raised;
        const quantized_weights quantized = quantize_filters<typename Policy::weight_quantizer, Arch>(
            ordered, all_bias, input.scale, requantization_policy::has_float_bias, name, raised);
        const kernel::conv2d_weights<weight_storage> source{
            reinterpret_cast<const weight_storage*>(quantized.codes.data()),
            quantized.zero_points.empty() ? nullptr : quantized.zero_points.data(),
            quantized.bias.empty() ? nullptr : quantized.bias.data()};
        kernels::pack(geometry, source, codes(), parameters_.data());
        for (std::size_t c = 0; c != channels; ++c) {
            first_type first{};
            second_type second{};
            requantization_policy::prepare({input.scale, quantized.scales[c], output.scale},
                                           requantization_policy::has_float_bias ? quantized.float_bias[c] : 0.0f,
                                           first, second);
            std::memcpy(parameters_.data() + first_begin + 4 * c, &first, 4);
            std::memcpy(parameters_.data() + second_begin + 4 * c, &second, 4);
        }
    }

    const qparams& input_qparams() const noexcept { return ranges_[0]; }
    const qparams& output_qparams() const noexcept { return ranges_[1]; }

    /// y = layer(x). Raises shape_error or value_error where the extents or the scale and zero point of x or y are not those
    /// that the layer was made for.
    void operator()(const tensor_view<typename Policy::input>& x, const mutable_tensor_view<typename Policy::output>& y,
                    workspace& memory) const {
        check_tensor(name, "input", Input, ranges_[0], x);
        check_tensor(name, "output", output_shape, ranges_[1], y);
        run(x.data(), y.data(), memory);
    }
    /// The same over plain pointers, unchecked.
    void run(const input_storage* x, output_storage* y, workspace& memory) const noexcept {
        constexpr node clamped = [] {
            node n;
            n.out.quant_min = Policy::output::quant_min;
            n.out.quant_max = Policy::output::quant_max;
            operators::fuse_activation(n, Activation);
            return n;
        }();
        const auto epilogue =
            requantization_policy::epilogue(reinterpret_cast<const first_type*>(parameters_.data() + first_begin),
                                            reinterpret_cast<const second_type*>(parameters_.data() + second_begin),
                                            clamped_codes(clamped, ranges_[1]));
        kernels::run(geometry, x, codes(), affine, parameters_.data(), epilogue, y, memory.bytes);
    }

private:
    kernel::activation_codes codes() const noexcept {
        return {ranges_[0].zero_point, Policy::input::quant_min, Policy::input::quant_max};
    }

    aligned_buffer parameters_;
    std::array<qparams, 2> ranges_;
};

}  // namespace v0
}  // namespace zp
