// SPDX-License-Identifier: BSD-3-Clause
// The element types and shapes of tensors in a safetensors file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zp::inline v0 {

/// Every dtype of the safetensors format, under the names it has there, in the order of the reference implementation
/// (alignment never falls), which decides how tensors are laid out. Types without a C++ counterpart are known by size
/// alone: such a tensor is validated and listed, its bytes can be viewed and copied to another file, and only reading
/// its values is an error. A name that is not listed here cannot be validated, so it makes the whole file an error.
enum class file_dtype : std::uint8_t {
    BOOL,
    F4,
    F6_E2M3,
    F6_E3M2,
    U8,
    I8,
    F8_E5M2,
    F8_E4M3,
    F8_E8M0,
    F8_E4M3FNUZ,
    F8_E5M2FNUZ,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    C64,
    F64,
    I64,
    U64
};

struct file_dtype_description {
    std::string_view name;
    std::uint32_t bits;  ///< of one element
};

/// Indexed by file_dtype.
inline constexpr std::array<file_dtype_description, 22> file_dtypes{{
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};

/// "F32", "U8", ... as headers have it.
constexpr std::string_view name_of(file_dtype type) { return file_dtypes[static_cast<std::size_t>(type)].name; }
/// Bits of an element: 4 to 64.
constexpr std::uint32_t bit_width_of(file_dtype type) { return file_dtypes[static_cast<std::size_t>(type)].bits; }

/// The dtype of that name, exactly as the format spells it, or nothing.
constexpr std::optional<file_dtype> find_file_dtype(std::string_view name) {
    for (std::size_t i = 0; i != file_dtypes.size(); ++i) {
        if (file_dtypes[i].name == name) return static_cast<file_dtype>(i);
    }
    return std::nullopt;
}

/// True for the dtypes that safetensors_file::floats() converts to float.
constexpr bool is_floating(file_dtype type) {
    return type == file_dtype::F32 || type == file_dtype::F64 || type == file_dtype::F16 || type == file_dtype::BF16;
}

/// The dtype under which a file holds values of the C++ type `T`.
template <class T>
inline constexpr file_dtype file_dtype_of = [] {
    static_assert(sizeof(T) == 0,
                  "file_dtype_of<T>: T must be float, double or a fixed-width integer such as std::int8_t");
    return file_dtype::F32;
}();
template <> inline constexpr file_dtype file_dtype_of<float> = file_dtype::F32;
template <> inline constexpr file_dtype file_dtype_of<double> = file_dtype::F64;
template <> inline constexpr file_dtype file_dtype_of<std::int8_t> = file_dtype::I8;
template <> inline constexpr file_dtype file_dtype_of<std::int16_t> = file_dtype::I16;
template <> inline constexpr file_dtype file_dtype_of<std::int32_t> = file_dtype::I32;
template <> inline constexpr file_dtype file_dtype_of<std::int64_t> = file_dtype::I64;
template <> inline constexpr file_dtype file_dtype_of<std::uint8_t> = file_dtype::U8;
template <> inline constexpr file_dtype file_dtype_of<std::uint16_t> = file_dtype::U16;
template <> inline constexpr file_dtype file_dtype_of<std::uint32_t> = file_dtype::U32;
template <> inline constexpr file_dtype file_dtype_of<std::uint64_t> = file_dtype::U64;

/// Extents of a tensor, outermost first; elements lie in row-major order. A scalar has none.
using file_shape = std::vector<std::int64_t>;

/// "[16, 1, 3, 3]"; of more than 64 extents, which only a damaged file has, the first.
template <class = void> [[gnu::cold]] std::string to_string(const file_shape& shape) {
    constexpr std::size_t most = 64;
    std::string text = "[";
    for (std::size_t i = 0; i != shape.size() && i != most; ++i) {
        if (i != 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    return text + (shape.size() > most ? ", ...]" : "]");
}

/// "F32 [16, 1, 3, 3]"
template <class = void> [[gnu::cold]] std::string describe(file_dtype type, const file_shape& shape) {
    return std::string(name_of(type)) + " " + to_string(shape);
}

/// What byte_count_of() asks for, in the words of a message.
inline constexpr std::string_view byte_count_rule = "extents from 0 on that make whole bytes, fewer than 2^61";

/// Bytes of a tensor, or nothing if an extent is negative, the product does not fit 64 bits, or the elements (of 4 or 6
/// bits) do not fill whole bytes.
template <class = void>
[[gnu::cold]] std::optional<std::uint64_t> byte_count_of(file_dtype type, const file_shape& shape) {
    std::uint64_t bits = bit_width_of(type);
    for (const std::int64_t extent : shape) {
        if (extent < 0) return std::nullopt;
        const auto factor = static_cast<std::uint64_t>(extent);
        if (factor != 0 && bits > UINT64_MAX / factor) return std::nullopt;
        bits *= factor;
    }
    if (bits % 8 != 0) return std::nullopt;
    return bits / 8;
}

}  // namespace zp::inline v0
