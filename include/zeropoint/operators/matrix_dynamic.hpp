// SPDX-License-Identifier: BSD-3-Clause
// Filters of int8 over floats, which are quantized in each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/convolution/conv2d_kernels.hpp>
#include <zeropoint/kernel/dynamic/dynamic_conv2d.hpp>
#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>
#include <zeropoint/operators/filters.hpp>

namespace zp::inline v0::operators {

/// What parts of panels repeat that quantize all inputs, see kernel::conv2d_cut: an input is quantized in the time of its products with
/// some 64 channels.
constexpr int repeated_by_quantizing(int channels) { return 1024 * 64 / (64 + channels); }

/// A dynamic node's extents as a matrix product.
constexpr kernel::linear_extents extents_of_linear(const node_view& v) {
    return {v.y_shape().width, v.n.weights.count / v.n.weights.channels, v.n.weights.channels};
}
/// What a node of whole vectors does to its floats.
constexpr float_epilogue epilogue_of(const node& n) {
    if (n.fused.adds_input_1) return float_epilogue::addend;
    if (n.fused.function != nullptr) return n.fused.function->function->epilogue;
    return n.fused.clamp != nullptr ? float_epilogue::bounds : float_epilogue::none;
}
/// The same as kernels take it.
template <float_epilogue Epilogue> auto epilogue_of([[maybe_unused]] const node& n, [[maybe_unused]] const context& c) {
    if constexpr (Epilogue == float_epilogue::addend) return kernel::added_to{c.in<float>(n, 1)};
    else if constexpr (Epilogue == float_epilogue::gelu) return kernel::gelu_of_it{};
    else if constexpr (Epilogue == float_epilogue::bounds) return kernel::bounded_by{n.fused.lowest, n.fused.highest};
    else return kernel::as_it_is{};
}
/// Whether code is generated for its extents.
constexpr bool is_small_dynamic(const node_view& v) {
    return v.n.op->is_connected && v.y_shape().width == 1 && !v.n.weights.affine && extents_of_linear(v).are_small();
}
/// Makes a float node a dynamic one under a policy: see dynamic_policy. A convolution's input has one symmetric range an image.
template <class Policy, class Arch> constexpr void make_dynamic(const node* nodes, node& n) {
    using weight = typename Policy::weight;
    const kernel::code_limits limits = n.op->is_connected ? Policy::limits : kernel::dynamic_conv2d_limits;
    n.weights.products = scalar_type::int8;
    n.weights.storage = scalar_type_of<typename Policy::weight_storage>;
    n.weights.quant_min = weight::quant_min;
    n.weights.quant_max = weight::quant_max;
    n.weights.affine = Policy::has_affine_weights;
    n.out.quant_min = limits.min;
    n.out.quant_max = limits.max;
    const node_view v{nodes, n};
    const bool small = is_small_dynamic(v) && extents_of_linear(v).prefer_words();
    n.weights.packed_int16 =
        n.weights.affine ||
        (small && !kernel::always_byte_quads<Arch>({0, limits.min, limits.max}, weight::quant_min, weight::quant_max));
}

/// Key: see matrix.hpp. The block: packed weights, scales, sums and biases as the kernels order them, then zero points.
template <auto Key, class Arch, class Policy> struct dynamic_filters {
    static constexpr bool is_image = Key.family == filter_kernels::conv2d && !Key.is_connected;
    static constexpr bool is_phased = !is_image && !Key.is_connected;
    static constexpr bool is_whole = !Key.is_connected || Key.small.rows != 0;
    using layout_type = kernel::dynamic_linear_layout<Arch>;
    using weight_storage = typename Policy::weight_storage;
    using input_storage = typename Policy::input_storage;
    using kernels = kernels_of<Key.family, Arch, conv2d_algorithm::implicit_gemm>;

    static constexpr int parameter_bytes(const node_view& v) {
        const std::size_t zero_points =
            v.n.weights.affine ? align_up(4 * static_cast<std::size_t>(v.n.weights.channels)) : 0;
        return static_cast<int>(arrays(v).bytes + zero_points);
    }
    static constexpr int scratch_bytes(const node_view& v) {
        if constexpr (is_image)
            return static_cast<int>(kernel::dynamic_conv2d_scratch<Arch>(v.n.op->geometry(v)).bytes);
        else if constexpr (is_phased) return static_cast<int>(codes_bytes(v) + kernels::scratch_bytes(v));
        else {
            const int rows = v.y_shape().width;
            return static_cast<int>(kernel::dynamic_linear_scratch<Arch>(layout(v).geometry(rows), rows).bytes);
        }
    }

    /// Of so many rows or fewer.
    static constexpr int most_scratch_bytes(const node_view& v) requires(!is_image && !is_phased) {
        const int rows = v.y_shape().width;
        return static_cast<int>(kernel::dynamic_linear_scratch<Arch>::bytes_of_most(layout(v).geometry(rows), rows));
    }

    /// Each part quantizes all inputs.
    static constexpr kernel::conv2d_cut cut(const node_view& v) requires(Key.is_connected) {
        kernel::conv2d_cut by =
            kernel::cut_of_conv2d<Arch>(layout(v).geometry(v.y_shape().width), conv2d_algorithm::implicit_gemm);
        by.repeated_by_rows = 0;
        by.repeated_by_panels = repeated_by_quantizing(v.n.weights.channels);
        return by;
    }
    /// One range of all rows is not that of some.
    static constexpr bool computes_alike(const node_view& part, const node_view& whole) {
        return Policy::is_per_row || part.y_shape().width == whole.y_shape().width;
    }

    static refusal pack(const preparation& p, const node_parameters& from) {
        const node& n = p.at.n;
        const array_offsets at = arrays(p.at);
        const quantized_weights& weights = from.matrices.front();
        const std::size_t size = 4 * static_cast<std::size_t>(n.weights.channels);
        std::vector<std::int32_t> zero_points = weights.zero_points;
        if (n.weights.affine) std::memcpy(p.block + at.bytes, zero_points.data(), size);
        else if (n.weights.packed_int16) zero_points.resize(static_cast<std::size_t>(n.weights.channels));
        const kernel::conv2d_weights<weight_storage> source{
            reinterpret_cast<const weight_storage*>(weights.codes.data()),
            zero_points.empty() ? nullptr : zero_points.data(), nullptr};
        if constexpr (is_phased) {
            kernels::pack(p.at, source, kernel::dynamic_conv2d_codes, p.block);
            std::memcpy(p.block + at.scales, weights.scales.data(), size);
            std::memset(p.block + at.sums, 0, size);  // zero points of activations are 0: see dynamic_to_float
            std::memcpy(p.block + at.bias, weights.float_bias.data(), size);
        } else if constexpr (is_image) {
            kernel::pack_dynamic_conv2d<Arch>(n.op->geometry(p.at), n.weights.packed_int16, source,
                                              weights.scales.data(), weights.float_bias.data(), p.block);
        } else {
            kernel::pack_dynamic_linear<Arch>(layout(p.at), source, weights.scales.data(), weights.float_bias.data(),
                                              Policy::limits, p.block);
        }
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const node& n = p.at.n;
        const auto channels = static_cast<std::size_t>(n.weights.channels);
        const array_offsets at = arrays(p.at);
        node_parameters to;
        quantized_weights& weights = to.matrices.emplace_back();
        weights.codes.resize(static_cast<std::size_t>(n.weights.count));
        weights.scales.resize(channels);
        weights.float_bias.resize(channels);
        std::vector<std::int32_t> bias(channels), zero_points(channels);
        std::memcpy(weights.scales.data(), p.block + at.scales, 4 * channels);
        std::memcpy(weights.float_bias.data(), p.block + at.bias, 4 * channels);
        if (n.weights.affine) {
            std::memcpy(zero_points.data(), p.block + at.bytes, 4 * channels);
            weights.zero_points = zero_points;
        }
        const std::int32_t* packed_zero_points = n.weights.packed_int16 ? zero_points.data() : nullptr;
        const kernel::activation_codes codes{0, n.out.quant_min, n.out.quant_max};
        auto* values = reinterpret_cast<weight_storage*>(weights.codes.data());
        if constexpr (Key.is_connected)
            kernels::kernels::unpack(layout(p.at).geometry(1), packed_zero_points, codes, p.block, values, bias.data());
        else kernels::unpack(p.at, packed_zero_points, codes, p.block, values, bias.data());
        return to;
    }

    static void run(const node& n, const context& c) noexcept {
        const node_view v = c.view(n);
        const auto* block = c.block<std::byte>(n);
        auto* scratch = c.scratch<std::byte>(n);
        const float* x = c.in<float>(n);
        auto* y = c.out<float>(n);
        if constexpr (is_image) {
            kernel::dynamic_conv2d<Arch>(n.op->geometry(v), n.weights.packed_int16, x,
                                         typename Policy::choose_image_range{}, block, y, scratch);
        } else if constexpr (is_phased) {  // y = dequantize(convolution(quantize(x), w)) + bias
            auto* codes = reinterpret_cast<std::int8_t*>(scratch);
            const array_offsets at = arrays(v);
            const kernel::dynamic_to_float epilogue{
                reinterpret_cast<const float*>(block + at.scales),
                reinterpret_cast<const std::int32_t*>(block + at.sums), reinterpret_cast<const float*>(block + at.bias),
                kernel::dynamic_quantize<Arch>(x, static_cast<std::size_t>(v.x_shape().size()),
                                               kernel::dynamic_conv2d_limits, typename Policy::choose_image_range{},
                                               codes)};
            kernels::run(v, codes, kernel::dynamic_conv2d_codes, block, epilogue, y, scratch + codes_bytes(v));
        } else if constexpr (Key.small.rows != 0 && Key.epilogue != float_epilogue::addend) {
            kernel::small_dynamic_linear<Arch, input_storage, Key.small.depth, Key.small.channels, Key.int16_panels>(
                x, Policy::limits, typename Policy::choose_range{}, block, y, scratch);
            if constexpr (Key.epilogue != float_epilogue::none)
                kernel::apply_after<Arch>(epilogue_of<Key.epilogue>(n, c), y,
                                          static_cast<std::size_t>(v.y_shape().size()));
        } else {
            kernel::dynamic_linear<Arch, input_storage, Policy::is_per_row>(
                layout(v), x, v.y_shape().width, Policy::limits, typename Policy::choose_range{}, block, y, scratch,
                epilogue_of<Key.epilogue>(n, c), c.panels);
        }
        if (!Key.is_connected && n.fused.clamp != nullptr)
            kernel::clamp<Arch>(y, static_cast<std::size_t>(v.y_shape().size()), n.fused.lowest, n.fused.highest, y);
    }

private:
    static constexpr std::size_t codes_bytes(const node_view& v) {
        return align_up(static_cast<std::size_t>(v.x_shape().size()));
    }
    static constexpr layout_type layout(const node_view& v) {
        const kernel::linear_extents extents = extents_of_linear(v);
        return {extents.depth, extents.channels, v.n.weights.packed_int16};
    }
    /// Where scales and biases lie in a block, and where what follows them does.
    struct array_offsets {
        std::size_t scales, sums, bias, bytes;
    };
    static constexpr array_offsets arrays(const node_view& v) {
        if constexpr (Key.is_connected) {
            const layout_type at = layout(v);
            return {at.scales, at.sums, at.bias, at.bytes};
        } else if constexpr (is_image) {
            const kernel::dynamic_layout<Arch> at(v.n.op->geometry(v), v.n.weights.packed_int16);
            return {at.scales, at.sums, at.bias, at.bytes};
        } else {
            const std::size_t scales = align_up(kernels::packed_bytes(v)),
                              array = align_up(4 * static_cast<std::size_t>(v.n.weights.channels));
            return {scales, scales + array, scales + 2 * array, scales + 3 * array};
        }
    }
};

}  // namespace zp::inline v0::operators
