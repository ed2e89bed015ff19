// SPDX-License-Identifier: BSD-3-Clause
// Data types with their value ranges in the type: what a quantized value may be, known to the compiler.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace zp::inline v0 {

/// The run-time name of a storage type: what a table row or a file header holds.
enum class scalar_type : std::uint8_t { float32, uint8, int8, int16, int32 };

template <class T>
inline constexpr scalar_type scalar_type_of = [] {
    static_assert(sizeof(T) == 0,
                  "scalar_type_of<T>: T must be float, std::uint8_t, std::int8_t, std::int16_t or std::int32_t");
    return scalar_type::float32;
}();
template <> inline constexpr scalar_type scalar_type_of<float> = scalar_type::float32;
template <> inline constexpr scalar_type scalar_type_of<std::uint8_t> = scalar_type::uint8;
template <> inline constexpr scalar_type scalar_type_of<std::int8_t> = scalar_type::int8;
template <> inline constexpr scalar_type scalar_type_of<std::int16_t> = scalar_type::int16;
template <> inline constexpr scalar_type scalar_type_of<std::int32_t> = scalar_type::int32;

/// Bytes of a value.
constexpr int size_of(scalar_type type) {
    return type == scalar_type::uint8 || type == scalar_type::int8 ? 1 : type == scalar_type::int16 ? 2 : 4;
}
/// Bits of a code of such a range where codes of 4 bits share bytes: 4, or 8.
constexpr int bits_of_codes(std::int32_t quant_min, std::int32_t quant_max) {
    return quant_min >= -8 && quant_max <= (quant_min < 0 ? 7 : 15) ? 4 : 8;
}
/// "float32", "uint8", ...
constexpr const char* name_of(scalar_type type) {
    switch (type) {
        case scalar_type::float32: return "float32";
        case scalar_type::uint8: return "uint8";
        case scalar_type::int8: return "int8";
        case scalar_type::int16: return "int16";
        case scalar_type::int32: return "int32";
    }
    return "?";
}

/// Nominal base of every dtype, so that a swapped template argument reads "per_tensor_affine is no dtype".
struct dtype_tag {};
/// What values are. All have `storage`, the C++ type, `name` and `quantized`; those whose values are codes `is_signed` and their range,
/// `quant_min` and `quant_max`.
template <class D> concept dtype = std::derived_from<D, dtype_tag>;

/// Plain floating point: the dtype of everything that is not quantized.
struct float32 : dtype_tag {
    using storage = float;
    static constexpr const char* name = "float32";
    static constexpr bool quantized = false;
};

/// An integer dtype whose values lie in [Min, Max], stored one a `Storage`. Kernels choose faster instruction
/// sequences from a narrower range, so a range is a promise: quantize() clamps to it, files are checked against it.
template <class Storage, std::int64_t Min, std::int64_t Max> struct integer_dtype : dtype_tag {
    static_assert(std::is_integral_v<Storage> && sizeof(Storage) <= 4,
                  "integer_dtype<Storage, Min, Max>: Storage must be an integer of at most 32 bits, such as "
                  "std::uint8_t or std::int8_t");
    static_assert(Min < Max, "integer_dtype<Storage, Min, Max>: the range is empty, Min must be less than Max");
    static_assert(
        Min >= std::int64_t{std::numeric_limits<Storage>::min()} &&
            Max <= std::int64_t{std::numeric_limits<Storage>::max()},
        "integer_dtype<Storage, Min, Max>: the range does not fit Storage: take a wider Storage or a narrower range");
    static_assert(
        Min <= 0 && Max >= 0,
        "integer_dtype<Storage, Min, Max>: 0 must lie in the range, so that symmetric quantization has its zero point");
    using storage = Storage;
    static constexpr bool quantized = true;
    static constexpr bool is_signed = std::is_signed_v<Storage>;
    static constexpr std::int32_t quant_min = static_cast<std::int32_t>(Min);
    static constexpr std::int32_t quant_max = static_cast<std::int32_t>(Max);
};

// clang-format off
/// [0, 255].
struct quint8 : integer_dtype<std::uint8_t, 0, 255> { static constexpr const char* name = "quint8"; };
/// [-128, 127].
struct qint8 : integer_dtype<std::int8_t, -128, 127> { static constexpr const char* name = "qint8"; };
/// [-127, 127]: symmetric about zero, as TFLite and TensorRT keep their weights.
struct qint8_narrow : integer_dtype<std::int8_t, -127, 127> { static constexpr const char* name = "qint8_narrow"; };
/// 7 bits in 8. PyTorch's reduce_range, which cuts nothing at 127, is the rule zp::reduce_range with the full dtypes.
struct quint8_reduced : integer_dtype<std::uint8_t, 0, 127> { static constexpr const char* name = "quint8_reduced"; };
/// [-64, 63]: 7 bits in 8.
struct qint8_reduced : integer_dtype<std::int8_t, -64, 63> { static constexpr const char* name = "qint8_reduced"; };
/// [-8, 7], stored one a byte; files and weight-only layers keep two a byte.
struct qint4 : integer_dtype<std::int8_t, -8, 7> { static constexpr const char* name = "qint4"; };
/// [0, 15], stored one a byte.
struct quint4 : integer_dtype<std::uint8_t, 0, 15> { static constexpr const char* name = "quint4"; };
/// [-32768, 32767]: activations of 16 bits, beside weights of 8.
struct qint16 : integer_dtype<std::int16_t, -32768, 32767> { static constexpr const char* name = "qint16"; };
// clang-format on
/// Accumulators and biases: always symmetric.
struct qint32
    : integer_dtype<std::int32_t, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()> {
    static constexpr const char* name = "qint32";
};
/// Any other range, by its storage: `custom_range<std::int8_t, -16, 15>` is a 5-bit dtype.
template <class Storage, std::int64_t Min, std::int64_t Max> struct custom_range : integer_dtype<Storage, Min, Max> {
    static constexpr const char* name = "custom_range";
};

/// A dtype whose values are codes, such as zp::quint8.
template <class D> concept quantized_dtype = dtype<D> && D::quantized;

}  // namespace zp::inline v0
