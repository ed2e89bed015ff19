// One row of a dynamically quantized model: the block of a linear layer or convolution with int8 weights, and what runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/kernel/clamp.hpp>
#include <zeropoint/kernel/conv2d_kernels.hpp>
#include <zeropoint/kernel/dynamic_conv2d.hpp>
#include <zeropoint/layer/dynamic_linear.hpp>
#include <zeropoint/layer/dynamic_recurrent_rows.hpp>
#include <zeropoint/layer/embedding_table.hpp>
#include <zeropoint/layer/float_steps.hpp>
#include <zeropoint/layer/row_kernels.hpp>

namespace zp {
inline namespace v0 {

/// The dynamic rows of a model under one dynamic_policy on one architecture: linear layers, over a vector or over each of
/// the vectors of a sequence, recurrent layers, and convolutions of one group, transposed ones and those over volumes too, whose
/// image or volume has one symmetric range.
template <class Policy, class Arch> struct dynamic_row_kernels {
    using layout_type = kernel::dynamic_linear_layout<Arch>;
    using weight = typename Policy::weight;
    using weight_storage = typename Policy::weight_storage;
    using storage = typename Policy::input_storage;

    static constexpr kernel_needs weights_needed = [] {
        kernel_needs needs;
        needs.unsigned_weights = !weight::is_signed;
        needs.signed_weights = weight::is_signed;
        return needs;
    }();

    /// Makes a float row a dynamic one.
    static constexpr void mark(node& row) {
        row.dynamic = true;
        row.weight_type = scalar_type_of<weight_storage>;
        row.weight_min = weight::quant_min;
        row.weight_max = weight::quant_max;
        row.quant_min = limits(row).min;
        row.quant_max = limits(row).max;
        row.affine_weights = Policy::has_affine_weights;
        row.word_weights = row.affine_weights || (is_small(row) && extents_of(row).prefer_words() &&
                                                  !kernel::always_byte_quads<Arch>({0, row.quant_min, row.quant_max},
                                                                                   row.weight_min, row.weight_max));
    }
    static constexpr int parameter_bytes(const node& row) {
        if (is_recurrent(row)) return static_cast<int>(recurrent_cells::parameter_bytes(recurrent_of(row)));
        const std::size_t zero_points = row.affine_weights ? align_up(4 * static_cast<std::size_t>(row.channels)) : 0;
        return static_cast<int>(arrays(row).bytes + zero_points);
    }
    static constexpr int scratch_bytes(const node& row) {
        if (is_recurrent(row)) return static_cast<int>(recurrent_cells::scratch_bytes(recurrent_of(row)));
        if (row.kind == op::conv2d) return static_cast<int>(kernel::dynamic_conv2d_scratch<Arch>(row.window).bytes);
        if (is_other_convolution(row.kind))
            return static_cast<int>(codes_bytes(row) + scratch_bytes_of<Arch>(row, conv2d_algorithm::implicit_gemm));
        return static_cast<int>(
            kernel::dynamic_linear_scratch<Arch>(layout(row).geometry(row.in.width), row.in.width).bytes);
    }

    /// Fills the block of a recurrent row.
    static void write(const node& row, const quantized_parameters& parameters, std::byte* block) {
        recurrent_cells::write(recurrent_of(row), parameters, block);
    }
    /// The inverse: what a file holds.
    static quantized_parameters read_recurrent(const node& row, const std::byte* block) {
        return recurrent_cells::read(recurrent_of(row), block);
    }
    /// Fills a row's block.
    static void write(const node& row, quantized_weights weights, std::byte* block) {
        if (row.affine_weights)
            std::memcpy(block + arrays(row).bytes, weights.zero_points.data(),
                        4 * static_cast<std::size_t>(row.channels));
        else if (row.word_weights) weights.zero_points.resize(static_cast<std::size_t>(row.channels));
        const kernel::conv2d_weights<weight_storage> source{
            reinterpret_cast<const weight_storage*>(weights.codes.data()),
            weights.zero_points.empty() ? nullptr : weights.zero_points.data(), nullptr};
        if (is_other_convolution(row.kind)) {
            const std::size_t size = 4 * static_cast<std::size_t>(row.channels);
            const array_offsets at = arrays(row);
            with_convolution(row,
                             [&](auto kernels) { kernels.pack(row, source, kernel::dynamic_conv2d_codes, block); });
            std::memcpy(block + at.scales, weights.scales.data(), size);
            std::memset(block + at.sums, 0, size);  // zero points of activations are 0: see dynamic_to_float
            std::memcpy(block + at.bias, weights.float_bias.data(), size);
        } else if (row.kind == op::conv2d)
            kernel::pack_dynamic_conv2d<Arch>(row.window, row.word_weights, source, weights.scales.data(),
                                              weights.float_bias.data(), block);
        else
            kernel::pack_dynamic_linear<Arch>(layout(row), source, weights.scales.data(), weights.float_bias.data(),
                                              Policy::limits, block);
    }
    /// The inverse: what a file holds.
    static quantized_weights read(const node& row, const std::byte* block) {
        const auto channels = static_cast<std::size_t>(row.channels);
        const array_offsets at = arrays(row);
        quantized_weights weights;
        weights.codes.resize(static_cast<std::size_t>(row.weights));
        weights.scales.resize(channels);
        weights.float_bias.resize(channels);
        std::vector<std::int32_t> bias(channels), zero_points(channels);
        std::memcpy(weights.scales.data(), block + at.scales, 4 * channels);
        std::memcpy(weights.float_bias.data(), block + at.bias, 4 * channels);
        if (row.affine_weights) {
            std::memcpy(zero_points.data(), block + at.bytes, 4 * channels);
            weights.zero_points = zero_points;
        }
        const std::int32_t* packed_zero_points = row.word_weights ? zero_points.data() : nullptr;
        const kernel::activation_codes input{0, limits(row).min, limits(row).max};
        auto* values = reinterpret_cast<weight_storage*>(weights.codes.data());
        if (is_other_convolution(row.kind))
            with_convolution(
                row, [&](auto kernels) { kernels.unpack(row, packed_zero_points, input, block, values, bias.data()); });
        else
            kernel::conv2d_kernels<Arch, conv2d_algorithm::implicit_gemm>::unpack(
                row.kind == op::conv2d ? row.window : layout(row).geometry(1), packed_zero_points, input, block, values,
                bias.data());
        return weights;
    }

    /// The step of row `Row` of a plan: code of its own for few products of one vector, as dynamic_linear has.
    template <class Plan, int Row> static constexpr step_function step_of() {
        constexpr const node& row = Plan::planned.nodes[Row];
        if constexpr (has_coded_table(row)) return coded_table_step<Arch>(row);
        else if constexpr (!row.dynamic) return float_step<Arch>(row);
        else if constexpr (is_recurrent(row)) return run_recurrent_row;
        else if constexpr (row.kind == op::conv2d) return run_conv2d;
        else if constexpr (is_other_convolution(row.kind)) return run_convolution<row.kind>;
        else if constexpr (is_small(row)) return run_small<row.in.channels, row.out.channels, row.word_weights>;
        else return run;
    }

private:
    using recurrent_cells = dynamic_recurrent_cells<Policy, Arch>;
    static constexpr recurrent_geometry recurrent_of(const node& row) { return {*row.described->recurrent, row}; }

    static constexpr bool is_other_convolution(op kind) {
        return is_weighted(kind) && kind != op::linear && kind != op::conv2d;
    }
    template <op Kind> using convolution = row_kernels<Arch, conv2d_algorithm::implicit_gemm, Kind>;
    template <class F> static void with_convolution(const node& row, F&& f) {
        if (row.kind == op::conv3d) f(convolution<op::conv3d>());
        else if (row.kind == op::conv_transpose2d) f(convolution<op::conv_transpose2d>());
        else f(convolution<op::conv_transpose3d>());
    }
    static constexpr std::size_t codes_bytes(const node& row) {
        return align_up(static_cast<std::size_t>(row.in.size()));
    }
    static constexpr kernel::linear_extents extents_of(const node& row) {
        return {row.in.width, row.in.channels, row.out.channels};
    }
    static constexpr bool is_small(const node& row) {
        return row.kind == op::linear && row.in.width == 1 && !Policy::has_affine_weights &&
               extents_of(row).are_small();
    }
    static constexpr layout_type layout(const node& row) {
        return {row.in.channels, row.out.channels, row.word_weights};
    }
    static constexpr kernel::code_limits limits(const node& row) {
        return row.kind == op::linear ? Policy::limits : kernel::dynamic_conv2d_limits;
    }
    /// Where scales and biases lie in a block, and where what follows them does.
    struct array_offsets {
        std::size_t scales, sums, bias, bytes;
    };
    static constexpr array_offsets arrays(const node& row) {
        if (row.kind == op::linear) return {layout(row).scales, layout(row).sums, layout(row).bias, layout(row).bytes};
        if (is_other_convolution(row.kind)) {
            node like = row;
            like.algorithm = conv2d_algorithm::implicit_gemm;
            const std::size_t scales = align_up(packed_bytes_of<Arch>(like)),
                              array = align_up(4 * static_cast<std::size_t>(row.channels));
            return {scales, scales + array, scales + 2 * array, scales + 3 * array};
        }
        const kernel::dynamic_conv2d_layout<Arch> at(row.window, row.word_weights);
        return {at.scales, at.sums, at.bias, at.bytes};
    }
    static void run_recurrent_row(const node& row, const context& c) noexcept {
        const recurrent_geometry g = recurrent_of(row);
        recurrent_cells cells(g, c.block<std::byte>(row), c.scratch<std::byte>(row));
        run_recurrent(g, cells, c.in<float>(row), c.out<float>(row), cells.between());
    }
    static void run_conv2d(const node& row, const context& c) noexcept {
        kernel::dynamic_conv2d<Arch>(row.window, row.word_weights, c.in<float>(row),
                                     typename Policy::choose_image_range{}, c.block<std::byte>(row), c.out<float>(row),
                                     c.scratch<std::byte>(row));
        clamp(row, c);
    }
    /// y = dequantize(convolution(quantize(x), w)) + bias, one range for all of x.
    template <op Kind> static void run_convolution(const node& row, const context& c) noexcept {
        const auto* block = c.block<std::byte>(row);
        auto* scratch = c.scratch<std::byte>(row);
        auto* codes = reinterpret_cast<std::int8_t*>(scratch);
        const array_offsets at = arrays(row);
        const kernel::dynamic_to_float epilogue{
            reinterpret_cast<const float*>(block + at.scales), reinterpret_cast<const std::int32_t*>(block + at.sums),
            reinterpret_cast<const float*>(block + at.bias),
            kernel::dynamic_quantize<Arch>(c.in<float>(row), static_cast<std::size_t>(row.in.size()),
                                           kernel::dynamic_conv2d_limits, typename Policy::choose_image_range{},
                                           codes)};
        convolution<Kind>::run(row, codes, kernel::dynamic_conv2d_codes, block, epilogue, c.out<float>(row),
                               scratch + codes_bytes(row));
        clamp(row, c);
    }
    static void run(const node& row, const context& c) noexcept {
        kernel::dynamic_linear<Arch, storage, Policy::is_per_row>(
            layout(row), c.in<float>(row), row.in.width, Policy::limits, typename Policy::choose_range{},
            c.block<std::byte>(row), c.out<float>(row), c.scratch<std::byte>(row));
        clamp(row, c);
    }
    template <int Depth, int Channels, bool Words> static void run_small(const node& row, const context& c) noexcept {
        kernel::small_dynamic_linear<Arch, storage, Depth, Channels, Words>(
            c.in<float>(row), Policy::limits, typename Policy::choose_range{}, c.block<std::byte>(row),
            c.out<float>(row), c.scratch<std::byte>(row));
        clamp(row, c);
    }
    static void clamp(const node& row, const context& c) noexcept {
        if (row.activation == op::none) return;
        kernel::clamp<Arch>(c.out<float>(row), static_cast<std::size_t>(row.out.size()),
                            lower_bound(row, row.activation), upper_bound(row, row.activation), c.out<float>(row));
    }
};

}  // namespace v0
}  // namespace zp
