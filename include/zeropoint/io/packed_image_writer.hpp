// SPDX-License-Identifier: BSD-3-Clause
// Makes packed images: on the machine where a network is loaded from its file, for the architecture that its type names.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/packed_image.hpp>
#include <zeropoint/io/whole_file.hpp>

namespace zp::inline v0 {

/// The image of an int8 or dynamic network, for in_place. It is of the network's own architecture: for a microcontroller, load
/// the file as `zp::quantized<Net, QConfig, zp::portable>`. In the byte order of this machine.
template <class Stage> std::vector<std::byte> packed_image(const network<Stage>& model) {
    static_assert(
        requires { Stage::arithmetic; },
        "packed_image(model): model must be an int8 network, zp::quantized<...> or "
        "zp::dynamically_quantized<...>");
    packed_image_header header = packed_header_of<Stage>();
    std::vector<std::byte> image(header.bytes);
    std::memcpy(image.data() + sizeof header, model.ranges(), sizeof(qparams) * header.ranges);
    std::memcpy(image.data() + header.parameters_at, model.parameters(), header.parameter_bytes);
    header.checksum = detail::checksum_of(std::span(image).subspan(sizeof header));
    std::memcpy(image.data(), &header, sizeof header);
    return image;
}
/// The same as a file, which appears whole or not at all. Raises file_error.
template <class Stage> void save_packed_image(const network<Stage>& model, const std::string& path) {
    write_whole_file(path, packed_image(model));
}

}  // namespace zp::inline v0
