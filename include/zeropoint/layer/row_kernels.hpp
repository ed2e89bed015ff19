// The kernels of a weighted row, whatever its kind: where convolutions and transposed ones differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/conv2d.hpp>
#include <zeropoint/kernel/conv3d.hpp>
#include <zeropoint/kernel/conv_transpose2d.hpp>
#include <zeropoint/kernel/conv_transpose3d.hpp>
#include <zeropoint/layer/kernel_needs.hpp>

namespace zp {
inline namespace v0 {

/// Whether quantized weights are packed with zero points, as kernel::conv2d_weights::affine says.
constexpr bool packs_zero_points(const node& row) { return row.affine_weights || row.word_weights; }

/// The kernels of one algorithm for rows of one kind: of a convolution, and of a linear layer as a 1x1 one. What each takes
/// and gives: kernel/conv2d.hpp.
template <class Arch, conv2d_algorithm Algorithm, op Kind = op::conv2d> struct row_kernels {
    using kernels = kernel::conv2d_kernels<Arch, Algorithm>;

    template <class Weight>
    static void pack(const node& row, const kernel::conv2d_weights<Weight>& weights, kernel::activation_codes codes,
                     std::byte* packed) {
        kernels::pack(row.window, weights, codes, packed);
    }
    template <class Weight>
    static void unpack(const node& row, const std::int32_t* zero_points, kernel::activation_codes codes,
                       const std::byte* packed, Weight* values, std::int32_t* bias) {
        kernels::unpack(row.window, zero_points, codes, packed, values, bias);
    }
    template <class In, class Out, class Epilogue>
    static void run(const node& row, const In* x, kernel::activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        kernels::run(row.window, x, codes, packed, epilogue, y, scratch);
    }
};

template <class Arch, conv2d_algorithm Algorithm> struct row_kernels<Arch, Algorithm, op::conv_transpose2d> {
    using kernels = kernel::conv_transpose2d_kernels<Arch, Algorithm>;

    template <class Weight>
    static void pack(const node& row, const kernel::conv2d_weights<Weight>& weights, kernel::activation_codes codes,
                     std::byte* packed) {
        kernels::pack(transposed_window(row), weights, codes, packed);
    }
    template <class Weight>
    static void unpack(const node& row, const std::int32_t* zero_points, kernel::activation_codes codes,
                       const std::byte* packed, Weight* values, std::int32_t* bias) {
        kernels::unpack(transposed_window(row), zero_points, packs_zero_points(row), codes, packed, values, bias);
    }
    template <class In, class Out, class Epilogue>
    static void run(const node& row, const In* x, kernel::activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        kernels::run(transposed_window(row), x, codes, packs_zero_points(row), packed, epilogue, y, scratch);
    }
};

template <class Arch, conv2d_algorithm Algorithm> struct row_kernels<Arch, Algorithm, op::conv_transpose3d> {
    using kernels = kernel::conv_transpose3d_kernels<Arch, Algorithm>;

    template <class Weight>
    static void pack(const node& row, const kernel::conv2d_weights<Weight>& weights, kernel::activation_codes codes,
                     std::byte* packed) {
        kernels::pack(transposed_volume_window(row), weights, codes, packed);
    }
    template <class Weight>
    static void unpack(const node& row, const std::int32_t* zero_points, kernel::activation_codes codes,
                       const std::byte* packed, Weight* values, std::int32_t* bias) {
        kernels::unpack(transposed_volume_window(row), zero_points, packs_zero_points(row), codes, packed, values,
                        bias);
    }
    template <class In, class Out, class Epilogue>
    static void run(const node& row, const In* x, kernel::activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        kernels::run(transposed_volume_window(row), x, codes, packs_zero_points(row), packed, epilogue, y, scratch);
    }
};

/// Packed they are those of one convolution over planes side by side.
template <class Arch, conv2d_algorithm Algorithm> struct row_kernels<Arch, Algorithm, op::conv3d> {
    using kernels = kernel::conv3d_kernels<Arch, Algorithm>;

    template <class Weight>
    static void pack(const node& row, const kernel::conv2d_weights<Weight>& weights, kernel::activation_codes codes,
                     std::byte* packed) {
        kernels::pack(volume_window(row), weights, codes, packed);
    }
    template <class Weight>
    static void unpack(const node& row, const std::int32_t* zero_points, kernel::activation_codes codes,
                       const std::byte* packed, Weight* values, std::int32_t* bias) {
        kernels::unpack(volume_window(row), zero_points, codes, packed, values, bias);
    }
    template <class In, class Out, class Epilogue>
    static void run(const node& row, const In* x, kernel::activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        kernels::run(volume_window(row), x, codes, packed, epilogue, y, scratch);
    }
};

/// Calls f(row_kernels<Arch, A, K>()) with those of the row's algorithm and kind, which must be needed. f is instantiated for
/// what is needed alone.
template <kernel_needs Needs, class Arch, class F> constexpr void with_row_kernels(const node& row, F&& f) {
    if constexpr (Needs.has(op::conv_transpose2d)) {
        constexpr op kind = op::conv_transpose2d;
        if (row.kind == kind)
            return with_algorithm<Needs, kind>(row.algorithm, [&](auto algorithm) {
                if constexpr (kernel::computes_phases(algorithm)) f(row_kernels<Arch, algorithm, kind>());
            });
    }
    if constexpr (Needs.has(op::conv_transpose3d)) {
        constexpr op kind = op::conv_transpose3d;
        if (row.kind == kind)
            return with_algorithm<Needs, kind>(row.algorithm, [&](auto algorithm) {
                if constexpr (kernel::computes_phases(algorithm)) f(row_kernels<Arch, algorithm, kind>());
            });
    }
    if constexpr (Needs.has(op::conv3d)) {
        if (row.kind == op::conv3d)
            return with_algorithm<Needs, op::conv3d>(
                row.algorithm, [&](auto algorithm) { f(row_kernels<Arch, algorithm, op::conv3d>()); });
    }
    with_algorithm<Needs>(row.algorithm, [&](auto algorithm) { f(row_kernels<Arch, algorithm>()); });
}

/// Whether an algorithm can compute a row.
constexpr bool supports(const node& row, conv2d_algorithm algorithm) {
    if (row.wide_input && row.kind == op::conv_transpose2d)
        return kernel::supports_wide(transposed_window(row), algorithm);
    if (row.wide_input) return kernel::supports_wide(row.window, algorithm);
    if (row.kind == op::conv_transpose3d) return kernel::supports(transposed_volume_window(row), algorithm);
    return row.kind == op::conv_transpose2d ? kernel::supports(transposed_window(row), algorithm)
                                            : kernel::supports(row.window, algorithm);
}
/// Bytes of packed weights and bias of a row, a multiple of 64.
template <class Arch> constexpr std::size_t packed_bytes_of(const node& row) {
    const bool affine = packs_zero_points(row);
    if (row.kind == op::conv_transpose3d)
        return kernel::with_conv_transpose3d_kernels<Arch>(
            row.algorithm, [&](auto kernels) { return kernels.packed_bytes(transposed_volume_window(row), affine); });
    if (row.kind != op::conv_transpose2d) return kernel::conv2d_packed_bytes<Arch>(row.window, row.algorithm, affine);
    return kernel::with_conv_transpose2d_kernels<Arch>(
        row.algorithm, [&](auto kernels) { return kernels.packed_bytes(transposed_window(row), affine); });
}
/// Bytes of scratch of a row computed by an algorithm, a multiple of 64.
template <class Arch> constexpr std::size_t scratch_bytes_of(const node& row, conv2d_algorithm algorithm) {
    if (row.kind == op::conv3d)
        return kernel::with_conv3d_kernels<Arch>(
            volume_window(row), algorithm, [&](auto kernels) { return kernels.scratch_bytes(volume_window(row)); });
    if (row.kind == op::conv_transpose3d)
        return kernel::with_conv_transpose3d_kernels<Arch>(
            algorithm, [&](auto kernels) { return kernels.scratch_bytes(transposed_volume_window(row)); });
    if (row.kind != op::conv_transpose2d) return kernel::conv2d_scratch_bytes<Arch>(row.window, algorithm);
    return kernel::with_conv_transpose2d_kernels<Arch>(
        algorithm, [&](auto kernels) { return kernels.scratch_bytes(transposed_window(row)); });
}
/// What an algorithm that can compute a row costs it.
template <class Arch> constexpr kernel::conv2d_cost cost_of(const node& row, conv2d_algorithm algorithm) {
    if (row.kind == op::conv_transpose2d)
        return kernel::cost_of_conv_transpose2d<Arch>(transposed_window(row), algorithm, packs_zero_points(row));
    if (row.kind == op::conv_transpose3d)
        return kernel::cost_of_conv_transpose3d<Arch>(transposed_volume_window(row), algorithm, packs_zero_points(row));
    kernel::conv2d_cost cost = kernel::cost_of_conv2d<Arch>(row.window, algorithm, packs_zero_points(row));
    cost.nanoseconds *= row.out.depth;  // a conv3d's window is of one output plane
    if (row.wide_input && algorithm == conv2d_algorithm::implicit_gemm)
        cost.nanoseconds *= kernel::operations<Arch>::byte_products / kernel::operations<Arch>::word_products;
    return cost;
}
/// What a packed row does.
template <class Arch> kernel::conv2d_description describe_row_kernels(const node& row, const std::byte* packed) {
    if (row.kind == op::conv_transpose3d)
        return kernel::with_conv_transpose3d_kernels<Arch>(row.algorithm, [&](auto kernels) {
            return kernels.describe(transposed_volume_window(row), packs_zero_points(row), packed);
        });
    if (row.kind != op::conv_transpose2d) return kernel::describe_conv2d<Arch>(row.window, row.algorithm, packed);
    return kernel::with_conv_transpose2d_kernels<Arch>(row.algorithm, [&](auto kernels) {
        return kernels.describe(transposed_window(row), packs_zero_points(row), packed);
    });
}

}  // namespace v0
}  // namespace zp
