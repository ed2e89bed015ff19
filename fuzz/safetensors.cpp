// SPDX-License-Identifier: BSD-3-Clause
// Any bytes: a file_error, or a file whose tensors can all be read and which is written again to one of the same tensors.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include <zeropoint/io/safetensors.hpp>

#include "mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const zp::safetensors_file file = zp::safetensors_file::parse(std::as_bytes(std::span(data, size)), "fuzzed");
        std::size_t bytes = 0;
        for (const zp::file_tensor& tensor : file.tensors()) {
            for (const std::byte byte : tensor.bytes) bytes += std::to_integer<std::size_t>(byte) & 1;
            try {
                if (tensor.size() < 100'000) bytes += file.floats(tensor).size();
            } catch (const zp::file_error&) {  // of integers, or beyond what a float holds
            }
        }
        if (bytes > 1'000'000'000) std::abort();
    } catch (const zp::file_error&) {}
    return 0;
}
