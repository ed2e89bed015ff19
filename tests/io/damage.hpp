// SPDX-License-Identifier: BSD-3-Clause
// Safetensors files made by hand, so that any part of them can be wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/io/safetensors_reader.hpp>

namespace damage {

using byte_vector = std::vector<std::byte>;

inline byte_vector to_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// A file with this header and `data_bytes` bytes after it, 0, 1, 2, ...
inline byte_vector file_with(std::string_view header, std::size_t data_bytes = 0) {
    byte_vector bytes(8);
    for (std::size_t i = 0; i != 8; ++i)
        bytes[i] = static_cast<std::byte>(std::uint64_t{header.size()} >> (8 * i) & 0xff);
    const byte_vector text = to_bytes(header);
    bytes.insert(bytes.end(), text.begin(), text.end());
    for (std::size_t i = 0; i != data_bytes; ++i) bytes.push_back(static_cast<std::byte>(i & 0xff));
    return bytes;
}

/// The message with which opening `bytes` fails, or "" if they are a valid file. In that case every tensor is read, so
/// that the sanitizers see its memory.
inline std::string error_of(std::span<const std::byte> bytes) {
    try {
        const auto file = zp::safetensors_file::parse(bytes, "f.safetensors");
        std::uint64_t sum = 0;
        for (const zp::file_tensor& tensor : file.tensors()) {
            for (const std::byte byte : tensor.bytes) sum += std::to_integer<std::uint64_t>(byte);
            if (file.find(tensor.name) != &tensor) return "find() does not give the tensor of that name";
            if (zp::is_floating(tensor.dtype) && file.floats(tensor).size() != tensor.size()) return "wrong size";
        }
        return sum == UINT64_MAX ? "?" : "";
    } catch (const zp::file_error& error) { return error.what(); }
}

inline std::string error_of(std::string_view header, std::size_t data_bytes = 0) {
    return error_of(file_with(header, data_bytes));
}

}  // namespace damage
