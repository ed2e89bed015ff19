// SPDX-License-Identifier: BSD-3-Clause
// Whether two files of networks hold the same numbers, whatever their metadata say of who wrote them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <zeropoint/io/safetensors_reader.hpp>

namespace zp_test {

/// The same signature and the same tensors, to the last byte.
inline bool same_tensors(std::span<const std::byte> one, std::span<const std::byte> other) {
    const auto a = zp::safetensors_file::parse(one, "one"), b = zp::safetensors_file::parse(other, "other");
    return a.expect_metadata("signature") == b.expect_metadata("signature") &&
           std::equal(a.tensors().begin(), a.tensors().end(), b.tensors().begin(), b.tensors().end(),
                      [](const zp::file_tensor& x, const zp::file_tensor& y) {
                          return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape &&
                                 std::equal(x.bytes.begin(), x.bytes.end(), y.bytes.begin(), y.bytes.end());
                      });
}

}  // namespace zp_test
