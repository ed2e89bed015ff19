// SPDX-License-Identifier: BSD-3-Clause
// What zeropoint::compiled has for files: what reads and writes int8 networks, float networks, and networks with anything else.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <zeropoint/compiled/instance.hpp>
#include <zeropoint/io/model_reader.hpp>
#include <zeropoint/io/model_writer.hpp>

// clang-format off
#define ZEROPOINT_FILES(Contents)                                                                                             \
    ZEROPOINT_INSTANCE void read_nodes<Contents>(const safetensors_file&, const network_to_read&);                             \
    ZEROPOINT_INSTANCE void read_nodes<Contents>(const std::string&, const network_to_read&);                                  \
    ZEROPOINT_INSTANCE void read_nodes<Contents>(std::span<const std::byte>, const std::string&, const network_to_read&);      \
    ZEROPOINT_INSTANCE void write_nodes<Contents>(const network_to_write&, safetensors_writer&);
// clang-format on

namespace zp::inline v0 {
ZEROPOINT_INSTANCE void safetensors_file::open<safetensors_header>(const byte_source&);

namespace detail {
ZEROPOINT_FILES(compiled_contents[0])
ZEROPOINT_FILES(compiled_contents[1])
ZEROPOINT_FILES(compiled_contents[2])
}  // namespace detail
}  // namespace zp::inline v0

#undef ZEROPOINT_FILES
