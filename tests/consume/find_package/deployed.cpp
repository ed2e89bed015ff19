// SPDX-License-Identifier: BSD-3-Clause
// A program that links zeropoint::compiled: a file that is none is refused by the reader in there.
#include <zeropoint/deploy.hpp>

struct tiny_model : zp::model<zp::input<1, 1, 4>, zp::linear<"fc", 2>, zp::relu> {};

int main() try {
    zp::load<zp::quantized<tiny_model, zp::default_qconfig>>(std::span<const std::byte>{});
    return 1;
} catch (const zp::file_error&) { return 0; }
