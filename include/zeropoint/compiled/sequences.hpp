// SPDX-License-Identifier: BSD-3-Clause
// What zeropoint::compiled has beyond the most common operators: what sequences are made of, norms, products of two activations,
// interpolation.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/compiled/instance.hpp>
#include <zeropoint/kernel/attention/softmax_codes.hpp>
#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/elementwise/prelu.hpp>
#include <zeropoint/kernel/float/float_softmax.hpp>
#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/kernel/movement/interpolate.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/normalize/masked_softmax.hpp>
#include <zeropoint/kernel/normalize/normalize.hpp>
#include <zeropoint/kernel/normalize/softmax.hpp>
#include <zeropoint/kernel/recurrent/gates.hpp>

// clang-format off
// Of codes T alone.
#define ZEROPOINT_SEQUENCES(T)                                                                                                 \
    ZEROPOINT_INSTANCE void softmax<default_architecture>(                                                                     \
        const T*, std::size_t, std::size_t, const std::int32_t*, float, const output_codes&, T*) noexcept;                     \
    ZEROPOINT_INSTANCE void masked_softmax<default_architecture>(                                                              \
        const T*, std::size_t, std::size_t, const code_mask<T>&, const std::int32_t*, float, const output_codes&, T*) noexcept;\
    ZEROPOINT_INSTANCE void layer_norm<default_architecture>(                                                                  \
        const T*, std::size_t, const normalization&, const float*, const float*, const output_codes&, T*) noexcept;            \
    ZEROPOINT_INSTANCE void rms_norm<default_architecture>(                                                                    \
        const T*, std::size_t, const normalization&, std::int32_t, const float*, const float*, const output_codes&,            \
        T*) noexcept;                                                                                                          \
    ZEROPOINT_INSTANCE void group_norm<default_architecture>(                                                                  \
        const T*, std::size_t, std::size_t, std::size_t, const normalization&, const float*, const float*,                     \
        const output_codes&, T*) noexcept;                                                                                     \
    ZEROPOINT_INSTANCE void matmul<default_architecture>(                                                                      \
        const matmul_geometry&, const T*, std::int32_t, const T*, std::int32_t, const nearest_even_per_tensor&, T*,            \
        std::byte*) noexcept;                                                                                                  \
    ZEROPOINT_INSTANCE void mul<default_architecture>(const T*, const T*, std::size_t, const mul_parameters&, T*) noexcept;    \
    ZEROPOINT_INSTANCE void prelu<default_architecture>(                                                                       \
        const T*, const float*, std::size_t, const prelu_parameters&, T*) noexcept;                                            \
    ZEROPOINT_INSTANCE void interpolate_bilinear<default_architecture>(                                                        \
        const linear_axis&, const linear_axis&, std::size_t, std::int32_t, const T*, T*) noexcept;
#define ZEROPOINT_TRANSPOSE(T)                                                                                                 \
    ZEROPOINT_INSTANCE void transpose_matrix<T, default_architecture>(                                                         \
        const T*, std::size_t, std::size_t, std::size_t, T*, std::size_t) noexcept;
// clang-format on

namespace zp::inline v0::kernel {
ZEROPOINT_SEQUENCES(std::uint8_t)
ZEROPOINT_SEQUENCES(std::int8_t)
ZEROPOINT_TRANSPOSE(std::uint8_t)
ZEROPOINT_TRANSPOSE(std::int32_t)
ZEROPOINT_TRANSPOSE(float)
ZEROPOINT_INSTANCE void softmax<default_architecture>(const float*, std::size_t, std::size_t, float*) noexcept;
ZEROPOINT_INSTANCE void log_softmax<default_architecture>(const float*, std::size_t, std::size_t, float*) noexcept;
ZEROPOINT_INSTANCE void softmax_codes<default_architecture, false>(const float*, std::ptrdiff_t, int, int, const float*,
                                                                   std::uint8_t*, std::ptrdiff_t,
                                                                   std::int32_t*) noexcept;
ZEROPOINT_INSTANCE void interpolate_bilinear<default_architecture>(const linear_axis&, const linear_axis&, std::size_t,
                                                                   std::int32_t, const float*, float*) noexcept;
ZEROPOINT_INSTANCE void lstm_gates<default_architecture>(const float*, const float*, std::size_t, float*,
                                                         float*) noexcept;
ZEROPOINT_INSTANCE void gru_gates<default_architecture>(const float*, const float*, std::size_t, float*) noexcept;
ZEROPOINT_INSTANCE void rnn_tanh_gates<default_architecture>(const float*, const float*, std::size_t, float*) noexcept;
ZEROPOINT_INSTANCE void rnn_relu_gates<default_architecture>(const float*, const float*, std::size_t, float*) noexcept;
}  // namespace zp::inline v0::kernel

#undef ZEROPOINT_SEQUENCES
#undef ZEROPOINT_TRANSPOSE
