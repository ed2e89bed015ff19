// SPDX-License-Identifier: BSD-3-Clause
// A product of two quantized activations of fixed size for use on its own.
#pragma once

#include <array>
#include <cstddef>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/dtype.hpp>
#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/layer/argument_checks.hpp>
#include <zeropoint/scheme/requantization.hpp>
#include <zeropoint/scheme/tensor.hpp>

namespace zp::inline v0 {

/// Extents of matrix products: `batches` times rows x depth by depth x columns, or by columns x depth where `transposed`.
struct matmul_options {
    int rows = 1, depth = 1, columns = 1;  // of a, their length, and columns of b
    bool transposed = false;               // whether b is columns x depth
    int batches = 1;                       // how many products of two matrices
};

/// y = a * b over 8-bit codes, each with one scale and zero point, rounded once: y = rne(clamp(float(sum (a - za)(b - zb)) *
/// m)) + z with m = float(double(a_scale) * b_scale / y_scale). Tensors are batches x rows x columns of a matrix.
///
///     using layer = zp::quantized_matmul<zp::matmul_options{.rows = 64, .depth = 32, .columns = 64, .transposed = true, .batches = 12}>;
///     const layer scores(query.quantization, key.quantization, y.quantization);
///     scores(query, key, y, memory);   // layer::workspace memory
template <matmul_options Options, class A = quint8, class B = A, class Output = A, class Arch = default_architecture>
class quantized_matmul {
    static_assert(quantized_dtype<A> && quantized_dtype<B> && quantized_dtype<Output>,
                  "quantized_matmul<Options, A, B, Output>: all three must be quantized dtypes such as zp::quint8");
    static_assert(Options.rows > 0 && Options.depth > 0 && Options.columns > 0 && Options.batches > 0,
                  "quantized_matmul<Options, ...>: rows, depth, columns and batches must be at least 1");
    static_assert(Options.depth <= kernel::largest_matmul_depth,
                  "quantized_matmul<Options, ...>: an int32 accumulator can overflow at this depth: split it");
    static constexpr kernel::matmul_geometry geometry =
        kernel::dense_matmul(Options.rows, Options.depth, Options.columns, Options.transposed, Options.batches);
    static constexpr kernel::matmul_plan<Arch> plan{geometry};
    static constexpr const char* name = "quantized_matmul";

public:
    static constexpr shape a_shape{Options.batches, Options.rows, Options.depth};  // batches x rows x depth
    /// batches x depth x columns, or batches x columns x depth.
    static constexpr shape b_shape = Options.transposed ? shape{Options.batches, Options.columns, Options.depth}
                                                        : shape{Options.batches, Options.depth, Options.columns};
    static constexpr shape output_shape{Options.batches, Options.rows, Options.columns};
    static constexpr std::size_t scratch_bytes = plan.scratch_bytes;  // what a call works in: the size of a workspace
    struct workspace {
        alignas(buffer_alignment) std::byte bytes[scratch_bytes];  // at a multiple of 64 bytes
    };

    quantized_matmul(const qparams& a, const qparams& b, const qparams& output)
        : ranges_{a, b, output},
          epilogue_{requantize_multiplier(a.scale, b.scale, output.scale),
                    {output.zero_point, Output::quant_min, Output::quant_max, nullptr}} {}

    /// y = a * b. Raises shape_error or value_error where extents, scales or zero points are not those that the layer was made
    /// for.
    void operator()(const tensor_view<A>& a, const tensor_view<B>& b, const mutable_tensor_view<Output>& y,
                    workspace& memory) const {
        check_tensor(name, "first operand", a_shape, ranges_[0], a);
        check_tensor(name, "second operand", b_shape, ranges_[1], b);
        check_tensor(name, "output", output_shape, ranges_[2], y);
        run(a.data(), b.data(), y.data(), memory);
    }
    /// The same over plain pointers, unchecked.
    void run(const typename A::storage* a, const typename B::storage* b, typename Output::storage* y,
             workspace& memory) const noexcept {
        kernel::matmul<Arch>(geometry, a, ranges_[0].zero_point, b, ranges_[1].zero_point, epilogue_, y, memory.bytes);
    }

private:
    std::array<qparams, 3> ranges_;
    kernel::nearest_even_per_tensor epilogue_;
};

}  // namespace zp::inline v0
